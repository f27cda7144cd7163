"""Changes of one record's level, and what they do to the law of all that was released."""

from __future__ import annotations

from typing import Any

from bayesdp.kernels.compiling import inlined
from bayesdp.kernels.table.choices import weigh_level
from bayesdp.kernels.table.predictive import weigh_drawn_level
from bayesdp.kernels.table.state import further, place_of, shift
from bayesdp.kernels.table.unseen import carry


@inlined
def weighed(layout: Any, state: Any, i: int, j: int, new: Any) -> float:
    """Return what another level of record i does to the log law of choices and drawn tables."""
    pool = layout.pool[layout.starts[j] + new]
    change = weigh_level(state.offers, state.pooled, i, j, pool)
    return change + weigh_drawn_level(state.drawn, state.pooled, i, j, pool)


@inlined
def gain(layout: Any, state: Any, r: int, place: Any, added: bool) -> Any:
    """Return what one more record in a cell of a copy, or one fewer, does to the log likelihood."""
    left, rate = state.left[place], layout.rates[r]
    if layout.gaussian[r]:
        return rate * (2.0 * left - 1.0) if added else -rate * (2.0 * left + 1.0)
    if added:
        return rate if left > 0.0 else -rate
    return -rate if left >= 0.0 else rate


@inlined
def moved(layout: Any, state: Any, unseen: Any, i: int, j: int, new: Any) -> float:
    """Give record i another level in column j; return what that does to the log likelihood.

    It carries noisy counts along, if some `unseen` are given and not None. `settle` or `move_back`
    has to follow.
    """
    change = weighed(layout, state, i, j, new)
    for r in range(layout.owned[j], layout.owned[j + 1]):
        if unseen is None or unseen.released[r]:
            place, step = place_of(layout, state, r, i), further(layout, state, r, i, j, new)
            if step != 0:  # to another level of one pool it stays where it is
                change += gain(layout, state, r, place, False)
                change += gain(layout, state, r, place + step, True)
    if unseen is not None:
        change += carry(state, unseen, i, j, new)
    shift(layout, state, i, j, new)
    return change


@inlined
def move_back(layout: Any, state: Any, unseen: Any, i: int, j: int, old: Any) -> None:
    """Undo `moved`."""
    if unseen is not None:
        carry(state, unseen, i, j, old)
    shift(layout, state, i, j, old)
