"""Releases as a log-linear model reads them: which cells each number counts, and its law."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.shared_sums import of_release
from bayesdp.core.views import Cell, MarginalsView, NoiseView, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from_marginals
from bayesdp.inference.readers import instead
from bayesdp.inference.several import Releases, releases_of
from bayesdp.kernels.log_linear.moves import NUMBERS, Released
from bayesdp.mechanisms.counts.cells import Axis, check_axes, check_order, shape_of
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

TAKES = (
    "NoisyMarginalsMechanism (bdp.synthesizers.LogLinearSynthesizer), and counts with noise on "
    "every cell of a table (PerturbedHistogramMechanism, or a Laplace or Gaussian mechanism with "
    "a dimension)"
)
_ROWS = ("observed", "rate", "gaussian", "first", "table")
_MOST_CELLS = 1 << 22
_MOST_TABLED = 20_000_000


@dataclass(frozen=True)
class NoisyTable:
    """A release of a table, as the model sees it.

    Attributes
    ----------
    axes : tuple of Axis
    possible : ndarray of bool
        Which cells aren't structural zeros; the table's shape.
    marginals : tuple of tuple of str
        Columns of the released marginals; all columns where cells were released.
    released : Released
    centre : ndarray
        Each number's average over its copies.
    noise : float
        Approximate variance of that average, due to noise.
    information : float
        Approximate mean squared slope of the log law of a number's copies.
    independent : bool
        Whether each cell has noise of its own, whose law is log-concave.
    """

    axes: tuple[Axis, ...]
    possible: NDArray[np.bool_]
    marginals: tuple[tuple[str, ...], ...]
    released: Released
    centre: NDArray[np.float64]
    noise: float
    information: float
    independent: bool


def is_of_table(mechanism: Any) -> bool:
    """Return True if a mechanism adds noise to a table's cells, or to its marginals."""
    noise = view_of(mechanism, NoiseView)
    return view_of(mechanism, MarginalsView) is not None or (
        noise is not None and noise.shape != ()
    )


def statistic_of(mechanism: Any, table: Any) -> Any:
    """Return the statistic of a table's counts that a mechanism randomises (see `is_of_table`)."""
    marginals = view_of(mechanism, MarginalsView)
    return table if marginals is None else marginals.statistic(table)


def noisy_table(part: Part, categories: Any, zeros: Any, largest: int | None) -> NoisyTable:
    """Read a release.

    Parameters
    ----------
    part : Part
    categories : mapping of str to sequence, or None
        The table's columns, where the release doesn't say them.
    zeros : array_like of bool, or None
        Structural zeros, where the release doesn't say them.
    largest : int or None
        The largest possible number of records, if any is.

    Raises
    ------
    InvalidInput
        If the release isn't of a table's counts with noise, or doesn't say what its cells are.
    """
    mechanism: Any = part.mechanism
    if (marginals := view_of(mechanism, MarginalsView)) is not None:
        return _of_marginals(marginals, part, categories, zeros)
    noise = view_of(mechanism, NoiseView)
    if noise is None or not noise.shape:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't add noise to a table's "
            f"counts; a LogLinearModel takes {TAKES}; {instead(mechanism)}. For other synthetic "
            "tables, fit your own estimator to each copy and combine the results by bdp.combine"
        )
    axes = axes_of(mechanism, categories, noise.shape[0])
    possible = _check_zeros(zeros, axes)
    cell = noise.cell
    kept = np.flatnonzero(possible.ravel())
    observed = np.array(part.outputs, dtype=np.float64).T[kept]
    law = _law_of_cells(cell, observed, largest)
    released = released_of(axes, possible, [tuple(range(len(axes)))], law)
    every = (tuple(axis.name for axis in axes),)
    centre, variance = observed.mean(axis=1), _variance(cell, observed.shape[1])
    return NoisyTable(axes, possible, every, released, centre, *variance, cell.log_concave)


def _of_marginals(made: MarginalsView, part: Part, categories: Any, zeros: Any) -> NoisyTable:
    for name, given in (("categories", categories), ("zeros", zeros)):
        if given is not None:
            raise InvalidInput(f"{name} is given, but the release says its own; leave it out")
    _check_cells(made.axes)
    laplace, scale = made.count.noise.laplace, made.count.scale
    rate = 1 / scale if laplace else 0.5 / scale**2
    law = closed(np.array(part.outputs, dtype=np.float64).T, rate, laplace=laplace)
    released = released_of(made.axes, made.possible, made.places, law)
    moving = np.zeros(len(released.observed), dtype=bool)
    moving[released.places] = True
    if not moving.all():  # counts of structural zeros alone say nothing
        kept = {name: getattr(released, name)[moving] for name in _ROWS}
        places = (np.cumsum(moving) - 1)[released.places]
        released = released._replace(places=places, **kept)
    centre = released.observed.mean(axis=1)
    variance = _variance(made.count, released.observed.shape[1])
    columns = {frozenset(part) for part in made.marginals}
    whole = columns == {frozenset(axis.name for axis in made.axes)}
    return NoisyTable(made.axes, made.possible, made.marginals, released, centre, *variance, whole)


def noises_of_table(release: Releases, problem: Any, noisy: NoisyTable | None) -> list[Noise]:
    """Compute the least noise on cells or marginals, for log-linear and logistic models."""
    if noisy is None or noisy.released.kind != NUMBERS or not noisy.released.observed.size:
        return []
    told, sizes = noisy.released, problem.sizes
    marginals = [np.unique(column) for column in told.places.T]
    high = math.inf if sizes is None else float(max(n for n, _ in sizes))
    total = float(sizes[0][0]) if sizes is not None and len(sizes) == 1 else None
    parts = [part for each in releases_of(release) if each.by is None for part in each.parts]
    shared = [one for part in parts for one in of_release(part.mechanism, part.outputs)]
    law = told.observed, told.rate, told.gaussian
    return [noise_from_marginals(*law, marginals, high, total, shared)]


def axes_of(mechanism: Any, categories: Any, cells: int) -> tuple[Axis, ...]:
    """Return the axes of the release's cells, its own or by `categories`, or raise InvalidInput."""
    own = getattr(mechanism, "axes", None)
    if own is not None:
        if categories is not None:
            raise InvalidInput("categories is given, but the release says its own; leave it out")
        _check_cells(own)
        return tuple(own)
    if not isinstance(categories, Mapping) or not categories:
        raise InvalidInput(
            f"categories is {quoted(categories)}, and the release doesn't say what its "
            f"{cells} cells are; give each column's, in the order of the cells with "
            'the last moving fastest, for example {"age": ["young", "old"], "sex": ["f", "m"]}'
        )
    axes = tuple(Axis(name, categories=given) for name, given in categories.items())
    _check_cells(axes)
    checked = check_axes(axes, cells)
    return checked or axes


def _check_cells(axes: tuple[Axis, ...]) -> None:
    cells = math.prod(shape_of(axes))
    if cells > _MOST_CELLS:
        raise InvalidInput(
            f"the table has {cells:,} cells, more than the {_MOST_CELLS:,} that a model may hold; "
            "merge categories, or model some of the columns"
        )


def _check_zeros(zeros: Any, axes: tuple[Axis, ...]) -> NDArray[np.bool_]:
    shape = shape_of(axes)
    if zeros is None:
        return np.ones(shape, dtype=bool)
    mask = np.asarray(zeros)
    if mask.dtype.kind != "b" or mask.shape not in (shape, (math.prod(shape),)):
        raise InvalidInput(
            f"zeros has type {mask.dtype} and shape {mask.shape}; it must be an array of booleans "
            f"of shape {shape}, True where no record can be"
        )
    check_order("zeros", zeros, axes)
    if np.sum(~mask) < 2:
        raise InvalidInput("zeros leaves fewer than 2 possible cells")
    return ~mask.reshape(shape)


def released_of(
    axes: tuple[Axis, ...], possible: NDArray[np.bool_], places: Any, law: Mapping[str, Any]
) -> Released:
    """Collect each possible cell's position in each marginal, and the law of its numbers."""
    shape = shape_of(axes)
    levels = np.argwhere(possible)
    columns, start = [], 0
    for part in places:
        sizes = [shape[k] for k in part]
        whole = len(places) == 1 and tuple(part) == tuple(range(len(axes)))
        if whole and len(law["observed"]) == len(levels):  # one a possible cell, in its order
            columns.append(np.arange(len(levels)))
        else:
            columns.append(start + np.ravel_multi_index([levels[:, k] for k in part], sizes))
        start += math.prod(sizes)
    numbers = np.full(possible.size, -1)
    numbers[possible.ravel()] = np.arange(len(levels))
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    count = len(law["observed"])
    return Released(
        places=np.ascontiguousarray(np.stack(columns, axis=1).astype(np.int64)),
        within=np.array([[k in part for k in range(len(axes))] for part in places]),
        levels=np.ascontiguousarray(levels.astype(np.int64)),
        sizes=np.array(shape, dtype=np.int64),
        strides=np.array(strides, dtype=np.int64),
        numbers=numbers.astype(np.int64),
        observed=np.ascontiguousarray(law["observed"]),
        rate=law["rate"],
        gaussian=law["gaussian"],
        first=law.get("first", np.zeros(count, dtype=np.int64)),
        table=law.get("table", np.zeros((count, 0))),
        kind=law.get("kind", NUMBERS),
    )


def _law_of_cells(cell: Cell, observed: NDArray[np.float64], largest: int | None) -> dict[str, Any]:
    """Law of each cell's noisy counts, in closed form where it has one.

    Laplace noise whose values below 0 are released as 0 has Pr[0 | x] in proportion to
    exp(-x / t), as Pr[z = 0 | x] without the bound, since no count x is below 0.
    """
    laplace = cell.noise.laplace
    zero_only = laplace and cell.bounding == "inflated" and cell.ends == (0, None)
    if (cell.bounds is None or zero_only) and cell.step <= 1:
        rate = 1 / cell.scale if laplace else 0.5 / cell.scale**2
        return closed(observed, rate, laplace=laplace)
    if largest is None:
        raise InvalidInput(
            "the release's noise is bounded or rounded, and any number of records is possible; "
            "give the model n, or a prior on it, as n=range(500, 1501)"
        )
    if len(observed) * (largest + 1) > _MOST_TABLED:
        raise InvalidInput(
            f"the law of {len(observed)} cells with up to {largest:,} records has more than "
            f"{_MOST_TABLED:,} values, since the noise is bounded or rounded; narrow n, or merge "
            "categories"
        )
    x = np.arange(largest + 1)
    if cell.bounding == "truncated":
        low, high = range_of(cell)
        x = x[(x >= low) & (x <= high)]
        if not x.size:
            raise InvalidInput("the outputs have probability zero under the model's n")
    table = np.stack([cell.logp(row[:, None], x).sum(axis=0) for row in observed])
    if not np.all(np.any(table > -np.inf, axis=1)):
        raise InvalidInput("the outputs have probability zero under the model's n")
    first = np.full(len(observed), x[0], dtype=np.int64)
    return {**closed(observed[:, :0], 0.0, laplace=laplace), "table": table, "first": first}


def closed(observed: NDArray[np.float64], rate: float, *, laplace: bool) -> dict[str, Any]:
    """Laws of noisy numbers in closed form, shape (K, copies), as `released_of` takes them."""
    observed = np.ascontiguousarray(observed)
    rates, gaussian = np.full(observed.shape, rate), np.full(observed.shape, not laplace)
    return {"observed": observed, "rate": rates, "gaussian": gaussian}


def _variance(cell: Cell, copies: int) -> tuple[float, float]:
    """Variance of the copies' average, and all copies' information, which Laplace noise doubles.

    The variance of Laplace's is 2 q / (1 - q)^2 = 1 / (2 sinh(1 / (2 scale))^2).
    """
    laplace, scale = cell.noise.laplace, cell.scale
    half = min(0.5 / scale, 250.0)
    variance = 0.5 * math.sinh(half) ** -2 if laplace else scale**2
    variance = max(variance, 1e-2)
    return variance / copies, copies * (2 if laplace else 1) / variance
