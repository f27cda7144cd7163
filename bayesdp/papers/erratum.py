"""An erratum of a paper: what is printed, what is true, and a computation that tells them apart."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

FINITE = sys.float_info.max
"""What is printed as finite, whatever its value."""
_ROUNDING = 1e-6  # relative; printed numbers that are rounded further say so


class Flaw(StrEnum):
    """Kind of a statement's flaw: false, unproved, loose or misprinted."""

    FALSE = "false"
    """A counterexample was computed."""
    PROOF = "proof"
    """The statement is true or open, and the printed proof doesn't show it."""
    LOOSE = "loose"
    """True, and more is asked for than is needed."""
    PRINT = "misprint"
    """A label, a unit, a digit or a symbol."""


class Relation(StrEnum):
    """Relation that a statement claims between a bound and the number computed."""

    AT_MOST = "at most"
    AT_LEAST = "at least"
    EQUAL = "equal to"

    def holds(self, shown: float, said: float, tolerance: float) -> bool:
        """Return True if a statement that says `said` is true of `shown`."""
        if self is Relation.AT_MOST:
            return shown <= said + tolerance
        if self is Relation.AT_LEAST:
            return shown >= said - tolerance
        return shown == said or abs(shown - said) <= tolerance


@dataclass(frozen=True, slots=True)
class Shown:
    """One case of a statement, computed.

    Attributes
    ----------
    case : str
        Description of the computation.
    printed : float
        The printed statement's value for the case.
    found : float
        The true value, by enumeration or from an exact law.
    true : float
        The corrected statement's value.
    found_true : float or None
        The true value for the corrected statement, where it is about another case.
    relation : Relation
        Relation that both statements claim between their value and the true one.
    tolerance : float or None
        Tolerance for numbers that are rounded or simulated; by default a relative 1e-6.
    """

    case: str
    printed: float
    found: float
    true: float
    found_true: float | None = None
    relation: Relation = Relation.AT_MOST
    tolerance: float | None = None

    @property
    def refuted(self) -> bool:
        """True if the printed statement doesn't hold for the value found."""
        return not self._holds(self.found, self.printed)

    @property
    def mended(self) -> bool:
        """True if the corrected statement holds for the value found."""
        return self._holds(self.found if self.found_true is None else self.found_true, self.true)

    def _holds(self, shown: float, said: float) -> bool:
        known = math.isfinite(shown) and math.isfinite(said)
        rounding = _ROUNDING * min(abs(shown), abs(said)) if known else 0.0
        return self.relation.holds(
            shown, said, rounding if self.tolerance is None else self.tolerance
        )

    def __str__(self) -> str:
        there = "" if self.found_true is None else f", and {shown(self.found_true)} is found there"
        return (
            f"{self.case}: {shown(self.found)} (printed: {self.relation} {shown(self.printed)}; "
            f"corrected: {self.relation} {shown(self.true)}{there})"
        )


def shown(value: float) -> str:
    """Format a number as it is shown; the largest float stands for any finite one."""
    return "finite" if value == FINITE else f"{value:.4g}"


@dataclass(frozen=True, slots=True)
class Erratum:
    """A statement of a paper that is wrong, loose or mislabelled.

    Attributes
    ----------
    paper : str
        The first author's name in lower case, as in `bayesdp reproduce` where that has the paper.
    place : str
        The printed label: "Theorem 7.12".
    flaw : Flaw
    printed, true : str
        The printed statement, and the true one, in words.
    evidence : callable
        Computes the evidence, in one case or several.
    """

    paper: str
    place: str
    flaw: Flaw
    printed: str
    true: str
    evidence: Callable[[], tuple[Shown, ...]]

    @property
    def key(self) -> str:
        """Name of the erratum on the command line: "zheng-theorem-7.12"."""
        words = "".join(c if c.isalnum() or c in ".()" else " " for c in self.place.lower())
        return "-".join([self.paper, *words.replace("(", "").replace(")", "").split()])

    @property
    def command(self) -> str:
        """Command that computes the evidence and prints it."""
        return f"bayesdp errata {self.key}"
