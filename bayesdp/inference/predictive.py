r"""Outputs that a fitted model would have released, for posterior predictive checks.

For each of some posterior draws theta, new confidential data are drawn from p(. | theta), and new
outputs from the release's mechanism,

    z'_k | x' ~ mechanism,    x' ~ p(x | theta),    theta ~ p(theta | z),

so that what was released can be compared with what the model expects, noise included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_seed
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput
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
    model : BinomialModel, GaussianModel, MultinomialModel, PoissonModel, LogLinearModel, \
HierarchicalBinomialModel or HierarchicalGaussianModel
        The fitted model; a log-linear one with many cells must be fitted with `cells=True`.
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
    if not hasattr(model, "predicted"):
        raise InvalidInput(
            f"model is a {type(model).__name__}, whose outputs aren't predicted here; there are "
            f"{', '.join(models_with('predicted'))}"
        )
    check_fitted(model, idata, release)
    if len({np.shape(part.outputs) for part in release.parts}) > 1:
        raise InvalidInput(
            "the groups' outputs differ in length; predict each group's, as from release['a']"
        )
    rng = np.random.default_rng(seed)
    predicted_outputs = []
    everything = draws_by_group(idata, len(release.parts))
    for part, each in zip(release.parts, everything, strict=True):
        own = {name: values[_spaced(len(values), draws)] for name, values in each.items()}
        with reproducible(int(rng.integers(2**31))):
            predicted_outputs.append(_outputs(model.predicted(release, part), part, own, rng))
    outputs = predicted_outputs[0] if release.by is None else np.stack(predicted_outputs, axis=2)
    made = idata.copy()
    own_dims = list(idata.observed_data["outputs"].dims)
    coords: dict[str, Any] = {"copy": np.arange(release.copies)}
    if release.by is not None:
        coords["group"] = group_coordinate(release)
    predicted = import_arviz().from_dict(
        posterior_predictive={"outputs": outputs[None]}, coords=coords, dims={"outputs": own_dims}
    )
    made.extend(predicted)
    return made


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
