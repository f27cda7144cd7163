"""The posterior of a proportion that treats released records as real."""

from __future__ import annotations

import numpy as np

from bayesdp.engines.mixture import BetaMixture
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.exact_release import is_exact
from bayesdp.mechanisms.counts.exact_statistic import value_of
from bayesdp.release import Part


def naive_posterior(part: Part, prior: tuple[float, float]) -> BetaMixture:
    """Compute the naive posterior of one group, the records of all its copies pooled.

    Raises
    ------
    InvalidInput
        If the outputs aren't 0/1 records.
    """
    a, b = prior
    if is_exact(part.mechanism) and part.mechanism.n is not None:
        ones = float(value_of(part.outputs))
        return BetaMixture(
            np.ones(1), np.array([a + ones]), np.array([b + part.mechanism.n - ones])
        )
    records = np.concatenate([part.mechanism.records(z) for z in part.outputs])
    records = records["value"] if "value" in (records.dtype.names or ()) else records
    if records.dtype.kind not in "biuf" or not np.isin(records, (0, 1)).all():
        raise InvalidInput(
            f"mechanism {quoted(part.mechanism.name)} released numbers that aren't 0/1 records, so "
            "they can't be mistaken for real data: there is no naive posterior"
        )
    ones = float(records.sum())
    return BetaMixture(np.ones(1), np.array([a + ones]), np.array([b + records.size - ones]))
