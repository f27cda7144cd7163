"""Synthetic records of a model at given parameters, from public inputs alone.

A model's observed variables are drawn as the model draws them, n records at a time, n being the
number of confidential ones, until there are enough. The confidential values are not in the
compiled function: observed values matter there by their shape only, and are replaced by zeros;
covariates are inputs, for public values; any other data as long as the records are refused. Given
the parameters, records are independent and each follows its public inputs alone, so what is made
doesn't depend on n, nor on anything else of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.traversal import ancestors, graph_inputs
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.shape import Shape, Shape_i

from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.mechanisms.randomness import separate_generator
from bayesdp.synthesis.censor.graph import Tracer, contents, observed_shape, root_state
from bayesdp.synthesis.censor.states import Kind
from bayesdp.synthesis.withheld import withheld

_PLAIN = Mode(linker="py", optimizer="fast_compile")  # nothing is compiled for a few draws


class Predictor:
    """Predictor of synthetic records: draws tables of `size` of them at given parameters.

    Attributes
    ----------
    columns : list of pairs
        Each column's name and kind, "integer" or "number".
    """

    def __init__(
        self, model: Any, tracer: Tracer, size: int, covariates: Mapping[str, Any]
    ) -> None:
        self._model, self._axes, self._size = model, tracer.axes, size
        _check_size(model, tracer, size)
        needed = _needed(model, tracer)
        if {variable.name for variable in needed} != set(covariates):
            raise InvalidInput(
                f"covariates has {sorted(covariates)}, but what the synthetic records depend on is "
                f"{sorted(variable.name for variable in needed)}; give public values for each, and "
                "nothing else (the confidential ones would be given away)"
            )
        self._inputs = {variable: tracer.roots[variable] for variable in needed}  # and its axis
        self._public = {
            variable: _covariate(variable, axis, covariates[variable.name], size)
            for variable, axis in self._inputs.items()
        }
        shapes = {rv: observed_shape(model, rv) for rv in model.observed_RVs}
        shown = [(rv, [*np.delete(shape, self._axes.of[rv])]) for rv, shape in shapes.items()]
        shown += [(variable, [*values.shape[1:]]) for variable, values in self._public.items()]
        self.columns = [
            (name, "number" if np.dtype(variable.type.dtype).kind == "f" else "integer")
            for variable, shape in shown
            for name in _names(variable.name, shape)
        ]
        self._keys: list[Variable] = []
        try:  # so that a model that can't be drawn from is refused before anything is spent
            with withheld("the model can't be predicted from"):
                self._run = self._compiled()
                start = _start(model)
            self.draw(start)
        except EngineFailed as error:
            raise InvalidInput(f"{error} (a pm.CustomDist needs random= or dist=)") from None

    def draw(self, parameters: Mapping[str, NDArray[Any]]) -> list[tuple[Any, ...]]:
        """Draw the rows of one table, its columns as in `columns`.

        Raises
        ------
        EngineFailed
            If the model can't be drawn from at these parameters.
        """
        given = [parameters[rv.name] for rv in self._model.free_RVs]
        axes = [self._axes.of[rv] for rv in self._model.observed_RVs]
        parts = []
        for rows in self._batches():
            public = [
                np.moveaxis(self._public[variable][rows], 0, axis)
                for variable, axis in self._inputs.items()
            ]
            with withheld("the model can't be predicted from"):
                drawn = self._run(*given, *public, *(separate_generator() for _ in self._keys))
            parts.append([np.moveaxis(v, k, 0) for v, k in zip(drawn, axes, strict=True)])
        tables = [np.concatenate(each)[: self._size] for each in zip(*parts, strict=True)]
        tables += self._public.values()
        columns = [column for t in tables for column in t.reshape(self._size, -1).T.tolist()]
        if any(value != value for column in columns for value in column):
            raise EngineFailed("the model predicts NaN; give it priors that keep to its range")
        return list(zip(*columns, strict=True))

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        """Yield rows of the public inputs, n at a time; the last row fills an incomplete batch."""
        for start in range(0, self._size, self._axes.n):
            yield np.minimum(np.arange(start, start + self._axes.n), self._size - 1)

    def _compiled(self) -> Any:
        observed = self._model.observed_RVs
        held = {self._model.rvs_to_values[rv] for rv in observed} & set(self._model.data_vars)
        zeros = {v: v.type.make_constant(np.zeros_like(contents(v))) for v in held}
        parameters = {rv: rv.type() for rv in self._model.free_RVs}
        inputs = {variable: variable.type() for variable in self._inputs}
        outputs = clone_replace(observed, zeros | parameters | inputs)
        self._keys = [v for v in graph_inputs(outputs) if isinstance(v.type, RandomType)]
        keys = {variable: variable.type() for variable in self._keys}
        return pytensor.function(
            [*parameters.values(), *inputs.values(), *keys.values()],
            clone_replace(outputs, keys),
            mode=_PLAIN,
            on_unused_input="ignore",
        )


def _start(model: Any) -> dict[str, NDArray[Any]]:
    """Return the free variables at the model's initial point."""
    values = [model.rvs_to_values[rv] for rv in model.free_RVs]
    outputs = model.replace_rvs_by_values(model.free_RVs)
    run = pytensor.function(values, outputs, mode=_PLAIN, on_unused_input="ignore")
    point = model.initial_point()
    started = run(*(point[value.name] for value in values))
    return {rv.name: value for rv, value in zip(model.free_RVs, started, strict=True)}


def _needed(model: Any, tracer: Tracer) -> list[Variable]:
    """List the data containers, other than observed values, that a prediction depends on."""
    nodes = [v.owner for v in ancestors(model.observed_RVs) if v.owner is not None]
    shapes = [v for node in nodes if isinstance(node.op, Shape | Shape_i) for v in node.outputs]
    sizes = [n.op.size_param(n) for n in nodes if isinstance(n.op, RandomVariable)]
    observed = {model.rvs_to_values[rv] for rv in model.observed_RVs}
    needed = []
    for root in ancestors(model.observed_RVs, blockers=[*model.free_RVs, *shapes]):
        if root.owner is not None or root in sizes:
            continue
        if root_state(root, model, tracer.axes).kind not in (Kind.RECORDS, Kind.MIXED):
            continue
        if root not in model.data_vars or root in observed:
            raise InvalidInput(
                f"the synthetic records would depend on {root.name or 'a constant'}, which is as "
                "long as the confidential ones; write it as a pm.Data of its own in the model, and "
                "give public values for it in covariates"
            )
        needed.append(root)
    return sorted(needed, key=lambda variable: str(variable.name))


def _check_size(model: Any, tracer: Tracer, size: int) -> None:
    axes = tracer.axes
    if size == axes.n or not tracer.setting.public_n:
        return
    for name, shape in model.eval_rv_shapes().items():
        if name in [rv.name for rv in model.free_RVs] and axes.n in shape:
            raise InvalidInput(
                f"size is {size}, but variable {quoted(name)} may have an entry for each of the "
                f"{axes.n} records; leave size out"
            )


def _covariate(variable: Any, axis: int, values: Any, size: int) -> NDArray[Any]:
    """Return public values with the records first, checked against the confidential shape."""
    try:
        given = np.asarray(values)
        cast = given.astype(variable.type.dtype)
    except (TypeError, ValueError):
        given = cast = np.array(np.nan)
    inside = np.delete(np.shape(contents(variable)), axis)
    expected = tuple(int(v) for v in np.insert(inside, axis, size))
    if given.shape != expected or not np.array_equal(given, cast):
        raise InvalidInput(
            f"covariates[{quoted(variable.name)}] must be numbers of type {variable.type.dtype}, "
            f"without NaN, of shape {expected}: one for each of the size = {size} synthetic records"
        )
    return np.moveaxis(cast, axis, 0)


def _names(name: str, shape: Sequence[int]) -> list[str]:
    """List the column names `name`, or `name[0]`, `name[1]`, ..., of one record's numbers."""
    if not len(shape):
        return [name]
    return [f"{name}[{', '.join(map(str, index))}]" for index in np.ndindex(*map(int, shape))]
