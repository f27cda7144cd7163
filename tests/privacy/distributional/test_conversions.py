"""The theorems between promises, each against brute force; and where the printed ones fail."""

import dataclasses
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.privacy.distributional.secret import Secret

from .oracles import bits, independent, mixture, random_kernel, random_law, sum_of

D = bdp.distributional
PROVED = bdp.Strength.PROVED
LAWS = D.LawClass.of("bits", n=3)


def promise(epsilon, delta, law=LAWS, **other):
    return D.DistributionalGuarantee(epsilon, delta, "bits", law, source="a test", **other)


def joint(seed, n=2, outputs=3, laws=1):
    generator = np.random.default_rng(seed)
    found = [random_law(generator, bits(n), [0, 1]) for _ in range(laws)]
    return found, random_kernel(generator, bits(n), outputs)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("epsilon", [0.1, 0.7])
def test_posteriors_keep_to_theorem_5_2_as_corrected(seed, epsilon):
    laws, mechanism = joint(seed)
    secrets = D.records(2)
    best = D.smallest_delta(mechanism, laws, secrets, epsilon)
    for of_posteriors in (None, 2 * epsilon + 0.05, 5 * epsilon + 1):
        says = D.to_inference(promise(epsilon, best.delta), 2, epsilon=of_posteriors)
        measured = D.inference_delta(
            mechanism, laws, secrets, says.epsilon, lambda a: best.simulator[a]
        )
        assert measured <= says.delta + 1e-12
    assert says.definition is D.Definition.INFERENCE_BASED
    pure = D.smallest_epsilon(mechanism, laws, secrets)
    twice = D.to_inference(promise(pure.epsilon, 0.0), 2)
    assert twice.delta == 0
    assert twice.epsilon == pytest.approx(2 * pure.epsilon)
    found = D.inference_delta(mechanism, laws, secrets, twice.epsilon, lambda a: pure.simulator[a])
    assert found <= 1e-9


def counterexample(epsilon=2.0, delta=1e-6, q=0.9, s0=3.5e-3):
    """Of the module's docstring: data (v, t), priv v; the simulator is told an output of its own.

    Data are (v, t, t'): what is private, the release, and what the simulator will say.
    """
    f = {0: math.exp(epsilon) * s0, 1: 0.0}
    s = {0: s0, 1: delta}
    law = {}
    for v, weight in ((0, 1 - q), (1, q)):
        for t, p in ((1, f[v]), (0, 1 - f[v])):
            for u, r in ((1, s[v]), (0, 1 - s[v])):
                if p * r > 0:
                    law[(v, t, u), ()] = weight * p * r
    secret = Secret(lambda x: x[2], lambda x: x[0])
    return law, secret


def test_theorem_5_2_as_printed_is_false_for_the_simulator_it_is_given():
    epsilon, delta = 2.0, 1e-6
    law, secret = counterexample(epsilon, delta)
    same = lambda alt: alt  # noqa: E731
    kept = D.smallest_delta(lambda x: x[1], [law], [secret], epsilon, simulator=same)
    assert kept.delta <= delta * (1 + 1e-6)
    printed = 2 * math.sqrt(delta)
    assert printed <= epsilon * math.exp(epsilon)  # its condition
    measured = D.inference_delta(lambda x: x[1], [law], [secret], 3 * epsilon, same)
    assert measured > printed * 1.25
    corrected = D.to_inference(promise(epsilon, kept.delta), 1)
    assert measured <= corrected.delta
    assert corrected.delta < 2 * printed


def test_what_is_said_of_posteriors_of_an_epsilon_of_0_needs_one():
    with pytest.raises(bdp.errors.InvalidInput, match="above 0"):
        D.to_inference(promise(0.0, 1e-6), 10)
    said = D.to_inference(promise(0.0, 1e-6), 10, epsilon=0.1)
    assert 0 < said.delta < 0.02
    assert D.to_inference(promise(400.0, 1e-6), 1).delta == 1.0


@pytest.mark.parametrize("p", [0.55, 0.75, 0.95])
def test_semantic_privacy_of_randomized_response(p):
    """Theorem 3.1 without O(.): every prior of two bits on a grid, and every output."""
    epsilon = math.log(p / (1 - p))
    guarantee = bdp.mechanisms.RandomizedResponseMechanism.binary(epsilon).guarantee()
    said = D.semantic_privacy(guarantee)
    assert said.delta == 0
    assert said.distance == pytest.approx(math.tanh(epsilon / 2))
    assert said.distance < math.exp(3 * epsilon) - 1  # as printed
    worst = 0.0
    for prior in np.linspace(0.001, 0.999, 999):  # of a single bit; the default is 0
        for t in (0, 1):
            law = np.array([p if t == 0 else 1 - p, p if t == 1 else 1 - p])
            posterior = np.array([1 - prior, prior]) * law
            posterior /= posterior.sum()
            worst = max(worst, abs(posterior[1] - prior))
    assert worst <= said.distance


@pytest.mark.parametrize("seed", range(5))
def test_semantic_privacy_with_a_delta(seed):
    """Random priors and mechanisms of one record; the posterior given F(default) = t."""
    generator = np.random.default_rng(seed)
    law = generator.dirichlet(np.full(6, 8.0), size=3)  # of each value of the record
    epsilon = 0.4
    delta = max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a in law for b in law)
    plain = bdp.Guarantee(epsilon, float(delta), bdp.Neighbours.REPLACE_ONE, PROVED, (), "test")
    prior = generator.dirichlet(np.ones(3))
    for allowed in (0.05, 0.3, 0.9):
        said = D.semantic_privacy(plain, delta=allowed)
        real = prior[:, None] * law
        distance = np.abs(real / real.sum(axis=0) - prior[:, None]).sum(axis=0) / 2
        assert real.sum(axis=0)[distance > said.distance].sum() <= allowed
    with pytest.raises(bdp.errors.InvalidInput, match="distributional"):
        D.semantic_privacy(promise(1.0, 0.0))
    with pytest.raises(bdp.errors.InvalidInput, match="add_remove"):
        D.semantic_privacy(dataclasses.replace(plain, neighbours=bdp.Neighbours.EDGE))


def test_semantic_privacy_is_useful_for_a_small_delta():
    plain = bdp.Guarantee(0.5, 1e-10, bdp.Neighbours.ADD_REMOVE, PROVED, (), "test")
    said = D.semantic_privacy(plain, delta=1e-4, records=1000)
    assert math.tanh(0.5) < said.distance < 0.7  # of a little more than 2 epsilon
    assert D.semantic_privacy(plain, delta=1e-10).distance == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_keep_the_promise(seed):
    """Theorem 5.4, with the simulator of the class."""
    laws, mechanism = joint(seed, laws=3)
    best = D.smallest_delta(mechanism, laws, D.records(2), 0.2)
    generator = np.random.default_rng(seed)
    for _ in range(5):
        mixed = mixture(laws, generator.dirichlet(np.ones(3)).tolist())
        found = D.smallest_delta(
            mechanism, [mixed], D.records(2), 0.2, simulator=lambda a: best.simulator[a]
        )
        assert found.delta <= best.delta + 1e-12
    wider = D.convex_hull(promise(0.2, best.delta))
    assert (wider.epsilon, wider.delta) == (0.2, best.delta)
    assert wider.class_as_data != LAWS


@pytest.mark.parametrize("seed", range(4))
def test_less_known_keeps_the_promise(seed):
    """Theorem 5.5: what the adversary knows, garbled."""
    laws, mechanism = joint(seed)
    best = D.smallest_delta(mechanism, laws, D.records(2), 0.2)
    generator = np.random.default_rng(seed)
    for _ in range(5):
        garble = generator.dirichlet(np.ones(2), size=2)
        less = {}
        for (x, z), p in laws[0].items():
            for seen in (0, 1):
                less[x, seen] = less.get((x, seen), 0.0) + p * garble[z][seen]
        found = D.smallest_delta(
            mechanism, [less], D.records(2), 0.2, simulator=lambda a: best.simulator[a]
        )
        assert found.delta <= best.delta + 1e-12
    kept = D.less_known(promise(0.2, 0.01, known_records=2), 1)
    assert kept.known_records == 1
    with pytest.raises(bdp.errors.InvalidInput, match="at most 2"):
        D.less_known(promise(0.2, 0.01, known_records=2), 3)


def test_two_exact_sums_show_a_record():
    """So there is no composition without conditions: each keeps its promise, and both nothing."""
    law = [independent(4, 0.5)]
    secrets = D.records(4)[:1]
    whole = D.smallest_delta(sum, law, secrets, 1.0).delta
    rest = D.smallest_delta(lambda x: sum(x[1:]), law, secrets, 1.0).delta
    assert whole < 0.1
    assert rest < 1e-9
    both = D.smallest_delta(lambda x: (sum(x), sum(x[1:])), law, secrets, 1.0).delta
    assert both >= 0.4
    one = promise(1.0, whole)
    with pytest.raises(bdp.errors.InvalidInput, match=r"add up only if.*knowing"):
        D.compose_guarantees(one, promise(1.0, rest), base=LAWS)


@pytest.mark.parametrize("seed", range(5))
def test_composition_under_its_conditions(seed):
    """Theorem 5.6: promises against who has seen the other, and both together, by brute force."""
    laws, first = joint(seed, outputs=2)
    generator = np.random.default_rng(100 + seed)
    second = random_kernel(generator, bits(2), 2)
    secrets = D.records(2)[:1]  # one alt, so that the simulator's word is one variable

    def seeing(kernel):
        law = {}
        for (x, z), p in laws[0].items():
            for t, r in kernel(x).items():
                law[x, (z, t)] = law.get((x, (z, t)), 0.0) + p * r
        return law

    for_second = D.smallest_delta(second, [seeing(first)], secrets, 0.3)
    told = lambda x: for_second.simulator[secrets[0].alt(x)]  # noqa: E731
    for_first = D.smallest_delta(first, [seeing(told)], secrets, 0.4)
    says = D.compose_guarantees(
        promise(0.4, for_first.delta, LAWS.knowing(D.SIMULATED)),
        promise(0.3, for_second.delta, LAWS.knowing(D.SEEN)),
        base=LAWS,
    )
    assert says.epsilon == pytest.approx(0.7)
    assert says.class_as_data == LAWS

    def product(one, other):
        return {(s, t): p * q for s, p in one.items() for t, q in other.items()}

    both = D.smallest_delta(
        lambda x: product(first(x), second(x)),
        laws,
        secrets,
        0.7,
        simulator=lambda a: product(for_first.simulator[a], for_second.simulator[a]),
    )
    assert both.delta <= says.delta + 1e-12


def test_split_samples_cost_as_much_as_one():
    """Theorem 6.8, sums of two parts of three and of two bits."""
    secrets = {n: D.records(n) for n in (2, 3, 5)}
    one = D.smallest_delta(sum, [independent(3, 0.4)], secrets[3], 0.5)
    two = D.smallest_delta(sum, [independent(2, 0.7)], secrets[2], 0.5)
    says = D.split_samples(
        promise(0.5, one.delta, known_records=2),
        promise(0.5, two.delta),
        first_rows=range(3),
        second_rows=[3, 4],
    )
    assert (says.epsilon, says.delta, says.known_records) == (0.5, max(one.delta, two.delta), 0)
    law = {
        (x + y, ()): p * q
        for (x, _), p in independent(3, 0.4).items()
        for (y, _), q in independent(2, 0.7).items()
    }

    def simulator(alt):
        x, y = alt[:3], alt[3:]
        first = one.simulator[x] if None in x else {sum(x): 1.0}
        second = two.simulator[y] if None in y else {sum(y): 1.0}
        return {(s, t): p * q for s, p in first.items() for t, q in second.items()}

    found = D.smallest_delta(
        lambda x: (sum(x[:3]), sum(x[3:])), [law], secrets[5], 0.5, simulator=simulator
    )
    assert found.delta <= says.delta + 1e-12
    # The parts must be independent: bits that are copies of each other are not.
    copied = {((a, b, a, b), ()): 1 / 4 for a, b in bits(2)}
    linked = D.smallest_delta(lambda x: (x[0] ^ x[1], x[2]), [copied], D.records(4)[:1], 0.5).delta
    alone = D.smallest_delta(lambda x: x[0] ^ x[1], [copied], D.records(4)[:1], 0.5).delta
    assert linked >= alone


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda g: D.split_samples(g, g, first_rows=[0, 1], second_rows=[1]), "overlap in 1"),
        (lambda g: D.split_samples(g, g, first_rows=[], second_rows=[1]), "no rows"),
        (lambda g: D.convex_hull(dataclasses.replace(g, definition="noiseless")), "isn't true"),
        (lambda g: D.less_known(dataclasses.replace(g, definition="pufferfish"), 0), "isn't true"),
        (lambda g: D.to_inference(dataclasses.replace(g, definition="inference_based"), 2),
         "simulator"),
        (lambda g: D.to_inference(g, 0), "pairs is 0"),
        (lambda g: D.to_inference(g, 1, epsilon="x"), "epsilon is"),
        (lambda g: D.convex_hull("a promise"), "takes a DistributionalGuarantee"),
        (lambda g: D.split_samples(g, dataclasses.replace(g, level="node"), first_rows=[0],
                                   second_rows=[1]), "different kinds"),
    ],
)  # fmt: skip
def test_bad_inputs(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call(promise(0.5, 0.01))


def test_sum_of_reads_what_is_left():
    assert sum_of((1, None, 1)) == 2
