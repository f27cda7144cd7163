"""Numbers of a model that were computed from its records, as far as they give themselves away.

A number doesn't say where it is from, and is taken as public. One with all its digits that is a
column's mean, or 2.5 times its standard deviation, was computed from the column; so was a column
whose mean is 0 to the last digit. That is worth a warning, and its absence proves nothing: a number
that was rounded isn't found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import ancestors

from bayesdp.errors import quoted
from bayesdp.synthesis.censor.graph import Tracer, contents, root_state
from bayesdp.synthesis.censor.states import PUBLIC
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]

_EQUAL = 1e-12  # relative: more than the rounding of a mean
_MOST_NUMBERS = 1000  # of one constant

_STATISTICS: Mapping[str, Callable[[Floats], list[Any]]] = {
    "mean": lambda x: [x.mean()],
    "median": lambda x: [np.median(x)],
    "smallest value": lambda x: [x.min()],
    "largest value": lambda x: [x.max()],
    "range": lambda x: [np.ptp(x)],
    "sum": lambda x: [x.sum()],
    "standard deviation": lambda x: [x.std(), x.std(ddof=1)],
    "variance": lambda x: [x.var(), x.var(ddof=1)],
}


def warn_of_numbers(tracer: Tracer, parts: Iterable[Any]) -> None:
    """Warn where a number of the model, or a column's centre, seems computed from the records.

    Parameters
    ----------
    tracer : Tracer
        After it has traced the records' terms.
    parts : iterable of variables
        The rest of the model: its variables, potentials and transforms.
    """
    numbers = np.array(sorted({v for v in _numbers(tracer, parts) if not _is_round(v)}))
    for name, column in _columns(tracer):
        with np.errstate(all="ignore"):
            if _is_centred(column):
                said = f"{name} has mean 0, as if it had been centred at its own mean"
            elif statistic := _of_number(column, numbers):
                said = f"the model holds the {statistic} of {name}, or a round multiple of it"
            else:
                continue
        warn_about(
            f"{said}: a number in a model is taken as public, and the promise fails if it was "
            "computed from the records",
            "numbers",
            stacklevel=5,
        )


def _of_number(column: Floats, numbers: Floats) -> str | None:
    """Name which of a column's statistics one of the numbers is a round multiple of, if any."""
    for statistic, compute in _STATISTICS.items():
        for value in compute(column):
            ratios = numbers / value
            near = np.array([float(f"{ratio:.2g}") for ratio in ratios])
            if np.any((near != 0) & (np.abs(ratios - near) <= _EQUAL * np.abs(near))):
                return statistic
    return None


def _is_centred(column: Floats) -> bool:
    """Return True if a column has mean 0, though it is neither symmetric nor of round numbers."""
    if not np.abs(column.sum()) <= _EQUAL * np.abs(column).sum():
        return False
    ordered = np.sort(column)
    symmetric = np.allclose(ordered, -ordered[::-1], rtol=0, atol=_EQUAL * np.ptp(column))
    return not symmetric and not all(map(_is_round, column[:_MOST_NUMBERS].tolist()))


def _is_round(number: float) -> bool:
    """Return True if a number has few digits or is a simple fraction: it may be anyone's."""
    if not np.isfinite(number) or float(f"{number:.7g}") == number:
        return True
    simple = float(Fraction(number).limit_denominator(100))
    return abs(simple - number) <= _EQUAL * abs(number)


def _numbers(tracer: Tracer, parts: Iterable[Any]) -> Iterator[float]:
    """Yield the numbers that the model takes as public."""
    for root in {*ancestors(parts), *tracer.states}:
        held = root.owner is None and isinstance(root, Constant | SharedVariable)
        if held and root_state(root, tracer.model, tracer.axes) == PUBLIC:
            values = np.asarray(contents(root))
            if values.dtype.kind == "f":
                yield from values.ravel()[:_MOST_NUMBERS].tolist()


def _columns(tracer: Tracer) -> Iterator[tuple[str, Floats]]:
    """Yield the records' columns of numbers, and what to call each."""
    names = {held: root.name for root, held in tracer.constants.items()}
    for root, axis in tracer.roots.items():
        values = np.asarray(contents(root))
        if values.dtype.kind in "iuf":
            name = names.get(root, root.name)
            columns = np.moveaxis(values, axis, -1).reshape(-1, tracer.axes.n)
            for column in columns.astype(np.float64):
                yield quoted(name) if name else "a column of records", column
