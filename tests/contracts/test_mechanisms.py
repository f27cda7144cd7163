"""What every mechanism of the registry keeps, on examples of its own.

A new mechanism adds its examples here, and can't skip a check.
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.manifest import MechanismEntry
from bayesdp.mechanisms.base import REGISTRY, Mechanism
from bayesdp.privacy.profile import hockey_stick


@dataclasses.dataclass(frozen=True)
class Example:
    """A mechanism and data small enough to try everything.

    `pairs` are neighbouring statistics, all there are or the worst among them; `outputs` all
    but a negligible part of what it releases, in an array whose first axis lists them (for a
    continuous law, points, and then `continuous`). Where the law is intractable, `tractable` is
    False, and what needs it is left to the mechanism's own tests.
    """

    mechanism: Mechanism
    pairs: Sequence[tuple[Any, Any]]
    outputs: Any
    delta: float = 0.0
    continuous: bool = False
    tractable: bool = True

    @property
    def statistics(self) -> list[Any]:
        return [one for one, _ in self.pairs] + [self.pairs[-1][1]]


def counts(n: int) -> list[tuple[bdp.Count, bdp.Count]]:
    return list(itertools.pairwise(bdp.Count(x, n) for x in range(n + 1)))


EXAMPLES: list[Example] = [
    Example(bdp.BetaBinomialMechanism(9, 6, (0.5, 3.0)), counts(9), np.arange(7)),
    Example(bdp.BetaBinomialMechanism(1, 1, (1.0, 1.0)), counts(1), np.arange(2)),
    Example(bdp.BetaBinomialMechanism(None, 4, (7.25, 0.1)), counts(5), np.arange(5)),
    *(
        Example(
            mechanism,
            mechanism.pairs(),
            np.random.default_rng(1).random((4, 3)),
            continuous=True,
            tractable=False,
        )
        for mechanism in (
            bdp.CensoredBetaMechanism((-2.0, 2.0), 3),
            bdp.CensoredBetaMechanism((-1.0, 3.0), 3, "replace_one", prior_phi=(2, 1), n=4),
        )
    ),
]
each = pytest.mark.parametrize(
    "example", [pytest.param(e, id=f"{e.mechanism.name}-{i}") for i, e in enumerate(EXAMPLES)]
)


def law(example: Example, statistic: Any) -> np.ndarray:
    return np.array([float(example.mechanism.logp(z, statistic)) for z in example.outputs])


def test_every_mechanism_has_examples():
    assert {example.mechanism.name for example in EXAMPLES} == set(REGISTRY)


@each
def test_it_is_a_frozen_value_of_the_protocol(example: Example):
    mechanism = example.mechanism
    assert isinstance(mechanism, Mechanism)
    assert REGISTRY[mechanism.name] is type(mechanism)
    first = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, first, 1)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))


@each
def test_its_law_sums_to_one(example: Example):
    if example.continuous:
        pytest.skip("a density; its own tests integrate it")
    for statistic in example.statistics:
        assert math.fsum(np.exp(law(example, statistic))) == pytest.approx(1, abs=1e-12)


@each
@pytest.mark.parametrize("secure", [True, False])
def test_its_sampler_follows_its_law(example: Example, secure: bool):
    """Chi-square over all outputs, 20,000 draws, false alarm below 1e-8 per statistic."""
    from scipy import stats

    if example.continuous:
        pytest.skip("a density; its own tests compare distribution functions")
    outputs = np.asarray(example.outputs)
    for i, statistic in enumerate(example.statistics[:: max(1, len(example.pairs) // 2)]):
        if secure:
            drawn = example.mechanism.release(statistic, copies=20_000)
        else:
            with bdp.reproducible(i):
                drawn = example.mechanism.release(statistic, copies=20_000)
        values, times = np.unique(np.asarray(drawn), axis=0, return_counts=True)
        number = {np.asarray(v).tobytes(): k for v, k in zip(values, times, strict=True)}
        seen = np.array([number.get(z.astype(values.dtype).tobytes(), 0) for z in outputs])
        expected = np.exp(law(example, statistic)) * len(drawn)
        likely = expected >= 5
        if likely.sum() > 1:
            expected = np.append(expected[likely], max(len(drawn) - expected[likely].sum(), 1.0))
            observed = np.append(seen[likely], len(drawn) - seen[likely].sum())
            distance = np.sum((observed - expected) ** 2 / expected)
            assert stats.chi2.sf(distance, likely.sum()) > 1e-8


@each
def test_no_neighbour_costs_more_than_it_claims(example: Example):
    """The hockey-stick divergence at the claimed epsilon is within the claimed delta."""
    if example.continuous:
        pytest.skip("a density; its own tests integrate it")
    guarantee = example.mechanism.guarantee(delta=example.delta)
    for one, other in example.pairs:
        for p, q in ((one, other), (other, one)):
            log_p, log_q = law(example, p), law(example, q)
            found = hockey_stick(log_p, log_q, guarantee.epsilon)
            assert found <= guarantee.delta + 1e-13
            if guarantee.delta == 0:
                assert np.nanmax(log_p - log_q) <= guarantee.epsilon * (1 + 1e-12)


@each
def test_an_audit_acquits_it_and_tries_the_worst_pair(example: Example):
    mechanism = example.mechanism
    if not example.tractable:
        with pytest.raises(bdp.InvalidInput, match="intractable"):
            bdp.audit(mechanism, trials=100)
        return
    with bdp.reproducible(3):
        found = bdp.audit(mechanism, trials=20_000, delta=example.delta)
    assert not found.convicted
    if found.epsilon_exact is not None:
        claim = mechanism.guarantee(delta=example.delta).epsilon
        assert found.epsilon_exact == pytest.approx(claim, rel=1e-9)


@each
def test_copies_cost_more_and_the_promise_names_its_relation(example: Example):
    mechanism, delta = example.mechanism, example.delta
    one = mechanism.guarantee(delta=delta)
    three = mechanism.guarantee(copies=3, delta=delta)
    assert one.epsilon < three.epsilon
    if one.delta == 0:
        assert three.epsilon == pytest.approx(3 * one.epsilon)
    assert one.delta <= delta
    assert one.neighbours is mechanism.neighbours
    assert one.source
    assert any("Computational" in assumption for assumption in one.assumptions)
    try:
        added = mechanism.guarantee(neighbours=bdp.Neighbours.ADD_REMOVE, delta=delta)
    except bdp.InvalidInput:
        return
    assert mechanism.removal_guarantee(delta=delta).epsilon <= added.epsilon * (1 + 1e-12)


@each
def test_outputs_survive_encoding(example: Example):
    mechanism = example.mechanism
    outputs = [mechanism.check_output(z) for z in example.outputs]
    columns = {name: np.asarray(values) for name, values in mechanism.encode(outputs).items()}
    rows = len(columns["copy"])
    assert {len(column) for column in columns.values()} == {rows}
    shuffled = np.random.default_rng(0).permutation(rows)
    assert mechanism.decode({k: v[shuffled] for k, v in columns.items()}) == outputs


@each
def test_a_release_of_it_survives_the_disk(example: Example, tmp_path):
    outputs = [example.mechanism.check_output(z) for z in example.outputs][:3]
    release = bdp.Release.of(example.mechanism, outputs, delta=example.delta)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    assert len(loaded.to_frames()) == len(outputs)


@each
def test_parameters_survive_the_manifest(example: Example):
    entry = MechanismEntry.of(example.mechanism)
    entry = MechanismEntry.model_validate_json(entry.model_dump_json())
    assert entry.build() == example.mechanism
