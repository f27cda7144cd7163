r"""Outputs that a fitted model would have released: posterior predictive checks on their scale.

For each of some posterior draws theta, new confidential data are drawn from p(. | theta), and new
outputs from the release's mechanism,

    z'_k | x' ~ mechanism,    x' ~ p(x | theta),    theta ~ p(theta | z),

so that what was released can be compared with what the model expects, noise included.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.engines.draws import check_seed, import_arviz
from bayesdp.errors import InvalidInput
from bayesdp.inference.binomial_weights import weights_of
from bayesdp.inference.gaussian_release import size_of
from bayesdp.inference.result import group_coordinate
from bayesdp.mechanisms.conjugate import ConjugateRelease
from bayesdp.mechanisms.count import Count
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.randomized_response import RandomizedResponse
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import arviz as az

Rng = np.random.Generator
Values = Mapping[str, NDArray[np.float64]]
_TRIES = 1000


def posterior_predictive(
    model: Any,
    idata: az.InferenceData,
    release: Release,
    *,
    draws: int = 1000,
    seed: int | None = None,
) -> az.InferenceData:
    """The posterior with outputs that the fitted model would have released, for ArviZ to compare.

    Parameters
    ----------
    model : BinomialModel, GaussianModel or MultinomialModel
        What was fitted.
    idata : arviz.InferenceData
        What its `fit` returned.
    release : Release
        What it was fitted to.
    draws : int
        How many of the posterior's draws get new outputs, evenly spaced.
    seed : int, optional
        For reproducible outputs.

    Returns
    -------
    arviz.InferenceData
        A copy with a group "posterior_predictive": "outputs" with the dimensions of the observed
        ones after one chain of `draws`.

    Raises
    ------
    InvalidInput
        If the model has no such outputs, `idata` is another's or the number of confidential
        records isn't known.

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
    check_seed(seed)
    family = getattr(model, "family", type(model).__name__)
    if family not in _STATISTICS:
        raise InvalidInput(
            f"model is a {type(model).__name__}, whose outputs aren't predicted here; there are "
            f"{', '.join(sorted(_STATISTICS))}"
        )
    attrs = getattr(idata, "attrs", {})
    if (attrs.get("family"), attrs.get("release")) != (family, release.fingerprint):
        raise InvalidInput("idata isn't this model's posterior given this release; fit it again")
    if len({np.shape(part.outputs) for part in release.parts}) > 1:
        raise InvalidInput(
            "the groups' outputs differ in length; predict each group's, as from release['a']"
        )
    chosen = _chosen(idata, draws)
    rng = np.random.default_rng(seed)
    found = []
    for g, part in enumerate(release.parts):
        own = chosen if release.by is None else {n: v[:, g] for n, v in chosen.items()}
        with reproducible(int(rng.integers(2**31))):
            found.append(_outputs(_STATISTICS[family], model, part, own, rng))
    outputs = found[0] if release.by is None else np.stack(found, axis=2)
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


def _chosen(idata: Any, draws: int) -> dict[str, NDArray[np.float64]]:
    """Evenly spaced draws of every variable, shape (draws, ...)."""
    found = {}
    for name, values in idata.posterior.data_vars.items():
        flat = values.transpose("chain", "draw", ...).to_numpy()
        flat = flat.reshape(-1, *flat.shape[2:])
        found[str(name)] = flat[np.linspace(0, len(flat) - 1, draws).astype(np.int64)]
    return found


def _outputs(
    statistic: Callable[..., Any], model: Any, part: Part, values: Values, rng: Rng
) -> NDArray[Any]:
    """Of one group, shape (draws, copies, ...)."""
    size, found = len(next(iter(values.values()))), []
    for i in range(size):
        given = statistic(model, part, {name: v[i] for name, v in values.items()}, rng)
        found.append(part.mechanism.release(given, len(part.outputs)))
    return np.array(found)


def _binomial(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    if model.weights is not None:
        each = weights_of(model.weights, part.group)
        return float(sum(w * rng.binomial(k, theta["p"]) for w, k in each))
    n = _known(part)
    ones = int(rng.binomial(n, theta["p"]))
    try:
        part.mechanism.check_statistic(count := Count(ones, n))
    except InvalidInput:
        return ones
    return count


def _multinomial(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    p = np.asarray(theta["p"] if "p" in theta else theta["theta"])
    if isinstance(part.mechanism, RandomizedResponse):
        return rng.choice(p.size, size=part.mechanism.n, p=p / p.sum())
    return rng.multinomial(_known(part), p / p.sum())


def _gaussian(model: Any, part: Part, theta: Mapping[str, Any], rng: Rng) -> Any:
    """The mean, or what was made of it; of records that lie within public bounds, if there are."""
    n, sigma = size_of(part, model.n), float(theta.get("sigma", model.sd or 0.0))
    for _ in range(_TRIES):
        mean = rng.normal(theta["mu"], sigma / math.sqrt(n))
        if isinstance(part.mechanism, ConjugateRelease):
            given: Any = mean * n
        elif model.sd is not None:
            given = mean * (n if model.statistic == "sum" else 1)
        else:
            variance = sigma**2 * rng.chisquare(n - 1) / (n - 1)
            given = np.array([mean, variance])
            if model.statistic == "sum" and not isinstance(part.mechanism, ModipsSBS):
                given = np.array([n * mean, (n - 1) * variance + n * mean**2])
        if getattr(part.mechanism, "whole", False):
            given = np.rint(given).astype(np.int64)
        try:
            part.mechanism.check_statistic(given)
        except InvalidInput:
            continue  # not of records within the bounds
        return given
    raise InvalidInput(
        f"a draw of the posterior gave no records within the public bounds in {_TRIES} tries; the "
        "model doesn't fit the release"
    )


def _known(part: Part) -> int:
    if part.mechanism.n is None:
        raise InvalidInput(
            "n is confidential in this release, and a posterior has no draws of it; outputs can't "
            "be predicted"
        )
    return int(part.mechanism.n)


_STATISTICS: dict[str, Callable[..., Any]] = {
    "binomial": _binomial,
    "gaussian": _gaussian,
    "multinomial": _multinomial,
}
