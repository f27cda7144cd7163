"""Verdict on a fit's draws, in words: can they be relied on?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from bayesdp.engines.convergence import (
    SMALLEST_ESS,
    Sampling,
    problems,
    sampling_of_chains,
    verdict_on_approximation,
)
from bayesdp.engines.draws import APPROXIMATE, Draws
from bayesdp.inference.conflict import Noise, warn_of_conflict
from bayesdp.warned import warn_about

INDEPENDENT = {
    "exact": "independent draws from the exact posterior: nothing to diagnose",
    "design": "independent draws, of sums by their exact law and of shares given the sums by the "
    "design's mean and variance: no chain to diagnose",
}
"""Verdicts on engines that draw independently."""
HAMILTONIAN = ("pymc", "stan", "hmc")
NO_PROBLEM = "no problem found"
"""What a verdict on chains begins with where they have none."""
REMEDY = "Draw more (draws, warmup), or take another engine"
"""What to do about chains that can't be relied on."""
_HIGH = 0.5  # an acceptance rate that looks good
_TINY = 0.01  # of the draws


def verdict_on(drawn: Draws, noises: Iterable[Noise] = (), remedy: str = REMEDY) -> str:
    """Write a verdict's sentence for the attrs of a fit.

    Parameters
    ----------
    drawn : Draws
    noises : iterable of Noise
        The least noise that explains the outputs; see `bayesdp.inference.conflict`.
    remedy : str
        What a warning says to do about chains.

    Warns
    -----
    UserWarning
        If chains haven't mixed, an approximation isn't good, or noise hardly explains what was
        released.
    """
    conflict = warn_of_conflict(noises, 4)
    if drawn.engine in INDEPENDENT:
        told = [*drawn.doubts, *([conflict] if conflict else [])]
        return "; ".join(told) or INDEPENDENT[drawn.engine]
    if drawn.engine in APPROXIMATE:
        found = verdict_on_approximation(drawn, 4)
        return f"{found}; {conflict}" if conflict else found
    each = [sampling_of_chains(column) for column in drawn.moving]
    diverging = drawn.sample_stats.get("diverging")
    divergences = None if diverging is None else int(diverging.sum())
    doubts = list(problems(each, divergences, of="numbers", nuts=drawn.engine in HAMILTONIAN))
    doubts = [*doubts, *_stuck(drawn, each), *drawn.doubts]
    if doubts:
        warn_about(
            f"the chains of this fit can't be relied on: {'; '.join(doubts)}. {remedy}",
            "chains",
            stacklevel=4,
        )
    doubts += [conflict] if conflict else []
    return "; ".join(doubts) or f"{NO_PROBLEM}: R-hat and ESS are as they should be"


def _stuck(drawn: Draws, each: list[Sampling]) -> list[str]:
    """List a problem if steps were accepted but led nowhere, which an acceptance rate hides."""
    rates = drawn.sample_stats.get("acceptance_rate")
    bulk = [one.ess_bulk for one in each if one.ess_bulk is not None]
    if rates is None or not bulk:
        return []
    rate, least = float(np.mean(rates)), min(bulk)
    if not rate >= _HIGH or least >= max(SMALLEST_ESS, _TINY * rates.size):
        return []
    return [
        f"{rate:.0%} of the proposals were accepted, and still {rates.size:,} draws are worth only "
        f"about {least:.0f} independent ones: the steps are small, so high acceptance is no "
        "success here"
    ]
