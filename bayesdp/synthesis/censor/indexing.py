"""The rules of `bayesdp.synthesis.censor.rules` for shapes, places and indices.

Importing this module registers them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pymc.pytensorf import constant_fold
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import Op
from pytensor.tensor.basic import ARange, MakeVector
from pytensor.tensor.shape import Reshape, Shape, Shape_i
from pytensor.tensor.subtensor import (
    AdvancedSubtensor,
    AdvancedSubtensor1,
    Subtensor,
    indices_from_subtensor,
)
from pytensor.tensor.type_other import SliceType

from bayesdp.synthesis.censor.rules import result_of, rule
from bayesdp.synthesis.censor.states import (
    COUNT,
    PLACE,
    PUBLIC,
    Kind,
    Setting,
    State,
    mixed,
    records,
)

__all__ = ["result_of"]

_LONG = (Kind.RECORDS, Kind.PLACES, Kind.RANDOM)  # whose axis is the tensor's own


@rule.register
def _(op: Shape, node: Apply, states: list[State], setting: Setting) -> State:
    (state,) = states
    long = state.kind in _LONG and state.axis >= 0
    return State(Kind.SHAPE, state.axis) if long else PUBLIC


@rule.register
def _(op: Shape_i, node: Apply, states: list[State], setting: Setting) -> State:
    (state,) = states
    return COUNT if state.kind in _LONG and state.axis == op.i else PUBLIC


@rule.register
def _(op: MakeVector, node: Apply, states: list[State], setting: Setting) -> State:
    counts = [k for k, state in enumerate(states) if state.kind is Kind.COUNT]
    if len(counts) > 1:
        return mixed("has two axes as long as the records")
    return State(Kind.SHAPE, counts[0]) if counts else PUBLIC


@rule.register
def _(op: ARange, node: Apply, states: list[State], setting: Setting) -> State:
    start, stop, step = (int(i.data) if isinstance(i, Constant) else None for i in node.inputs)
    if (start, step) == (0, 1) and (stop == setting.n or states[1] == COUNT):
        return State(Kind.PLACES, 0)
    return setting.values(states)


@rule.register
def _(op: Reshape, node: Apply, states: list[State], setting: Setting) -> State:
    state, shape = states
    if state.kind not in (Kind.RECORDS, Kind.PLACES):
        return setting.values(states)
    before, after = node.inputs[0].type, node.inputs[1]
    wanted = [int(v) for v in after.data] if isinstance(after, Constant) else []
    if before.ndim == 1 and sorted({*wanted, 1}) in ([-1, 1], [1, setting.n]):
        lone = [k for k, v in enumerate(wanted) if v != 1]
        if len(lone) == 1:  # the same entries in a row, with axes of length 1 around
            return State(state.kind, lone[0])
    # In C order, a leading axis that keeps its length keeps its entries.
    keeps = shape == State(Kind.SHAPE, 0) or wanted[:1] == [setting.n]
    if wanted[:1] == [-1] and None not in before.shape[1:]:
        keeps = bool(np.prod(wanted[1:]) == np.prod(before.shape[1:]))
    return state if state.axis == 0 and keeps else mixed("has its records' axis reshaped")


@rule.register
def _(op: Subtensor, node: Apply, states: list[State], setting: Setting) -> State:
    state, places = states[0], op.idx_list
    if any(setting.value(index) != PUBLIC for index in states[1:]):
        return mixed("is cut at the number of records")
    if state.kind is Kind.SHAPE:
        return _part_of_shape(op, node, state, setting)
    if state.kind is not Kind.RECORDS:
        return setting.value(state)
    if len(places) > state.axis and places[state.axis] != slice(None):
        return mixed("depends on some of the records, or on those before or after it")
    return records(state.axis - sum(not isinstance(p, slice) for p in places[: state.axis]))


def _part_of_shape(op: Any, node: Apply, state: State, setting: Setting) -> State:
    length = node.inputs[0].type.shape[0]
    if length is None or not all(isinstance(i, Constant) for i in node.inputs[1:]):
        return setting.value(state)
    (index,) = indices_from_subtensor([int(i.data) for i in node.inputs[1:]], op.idx_list)
    kept = np.arange(length)[index]
    if state.axis not in np.atleast_1d(kept):
        return PUBLIC
    return State(Kind.SHAPE, list(kept).index(state.axis)) if np.ndim(kept) else COUNT


@rule.register(AdvancedSubtensor)
@rule.register(AdvancedSubtensor1)
def _(op: Op, node: Apply, states: list[State], setting: Setting) -> State:
    """Rule for x[index, ...] with integer arrays side by side: their axes replace x's."""
    source, indices = states[0], node.inputs[1:]
    arrays = [k for k, index in enumerate(indices) if not isinstance(index.type, SliceType)]
    whole = all(
        isinstance(index, Constant) and index.data == slice(None)
        for index in indices
        if isinstance(index.type, SliceType)
    )
    integers = all(getattr(indices[k].type, "dtype", "bool") != "bool" for k in arrays)
    known = source.kind in (Kind.PUBLIC, Kind.RECORDS)
    if not (known and whole and integers and arrays == list(range(arrays[0], arrays[-1] + 1))):
        return rule.dispatch(object)(op, node, states, setting)
    first, width = arrays[0], max(indices[k].type.ndim for k in arrays)
    start = {k: first + width - indices[k].type.ndim for k in arrays}  # of its axes in the result
    axes = set()
    if source.kind is Kind.RECORDS and source.axis not in arrays:
        axes.add(source.axis + (width - len(arrays) if source.axis > arrays[-1] else 0))
    for k in arrays:
        state = states[1 + k]
        if source == records(k):  # entry i must be picked for record i
            if state.kind is not Kind.PLACES:
                return mixed("looks up other records by their place")
            axes.add(start[k] + state.axis)
        elif state.kind is Kind.RECORDS:
            axes.add(start[k] + state.axis)
        elif setting.value(state) != PUBLIC:
            return setting.value(state)
    if len(axes) > 1:
        return mixed("looks up other records by their place")
    if not axes:
        return PUBLIC
    (axis,) = axes
    for k in arrays:
        if (
            states[1 + k] == PUBLIC
            and _varies(indices[k], axis - start[k])
            and not setting.public_n
        ):
            return PLACE
    return records(axis)


def _varies(index: Any, axis: int) -> bool:
    """Return True if an index array may have several entries along an axis that it has."""
    if not 0 <= axis < index.type.ndim:
        return False
    length = index.type.shape[axis]
    if length is None:  # an index array, unlike other operands, broadcasts by its actual length
        (length,) = constant_fold([index.shape[axis]], raise_not_constant=False)
    return not (isinstance(length, int | np.integer | np.ndarray) and length == 1)
