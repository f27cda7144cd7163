"""Diagnostics of draws: did Markov chains, or an approximation, give the posterior?"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.draws import APPROXIMATE, Draws, import_arviz
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]

LARGEST_RHAT = 1.01
"""R-hat that no chains should exceed but by chance (Vehtari et al. 2021).

Independent draws of a number exceed it with probability 0.03 in 4 chains of 150, 0.12 in 2 chains
of 150, 0.22 in 4 chains of 67, and 1e-13 in 4 chains of 1,000.
"""
_FALSE_ALARMS = 1e-3
"""Probability that a fit of independent draws is doubted for the largest R-hat of its numbers."""
SMALLEST_ESS = 400
LARGEST_K = 0.7  # Vehtari et al. (2024), for 2,200 draws or more
_NUTS = ("pymc", "stan")


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling diagnostics of one number's posterior: Monte Carlo error, R-hat, effective sizes.

    `error` is the Monte Carlo standard error of the mean; the others are None for
    independent draws, `rhat` also for a single chain. `chance` is a bound of the probability that
    as many independent draws have so large an R-hat. A number that is `known` has no error, and
    nothing else is defined.
    """

    error: float
    rhat: float | None = None
    chance: float = math.nan
    ess_bulk: float | None = None
    ess_tail: float | None = None
    known: bool = False


KNOWN = Sampling(0.0, math.nan, ess_bulk=math.nan, ess_tail=math.nan, known=True)
"""Diagnostics of a known constant, which no chain can move."""


def sampling_of_chains(x: NDArray[np.float64]) -> Sampling:
    """Diagnose the draws of one number, shape (chains, draws)."""
    # Fewer than 4 draws, or draws that never move, have no diagnostics: NaN fails them.
    if x.shape[1] < 4 or np.ptp(x) == 0:
        return Sampling(math.nan, math.nan, ess_bulk=math.nan, ess_tail=math.nan)
    az = import_arviz()  # which takes an array as it is, and makes nothing of it first
    with np.errstate(divide="ignore", invalid="ignore"):  # of chains that each stay where they are
        rhat = float(az.rhat(x)) if len(x) > 1 else None
    return Sampling(
        error=float(np.ravel(az.mcse(x))[0]),
        rhat=rhat,
        chance=math.nan if rhat is None else float(chance_of_split_rhat(rhat, *x.shape)),
        ess_bulk=float(az.ess(x, method="bulk")),
        ess_tail=float(az.ess(x, method="tail")),
    )


def chance_of_rhat(rhat: Any, groups: int, size: int) -> Any:
    """Probability that groups of independent draws, so many each, have so large an R-hat.

    It is sqrt((size - 1 + F) / size), where F is the ratio of the variances between and within the
    groups: F(groups - 1, groups (size - 1)) distributed for normal draws, and for normal scores of
    independent draws' ranks, also of counts with ties. It is vectorised over R-hat.
    """
    ratio = size * np.square(rhat) - size + 1
    return special.fdtrc(groups - 1, groups * (size - 1), np.maximum(ratio, 0.0))


def chance_of_split_rhat(rhat: Any, chains: int, draws: int) -> Any:
    """Bound the probability that independent draws have so large an R-hat as ArviZ computes it.

    Chains are halved, and of two R-hats the larger is taken, of the draws and of their distances
    from the median: hence twice the tail.
    """
    return 2 * chance_of_rhat(rhat, 2 * chains, draws // 2)


def apart(rhat: Floats, chance: Floats, least: float = LARGEST_RHAT) -> NDArray[np.bool_]:
    """Mark the numbers whose R-hat is above a limit by more than chance; NaN is marked.

    `chance` bounds the probability of each R-hat, and there are as many as there are numbers: the
    largest of all is so large by chance in at most one fit in 1,000 (Bonferroni).
    """
    return np.asarray(~((rhat <= least) | (chance * rhat.size > _FALSE_ALARMS)))


def problems(
    sampling: Sequence[Sampling], divergences: int | None, *, of: str = "groups", nuts: bool = True
) -> Iterator[str]:
    """List reasons to doubt Markov chains' draws, in words; a NaN counts as a failure.

    Known constants are left out: they don't move, and needn't.

    R-hat is a reason where it is above `LARGEST_RHAT` by more than chance: the largest of all
    numbers is so large in at most one fit in 1,000 whose draws are independent. Draws that depend
    on one another exceed this more often, and are worth fewer, which ESS tells. In 4 chains of 500
    draws or more, and for up to 600 numbers, the limit is 1.01 itself; in 4 chains of 150 draws it
    is 1.023 for 6 numbers and 1.033 for 600, and a chain 0.8 standard deviations from the three
    others exceeds both nearly always.

    Parameters
    ----------
    sampling : sequence of Sampling
        Diagnostics, one for each number.
    divergences : int or None
        Number of divergent transitions; None where they weren't recorded.
    of : str
        The items that the numbers belong to, for example "groups".
    nuts : bool
        Whether the sampler is NUTS, which records divergences.
    """
    sampling = [one for one in sampling if not one.known]
    if any(one.rhat is None for one in sampling):
        yield "R-hat compares chains, and only one was run"
    elif bad := int(np.sum(_apart(sampling))):
        yield f"R-hat is above {LARGEST_RHAT}{_where(bad, len(sampling), of)}"
    for name in ("bulk", "tail"):
        if bad := sum(not getattr(one, f"ess_{name}") >= SMALLEST_ESS for one in sampling):
            yield f"{name} ESS is under {SMALLEST_ESS}{_where(bad, len(sampling), of)}"
    if nuts and divergences is None:
        yield "divergent transitions weren't recorded"
    elif divergences:
        yield f"{divergences} divergent transition{'s' if divergences > 1 else ''}"


def _apart(sampling: Sequence[Sampling]) -> NDArray[np.bool_]:
    """Mark the numbers whose chains differ by more than chance."""
    pairs = np.array([(one.rhat, one.chance) for one in sampling], dtype=np.float64)
    return apart(*pairs.reshape(-1, 2).T)


def _where(bad: int, size: int, of: str) -> str:
    return f" in {bad} of {size} {of}" if size > 1 else ""


def problems_of_weights(k: float, ess: float) -> list[str]:
    """List reasons to doubt draws weighted by importance, in words; a NaN counts as a failure.

    Parameters
    ----------
    k : float
        The Pareto k of the weights.
    ess : float
        Independent draws that the weighted are worth.
    """
    bad = f"Pareto k is {k:.2f}, above {LARGEST_K}: weights don't correct this approximation"
    few = f"its weighted draws are worth only {ess:.0f} independent ones"
    checks = ((bad, k <= LARGEST_K), (few, ess >= SMALLEST_ESS))
    return [problem for problem, passed in checks if not passed]


def verdict_on_approximation(drawn: Draws, stacklevel: int) -> str:
    """Say whether an approximation's weighted draws can be relied on.

    Warns
    -----
    UserWarning
        If there is a reason to doubt them, which says to take NUTS.
    """
    named = f"approximate draws ({drawn.engine})"
    if not drawn.doubts:
        return (
            f"{named}, weighted by importance: Pareto k is {drawn.told['pareto_k']}, not above "
            f"{LARGEST_K}; a region that none of them is near would not show"
        )
    found = "; ".join(drawn.doubts)
    warn_about(
        f"this approximation ({drawn.engine}) can't be relied on: {found}. Take NUTS: "
        "engine='pymc'",
        "approximation",
        stacklevel=stacklevel + 1,
    )
    return f"{named}: {found}"


def verdict(drawn: Draws, variables: Sequence[str], *, of: str, also: Sequence[str] = ()) -> str:
    """Say whether Markov chains can be relied on, in words a reader can act on.

    Parameters
    ----------
    drawn : Draws
    variables : sequence of str
        The variables to judge, number by number.
    of : str
        The items that the numbers belong to, for example "terms".
    also : sequence of str
        Further reasons to doubt the draws.

    Warns
    -----
    UserWarning
        If there is a reason to doubt the draws, with what to do.
    """
    if drawn.engine in APPROXIMATE:
        return verdict_on_approximation(drawn, 4)
    judged = {name: drawn.posterior[name] for name in variables}
    each = [sampling_of_chains(x) for x in dataclasses.replace(drawn, posterior=judged).moving]
    diverging = drawn.sample_stats.get("diverging")
    divergences = None if diverging is None else int(diverging.sum())
    mixing = list(problems(each, divergences, of=of, nuts=drawn.engine in _NUTS))
    doubts = [*mixing, *also]
    if not doubts:
        return "no problem found: R-hat and effective sample sizes are as they should be"
    advice = ". Draw more (draws, warmup), or tighten the prior" if mixing else ""
    warn_about(
        f"the chains of this fit can't be relied on: {'; '.join(doubts)}{advice}",
        "chains",
        stacklevel=4,
    )
    return "; ".join(doubts)
