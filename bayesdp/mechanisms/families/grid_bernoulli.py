r"""Binary records on cells of the proportion of ones: log posterior, copies and their law.

The law of a copy z given the cell from e to f is (integral of p(z | theta) dtheta) / (f - e). With
theta = sin^2(phi) the likelihood sin^(2 z) cos^(2 (size - z)), and the derivative sin(2 phi) of
theta, are as wide as 1 / (2 sqrt(size)), wherever phi is: the rule is on pieces of that width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.views import View
from bayesdp.mechanisms.counts.count import count_view
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.cell_quadrature import between_edges, rule
from bayesdp.mechanisms.families.grid_model import (
    Copies,
    Floats,
    GridModel,
    Integers,
    MakerOfGridCopies,
    cells_between,
    check_interval_of,
    exact,
)
from bayesdp.mechanisms.randomness import generator
from bayesdp.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class BernoulliGrid:
    """Cells of the proportion of ones.

    Parameters
    ----------
    family : Bernoulli
    """

    family: Bernoulli

    offered: ClassVar[bool] = True
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    most: ClassVar[int] = 1000
    published: ClassVar[bool] = True

    def check_ends(self, grid: Any) -> tuple[float, float]:
        """Return the least and the largest proportion, or raise InvalidInput."""
        return check_interval_of(grid, "from 0 to 1, for example (0.05, 0.95)", within=(0.0, 1.0))

    def model(self, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
        """Make the cells with the log posterior on them; InvalidInput if they are too narrow."""
        edges, middles = cells_between(grid, bins)
        a, b = self.family.prior
        one, zero = np.log(middles), np.log1p(-middles)
        prior = (a - 1) * one + (b - 1) * zero
        unit, none = Fraction(1), Fraction(0)
        if n is None:
            return GridModel(
                edges,
                exact(prior),
                tuple(zip(exact(one), exact(zero), strict=True)),
                (none, none),
                {
                    Neighbours.ADD_REMOVE: ((unit, none), (none, unit)),
                    Neighbours.REPLACE_ONE: ((unit, -unit),),
                },
            )
        return GridModel(
            edges,
            exact(prior + n * zero),
            tuple((logit,) for logit in exact(one - zero)),
            (none,),
            {Neighbours.REPLACE_ONE: ((unit,),)},
        )

    def number_of_records(self, vector: NDArray[Any]) -> Any:
        """Ones and zeros together."""
        return vector.sum()

    def parameters(self, edges: Floats, cells: Integers) -> Floats:
        """Draw a uniform proportion in each of the cells: post-processing."""
        return between_edges(edges, cells)

    def copies(self, mechanism: Copies, theta: Floats) -> NDArray[Any]:
        """Draw a number of ones for each proportion: post-processing."""
        return np.asarray(generator().binomial(mechanism.size, theta), dtype=np.int64)

    def log_given_cell(self, mechanism: Copies, output: Any, edges: Floats) -> Floats:
        """Log Pr[output | theta uniform in each cell]; the outputs' axes, then the cells."""
        z, size, angles = np.asarray(output), mechanism.size, np.arcsin(np.sqrt(edges))
        pieces = math.ceil(float(np.diff(angles).max()) * 2 * math.sqrt(size + 1))
        phi, log_weights = rule(angles, pieces)
        one, zero = 2 * np.log(np.sin(phi)), 2 * np.log(np.cos(phi))
        log_weights = log_weights + np.log(np.sin(2 * phi)) - np.log(np.diff(edges))[:, None]
        logs = np.full((*z.shape, edges.size - 1), -np.inf)
        for each in np.unique(z[(z >= 0) & (z <= size) & (z == np.floor(z))]):
            log_choose = -math.log1p(size) - scipy.special.betaln(each + 1, size - each + 1)
            terms = each * one + (size - each) * zero + log_weights
            logs[z == each] = scipy.special.logsumexp(terms, axis=-1) + log_choose
        return logs

    def views(self, mechanism: MakerOfGridCopies) -> tuple[View, ...]:
        """The view of copies given a count of ones."""
        return (count_view(mechanism),)
