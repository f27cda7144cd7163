r"""The law of copies of categorical columns, for models that read it.

A copy's labels are drawn by the noisy counts of its categorical steps, each of which is given
earlier labels alone. So given the confidential table's counts T_1, ..., T_J of these steps and the
noisy ones T_j*, which are independent of one another given the table, a copy y has the law

    prod_j  Pr[T_j* | T_j]  prod over cells  DM(counts of y in step j; prior_j + T_j*),

DM a Dirichlet-multinomial law of labels in an order, and T_j* summed out. No label is drawn by a
number, so that this is the law of the categorical columns whatever numeric steps there are; the
numbers of a copy, whose law is intractable, are left out.

Where steps have no noise, T_j is in T_j*'s place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.drawn_table import DrawnColumns, DrawnTableView
from bayesdp.core.views import Cell, IntractableView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.modips.sequential.layout import Layout
from bayesdp.schema.schema import Schema

_COMBINE = "analyse each copy as data and combine the results with bdp.combine"


def table_view(
    layouts: Sequence[Layout],
    cells: Sequence[Cell | None],
    share: Callable[[], float],
    costs: Sequence[float] | None = None,
) -> View:
    """Return the view of a whole table's copies, or say why there is none.

    Parameters
    ----------
    layouts : sequence of Layout
    cells : sequence of Cell or None
        Noise on a count of each step; None where it has none.
    share : callable
        Function without arguments: the share of the budget that categorical steps had.
    costs : sequence of float, optional
        Pure epsilon of each step in a copy, of steps without noise.
    """
    numeric = tuple(name for layout in layouts if not layout.axes for name in layout.names)
    axes = [axis for layout in layouts for axis in layout.axes]
    if not axes:
        return IntractableView(
            DrawnTableView,
            f"columns {', '.join(numeric)} are numeric, drawn by noisy moments: given a table of "
            "categories their law is intractable; cut them into categorical columns, or fit "
            f"bdp.LinearRegressionModel to those drawn without labels, or {_COMBINE}",
        )
    try:
        schema = Schema({axis.name: _declared(axis) for axis in axes})
    except InvalidInput as error:
        return IntractableView(
            DrawnTableView, f"its steps' columns make no bdp.Schema ({error}); {_COMBINE}"
        )
    places = {name: k for k, name in enumerate(schema.columns)}
    drawn = []
    spent = [0.0] * len(layouts) if costs is None else costs
    for layout, cell, cost in zip(layouts, cells, spent, strict=True):
        if not layout.axes:
            continue
        step: Any = layout.step
        both = (*layout.given, *layout.axes)
        columns = tuple(places[axis.name] for axis in both)
        shape = tuple(axis.size for axis in both)
        drawn.append(DrawnColumns(columns, shape, len(layout.given), step.prior, cell, cost))
    labelled = [bool(layout.axes) for layout in layouts for _ in layout.names]
    return DrawnTableView(schema, tuple(drawn), partial(_codes, labelled), numeric, share)


def _codes(labelled: list[bool], output: Any) -> NDArray[np.int64]:
    return np.asarray(output)[:, labelled].astype(np.int64)


def _declared(axis: Axis) -> dict[str, Any]:
    """Declare a column by its labels, as a schema does."""
    if axis.categories == (False, True) and isinstance(axis.categories[0], bool):
        return {"type": "boolean"}
    return {"type": "category", "labels": axis.categories}
