"""A model with its log-likelihoods clipped; `bayesdp.synthesis.censor` has the proof."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import is_number
from bayesdp.engines.pymc.sampling import import_pymc, without_notices
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_of_records
from bayesdp.synthesis.withheld import withheld

if TYPE_CHECKING:
    import pymc as pm
    from numpy.typing import ArrayLike, NDArray

    from bayesdp.synthesis.censor.graph import Tracer


def censor(
    model: pm.Model,
    *,
    epsilon: float,
    neighbours: str = "add_remove",
    center: float | None = None,
    weights: ArrayLike | None = None,
    record_dim: str | None = None,
) -> pm.Model:
    """Make a model whose posterior draws are each epsilon-DP: every record's likelihood is clipped.

    Free variables, their transforms, dims, coords, data and deterministics stay; the observed
    variables become the potential "censored_log_likelihood". One exact draw of the free variables
    from the new model's posterior is epsilon-DP, k draws cost k times that, and MCMC draws are
    exact only in the limit. The model, and anything computed from it except such draws, is for the
    curator alone: deterministics of a record's covariates, say, that a sampler returns with a draw.

    Parameters
    ----------
    model : pm.Model
        A model in which the confidential records are observed. It isn't changed.
    epsilon : float
        Privacy cost of one draw, positive. The clipping interval is epsilon wide under
        add/remove-one, and epsilon / 2 under replace-one.
    neighbours : {"add_remove", "replace_one"}
        The relation. A record is its entries in the observed variables and in every `pm.Data` and
        constant as long as the records, its covariates and group's index among them; the groups'
        number and names are public. Replace-one takes the number of records as public.
    center : float, optional
        The middle of the clipping interval, chosen without the data. Default: 0; for discrete
        observed variables, whose log-likelihood is at most 0, the interval instead ends at 0.
    weights : array_like, shape (n,), optional
        Each record's non-negative weight: public, or a public function of that record alone.
        Weights fitted to all records break the guarantee.
    record_dim : str, optional
        Name of the records' dimension. Default: the observed variables' first axis.

    Returns
    -------
    pm.Model

    Raises
    ------
    InvalidInput
        If an argument is out of its range, the records' axis is ambiguous, or the model is one
        that can't be censored record by record: with imputed missing values, minibatches or
        total_size, a prior or potential that is improper or depends on data, observed variables
        that others depend on, or records that depend on one another.

    Notes
    -----
    That each term depends on its own record alone is proved from the graph, operation by
    operation, and checked numerically at random parameters; operations without a rule are refused.
    What is only a number in the graph is taken as public: a prior's scale, a mean that a covariate
    was centred at, or a package's default prior must not have been computed from the data; a
    warning says where it seems to have been. Whoever is in several rows, as by an answer that is
    the next day's covariate, is protected in one of them alone. That the prior is proper can't be
    verified in general (a `pm.CustomDist`, a `pm.Potential`) and is assumed. Parameters that the
    likelihood forbids for every record, such as a negative standard deviation, stay forbidden. The
    proof is in the docstring of `bayesdp.synthesis.censor`.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pymc as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("income", mu, 1.0, observed=np.array([2.9, 3.4, 2.2]))
    >>> private = bdp.censor(model, epsilon=4.0, center=-1.5)
    >>> private.free_RVs, private.observed_RVs
    ([mu], [])
    """
    return censored(
        model,
        epsilon=epsilon,
        neighbours=neighbours,
        center=center,
        weights=weights,
        record_dim=record_dim,
    ).model


@dataclass(frozen=True)
class Censored:
    """A censored model, its clipping interval, and where its records were found."""

    model: pm.Model
    lower: float
    upper: float
    tracer: Any

    @property
    def n(self) -> int:
        """Number of confidential records."""
        return int(self.tracer.axes.n)


def censored(
    model: pm.Model,
    *,
    epsilon: float,
    neighbours: str,
    center: float | None,
    weights: ArrayLike | None,
    record_dim: str | None,
) -> Censored:
    """Build the censored model of `censor`, with its interval and its records' axis."""
    relation = check_of_records(neighbours)
    epsilon = check_epsilon(epsilon)
    tracer, terms = traced(model, record_dim, public_n=relation is Neighbours.REPLACE_ONE)
    import pytensor.tensor as pt

    from bayesdp.synthesis.censor.graph import as_shared

    lower, upper = clipping_interval(epsilon, relation, center, is_discrete(model))
    factor = check_weights(weights, tracer.axes.n)
    if factor is not None:
        factor = as_shared(factor, "weights", model, len(tracer.constants))
        # A weight of 0 leaves a record out, also where it is impossible.
        terms = pt.switch(factor > 0, factor * terms, 0.0)
    low, high = pt.constant(lower, dtype="float64"), pt.constant(upper, dtype="float64")
    terms = terms.astype("float64")
    terms = pt.switch(pt.isnan(terms), low, pt.clip(terms, low, high))
    total = tracer.checked(terms.sum())
    return Censored(_replaced(model, tracer, total), lower, upper, tracer)


def traced(model: pm.Model, record_dim: str | None, *, public_n: bool) -> tuple[Tracer, Any]:
    """Trace each record's log-likelihood, shape (n,), and where the records were found.

    Raises
    ------
    InvalidInput
        If the model can't be censored record by record, as `censor` says.
    """
    pymc = import_pymc()
    if not isinstance(model, pymc.Model):
        raise InvalidInput(f"model is a {type(model).__name__}; it must be a pm.Model")
    from bayesdp.synthesis.censor import check as censor_check
    from bayesdp.synthesis.censor import graph as censor_graph
    from bayesdp.synthesis.censor import numbers as censor_numbers
    from bayesdp.synthesis.censor import refusals as censor_refusals
    from bayesdp.synthesis.censor.states import Setting

    censor_refusals.check_form(model)
    with without_notices(), withheld("the model can't be evaluated", InvalidInput):
        axes = censor_graph.record_axes(model, record_dim)
        censor_refusals.check_prior(model, axes, public_n)
        tracer = censor_graph.Tracer(model, axes, Setting(axes.n, public_n))
        terms = tracer.terms()
        censor_refusals.check_missing(tracer)
        censor_check.check_terms(tracer, terms)
        transforms = [p for rv in model.free_RVs for p in censor_refusals.transforms_of(model, rv)]
    parts = [*model.basic_RVs, *model.potentials, *transforms]
    censor_numbers.warn_of_numbers(tracer, parts)
    return tracer, terms


def is_discrete(model: pm.Model) -> bool:
    """Return True if all observed variables are discrete: no log-likelihood is above 0."""
    return all(np.dtype(rv.dtype).kind in "iub" for rv in model.observed_RVs)


def clipping_interval(
    epsilon: float, neighbours: Neighbours, center: float | None, discrete: bool
) -> tuple[float, float]:
    """Return the interval [lower, upper], at most as wide as `epsilon` allows, to the last bit."""
    width = epsilon if neighbours is Neighbours.ADD_REMOVE else epsilon / 2
    if center is None:
        return (-width, 0.0) if discrete else (-width / 2, width / 2)
    if not is_number(center) or not math.isfinite(center):
        raise InvalidInput(f"center is {quoted(center)}; it must be a finite number")
    lower, upper = float(center) - width / 2, float(center) + width / 2
    while Fraction(upper) - Fraction(lower) > Fraction(width):
        upper = math.nextafter(upper, -math.inf)
    if not lower < upper:
        raise InvalidInput(
            f"center is {quoted(center)}, too large for an interval of width {width} around it; "
            "rescale the data"
        )
    return lower, upper


def check_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Return the weights as floats, or raise InvalidInput."""
    if weights is None:
        return None
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(math.nan)
    good = values.shape == (n,) and not np.ma.is_masked(weights)
    if not good or not np.all(np.isfinite(values) & (values >= 0)):
        raise InvalidInput(
            "weights must be one finite non-negative number for each record, in a vector as long "
            "as the records"
        )
    return values


def _replaced(model: Any, tracer: Any, total: Any) -> Any:
    """Replace a model's observed variables by one potential."""
    from pymc.model.fgraph import (
        ModelObservedRV,
        fgraph_from_model,
        model_from_fgraph,
        model_potential,
    )
    from pytensor.graph.replace import graph_replace

    from bayesdp.synthesis.censor.graph import share_records
    from bayesdp.synthesis.censor.refusals import POTENTIAL

    fgraph, memo = fgraph_from_model(model)
    for k in reversed(range(len(fgraph.outputs))):
        node = fgraph.outputs[k].owner
        if node is not None and isinstance(node.op, ModelObservedRV):
            fgraph.remove_output(k)
    places = {cut: memo[rv] for rv, cut in tracer.parameters.items()}
    held = [*model.data_vars, *model.dim_lengths.values()]
    places |= {variable: memo[variable] for variable in held if variable in memo}
    potential = model_potential(graph_replace([total], places, strict=False)[0])
    potential.name = POTENTIAL
    fgraph.add_output(potential, import_missing=True)
    share_records(tracer, fgraph)
    made = model_from_fgraph(fgraph, mutate_fgraph=True)
    place = {name: k for k, name in enumerate([*model.named_vars, POTENTIAL])}
    for kept in (made.free_RVs, made.deterministics, made.data_vars, made.potentials):
        kept.sort(key=lambda variable: place[variable.name])
    return made
