"""Exact sums, and regressions from exact sums, with promises about a class of laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.exact_statistic import ExactStatisticMechanism
from bayesdp.privacy.distributional.combining import split_samples
from bayesdp.privacy.distributional.guarantee import check_known_records
from bayesdp.privacy.distributional.record_laws import RecordLaw
from bayesdp.privacy.distributional.sums.guarantee import sum_guarantee
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish


def exact_sum(
    values: ArrayLike,
    *,
    law: RecordLaw,
    known_records: int = 0,
    delta: float | None = None,
    epsilon: float | None = None,
    variable: str = "sum",
) -> Release:
    """Release the sum of the records, without noise.

    Parameters
    ----------
    values : array_like
        Confidential records, shape (n,) or (n, d). n is public.
    law : RecordLaw
        The law of one record: `bdp.distributional.Uniform`, `TopCodedNormal` or `BoundedLaw`.
    known_records : int
        How many records the adversary may know, below n.
    delta, epsilon : float
        Give one of them: the promise has the smallest value of the other.
    variable : str
        Name of the summed variable, for tables and reports.

    Returns
    -------
    Release
        Its output is the sum, rounded once; ``release.guarantee`` holds for the law alone, and
        never composes with another release about the same records.

    Raises
    ------
    InvalidInput
        If the law, the numbers or the targets aren't possible. A record outside the law's support
        is refused too, without saying which. That never happens where the law holds; where it does
        happen, the refusal reveals that such a record exists. Don't publish it.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> values = [k / 1000 for k in range(1000)]
    >>> law = bdp.distributional.Uniform(0, 1)
    >>> release = exact_sum(values, law=law, known_records=50, delta=1e-6)
    >>> release.outputs
    (499.5,)
    >>> round(release.guarantee.epsilon, 3)
    0.215
    """
    records = _records(values, law)
    n, d = records.shape
    promise = sum_guarantee(n, law, known_records=known_records, delta=delta, epsilon=epsilon)
    mechanism = ExactStatisticMechanism(promise, n=n, dimension=d if np.ndim(values) > 1 else None)
    total: Any = _sums(records)
    return publish(mechanism, total if mechanism.dimension else float(total[0]), variable=variable)


def exact_slope(
    g: ArrayLike,
    h: ArrayLike,
    *,
    law: RecordLaw,
    known_records: int = 0,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Release:
    """Release sum g^2 and sum gh: least squares through the origin, without noise.

    `bdp.distributional.slope` gives the slope from the output.

    Parameters
    ----------
    g, h : array_like
        Confidential predictor and outcome, shape (n,); n is public.
    law : RecordLaw
        The law of (g^2, gh), two coordinates: `UniformProducts`, or a `BoundedLaw`.
    known_records, delta, epsilon
        As for `exact_sum`.

    Raises
    ------
    InvalidInput
        As for `exact_sum`, and if g is 0 throughout or predicts h without error: then (g^2, gh) has
        no density. Under the law this has probability 0.
    """
    g, h = _pairs(g, h)
    _check_varies(g, h)
    pairs = np.column_stack([g * g, g * h])
    return exact_sum(
        pairs, law=law, known_records=known_records, delta=delta, epsilon=epsilon, variable="moment"
    )


def exact_line(
    g: ArrayLike,
    h: ArrayLike,
    *,
    first: int | Sequence[int],
    second: Sequence[int] | None = None,
    means_law: RecordLaw,
    products_law: RecordLaw,
    known_records: int = 0,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Release:
    """Release sum g and sum h of one part of the records, sum g^2 and sum gh of another.

    `bdp.distributional.line` gives intercept and slope from the output.

    Parameters
    ----------
    g, h : array_like
        Confidential predictor and outcome, shape (n,); n is public.
    first, second : int or sequence of int
        Positions of the records of either part, chosen without looking at the records. One number
        means that many records from the start, and the rest are the second part.
    means_law, products_law : RecordLaw
        The laws of (g, h) and of (g^2, gh), two coordinates each.
    known_records : int
        How many records the adversary may know in all; they may all lie in one part.
    delta, epsilon : float
        Give one of them, as for `exact_sum`.

    Returns
    -------
    Release
        One vector of four sums; `split_samples` gives their joint promise.

    Raises
    ------
    InvalidInput
        As for `exact_sum`; if the parts overlap, have a position twice or beyond the data; if g is
        constant or predicts h without error.
    """
    g, h = _pairs(g, h)
    one, other = _parts(first, second, len(g))
    _check_varies(g - g[0], h - h[0])
    tables = (
        (np.column_stack([g[one], h[one]]), means_law),
        (np.column_stack([g[other] ** 2, g[other] * h[other]]), products_law),
    )
    promises, sums = [], []
    for table, law in tables:
        records = _records(table, law)
        known_records = check_known_records(known_records, len(records))
        promises.append(
            sum_guarantee(
                len(records), law, known_records=known_records, delta=delta, epsilon=epsilon
            )
        )
        sums.append(_sums(records))
    promise = split_samples(*promises, first_rows=one.tolist(), second_rows=other.tolist())
    mechanism = ExactStatisticMechanism(promise, n=len(g), dimension=4)
    return publish(mechanism, np.concatenate(sums), variable="moment")


def _records(values: ArrayLike, law: RecordLaw) -> NDArray[np.float64]:
    """Return the records, shape (n, d), within the law's support."""
    given = np.asarray(values)
    if given.dtype.kind not in "iuf" or given.ndim not in (1, 2) or given.size == 0:
        raise InvalidInput(
            f"values has shape {given.shape} and type {given.dtype}; it must be numbers, one "
            "record a row"
        )
    if not hasattr(law, "support"):
        raise InvalidInput(f"law is {quoted(law)}; it must be a law of bdp.distributional")
    records = given.astype(float).reshape(len(given), -1)
    if records.shape[1] != len(law.support):
        raise InvalidInput(
            f"values has {records.shape[1]} numbers a record, but the law has "
            f"{len(law.support)}; declare the law of as many"
        )
    low, high = np.array(law.support).T
    if not np.all((records >= low) & (records <= high)):
        raise InvalidInput(
            "a record is outside the law's support, or not a number (which one isn't said). No law "
            "of the declared class has such records: the promise would be about other data. Top-"
            "code the records at public bounds, as numpy.clip does, and declare that law; and "
            "don't publish this refusal, as it is about the records"
        )
    return records


def _sums(records: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round exact sums once; as post-processing of the exact sums, that is no less private."""
    return np.array([math.fsum(column) for column in records.T])


def _pairs(g: ArrayLike, h: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    one, other = np.asarray(g), np.asarray(h)
    if one.ndim != 1 or one.shape != other.shape or len(one) == 0:
        raise InvalidInput(
            f"g has shape {one.shape} and h {other.shape}; both must be (n,), n >= 1: exact sums "
            "serve one predictor"
        )
    if not all(v.dtype.kind in "iuf" and np.all(np.isfinite(v)) for v in (one, other)):
        raise InvalidInput("g and h must be finite numbers; they aren't shown")
    return one.astype(float), other.astype(float)


def _check_varies(g: NDArray[np.float64], h: NDArray[np.float64]) -> None:
    """Raise InvalidInput where h is a multiple of g, which has probability 0 under a density."""
    squares, outcome, product = g @ g, h @ h, g @ h
    if squares == 0 or squares * outcome - product**2 <= 1e-14 * squares * outcome:
        raise InvalidInput(
            "the regression is degenerate: the predictor doesn't vary, or the outcome is a linear "
            "function of it without error. Such records have no density, and an exact release "
            "would show them; don't publish this refusal, as it is about the records"
        )


def _parts(
    first: int | Sequence[int], second: Sequence[int] | None, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if isinstance(first, int) and not isinstance(first, bool):
        if second is not None:
            raise InvalidInput(
                "first is a number of records, so second is the rest; leave second out, or give "
                "both as positions"
            )
        size = check_at_least_one("first", first)
        if size >= n:
            raise InvalidInput(f"first is {size}, of {n} records; leave some for the second part")
        places = np.arange(n)
        return places[:size], places[size:]
    one, other = np.asarray(first), np.asarray([] if second is None else second)
    for name, part in (("first", one), ("second", other)):
        if part.ndim != 1 or part.dtype.kind not in "iu" or len(part) == 0:
            raise InvalidInput(
                f"{name} is {quoted(part)}; it must be positions of records, at least one"
            )
        if part.min() < 0 or part.max() >= n or len(np.unique(part)) < len(part):
            raise InvalidInput(f"{name} must have positions from 0 to {n - 1}, each once")
    return one.astype(np.int64), other.astype(np.int64)
