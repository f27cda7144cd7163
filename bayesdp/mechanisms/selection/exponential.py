"""The exponential mechanism: choose a candidate with probability exponential in its utility.

Pr[i] is proportional to exp(rate u_i), with rate = epsilon / (2 sensitivity), or epsilon /
sensitivity for monotone utilities (McSherry and Talwar 2007; Dwork and Roth 2014, section 3.4).

Privacy: inequality (*) of `bayesdp.mechanisms.selection.candidates`. With d = u(x') - u(x),

    Pr[i | x] / Pr[i | x'] = exp(-rate d_i) sum_j exp(rate (u_j + d_j)) / sum_j exp(rate u_j)
                           <= exp(rate (max_j d_j - d_i)).

It is approached where candidate i trails far behind, d_i is at one end and all other d_j are at
the other: epsilon is a supremum over utilities, for any two candidates or more.

The draw is by rejection: a uniform candidate is proposed and accepted with probability
exp(-gamma_i), until one is. Both steps are exact, on utilities and parameters taken as the binary
fractions they are, so that the law has no rounding in it. A proposal is accepted once in k times
at worst.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import ChoiceView
from bayesdp.mechanisms.draws.bernoulli import bernoulli_exp
from bayesdp.mechanisms.randomness import uniform_below
from bayesdp.mechanisms.selection.candidates import Pair, Selection
from bayesdp.mechanisms.selection.utilities import exact_exponent

_BLOCK = 1 << 16  # proposals made at once, to bound memory


@dataclass(frozen=True, slots=True)
class ExponentialMechanism(Selection):
    """Choose candidate i with probability proportional to exp(rate * utility_i).

    The rate is epsilon / (2 sensitivity), or epsilon / sensitivity for monotone utilities. The
    statistic is an array of the candidates' utilities, integers or floats, shape (..., k); the
    output is the position of the chosen one.

    Parameters
    ----------
    epsilon : float
        Cost of one choice under `neighbours`, positive.
    sensitivity : float
        Largest change of any candidate's utility between neighbours, positive. Public. It is
        assumed that no utility changes by more, which can't be checked on one data set.
    candidates : int or tuple
        Their number, or their labels (different texts, numbers or booleans), two or more. Public.
    monotone : bool
        Whether all utilities move in one direction when a record is added, as counts do.
    n : int or None
        Number of records, at least 1, where it is public. A public n has no add/remove neighbours.
    neighbours : Neighbours or str
        "add_remove" (default) or "replace_one": the relation of the sensitivity and epsilon.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or two contradict each other.

    Notes
    -----
    This module's docstring and that of `bayesdp.mechanisms.selection.candidates` prove the epsilon.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mode = bdp.mechanisms.ExponentialMechanism(1.0, 1, ("bus", "car", "walk"), monotone=True)
    >>> chosen = mode.release([12, 31, 9])
    """

    name: ClassVar[str] = "exponential"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.selection.exponential; McSherry and Talwar (2007), Theorem 6"
    )

    def _choose(
        self, rows: NDArray[Any], gamma: NDArray[np.float64], copies: int
    ) -> NDArray[np.int64]:
        k, rate = self.k, self.rate
        pending = np.arange(copies * len(rows))
        chosen = np.empty(pending.size, dtype=np.int64)
        while pending.size:
            block = pending[:_BLOCK]
            # Several proposals for each when few are left; the first accepted counts.
            width = min(k, max(1, _BLOCK // block.size))
            row = np.repeat(block % len(rows), width)
            proposed = uniform_below(np.full(row.size, k, np.uint64)).astype(np.int64)
            accepted = bernoulli_exp(
                gamma[row, proposed],
                lambda i, row=row, proposed=proposed: exact_exponent(  # type: ignore[misc]
                    rows[row[i]], int(proposed[i]), rate
                ),
            ).reshape(-1, width)
            done = accepted.any(axis=1)
            first = accepted.argmax(axis=1)[done]
            chosen[block[done]] = proposed.reshape(-1, width)[done, first]
            pending = np.concatenate([block[~done], pending[_BLOCK:]])
        return chosen

    def log_law(self, gamma: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-probability of each candidate, from gamma = rate * its distance from the best.

        Parameters
        ----------
        gamma : ndarray, shape (..., k)
            At least 0, and 0 for the best.
        """
        # The best candidate's gamma is 0, so that the sum is at least 1.
        return np.asarray(-gamma - np.log(np.exp(-gamma).sum(axis=-1, keepdims=True)))

    @property
    def views(self) -> tuple[ChoiceView, ...]:
        """View of a choice among the candidates, given their utilities."""
        return (ChoiceView(self.k, float(self.rate)),)

    def pairs(self) -> list[Pair]:
        """Pairs of neighbouring utilities: one that draws can show, and one near the supremum.

        At the second, the log ratio is within one part in 10^10 of epsilon, but the candidate
        trails so far that it is never drawn.
        """
        scale = 1 / float(self.rate)
        gap = 30 + self.epsilon + max(0.0, -float(np.log(self.epsilon)))
        return [self.far_pair(0.0), self.far_pair(gap * scale)]
