"""The brute force itself: known answers, its linear programme against searches, its definitions."""

import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.privacy.distributional.worlds import contexts, delta_of

from .oracles import bits, independent, mixture, nothing, random_kernel, random_law, sum_of

D = bdp.distributional


def response(p: float):
    """Randomized response of the first bit."""
    return lambda x: {x[0]: p, 1 - x[0]: 1 - p}


def test_randomized_response_against_its_simulator():
    """Definition 5.1 isn't Definition 3.3: a simulator in the middle halves epsilon, about."""
    points = [{((0,), ()): 1.0}, {((1,), ()): 1.0}]
    best = D.smallest_epsilon(response(0.75), points, D.records(1))
    assert best.epsilon == pytest.approx(math.log(2), abs=1e-5)  # of 1/4 against 1/2
    between = D.noiseless_epsilon(response(0.75), [independent(1, 0.5)], D.records(1))
    assert between == pytest.approx(math.log(3))
    assert best.epsilon < between <= 2 * best.epsilon
    assert best.simulator[(None,)] == pytest.approx({0: 0.5, 1: 0.5}, abs=1e-5)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_parity_of_example_5_1(n):
    parity = lambda x: sum(x) % 2  # noqa: E731
    law = independent(n, 0.5, parity)
    best = D.smallest_delta(parity, [law], D.records(n), 1.0)
    assert best.delta == pytest.approx(0.5)  # known to the adversary, and not to the simulator
    fair = lambda alt: {0: 0.5, 1: 0.5}  # noqa: E731
    assert D.inference_delta(parity, [law], D.records(n), 0.0, fair) == 0.0


@pytest.mark.parametrize("seed", range(6))
def test_no_simulator_beats_the_linear_programme(seed):
    """Random simulators, and small steps away from the best one."""
    generator = np.random.default_rng(seed)
    laws = [random_law(generator, bits(2), [0, 1]) for _ in range(2)]
    mechanism = random_kernel(generator, bits(2), 3)
    best = D.smallest_delta(mechanism, laws, D.records(2), 0.3)
    assert best.delta == pytest.approx(best.lower, abs=1e-8)
    found = contexts(mechanism, laws, D.records(2))
    kernel = np.array([[best.simulator[a].get(t, 0.0) for t in found.outputs] for a in found.alts])
    for spread in (0.01, 0.1, 1.0):
        for _ in range(50):
            other = generator.dirichlet(np.ones(3), size=len(kernel))
            tried = (1 - spread) * kernel + spread * other
            assert delta_of(found, tried, 0.3) >= best.lower - 1e-8
    again = D.smallest_epsilon(mechanism, laws, D.records(2), best.delta)
    assert again.epsilon == pytest.approx(0.3, abs=1e-4)
    given = D.smallest_delta(
        mechanism, laws, D.records(2), 0.3, simulator=lambda a: best.simulator[a]
    )
    assert given.delta == pytest.approx(best.delta, abs=1e-12)


def test_a_given_simulator_is_inverted_exactly():
    law = [independent(4, 0.3)]
    shifted = lambda alt: {sum_of(alt): 0.7, sum_of(alt) + 1: 0.3}  # noqa: E731
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        delta = D.smallest_delta(sum, law, D.records(4), epsilon, simulator=shifted).delta
        back = D.smallest_epsilon(sum, law, D.records(4), delta, simulator=shifted)
        assert back.epsilon <= epsilon + 1e-9
        again = D.smallest_delta(sum, law, D.records(4), back.epsilon, simulator=shifted)
        assert again.delta == pytest.approx(delta, abs=1e-12)
        if back.epsilon > 0:
            less = back.epsilon - 1e-3
            short = D.smallest_delta(sum, law, D.records(4), less, simulator=shifted)
            assert short.delta > delta
    outside = D.smallest_epsilon(sum, law, D.records(4), 0.0, simulator=lambda a: "else")
    assert outside.epsilon == math.inf
    assert D.smallest_epsilon(sum, law, D.records(4), 0.0).epsilon == math.inf


def test_attributes_groups_and_nodes_scrub_what_they_say():
    (first, second) = D.attributes(2, [1])
    x = (("f", 1), ("m", 0))
    assert first.priv(x) == (1,)
    assert first.alt(x) == (("f", None), ("m", 0))
    assert second.alt(x) == (("f", 1), ("m", None))
    school = D.groups([[0, 2], [1]])
    assert [s.alt((5, 6, 7)) for s in school] == [(None, 6, None)] * 2 + [(5, None, 7)]
    assert [s.priv((5, 6, 7)) for s in school] == [5, 7, 6]
    graph = ((0, 1, 0), (1, 0, 1), (0, 1, 0))
    middle = D.nodes(3)[1]
    assert middle.priv(graph) == (1, 0, 1)
    assert middle.alt(graph) == (1, (0, 0), (0, 0))


def test_secrets_of_other_data_are_refused():
    """Too few of them left the other records out in silence, and too many raised IndexError."""
    law = [independent(2, 0.5)]
    other = "data of 3 records, and a law's data have 2"
    for secrets, message in (
        (D.records(3), other),
        (D.records(1), "data of 1 records, and a law's data have 2"),
        (D.attributes(3, [0]), other),
        (D.nodes(3), other),
        (D.groups([[0, 2]]), "data of 3 records or more, and a law's data have 2"),
    ):
        for of in (D.noiseless_epsilon, D.smallest_epsilon):
            with pytest.raises(bdp.errors.InvalidInput, match=message):
                of(sum, law, secrets)
    with pytest.raises(bdp.errors.InvalidInput, match="are no sequence of records"):
        D.noiseless_epsilon(abs, [{(5, ()): 1.0}], D.records(1))
    with pytest.raises(bdp.errors.InvalidInput, match="position beyond a record's 2 attributes"):
        D.noiseless_epsilon(len, [{(((0, 1),), ()): 1.0}], D.attributes(1, [2]))
    with pytest.raises(bdp.errors.InvalidInput, match="private is empty"):
        D.attributes(1, [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mechanism": lambda x: {0: 0.5}}, "mechanism returns probabilities below 0, or that"),
        ({"mechanism": lambda x: {0: 1.5, 1: -0.5}}, "mechanism returns probabilities below 0"),
        ({"simulator": lambda alt: {0: 0.3}}, "simulator returns probabilities below 0, or that"),
        ({"laws": [{(0, 1, 2): 1.0}]}, r"laws\[0\] must map pairs"),
        ({"laws": [{((0,), ()): "a"}]}, r"laws\[0\] has probabilities below 0"),
        ({"secrets": D.records(1)[0]}, "secrets is a Secret; it must be a list"),
        ({"secrets": [1]}, "it must be a list of Secret"),
    ],
)
def test_what_is_no_law_and_no_secret_is_refused(change, message):
    """Probabilities that don't sum to one gave a delta in silence."""
    good = {"mechanism": sum, "laws": [independent(1, 0.5)], "secrets": D.records(1)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        D.smallest_delta(**{**good, "epsilon": 0.5, **change})


def test_positions_come_in_lists():
    for make in (lambda: D.attributes(2, 1), lambda: D.groups([0, 1])):
        with pytest.raises(bdp.errors.InvalidInput, match="in place of positions; give these in a"):
            make()
    with pytest.raises(bdp.errors.InvalidInput, match="members is 3; it must be a list of groups"):
        D.groups(3)


def test_what_is_public_of_a_record_needs_no_protection():
    """Attribute level: a release of the public attributes alone costs nothing; of a record, all."""
    people = list(itertools.product((0, 1), repeat=2))
    law = {((a, b), ()): 1 / 16 for a in people for b in people}
    public = lambda x: tuple(r[0] for r in x)  # noqa: E731
    assert D.smallest_epsilon(public, [law], D.attributes(2, [1])).epsilon == 0
    assert D.smallest_epsilon(public, [law], D.records(2), 0.4).epsilon == math.inf


def test_a_group_that_scrubs_more_is_harder_to_simulate():
    law = [independent(4, 0.5)]
    alone = D.smallest_delta(sum, law, D.records(4), 0.5).delta
    together = D.smallest_delta(sum, law, D.groups([[0, 1], [2, 3]]), 0.5).delta
    assert alone < together


def test_a_random_tie_hides_a_node():
    """Node level, three nodes: the number of ties, each with probability 1/2."""
    law = {}
    for a, b, c in bits(3):
        graph = ((0, a, b), (a, 0, c), (b, c, 0))
        law[graph, ()] = 1 / 8
    ties = lambda g: sum(map(sum, g)) // 2  # noqa: E731
    found = D.smallest_delta(ties, [law], D.nodes(3), 1.0)
    one_tie = D.smallest_delta(sum, [independent(3, 0.5)], D.groups([[0, 1]]), 1.0)
    assert found.delta >= one_tie.delta - 1e-9


def test_pufferfish_and_noiseless_privacy_are_not_ours():
    """The example of section 5.5: records that follow a mean of -1 or 1, and their majority."""
    n = 5
    both = mixture([independent(n, 0.99), independent(n, 0.01)], [0.5, 0.5])
    majority = lambda x: int(2 * sum(x) > len(x))  # noqa: E731
    known = {((x), k): p / 2 for k, q in ((0, 0.01), (1, 0.99))
             for (x, _), p in independent(n, q).items()}  # fmt: skip
    secret = [lambda x: bool(x[0])]
    ours = D.smallest_delta(majority, [both], D.records(n), 0.1).delta
    assert ours < 2e-3
    assert D.noiseless_epsilon(majority, [both], D.records(n), 1e-2) > 3
    assert D.pufferfish_epsilon(majority, [both], secret, 1e-2) > 3
    # Who knows the mean learns little; who knows less, more: Theorem 5.5 fails for it.
    assert D.noiseless_epsilon(majority, [known], D.records(n), 1e-2) < 0.1
    undecided = [lambda x: None if sum(x) == 2 else sum(x) > 2]
    assert D.pufferfish_epsilon(majority, [both], undecided, 0.5) == math.inf


def test_the_class_of_all_point_laws_is_differential_privacy():
    n, p = 2, 0.6

    def noisy(x):
        each = [{x[i]: p, 1 - x[i]: 1 - p} for i in range(n)]
        return {(a, b): each[0][a] * each[1][b] for a, b in bits(n)}

    points = [{(x, ()): 1.0} for x in bits(n)]
    pure = math.log(p / (1 - p))
    kept = D.smallest_epsilon(noisy, points, D.records(n)).epsilon
    assert pure / 2 <= kept + 1e-6
    assert kept < pure
    assert D.smallest_epsilon(noisy, points, D.records(n), within=1e-20).epsilon <= kept


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: D.smallest_delta(sum, [], D.records(2), 1.0), "laws is empty"),
        (lambda: D.smallest_delta(sum, [{((0, 1), ()): 0.9}], D.records(2), 1.0), "sum to 1"),
        (lambda: D.smallest_delta(sum, [{(0): 1.0}], D.records(2), 1.0), "pairs"),
        (lambda: D.smallest_delta(sum, [independent(2, 0.5)], [], 1.0), "secrets is empty"),
        (lambda: D.smallest_delta(sum, [independent(2, 0.5)], D.records(2), -1.0), "epsilon is"),
        (lambda: D.smallest_delta(sum, [independent(2, 0.5)], D.records(2), 17.0), "epsilon is"),
        (lambda: D.smallest_epsilon(sum, [independent(2, 0.5)], D.records(2), 1.0), "delta is"),
        (lambda: D.smallest_delta("sum", [independent(2, 0.5)], D.records(2), 1.0),
         "mechanism is a str; it must be a function"),
        (lambda: D.smallest_delta(list, [independent(2, 0.5)], D.records(2), 1.0),
         "mechanism returns a list, which can't be looked up"),
        (lambda: D.smallest_delta(sum, [independent(2, 0.5)], D.records(2), 1.0, simulator=list),
         "simulator returns a list"),
        (lambda: D.smallest_delta(nothing_small, [independent(9, 0.5)], D.records(9), 1.0),
         "too large"),
    ],
)  # fmt: skip
def test_bad_inputs(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call()


def nothing_small(x):
    return x


def test_nothing_is_known_by_default():
    assert nothing(1) == ()
