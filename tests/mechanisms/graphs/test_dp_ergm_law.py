"""The law of copies given the confidential graph, by which models read them, by enumeration."""

import dataclasses

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.core.views import GraphView, IntractableView, view_of
from bayesdp.kernels.hidden.whole import log_whole, room_for
from bayesdp.mechanisms.graphs.dp_ergm.law import CopiesLaw, law_on, unknown_constant
from bayesdp.networks import Network
from bayesdp.networks.evidence import Evidence, SeenCopies, together
from bayesdp.networks.hidden.evidence import seen_of
from bayesdp.networks.listing import listed
from tests.mechanisms.graphs.test_dp_ergm import CASE, CASES, Small, cells_law, made, network_law


def copies_law(mechanism, small, *, empty=None):
    """log Pr[copy | graph], shape (graphs, copies): cells and their networks added up."""
    grid = mechanism.public_grid(small.networks[0].with_edges(()) if empty is None else empty)
    return np.log(np.exp(cells_law(mechanism, grid, small)) @ network_law(grid, small))


def evidence_on(evidence, formula, networks):
    """What the sampler adds to the log odds of each of these graphs."""
    seen, bound, _ = seen_of(evidence, formula, evidence.nodes)
    room = room_for(seen.whole)
    return np.array([log_whole(seen.whole, *bound.graph(each), room) for each in networks])


def check_equal(found, expected):
    np.testing.assert_allclose(found - found.mean(), expected - expected.mean(), atol=2e-6)


@pytest.mark.slow
@CASE
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 1e3])
def test_the_evidence_of_a_copy_is_its_law(n, directed, formula, centre, scale, epsilon):
    small = Small(n, directed, formula)
    mechanism = made(n, directed, formula, centre, scale, epsilon=epsilon)
    law = copies_law(mechanism, small)
    other = "edges + mutual" if directed else "edges + triangle"
    for k in (0, 1, 7, len(small.networks) - 1):
        evidence = mechanism.evidence(small.networks[k])
        assert not evidence.dyadwise
        check_equal(evidence_on(evidence, formula, small.networks), law[:, k])
        check_equal(evidence_on(evidence, other, small.networks), law[:, k])


@pytest.mark.slow
def test_copies_and_other_releases_add_up():
    n, directed, formula, centre, scale = CASES[1]
    small = Small(n, directed, formula)
    fine = made(n, directed, formula, centre, scale, epsilon=1e3)
    coarse = made(n, directed, "edges", (-0.5,), (0.9,), epsilon=3.0)
    parts = [fine.evidence(small.networks[k]) for k in (3, 40, 9)]
    parts.insert(1, coarse.evidence(small.networks[11]))
    evidence = together(parts)
    assert [len(seen.log_likelihood) for seen in evidence.copies] == [3, 1]
    law = copies_law(fine, small)[:, [3, 40, 9]].sum(axis=1)
    edges = Small(n, directed, "edges")
    law = law + copies_law(coarse, edges)[:, 11]
    check_equal(evidence_on(evidence, "triangle", small.networks), law)


def test_attributes_make_another_law():
    declared = bdp.synthesizers.DPERGMSynthesizer(
        "edges + nodematch('g')", 50.0, centre=(-1, 0.5), scale=1.0, bins=6, attributes=("g",)
    )
    found = []
    for g in (["a", "a", "b", "b"], ["a", "b", "b", "b"]):
        copy = Network(4, [[0, 1], [1, 2], [2, 3]], attributes={"g": g})
        evidence = declared.mechanism_like(copy).evidence(copy)
        found.append(evidence.copies[0].log_likelihood)
    assert np.ptp(found[0] - found[1]) > 0.5


def test_the_simulated_constant_is_public():
    """Whoever has the nodes gets the numbers that a cell was drawn by, in whatever state."""
    n, directed, formula, centre, scale = CASES[1]
    mechanism = made(n, directed, formula, centre, scale)
    first, again = (mechanism.public_grid(Network(n)).public for _ in range(2))
    with bdp.reproducible(1):
        seeded = mechanism.public_grid(Network(n)).public
    assert np.array_equal(first, again)
    assert np.array_equal(first, seeded)


@pytest.mark.slow
def test_far_from_a_copy_nothing_is_lost():
    """Where all weights of a copy's likely cells underflow, logarithms are added up."""
    logs = np.array([[0.0, -900.0, -2000.0]])
    seen = SeenCopies("edges", np.array([[0.0], [400.0], [800.0]]), np.zeros(3), logs)
    networks = [Network(4), Network(4, [[0, 1]]), Network(4, [[0, 1], [0, 2], [1, 2]])]
    evidence = Evidence.of_copies(Network(4), seen)
    power = np.array([len(network.edges) * seen.slope[:, 0] for network in networks])
    expected = special.logsumexp(power + logs, axis=1) - special.logsumexp(power, axis=1)
    assert expected.min() < -800
    check_equal(evidence_on(evidence, "edges", networks), expected)


@pytest.mark.slow
@pytest.mark.parametrize("formula", ["edges + triangle", "edges + gwesp(0.5)"])
def test_tempered_constants_are_near_the_listed(monkeypatch, formula):
    mechanism = made(6, False, formula, (-1.0, 0.2), (0.5, 0.2), epsilon=1e3, bins=10)
    copies = [Network(6, [[0, 1], [1, 2], [0, 2], [3, 4]]), Network(6, [[0, 1], [2, 3]])]
    grid = mechanism.public_grid(Network(6))
    exact = [CopiesLaw(formula, Network(6), grid, 1.0).log_likelihood(copy) for copy in copies]
    monkeypatch.setattr("bayesdp.networks.auxiliary.MOST_DYADS", 0)
    law = CopiesLaw(formula, Network(6), grid, 1.0)
    for copy, expected in zip(copies, exact, strict=True):
        found = law.log_likelihood(copy)
        assert np.abs(found - found.mean() - expected + expected.mean()).max() < 0.2
        assert law.evidence(copy).problems == ()
    assert not law._normalizer.exact
    assert listed(formula, Network(6)).exact


def test_a_constant_that_is_not_known_well_is_told(monkeypatch):
    law_in = "bayesdp.mechanisms.graphs.dp_ergm.law"
    monkeypatch.setattr(f"{law_in}.covers", lambda *_: False)
    n, directed, formula, centre, scale = CASES[1]
    mechanism = made(n, directed, formula, centre, scale, bins=4)
    (problem,) = mechanism.evidence(Network(4)).problems
    assert "isn't known well enough" in problem
    assert (
        law_on(made(4, False, "edges", (-1.0,), (0.7,)), Network(4)).evidence(Network(4)).problems
        == ()
    )  # in closed form


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"method": "sphc", "calibration": "published", "centre": None, "scale": None},
         "the grid of the published"),
        ({"calibration": "published", "centre": None, "scale": None}, "the grid of the published"),
        (
            {"formula": "edges + triangle", "nodes": 102, "sensitivities": (1.0, 100.0),
             "centre": (0.0, 0.0), "scale": (0.1, 0.1)},
            "copies are drawn from a model of 2 coefficients on 5,151 dyads",
        ),
    ],
)  # fmt: skip
def test_what_no_model_reads(changed, why):
    from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism

    given = {"formula": "edges", "epsilon": 1.0, "nodes": 4, "directed": False,
             "sensitivities": (1.0,), "centre": (0.0,), "scale": (1.0,)} | changed  # fmt: skip
    mechanism = DPERGMMechanism(**given)
    (view,) = mechanism.views
    assert isinstance(view, IntractableView)
    assert view_of(mechanism, GraphView) is None
    assert why in view.why
    assert "bdp.combine" in view.why
    copy = Network(mechanism.nodes)
    with pytest.raises(bdp.errors.InvalidInput, match=why):
        mechanism.evidence(copy)
    model = bdp.models.ERGMModel("edges")
    assert not model.reads(mechanism)
    with pytest.raises(bdp.errors.InvalidInput, match=f"^{why}"):
        model.fit(bdp.Release.of(mechanism, outputs=[copy]))


def test_where_the_constant_is_known():
    assert (
        unknown_constant("edges + nodematch('g') + absdiff('x') + nodecov('x')", 4, 10**7) is None
    )
    assert unknown_constant("edges + mutual", 2, 10**7) is None
    assert unknown_constant("edges + triangle", 2, 5_000) is None
    assert unknown_constant("edges + triangle", 2, 5_001) is not None
    assert unknown_constant("edges + triangle + kstar(2) + isolates", 4, 22) is None
    assert unknown_constant("edges + triangle + kstar(2) + isolates", 4, 23) is not None


def test_evidence_that_does_not_fit_is_refused():
    n, directed, formula, centre, scale = CASES[0]
    good = made(n, directed, formula, centre, scale).evidence(Network(4))
    seen = good.copies[0]
    for changed in (
        {"slope": seen.slope[:, :0]},
        {"base": seen.base[:2]},
        {"log_likelihood": np.zeros((1, 2))},
        {"base": np.full_like(seen.base, np.nan)},
    ):
        bad = dataclasses.replace(good, copies=(dataclasses.replace(seen, **changed),))
        with pytest.raises(bdp.errors.InvalidInput, match="the evidence's copies"):
            seen_of(bad, "edges", Network(4))
    mechanism = made(n, directed, formula, centre, scale)
    with pytest.raises(bdp.errors.InvalidInput, match="the output"):
        mechanism.evidence(Network(5))
