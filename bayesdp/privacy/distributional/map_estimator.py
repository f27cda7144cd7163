r"""A maximum a posteriori estimator, exactly: which of a few laws did the records come from?

Records are drawn independently from one of the densities f_1, ..., f_k, nobody knows which: a law
of the class picks j with any probabilities p_j. The estimator says for which j the product of
weight_j and all f_j(x_i) is largest. It hardly ever depends on one record, so it can be released as
it is (Groce 2014, Theorems 6.3 and 6.4). The simulator is the estimator without the record.

Bounds
------
Let j be true, record i have the value x, and let the adversary know L others, z. With m = n - 1 - L
unknown others, s in (0, 1) and r_ab = f_a / f_b, Markov's inequality says that a wrong b beats j
with probability at most

    (weight_b / weight_j)^s r_bj(x)^s (product of r_bj(z_l)^s) E_j[r_bj(X)^s]^m,

which with M_bj >= r_bj everywhere and exp(-u_bj(s)) = E_j[r_bj^s] is at most

    w_bj(L + 1) = inf over s of (weight_b / weight_j)^s M_bj^(s (L + 1)) exp(-m u_bj(s)),

and without record i at most w_bj(L). So the two differ with probability at most delta, the largest
over j of the sum over b of w_bj(L + 1) + w_bj(L): a (0, delta) promise (Theorem 6.1), which
extends to all mixtures of the j (Theorem 5.4). Every s gives a bound, so that the search for the
best one can't make it wrong.

If each p_j is at least lambda, delta = 0 is possible. Given x and z, j has a probability h of at
least lambda / (lambda + (1 - lambda) M^(L + 1)), M the largest of the M_bj. With e_j the sum over b
of w_bj and g_j the largest of the w_jb, the estimator says j with a probability from (1 - e_j) h to
h + (1 - h) g_j, with the record and without. So the ratio of the two is at most
(1 + g_j (1 / h - 1)) / (1 - e_j), which falls in h.

What is printed
---------------
Corollary 6.1 says that known records only take the place of n: M for M^(L + 1), and lambda / M for
the probability of j. Both are false: the estimator still reads the known records, and the adversary
has seen them. With f = (0.9, 0.1) or (0.1, 0.9) and 21 records, 10 of them known to point at the
wrong law, the probability of an estimate changes by 0.349 with the value of the record, so that no
simulator, which doesn't see it, has a delta below 0.174; the corollary's is 0.061. Theorems 6.3 and
6.4 themselves, for L = 0, are right, and looser than what is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one, check_numbers, is_number, plain
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.families import Family, family_of
from bayesdp.privacy.distributional.guarantee import (
    DistributionalGuarantee,
    LawClass,
    check_known_records,
)
from bayesdp.privacy.guarantee import Strength

_UP = 1 + 1e-6  # above the rounding of powers, and of the sums that the estimate compares
_EXPONENTS = np.r_[np.linspace(0.005, 0.995, 199)]


@dataclass(frozen=True)
class MAPEstimator:
    """The maximum a posteriori choice of the law, in a finite family, that all records came from.

    Parameters
    ----------
    laws : sequence of scipy.stats or PyMC distributions
        All discrete or all continuous, with one common support, as
        ``[stats.bernoulli(0.2), stats.bernoulli(0.8)]`` or ``[pm.Bernoulli.dist(0.2), ...]``.
    weights : sequence of float, optional
        The estimator's prior weights, positive; nobody need believe in them. Equal by default.
    ratio : float, optional
        A proved bound on the ratio of any two densities. Discrete laws with a finite support
        need none. For continuous laws it is searched for if it isn't given, and the promise is
        then conditional on the search.

    Raises
    ------
    InvalidInput
        If there are fewer than two laws, two are the same, their supports differ, or a ratio of
        densities has no bound, or exceeds the one that is given.
    """

    laws: Sequence[Any]
    weights: Sequence[float] | None = None
    ratio: float | None = None

    def __post_init__(self) -> None:
        plain(self)
        family = family_of(self.laws, self.ratio)
        object.__setattr__(self, "_family", family)
        weights = np.ones(family.k)
        if self.weights is not None:
            weights = np.array([as_float(weight) for weight in self.weights])
        if weights.shape != (family.k,) or not np.all((weights > 0) & np.isfinite(weights)):
            raise InvalidInput(
                f"weights is {quoted(self.weights)}; it must be {family.k} positive numbers, one a "
                "law"
            )
        object.__setattr__(self, "weights", tuple((weights / weights.sum()).tolist()))

    @property
    def family(self) -> Family:
        """Ratios of the laws' densities."""
        family: Family = self._family  # type: ignore[attr-defined]
        return family

    @property
    def _log_weights(self) -> NDArray[np.float64]:
        return np.log(np.asarray(self.weights, dtype=np.float64))

    def estimate(self, records: Any) -> int:
        """The index of the law with the largest weight times likelihood; of several, the first.

        Parameters
        ----------
        records : array_like, shape (n,)

        Raises
        ------
        InvalidInput
            If there are no records, one isn't a number, or one lies outside the laws' support.
        """
        x = check_numbers("records", records)
        if x.ndim != 1 or x.size == 0:
            raise InvalidInput(f"records has shape {x.shape}; it must be one column, not empty")
        scores = self._log_weights + np.array([f(x).sum() for f in self.family.log_densities])
        if not np.all(np.isfinite(scores)):
            raise InvalidInput("a record lies outside the laws' support; it isn't shown")
        return int(np.argmax(scores))

    def guarantee(
        self, n: int, *, known_records: int = 0, least_probability: float | None = None
    ) -> DistributionalGuarantee:
        """Return the guarantee of the estimate from n records; the module has the proof.

        Parameters
        ----------
        n : int
            Number of records, at least 2.
        known_records : int
            How many the adversary knows, at most n - 2.
        least_probability : float, optional
            lambda in (0, 1 / k], where the adversary gives every law at least this probability:
            the promise then has delta = 0. None for all priors: it then has epsilon = 0.

        Raises
        ------
        InvalidInput
            If an argument is out of its range.
        """
        n = check_at_least_one("n", n)
        if n < 2:
            raise InvalidInput(f"n is {n}; it must be at least 2: one record besides the protected")
        known = check_known_records(known_records, n)
        if least_probability is None:
            epsilon, delta = 0.0, self._delta(n, known)
        else:
            epsilon, delta = self._epsilon(n, known, least_probability), 0.0
        priors = (
            "any probabilities"
            if least_probability is None
            else f"probabilities of at least {least_probability}"
        )
        searched = () if self.family.proved else (
            "The largest ratio of two densities was found by a search, and moments of it by "
            "quadrature.",
        )  # fmt: skip
        return DistributionalGuarantee(
            epsilon,
            delta,
            f"{n} independent records from one of the {self.family.k} laws "
            f"{', '.join(self.family.names)}, picked with {priors}; the adversary knows any "
            f"{known} of them",
            LawClass.of(
                "one_of_a_family",
                laws=self.family.names,
                weights=self.weights,
                n=n,
                least_probability=least_probability,
            ),
            known_records=known,
            strength=Strength.PROVED if self.family.proved else Strength.CONDITIONAL,
            assumptions=searched,
            source="bayesdp.privacy.distributional.map_estimator; Groce (2014), Theorems 6.3, 6.4",
        )

    def _wrong(self, n: int, known: int, touched: int) -> NDArray[np.float64]:
        """Bound w_bj(touched) of the module, shape (b, j), 0 on the diagonal; rounded up."""
        ratio, moment = self.family.log_ratio, self.family.log_moment(_EXPONENTS)
        prior = self._log_weights[:, None] - self._log_weights
        s = _EXPONENTS[:, None, None]
        exponent = s * (prior + touched * ratio) + (n - 1 - known) * moment
        bounds = np.exp(np.minimum(exponent.min(axis=0), 0.0)) * _UP
        np.fill_diagonal(bounds, 0.0)
        return np.asarray(bounds)

    def _delta(self, n: int, known: int) -> float:
        both = self._wrong(n, known, known + 1) + self._wrong(n, known, known)
        return float(min(1.0, both.sum(axis=0).max() * _UP))

    def _epsilon(self, n: int, known: int, least: float) -> float:
        if not is_number(least) or not 0 < least <= 1 / self.family.k:
            raise InvalidInput(
                f"least_probability is {quoted(least)}; it must be a number above 0, at most 1 / "
                f"{self.family.k}"
            )
        wrong = np.maximum(self._wrong(n, known, known + 1), self._wrong(n, known, known))
        log_ratio = float(self.family.log_ratio.max()) * (known + 1)
        if log_ratio > 600:
            return math.inf
        odds = (1 - least) / least * math.exp(log_ratio)
        missed = wrong.sum(axis=0) * _UP
        if missed.max() >= 1:
            return math.inf
        ratios = (1 + wrong.max(axis=1) * odds) / (1 - missed)
        return math.log(float(ratios.max())) * _UP + 1e-15
