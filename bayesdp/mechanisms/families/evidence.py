r"""Utilities of public models given counts, by evidence or DIC, and their sensitivity.

The utility of Dirichlet prior alpha, for counts c of k categories (k = 2 for binary records), is

    u(c) = sum_i g(alpha_i, c_i) - g(alpha_0, n),      alpha_0 = sum alpha_i,  n = sum c_i,

where g(a, c) is log Gamma(a + c) - log Gamma(a) for the log marginal likelihood of the records, and
c (2 psi(a + c) - log(a + c)) for -DIC / 2, psi the digamma function: with the deviance
D = -2 sum c_i log theta_i, DIC is 2 E[D] - D(E[theta]) under the posterior.

As n grows, one record moves either without bound: by about log((alpha_i + c_i) / (alpha_0 + n)).
But what costs privacy is how the candidates' utilities move relative to each other, and that is
bounded without clipping. For two candidates alpha and beta, one more record of category i moves the
difference of u by h(alpha_i, beta_i, c_i) - h(alpha_0, beta_0, n), where

    h(a, b, c) = g(a, c + 1) - g(a, c) - g(b, c + 1) + g(b, c).

With P(a, b) and N(a, b) the largest h^+ and (-h)^+ over c = 0, 1, ..., x^+ = max(x, 0), over all
ordered pairs of candidates

    added:     R = max over i of P(alpha_i, beta_i) + N(alpha_0, beta_0),
    replaced:  R = max over i of P(alpha_i, beta_i) + max over j of N(alpha_j, beta_j),

where the replaced record's n is the same. By inequality (*) of
`bayesdp.mechanisms.selection.candidates` a choice at rate epsilon / R costs epsilon: the mechanism
has the sensitivity R / 2, and a little more, for the rounding of gamma functions.

*log marginal*: h = log((a + c) / (b + c)) has the sign of r = log(a / b), is largest at c = 0 and
falls to 0 as c grows. So P = r^+ and N = (-r)^+, both attained; and where one category has the
largest P it has N = 0, so that R is attained too.

*DIC*: h is evaluated for c < C. With 1/x + 1/(2 x^2) < psi'(x) < that + 1/(6 x^3), and
1/x^2 + 1/x^3 < -psi''(x) < that + 1/(2 x^4), the derivative of dg/da = c (2 psi'(x) - 1/x), where
x = a + c, with respect to c is (a - 1) / x^2 + 2 a / x^3, and at most 1 / x^3 away from that. So
|h| <= |a - b| (max(a, b) + 4) / C^2 from there on, which P and N are taken to be at least.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.privacy.neighbours import Neighbours

Floats = NDArray[np.float64]

_MOST = 2**20  # records, and prior ones: log gamma functions are below 2^24, and good to 1e-7
_ROUNDING = 1e-5


def check_criterion(criterion: Any) -> str:
    """Return the name of a criterion, or raise InvalidInput."""
    if not (isinstance(criterion, str) and criterion in CRITERIA):
        raise InvalidInput(
            f"criterion is {quoted(criterion)}; it must be one of {list(CRITERIA)}, whose "
            "differences between families a record moves by a known amount"
        )
    return str(criterion)


def priors_of(families: Sequence[Any]) -> Floats:
    """Dirichlet parameters of the candidates, shape (candidates, k).

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
            f"families is {quoted(families)}; it must be two or more, all bdp.families.Bernoulli, "
            "or all bdp.families.Categorical with one k: the marginal likelihoods of others have "
            "no bound on what a record moves that holds for any n"
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
def choice_of(
    families: tuple[Family, ...], epsilon: float, n: int | None, criterion: str = "log_marginal"
) -> ExponentialMechanism:
    """Make the choice of one of the candidates, whose statistic is `utilities` of the counts.

    Parameters
    ----------
    families : tuple of Family
    epsilon : float
        Cost of one choice: under replace-one where n is public, else under add/remove-one.
    n : int or None
        The number of records, where it is public.
    criterion : {"log_marginal", "dic"}
    """
    alphas = priors_of(families)
    return ExponentialMechanism(
        epsilon,
        furthest(alphas, added=n is None, criterion=criterion) / 2 + _ROUNDING,
        tuple(f"{i}: {each.kind} {each.prior}" for i, each in enumerate(families)),  # type: ignore[attr-defined]
        n=n,
        neighbours=Neighbours.ADD_REMOVE if n is None else Neighbours.REPLACE_ONE,
    )


def utilities(alphas: Floats, counts: Any, criterion: str = "log_marginal") -> Floats:
    """Utilities u of each candidate, shape (..., candidates), from counts of shape (..., k)."""
    counts, g = np.asarray(counts)[..., None, :], CRITERIA[criterion].term
    return np.asarray(g(alphas, counts).sum(axis=-1) - g(alphas.sum(axis=-1), counts.sum(axis=-1)))


def furthest(alphas: Floats, *, added: bool, criterion: str = "log_marginal") -> float:
    """Sensitivity R over all ordered pairs of candidates; alphas has shape (candidates, k)."""
    moves, largest = CRITERIA[criterion].moves, 0.0
    for a, b in itertools.permutations(alphas, 2):
        each = [moves(*pair) for pair in dict.fromkeys(zip(a.tolist(), b.tolist(), strict=True))]
        fall = moves(float(a.sum()), float(b.sum()))[1] if added else max(f for _, f in each)
        largest = max(largest, max(rise for rise, _ in each) + fall)
    return largest


def _log_rising(a: Any, c: Any) -> Any:
    return scipy.special.gammaln(a + c) - scipy.special.gammaln(a)


def _log_rising_moves(a: float, b: float) -> tuple[float, float]:
    r = math.log(a / b)
    return max(r, 0.0), max(-r, 0.0)


def _half_dic(a: Any, c: Any) -> Any:
    x = np.where(c > 0, a + c, 1.0)
    return c * (2 * scipy.special.digamma(x) - np.log(x))


@lru_cache(maxsize=4096)
def _half_dic_moves(a: float, b: float) -> tuple[float, float]:
    largest = max(a, b)
    last = 1000 + 100 * math.ceil(largest)
    if last > _MOST:
        raise InvalidInput(
            f"families has a prior with a sum of {largest}; criterion='dic' is for sums up to "
            "10,000: take smaller ones, or criterion='log_marginal'"
        )
    c = np.arange(last + 1.0)
    h = np.diff(_half_dic(a, c) - _half_dic(b, c))
    beyond = abs(a - b) * (largest + 4) / last**2
    return max(float(h.max()), beyond), max(float(-h.min()), beyond)


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion's function g, and P and N of two priors."""

    term: Callable[[Any, Any], Any]
    moves: Callable[[float, float], tuple[float, float]]


CRITERIA = {
    "log_marginal": Criterion(_log_rising, _log_rising_moves),
    "dic": Criterion(_half_dic, _half_dic_moves),
}
"""By their names."""
