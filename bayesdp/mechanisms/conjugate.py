"""Releases made from a conjugate posterior, and exactly what each costs.

Five methods (Zheng 2015, chapter 3): the posterior mode (`parameter_map`), one posterior draw
(`parameter_draw`), synthetic records around the mode (`synthetic_map`), synthetic records from
one draw (`synthetic_one`), and synthetic records each from its own draw (`synthetic_many`).
Their privacy comes from the prior alone. One file a family holds the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms import (
    conjugate_bernoulli,
    conjugate_categorical,
    conjugate_gaussian,
)
from bayesdp.privacy.guarantee import Guarantee, Strength, check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, smallest_satisfying

FAMILIES: dict[str, ModuleType] = {
    "bernoulli": conjugate_bernoulli,
    "gaussian": conjugate_gaussian,
    "categorical": conjugate_categorical,
}
"""Each family's file: PARAMETERS, METHODS, check, prior_of_strength, least_strength."""


@dataclass(frozen=True, slots=True)
class ConjugateRelease:
    """One release from a conjugate posterior of n records, with its tight privacy profile.

    Parameters
    ----------
    family : str
        "bernoulli" (0/1 records, beta prior), "gaussian" (records in [-R, R] around an
        unknown mean with known standard deviation sigma, normal prior) or "categorical"
        (Dirichlet prior).
    method : str
        "parameter_map", "parameter_draw", "synthetic_map", "synthetic_one" or "synthetic_many".
    n : int
        Number of confidential records, at least 1. Public: neighbours replace one record.
    prior : tuple of floats
        bernoulli: (a, b), positive. gaussian: mean and standard deviation. categorical: one
        positive number a category. Public.
    size : int, optional
        Number of synthetic records, at least 1, for the synthetic methods only.
    R, sigma : float, optional
        For the gaussian family only: the records' bound and known standard deviation.
    bounded : bool
        For the gaussian family only: whether what is released, the parameter or each record,
        is conditioned to lie in [-R, R], as the records do. Then a pure epsilon holds.

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
    not tight. Proofs are in the docstrings of the family's module.
    """

    family: str
    method: str
    n: int
    prior: tuple[float, ...]
    size: int | None = None
    R: float | None = None
    sigma: float | None = None
    bounded: bool = False

    def __post_init__(self) -> None:
        family = _named("family", self.family, FAMILIES)
        _named("method", self.method, family.METHODS)
        object.__setattr__(self, "n", check_at_least_one("n", self.n))
        if self.method.startswith("synthetic"):
            object.__setattr__(self, "size", check_at_least_one("size", self.size))
        elif self.size is not None:
            raise InvalidInput(
                f"size is {self.size!r}, but method {self.method!r} releases a parameter, not "
                "records; leave size out"
            )
        for name in ("R", "sigma"):
            if name not in family.PARAMETERS and getattr(self, name) is not None:
                raise InvalidInput(
                    f"{name} is {getattr(self, name)!r}, but family {self.family!r} has no "
                    f"{name}; leave it out"
                )
        if not isinstance(self.bounded, bool):
            raise InvalidInput(f"bounded is {self.bounded!r}; it must be True or False")
        if self.bounded and "bounded" not in family.PARAMETERS:
            raise InvalidInput(
                f"bounded is True, but family {self.family!r} has no bound; leave it out"
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
        categories: int | None = None,
        **other: Any,
    ) -> ConjugateRelease:
        """The release with the smallest symmetric prior that satisfies (epsilon, delta).

        bernoulli and categorical: (a, a, ...), the smallest a. gaussian: N(0, sd), the largest
        sd; its mean costs nothing. On the safe side of the root: the release returned does
        satisfy the promise, and its prior exceeds the smallest by about one part in 10^9.

        That a stronger prior never costs more is proved in `bayesdp.mechanisms.beta_pairs`,
        `category_pairs` and `conjugate_gaussian`; but where `bounded` and delta > 0 it is tested,
        not proved, so there only the promise is certain and that no smaller prior would do is not.
        `synthetic_map` looks among a >= 1 only: below, a stronger prior can cost more. Where any
        prior will do, the weakest considered is returned.

        Parameters
        ----------
        family, method, n
            As for the class.
        epsilon : float
            Positive.
        delta : float
            In [0, 1); 0 asks for pure epsilon.
        categories : int
            Number of categories; for the categorical family only.
        **other
            The class's other parameters but the prior: size, R, sigma, bounded.

        Raises
        ------
        InvalidInput
            If no prior satisfies the promise, or an argument is out of its range.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        home = _named("family", family, FAMILIES)
        if categories is not None and family != "categorical":
            raise InvalidInput(
                f"categories is {categories!r}, but family {family!r} has none; leave it out"
            )

        def at(strength: float) -> ConjugateRelease:
            return cls(family, method, n, home.prior_of_strength(strength, categories), **other)

        profile = at(1e6).profile()
        if profile.limit == 1 or (delta == 0 and math.isinf(profile.pure_epsilon)):
            raise InvalidInput(_impossible(family, method, epsilon, delta, profile))

        def cost(strength: float) -> float:
            made = at(strength)
            return made.delta(epsilon) if delta else made.profile().pure_epsilon

        least = home.least_strength(method)
        strength = smallest_satisfying(
            cost, delta or epsilon, start=max(1.0, 2 * least), least=least
        )
        if math.isinf(strength):
            raise InvalidInput(_impossible(family, method, epsilon, delta, profile))
        return at(strength)

    @property
    def records(self) -> int:
        """Number of synthetic records; 0 where a parameter is released."""
        return self.size or 0

    def profile(self) -> Profile:
        """The tight privacy profile under replace-one."""
        made: Profile = FAMILIES[self.family].METHODS[self.method](self)
        return made

    def delta(self, epsilon: float) -> float:
        """The smallest delta with which `epsilon` in [0, inf] is promised, rounded up."""
        return self.profile().delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon with which `delta` in [0, 1) is promised, rounded up.

        inf where there is none, as for every delta = 0 without a pure guarantee.
        """
        return self.profile().epsilon(delta)

    def pld(self) -> Any:
        """Its privacy loss distribution, for `bdp.compose`; see `Profile.pld`."""
        return self.profile().pld()

    def guarantee(self, *, delta: float = 0.0) -> Guarantee:
        """The promise at `delta`: one point of the profile.

        Where no epsilon is enough, the guarantee says epsilon = inf, with the least true delta
        there is, and its assumptions say why.
        """
        profile = self.profile()
        epsilon = profile.epsilon(delta)
        assumptions: tuple[str, ...] = (
            "The number of records is public and not protected.",
            "The release is drawn exactly from its law; a floating-point sampler only nearly is.",
        )
        if self.family == "gaussian":
            assumptions += (f"Every record lies in [-{self.R}, {self.R}].",)
        if math.isinf(epsilon):
            delta = max(delta, profile.delta(math.inf))
            assumptions += (profile.why,)
        return Guarantee(
            epsilon=epsilon,
            delta=delta,
            neighbours=Neighbours.REPLACE_ONE,
            strength=Strength.CONDITIONAL,
            assumptions=assumptions,
            source=f"bayesdp.mechanisms.conjugate_{self.family}",
        )


def _named(argument: str, value: Any, table: dict[str, Any]) -> Any:
    if not isinstance(value, str) or value not in table:
        raise InvalidInput(f"{argument} is {value!r}; it must be one of {', '.join(table)}")
    return table[value]


def _impossible(family: str, method: str, epsilon: float, delta: float, profile: Profile) -> str:
    way_out = (
        "choose another method, such as 'parameter_draw' or 'synthetic_one'"
        if profile.limit == 1
        else "ask for a positive delta, such as 1e-6"
        if delta == 0
        else "ask for a larger epsilon or delta"
    )
    return (
        f"no prior gives {family} {method} epsilon = {epsilon} with delta = {delta}: "
        f"{profile.why or 'the prior would be too large for a float.'} Way out: {way_out}"
    )
