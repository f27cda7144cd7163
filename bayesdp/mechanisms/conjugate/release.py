r"""Releases made from a conjugate posterior, and exactly what each costs.

Five methods (Zheng 2015, chapter 3): the posterior mode (`parameter_map`), one posterior draw
(`parameter_draw`), synthetic records around the mode (`synthetic_map`), synthetic records from
one draw (`synthetic_one`), and synthetic records each from its own draw (`synthetic_many`).
Their privacy comes from the prior alone. For each family, the module of its name holds the proofs
and `FAMILY_outputs` the sampler and the law.

Joint promise of copies
-----------------------
Copies are independent given the data. Exactly composed:

- copies of independent records (`synthetic_many`, `synthetic_map`) are as many more independent
  records: M copies of m have the law of one copy of M m;
- copies of a normal law whose variance or covariance the data leave alone, and of draws of a rate,
  cost what one release of other parameters does, as the family's module proves.

Otherwise M copies cost M times the epsilon of one at delta / M (basic composition: epsilons and
deltas add up), or M times the pure epsilon if there is one.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_flag
from bayesdp.core.fields import later
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.conjugate.families import FAMILIES, METHODS, OUTPUTS, check_named
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.guarantee import Strength, check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, shared_profile, smallest_satisfying

_STRONGEST = 1e50  # that is tried
_STRONG = 1e6  # a prior that shows what no prior can do
_SAFE = 1 + 2.0**-50  # covers the rounding of a product


@dataclass(frozen=True, slots=True)
class ConjugateMechanism(Mechanism):
    """One release from a conjugate posterior of n records, with its privacy profile.

    Parameters
    ----------
    family : str
        "bernoulli" (0/1 records, beta prior), "gaussian" (records in [-R, R] around an
        unknown mean with known standard deviation sigma, normal prior), "multivariate_gaussian"
        (vectors in a box around an unknown mean with known covariance, normal prior), "categorical"
        (Dirichlet prior) or "gamma" (records in [0, R] of an unknown rate with known shape, gamma
        prior).
    method : str
        "parameter_map", "parameter_draw", "synthetic_map", "synthetic_one" or "synthetic_many".
    n : int
        Number of confidential records, at least 1. Public: neighbours replace one record.
    prior : tuple of floats
        bernoulli: (a, b), positive. gaussian: mean and standard deviation. multivariate_gaussian:
        mean vector and covariance matrix. categorical: one positive number for each category.
        gamma: shape and rate. Public.
    size : int, optional
        Number of synthetic records, at least 1, for the synthetic methods only.
    R, sigma : float, optional
        The records' bound, for the gaussian and gamma families, and for the
        multivariate_gaussian, where it may be a tuple with one for each column; their known
        standard deviation, for the gaussian family only.
    bounded : bool
        For the gaussian family only: whether what is released, the parameter or each record,
        is conditioned to lie in [-R, R], as the records do. Then a pure epsilon holds.
    shape : float, optional
        For the gamma family only: the known shape of the records' law; by default 1, for
        exponential records.
    covariance : tuple of tuples of floats, optional
        For the multivariate_gaussian family only: the known covariance matrix of the records, of 12
        columns at most.
    columns : tuple of str, optional
        For the multivariate_gaussian family only: names of the columns. Those of synthetic records
        are x1, x2, ... by default.

    Raises
    ------
    InvalidInput
        If a parameter is missing, superfluous or out of its range.

    Notes
    -----
    delta(epsilon) is the hockey-stick divergence of the worst neighbours in the worse
    direction, computed with a relative error below 1e-10 and rounded up by 2e-10. Below 1e-290
    it is only said to be at most that. Where `bounded`, one draw's or one record's is tight to
    one part in 10^6; the delta of several records, and all of `synthetic_one`, are upper bounds,
    not tight. That of several gamma records of a rate each is an upper bound, too high by the cost
    of 10^-4 of the loss's variance at most. Proofs are in the docstrings of the family's module.

    Examples
    --------
    >>> round(ConjugateMechanism("bernoulli", "synthetic_one", 9, (6, 6), size=9).epsilon(0), 4)
    0.9163
    """

    family: str
    method: str
    n: int
    prior: tuple[Any, ...]
    size: int | None = None
    R: Any = None
    sigma: float | None = None
    bounded: bool = False
    shape: float | None = later(None)
    covariance: tuple[tuple[float, ...], ...] | None = later(None)
    columns: tuple[str, ...] | None = later(None)

    name: ClassVar[str] = "conjugate"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    log_concave: ClassVar[bool] = False
    """Not proved for all methods: the exact engine visits every count."""

    def __post_init__(self) -> None:
        check_named("family", self.family, FAMILIES)
        check_named("method", self.method, METHODS)
        family = FAMILIES[self.family]
        object.__setattr__(self, "n", check_at_least_one("n", self.n))
        if self.method.startswith("synthetic"):
            object.__setattr__(self, "size", check_at_least_one("size", self.size))
        elif self.size is not None:
            raise InvalidInput(
                f"size is {quoted(self.size)}, but method {quoted(self.method)} releases a "
                "parameter, not records; leave size out"
            )
        for name in ("R", "sigma", "shape", "covariance", "columns"):
            if name not in family.PARAMETERS and getattr(self, name) is not None:
                raise InvalidInput(
                    f"{name} is {quoted(getattr(self, name))}, but family {quoted(self.family)} "
                    f"has no {name}; leave it out"
                )
        check_flag("bounded", self.bounded)
        if self.bounded and "bounded" not in family.PARAMETERS:
            raise InvalidInput(
                f"bounded is True, but family {quoted(self.family)} has no bounded releases: the "
                "cost of its laws conditioned on bounds isn't known here; leave it out"
            )
        for name, value in family.check(self).items():
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls,
        *,
        family: str,
        method: str,
        n: int,
        epsilon: float,
        delta: float = 0.0,
        copies: int = 1,
        categories: int | None = None,
        **other: Any,
    ) -> ConjugateMechanism:
        """Make the release with the smallest symmetric prior that satisfies (epsilon, delta).

        For bernoulli and categorical the prior is (a, a, ...) with the smallest a; for gaussian it
        is N(0, sd) with the largest sd, as its mean costs nothing; for multivariate_gaussian its
        covariance is covariance / c with the smallest c; for gamma it is worth the fewest records
        at R / 2, that is (c shape, c R / 2) with the smallest c. It is on the safe side of the
        root: the release returned satisfies the promise, and its prior exceeds the smallest by
        about one part in 10^9.

        That a stronger prior never costs more is proved in
        `bayesdp.mechanisms.conjugate.beta_pairs`, `bayesdp.mechanisms.counts.category_pairs`,
        `gaussian` and `multivariate_gaussian`; for gamma, and where `bounded` and delta > 0, it is
        only tested: there the promise is certain, but a smaller prior might satisfy it too.
        `synthetic_map` considers only a >= 1: below, a stronger prior can cost more. Where any
        prior will do, the weakest considered is returned.

        Parameters
        ----------
        family, method, n
            As for the class.
        epsilon : float
            Cost allowed of all copies, positive.
        delta : float
            In [0, 1); 0 asks for pure epsilon.
        copies : int
            Independent copies.
        categories : int
            Number of categories; for the categorical family only.
        **other
            The class's other parameters: size, R, sigma, bounded, shape, covariance, columns.

        Raises
        ------
        InvalidInput
            If no prior satisfies the promise, or an argument is out of its range.
        """
        check_named("family", family, FAMILIES)
        home = FAMILIES[family]
        if categories is not None and family != "categorical":
            raise InvalidInput(
                f"categories is given, but family {quoted(family)} has none; leave it out"
            )

        parameters = {"categories": categories, **other}

        def at(strength: float) -> ConjugateMechanism:
            return cls(family, method, n, home.prior_of_strength(strength, parameters), **other)

        least = home.least_strength(method, parameters)
        return calibrated(at, least=least, epsilon=epsilon, delta=delta, copies=copies)

    @property
    def synthetic_size(self) -> int:
        """Number of synthetic records in a copy; 0 where a parameter is released."""
        return self.size or 0

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies under replace-one; see the class's notes."""
        check_replace_one(neighbours)
        return profile_of_copies(self, check_at_least_one("copies", copies))

    def profile_of_one(self) -> Profile:
        """The privacy profile of one copy under replace-one, tight unless `bounded`."""
        made: Profile = getattr(FAMILIES[self.family], self.method)(self)
        return made

    def pld(self) -> Any:
        """Privacy loss distribution of the release, for `bdp.compose`; see `Profile.pld`."""
        return self.profile().pld()

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return replace-one, or raise InvalidInput if another is asked for, as n is public."""
        check_replace_one(neighbours)
        return Neighbours.REPLACE_ONE

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return f"bayesdp.mechanisms.conjugate.{self.family}"

    @property
    def strength(self) -> Strength:
        """The promise's strength: conditional where the sampler works in floating point."""
        return Strength.CONDITIONAL if draws_floats(self) else Strength.PROVED

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        told: tuple[str, ...] = (PUBLIC_N,)
        if draws_floats(self):
            told += (
                "The release is drawn exactly from its law; a floating-point sampler only nearly "
                "is.",
            )
        told += (COMPUTATIONAL,)
        return told + FAMILIES[self.family].records_are(self)  # type: ignore[no-any-return]

    def statistic(self, data: Any) -> Any:
        """Compute the statistic that the release depends on, from raw records.

        Parameters
        ----------
        data : array, Series or sequence, shape (n,)
            bernoulli: 0 and 1. categorical: labels from 0 to k - 1. gaussian: numbers in [-R, R].
            gamma: numbers in [0, R]. multivariate_gaussian: a DataFrame or an array, shape (n, d),
            column j in [-R[j], R[j]].

        Returns
        -------
        Count, tuple of k ints, float, or tuple of d floats
            The number of ones, the counts of the categories, the sum, or the columns' sums.
            Confidential.

        Raises
        ------
        InvalidInput
            If a record is missing or not of the kind above, or there aren't n records. No message
            shows one.
        """
        made = self._outputs.statistic_of(self, data)
        self.check_statistic(made)
        return made

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic of one release, or raise InvalidInput without showing it."""
        return self._outputs.one_statistic(self, statistic)

    def check_statistics(self, statistic: Any) -> Any:
        """Return a Count, counts (..., k) or sums, of one release or several; else raise."""
        return self._outputs.check_statistic(self, statistic)

    def draw(self, statistic: Any, copies: int) -> NDArray[Any]:
        """Draw copies from the secure generator; counts of synthetic records exactly.

        They have shape (copies, *shape of the statistic), and then the components' axis, if any.
        bernoulli: a probability, or a number of ones. categorical: k probabilities, or k counts.
        gaussian: a number, or `size` records in the order drawn. gamma: a number, or `size`
        records, sorted. multivariate_gaussian: a vector, or `size` vectors in the order drawn.
        """
        drawn: NDArray[Any] = self._outputs.draw(self, statistic, copies)
        return drawn

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log-probability, or log-density, of the output given the statistic.

        It is vectorised over both; components are along the last axis. Impossible outputs have
        -inf. For `parameter_map` it is 0 at the mode, to the last digit, and -inf elsewhere.
        """
        law: NDArray[np.float64] = self._outputs.logp(
            self, output, self.check_statistics(statistic)
        )
        return law

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records, and of the law given a count of ones, counts or a mean."""
        shown = (RecordsView(),) if self.size else ()
        return (*self._outputs.views(self), *shown)

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, the worst for a pure epsilon among them."""
        worst: list[tuple[Any, Any]] = self._outputs.pairs(self)
        return worst

    @property
    def space(self) -> OutputSpace:
        """Parameters, or synthetic records: counts of categories, or the numbers themselves."""
        made: OutputSpace = self._outputs.space(self)
        return made

    @property
    def _outputs(self) -> ModuleType:
        home: ModuleType = OUTPUTS[self.family]
        return home


def calibrated(
    at: Callable[[float], ConjugateMechanism],
    *,
    least: float,
    epsilon: float,
    delta: float,
    copies: int = 1,
) -> ConjugateMechanism:
    """Find the release of the smallest strength, `least` or more, that keeps (epsilon, delta).

    Parameters
    ----------
    at : callable
        Function of a strength: the release whose prior has it. A larger strength never costs more
        privacy.
    least : float
        The smallest strength considered.
    epsilon, delta : float
        The promise of all copies: epsilon positive, delta in [0, 1).
    copies : int
        Independent copies.

    Raises
    ------
    InvalidInput
        If no strength satisfies the promise, or an argument is out of its range.
    """
    epsilon, delta = check_epsilon(epsilon), check_delta(delta)
    strong, copies = at(_STRONG), check_at_least_one("copies", copies)
    profile = strong.profile(copies=copies)
    if profile.limit == 1 or (delta == 0 and math.isinf(profile.pure_epsilon)):
        raise InvalidInput(_impossible(strong, epsilon, delta))

    def cost(strength: float) -> float:
        if strength > _STRONGEST:
            raise InvalidInput(_impossible(strong, epsilon, delta))
        made = at(strength)
        profile = made.profile(copies=copies)
        return profile.delta(epsilon) if delta else profile.pure_epsilon

    strength = smallest_satisfying(cost, delta or epsilon, start=max(1.0, 2 * least), least=least)
    made, more = at(strength), 2.0**-52
    while made.epsilon(delta, copies=copies) > epsilon:  # a root too, which rounds
        strength, more = strength * (1 + more), 2 * more
        made = at(strength)
    return made


def _impossible(strong: ConjugateMechanism, epsilon: float, delta: float) -> str:
    profile = strong.profile()
    way_out = (
        "choose another method, such as 'parameter_draw' or 'synthetic_one'"
        if profile.limit == 1
        else "ask for a positive delta, such as 1e-6"
        if delta == 0
        else "ask for a larger epsilon or delta"
    )
    return (
        f"no prior gives {strong.family} {strong.method} epsilon = {epsilon} with delta = {delta}: "
        f"{profile.why or 'the prior would be too large for a float.'} Way out: {way_out}"
    )


def composed_profile(release: ConjugateMechanism, copies: int) -> Profile | None:
    """The profile of `copies` copies as that of one release, or None where none is like them."""
    if copies == 1:
        return release.profile_of_one()
    if release.method in ("synthetic_map", "synthetic_many"):
        together = release.synthetic_size * copies
        return dataclasses.replace(release, size=together).profile_of_one()
    made: Profile | None = FAMILIES[release.family].together(release, copies)
    return made


def profile_of_copies(release: ConjugateMechanism, copies: int) -> Profile:
    """The profile of `copies` copies: tight where that is known, else by basic composition."""
    together = composed_profile(release, copies)
    if together is not None:
        return together
    return shared_profile(release.profile_of_one(), copies, _SAFE)


def draws_floats(release: ConjugateMechanism) -> bool:
    """Return True if the sampler works in floating point; counts are drawn in integers."""
    if release.method == "parameter_map":
        return False
    return not FAMILIES[release.family].WHOLE or release.method == "parameter_draw"


def check_replace_one(neighbours: Neighbours | None) -> None:
    """Raise unless `neighbours` is replace-one, or None for it."""
    if neighbours == Neighbours.ADD_REMOVE:
        raise InvalidInput(
            "neighbours is 'add_remove', but n is public, so a record added or removed shows; a "
            "conjugate release promises under 'replace_one' alone"
        )
    if neighbours not in (None, Neighbours.REPLACE_ONE):
        raise InvalidInput(
            f"neighbours is {quoted(getattr(neighbours, 'value', neighbours))}; a conjugate "
            "release of n records has 'replace_one'"
        )
