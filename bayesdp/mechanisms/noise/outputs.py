"""Outputs of additive noise as values, as lists of all of them, and as columns of a table."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    from bayesdp.mechanisms.noise.additive import AdditiveNoise

_MOST = 100_000


def all_outputs(mechanism: AdditiveNoise) -> NDArray[Any] | None:
    """List every output, first axis, where the bounds leave at most 100,000; else None."""
    low, high = mechanism.ends
    d = mechanism.dimension
    if low is None or high is None or (d or 1) * math.log(high - low + 1) > math.log(_MOST):
        return None
    points = np.arange(low, high + 1) * (1 if mechanism.whole else mechanism.step)
    return points if d is None else np.array(list(itertools.product(points, repeat=d)))


def worst_pairs(mechanism: AdditiveNoise) -> list[tuple[Any, Any]]:
    """Pairs of neighbouring statistics, as the lattice points that they are rounded to.

    At each bound, where the worst are, and in the middle; one component moves as far as it can,
    or, where truncation makes that worse, all move by about the same.
    """
    low, high = mechanism.ends
    d, budget = mechanism.dimension or 1, math.floor(mechanism.moved())
    # Where rounding can push every component over a boundary, it does.
    furthest = mechanism.sensitivity / mechanism.step
    furthest = math.floor(furthest) if mechanism.whole else math.ceil(furthest)
    moves = [np.array([furthest] + [0 if mechanism.whole else 1] * (d - 1))]
    if mechanism.bounding == "truncated":
        each, more = divmod(budget, d)
        if mechanism.norm == "L2":
            each, more = math.floor(budget / math.sqrt(d)), 0
        moves.append(np.array([each + (i < more) for i in range(d)]))
        moves = [np.minimum(move, mechanism.width).astype(np.int64) for move in moves]
    pairs: dict[tuple[Any, Any], None] = {}
    for move in moves:
        starts = [end for end in (low, None if high is None else high - move) if end is not None]
        if mechanism.bounding != "truncated":
            centre = (low + high) // 2 if low is not None and high is not None else 0
            starts.append(centre - move // 2)
        for start in starts:
            one = start + 0 * move
            pairs[_as_statistic(mechanism, one), _as_statistic(mechanism, one + move)] = None
    return list(pairs)


def _as_statistic(mechanism: AdditiveNoise, steps: NDArray[np.int64]) -> Any:
    values = (steps if mechanism.whole else steps * mechanism.step).tolist()
    return values[0] if mechanism.dimension is None else tuple(values)


def check_output(mechanism: AdditiveNoise, output: Any) -> Any:
    """Return the output as a Python number, or a tuple of them, or raise InvalidInput."""
    d = mechanism.dimension
    if d is None:
        return _checked_number(mechanism, output)
    values = output.tolist() if isinstance(output, np.ndarray) else output
    if not isinstance(values, Sequence) or len(values) != d:
        raise InvalidInput(
            f"output is {quoted(output)}; this mechanism releases {d} numbers a copy"
        )
    return tuple(_checked_number(mechanism, value) for value in values)


def _checked_number(mechanism: AdditiveNoise, value: Any) -> int | float:
    low, high = mechanism.ends
    number = is_number(value) and math.isfinite(value)
    steps = float(value) / mechanism.step if number else math.nan
    if (
        not math.isfinite(steps)
        or steps != math.floor(steps)
        or not (-math.inf if low is None else low) <= steps <= (math.inf if high is None else high)
    ):
        within = "" if mechanism.bounds is None else f" within {mechanism.bounds}"
        what = "integers" if mechanism.whole else f"multiples of {quoted(mechanism.step)}"
        raise InvalidInput(f"output is {quoted(value)}; this mechanism releases {what}{within}")
    return int(value) if mechanism.whole else float(value)


def encode(mechanism: AdditiveNoise, outputs: Sequence[Any]) -> dict[str, Any]:
    """Encode outputs as columns copy, component and value, one row a component."""
    d = mechanism.dimension or 1
    kind = np.int64 if mechanism.whole else np.float64
    return {
        "copy": np.repeat(np.arange(len(outputs)), d),
        "component": np.tile(np.arange(d), len(outputs)),
        "value": np.asarray(outputs, dtype=kind).ravel(),
    }


def decode(mechanism: AdditiveNoise, columns: Mapping[str, Any]) -> list[Any]:
    """Decode the outputs, in the order of their copies; InvalidInput if a row is missing."""
    return [check_output(mechanism, row) for row in rows_of(columns, mechanism.dimension)]


def rows_of(columns: Mapping[str, Any], dimension: int | None) -> list[Any]:
    """Group the values of columns copy, component, value: a list a copy, or a scalar's number.

    Raises
    ------
    InvalidInput
        If a row is missing or repeated.
    """
    d = dimension or 1
    copy, component = (np.asarray(columns[name]) for name in ("copy", "component"))
    order = np.lexsort((component, copy))
    copies = copy.size // d
    if (
        copy.size != copies * d
        or np.any(copy[order] != np.repeat(np.arange(copies), d))
        or np.any(component[order] != np.tile(np.arange(d), copies))
    ):
        raise InvalidInput(
            f"the table must have one row for each copy, numbered from 0, and each of its {d} "
            "components; rows are missing or repeated"
        )
    values = np.asarray(columns["value"])[order].reshape(copies, d)
    return [row.tolist() if dimension else row[0] for row in values]
