"""Graph of a model for one record and many parameters, with no data in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytensor
import pytensor.tensor as pt
from pymc.logprob.utils import CheckParameterValue
from pytensor.compile.mode import Mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Apply, Constant, Variable
from pytensor.graph.replace import vectorize_graph
from pytensor.graph.traversal import ancestors, io_toposort
from pytensor.tensor.basic import Alloc

from bayesdp.errors import InvalidInput
from bayesdp.synthesis.censor.graph import Tracer
from bayesdp.synthesis.censor.states import Kind

_NUMPY = Mode(linker="py", optimizer=None)  # each operation by NumPy, as the graph says

Known = Mapping[Variable, Variable]


def not_alone(why: str) -> InvalidInput:
    """The error for a model whose records can't be evaluated one by one."""
    return InvalidInput(
        f"a record's likelihood can't be evaluated without the others: {why}. Leave shapes as long "
        "as the records out of the model, or use engine='pymc'"
    )


def of_one_record(
    tracer: Tracer, terms: Variable, parameters: Known
) -> tuple[Variable, list[Variable]]:
    """Build the term of a single record, shape (1,), and inputs for its data.

    Parameters
    ----------
    tracer, terms
        As returned by `bayesdp.synthesis.censor.model.traced`.
    parameters : mapping
        The free variables, and their replacements.

    Raises
    ------
    InvalidInput
        If data of the records would remain in the graph.
    """
    tracer.trace(terms)
    records = {root: _one(root, axis) for root, axis in tracer.roots.items()}
    known = {tracer.parameters[rv]: each for rv, each in parameters.items()} | records
    for name, length in tracer.model.dim_lengths.items():
        if name == tracer.axes.name:
            known[length] = pt.constant(1, dtype=length.type.dtype)

    def alone(node: Apply, inputs: list[Variable]) -> list[Variable]:
        state = tracer.states[node.outputs[0]]
        if isinstance(node.op, Alloc) and state.kind is Kind.RECORDS:
            inputs[1 + state.axis] = pt.constant(1, dtype="int64")
        return inputs

    (term,) = rebuilt([terms], known, alone)
    for root in ancestors([term]):
        held = isinstance(root, Constant | SharedVariable)
        if held and tracer.trace(root).kind is not Kind.PUBLIC:
            raise not_alone(f"{root.name or 'a constant'} stays in it")
    return term, list(records.values())


def _one(root: Any, axis: int) -> Variable:
    """Make an input like a root, with one record along the records' axis."""
    shape = list(root.type.shape)
    shape[axis] = 1
    made: Variable = pt.TensorType(root.type.dtype, shape)()
    return made


def without_checks(density: Variable, known: Known) -> tuple[Variable, list[Variable]]:
    """Split a density into one that never raises, and the condition on its parameters."""
    checks = [n for n in io_toposort([], [density]) if isinstance(n.op, CheckParameterValue)]
    conditions = [condition for node in checks for condition in node.inputs[1:]]
    made = rebuilt([density, *conditions], known, unchecked=True)
    return made[0], made[1:]


def rebuilt(
    outputs: Sequence[Variable], known: Known, change: Any = None, *, unchecked: bool = False
) -> list[Variable]:
    """Rebuild the outputs with some variables replaced, and all operations' inputs changed.

    Checks of parameters are left out if `unchecked`.
    """
    memo = dict(known)
    for node in io_toposort([], list(outputs)):
        if any(out in known for out in node.outputs):
            continue
        inputs = [memo.get(each, each) for each in node.inputs]
        if unchecked and isinstance(node.op, CheckParameterValue):
            memo[node.outputs[0]] = inputs[0]
            continue
        if change is not None:
            inputs = change(node, inputs)
        if any(one is not other for one, other in zip(inputs, node.inputs, strict=True)):
            same = node.clone_with_new_inputs(inputs, strict=False)
            memo.update(zip(node.outputs, same.outputs, strict=True))
    return [memo.get(each, each) for each in outputs]


def over_cells(output: Variable, parameters: list[Variable], others: list[Variable]) -> Any:
    """Compile a function of vectors of parameters, and of others that stay the same."""
    vectors = {each: pt.TensorType(each.type.dtype, (None,))() for each in parameters}
    return pytensor.function(
        [*vectors.values(), *others],
        vectorize_graph(output, vectors),
        mode=_NUMPY,
        on_unused_input="ignore",
    )
