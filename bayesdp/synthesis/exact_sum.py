"""Exact sums, and regressions from exact sums, with promises about a class of laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import check_at_least_one, check_each_at_least_one, check_flag, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.exact_statistic import ExactStatisticMechanism
from bayesdp.mechanisms.noise.fields import check_each_positive
from bayesdp.privacy.distributional.combining import split_promise
from bayesdp.privacy.distributional.guarantee import check_known_records
from bayesdp.privacy.distributional.least_squares import UniformProducts
from bayesdp.privacy.distributional.record_laws import BoundedLaw, RecordLaw
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
    _check_full(g, h)
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
    _check_full(g - g[0], h - h[0])
    tables = [
        (np.column_stack([g[one], h[one]]), means_law),
        (np.column_stack([g[other] ** 2, g[other] * h[other]]), products_law),
    ]
    return _published(tables, len(g), known_records, delta, epsilon)


def exact_regression(
    predictors: ArrayLike,
    outcome: ArrayLike,
    *,
    bounds: Sequence[float],
    share: float = 1.0,
    intercept: bool = True,
    parts: Sequence[int] | Sequence[Sequence[int]] | None = None,
    known_records: int = 0,
    delta: float | None = None,
    epsilon: float | None = None,
) -> Release:
    """Release the sums of least squares with several predictors, each part of the records its own.

    The i-th of d parts releases sums of g_i^2, of g_i times each other predictor in order, and of
    g_i h; with an intercept one part more, the first, has the sums of all predictors and of h.
    `bdp.distributional.coefficients` gives the coefficients from the output.

    Parameters
    ----------
    predictors : array_like
        Confidential g, shape (n, d); n is public. Centre them at public numbers first.
    outcome : array_like
        Confidential h, shape (n,).
    bounds : sequence of float
        Public a_1, ..., a_d and b, positive: g_i is in [-a_i, a_i], and h in [-b, b].
    share : float
        Least share of records whose predictors and outcome are independent and uniform within the
        bounds, in (0, 1]; nothing is assumed of the others'.
    intercept : bool
        Whether there is a constant term.
    parts : sequence of int, or of sequences of int
        Numbers of records of the parts, one after another, or positions of their records; both
        chosen without looking at the records. Default: as many in each as is possible.
    known_records, delta, epsilon
        As for `exact_line`.

    Returns
    -------
    Release
        One vector of all parts' sums; `split_samples` has the proof of their joint promise.

    Raises
    ------
    InvalidInput
        As for `exact_line`; if a bound or `share` is out of its range, or the parts aren't d, or
        d + 1 with an intercept.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np
    >>> rng = np.random.default_rng(1)
    >>> g, noise = rng.uniform(-1, 1, (30_000, 2)), rng.uniform(-1, 1, 30_000)
    >>> h = np.where(rng.random(30_000) < 0.5, noise, g @ [0.6, -0.4])  # half of them uniform
    >>> release = bdp.distributional.exact_regression(
    ...     g, h, bounds=[1, 1, 1], share=0.5, delta=1e-6
    ... )
    >>> bdp.distributional.coefficients(release.outputs[0], [10_000] * 3)[1:].round(1)
    array([ 0.3, -0.2])
    """
    g, h = _array("predictors", predictors), _array("outcome", outcome)
    if g.ndim != 2 or 0 in g.shape or h.shape != g.shape[:1]:
        raise InvalidInput(
            f"predictors has shape {g.shape} and outcome {h.shape}; they must be (n, d) and (n,), "
            "n and d at least 1"
        )
    (g, h), d = _finite({"predictors": g, "outcome": h}), g.shape[1]
    if np.shape(bounds) != (d + 1,):
        raise InvalidInput(
            f"bounds is {quoted(bounds)}; it must be {d + 1} positive numbers, one for each "
            "predictor and one for the outcome"
        )
    limits = check_each_positive("bounds", bounds)
    rows = _split(parts, d + check_flag("intercept", intercept), len(g))
    both = np.column_stack([g, h])
    _check_full(*(both - both[0] if intercept else both).T)
    tables: list[tuple[NDArray[np.float64], RecordLaw]] = []
    for i, own in enumerate(rows[-d:]):
        others = [k for k in range(d + 1) if k != i]
        law = UniformProducts(limits[i], tuple(limits[k] for k in others), share)
        tables.append((g[own, i, None] * both[own][:, [i, *others]], law))
    if intercept:
        box = tuple((-bound, bound) for bound in limits)
        means = BoundedLaw(box, box, share / math.prod(2 * bound for bound in limits))
        tables.insert(0, (both[rows[0]], means))
    return _published(tables, len(g), known_records, delta, epsilon)


def _published(
    tables: Sequence[tuple[NDArray[np.float64], RecordLaw]],
    n: int,
    known_records: int,
    delta: float | None,
    epsilon: float | None,
) -> Release:
    """Release the sums of disjoint parts of the records, each with its law, in one vector."""
    promises, sums, sizes = [], [], []
    for table, law in tables:
        records = _records(table, law)
        sizes.append(len(records))
        known_records = check_known_records(known_records, len(records))
        promises.append(
            sum_guarantee(
                len(records), law, known_records=known_records, delta=delta, epsilon=epsilon
            )
        )
        sums.append(_sums(records))
    values = np.concatenate(sums)
    promise = split_promise(promises, sizes)
    mechanism = ExactStatisticMechanism(promise, n=n, dimension=len(values))
    return publish(mechanism, values, variable="moment")


def _array(name: str, given: ArrayLike) -> NDArray[Any]:
    """Return an array of what is there, or raise InvalidInput where some is masked or uneven."""
    if np.ma.is_masked(given):
        raise InvalidInput(
            f"{name} has masked entries, and the release would have what they hide; take such "
            "records out, or impute them by a public rule"
        )
    try:
        return np.asarray(given)
    except ValueError:
        raise InvalidInput(
            f"{name} has rows of different lengths; each record has as many numbers"
        ) from None


def _records(values: ArrayLike, law: RecordLaw) -> NDArray[np.float64]:
    """Return the records, shape (n, d), within the law's support."""
    given = _array("values", values)
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
    one, other = _array("g", g), _array("h", h)
    if one.ndim != 1 or one.shape != other.shape or len(one) == 0:
        raise InvalidInput(
            f"g has shape {one.shape} and h {other.shape}; both must be (n,), n >= 1: one "
            "predictor; for several there is bdp.distributional.exact_regression"
        )
    one, other = _finite({"g": one, "h": other})
    return one, other


def _finite(given: dict[str, NDArray[Any]]) -> list[NDArray[np.float64]]:
    """Return arrays as floats, or raise InvalidInput without their values."""
    if not all(v.dtype.kind in "iuf" and np.all(np.isfinite(v)) for v in given.values()):
        raise InvalidInput(f"{' and '.join(given)} must be finite numbers; they aren't shown")
    return [v.astype(np.float64) for v in given.values()]


def _check_full(*columns: NDArray[np.float64]) -> None:
    """Raise InvalidInput where columns depend on each other, of probability 0 under a density."""
    every = np.column_stack(columns)
    lengths = np.linalg.norm(every, axis=0)
    scaled = every / np.where(lengths > 0, lengths, 1.0)
    if np.linalg.eigvalsh(scaled.T @ scaled)[0] <= 1e-14:  # also where a column is 0
        raise InvalidInput(
            "the regression is degenerate: a predictor doesn't vary or depends on others, or the "
            "outcome is a linear function of them without error. Such records have no density, "
            "and an exact release would show them; don't publish this refusal, as it is about the "
            "records"
        )


def _split(given: Any, count: int, n: int) -> list[NDArray[np.int64]]:
    """Positions of the records of so many parts, from their sizes or as they are given."""
    if given is None:
        if n < count:
            raise InvalidInput(f"there are {n} records, for {count} parts; each needs one or more")
        return np.array_split(np.arange(n), count)
    listed = list(given) if np.iterable(given) else []
    if len(listed) != count:
        raise InvalidInput(
            f"parts has {len(listed)} parts; it must have {count}, one for each predictor and one "
            "more with an intercept"
        )
    if all(is_number(each) for each in listed):
        sizes = check_each_at_least_one("parts", listed)
        if sum(sizes) > n:
            raise InvalidInput(f"parts has {sum(sizes)} records in all, of {n}; take fewer")
        return np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    return _disjoint("parts", [_positions("parts", each, n) for each in listed])


def _disjoint(name: str, rows: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """Return the parts if no record is in two of them, else raise InvalidInput."""
    every = np.concatenate(rows)
    if twice := len(every) - len(np.unique(every)):
        raise InvalidInput(
            f"{name} overlap in {twice} rows; a record in two parts is released twice. Split the "
            "records into disjoint parts"
        )
    return rows


def _positions(name: str, given: Any, n: int) -> NDArray[np.int64]:
    """Positions of a part's records, checked."""
    part = np.asarray(given)
    if part.ndim != 1 or part.dtype.kind not in "iu" or len(part) == 0:
        raise InvalidInput(
            f"{name} is {quoted(part)}; it must be positions of records, at least one"
        )
    if part.min() < 0 or part.max() >= n or len(np.unique(part)) < len(part):
        raise InvalidInput(f"{name} must have positions from 0 to {n - 1}, each once")
    return part.astype(np.int64)


def _parts(
    first: int | Sequence[int], second: Sequence[int] | None, n: int
) -> list[NDArray[np.int64]]:
    """Positions of the records of two parts."""
    if isinstance(first, int) and not isinstance(first, bool):
        if second is not None:
            raise InvalidInput(
                "first is a number of records, so second is the rest; leave second out, or give "
                "both as positions"
            )
        size = check_at_least_one("first", first)
        if size >= n:
            raise InvalidInput(f"first is {size}, of {n} records; leave some for the second part")
        return _split((size, n - size), 2, n)
    given = {"first": first, "second": [] if second is None else second}
    return _disjoint("first and second", [_positions(name, v, n) for name, v in given.items()])
