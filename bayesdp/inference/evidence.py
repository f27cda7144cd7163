r"""Log evidence, Bayes factors and model probabilities: how probable a release is under a model.

    Pr[z | model]  =  integral of p(theta) sum over s of p(s | theta) Pr[z | s]  d theta

is the normaliser of the posterior that a model's `fit` draws from. It is exact where the engine is.
Elsewhere the latent data are summed out and a bridge is built from the chains to a normal law
(`bayesdp.engines.bridge`), with a standard error.

Evidences can be compared if they are of the same numbers, and if the priors are proper and chosen
with care: a prior ten times as wide costs about log 10 for each parameter that the release
determines well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import is_number
from bayesdp.engines.bridge import warn_of
from bayesdp.engines.draws import check_sampling
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import warn_of_conflict
from bayesdp.inference.evidence_ways import exact
from bayesdp.inference.readers import models_with
from bayesdp.inference.several import Releases, releases_of

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Evidence:
    """Log evidence: the log of a release's probability under a model.

    Attributes
    ----------
    log_value : float
        log Pr[outputs], with the mechanism's law as a probability on its lattice; a log density
        where the outputs are real numbers.
    standard_error : float
        Monte Carlo standard error of `log_value`; 0 where that is exact.
    how : str
        How it was computed.
    of : str
        Which of the released numbers it is the probability of.
    """

    log_value: float
    standard_error: float
    how: str
    of: str


def log_evidence(
    model: Any,
    release: Releases,
    *,
    draws: int = 2000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int | None = None,
) -> Evidence:
    """Compute the log marginal likelihood of a release under a model.

    Parameters
    ----------
    model : BinomialModel, GaussianModel, MultivariateGaussianModel, GammaModel, MultinomialModel, \
HierarchicalBinomialModel, HierarchicalGaussianModel, LinearRegressionModel or LogLinearModel
        A model with proper priors.
    release : Release, or several in a list
        As for the model's `fit`. The evidences of groups are multiplied.
    draws, chains, warmup : int
        Where the evidence isn't exact: draws of each chain after `warmup`, and number of chains.
    seed : int, optional
        Seed, for a reproducible estimate.

    Returns
    -------
    Evidence

    Raises
    ------
    InvalidInput
        If an argument is out of range, the model doesn't fit the release, its prior is improper, or
        the evidence is intractable; the message says which, and what to do.
    EngineFailed
        If the chains or the bridge fail.

    Warns
    -----
    UserWarning
        If chains haven't mixed, the standard error is too large to be known well, or noise hardly
        explains the outputs.

    Notes
    -----
    The evidence is exact for BinomialModel, GaussianModel, MultivariateGaussianModel, GammaModel,
    and MultinomialModel where its posterior is exact. Otherwise it is by bridge sampling (Meng and
    Wong 1996), with a warped normal proposal: for hierarchical models over two numbers, for
    randomized responses over theta, for LinearRegressionModel over the latent moments, for
    LogLinearModel over the effects, where each cell has noise of its own (with a known number of
    records that takes a minute from a few hundred cells on). For modips copies of categories it is
    by Chib's identity.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mechanism = bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65))
    >>> release = bdp.Release.of(mechanism, [38])
    >>> round(bdp.log_evidence(bdp.BinomialModel(), release).log_value, 3)
    -4.36
    """
    draws, chains, warmup, seed = check_sampling(
        seed, draws=draws, chains=chains, warmup=warmup
    ).values()
    releases_of(release)
    if (why := getattr(model, "no_evidence", None)) is not None:
        raise InvalidInput(f"{type(model).__name__} has no log evidence here: {why}")
    if hasattr(model, "evidence"):
        options = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
        integral, how, of = model.evidence(release, **options)
    elif hasattr(model, "log_evidence"):
        integral, how, of = exact(model, release)
    else:
        families = ", ".join(models_with("evidence", "log_evidence"))
        raise InvalidInput(
            f"model is a {type(model).__name__}, which has no log evidence here; there are those "
            f"of the families {families}. bdp.observe adds a law up to a constant to a PyMC model"
        )
    warn_of(integral)
    warn_of_conflict(model.noises(release), 2)
    return Evidence(integral.log_value, integral.standard_error, how, of)


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    release: Releases,
    *,
    prior: Sequence[float] | None = None,
    draws: int = 2000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int | None = None,
) -> pd.DataFrame:
    """Compare models of one release by their evidences.

    Parameters
    ----------
    models : mapping of str to model, or sequence of models
        Two models or more; those of a sequence are named by their positions, from 0.
    release : Release, or several in a list
        The release, the same for all models.
    prior : sequence of float, optional
        The models' prior probabilities, or numbers in proportion to them. Default: all equal.
    draws, chains, warmup, seed
        As for `log_evidence`.

    Returns
    -------
    pandas.DataFrame
        One row for each model, in the order given: "log_evidence" and its "standard_error";
        "log_bayes_factor" of the model against the best one, at most 0, and "bayes_factor";
        "probability", the posterior probability if one of these models is right; "how".

    Raises
    ------
    InvalidInput
        As for `log_evidence`; or if the models' evidences are of different numbers of the release,
        as those of regressions on different predictors are: evidences of different data can't be
        compared. To compare a regression on fewer predictors, keep all of them, with a prior that
        holds the others' coefficients at 0: k = (0.1, 0.1, 1e8) in `LinearRegressionModel.prior`.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = bdp.Release.of(
    ...     bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [38]
    ... )
    >>> models = {"fair": bdp.BinomialModel((5e5, 5e5)), "any": bdp.BinomialModel()}
    >>> bdp.compare(models, release)["probability"].round(2).to_dict()
    {'fair': 0.55, 'any': 0.45}
    """
    import pandas as pd

    if not isinstance(models, Mapping | Sequence) or isinstance(models, str) or len(models) < 2:
        raise InvalidInput(
            "models must be two or more, as a list or a mapping with their names, for example "
            '{"fair": bdp.BinomialModel((500, 500)), "any": bdp.BinomialModel()}'
        )
    named = dict(models) if isinstance(models, Mapping) else dict(enumerate(models))
    weights = _prior(prior, len(named))
    options: dict[str, Any] = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
    evidences = [log_evidence(model, release, **options) for model in named.values()]
    if len({one.of for one in evidences}) > 1:
        each = "; ".join(f"{name}: {one.of}" for name, one in zip(named, evidences, strict=True))
        raise InvalidInput(
            f"the models' evidences are of different numbers of the release ({each}), and can't be "
            "compared. Let all models read the same numbers: where a regression should leave out a "
            "predictor, keep it, with a prior that holds its coefficient at 0"
        )
    logs = np.array([one.log_value for one in evidences])
    joint = logs + weights
    factors = logs - logs.max()
    probability = np.exp(joint - joint.max())
    return pd.DataFrame(
        {
            "log_evidence": logs,
            "standard_error": [one.standard_error for one in evidences],
            "log_bayes_factor": factors,
            "bayes_factor": np.exp(factors),
            "probability": probability / probability.sum(),
            "how": [one.how for one in evidences],
        },
        index=pd.Index(list(named), name="model"),
    )


def _prior(prior: Any, count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Logs of the models' prior weights."""
    if prior is None:
        return np.zeros(count)
    good = isinstance(prior, Sequence | np.ndarray) and len(prior) == count
    if not good or not all(is_number(p) and 0 < p < math.inf for p in prior):
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be a positive finite number for each of {count} "
            "models"
        )
    return np.log(np.asarray(prior, dtype=np.float64))
