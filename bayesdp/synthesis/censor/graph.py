"""Tracing of each record's log-likelihood through a PyMC model's graph.

The records' axis is found by the name of its dimension, or as the first axis. A record consists
of whatever has that axis: its entries of the observed variables, and of every `pm.Data` and
constant as long as the records. `bayesdp.synthesis.censor.states` says how each record's term is
shown to be its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pymc.logprob.basic import logp
from pymc.logprob.utils import CheckParameterValue
from pymc.model.fgraph import ModelDeterministic
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.tensor.basic import Alloc, MakeVector, ScalarFromTensor
from pytensor.tensor.math import All
from pytensor.tensor.type import TensorType

from bayesdp.errors import InvalidInput, quoted
from bayesdp.synthesis.censor.indexing import result_of
from bayesdp.synthesis.censor.states import COUNT, PUBLIC, Kind, Setting, State, mixed, records


@dataclass(frozen=True)
class Axes:
    """Axes of the records: each observed variable's axis, the dimension's name, and n."""

    of: dict[Variable, int]
    name: str | None
    n: int


def record_axes(model: Any, record_dim: str | None) -> Axes:
    """Find the records' axis of every observed variable.

    Raises
    ------
    InvalidInput
        If there is no observed variable, or they don't have one axis in common.
    """
    observed = model.observed_RVs
    if not observed:
        raise InvalidInput("model has no observed variable; there is nothing to censor")
    shapes = {rv: observed_shape(model, rv) for rv in observed}
    dims = {rv: tuple(model.named_vars_to_dims.get(rv.name) or ()) for rv in observed}
    if record_dim is not None:
        for rv in observed:
            if dims[rv].count(record_dim) != 1:
                raise InvalidInput(
                    f"record_dim is {quoted(record_dim)}, but observed variable {quoted(rv.name)} "
                    f"has dims {dims[rv]}; every observed variable must have it once"
                )
        of = {rv: dims[rv].index(record_dim) for rv in observed}
    else:
        of = dict.fromkeys(observed, 0)
        names = {dims[rv][0] for rv in observed if dims[rv] and dims[rv][0] is not None}
        if any(rv.ndim == 0 for rv in observed) or len(names) > 1:
            raise _ambiguous(model, "their first axes have different names, or there is none")
        record_dim = next(iter(names), None)
    lengths = {int(shapes[rv][of[rv]]) for rv in observed}
    if len(lengths) > 1:
        raise _ambiguous(model, "the axes differ in length")
    (n,) = lengths
    if n < 2:
        raise InvalidInput(
            "model has fewer than two records along the records' axis, which then can't be told "
            "from an axis that broadcasts; give at least two"
        )
    return Axes(of, record_dim, n)


def _ambiguous(model: Any, why: str) -> InvalidInput:
    return InvalidInput(
        f"the records' axis of {[rv.name for rv in model.observed_RVs]} is ambiguous: {why}; give "
        "every observed variable dims with one in common, and its name as record_dim"
    )


def root_state(variable: Variable, model: Any, axes: Axes) -> State:
    """Classify a constant or a data container by its dimension's name, or else its length."""
    if axes.name is not None and variable is model.dim_lengths.get(axes.name):
        return COUNT
    if not isinstance(variable.type, TensorType) or not isinstance(
        variable, Constant | SharedVariable
    ):
        return PUBLIC if isinstance(variable, Constant | SharedVariable) else mixed("is unknown")
    for rv, axis in axes.of.items():
        if variable is model.rvs_to_values[rv]:
            return records(axis)
    shape = np.shape(contents(variable))
    dims: Sequence[str | None] = [None] * len(shape)
    if axes.name is not None and variable in model.data_vars:
        dims = model.named_vars_to_dims.get(variable.name) or dims
    record_axes = [
        k
        for k, (dim, length) in enumerate(zip(dims, shape, strict=True))
        if length == axes.n and dim in (None, axes.name)
    ]
    if len(record_axes) > 1:
        return mixed(
            f"uses {variable.name or 'a constant'}, with two axes as long as the records (give it "
            "as pm.Data with dims, and the records' as record_dim)"
        )
    return records(record_axes[0]) if record_axes else PUBLIC


def as_shared(values: Any, name: str | None, model: Any, number: int, axis: int = 0) -> Any:
    """Make records a shared variable, whose type doesn't say how many they are.

    Its name is one that neither the model nor another of them has, as nutpie needs.
    """
    name = f"{name or 'records'}_{number}"
    while name in model.named_vars:
        name += "_"
    shape = [None if k == axis else length for k, length in enumerate(np.shape(values))]
    return pytensor.shared(values, name=name, shape=tuple(shape), borrow=True)


def share_records(tracer: Tracer, fgraph: Any) -> None:
    """Make shared variables of the records that a model's deterministics are computed from."""
    shown = [out for out in fgraph.outputs if isinstance(out.owner.op, ModelDeterministic)]
    constants = {v for v in ancestors(shown) if isinstance(v, Constant)}
    held = [v for v in constants if root_state(v, tracer.model, tracer.axes) != PUBLIC]
    for k, root in enumerate(held, start=len(tracer.constants) + 1):
        shared = as_shared(root.data, root.name, tracer.model, k)
        fgraph.replace(root, shared, import_missing=True)


def observed_shape(model: Any, rv: Variable) -> tuple[int, ...]:
    """Compute the shape of an observed variable's values, without compiled code."""
    value = model.rvs_to_values[rv]
    if isinstance(value, Constant | SharedVariable):
        return np.shape(contents(value))
    return tuple(value.shape.eval(mode=Mode(linker="py", optimizer=None)))


def contents(variable: Any) -> Any:
    """Return the values of a constant or a data container."""
    shared = isinstance(variable, SharedVariable)
    return variable.get_value(borrow=True) if shared else variable.data


@dataclass
class Tracer:
    """Tracer of records' terms, and of the conditions on parameters alone that they came with."""

    model: Any
    axes: Axes
    setting: Setting
    states: dict[Variable, State] = field(default_factory=dict)
    rebuilt: dict[Variable, Variable] = field(default_factory=dict)
    conditions: list[Variable] = field(default_factory=list)
    roots: dict[Variable, int] = field(default_factory=dict)
    parameters: dict[Variable, Variable] = field(init=False)
    constants: dict[Variable, Variable] = field(init=False)

    def __post_init__(self) -> None:
        # PyMC derives some densities by rewriting a copy of the graph. Cut at the parameters, these
        # stay the same variables in it; with shared variables for records, no mean of data is
        # computed there and then taken for a number, and none of them, nor how many they are, ends
        # in compiled code, which PyTensor keeps on the disk.
        self.parameters = {rv: rv.type(name=rv.name) for rv in self.model.free_RVs}
        self.states.update(dict.fromkeys(self.parameters.values(), PUBLIC))
        above = ancestors([*self.model.observed_RVs, *self.model.rvs_to_values.values()])
        self.constants = {}
        for root in above:
            if not isinstance(root, Constant):
                continue
            state = root_state(root, self.model, self.axes)
            if state.kind in (Kind.RECORDS, Kind.MIXED):
                held = as_shared(root.data, root.name, self.model, len(self.constants), state.axis)
                self.constants[root], self.states[held] = held, state
                if state.kind is Kind.RECORDS:
                    self.roots[held] = state.axis

    def terms(self) -> Variable:
        """Collect each record's log-likelihood over all observed variables, shape (n,).

        Raises
        ------
        InvalidInput
            If a record's log-likelihood can't be shown to be a function of that record alone.
        """
        each = []
        observed = self.model.observed_RVs
        values = [self.model.rvs_to_values[rv] for rv in observed]
        every = clone_replace(
            [*observed, *values], self.parameters | self.constants, rebuild_strict=False
        )
        for rv, cut, value in zip(
            observed, every[: len(values)], every[len(values) :], strict=True
        ):
            density = logp(cut, value, warn_rvs=False)
            state = self.trace(density)
            if state.kind is not Kind.RECORDS:
                reason = state.reason or "isn't one number a record (is it multivariate over them?)"
                raise InvalidInput(
                    f"the likelihood of {quoted(rv.name)} can't be censored record by record: what "
                    f"should be one record's term {reason}. Preprocess outside the model, with "
                    "public numbers; dependent records (time series, Gaussian processes) need "
                    "another mechanism"
                )
            self._check_given(rv, density, [cut, value])
            density = self.rebuilt.get(density, density)
            others = [axis for axis in range(density.type.ndim) if axis != state.axis]
            each.append(density.sum(axis=others) if others else density)
        return sum(each[1:], start=each[0])

    def _check_given(self, rv: Variable, density: Variable, given: list[Variable]) -> None:
        """Refuse records that a density's code took from around it, not from its arguments.

        They would be in compiled code, and code that draws synthetic records could take them too.
        """
        known = set(ancestors(given))
        hidden = [v for v in ancestors([density]) if v.owner is None and v not in known]
        if any(self._state(root).kind is not Kind.PUBLIC for root in hidden):
            raise InvalidInput(
                f"the density of {quoted(rv.name)} holds data as long as the records that aren't "
                "arguments of its distribution; give them as such, so that public values can take "
                "their place where synthetic records are drawn"
            )

    def checked(self, density: Variable) -> Variable:
        """Make a density -inf where the likelihood forbids the parameters for every record."""
        if not self.conditions:
            return density
        message = "parameters that the likelihood allows"
        return CheckParameterValue(message, True)(density, *self.conditions)

    def trace(self, output: Variable) -> State:
        """Trace a variable's state; the states of everything it depends on are kept."""
        for node in io_toposort(self.parameters.values(), [output]):
            self._visit(node)
        return self._state(output)

    def _state(self, variable: Variable) -> State:
        if variable not in self.states:
            self.states[variable] = state = root_state(variable, self.model, self.axes)
            if state.kind is Kind.RECORDS:
                self.roots[variable] = state.axis
        return self.states[variable]

    def _visit(self, node: Apply) -> None:
        if all(out in self.states for out in node.outputs):
            return
        states = [self._state(i) for i in node.inputs]
        inputs = [self.rebuilt.get(i, i) for i in node.inputs]
        if isinstance(node.op, CheckParameterValue):
            (out,) = node.outputs
            self.states[out], self.rebuilt[out] = self._check(node, states[0], inputs[0])
            return
        result = result_of(node, states, self.setting)
        self.states.update(dict.fromkeys(node.outputs, result))
        if isinstance(node.op, Alloc) and result.kind is Kind.RECORDS and self.roots:
            # PyMC gives a density the length that is to be drawn: a constant. That of data isn't.
            root, axis = next(iter(self.roots.items()))
            inputs[1 + result.axis] = root.shape[axis]
        if inputs != node.inputs:
            same = node.clone_with_new_inputs(inputs, strict=False)
            self.rebuilt.update(zip(node.outputs, same.outputs, strict=True))

    def _check(self, node: Apply, state: State, term: Any) -> tuple[State, Any]:
        """Split a check of parameters, which over all records at once would tie them together.

        A condition on parameters alone is kept for the whole density, as part of the prior. One
        on a record's own parameters makes that record's term -inf.
        """
        for condition in (part for given in node.inputs[1:] for part in self._parts(given)):
            tested, test = self._state(condition), self.rebuilt.get(condition, condition)
            if tested.kind is Kind.PUBLIC:
                self.conditions.append(pt.all(test))
            elif tested.kind is not Kind.RECORDS or state.kind is not Kind.RECORDS:
                return mixed(
                    tested.reason or f"is checked ({node.op}) in a way not understood"
                ), term
            else:
                others = [k for k in range(test.type.ndim) if k != tested.axis]
                kept = pt.all(test, axis=others) if others else test
                order = ["x"] * term.type.ndim
                order[state.axis] = 0  # type: ignore[call-overload]
                term = pt.switch(kept.dimshuffle(*order), term, -np.inf).astype(term.type.dtype)
        return state, term

    def _parts(self, condition: Variable) -> list[Variable]:
        """Split a condition into conditions that must all hold, entry by entry."""
        op = condition.owner.op if condition.owner else None
        apart = isinstance(op, ScalarFromTensor | MakeVector | All)
        if not apart or self._state(condition).kind is Kind.PUBLIC:
            return [condition]
        return [part for given in condition.owner.inputs for part in self._parts(given)]
