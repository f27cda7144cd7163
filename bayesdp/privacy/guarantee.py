"""Guarantees: what a release promises, and how certain that is."""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from bayesdp.checks import as_float, keep
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.neighbours import BELIEFS, Neighbours, check_neighbours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SMALLEST = 1e-300
"""Epsilon below which scales, as 1 / epsilon, aren't finite."""


class Strength(StrEnum):
    """Strength of a guarantee: proved, conditional on assumptions, or only published."""

    PROVED = "proved"
    """Holds for the code as it runs, floating point and sampler included."""
    CONDITIONAL = "conditional"
    """Holds if the listed assumptions do, e.g. that an MCMC draw is exact."""
    AS_PUBLISHED = "as_published"
    """A paper's claim that is known to be false or unproved; kept for comparison."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """An (epsilon, delta) promise under one neighbouring relation.

    For every pair of neighbours D, D' and every set S of outputs,
    Pr[M(D) in S] <= exp(epsilon) Pr[M(D') in S] + delta.

    Attributes
    ----------
    epsilon, delta : float
        epsilon in [0, inf], delta in [0, 1].
    neighbours : Neighbours
        The neighbouring relation, or its name.
    strength : Strength
        How certain the promise is, or the strength's name.
    assumptions : tuple of str
        What must hold for the promise to hold, in words for the reader of a report.
    source : str
        Where the claim is proved: paper and theorem, or the docstring.
    rho : float or None
        Where known, a number with which the same release satisfies rho-zCDP too, under the
        same relation: its Renyi divergence of every order alpha > 1 is at most alpha rho
        (Bun and Steinke 2016, Definition 1.1).

    Raises
    ------
    InvalidInput
        If epsilon, delta or rho is out of its range or NaN, or there is no such relation or
        strength.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> promise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    ...     epsilon=1.0, sensitivity=1
    ... ).guarantee()
    >>> print(promise)
    epsilon = 1 (add_remove, proved)
    >>> promise.neighbours, promise.strength.value
    (<Neighbours.ADD_REMOVE: 'add_remove'>, 'proved')
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    strength: Strength
    assumptions: tuple[str, ...]
    source: str
    rho: float | None = None

    def __post_init__(self) -> None:
        # Others compare them by identity, which a name alone would pass.
        object.__setattr__(self, "neighbours", check_neighbours(self.neighbours))
        object.__setattr__(self, "strength", check_strength(self.strength))
        epsilon, delta = as_float(self.epsilon), as_float(self.delta)
        if not epsilon >= 0:
            raise InvalidInput(
                f"epsilon is {quoted(self.epsilon)}; it must be a number from 0 to inf"
            )
        if not 0 <= delta <= 1:
            raise InvalidInput(f"delta is {quoted(self.delta)}; it must be a number from 0 to 1")
        rho = None if self.rho is None else as_float(self.rho)
        if rho is not None and not 0 <= rho < math.inf:
            raise InvalidInput(
                f"rho is {quoted(self.rho)}; it must be a finite number, at least 0, or None where "
                "no zCDP parameter is known"
            )
        keep(self, epsilon=epsilon, delta=delta, rho=rho)

    def __str__(self) -> str:
        delta = "" if self.delta == 0 else f", delta = {shown_up(self.delta, 3)}"
        epsilon = shown_up(self.epsilon)
        return f"epsilon = {epsilon}{delta} ({self.neighbours.value}, {self.strength.value})"

    def __repr__(self) -> str:
        return f"<Guarantee: {self}>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot what the promise means: how far a belief of 50% about one record can move.

        At delta = 0 it can become exp(epsilon) / (1 + exp(epsilon)) at most; with a delta,
        `bayesdp.privacy.attacker` says what, and with which probability it may become more.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInput
            If `ax` is anything else.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale=1.0)
        >>> noise.guarantee().plot().get_xlabel()[:57]
        'A belief of 50% that a record is among the data can becom'
        """
        from bayesdp.privacy.belief_plot import plot_belief

        return plot_belief(ax, self, BELIEFS[self.neighbours])

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card
        from bayesdp.privacy.attacker import in_words

        return card(
            "Guarantee",
            {
                "epsilon": shown_up(self.epsilon),
                "delta": shown_up(self.delta, 3),
                "neighbours": self.neighbours.value,
                "strength": self.strength.value,
                "source": self.source,
            },
            warning="A claim that is unproved or known to be false: don't rely on it."
            if self.strength is Strength.AS_PUBLISHED
            else "",
            words=in_words(self, BELIEFS[self.neighbours]),
            folded=("It assumes", self.assumptions),
        )


def check_strength(strength: str) -> Strength:
    """Return the strength of that name, or raise InvalidInput."""
    try:
        return Strength(strength)
    except ValueError:
        raise InvalidInput(
            f"strength is {quoted(strength)}; it must be one of {[each.value for each in Strength]}"
        ) from None


def shown_up(value: float, digits: int = 6) -> str:
    """Round `value` up to `digits` digits: a promise must not read better than it is."""
    shown = f"{value:.{digits}g}"
    if float(shown) < value * (1 - 1e-12):
        up = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
        shown = f"{float(up.create_decimal_from_float(value)):.{digits}g}"
    return shown


def shown_down(value: float, digits: int = 6) -> str:
    """Round `value` down to `digits` digits: what is left must not read as more."""
    shown = f"{value:.{digits}g}"
    if float(shown) > value * (1 + 1e-12):
        down = decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR)
        shown = f"{float(down.create_decimal_from_float(value)):.{digits}g}"
    return shown


def check_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """Return `epsilon` as a float if it and 1 / epsilon are finite, else raise InvalidInput."""
    checked = as_float(epsilon)
    if not _SMALLEST <= checked < math.inf:
        raise InvalidInput(
            f"{name} is {quoted(epsilon)}; it must be a positive finite number, at least 1e-300 "
            "(a smaller epsilon promises more privacy; 0 would release nothing but noise)"
        )
    return checked
