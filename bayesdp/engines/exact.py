"""The exact engine: independent draws from a finite mixture, no Markov chain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesdp.engines.draws import Draws
from bayesdp.engines.mixture import BetaMixture
from bayesdp.engines.normal_mixture import NormalMixture, normal_logpdf
from bayesdp.mechanisms.laws import beta_logpdf


def sample(
    posteriors: Sequence[BetaMixture],
    *,
    draws: int,
    chains: int,
    seed: int | None,
    scalar: bool,
) -> Draws:
    """Draw from independent mixtures, one a group.

    Parameters
    ----------
    posteriors : sequence of BetaMixture
        One a group.
    draws, chains : int
        Shape of the result; all chains * draws are independent.
    seed : int or None
        For reproducible draws.
    scalar : bool
        Whether "p" has no group dimension; then there is one posterior.

    Returns
    -------
    Draws
        "p" with shape (chains, draws[, groups]); `lp` is the log posterior density of p
        and the latent component together, summed over groups.
    """
    rng = np.random.default_rng(seed)
    values = np.empty((chains * draws, len(posteriors)))
    lp = np.zeros(chains * draws)
    for g, posterior in enumerate(posteriors):
        component = posterior.sample_components(chains * draws, rng)
        a, b = posterior.a[component], posterior.b[component]
        values[:, g] = rng.beta(a, b)
        lp += np.log(posterior.weights[component]) + beta_logpdf(values[:, g], a, b)
    shape = (chains, draws) if scalar else (chains, draws, len(posteriors))
    return Draws(
        posterior={"p": values.reshape(shape)},
        sample_stats={"lp": lp.reshape(chains, draws)},
        engine="exact",
        versions={"numpy": np.__version__},
    )


def sample_normal(
    posteriors: Sequence[NormalMixture],
    *,
    draws: int,
    chains: int,
    seed: int | None,
    scalar: bool,
) -> Draws:
    """The same of mixtures of normals: "mu"."""
    rng = np.random.default_rng(seed)
    values = np.empty((chains * draws, len(posteriors)))
    lp = np.zeros(chains * draws)
    for g, posterior in enumerate(posteriors):
        component = posterior.sample_components(chains * draws, rng)
        mean, sd = posterior.means[component], posterior.sds[component]
        values[:, g] = rng.normal(mean, sd)
        lp += np.log(posterior.weights[component]) + normal_logpdf(values[:, g], mean, sd)
    shape = (chains, draws) if scalar else (chains, draws, len(posteriors))
    return Draws(
        posterior={"mu": values.reshape(shape)},
        sample_stats={"lp": lp.reshape(chains, draws)},
        engine="exact",
        versions={"numpy": np.__version__},
    )
