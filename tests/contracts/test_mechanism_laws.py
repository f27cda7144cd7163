"""The law of every mechanism: it is one, its sampler follows it, or it says that it has none."""

import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from tests.contracts.examples import COMPUTABLE, EXAMPLES, INTRACTABLE, LISTED, each
from tests.contracts.examples.example import Example


def as_numbers(outputs: Any) -> np.ndarray:
    """Outputs as one array, graphs by their matrices."""
    return np.array([z.to_adjacency() if hasattr(z, "to_adjacency") else z for z in outputs])


def names(examples: Iterable[Example]) -> set[str]:
    return {example.mechanism.name for example in examples}


def test_which_laws_are_computed():
    """An example can't slip out of the tests below by being called continuous or intractable."""
    continuous = [example for example in COMPUTABLE if example.continuous]
    assert names(EXAMPLES) - names(LISTED) == {
        "censored_beta", "censored_posterior", "dp_ergm", "modips_sequential"
    }  # fmt: skip
    assert names(continuous) == {"conjugate", "modips_grid", "modips_sbs"}
    assert all(example.mechanism.outputs() is None for example in continuous)
    assert names(INTRACTABLE) & names(LISTED) == {
        "modips_grid", "modips_nested", "modips_sbs", "modips_selected"
    }  # fmt: skip


@pytest.mark.slow
@each(LISTED)
def test_its_law_sums_to_one(example: Example):
    for statistic in example.statistics:
        listed = math.fsum(np.exp(example.law(statistic)))
        assert listed + example.beyond(statistic) == pytest.approx(1, abs=1e-12)


@each([example for example in LISTED if example.mechanism.outputs() is not None])
def test_what_cannot_be_drawn_is_no_output(example: Example):
    """One below the least number, or above the largest; or a vector with a number below it."""
    listed = as_numbers(example.mechanism.outputs())
    if listed.dtype.kind not in "iu" or listed.ndim > 2:
        return
    if listed.ndim == 1:
        others = [listed.min() - 1, listed.max() + 1]
    else:  # the last number has what the first lost, so that the sum is what it was
        below = listed[-1].copy()
        below[-1] += below[0] - listed.min() + 1
        below[0] = listed.min() - 1
        others = [tuple(below.tolist())]
    for other in others:
        with pytest.raises(bdp.errors.InvalidInput):
            example.mechanism.check_output(other)


def test_what_is_drawn_never_asks_whether_it_is_seeded():
    """So a sampler is the same code under `reproducible`, and one of the two is tested below."""
    package = Path(bdp.__file__).parent
    asks = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if re.search(r"\bis_reproducible\b|\b_seeded\b", path.read_text(encoding="utf-8"))
    }
    # Where randomness comes from, what a manifest says of it, and what a ledger refuses.
    assert asks == {"mechanisms/randomness.py", "release/release.py", "synthesis/publish.py"}


@pytest.mark.slow
@each(LISTED)
def test_its_sampler_follows_its_law(example: Example):
    """Chi-square over all outputs, 20,000 draws, false alarm below 1e-8 per statistic."""
    from scipy import stats

    outputs = as_numbers(example.outputs)
    for statistic in example.statistics[:: max(1, len(example.pairs) // 2)]:
        drawn = example.mechanism.release(statistic, copies=20_000)
        values, times = np.unique(as_numbers(drawn), axis=0, return_counts=True)
        number = {np.asarray(v).tobytes(): k for v, k in zip(values, times, strict=True)}
        seen = np.array([number.get(z.astype(values.dtype).tobytes(), 0) for z in outputs])
        expected = np.exp(example.law(statistic)) * len(drawn)
        likely = expected >= 5
        if likely.sum() > 1:
            expected = np.append(expected[likely], max(len(drawn) - expected[likely].sum(), 1.0))
            observed = np.append(seen[likely], len(drawn) - seen[likely].sum())
            distance = np.sum((observed - expected) ** 2 / expected)
            assert stats.chi2.sf(distance, likely.sum()) > 1e-8


@pytest.mark.slow
@each(INTRACTABLE)
def test_an_intractable_law_says_so_and_is_never_a_wrong_one(example: Example):
    mechanism = example.mechanism
    assert mechanism.outputs() is None
    with pytest.raises(bdp.errors.InvalidInput):
        mechanism.release(None)
    for attempt in (
        lambda: mechanism.logp(example.outputs[0], None),
        lambda: bdp.audit(mechanism, trials=100, delta=example.delta),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=r"bdp\.|conditional"):
            attempt()
