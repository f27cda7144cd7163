r"""How well each of several public models fits counts, and how little one record changes that.

The utility of Dirichlet prior alpha, for counts c of k categories (k = 2 for binary records), is

    u(c) = log B(alpha + c) - log B(alpha),

the log marginal likelihood of the records. What costs privacy is how the candidates' utilities
move against each other, and that is bounded without clipping. A record of category i more moves u
by log((alpha_i + c_i) / (alpha_0 + n)), alpha_0 = sum alpha_i. For two candidates alpha and beta
the difference has log((alpha_i + c_i) / (beta_i + c_i)), which has the sign of log(alpha_i /
beta_i), is largest at c_i = 0 and falls to 0 as c_i grows; and the same with alpha_0, beta_0 and n.
With r_i = log(alpha_i / beta_i), r_0 = log(alpha_0 / beta_0) and x^+ = max(x, 0), over all
ordered pairs of candidates

    added:     R = max over i of r_i^+ + (-r_0)^+,
    replaced:  R = max over i != j of r_i^+ + (-r_j)^+,

where the replaced record's n is the same. By inequality (*) of `bayesdp.mechanisms.selection` a
choice at rate epsilon / R costs epsilon: the mechanism has the sensitivity R / 2, and a little
more, for the rounding of logarithms of gamma functions.

DIC, which Liu suggests, is not offered: the deviance at the posterior mean moves by -2 log of a
probability that may be as small as alpha_i / (alpha_0 + n), without bound as n grows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.exponential import ExponentialMechanism
from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.privacy.neighbours import Neighbours

_MOST = 2**20  # records, and prior ones: log gamma functions are below 2^24, and good to 1e-7
_ROUNDING = 1e-5


def check_criterion(criterion: Any) -> None:
    """Raise InvalidInput unless it is one whose differences a record moves by a known amount."""
    if criterion != "log_marginal":
        raise InvalidInput(
            f"criterion is {criterion!r}; it must be 'log_marginal': a deviance at an estimate, as "
            "DIC has, moves without bound with one record as n grows"
        )


def priors_of(families: Sequence[Any]) -> NDArray[np.float64]:
    """The candidates' alpha, shape (candidates, k).

    Raises
    ------
    InvalidInput
        If there are fewer than two, or they aren't models of the same records.
    """
    kinds = {
        (type(each), each.k if isinstance(each, Categorical) else 2)
        if isinstance(each, Bernoulli | Categorical)
        else None
        for each in families
    }
    if len(families) < 2 or len(kinds) > 1 or None in kinds:
        raise InvalidInput(
            f"families is {families!r}; it must be two or more, all bdp.families.Bernoulli, or all "
            "bdp.families.Categorical with one k: the marginal likelihoods of others have no bound "
            "on what a record moves that holds for any n"
        )
    alphas = np.array([each.prior for each in families])
    if alphas.sum(axis=1).max() > _MOST:
        raise InvalidInput(f"families has a prior with a sum above {_MOST}; take a smaller one")
    return alphas


def check_records(n: Any) -> None:
    """Raise InvalidInput for more records than a choice is offered for."""
    if np.any(np.asarray(n) > _MOST):
        raise InvalidInput(f"data has more than {_MOST} records, the most a choice is offered for")


@lru_cache(maxsize=32)
def choice_of(families: tuple[Family, ...], epsilon: float, n: int | None) -> ExponentialMechanism:
    """The choice of one of them, whose statistic is `log_marginals` of the counts.

    Parameters
    ----------
    families : tuple of Family
    epsilon : float
        What one choice costs: under replace-one where n is public, else under add/remove-one.
    n : int or None
        The number of records, where it is public.
    """
    alphas = priors_of(families)
    return ExponentialMechanism(
        epsilon,
        furthest(alphas, added=n is None) / 2 + _ROUNDING,
        tuple(f"{i}: {each.kind} {each.prior}" for i, each in enumerate(families)),  # type: ignore[attr-defined]
        n=n,
        neighbours=Neighbours.ADD_REMOVE if n is None else Neighbours.REPLACE_ONE,
    )


def log_marginals(alphas: NDArray[np.float64], counts: Any) -> NDArray[np.float64]:
    """u of each candidate, shape (..., candidates), from counts of shape (..., k)."""
    counts = np.asarray(counts)[..., None, :]
    each = special.gammaln(alphas + counts).sum(axis=-1) - special.gammaln(alphas).sum(axis=-1)
    total = alphas.sum(axis=-1)
    return np.asarray(each - special.gammaln(total + counts.sum(axis=-1)) + special.gammaln(total))


def furthest(alphas: NDArray[np.float64], *, added: bool) -> float:
    """R, over all ordered pairs of candidates; shape of alphas (candidates, k)."""
    found = 0.0
    for a in alphas:
        for b in alphas:
            r, total = np.log(a / b), math.log(a.sum() / b.sum())
            rise, fall = np.maximum(r, 0), np.maximum(-r, 0)
            # A category that rises doesn't fall: the largest of each are two categories', or 0.
            other = max(-total, 0.0) if added else float(fall.max())
            found = max(found, float(rise.max()) + other)
    return found
