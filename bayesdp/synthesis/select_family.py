r"""Choose among public models of counts by the exponential mechanism on their marginal likelihoods.

Liu (modips, Algorithm 1) spends epsilon_0 of the budget on a model, and what is left on copies. The
utility of Dirichlet prior alpha, for counts c of k categories (k = 2 for binary records), is

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
from typing import Any

import numpy as np
from scipy import special

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.exponential import ExponentialMechanism
from bayesdp.mechanisms.families import Bernoulli, Categorical, Family
from bayesdp.mechanisms.families.base import sums_of
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish

_MOST = (
    2**20
)  # records, and prior ones: log gamma functions are then below 2^24, and accurate to 1e-7
_ROUNDING = 1e-5


def select_family(
    families: Sequence[Family],
    data: Any,
    *,
    epsilon: float,
    copies: int = 1,
    public_n: bool = True,
    criterion: str = "log_marginal",
    ledger: DatasetLedger | None = None,
) -> Release:
    """Choose a model privately, for `bdp.Modips` to synthesize from.

    Parameters
    ----------
    families : sequence of Family
        Two or more: all `Bernoulli`, or all `Categorical` with the same k. Chosen without the data.
    data : array_like
        The confidential records, as `bdp.Modips` takes them.
    epsilon : float
        Liu's epsilon_0: what all choices together cost, beside what the copies do.
    copies : int
        1, a model for all copies; or as many choices as there will be copies, one for each.
    public_n : bool
        Whether the number of records is public: as in `bdp.Modips`.
    criterion : {"log_marginal"}
    ledger : DatasetLedger, optional
        Where it is spent first. Copies spend their own there: the total is the sum.

    Returns
    -------
    Release
        Its outputs are positions in `families`.

    Raises
    ------
    InvalidInput
        If there are fewer than two families, or others; or too many records.
    BudgetExceeded
        If it costs more than is left in the ledger.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> models = [bdp.families.Bernoulli((1, 1)), bdp.families.Bernoulli((1, 30))]
    >>> chosen = models[bdp.select_family(models, [0, 0, 1, 0], epsilon=0.5).outputs[0]]
    >>> release = bdp.Modips(chosen, epsilon=1.0).release([0, 0, 1, 0])
    """
    if criterion != "log_marginal":
        raise InvalidInput(
            f"criterion is {criterion!r}; it must be 'log_marginal': a deviance at an estimate, as "
            "DIC has, moves without bound with one record as n grows"
        )
    alphas = _priors(families)
    check_epsilon(epsilon)
    sums = sums_of(families[0], data)
    if sums.n > _MOST:
        raise InvalidInput(f"data has more than {_MOST} records, the most a choice is offered for")
    counts = np.array(
        [sums.totals[0], sums.n - sums.totals[0]]
        if isinstance(families[0], Bernoulli)
        else sums.totals
    )
    times = check_at_least_one("copies", copies)
    share = epsilon if times == 1 else math.nextafter(epsilon / times, 0)
    mechanism = ExponentialMechanism(
        share,
        furthest(alphas, added=not public_n) / 2 + _ROUNDING,
        tuple(f"{i}: {each.kind} {each.prior}" for i, each in enumerate(families)),  # type: ignore[attr-defined]
        n=sums.n if public_n else None,
        neighbours=Neighbours.REPLACE_ONE if public_n else Neighbours.ADD_REMOVE,
    )
    return publish(
        mechanism, log_marginals(alphas, counts), copies=times, variable="family", ledger=ledger
    )


def log_marginals(alphas: np.ndarray[Any, Any], counts: Any) -> np.ndarray[Any, Any]:
    """u of each candidate, shape (candidates,)."""
    each = special.gammaln(alphas + counts).sum(axis=1) - special.gammaln(alphas).sum(axis=1)
    total = alphas.sum(axis=1)
    return np.asarray(each - special.gammaln(total + np.sum(counts)) + special.gammaln(total))


def furthest(alphas: np.ndarray[Any, Any], *, added: bool) -> float:
    """R, over all ordered pairs of candidates; shape of alphas (candidates, k)."""
    found = 0.0
    for a in alphas:
        for b in alphas:
            r, total = np.log(a / b), math.log(a.sum() / b.sum())
            rise, fall = np.maximum(r, 0), np.maximum(-r, 0)
            if added:
                found = max(found, float(rise.max()) + max(-total, 0.0))
            else:
                pairs = rise[:, None] + fall
                np.fill_diagonal(pairs, 0.0)
                found = max(found, float(pairs.max()))
    return found


def _priors(families: Sequence[Family]) -> np.ndarray[Any, Any]:
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
    alphas = np.array([each.prior for each in families])  # type: ignore[attr-defined]
    if alphas.sum(axis=1).max() > _MOST:
        raise InvalidInput(f"families has a prior with a sum above {_MOST}; take a smaller one")
    return alphas
