r"""Log evidence, Bayes factors and model probabilities: how probable a release is under a model.

    Pr[z | model]  =  integral of p(theta) sum over s of p(s | theta) Pr[z | s]  d theta

is the normaliser of the posterior that a model's `fit` draws from. Where the engine is exact, so is
it. Elsewhere the latent data are summed out and a bridge is built from the chains to a normal law
(`bayesdp.engines.bridge`), with a standard error.

Evidences can be compared if they are of the same numbers, and if the priors are proper and meant:
a prior ten times as wide costs a parameter that the release tells much of about log 10.
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
        log Pr[outputs], the mechanism's law a probability on its lattice; of outputs that are real
        numbers a density.
    standard_error : float
        Of it, by Monte Carlo; 0 where it is exact.
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
    model : BinomialModel, GaussianModel, MultinomialModel, HierarchicalBinomialModel, \
HierarchicalGaussianModel, LinearRegressionModel or LogLinearModel
        With proper priors.
    release : Release, or several in a list
        As the model's `fit` takes them. Groups are multiplied.
    draws, chains, warmup : int
        Of the chains, where it isn't exact: draws per chain after `warmup`.
    seed : int, optional
        For a reproducible estimate.

    Returns
    -------
    Evidence

    Raises
    ------
    InvalidInput
        If an argument is out of range, the model doesn't fit the release, its prior is improper, or
        the evidence is intractable; it says which, and what to do.
    EngineFailed
        If the chains or the bridge fail.

    Warns
    -----
    UserWarning
        If chains haven't mixed, the standard error is too large to be known well, or noise hardly
        explains what was released.

    Notes
    -----
    Exact of BinomialModel, GaussianModel, and MultinomialModel where its posterior is. Otherwise
    bridge sampling (Meng and Wong 1996), with a warped normal proposal: of
    hierarchical models over two numbers, of randomized responses over theta, of
    LinearRegressionModel over the latent moments, of LogLinearModel over the effects, where each
    cell has noise of its own (with a known number of records that takes a minute from a few hundred
    cells on). Of modips copies of categories by Chib's identity.

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
        Two or more; a sequence's are called by their numbers, from 0.
    release : Release, or several in a list
        The same for all.
    prior : sequence of float, optional
        The models' prior probabilities, or numbers in proportion to them. Default: all equal.
    draws, chains, warmup, seed
        As of `log_evidence`.

    Returns
    -------
    pandas.DataFrame
        A row a model, in the order given: "log_evidence" and its "standard_error";
        "log_bayes_factor" of the model to the best one, at most 0, and "bayes_factor";
        "probability", posterior, if one of these models is right; "how".

    Raises
    ------
    InvalidInput
        As `log_evidence`; or if the models' evidences are of different numbers of the release, as
        those of regressions on different predictors are: evidences of different data can't be
        compared. A regression on fewer predictors that is of all numbers has a prior of the others'
        coefficients that keeps them at 0, as k = (0.1, 0.1, 1e8) in `LinearRegressionModel.prior`.

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
