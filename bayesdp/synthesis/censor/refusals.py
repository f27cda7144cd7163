"""Refusals of `censor` before the likelihood is traced, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pymc.data import MinibatchOp
from pymc.distributions.continuous import FlatRV, HalfFlatRV
from pymc.distributions.distribution import PartialObservedRV
from pymc.logprob.basic import logp
from pymc.variational.minibatch_rv import MinibatchRandomVariable
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import HasInnerGraph
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.op import RandomVariable

from bayesdp.errors import InvalidInput, quoted
from bayesdp.synthesis.censor.graph import Axes, Tracer, contents, root_state
from bayesdp.synthesis.censor.rules import hides, holds_length
from bayesdp.synthesis.censor.states import Kind

POTENTIAL = "censored_log_likelihood"


def check_form(model: Any) -> None:
    """Refuse models that can't be rewritten, or whose data aren't one whole set of records."""
    if model.parent is not None:
        raise InvalidInput(f"model {quoted(model.name)} is inside another; censor the outer model")
    if any(value is not None for value in model.rvs_to_initial_values.values()):
        raise InvalidInput("model has variables with initval; leave it out, the engine finds one")
    if POTENTIAL in model.named_vars:
        raise InvalidInput(f"model has a variable {quoted(POTENTIAL)} already: is it censored?")
    nodes = list(nodes_of([*model.basic_RVs, *model.rvs_to_values.values()]))
    # PyMC splits such a variable in two, by an operation of its own or by plain indexing.
    split = [f"{rv.name.removesuffix('_observed')}_unobserved" for rv in model.observed_RVs]
    halves = any(name in model.named_vars for name in split)
    if halves or any(isinstance(node.op, PartialObservedRV) for node in nodes):
        raise InvalidInput(
            "model has observed variables with missing values, which PyMC imputes: the imputed "
            "ones are parameters with a likelihood of their own, that isn't clipped. Leave out "
            "records with missing values, or model their being missing as observed data"
        )
    if any(isinstance(node.op, MinibatchOp | MinibatchRandomVariable) for node in nodes):
        raise InvalidInput(
            "model has minibatches or total_size, which count a record many times over: its "
            "term would be scaled after clipping. Give the model all records"
        )
    for what, group in (
        ("variable", model.basic_RVs),
        ("potential", model.potentials),
        ("deterministic", model.deterministics),
    ):
        for each in group:
            _check_parents(model, what, each)


def _check_parents(model: Any, what: str, variable: Variable) -> None:
    above = set(ancestors([variable])) - {variable}
    for observed in model.observed_RVs:
        if observed in above:
            raise InvalidInput(
                f"{what} {quoted(variable.name)} depends on the observed variable "
                f"{quoted(observed.name)}; a prior must not depend on data, and a record's "
                "likelihood not on other records' (autoregressive models). Make it depend on "
                "parameters, or on pm.Data as long as the records"
            )


def check_prior(model: Any, axes: Axes, public_n: bool) -> None:
    """Refuse priors that are improper or depend on the records."""
    for rv in model.free_RVs:
        if any(isinstance(node.op, FlatRV | HalfFlatRV) for node in nodes_of([rv])):
            raise InvalidInput(
                f"variable {quoted(rv.name)} has an improper prior (pm.Flat or pm.HalfFlat); the "
                "guarantee needs a proper one, such as a wide pm.Normal or pm.HalfNormal"
            )
        if not public_n and _is_one_a_record(model, axes, rv):
            raise InvalidInput(
                f"variable {quoted(rv.name)} has one entry a record, so a record more or less "
                "would change the prior; integrate it out, or use neighbours='replace_one'. If it "
                "is as long by chance, give it dims of another name than the records', and name "
                "these too"
            )
        # Once as it is drawn, before PyMC may compute a number from data; once with what its
        # density alone has.
        _check_graph(model, axes, public_n, "prior", rv, rv)
        density = logp(rv, model.rvs_to_values[rv], warn_rvs=False)
        _check_graph(model, axes, public_n, "prior", rv, density)
        for part in transforms_of(model, rv):
            _check_graph(model, axes, public_n, "transform of", rv, part)
    for potential in model.potentials:
        _check_graph(model, axes, public_n, "potential", potential, potential)
    for rv in model.basic_RVs:
        for node in nodes_of([rv]):
            if holds_length(node.op, axes.n):
                raise InvalidInput(
                    f"variable {quoted(rv.name)} holds data as long as the records inside "
                    f"{node.op}; give them as arguments of the distribution"
                )


def transforms_of(model: Any, rv: Variable) -> list[Variable]:
    """List what a transform adds to a free variable's prior, which its density hasn't.

    Interval's bounds cut the prior off, say.
    """
    transform = model.rvs_to_transforms.get(rv)
    if transform is None:
        return []
    given = (model.rvs_to_values[rv], *rv.owner.inputs)
    return [transform.backward(*given), transform.log_jac_det(*given)]


def _is_one_a_record(model: Any, axes: Axes, rv: Variable) -> bool:
    """Return True if a free variable has an axis of the records' name, or unnamed and as long."""
    dims: Sequence[str | None] = model.named_vars_to_dims.get(rv.name) or [None] * rv.type.ndim
    for dim, length in zip(dims, rv.type.shape, strict=True):
        if axes.name is not None and dim is not None:
            found = dim == axes.name
        else:
            found = axes.n == (length if dim is None else contents(model.dim_lengths[dim]))
        if found:
            return True
    return False


def _check_graph(
    model: Any, axes: Axes, public_n: bool, what: str, of: Variable, output: Any
) -> None:
    others = [rv for rv in model.free_RVs if rv is not output]
    sizes = set()
    for variable in ancestors([output], blockers=others):
        node = variable.owner
        if node is not None and isinstance(node.op, RandomVariable):
            sizes.add(node.op.size_param(node))  # a shape, whatever its own length
    values = set(model.rvs_to_values.values()) - set(model.data_vars)
    for variable in ancestors([output], blockers=others):
        node = variable.owner
        if node is not None and variable not in others and hides(node.op):
            raise InvalidInput(
                f"the {what} {quoted(of.name)} goes through {node.op}, whose Python code may hold "
                "data; write it with pymc.math or pytensor.tensor"
            )
        if node is None and variable not in values | sizes:
            state = root_state(variable, model, axes)
            if state.kind in (Kind.RECORDS, Kind.MIXED):
                raise _data_in_prior(what, of, variable)
            if state.kind is Kind.COUNT and not public_n:
                raise InvalidInput(
                    f"the {what} {quoted(of.name)} depends on the number of records, so a record "
                    "more or less would change the prior; give a public number, or use "
                    "neighbours='replace_one'"
                )


def _data_in_prior(what: str, of: Variable, root: Variable) -> InvalidInput:
    return InvalidInput(
        f"the {what} {quoted(of.name)} depends on {root.name or 'a constant'}, which is as long as "
        "the records, so may hold their data; a prior must be the same for any records. If it "
        "isn't theirs, give it as pm.Data with a dimension of another name, and name the records' "
        "dimension too"
    )


def check_missing(tracer: Tracer) -> None:
    """Refuse NaN among the records' data."""
    for root in tracer.roots:
        values = contents(root)
        if (values != values).any():
            raise InvalidInput(f"{root.name or 'a constant'} has NaN; leave those records out")


def nodes_of(outputs: Iterable[Variable]) -> Iterator[Apply]:
    """List all operations that lead to the outputs, those inside composite ones too."""
    seen = set()
    for variable in ancestors(outputs):
        node = variable.owner
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            if isinstance(node.op, HasInnerGraph):
                yield from nodes_of(node.op.fgraph.outputs)
