"""Rules for PyTensor operations: how a result depends on records, given how its inputs do.

`bayesdp.synthesis.censor.states` says what the states mean, and why these rules prove that a
record's term is its own. `bayesdp.synthesis.censor.indexing` has the rules of shapes and indices.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from pymc.distributions.distribution import SymbolicRandomVariable
from pytensor.compile.ops import FromFunctionOp, TypeCastingOp
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.raise_op import CheckAndRaise
from pytensor.scalar.basic import Cast
from pytensor.tensor.basic import Alloc, Join, ScalarFromTensor, TensorFromScalar
from pytensor.tensor.blockwise import Blockwise
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.extra_ops import CumOp
from pytensor.tensor.math import Dot
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.shape import Shape, Shape_i, SpecifyShape
from pytensor.tensor.special import LogSoftmax, Softmax

from bayesdp.synthesis.censor.states import PUBLIC, Kind, Setting, State, mixed, records

_OPEN = ("pytensor", "pymc", "pymc_extras")  # whose operations hold no data of their own


def result_of(node: Apply, states: list[State], setting: Setting) -> State:
    """Return the state of a node's results from those of its inputs."""
    if hides(node.op):
        return mixed(f"goes through {node.op}, whose Python code may hold data of its own")
    for state in states:
        if state.kind is Kind.MIXED:
            return state
    if any(s.kind is Kind.RANDOM for s in states) and not isinstance(node.op, Shape | Shape_i):
        return mixed("depends on something random that is not a variable of the model")
    return rule(node.op, node, states, setting)


def hides(op: Any) -> bool:
    """Return True if an operation is, or holds, Python code from outside PyTensor and PyMC."""
    parts = [getattr(op, "core_op", None), getattr(op, "scalar_op", None)]
    if not isinstance(op, RandomVariable | SymbolicRandomVariable):  # pm.CustomDist makes classes
        parts.append(op)
    if any(type(part).__module__.partition(".")[0] not in _OPEN for part in parts if part):
        return True
    inside = op.fgraph.apply_nodes if isinstance(op, HasInnerGraph) else ()
    return isinstance(op, FromFunctionOp) or any(hides(node.op) for node in inside)


@singledispatch
def rule(op: Op, node: Apply, states: list[State], setting: Setting) -> State:
    """Default rule: public from public inputs, if the operation holds no data of records inside."""
    state = setting.values(states)
    if state.kind is not Kind.PUBLIC:
        return state if state.kind is Kind.MIXED else mixed(f"goes through {op}")
    if holds_length(op, setting.n):
        return mixed(f"goes through {op}, which holds data as long as the records")
    return PUBLIC


def holds_length(op: Any, n: int) -> bool:
    """Return True if an operation's inner graph has a constant with an axis of length n."""
    if not isinstance(op, HasInnerGraph):
        return False
    return any(
        holds_length(node.op, n)
        or any(isinstance(i, Constant) and n in np.shape(i.data) for i in node.inputs)
        for node in op.fgraph.apply_nodes
    )


@rule.register
def _(op: Elemwise, node: Apply, states: list[State], setting: Setting) -> State:
    if isinstance(op.scalar_op, Cast):
        return states[0]
    return setting.together(op, node.inputs, states, node.outputs[0].type.ndim)


@rule.register(ScalarFromTensor)
@rule.register(TensorFromScalar)
@rule.register(SpecifyShape)
@rule.register(TypeCastingOp)
def _(op: Op, node: Apply, states: list[State], setting: Setting) -> State:
    return states[0]


@rule.register
def _(op: CheckAndRaise, node: Apply, states: list[State], setting: Setting) -> State:
    if all(state == PUBLIC for state in states[1:]):
        return states[0]
    return mixed("stops with an error where a record fails an assertion")


@rule.register
def _(op: DimShuffle, node: Apply, states: list[State], setting: Setting) -> State:
    (state,) = states
    if state.kind not in (Kind.RECORDS, Kind.PLACES):
        return setting.value(state)
    if state.axis not in op.new_order:
        return mixed(f"has its records' axis dropped by {op}")
    return State(state.kind, op.new_order.index(state.axis))


@rule.register
def _(op: CAReduce, node: Apply, states: list[State], setting: Setting) -> State:
    state = setting.value(states[0])
    if state.kind is not Kind.RECORDS:
        return state
    axes = range(node.inputs[0].type.ndim) if op.axis is None else op.axis
    if state.axis in axes:
        return mixed(f"is combined with other records by {op}")
    return records(state.axis - sum(axis < state.axis for axis in axes))


@rule.register(Softmax)
@rule.register(LogSoftmax)
@rule.register(CumOp)
def _(op: Any, node: Apply, states: list[State], setting: Setting) -> State:
    state = setting.value(states[0])
    along = None if op.axis is None else op.axis % node.inputs[0].type.ndim
    if state.kind is Kind.RECORDS and along in (None, state.axis):
        return mixed(f"is combined with other records by {op}")
    return state


@rule.register
def _(op: Dot, node: Apply, states: list[State], setting: Setting) -> State:
    return _product(node, states, setting, 0)


def _product(node: Apply, states: list[State], setting: Setting, batch: int) -> State:
    """Rule for products: rows of the first matrix, or columns of the second, stay a record's."""
    left, right = (setting.value(state) for state in states)
    if right == PUBLIC and left == records(batch):
        return left
    if left == PUBLIC and right == records(batch + 1):
        return right
    return setting.together(node.op, node.inputs, [left, right], batch)


@rule.register
def _(op: Blockwise, node: Apply, states: list[State], setting: Setting) -> State:
    batch = op.batch_ndim(node)
    if isinstance(op.core_op, Dot):
        return _product(node, states, setting, batch)
    if holds_length(op.core_op, setting.n):
        return mixed(f"goes through {op}, which holds data as long as the records")
    return setting.together(op, node.inputs, states, batch)


@rule.register
def _(op: Join, node: Apply, states: list[State], setting: Setting) -> State:
    axis, *parts = node.inputs
    ndim = node.outputs[0].type.ndim
    state = setting.together(op, parts, states[1:], ndim)
    other = isinstance(axis, Constant) and int(axis.data) % ndim != state.axis
    if state.kind is Kind.RECORDS and not other:
        return mixed("is joined with other records")
    return state


@rule.register
def _(op: Alloc, node: Apply, states: list[State], setting: Setting) -> State:
    value, shape = setting.value(states[0]), node.outputs[0].type.shape
    new = len(shape) - node.inputs[0].type.ndim
    counted = {k for k, state in enumerate(states[1:]) if state.kind is Kind.COUNT}
    if value.kind is Kind.RECORDS:
        axis = value.axis + new
        if counted - {axis} and not setting.public_n:
            return mixed("is repeated as often as there are records")
        return records(axis)
    if value.kind is Kind.MIXED:
        return value
    # The same public value for every record.
    inside = (1,) * new + node.inputs[0].type.shape
    long = {k for k, length in enumerate(shape) if length == setting.n} | counted
    spread = [k for k in sorted(long) if inside[k] == 1]
    if len(spread) > 1:
        return mixed("has two axes as long as the records")
    return records(spread[0]) if spread else PUBLIC


@rule.register
def _(op: RandomVariable, node: Apply, states: list[State], setting: Setting) -> State:
    state = setting.together(op, node.inputs[2:], states[2:], op.batch_ndim(node))
    return state if state.kind is Kind.MIXED else State(Kind.RANDOM, state.axis)
