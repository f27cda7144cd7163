"""Private choice among several families for `ModipsSynthesizer`: once, or for each copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, check_flag, keep
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families import Family
from bayesdp.mechanisms.families.evidence import check_criterion
from bayesdp.mechanisms.modips.selected import SelectedModipsMechanism
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import check_epsilon


@dataclass(frozen=True, slots=True)
class FamilySelection:
    """Private choice of a family within `bdp.ModipsSynthesizer`, by the exponential mechanism.

    Parameters
    ----------
    epsilon : float
        Liu's epsilon_0: the total cost of all choices, on top of that of the copies.
    each_copy : bool
        Whether each copy has a choice of its own, inside Liu's loop over copies, which costs
        epsilon / copies; or all copies share one, made before the loop.
    criterion : {"log_marginal", "dic"}
        The utility of a family: its log marginal likelihood, or -DIC / 2.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    epsilon: float
    each_copy: bool = False
    criterion: str = "log_marginal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_flag("each_copy", self.each_copy)
        keep(self, criterion=check_criterion(self.criterion))

    def mechanism(
        self, modips: Any, families: Sequence[Family], copies: int
    ) -> SelectedModipsMechanism:
        """Make the mechanism of choice and copies from that of the first family."""
        copies = check_at_least_one("copies", copies)
        times = self.times(copies)
        each, share = copies // times, shared(self.epsilon, times)
        return SelectedModipsMechanism(modips, tuple(families), share, each, self.criterion)

    def times(self, copies: int) -> int:
        """Number of choices for a number of copies."""
        copies = check_at_least_one("copies", copies)
        return copies if self.each_copy else 1


def check_selection(family: Any, selection: Any) -> None:
    """Raise InvalidInput unless several families come with a choice, and one without."""
    if selection is not None and not isinstance(selection, FamilySelection):
        raise InvalidInput(
            f"selection is {quoted(selection)}; it must be a bdp.synthesizers.FamilySelection, "
            "for example bdp.synthesizers.FamilySelection(epsilon=0.5)"
        )
    several = isinstance(family, Sequence) and not isinstance(family, str)
    if several and selection is None:
        raise InvalidInput(
            f"family is {quoted(family)}, several families, and choosing one reveals something "
            "about the data: give the cost of the choice, for example "
            "selection=bdp.synthesizers.FamilySelection(epsilon=0.5)"
        )
    if selection is not None and not several:
        raise InvalidInput(
            f"selection is {quoted(selection)}, but family is {quoted(family)}, a single one; give "
            "a list of families to choose from, or leave selection out"
        )
