"""What every mechanism of the registry keeps, on examples of its own.

A new mechanism adds its examples here, and can't skip a check.
"""

import dataclasses
import itertools
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.manifest import MechanismEntry
from bayesdp.mechanisms.base import REGISTRY, Mechanism

EXAMPLES: dict[str, list[Mechanism]] = {
    "beta_binomial": [
        bdp.BetaBinomialMechanism(n=9, size=6, prior=(0.5, 3.0)),
        bdp.BetaBinomialMechanism(n=1, size=1, prior=(1.0, 1.0)),
        bdp.BetaBinomialMechanism(n=None, size=4, prior=(7.25, 0.1)),
    ],
}
STATISTICS = {"beta_binomial": lambda n: [bdp.Count(x, n) for x in range(n + 1)]}
OUTPUTS = {"beta_binomial": lambda mechanism: list(range(mechanism.size + 1))}
ALL = [pytest.param(m, id=f"{m.name}-{i}") for ms in EXAMPLES.values() for i, m in enumerate(ms)]

each = pytest.mark.parametrize("mechanism", ALL)


def statistics(mechanism: Mechanism) -> list:
    return STATISTICS[mechanism.name](mechanism.n or 5)


def test_every_mechanism_has_examples():
    assert set(EXAMPLES) == set(STATISTICS) == set(OUTPUTS) == set(REGISTRY)


@each
def test_it_is_a_frozen_value_of_the_protocol(mechanism: Mechanism):
    assert isinstance(mechanism, Mechanism)
    assert REGISTRY[mechanism.name] is type(mechanism)
    first = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, first, 1)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))


@each
def test_its_law_sums_to_one(mechanism: Mechanism):
    outputs = OUTPUTS[mechanism.name](mechanism)
    for statistic in statistics(mechanism):
        law = [float(mechanism.logp(z, statistic)) for z in outputs]
        assert math.fsum(map(math.exp, law)) == pytest.approx(1, abs=1e-12)


@each
def test_its_sampler_follows_its_law(mechanism: Mechanism):
    """Chi-square over all outputs, 20,000 draws, false alarm below 1e-6 per statistic."""
    from scipy import stats

    outputs = OUTPUTS[mechanism.name](mechanism)
    for i, statistic in enumerate(statistics(mechanism)[::2]):
        with bdp.reproducible(i):
            drawn = mechanism.release(statistic, copies=20_000)
        law = np.exp([float(mechanism.logp(z, statistic)) for z in outputs])
        seen = np.array([np.count_nonzero(drawn == z) for z in outputs])
        likely = law * len(drawn) >= 5
        if likely.sum() > 1:
            expected = np.append(law[likely], max(1 - law[likely].sum(), 1e-9)) * len(drawn)
            observed = np.append(seen[likely], len(drawn) - seen[likely].sum())
            statistic_value = np.sum((observed - expected) ** 2 / np.maximum(expected, 1.0))
            assert stats.chi2.sf(statistic_value, likely.sum()) > 1e-6


@each
def test_no_replacement_costs_more_than_it_claims(mechanism: Mechanism):
    outputs = OUTPUTS[mechanism.name](mechanism)
    worst = 0.0
    for one, other in itertools.pairwise(statistics(mechanism)):
        for z in outputs:
            worst = max(worst, abs(float(mechanism.logp(z, one) - mechanism.logp(z, other))))
    guarantee = mechanism.guarantee()
    assert guarantee.delta == 0
    assert worst <= guarantee.epsilon * (1 + 1e-12)


@each
def test_an_audit_acquits_it_and_tries_the_worst_pair(mechanism: Mechanism):
    with bdp.reproducible(3):
        found = bdp.audit(mechanism, trials=20_000)
    assert not found.convicted
    if mechanism.outputs() is not None and mechanism.n is not None:
        assert found.epsilon_exact == pytest.approx(mechanism.guarantee().epsilon, rel=1e-9)


@each
def test_copies_cost_more_and_the_promise_names_its_relation(mechanism: Mechanism):
    one, three = mechanism.guarantee(), mechanism.guarantee(copies=3)
    assert three.epsilon == pytest.approx(3 * one.epsilon)
    assert one.neighbours is bdp.Neighbours.REPLACE_ONE
    assert one.source
    assert mechanism.removal_epsilon() <= one.epsilon * (1 + 1e-12)


@each
def test_outputs_survive_encoding(mechanism: Mechanism):
    outputs = OUTPUTS[mechanism.name](mechanism)
    columns = {name: np.asarray(values) for name, values in mechanism.encode(outputs).items()}
    assert {len(column) for column in columns.values()} == {len(outputs)}
    shuffled = np.random.default_rng(0).permutation(len(outputs))
    assert mechanism.decode({k: v[shuffled] for k, v in columns.items()}) == outputs


@each
def test_parameters_survive_the_manifest(mechanism: Mechanism):
    entry = MechanismEntry.model_validate_json(MechanismEntry.of(mechanism).model_dump_json())
    assert entry.build() == mechanism
