"""Largest changes of every term against enumeration of all small graphs and their neighbours."""

import functools
import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.networks import Network, statistics
from bayesdp.networks.exact_statistics import exact_statistics
from bayesdp.networks.formula import parse
from bayesdp.networks.sensitivity import Moves, largest_changes
from bayesdp.networks.terms import TERMS
from tests.networks.oracles import ORACLES, all_graphs, with_everything

SIZES = [(4, False), (5, False), (3, True), (4, True)]
SINGLE = "nodefactor('x')"  # whose levels have a single node
TERMS_TRIED = [*ORACLES, SINGLE, "sociality", "kstar(1)", "degree([1, 3])", "degree([2, 3, 4])"]
DEGREES = [None, 1, 2, 3]


def sizes_of(term: str):
    where = ORACLES[term][1] if term in ORACLES else "both" if term == SINGLE else "undirected"
    return [s for s in SIZES if where in ("both", "directed" if s[1] else "undirected")]


CASES = [(term, *size) for term in TERMS_TRIED for size in sizes_of(term)]


@functools.cache
def every(n: int, directed: bool) -> list[np.ndarray]:
    return list(all_graphs(n, directed))


@functools.cache
def values(term: str, n: int, directed: bool) -> np.ndarray:
    """Statistics of all graphs by the oracle, or from the degrees; shape (graphs, statistics)."""
    if term in ORACLES:
        each = ORACLES[term][0]
        found = []
        for a in every(n, directed):
            network = with_everything(a, directed)
            found.append([statistic(a, network) for statistic in each])
        return np.array(found)
    call = parse(term)[0]
    degree = np.array([a.sum(axis=1) for a in every(n, directed)])
    if call.name == "sociality":
        return degree[:, 1:]
    if term == SINGLE:
        inward = np.array([a.sum(axis=0) * directed for a in every(n, directed)])
        x = with_everything(every(n, directed)[0], directed).attributes["x"]
        return (degree + inward)[:, np.argsort(x)[1:]]
    given = call.arguments[0]
    ks = given if isinstance(given, list) else [given]
    if call.name == "kstar":
        return np.array([[sum(math.comb(d, k) for d in row) for k in ks] for row in degree])
    return np.array([[(row == k).sum() for k in ks] for row in degree])


@functools.cache
def pairs(n: int, directed: bool, node: bool) -> list[tuple[int, int]]:
    """All neighbours among all graphs, as numbers of graphs."""
    number = {a.tobytes(): k for k, a in enumerate(every(n, directed))}
    found = set()
    dyads = [(i, j) for i in range(n) for j in range(n) if (i != j if directed else i < j)]
    free = [[d for d in dyads if v in d] for v in range(n)] if node else [[d] for d in dyads]
    for changed in free:
        groups: dict[bytes, list[int]] = {}
        for a in every(n, directed):
            rest = a.copy()
            for i, j in changed:
                rest[i, j] = 0
                if not directed:
                    rest[j, i] = 0
            groups.setdefault(rest.tobytes(), []).append(number[a.tobytes()])
        for group in groups.values():
            found |= set(itertools.combinations(group, 2))
    return sorted(found)


@functools.cache
def neighbours(n: int, directed: bool, node: bool) -> np.ndarray:
    return np.array(pairs(n, directed, node))


def changes(term: str, n: int, directed: bool, node: bool, most: int | None) -> np.ndarray:
    """Absolute changes over all neighbours whose degrees are at most `most`."""
    near, found = neighbours(n, directed, node), values(term, n, directed)
    degree = np.array([a.sum(axis=1).max() for a in every(n, directed)])
    near = near[(degree[near] <= (n if most is None else most)).all(axis=1)]
    return np.unique(np.abs(found[near[:, 0]] - found[near[:, 1]]).round(12), axis=0)


def claimed(term: str, n: int, directed: bool, node: bool, most: int | None) -> np.ndarray:
    """All that a change may be: one of the vectors, or the sum of two of the pairs."""
    network = with_everything(every(n, directed)[0], directed)
    (moves,) = largest_changes(term, network, max_degree=most, node=node)
    pairs = np.array(moves.pairs, dtype=np.float64)
    assert ((pairs > 0).sum(axis=0) <= 1).all()  # no two share a statistic
    sums = (
        [sum(two) for two in itertools.combinations(pairs, min(2, len(pairs)))]
        if pairs.size
        else []
    )
    return np.array([*moves.vectors, *sums], dtype=np.float64)


def attained(term: str, n: int, directed: bool, node: bool, most: int | None) -> bool:
    """Where the module says that its numbers are attained."""
    name, bounded = parse(term)[0].name, most is not None and most < n - 1
    if not node:
        return True
    if directed:
        return not (name in ("gwesp", "gwdsp") or (name == "triangle" and bounded))
    if name == "degree":
        return parse(term)[0].arguments[0] == [0]
    return name not in ("gwesp", "gwdsp")


@pytest.mark.slow
@pytest.mark.parametrize("node", [False, True])
@pytest.mark.parametrize(("term", "n", "directed"), CASES)
def test_no_neighbours_are_further_apart_and_some_are_as_far(term, n, directed, node):
    rng = np.random.default_rng(5)
    for most in DEGREES if n + node + directed < 6 else (None, 2):
        found, moves = (f(term, n, directed, node, most) for f in (changes, claimed))
        assert (found.max(axis=0) <= moves.max(axis=0) + 1e-9).all()
        if attained(term, n, directed, node, most):
            np.testing.assert_allclose(found.max(axis=0), moves.max(axis=0), rtol=1e-9, atol=1e-9)
        ones = np.ones(moves.shape[1])
        for weight in [*np.eye(len(ones)), ones, *rng.exponential(size=(6, moves.shape[1]))]:
            for power in (1, 2):  # what Laplace and Gaussian noise charge
                true, claim = ((part**power @ weight).max() for part in (found, moves))
                assert true <= claim + 1e-9
                jointly = not node or ("nodemix" in term and most is None)
                if jointly and attained(term, n, directed, node, most):
                    assert true == pytest.approx(claim, rel=1e-9, abs=1e-9)


def test_every_term_is_tried():
    assert {parse(term)[0].name for term in TERMS_TRIED} == set(TERMS)


@pytest.mark.parametrize("directed", [False, True])
def test_known_numbers(directed):
    network = Network(30, (), directed, {"x": np.arange(30) - 9.5, "g": ["a", "b", "b"] * 10})

    def edge(term, most=None):
        return list(largest_changes(term, network, max_degree=most)[0].most)

    assert edge("edges") == [1]
    assert edge("nodecov('x')") == [38]
    assert edge("absdiff('x')") == [29]
    assert edge("nodematch('g')") == [1]
    assert edge("nodematch('g', diff=True)") == [1, 1]
    assert edge("nodemix('g')") == [1] * (3 if directed else 2)
    assert edge("isolates") == [2]
    if directed:
        assert edge("mutual") == [1]
        assert edge("triangle") == [4 * 28]
        assert edge("gwdsp(0.5)") == [2 * 28]
    else:
        assert edge("kstar([2, 3])") == [2 * 28, 2 * math.comb(28, 2)]
        assert edge("kstar(3)", 5) == [2 * math.comb(4, 2)]
        assert edge("triangle") == [28]
        assert edge("triangle", 5) == [4]
        assert edge("gwdegree(0.5)") == [2]
        r = 1 - math.exp(-0.5)
        assert float(edge("gwesp(0.5)", 5)[0]) == pytest.approx(math.exp(0.5) * (1 - r**4) + 8)


@pytest.mark.parametrize("directed", [False, True])
def test_the_whole_vector_of_nodemix_moves_by_one(directed):
    """In L1 norm, by one tie; by all ties of a node, as far as its own level reaches."""
    network = Network(6, (), directed, {"g": list("abbccc")})
    formula = "nodemix('g', levels2=True)"
    (moves,) = largest_changes(formula, network)
    assert {sum(move) for move in moves.vectors} == {0, 1}  # no tie is within a, which has one node
    (moves,) = largest_changes(formula, network, node=True)
    undirected = [[0, 2, 0, 3, 0, 0], [0, 1, 1, 0, 3, 0], [0, 0, 0, 1, 2, 2]]
    ordered = [
        [0, 2, 3, 2, 0, 0, 3, 0, 0],
        [0, 1, 0, 1, 2, 3, 0, 3, 0],
        [0, 0, 1, 0, 0, 2, 1, 2, 4],
    ]
    assert sorted(map(list, moves.vectors)) == sorted(ordered if directed else undirected)
    (moves,) = largest_changes(formula, network, node=True, max_degree=1)
    assert max(sum(move) for move in moves.vectors) == (8 if directed else 3)


def test_a_statistic_that_cannot_change_moves_by_nothing():
    network = Network(4, (), False, {"g": ["a", "b", "c", "d"]})
    none = Moves(((0,),))
    assert largest_changes("nodematch('g')", network) == (none,)
    assert largest_changes("degree(4) + triangle", network, max_degree=1) == (none, none)


def test_two_levels_of_a_single_node_are_as_far_as_two_nodes_ties():
    """In any weighted L2 norm: the two of the least noise; and 2 where a level has two nodes."""
    network = Network(4, (), False, {"g": ["a", "b", "c", "d"], "h": ["a", "b", "c", "c"]})
    weights = (3, 2, 5)
    for term, cost in (("sociality", 8), ("nodefactor('g')", 8), ("nodefactor('h')", 8)):
        (moves,) = largest_changes(term, network)
        assert (
            moves.cost(lambda v: sum(w * x * x for w, x in zip(weights, v, strict=False))) == cost
        )


LEVELS = ["".join(each) for each in itertools.product("abcd", repeat=4) if len({*each}) > 1]


@pytest.mark.parametrize("most", [None, 1])
@pytest.mark.parametrize("directed", [False, True])
def test_what_a_tie_adds_to_counts_of_levels_is_exact(directed, most):
    """Of all levels that four nodes may have, over all graphs and norms of both kinds of noise."""
    rng, near = np.random.default_rng(2), neighbours(4, directed, False)
    graphs = np.array(every(4, directed))
    ends = graphs.sum(axis=2) + (graphs.sum(axis=1) if directed else 0)
    if most is not None:
        near = near[(graphs.sum(axis=2).max(axis=1)[near] <= most).all(axis=1)]
    mixed = 0
    for levels in LEVELS:
        counted = sorted({*levels})[1:]
        counts = ends @ np.array([[own == level for level in counted] for own in levels])
        found = np.unique(np.abs(counts[near[:, 0]] - counts[near[:, 1]]), axis=0)
        network = Network(4, (), directed, {"g": list(levels)})
        (moves,) = largest_changes("nodefactor('g')", network, max_degree=most)
        assert [*moves.most] == [*found.max(axis=0)]
        mixed += bool(moves.vectors and moves.pairs)
        weights = [np.ones(len(counted)), *rng.exponential(size=(4, len(counted)))]
        for weight, power in itertools.product(weights, (1, 2)):
            cost = moves.cost(lambda v, w=weight, p=power: np.array(v, float) ** p @ w)
            assert float(cost) == pytest.approx((found**power @ weight).max(), rel=1e-12)
        for power in (1, 2):  # noise of these scales costs the most for a tie of any kind
            scales = np.array(moves.proportions(power))
            single = np.array([levels.count(level) == 1 for level in counted])
            longest = ((found / scales) ** power).sum(axis=1).max()
            for t in np.flatnonzero(~single if moves.vectors else single):
                touched = found[found[:, t] > 0]
                assert ((touched / scales) ** power).sum(axis=1).max() == pytest.approx(longest)
    assert mixed > 20


@pytest.mark.parametrize("most", [0, -1, 2.5, True, "3"])
def test_a_wrong_bound_on_degrees_is_refused(most):
    with pytest.raises(bdp.errors.InvalidInput, match="max_degree"):
        largest_changes("edges", Network(4), max_degree=most)


@pytest.mark.parametrize("directed", [False, True])
def test_exact_statistics_are_the_kernels_without_rounding(directed):
    rng = np.random.default_rng(3)
    here = ("both", "directed" if directed else "undirected")
    formula = " + ".join(term for term, (_, where) in ORACLES.items() if where in here)
    for n, density in ((7, 0.3), (40, 0.2), (40, 0.9), (9, 0.0), (9, 1.0)):
        a = (rng.random((n, n)) < density).astype(int)
        np.fill_diagonal(a, 0)
        network = with_everything(a if directed else np.triu(a) | np.triu(a).T, directed)
        found = exact_statistics(network, formula)
        near = list(statistics(network, formula).values())
        np.testing.assert_allclose([float(x) for x in found], near, rtol=1e-12, atol=1e-9)
        shuffled = Network(
            n, rng.permutation(network.edges), directed, network.attributes,
            network.dyad_attributes,
        )  # fmt: skip
        assert exact_statistics(shuffled, formula) == found


def test_exact_sums_keep_what_floats_lose():
    network = Network(3, [[0, 1], [1, 2]], False, {"x": [1e17, 1.0, -1e17]})
    assert exact_statistics(network, "nodecov('x')") == (2,)
    assert exact_statistics(network, "absdiff('x')") == (2 * 10**17,)
