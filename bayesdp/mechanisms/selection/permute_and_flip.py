"""Permute-and-flip: visit the candidates in random order, and stop at the first accepted.

Candidate i is accepted with probability p_i = exp(-gamma_i), gamma_i = rate (max_j u_j - u_i),
which is 1 for the best (McKenna and Sheldon 2020). Its expected loss of utility is never above
the exponential mechanism's at the same epsilon.

*The law.* Give each candidate a uniform time t in [0, 1] and visit them in order of time. Before
time t, another candidate j has been visited and accepted with probability t p_j, so

    Pr[i] = p_i integral_0^1 prod_{j != i} (1 - t p_j) dt.

*Report noisy max.* Let v_j = rate u_j + an exponential variable of mean 1, and set max u = 0. The
largest v is at least 0, and at v >= 0, Pr[v_j <= v] = 1 - p_j exp(-v). So Pr[i has the largest]
is the integral over v > 0 of p_i exp(-v) prod_{j != i} (1 - p_j exp(-v)), which is the same with
t = exp(-v) (Ding, Kifer, Steinke and others 2021).

*Privacy*: inequality (*) of `bayesdp.mechanisms.selection.candidates`. Fix the other candidates'
noise: i has the largest v if its noise exceeds a number c. With x' for x, c grows by at most
D = rate (max_j d_j - d_i), D >= 0; and an exponential variable exceeds c + D with at least exp(-D)
times the probability that it exceeds c. Average over the others' noise. It is attained: where i
trails by no less than what it gains on all others, p_i alone changes, by exp(D) exactly.

*The draw.* Order and acceptances are independent, so the first accepted is uniform among all
the accepted. One exact Bernoulli draw for each candidate, then one uniform integer.

*Computing the law.* Let P be the sum of all p_j, at least 1, and T = min(1, 45 / P). The integrand
is at most exp(1 - t P), so what lies beyond T is below 1e-18 of the integral, which is at least
1 / (1 + P) by Jensen's inequality. On [0, T] it is a polynomial whose modulus at a complex t is
at most exp(|t| P). Gauss and Legendre's rule with 48 nodes then errs by less than T 1e-28: on the
ellipse with rho = 4.5 around [0, T], |t| P < 76, and the error is below (T / 2) (64 / 15) exp(76)
rho^-94 / (1 - rho^-2) (Trefethen 2013, Theorem 19.3). So a fixed rule is exact to the last digits
for any number of candidates, and all its terms are positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.mechanisms.draws.bernoulli import bernoulli_exp
from bayesdp.mechanisms.randomness import uniform_below
from bayesdp.mechanisms.selection.candidates import Pair, Selection
from bayesdp.mechanisms.selection.utilities import exact_exponent

_BLOCK = 1 << 18  # acceptances drawn at once, to bound memory
_NODES, _WEIGHTS = (v / 2 for v in np.polynomial.legendre.leggauss(48))
_FURTHEST = 45.0


@dataclass(frozen=True, slots=True)
class PermuteAndFlipMechanism(Selection):
    """Visit the candidates in random order; stop at i with probability exp(-gamma_i).

    gamma_i is the rate times the distance of i's utility from the largest; the rate is epsilon /
    (2 sensitivity), or epsilon / sensitivity for monotone utilities. The statistic is an array of
    the candidates' utilities, integers or floats, shape (..., k); the output is the position of
    the chosen one.

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
    >>> mode = bdp.mechanisms.PermuteAndFlipMechanism(1.0, 1, ("bus", "car", "walk"), monotone=True)
    >>> round(float(mode.logp(1, [2, 5, 1])), 3)
    -0.034
    """

    name: ClassVar[str] = "permute_and_flip"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.selection.permute_and_flip; McKenna and Sheldon (2020), Theorem 1"
    )

    def _choose(
        self, rows: NDArray[Any], gamma: NDArray[np.float64], copies: int
    ) -> NDArray[np.int64]:
        k, rate = self.k, self.rate
        chosen = np.empty(copies * len(rows), dtype=np.int64)
        step = max(1, _BLOCK // k)
        for start in range(0, chosen.size, step):
            block = np.arange(start, min(start + step, chosen.size)) % len(rows)
            accepted = bernoulli_exp(
                gamma[block].ravel(),
                lambda i, block=block: exact_exponent(  # type: ignore[misc]
                    rows[block[i // k]], i % k, rate
                ),
            ).reshape(-1, k)
            rank = uniform_below(accepted.sum(axis=1).astype(np.uint64)).astype(np.int64)
            number = accepted.cumsum(axis=1)
            chosen[start : start + step] = (number > rank[:, None]).argmax(axis=1)
        return chosen

    def log_law(self, gamma: NDArray[np.float64]) -> NDArray[np.float64]:
        """Log-probability of each candidate, from gamma = rate * its distance from the best.

        Parameters
        ----------
        gamma : ndarray, shape (..., k)
            At least 0, and 0 for the best.
        """
        p = np.exp(-gamma)
        end = np.minimum(1.0, _FURTHEST / p.sum(axis=-1, keepdims=True))
        integral = np.zeros_like(p)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            log_missed = np.log1p(-(node + 0.5) * end * p)
            integral += weight * np.exp(log_missed.sum(axis=-1, keepdims=True) - log_missed)
        return np.asarray(np.log(end * integral) - gamma)

    def pairs(self) -> list[Pair]:
        """Pair of neighbouring utilities whose log ratio is epsilon, attained exactly."""
        return [self.far_pair(self.sensitivity * (1 if self.monotone else 2))]
