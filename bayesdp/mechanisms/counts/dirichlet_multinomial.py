r"""The Dirichlet-multinomial mechanism: a synthetic table from a perturbed posterior predictive.

Given counts x of n confidential records in k cells, one copy is a draw

    p ~ Dirichlet(alpha + x),    z ~ Multinomial(size, p),

so z is Dirichlet-multinomial, and only z leaves (Machanavajjhala, Kifer, Abowd, Gehrke and
Vilhuber 2008; Abowd and Vilhuber 2008). alpha is the mechanism's prior: public, and chosen for
privacy first. It may be informative: counts of an older, public table, say. Cells where no record
can be, structural zeros, are left out, so k and alpha are of the other ones.

One copy has epsilon = log(1 + size / min alpha), exactly; `dirichlet_multinomial_promise` proves
it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_statistic
from bayesdp.core.views import DrawnCountsView, ProductTable, RecordsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.columns import NumberColumns
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.counts.category_products import one_draw
from bayesdp.mechanisms.counts.cells import Axis, check_axes, points_in, table
from bayesdp.mechanisms.counts.dirichlet_multinomial_calibration import calibrated_table
from bayesdp.mechanisms.counts.dirichlet_multinomial_promise import (
    LARGEST_PROFILE,
    collapsed,
    promised,
    pure_epsilon,
)
from bayesdp.mechanisms.counts.table_fields import (
    check_cell_counts,
    check_prior,
    check_size,
    check_table,
    check_zeros,
)
from bayesdp.mechanisms.draws.category_splitting import dirichlet_multinomial_draws
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile


@dataclass(frozen=True, slots=True)
class DirichletMultinomialMechanism(NumberColumns):
    """Release counts z ~ DirichletMultinomial(size, prior + x) given the counts x of n records.

    Parameters
    ----------
    n : int or None
        Number of confidential records, at least 1, where it is public; None where it
        is confidential. A public n has no add/remove neighbours.
    size : int
        Number of synthetic records in a copy, at least 1. Public.
    cells : int
        Number of cells, at least 2, those of `zeros` among them.
    prior : float or sequence of floats
        The same positive number for every cell, or one a cell; 0 in those of `zeros`. Public.
    zeros : sequence of int
        The structural zeros: cells, numbered from 0, where no record can be. Public.
    axes : sequence of `bayesdp.mechanisms.counts.cells.Axis`, optional
        What the cells are: all combinations of the axes' bins, the last moving fastest. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Draws are exact, and cost the more the more cells there are, whatever the size
    (`bayesdp.mechanisms.draws.category_splitting`).
    """

    n: int | None
    size: int
    cells: int
    prior: float | tuple[float, ...]
    zeros: tuple[int, ...] = ()
    axes: tuple[Axis, ...] | None = None

    name: ClassVar[str] = "dirichlet_multinomial"
    neighbours: ClassVar[Neighbours] = Neighbours.REPLACE_ONE
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        if self.n is not None:
            also = "or None if confidential"
            object.__setattr__(self, "n", check_at_least_one("n", self.n, also))
        cells = check_at_least_one("cells", self.cells)
        zeros = check_zeros(self.zeros, cells)
        checked: dict[str, Any] = {"size": check_size(self.size), "cells": cells, "zeros": zeros}
        checked["prior"] = check_prior(self.prior, cells, zeros)
        checked["axes"] = check_axes(self.axes, cells)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(
        cls,
        *,
        n: int | None,
        size: int,
        cells: int,
        epsilon: float,
        copies: int = 1,
        delta: float = 0.0,
        proportions: Any = None,
        zeros: Sequence[int] = (),
        axes: Sequence[Axis] | None = None,
    ) -> DirichletMultinomialMechanism:
        """The mechanism with the weakest prior whose `copies` copies keep (epsilon, delta).

        Parameters
        ----------
        proportions : sequence of float, optional
            What the prior is in proportion to, 0 in `zeros`: counts of a public table, say. By
            default it is the same in every cell, size / (exp(epsilon / copies) - 1) for delta = 0.
        """
        return calibrated_table(
            cls,
            n=n,
            size=size,
            cells=cells,
            epsilon=epsilon,
            copies=copies,
            delta=delta,
            proportions=proportions,
            zeros=zeros,
            axes=axes,
        )

    @property
    def support(self) -> NDArray[np.int64]:
        """The cells where records can be, in order."""
        return np.delete(np.arange(self.cells), self.zeros)

    @property
    def alpha(self) -> NDArray[np.float64]:
        """Priors of the cells where records can be."""
        if isinstance(self.prior, float):
            return np.full(self.cells - len(self.zeros), self.prior)
        return np.array(self.prior)[self.support]

    def profile(self) -> Profile:
        """Tight privacy profile of a copy under replace-one.

        Raises
        ------
        InvalidInput
            If a copy has more than a million records, over which delta is summed.
        """
        if self.size > LARGEST_PROFILE:
            raise InvalidInput(
                f"size is {self.size}; the profile of one copy is known up to {LARGEST_PROFILE:,} "
                "records, beyond which there is its pure epsilon alone, guarantee()"
            )
        return collapsed(self.n, self.size, self.alpha).profile()

    def delta(self, epsilon: float) -> float:
        """The smallest delta with which `epsilon` in [0, inf] is promised, rounded up."""
        return self.profile().delta(epsilon)

    def epsilon(self, delta: float = 0.0) -> float:
        """The smallest epsilon of a copy at `delta` in [0, 1), rounded up."""
        return self.guarantee(delta=delta).epsilon

    def pld(self) -> Any:
        """Privacy loss distribution of a copy, for `bdp.compose`; see `Profile.pld`."""
        return self.profile().pld()

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies at `delta`.

        Pure under add/remove-one and beyond a million records, whatever the delta. Else under
        replace-one, each copy keeps the epsilon of delta / copies, and the sum is promised.

        Raises
        ------
        InvalidInput
            If n is public and `neighbours` is add/remove: n differs between them and is
            released as it is. Or if the relation is not one of records.
        """
        return promised(self, copies, neighbours, delta)

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record: copies * log(1 + size / sum of the priors)."""
        return dataclasses.replace(
            self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta),
            epsilon=copies * pure_epsilon(self.size, math.fsum(self.alpha)),
        )

    def check_statistic(self, statistic: Any) -> NDArray[np.int64]:
        """The counts as an array if they are one table's, else raise without showing them."""
        counts = self._checked(statistic)
        check_one_statistic(counts.shape, (self.cells,))
        return counts

    def release(self, statistic: Any, copies: int = 1) -> NDArray[np.int64]:
        """Draw copies, exactly, from the secure generator.

        Parameters
        ----------
        statistic : array of int, shape (..., cells)
            The confidential counts; several tables at once give as many releases.
        copies : int
            Independent copies of each.

        Returns
        -------
        ndarray of int64, shape (copies, *shape of the statistic)
        """
        copies, counts = check_at_least_one("copies", copies), self._checked(statistic)
        support = self.support
        among = np.broadcast_to(counts[..., support], (copies, *counts.shape[:-1], support.size))
        drawn = np.zeros((copies, *counts.shape), dtype=np.int64)
        drawn[..., support] = dirichlet_multinomial_draws(among, self.alpha.tolist(), self.size)
        return drawn

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; the cells are the last axis."""
        counts, z = self._checked(statistic), np.asarray(output)
        if z.shape[-1:] != (self.cells,):
            raise InvalidInput(
                f"output has shape {z.shape}; its last axis must have length {self.cells}"
            )
        support = self.support
        law = dirichlet_multinomial_logpmf(
            z[..., support], self.size, self.alpha + counts[..., support]
        )
        return np.where(np.any(z[..., list(self.zeros)] != 0, axis=-1), -np.inf, law)

    @property
    def views(self) -> tuple[View, ...]:
        """The law given counts of categories: given n, a product over them."""
        alpha, whole = self.alpha, np.zeros(self.cells)
        whole[self.support] = alpha
        law = partial(one_draw, alpha, float(self.size))
        drawn = DrawnCountsView(whole, self.size, partial(np.asarray, dtype=np.float64))
        records = RecordsView("bdp.DirichletMultinomialSynthesizer.records(release)")
        return ProductTable(self.cells, len(self.zeros), law), drawn, records

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs where the two smallest priors' cells exchange a record, all others elsewhere."""
        return [(self._spread(one), self._spread(other)) for one, other in self._whole().pairs()]

    def outputs(self) -> NDArray[Any] | None:
        """List all tables, shape (outputs, cells), where they are at most 100,000."""
        listed = self._whole().outputs()
        return None if listed is None else self._spread(listed)

    def check_output(self, output: Any) -> tuple[int, ...]:
        """Return `output` as a tuple of ints if this mechanism can release it, else raise."""
        return check_table(output, self.cells, self.size, self.zeros)

    def records(self, output: Any) -> NDArray[Any]:
        """The synthetic counts; with axes, a structured array that shows their cells too."""
        return np.asarray(output) if self.axes is None else table(self.axes, output)

    def synthetic(self, output: Any, random: np.random.Generator) -> dict[str, NDArray[Any]]:
        """The synthetic records that a copy stands for, one array of shape (size,) an axis.

        A number is uniform within its interval: post-processing.
        """
        if self.axes is None:
            raise InvalidInput(
                "this mechanism doesn't say what its cells are; give it axes, or release by "
                "bdp.DirichletMultinomialSynthesizer with categories or bounds"
            )
        return points_in(self.axes, np.repeat(np.arange(self.cells), output), random)

    def _checked(self, statistic: Any) -> NDArray[np.int64]:
        return check_cell_counts(statistic, self.cells, self.n, self.zeros)

    def _whole(self) -> ConjugateMechanism:
        """The table's law as that of a conjugate release of categories."""
        alpha = tuple(self.alpha.tolist())
        return ConjugateMechanism("categorical", "synthetic_one", self.n or 1, alpha, self.size)

    def _spread(self, possible: Any) -> NDArray[np.int64]:
        """Spread counts of the possible cells over all, with zeros in the others."""
        values = np.asarray(possible, dtype=np.int64)
        made = np.zeros((*values.shape[:-1], self.cells), dtype=np.int64)
        made[..., self.support] = values
        return made
