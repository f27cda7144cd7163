"""Likelihoods of integers given a release: their tables, and sums over them in a PyMC model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.vector_views import SeparateNoiseView
from bayesdp.core.views import (
    AnswersView,
    CountView,
    DyadsView,
    Ends,
    FixedTotalView,
    Floats,
    Integer,
    Integers,
    IntegersView,
    view_of,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.unobserved import unlike
from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.evidence import offset_matrix, together
from bayesdp.release import Part

_MOST = 5_000_000
_MOST_DYADS = 1_000_000
_CHEAP = 50_000  # integers that gradients are quickly summed over
_NEGLIGIBLE = 60.0  # below the log of the largest


def log_sum_of(releases: Sequence[Sequence[Part]], law: Any, n: int | None) -> Any:
    """Log p(outputs | theta) as a PyTensor expression, the integers summed out.

    Parameters
    ----------
    releases : sequence of sequences of Part
        Releases of the same integers; one part for each group.
    law : random variable
        The integers' law; a scalar one is the law of each.
    n : int, optional
        Number of confidential records.
    """
    import pymc as pm
    import pytensor.tensor as pt

    if getattr(law.owner.op, "ndim_supp", 0):
        raise InvalidInput(
            f"the integers have a joint distribution ({law.owner.op}), over which there is no sum "
            "element by element; take independent ones, as pm.Poisson.dist, or a model for "
            "tables, as bdp.MultinomialModel"
        )
    alike = law.ndim == 0
    rows, shape = integers_of(releases, n, alike=alike)
    if not alike:
        check_shape(law, shape)
    low, high = (np.broadcast_to(end, shape).ravel() for end in _support(law))
    values, table = widest(rows, list(zip(low, high, strict=True)))
    if alike:
        weights = np.array([row[0].weight for row in rows])
        return (weights * pt.logsumexp(pm.logp(law, values) + table, axis=0)).sum()
    whole = (len(values), *shape)
    terms = pm.logp(law, values.reshape(whole)) + table.reshape(whole)
    return pt.logsumexp(terms, axis=0).sum()


def log_table_of(parts: Sequence[Part], statistic: Any, n: int | None) -> Any:
    """Log p(outputs | x) of integers x that are variables of the model."""
    import pytensor.tensor as pt

    rows, shape = integers_of([parts], n, alike=False)
    check_shape(statistic, shape)
    values, table = widest(rows, [(-math.inf, math.inf)] * len(rows))
    x, columns = statistic.flatten(), np.arange(len(rows))
    place = pt.clip(x - values[0], 0, len(values) - 1)
    last = np.array([v[np.isfinite(t)][-1] for v, t in zip(values.T, table.T, strict=True)])
    inside = (x >= values[0]) & (x <= last)
    return pt.switch(inside, pt.constant(table)[place, columns], -np.inf).sum()


def shape_of(parts: Sequence[Part], own: tuple[int, ...]) -> tuple[int, ...]:
    """Shape of the statistic, of one group's own: groups first."""
    return own if parts[0].group is None else (len(parts), *own)


def check_shape(statistic: Any, shape: tuple[int, ...]) -> None:
    """Raise InvalidInput for a statistic that isn't of the shape of what was randomised."""
    own = statistic.type.shape  # None where it isn't known yet
    if len(own) != len(shape) or any(a not in (None, b) for a, b in zip(own, shape, strict=True)):
        raise InvalidInput(
            f"statistic has {len(own)} dimensions, of shape {own}, but what was randomised has "
            f"shape {shape}"
        )


def integers_of(
    releases: Sequence[Sequence[Part]], n: int | None, *, alike: bool
) -> tuple[list[tuple[Integer, ...]], tuple[int, ...]]:
    """Return the laws of each integer, one for each release, and the shape of the statistic.

    Parameters
    ----------
    releases : sequence of sequences of Part
        Releases of the same integers; one part for each group.
    n : int, optional
        Number of confidential records.
    alike : bool
        Whether all integers have the same law: then records that all releases answered alike come
        once.

    Raises
    ------
    InvalidInput
        If what was randomised isn't made of integers, or isn't the same in all releases.
    """
    views = [view_of(parts[0].mechanism, AnswersView) for parts in releases]
    answers = [view for view in views if view is not None]
    if alike and answers:
        if len(answers) < len(releases):
            raise InvalidInput(
                "one release has an answer of each record, and another hasn't; observe each by "
                "itself"
            )
        rows = _patterns([*zip(answers, map(_only, releases), strict=True)])
        return rows, (len(rows),)
    each = [_elements(parts, n) for parts in releases]
    shapes = [shape for _, shape in each]
    check_same(shapes)
    return [*zip(*(elements for elements, _ in each), strict=True)], shapes[0]


def check_same(shapes: Sequence[Any]) -> None:
    """Raise InvalidInput unless several releases are of integers of one shape."""
    if any(shape != shapes[0] for shape in shapes):
        raise InvalidInput(
            f"the releases are of {', '.join(map(str, shapes))} integers; several at once must be "
            "of the same"
        )


def _elements(parts: Sequence[Part], n: int | None) -> tuple[list[Integer], tuple[int, ...]]:
    """Return the laws of a release's integers, as in the flattened statistic, and its shape."""
    each: list[Integer] = []
    own: tuple[int, ...] = ()
    for part in parts:
        if (answers := view_of(part.mechanism, AnswersView)) is not None:
            return _records(answers, np.array(_only(parts).outputs).T), (answers.n,)
        if (fixed := view_of(part.mechanism, FixedTotalView)) is not None:
            raise InvalidInput(
                f"the copies have a fixed total, {fixed.total}, which ties their areas together, "
                "and there is no law of one area's events; fit bdp.models.PoissonModel, or "
                "release with fixed=False"
            )
        if (dyads := view_of(part.mechanism, DyadsView)) is not None:
            answered = _dyads(dyads, part)
            each += answered
            own = (len(answered),)
            continue
        apart = view_of(part.mechanism, SeparateNoiseView)
        view = view_of(part.mechanism, IntegersView) or apart
        if view is not None:
            each += view.each(part.outputs)
            own = view.shape
        else:
            each += [_count(part, n)]
    return each, shape_of(parts, own)


def _dyads(view: DyadsView, part: Part) -> list[Integer]:
    """Return the law of each dyad's answers, given that it is a tie (1) or isn't (0), in rows."""
    graph = part.outputs[0]
    if graph.dyads > _MOST_DYADS:
        raise InvalidInput(
            f"the release is of {graph.dyads:,} dyads, each with a law of its own; there may be "
            f"{_MOST_DYADS:,}: fit bdp.models.ERGMModel"
        )
    offsets = offset_matrix(together([view.evidence(z) for z in part.outputs]))
    i, j = dyads_numbered(np.arange(graph.dyads), graph.n, graph.directed).T

    def reached(ends: Ends, times: float) -> Ends:
        if ends[0] == 0 and ends[1] > 1:  # as of a number of ties
            raise InvalidInput(
                f"statistic may be from 0 to {ends[1]}, but a dyad is a tie (1) or none (0); give "
                "the law of each dyad, as pm.Bernoulli.dist(p)"
            )
        return max(ends[0], 0), min(ends[1], 1)

    def tie(odds: float) -> Integer:
        return Integer(reached, lambda x: np.where(x == 1, odds, 0.0))

    return [tie(odds) for odds in offsets[i, j].tolist()]


def _count(part: Part, n: int | None) -> Integer:
    mechanism = part.mechanism
    if (view := view_of(mechanism, CountView)) is None:
        raise unlike(mechanism)
    size = mechanism.n if mechanism.n is not None else n
    try:
        view.check(size or 1)
    except InvalidInput as error:
        raise unlike(mechanism) from error
    if size is None or (n is not None and n != size):
        raise InvalidInput(
            f"n is {quoted(n)}, but the law depends on the number of records; the release says "
            f"{quoted(mechanism.n)}, and n= must be given where it says None, and agree elsewhere"
        )
    z = np.array(part.outputs)[:, None]

    def reached(ends: Ends, times: float) -> Ends:
        if size < ends[1] < math.inf:
            raise InvalidInput(
                f"statistic may be up to {ends[1]}, but it is a number of records, of which there "
                f"are {size}; give the distribution that n"
            )
        return max(ends[0], 0), min(ends[1], size)

    return Integer(
        reached,
        lambda x: np.asarray(view.logp(z, x, size).sum(axis=0)),
    )


def _only(parts: Sequence[Part]) -> Part:
    """Return the one part of a release of answers."""
    if parts[0].group is not None:
        raise InvalidInput(
            "the release has groups of answers; take each by itself, as release['a']"
        )
    return parts[0]


def _patterns(releases: Sequence[tuple[AnswersView, Part]]) -> list[tuple[Integer, ...]]:
    """Return the laws of the answers of each pattern, over all releases of the same records."""
    check_same([view.n for view, _ in releases])
    answers = [np.array(part.outputs).T for _, part in releases]
    patterns, weights = np.unique(np.hstack(answers), axis=0, return_counts=True)
    ends = np.cumsum([each.shape[1] for each in answers])[:-1]
    laws = (
        _records(view, z, weights)
        for (view, _), z in zip(releases, np.split(patterns, ends, axis=1), strict=True)
    )
    return [*zip(*laws, strict=True)]


def _records(view: AnswersView, answers: Integers, weights: Any = None) -> list[Integer]:
    """Return the law of each row of answers, given the category of its records."""
    with np.errstate(divide="ignore"):
        law = np.log(view.matrix)

    def element(z: NDArray[Any], weight: int) -> Integer:
        return Integer(
            lambda ends, times: (max(ends[0], 0), min(ends[1], view.k - 1)),
            lambda x: law[x][:, z].sum(axis=1),
            weight,
        )

    if weights is None:
        weights = np.ones(len(answers), dtype=np.int64)
    return [element(z, int(w)) for z, w in zip(answers, weights, strict=True)]


def widest(rows: Sequence[Sequence[Integer]], ends: Sequence[Ends]) -> tuple[Integers, Floats]:
    """Tabulate integers and laws as `tabled` does, over as many integers as are cheap.

    The rest of the model isn't known here, and may make integers likely that noise hardly reaches.
    """
    for times in (512.0, 64.0, 8.0):
        windows = [_window(row, within, times) for row, within in zip(rows, ends, strict=True)]
        if max(last - first + 1 for first, last in windows) * len(windows) <= _CHEAP:
            return tabled(rows, ends, times)
    return tabled(rows, ends)


def tabled(
    rows: Sequence[Sequence[Integer]], ends: Sequence[Ends], times: float = 1.0
) -> tuple[Integers, Floats]:
    """Tabulate the integers that matter and their log laws, one column each, padded with -inf.

    Each column goes on until the rest, within its ends, is negligible relative to its largest.
    """
    columns = []
    for row, within in zip(rows, ends, strict=True):
        further = times
        while True:
            first, last = _window(row, within, further)
            _check_many(last - first + 1, len(rows))
            x = np.arange(first, last + 1)
            law = np.asarray(sum(element.logp(x) for element in row))
            if _ends_well(row, x, law, _window(row, within, 8 * further)):
                break
            further *= 8
        columns.append((x, law))
    most = max(x.size for x, _ in columns)
    _check_many(most, len(rows))
    values = np.empty((most, len(columns)), dtype=np.int64)
    table = np.full(values.shape, -np.inf)
    for j, (x, law) in enumerate(columns):
        values[: x.size, j], values[x.size :, j] = x, x[-1]
        table[: x.size, j] = law
    return values, table


def _window(row: Sequence[Integer], within: Ends, times: float) -> tuple[int, int]:
    """Return the ends of the elements' common window, or of the gap between their windows."""
    each = [element.reached(within, times) for element in row]
    first, last = int(max(e[0] for e in each)), int(min(e[1] for e in each))
    return min(first, last), max(first, last)


def _ends_well(row: Sequence[Integer], x: Integers, law: Floats, within: Ends) -> bool:
    """Return True if the law beyond these integers, within two ends, is negligible."""
    beyond = np.array([x[0] - 1, x[-1] + 1])
    inside = (beyond >= within[0]) & (beyond <= within[1])
    there = np.asarray(sum(element.logp(np.clip(beyond, *within)) for element in row))
    least = law.max() - _NEGLIGIBLE - math.log(x.size)
    return not bool(np.any((there > least) & (there > -math.inf) & inside))


def _check_many(most: int, columns: int) -> None:
    if most * columns > _MOST:
        raise InvalidInput(
            f"noise reaches {most:,} integers for each of {columns:,} numbers, more than "
            f"{_MOST:,} together; take a distribution with a smaller range, or a continuous one"
        )


def _support(law: Any) -> tuple[Any, Any]:
    """Ends of the integers that a distribution allows, infinite where they aren't known."""
    from pymc.pytensorf import constant_fold
    from pytensor.tensor.random import basic

    op = law.owner.op
    counts = (basic.BinomialRV, basic.BetaBinomialRV)
    if isinstance(op, counts):
        (most,) = constant_fold([op.dist_params(law.owner)[0]], raise_not_constant=False)
        return 0, most if isinstance(most, np.ndarray) else math.inf
    if isinstance(op, basic.BernoulliRV):
        return 0, 1
    nonnegative = (basic.PoissonRV, basic.NegBinomialRV, basic.GeometricRV, basic.CategoricalRV)
    return (0 if isinstance(op, (*nonnegative, basic.HyperGeometricRV)) else -math.inf), math.inf
