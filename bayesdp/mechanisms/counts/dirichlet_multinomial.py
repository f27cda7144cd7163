r"""The Dirichlet-multinomial mechanism: a synthetic table from a perturbed posterior predictive.

Given counts x of n confidential records in k cells, one copy is a draw

    p ~ Dirichlet(alpha + x),    z ~ Multinomial(size, p),

so z is Dirichlet-multinomial, and only z is released (Machanavajjhala, Kifer, Abowd, Gehrke and
Vilhuber 2008; Abowd and Vilhuber 2008). alpha is the mechanism's prior: public, and chosen for
privacy first. It may be informative: counts of an older, public table, say. Structural zeros, cells
where no record can be, are left out: k and alpha refer to the others.

One copy has epsilon = log(1 + size / min alpha), exactly.

Proof
-----
Write m = size, x for the counts of n records in the k possible cells, alpha for their priors and
A = sum alpha + n. From

    P(z | x) = (m! / prod z_c!) prod (alpha_c + x_c)_{z_c} / (A)_m

with the rising factorial (u)_z, a record added in cell i multiplies the law by

    P(z | x + e_i) / P(z | x) = (u + z_i) / u * A / (A + m),    u = alpha_i + x_i.

*Replace-one* (n fixed), a record of cell j moved to cell i: let u and v be the weights of i and j
without that record. The ratio is [(u + z_i) / u] [v / (v + z_j)], at most 1 + m / u, which is at
most 1 + m / alpha_i, attained at z_i = m, where z_j = 0, with no other record in i; and its
inverse is the same with i and j exchanged. Any cell can be i, for any n >= 1, so

    epsilon = log(1 + m / min alpha),   exactly, for every n >= 1,

that is, min alpha >= m / (exp(epsilon) - 1). How many cells there are doesn't matter.

*Adding a record* raises the probability of z by at most (1 + m / alpha_i) A / (A + m), at z_i = m
and x_i = 0, which approaches 1 + m / min alpha as the records elsewhere grow in number.
*Removing* one raises it by at most (A + m) / A, at z_i = 0 and with A = sum alpha: no other record.
So the add/remove-one epsilon is log(1 + m / min alpha) too, as a supremum over n, and removal
alone has log(1 + m / sum alpha).

Independent copies multiply the ratios at the same data sets: M copies have M times the epsilon.

*With a delta*, under replace-one: the profile of `bayesdp.mechanisms.counts.category_pairs`, which
is the one of `ConjugateMechanism`'s categorical `synthetic_one`. Where n is confidential it is
taken at n = 1: more records elsewhere make the other cells' weight larger, which costs less, and so
do more of them in i or j (both proved there). It needs the two smallest priors and the sum of the
rest.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_one_statistic
from bayesdp.core.outputs.counts import CellCounts
from bayesdp.core.views import DrawnCountsView, ProductTable, RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism, calibrated
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.counts.category_products import one_draw
from bayesdp.mechanisms.counts.cells import Axis, check_axes, counted_by, points_in, shown_by
from bayesdp.mechanisms.counts.table_fields import (
    check_cell_counts,
    check_prior,
    check_size,
    check_zeros,
)
from bayesdp.mechanisms.draws.category_splitting import dirichlet_multinomial_draws
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours, check_neighbours, check_unshown
from bayesdp.privacy.profile import Profile, pure_profile

LARGEST_PROFILE = 10**6
"""Records of a copy up to which delta(epsilon) is summed."""
_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the products below


@dataclass(frozen=True, slots=True)
class DirichletMultinomialMechanism(Mechanism):
    """Release counts z ~ DirichletMultinomial(size, prior + x) given the counts x of n records.

    Parameters
    ----------
    n : int or None
        Number of confidential records, at least 1, where it is public; None where it
        is confidential. A public n has no add/remove neighbours.
    size : int
        Number of synthetic records in a copy, at least 1. Public.
    cells : int
        Number of cells, at least 2, including those in `zeros`.
    prior : float or sequence of floats
        One positive number for all cells, or one for each cell, 0 in those of `zeros`. Public.
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
    Draws are exact; their cost grows with the number of cells, whatever the size
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
        """Make the mechanism with the weakest prior whose `copies` copies keep (epsilon, delta).

        Parameters
        ----------
        proportions : sequence of float, optional
            Numbers that the prior is proportional to, 0 in `zeros`: counts of a public table, say.
            By default the prior is the same in every cell, size / (exp(epsilon / copies) - 1) for
            delta = 0.
        """
        epsilon, delta = check_epsilon(epsilon), check_delta(delta)
        copies, size = check_at_least_one("copies", copies), check_size(size)
        cells, share = check_at_least_one("cells", cells), epsilon / copies
        left_out = check_zeros(zeros, cells)
        weights: Any = check_prior(1.0 if proportions is None else proportions, cells, left_out)
        possible = np.delete(np.broadcast_to(weights, cells), list(left_out))
        ratios = np.asarray(weights) / possible.min()
        # exp(-t) / (1 - exp(-t)): 1 / (exp(t) - 1), without overflow.
        least = size * max(math.exp(-share) / -math.expm1(-share), 1e-300)
        if delta and size <= LARGEST_PROFILE:
            least = _with_delta(n, size, share, delta / copies, possible / possible.min())
        build: Any = cls  # which takes any sequences
        while True:
            prior: Any = (least * ratios).tolist()
            mechanism: DirichletMultinomialMechanism = build(n, size, cells, prior, zeros, axes)
            if mechanism.guarantee(copies=copies, delta=delta).epsilon <= epsilon:
                return mechanism
            least *= _SAFE

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

    def relation(self, neighbours: Any = None) -> Neighbours:
        """Return the neighbouring relation asked for, one of records; else raise InvalidInput."""
        relation = self.neighbours if neighbours is None else check_neighbours(neighbours)
        check_relation(relation, self.n)
        return relation

    def pure_epsilon(self) -> float:
        """Exact epsilon of a copy under either relation, rounded up."""
        return pure_epsilon(self.size, float(self.alpha.min()))

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, tight for one copy under replace-one.

        Under add/remove-one it is what the pure epsilon implies. Delta is summed over a copy's
        records: where there are more than a million, any epsilon but the pure one raises
        InvalidInput.
        """
        copies, one = check_at_least_one("copies", copies), self.pure_epsilon()
        if self.relation(neighbours) is Neighbours.ADD_REMOVE:
            return pure_profile(one, copies, copies * one)
        if self.size > LARGEST_PROFILE:
            return Profile(self._unknown, copies * one)
        known = collapsed(self.n, self.size, self.alpha).profile(copies=copies)
        return dataclasses.replace(known, pure_epsilon=copies * one)

    def _unknown(self, epsilon: float) -> NoReturn:
        raise InvalidInput(
            f"size is {self.size}; the profile of one copy is known up to {LARGEST_PROFILE:,} "
            "records, beyond which there is its pure epsilon alone, guarantee()"
        )

    def pld(self) -> Any:
        """Privacy loss distribution of a copy, for `bdp.compose`; see `Profile.pld`."""
        return self.profile().pld()

    @property
    def source(self) -> str:
        """The proof or publication that its promise rests on."""
        return (
            "bayesdp.mechanisms.counts.dirichlet_multinomial; Machanavajjhala, Kifer, "
            "Abowd, Gehrke and Vilhuber (2008)"
        )

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        return (
            "The size of a copy was chosen without the data." if self.n is None else PUBLIC_N,
            "The cells and the prior were chosen without the data.",
        )

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` independent copies at `delta`.

        Under add/remove-one, and for copies of more than a million records, it is pure whatever the
        delta.

        Raises
        ------
        InvalidInput
            If n is public and `neighbours` is add/remove: n differs between them and is
            released as it is. Or if the relation is not one of records.
        """
        copies, delta = check_at_least_one("copies", copies), check_delta(delta)
        relation = self.relation(neighbours)
        if relation is Neighbours.ADD_REMOVE or self.size > LARGEST_PROFILE:
            delta = 0.0
        return Mechanism.guarantee(self, copies=copies, neighbours=relation, delta=delta)

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record: copies * log(1 + size / sum of the priors)."""
        return dataclasses.replace(
            self.guarantee(copies=copies, neighbours=Neighbours.ADD_REMOVE, delta=delta),
            epsilon=copies * pure_epsilon(self.size, math.fsum(self.alpha)),
        )

    def check_statistic(self, statistic: Any) -> NDArray[np.int64]:
        """Return one table's counts as an array, or raise InvalidInput without showing them."""
        counts = self.check_statistics(statistic)
        check_one_statistic(counts.shape, (self.cells,))
        return counts

    def check_statistics(self, statistic: Any) -> NDArray[np.int64]:
        """Return the counts of one or several tables, shape (..., cells), or raise InvalidInput."""
        return check_cell_counts(statistic, self.cells, self.n, self.zeros)

    def draw(self, statistic: NDArray[np.int64], copies: int) -> NDArray[np.int64]:
        """Draw synthetic counts, as many tables as there are in the statistic."""
        support = self.support
        among = statistic[..., support]
        drawn = np.zeros((copies, *statistic.shape), dtype=np.int64)
        drawn[..., support] = dirichlet_multinomial_draws(
            np.broadcast_to(among, (copies, *among.shape)), self.alpha.tolist(), self.size
        )
        return drawn

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; the cells are the last axis."""
        counts, z = self.check_statistics(statistic), np.asarray(output)
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
        records = RecordsView("bdp.synthesizers.DirichletMultinomialSynthesizer.records(release)")
        return ProductTable(self.cells, len(self.zeros), law), drawn, records

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs where a record moves between the two cells of smallest prior, others elsewhere."""
        return [(self._spread(one), self._spread(other)) for one, other in self._whole().pairs()]

    @property
    def space(self) -> CellCounts:
        """Synthetic counts; with axes, a structured array shows their cells too."""
        shown, counted = shown_by(self.axes), counted_by(self.axes)
        return CellCounts(self.cells, self.size, self.zeros, shown=shown, counted=counted)

    def synthetic(self, output: Any, random: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Make the synthetic records that a copy stands for, shape (size,) for each axis.

        A number is uniform within its interval: post-processing.
        """
        if self.axes is None:
            raise InvalidInput(
                "this mechanism doesn't say what its cells are; give it axes, or release by "
                "bdp.synthesizers.DirichletMultinomialSynthesizer with categories or bounds"
            )
        return points_in(self.axes, np.repeat(np.arange(self.cells), output), random)

    def _whole(self) -> ConjugateMechanism:
        """The conjugate release of categories whose law is the table's."""
        alpha = tuple(self.alpha.tolist())
        return ConjugateMechanism("categorical", "synthetic_one", self.n or 1, alpha, self.size)

    def _spread(self, possible: Any) -> NDArray[np.int64]:
        """Spread counts of the possible cells over all, with zeros in the others."""
        values = np.asarray(possible, dtype=np.int64)
        made = np.zeros((*values.shape[:-1], self.cells), dtype=np.int64)
        made[..., self.support] = values
        return made


def _with_delta(
    n: int | None, size: int, epsilon: float, delta: float, ratios: NDArray[np.float64]
) -> float:
    """Find the smallest least prior with which a copy keeps (epsilon, delta)."""

    def at(strength: float) -> ConjugateMechanism:
        return collapsed(n, size, strength * ratios)

    made = calibrated(at, least=1e-100, epsilon=epsilon, delta=delta)
    return float(min(made.prior))


def share_of_a_move(epsilon: float, copies: int, r: float) -> float:
    """Epsilon to calibrate each group to, where a record may move between two.

    A move costs, per copy, log(1 + t / r) + log(1 + t) with t = size / smallest prior and r the sum
    of the priors over the smallest: the removal from one group and the addition to another. It
    equals epsilon / copies at the positive root of
    t^2 / r + (1 + 1 / r) t = exp(epsilon / copies) - 1.
    """
    excess, linear = math.expm1(min(epsilon / copies, 600.0)), 1 + 1 / r
    t = 2 * excess / (linear + math.sqrt(linear * linear + 4 * excess / r))
    return copies * math.log1p(t)


def pure_epsilon(size: int, weight: float) -> float:
    """Pure epsilon log(1 + size / weight), rounded up."""
    return math.log1p(size / weight) * _SAFE


def collapsed(n: int | None, size: int, alpha: NDArray[np.float64]) -> ConjugateMechanism:
    """The release with the same privacy profile and one category for all but the two worst."""
    few = np.sort(alpha)
    if few.size > 3:
        few = np.append(few[:2], math.fsum(few[2:]))
    return ConjugateMechanism("categorical", "synthetic_one", n or 1, tuple(few.tolist()), size)


def check_relation(relation: Neighbours, n: int | None) -> None:
    """Raise unless a table of n records has that relation; n is None where confidential."""
    if relation not in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE):
        raise InvalidInput(
            f"neighbours is {quoted(relation.value)}; a table of records has 'replace_one' and "
            "'add_remove'"
        )
    check_unshown(relation, n)
