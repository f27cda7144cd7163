r"""Nested modips: several posterior draws and copies of each sanitised statistic.

One copy in the outer layer is

    s* = s + noise,    theta_j ~ p(theta | s*),    y_j ~ p(y | theta_j),    j = 1..draws,

and the tuple (y_1, ..., y_draws) is released (Liu, modips, section 3.1, Figure 3). Only s* depends
on the records, and all draws are post-processing of it: they cost as much as one, whatever `draws`
is. `bdp.evaluate.combine_nested` takes estimates of shape (copies, draws).

Where n is public, a family that knows the law of several such copies says so (`NestedLaw`), as that
of binary records does (`families.count_laws`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.outputs.several import Several
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families.base import NestedLaw
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile


@dataclass(frozen=True, slots=True)
class NestedModipsMechanism(Mechanism):
    """Several copies from each noisy sufficient statistic, for the cost of one.

    Parameters
    ----------
    sbs : ModipsSBSMechanism
        The mechanism that sanitises the statistic and draws a copy from it.
    draws : int
        Number of posterior draws, with one copy each, from one sanitised statistic.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    sbs: ModipsSBSMechanism
    draws: int

    name: ClassVar[str] = "modips_nested"
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sbs: Any = self.sbs
        if isinstance(sbs, Mapping):  # as a manifest holds it
            sbs = ModipsSBSMechanism(**sbs)
        if not isinstance(sbs, ModipsSBSMechanism):
            raise InvalidInput(
                f"sbs is a {type(sbs).__name__}; it must be a bdp.mechanisms.ModipsSBSMechanism"
            )
        object.__setattr__(self, "sbs", sbs)
        object.__setattr__(self, "draws", check_at_least_one("draws", self.draws))

    @property
    def n(self) -> int | None:
        """Number of confidential records, where it is public."""
        return self.sbs.n

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return self.sbs.neighbours

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` sanitised statistics; the draws from each are free."""
        return self.sbs.profile(copies=copies, neighbours=neighbours)

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return self.sbs.source

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise: those of the sanitised statistics."""
        return self.sbs.assumptions(relation)

    def rho(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> float | None:
        """The zCDP parameter of `copies` sanitised statistics; None for Laplace noise."""
        return self.sbs.rho(copies=copies, neighbours=neighbours)

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""
        return self.sbs.check_statistic(statistic)

    def check_statistics(self, statistic: Any) -> NDArray[Any]:
        """Return a single statistic's numbers, or raise InvalidInput."""
        return self.sbs.check_statistics(self.check_statistic(statistic))

    def draw(self, statistic: NDArray[Any], copies: int) -> NDArray[Any]:
        """Draw copies from the secure generator: as many statistics, each with its own noise.

        They have shape (copies, draws), and then that of one copy.
        """
        noisy = np.repeat(self.sbs.noisy(statistic, copies)[:, None], self.draws, axis=1)
        return self.sbs.family.draw(noisy, self.sbs)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic] of binary records with a public n, vectorised over both.

        Parameters
        ----------
        output : array_like of int, shape (..., draws)
        statistic : Count
            Its fields broadcast with the other axes.

        Raises
        ------
        InvalidInput
            For other families, or where n is confidential: the law is then intractable.
        """
        sbs, family = self.sbs, self.sbs.family
        if sbs.n is None or not isinstance(family, NestedLaw):
            raise InvalidInput(
                "the law of nested copies is intractable except for binary records with a "
                "public n; "
                "analyse each copy as data and combine the results with bdp.evaluate.combine_nested"
            )
        return family.nested_logp(output, statistic, sbs)

    @property
    def tractable(self) -> bool:
        """True where n is public and the family has the law of nested copies: binary records."""
        return isinstance(self.sbs.family, NestedLaw) and self.n is not None

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records, and of their law given the family's statistic, where it has one."""
        family = self.sbs.family
        laws = family.nested_views(self) if isinstance(family, NestedLaw) else ()
        return (*laws, RecordsView())

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible, for an audit."""
        return self.sbs.pairs()

    @property
    def space(self) -> Several:
        """Copies from each sanitised statistic, numbered by a column `draw`."""
        return Several(self.sbs.space, self.draws)
