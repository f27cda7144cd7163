r"""The law of a copy's numbers, for models that read it.

A numeric step that is given no labels, s the sums of the confidential records' columns that it
measures, of their squares and of their products, draws a copy's numbers x by

    z = s + noise,  set to the nearest end of each range and projected,
    theta ~ p(theta | z),    x_ij ~ N(regression j of theta on x_i1, ..., x_i,j-1), set to a bound.

Steps have noises of their own, so that given s a copy's steps are independent but for the columns
that a later one is given, which are as the copy has them: the law of all of them is the product.
No such step is given a label, and none of it depends on what else the table has; so other columns
may be left out. It isn't so for a step on columns that were drawn in cells of labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bayesdp.core.drawn_moments import DrawnMomentsView, DrawnNumbers
from bayesdp.core.views import Cell, IntractableView, View
from bayesdp.mechanisms.families.drawn_numbers import of_response, rescaled_numbers
from bayesdp.mechanisms.modips.sequential.layout import Layout

_COMBINE = "analyse each copy as data and combine the results with bdp.combine"


def moments_view(
    layouts: Sequence[Layout], cells: Callable[[int], tuple[Cell, ...]], n: int | None
) -> View:
    """Return the view of numbers that were drawn without labels, or say why there is none.

    Parameters
    ----------
    layouts : sequence of Layout
    cells : callable
        Function of a step's number: the noise on each of its sums.
    n : int or None
        Number of confidential records, where it is public.
    """
    numeric = [name for layout in layouts if not layout.axes for name in layout.names]
    if not numeric:
        return IntractableView(DrawnMomentsView, f"its steps have no numeric columns; {_COMBINE}")
    places: dict[str, int] = {}
    bounds: dict[str, tuple[float, float]] = {}
    steps = []
    for j, layout in enumerate(layouts):
        if layout.axes or layout.given or any(name not in places for name, _ in layout.before):
            continue
        for name, ends in zip(layout.names, layout.ends[len(layout.before) :], strict=True):
            places[name], bounds[name] = len(places), (float(ends[0]), float(ends[1]))
        steps.append((j, layout, tuple(places[name] for name in layout.measured)))
    if not places:
        return IntractableView(
            DrawnMomentsView,
            f"columns {', '.join(numeric)} were drawn in cells of labels, or on columns that were, "
            f"and no model here has the law of such numbers; {_COMBINE}",
        )
    if n is None:
        return IntractableView(
            DrawnMomentsView,
            f"columns {', '.join(places)} were drawn by a noisy number of records too, and no "
            f"model here has the law of that; release with n public, or {_COMBINE}",
        )
    drawn = []
    for j, layout, columns in steps:
        prior: Any = layout.step.prior
        given = len(layout.before)
        priors = tuple(of_response(prior, before) for before in range(given, len(columns)))
        drawn.append(DrawnNumbers(columns, given, priors, cells(j)))
    every = [name for layout in layouts for name in layout.names]
    left = tuple(name for name in every if name not in places)
    chosen = [every.index(name) for name in places]
    return DrawnMomentsView(
        bounds,
        n,
        tuple(drawn),
        partial(rescaled_numbers, chosen, np.array([*bounds.values()])),
        left,
    )
