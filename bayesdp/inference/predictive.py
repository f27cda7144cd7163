r"""Outputs that a fitted model would have released, for posterior predictive checks.

For each of some posterior draws theta, new confidential data are drawn from p(. | theta), and new
outputs from the release's mechanism,

    z'_k | x' ~ mechanism,    x' ~ p(x | theta),    theta ~ p(theta | z),

so that what was released can be compared with what the model expects, noise included. Before the
release theta ~ p(theta) has its prior instead, which shows what the model takes for possible.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_seed
from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.errors import InvalidInput, kind_of
from bayesdp.inference.base import Model, Run
from bayesdp.inference.fitted import check_fitted, draws_by_group
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.readers import models_with
from bayesdp.inference.result import group_coordinate
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import arviz as az

Rng = np.random.Generator
Values = Mapping[str, NDArray[np.float64]]
_PRIOR = "draws from the prior"


def posterior_predictive(
    model: Any,
    idata: az.InferenceData,
    release: Release,
    *,
    draws: int = 1000,
    seed: int | None = None,
) -> az.InferenceData:
    """Draw outputs that the fitted model would have released, for posterior predictive checks.

    Parameters
    ----------
    model : BinomialModel, GaussianModel, MultivariateGaussianModel, GammaModel, \
MultinomialModel, PoissonModel, LogLinearModel, HierarchicalBinomialModel, \
HierarchicalGaussianModel or LogisticRegressionModel
        The fitted model; a log-linear one with many cells must be fitted with `cells=True`, and a
        logistic regression must have public predictors.
    idata : arviz.InferenceData
        The result of its `fit`.
    release : Release
        The release that it was fitted to, or one of several.
    draws : int
        Number of posterior draws, evenly spaced, that get new outputs.
    seed : int, optional
        Seed, for reproducible outputs.

    Returns
    -------
    arviz.InferenceData
        A copy of `idata` with a group "posterior_predictive": "outputs" has one chain of `draws`,
        and then the dimensions of the observed outputs.

    Raises
    ------
    InvalidInput
        If the model can't predict outputs, `idata` is another model's or release's, or the number
        of confidential records isn't known.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(38, 100))
    >>> model = bdp.BinomialModel()
    >>> checked = posterior_predictive(model, model.fit(release), release, draws=100)
    >>> checked.posterior_predictive["outputs"].dims
    ('chain', 'draw', 'copy')
    """
    draws = check_at_least_one("draws", draws)
    seed = check_seed(seed)
    _check_release(release)
    _check_predicted(model, release)
    check_fitted(model, idata, release)
    made = idata.copy()
    rng = np.random.default_rng(seed)
    _add_outputs(made, "posterior_predictive", model, release, draws, rng)
    return made


def prior_predictive(
    model: Any,
    release: Release,
    *,
    draws: int = 1000,
    seed: int | None = None,
    outputs: bool = True,
) -> az.InferenceData:
    """Draw parameters from a model's prior, and outputs that it would have released.

    Parameters
    ----------
    model : Model
        Any model with a proper prior.
    release : Release
        A release that the model fits: its mechanism and groups are those of the outputs, its own
        outputs aren't used.
    draws : int
        Number of draws.
    seed : int, optional
        Seed, for reproducible draws.
    outputs : bool
        Whether to draw outputs; False draws the parameters alone, as for models whose outputs
        aren't predicted.

    Returns
    -------
    arviz.InferenceData
        The group "prior", with the variables and dimensions of a fit and one chain;
        "prior_predictive", where "outputs" has the dimensions of the observed ones; and
        "observed_data" and "constant_data", as a fit has them. `az.plot_ppc(group="prior")` takes
        it, and `idata.extend` adds it to a fit.

    Raises
    ------
    InvalidInput
        If the prior is improper, the model doesn't fit the release, its outputs can't be predicted,
        or the number of confidential records isn't known.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(38, 100))
    >>> before = prior_predictive(bdp.BinomialModel(), release, draws=100)
    >>> before.prior["p"].dims, before.prior_predictive["outputs"].dims
    (('chain', 'draw'), ('chain', 'draw', 'copy'))
    """
    draws, seed = check_at_least_one("draws", draws), check_seed(seed)
    if not isinstance(model, Model):
        raise InvalidInput(f"model is {kind_of(model)}; it must be one of bdp.models")
    _check_release(release)
    if outputs:
        _check_predicted(model, release)
    rng = np.random.default_rng(seed)
    options = {name: default for name, (default, _) in model.options.items()}
    run = Run(release, model.read(release), "prior", _PRIOR, draws, 1, 0, seed, options=options)
    values = {name: each[None] for name, each in model.from_prior(run, rng).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains, and of records out of bounds
        made = model.result(run, Draws(values, {"lp": np.zeros((1, draws))}, "prior", {}))
    if outputs:
        _add_outputs(made, "prior_predictive", model, release, draws, rng)
    made.add_groups(prior=made.posterior)
    del made.posterior, made.sample_stats
    for attrs in (made.attrs, made.prior.attrs):
        for name in ("engine", "engine_versions", "verdict"):
            attrs.pop(name, None)
    return made


def _check_release(release: Any) -> None:
    if not isinstance(release, Release):
        raise InvalidInput(f"release is {kind_of(release)}; it must be one bdp.Release")


def _check_predicted(model: Any, release: Release) -> None:
    """Raise InvalidInput unless the model predicts outputs, and of one length."""
    if not hasattr(model, "predicted"):
        raise InvalidInput(
            f"model is a {type(model).__name__}, whose outputs aren't predicted here; there are "
            f"{', '.join(models_with('predicted'))}"
        )
    if len({np.shape(part.outputs) for part in release.parts}) > 1:
        raise InvalidInput(
            "the groups' outputs differ in length; predict each group's, as from release['a']"
        )


def _add_outputs(
    idata: az.InferenceData,
    group: str,
    model: Any,
    release: Release,
    draws: int,
    rng: Rng,
) -> None:
    """Add a group with outputs given `draws` evenly spaced draws of the parameters."""
    predicted_outputs = []
    everything = draws_by_group(idata, len(release.parts))
    for part, each in zip(release.parts, everything, strict=True):
        own = {name: values[_spaced(len(values), draws)] for name, values in each.items()}
        with reproducible(int(rng.integers(2**31))):
            predicted_outputs.append(_outputs(model.predicted(release, part), part, own, rng))
    outputs = predicted_outputs[0] if release.by is None else np.stack(predicted_outputs, axis=2)
    own_dims = list(idata.observed_data["outputs"].dims)
    coords: dict[str, Any] = {"copy": np.arange(release.copies)}
    if release.by is not None:
        coords["group"] = group_coordinate(release)
    predicted = import_arviz().from_dict(
        **{group: {"outputs": outputs[None]}}, coords=coords, dims={"outputs": own_dims}
    )
    idata.extend(predicted)


def _spaced(size: int, draws: int) -> NDArray[np.int64]:
    """Places of evenly spaced draws."""
    return np.linspace(0, size - 1, draws).astype(np.int64)


def _outputs(statistic: Statistic, part: Part, values: Values, rng: Rng) -> NDArray[Any]:
    """Draw outputs of one group, shape (draws, copies, ...)."""
    size, outputs = len(next(iter(values.values()))), []
    for i in range(size):
        given = statistic({name: v[i] for name, v in values.items()}, rng)
        outputs.append(part.mechanism.release(given, len(part.outputs)))
    return np.array(outputs)
