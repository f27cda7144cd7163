"""Laws by which Stan programs draw new outputs, in their generated quantities.

A replicate takes a new count from the model and a new output from the mechanism's law given it. A
program has the law of what was released as a table; for a new output it needs the law itself, which
it knows by number (stan/include/released.stanfunctions). A mechanism says by its views which of
these laws is its own, if one is: then no output of its release has another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayesdp.core.views import (
    Cell,
    DrawnCountsView,
    DrawnEventsView,
    MarginalsView,
    NoiseView,
    view_of,
)
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

_WIDE = 1e6  # scale of noise from which integers may overflow
_FINE = 1000  # steps of a lattice in the scale of noise that may be drawn without it


class Law(NamedTuple):
    """Law of an output given a count: its number in Stan, records of a copy, and parameters."""

    number: int
    size: int
    parameters: tuple[float, float, float, float]


def replicates(
    groups: Sequence[Sequence[Part]], places: Sequence[int] | None = None, *, known: bool = True
) -> dict[str, Any]:
    """Build the part of a program's data by which it draws new outputs of counts.

    Parameters
    ----------
    groups : sequence of sequences of Part
        Of each group, one part for each release.
    places : sequence of int, optional
        The program's number of the count that each number of an output is of, from 0 on; by default
        those of the first group come first, and so on.
    known : bool
        False where the program doesn't have the counts that were randomised.

    Returns
    -------
    dict
        By the programs' names, for outputs in the order of groups, releases, copies and an output's
        own numbers; without any, if the law of one of them isn't among Stan's.
    """
    found: list[tuple[int, Law]] = []
    for g, part in ((g, part) for g, parts in enumerate(groups) for part in parts):
        laws = _laws_of(part) if known else []
        if not laws or (places is not None and len(places) != len(laws)):
            found = []
            break
        own = range(g * len(laws), (g + 1) * len(laws)) if places is None else places
        found += [*zip(own, laws, strict=True)] * len(part.outputs)
    return {
        "replicates": 0,
        "R": len(found),
        "of": [place + 1 for place, _ in found],
        "law": [law.number for _, law in found],
        "law_size": [law.size for _, law in found],
        "law_parameters": np.array([law.parameters for _, law in found]).reshape(-1, 4).T,
    }


def _laws_of(part: Part) -> list[Law]:
    """Return the laws of the numbers of an output; none if Stan has no such law."""
    offered = ((view_of(part.mechanism, kind), laws) for kind, laws in _LAWS)
    each = next((laws(view) for view, laws in offered if view is not None), [])
    return each * np.size(part.outputs[0]) if len(each) == 1 else each


def _noisy(cell: Cell) -> list[Law]:
    exact = cell.step == 1 and cell.scale < _WIDE
    if not exact and cell.scale < _FINE * cell.step:
        return []  # neither the integers' noise, nor like that of real numbers
    low, high = range_of(cell)
    number = 2 - cell.noise.laplace if exact else 4 - cell.noise.laplace
    return [Law(number, 0, (float(cell.scale), low, high, float(cell.bounding == "truncated")))]


def _ones(view: DrawnCountsView) -> list[Law]:
    if not view.ones:
        return []  # copies of tables, whose counts are tied by their sum
    return [Law(5, view.size, (float(view.alpha[0]), float(view.alpha[1]), 0.0, 0.0))]


def _events(view: DrawnEventsView) -> list[Law]:
    each = zip(view.shapes, view.chances, strict=True)
    return [Law(6, 0, (float(shape), float(chance), 0.0, 0.0)) for shape, chance in each]


_LAWS: Sequence[tuple[Any, Callable[[Any], list[Law]]]] = (
    (NoiseView, lambda view: _noisy(view.cell)),
    (MarginalsView, lambda view: _noisy(view.count)),
    (DrawnCountsView, _ones),
    (DrawnEventsView, _events),
)
