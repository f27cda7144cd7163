"""Networks in, synthetic networks out."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.selection.histogram_law import log_probabilities
from bayesdp.networks import Network, fit_mple, simulate, statistics
from tests.networks.oracles import florentine

FORMULA = "edges + nodematch('g')"


def classes(n: int = 60) -> Network:
    """Drawn from known coefficients: -3.2 and 1.5."""
    empty = Network(n, attributes={"g": np.arange(n) % 3, "secret": np.arange(n)})
    return simulate(empty, FORMULA, [-3.2, 1.5], seed=7).networks[0][0]


DECLARED = bdp.synthesizers.DPERGMSynthesizer(
    FORMULA, 3.0, centre=(-3, 1), scale=(0.5, 0.5), attributes=("g",)
)


@pytest.mark.slow
def test_a_release_holds_networks_with_public_attributes_alone(tmp_path):
    release = DECLARED.release(classes(), 3)
    assert str(release.guarantee) == "epsilon = 3 (edge, proved)"
    assert all(set(copy.attributes) == {"g"} for copy in release.outputs)
    assert len({len(copy.edges) for copy in release.outputs}) > 1
    release.save(tmp_path / "networks")
    loaded = bdp.Release.load(tmp_path / "networks")
    assert loaded == release
    assert all(np.array_equal(c.attributes["g"], np.arange(60) % 3) for c in loaded.outputs)
    assert list(loaded.to_frames()[0].columns) == ["source", "target"]
    assert len(loaded.to_frames()[1]) == len(release.outputs[1].edges)


def test_the_public_parameters_say_nothing_of_the_ties():
    network = classes()
    assert DECLARED.mechanism_like(network) == DECLARED.mechanism_like(network.with_edges(()))


def test_estimates_from_copies_combine():
    """Seeded: 95% intervals of both coefficients, from four copies at epsilon 1 each."""
    with bdp.reproducible(3):
        copies = DECLARED.release(classes(), 4).outputs
    fits = [fit_mple(copy, FORMULA) for copy in copies]
    for t, truth in enumerate((-3.2, 1.5)):
        found = bdp.combine([f.coef[t] for f in fits], [f.covariance[t, t] for f in fits])
        low, high = found.interval()
        assert low < truth < high < low + 2


@pytest.mark.slow
def test_the_figures_of_the_documentation():
    """Exact for SDD, cells and places in them; 2,000 seeded draws for SPHC, right to 2% or so."""
    empty = Network(205, attributes={"g": np.arange(205) % 4})
    network = simulate(empty, FORMULA, [-4.6, 1.2], seed=1).networks[0][0]
    assert len(network.edges) == 316
    assert fit_mple(network, FORMULA).standard_error == pytest.approx([0.08, 0.11], abs=0.006)
    declared = bdp.synthesizers.DPERGMSynthesizer(
        FORMULA, 1.0, centre=(-4.5, 1), scale=0.5, attributes=("g",)
    )
    mechanism = declared.mechanism_like(network)
    grid = mechanism.public_grid(empty)
    choice = grid.exponential(mechanism.cost)
    seen = np.array([*statistics(network, FORMULA).values()])
    law = np.exp(choice.logp(np.arange(400), grid.utilities(seen))).reshape(20, 20)
    middles = 0.075 * (2 * np.arange(20) - 19)
    for axis, sd in ((1, 0.19), (0, 0.28)):
        each = law.sum(axis=axis)
        variance = each @ middles**2 - (each @ middles) ** 2 + 0.075**2 / 3
        assert np.sqrt(variance) == pytest.approx(sd, abs=0.005)
    with bdp.reproducible(1):
        drawn = replace(mechanism, method="sphc").coefficients(network, 2000)
    assert drawn.std(axis=0) == pytest.approx([0.86, 0.87], rel=0.04)
    few = replace(declared, epsilon=6.0, bins=8)
    perturbed = replace(few, method="sphc").mechanism_like(network)
    assert perturbed.guarantee(neighbours="node").epsilon == 6.0
    plain = replace(few, epsilon=6 / 204).mechanism_like(network)
    assert plain.guarantee(neighbours="node").epsilon == pytest.approx(6.0, rel=1e-9)
    grid = perturbed.public_grid(empty)
    u = grid.utilities(seen.tolist())
    weights, choice = np.ldexp(u, -grid.bits), grid.exponential(plain.cost)
    for logs, sds in (
        (log_probabilities(weights, 1000, perturbed.noise_scale, whole=True), (0.38, 0.38)),
        (choice.logp(np.arange(64), u), (0.80, 0.70)),
    ):
        law, middles = np.exp(logs).reshape(8, 8), 0.1875 * (2 * np.arange(8) - 7)
        for axis, sd in enumerate(sds):
            each = law.sum(axis=axis)
            variance = each @ middles**2 - (each @ middles) ** 2 + 0.1875**2 / 3
            assert np.sqrt(variance) == pytest.approx(sd, abs=0.006)


def test_under_a_seed_it_is_the_same_and_promises_nothing():
    def drawn():
        with bdp.reproducible(11):
            return bdp.synthesizers.DPERGMSynthesizer(
                "edges + gwesp(0.5)", 1.0, centre=-2, scale=0.3, bins=6
            ).release(florentine(), 2)

    one, other = drawn(), drawn()
    assert one.outputs == other.outputs
    assert one.guarantee.epsilon == np.inf


def test_networkx_in_and_a_release_made_elsewhere():
    graph = nx.karate_club_graph()
    declared = bdp.synthesizers.DPERGMSynthesizer(
        "edges", 2.0, "sphc", prior=bdp.networks.NormalPrior(-2, 1), draws=100
    )
    release = declared.release(graph)
    assert release.copies == 4
    assert release.guarantee.epsilon == 2.0
    elsewhere = bdp.Release.of(declared, outputs=[graph] * 4)
    assert elsewhere.mechanism == release.mechanism
    assert elsewhere.guarantee.strength is bdp.Strength.CONDITIONAL


def test_a_directed_network():
    network = Network(12, [[0, 1], [1, 0], [2, 3], [5, 4]], directed=True)
    copies = bdp.synthesizers.DPERGMSynthesizer(
        "edges + mutual", 4.0, centre=(-2, 1), scale=0.5
    ).release(network, 2)
    assert all(copy.directed for copy in copies.outputs)


def test_a_published_posterior_that_the_prior_decides_is_warned_of_without_telling_the_ties():
    declared = bdp.synthesizers.DPERGMSynthesizer("edges", 4.0, "sphc", "published", draws=400)
    said = []
    for ties in ([], [[0, 1], [0, 2], [1, 2]]):
        with pytest.warns(UserWarning, match="or the prior alone decides") as found:
            declared.release(Network(3, ties), 2)
        said.append([str(one.message) for one in found])
    assert said[0] == said[1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["sdd", "sdd_mc", "sphc"])
def test_as_published(method):
    declared = bdp.synthesizers.DPERGMSynthesizer(
        "edges + gwesp(0.5)",
        50.0,
        method,
        "published",
        prior=bdp.networks.NormalPrior(0, 5),
        bins=8,
        draws=400,
    )
    with bdp.reproducible(2):
        release = declared.release(florentine(), 2)
    assert [copy.n for copy in release.outputs] == [16, 16]
    assert release.guarantee.strength is bdp.Strength.AS_PUBLISHED


def test_a_ledger_takes_the_corrected_and_refuses_the_published(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    budget = ledger.create("ties", epsilon=5.0, neighbours="edge")
    published = bdp.synthesizers.DPERGMSynthesizer(
        "edges", 1.0, "sphc", "published", draws=50, bins=5
    )
    with pytest.raises(bdp.errors.InvalidInput, match="accept_unproved=True"):
        published.release(florentine(), 1, ledger=budget)
    assert budget.remaining().epsilon == 5.0
    declared = bdp.synthesizers.DPERGMSynthesizer("edges", 4.0, centre=-1.5, scale=0.5)
    declared.release(florentine(), 4, ledger=budget)
    assert budget.remaining().epsilon == 1.0
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release(florentine(), 2, ledger=budget)
    for wrong in (
        lambda: declared.release([[0, 1]], 1, ledger=budget),
        lambda: declared.release(florentine(), 0, ledger=budget),
        lambda: bdp.synthesizers.DPERGMSynthesizer("edges", 1.0, centre=0, scale=1e16).release(
            florentine(), ledger=budget
        ),
    ):
        with pytest.raises(bdp.errors.InvalidInput):
            wrong()
    assert budget.remaining().epsilon == 1.0
    accepting = ledger.dataset("ties", accept_unproved=True)
    assert published.release(florentine(), 1, ledger=accepting).copies == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"formula": "edges + bees"}, "'bees'"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"method": "gibbs"}, "method is 'gibbs'"),
        ({"method": "sdd_mc"}, "no corrected calibration"),
        ({"calibration": "both"}, "calibration is 'both'"),
        ({"correlation": -0.1}, r"correlation is -0\.1"),
        ({"prior": (0, 1)}, "prior is a tuple"),
        ({"attributes": "g"}, r"as \('g',\)"),
        ({"scale": None}, "scale is missing"),
        ({"scale": (1, 1, 1)}, "scale has 3 numbers"),
        ({"formula": "edges + nodematch('secret')"}, r"attributes=\('secret',\)"),
        ({"formula": "edges + nodematch('height')"}, "no attribute 'height'"),
        ({"formula": "edges + edgecov('near')"}, "dyad attributes never cross"),
        ({"formula": "edges + mutual"}, "isn't defined for undirected"),
        ({"attributes": ("weight",)}, "'weight'"),
        ({"bins": 400}, "160,000 cells"),
        ({"prior": bdp.networks.NormalPrior(0, [1, 1, 1])}, "3 numbers"),
    ],
)
def test_wrong_input_is_named(arguments, words):
    network = classes(12)
    network = Network(
        network.nodes, network.edges, False, network.attributes, {"near": np.zeros((12, 12))}
    )
    given = {"formula": FORMULA, "epsilon": 1.0, "centre": 0, "scale": 1, "attributes": ("g",)}
    with pytest.raises(bdp.errors.InvalidInput, match=words):
        bdp.synthesizers.DPERGMSynthesizer(**(given | arguments)).release(network)


@pytest.mark.parametrize("name", ["centre", "scale"])
@pytest.mark.parametrize("given", ["1", {1.0: -2.0}, {1.0}], ids=["text", "mapping", "set"])
def test_a_grid_is_of_a_number_or_a_sequence(name, given):
    """The keys of a mapping and the order of a set were taken, and a text was called a tuple."""
    declared = {"centre": -1.0, "scale": 0.5, name: given}
    made = bdp.synthesizers.DPERGMSynthesizer("edges", 1.0, **declared)
    with pytest.raises(
        bdp.errors.InvalidInput, match=f"{name} is a {type(given).__name__}; it must be"
    ):
        made.mechanism_like(bdp.networks.Network(4, [(0, 1)]))
