r"""Pointwise log likelihoods of a fit, for leave-one-out cross-validation by ArviZ.

Outputs of one group depend on one another through the confidential statistic s that they are all
of: p(z_1, ..., z_M | theta) isn't a product. Two units can be left out:

- a group, whose likelihood sums s out,

    p(z_g | theta_g) = sum over s of p(s | theta_g) prod over i of Pr[z_gi | s];

- an output, given the others of its group,

    p(z_i | z_-i, theta) = p(z_1, ..., z_M | theta) / p(z_1, ..., z_-i, ..., z_M | theta),

whose inverses, averaged over the posterior, give 1 / p(z_i | z_-i): what importance sampling for
leave-one-out needs where outputs aren't independent given theta (Bürkner, Gabry and Vehtari 2021).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_one_of
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput
from bayesdp.inference.conflict import conflict_in
from bayesdp.inference.fitted import check_fitted, draws_by_group
from bayesdp.inference.readers import models_with
from bayesdp.inference.several import Releases, parts_of, releases_of
from bayesdp.release import Part

if TYPE_CHECKING:
    import arviz as az

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]


def log_likelihood(
    model: Any, idata: az.InferenceData, release: Releases, *, unit: str = "outputs"
) -> az.InferenceData:
    """Compute each output's or each group's log likelihood at every posterior draw.

    Parameters
    ----------
    model : BinomialModel, HierarchicalBinomialModel, MultinomialModel, PoissonModel, \
GaussianModel, MultivariateGaussianModel, GammaModel, HierarchicalGaussianModel, LogLinearModel or \
LogisticRegressionModel
        The fitted model: one of events whose total isn't known; one of a table whose cells have
        noise of their own; a regression of randomized answers on public predictors.
    idata : arviz.InferenceData
        The result of its `fit`.
    release : Release, or several in a list
        What it was fitted to.
    unit : {"outputs", "groups"}
        What is left out: an output, given the others of its group (one release only); or all
        outputs of a group.

    Returns
    -------
    arviz.InferenceData
        A copy of `idata` with a group "log_likelihood" for `az.loo`, `az.compare` and `az.waic`. It
        has one variable, "outputs", with the dimensions chain, draw, "copy" where outputs are the
        units, "group" where there are groups, and then what is independent given the parameters
        and so a unit too: "area" for events, "cell" for a table of Poisson counts, "record" for
        randomized responses.

    Raises
    ------
    InvalidInput
        If the model has no such likelihood of this release, `idata` is another fit's, or outputs
        that are to be left out contradict one another by more than noise explains.

    Notes
    -----
    Groups' own parameters count as parameters, also in models that pool them. Where `az.loo` finds
    Pareto k above 0.7, a unit weighs too much to be left out by importance sampling; for the exact
    probability of a release, and so of a release without an output, see `bdp.log_evidence`.

    References
    ----------
    Bürkner, Gabry and Vehtari (2021), Efficient leave-one-out cross-validation for Bayesian
    non-factorized normal and Student-t models.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> counts = {"a": bdp.Count(38, 100), "b": bdp.Count(20, 40), "c": bdp.Count(1, 3)}
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=2).release(counts)
    >>> model = bdp.BinomialModel()
    >>> idata = model.fit(release, draws=500, seed=1)
    >>> pointwise = bdp.evaluate.log_likelihood(model, idata, release, unit="groups")
    >>> pointwise.log_likelihood["outputs"].dims
    ('chain', 'draw', 'group')
    """
    check_one_of("unit", unit, ("outputs", "groups"))
    if not hasattr(model, "pointwise"):
        raise InvalidInput(
            f"model is a {type(model).__name__}, which has no likelihood of its parameters alone "
            f"here; there are those of the families {', '.join(models_with('pointwise'))}. "
            "bdp.log_evidence compares models"
        )
    releases = releases_of(release)
    check_fitted(model, idata, *releases)
    if unit == "outputs" and len(releases) > 1:
        raise InvalidInput(
            "unit is 'outputs', which leaves out outputs of one release, but there are several; "
            "take unit='groups'"
        )
    if unit == "outputs" and any(conflict_in([each]) for each in model.noises(release)):
        raise InvalidInput(
            "noise hardly explains what was released, as outputs are too far from one another or "
            "from any possible statistic: given the others an output is next to impossible, and "
            "its log likelihood isn't computed; take unit='groups', or see idata.attrs['verdict']"
        )
    groups = parts_of(release)
    found = [
        _of_group(model, parts, values, unit)
        for parts, values in zip(groups, draws_by_group(idata, len(groups)), strict=True)
    ]
    values, dims = found[0], ["copy"] if unit == "outputs" else []
    inner = [model.likelihood_dim] if values.ndim > 1 + len(dims) else []
    if unit == "groups" and releases[0].by is None and not inner:
        raise InvalidInput(
            "unit is 'groups', but the release has none, so that nothing is left without its "
            "outputs; take unit='outputs'"
        )
    if releases[0].by is not None:
        values, dims = np.stack(found, axis=1 + len(dims)), [*dims, "group"]
    dims += inner
    sizes = idata.posterior.sizes
    made = idata.copy()
    added = import_arviz().from_dict(
        log_likelihood={
            "outputs": values.reshape(sizes["chain"], sizes["draw"], *values.shape[1:])
        },
        coords={
            name: idata.posterior.coords[name].to_numpy()
            for name in ("chain", "draw", *dims)
            if name in idata.posterior.coords
        },
        dims={"outputs": dims},
    )
    made.extend(added)
    return made


def _of_group(model: Any, parts: Sequence[Part], values: Values, unit: str) -> Floats:
    """Log likelihoods of a group's units: (draws, copies or nothing, areas or nothing)."""
    whole: Floats = model.pointwise(parts, values)
    if unit == "groups":
        return whole
    (part,) = parts
    others = [_without(part, i) for i in range(len(part.outputs))]
    if len(others) == 1:
        return whole[:, None]
    return np.stack([whole - model.pointwise([other], values) for other in others], axis=1)


def _without(part: Part, i: int) -> Part:
    return dataclasses.replace(part, outputs=(*part.outputs[:i], *part.outputs[i + 1 :]))
