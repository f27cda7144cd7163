"""Evidence that follows the whole hidden graph, against the mechanisms' laws by enumeration."""

import dataclasses
import itertools
import warnings

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.kernels.hidden.whole import log_whole, room_for
from bayesdp.networks import Network
from bayesdp.networks.evidence import together
from bayesdp.networks.hidden.evidence import seen_of
from tests.networks.hidden_oracles import every_graph, flipped
from tests.networks.oracles import karate
from tests.networks.test_hidden_moves import check_law, run_codes
from tests.networks.test_max_degree import errors

pytestmark = pytest.mark.slow

Truncated, Triangles = (
    bdp.mechanisms.TruncatedStatisticsMechanism,
    bdp.mechanisms.NoisyTrianglesMechanism,
)


def truncated(n: int, formula: str = "edges + kstar(2)", most: int = 2) -> Truncated:
    return Truncated(formula, 12.0, most, nodes=n)


CASES = {
    "truncated": (truncated, [(4, 3)]),
    "gwdegree": (lambda n: truncated(n, "isolates + gwdegree(0.5)", 1), [(1, 1.25)]),
    "triangles": (lambda n: Triangles(1.5, nodes=n), [2]),
    "two copies": (lambda n: Triangles(1.0, 0.4, nodes=n), [3, -1]),
    "cut off": (lambda n: Triangles(1.0, nodes=n), [2**52, -(2**52)]),
}


def law_of(mechanism, outputs, graphs: list[np.ndarray]) -> np.ndarray:
    """log Pr[outputs | graph] of each graph, by the mechanism."""
    networks = [Network(len(a), np.argwhere(np.triu(a))) for a in graphs]
    return sum(mechanism.logp(output, networks) for output in outputs)


@pytest.mark.parametrize("bitsets", [True, False])
@pytest.mark.parametrize("n", [4, pytest.param(5, marks=pytest.mark.calibrate)])
@pytest.mark.parametrize("case", CASES)
def test_the_law_of_the_hidden_graph_is_exact(case, n, bitsets):
    make, outputs = CASES[case]
    mechanism = make(n)
    outputs = [mechanism.check_output(output) for output in outputs]
    terms = ["edges", "triangle"]
    theta = np.array([-0.4, 0.3])
    nodes, graphs, values = every_graph(n, False, terms)
    evidence = together([mechanism.evidence(output) for output in outputs])
    law = special.softmax(values @ theta + law_of(mechanism, outputs, graphs))
    codes = run_codes(evidence, " + ".join(terms), theta, nodes, (), 30_000, 60, bitsets=bitsets)
    check_law(codes[100:], graphs, False, law)


def test_with_a_graph_released_beside():
    nodes, graphs, values = every_graph(4, False, ["edges", "triangle"])
    seen = Network(4, [[0, 1], [1, 2], [0, 2]])
    mechanism = truncated(4, "edges", 1)
    plain = flipped(seen, 1.2)
    evidence = together([mechanism.evidence((1,)), plain])
    dyads = list(itertools.combinations(range(4), 2))
    released = seen.to_adjacency()
    agree = [sum(a[d] == released[d] for d in dyads) for a in graphs]
    theta = np.array([-0.4, 0.8])
    law = special.softmax(
        values @ theta + 1.2 * np.array(agree) + law_of(mechanism, [(1,)], graphs)
    )
    codes = run_codes(evidence, "edges + triangle", theta, nodes, (), 30_000, 60)
    check_law(codes[100:], graphs, False, law)


@pytest.mark.parametrize("mechanism", [truncated(34, most=4), Triangles(1.0, nodes=34)])
def test_on_a_real_network_and_its_neighbours_it_is_the_mechanism_s_law(mechanism):
    club = Network(34, karate().edges)
    output = (60, 200) if isinstance(mechanism, Truncated) else 50
    seen, bound, _ = seen_of(mechanism.evidence(output), "edges", club)
    generator = np.random.default_rng(1)
    found, expected = [], []
    for _ in range(20):
        kept = generator.random(len(club.edges)) < 0.9
        network = club.with_edges(club.edges[kept])
        found.append(log_whole(seen.whole, *bound.graph(network), room_for(seen.whole)))
        expected.append(float(mechanism.logp(output, network)))
    found, expected = np.array(found), np.array(expected)
    np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-9)
    assert np.ptp(found) > 0.1


@pytest.mark.parametrize("case", ["truncated", "triangles"])
def test_a_fit_is_the_enumerated_posterior(case):
    make, outputs = CASES[case]
    mechanism, sd = make(5), 1.0
    outputs = [mechanism.check_output(output) for output in outputs]
    terms = ["edges", "triangle"]
    _, graphs, values = every_graph(5, False, terms)
    support = law_of(mechanism, outputs, graphs)
    axis = np.linspace(-6.5 * sd, 6.5 * sd, 101)
    theta = np.array(list(itertools.product(axis, axis)))
    kinds, which = np.unique(values, axis=0, return_inverse=True)
    each = [support[which.ravel() == k] for k in range(len(kinds))]
    power = theta @ kinds.T
    weight = special.softmax(
        special.logsumexp(power + [special.logsumexp(s) for s in each], axis=1)
        - special.logsumexp(power + [np.log(len(s)) for s in each], axis=1)
        - (theta**2).sum(axis=1) / (2 * sd**2)
    )
    mean = weight @ theta
    spread = (theta - mean).T @ ((theta - mean) * weight[:, None])
    root = np.sqrt(np.diag(spread))
    idata = bdp.models.ERGMModel(" + ".join(terms), prior=bdp.networks.NormalPrior(0, sd)).fit(
        bdp.Release.of(mechanism, outputs=outputs), draws=2_500, warmup=500, auxiliary="exact",
        seed=1,
    )  # fmt: skip
    found = errors(idata.posterior["theta"].to_numpy(), mean, root, spread[0, 1] / root.prod())
    assert (np.abs(found) < 5).all()
    assert np.abs(mean).max() > 0.1 * sd


def test_a_release_of_a_confidential_graph_is_read():
    with bdp.reproducible(1):
        releases = [
            bdp.synthesizers.TruncatedStatisticsSynthesizer("edges + kstar(2)", 8.0, 6).release(
                karate()
            ),
            bdp.synthesizers.NoisyTrianglesSynthesizer(3.0).release(karate(), copies=2),
        ]
    for release in releases:
        assert release.mechanism.nodes == 34
        model = bdp.models.ERGMModel(
            "edges + gwesp(0.5)", prior=bdp.networks.NormalPrior(0, [3, 1])
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # ten draws haven't mixed
            idata = model.fit(release, draws=10, warmup=20, chains=2, auxiliary=500, seed=1)
        assert np.isfinite(idata.posterior["theta"]).all()


def test_what_is_refused():
    for mechanism, output in ((Truncated("edges", 1.0, 3), (3,)), (Triangles(1.0), 3)):
        with pytest.raises(bdp.errors.InvalidInput, match="doesn't say how many nodes"):
            mechanism.evidence(output)
        dataclasses.replace(mechanism, nodes=5).evidence(output)
    with pytest.raises(bdp.errors.InvalidInput, match="nodes is 0"):
        Truncated("edges", 1.0, 3, nodes=0)
    with pytest.raises(bdp.errors.InvalidInput, match="this mechanism is for nodes = 4"):
        truncated(4).release(Network(5))
    evidence = Triangles(1.0, nodes=5).evidence(2)
    directed = dataclasses.replace(evidence, nodes=Network(5, (), True))
    with pytest.raises(bdp.errors.InvalidInput, match="undirected graphs"):
        seen_of(directed, "edges", directed.nodes)
    many = Triangles(1.0, nodes=10_000).evidence(2)
    with pytest.raises(bdp.errors.InvalidInput, match="on 3 to 2,000"):
        seen_of(many, "edges", many.nodes)
