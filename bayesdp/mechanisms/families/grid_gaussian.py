r"""Normal records with a known sd on cells of their mean: log posterior, copies and their law.

The law of a copy y given the cell from e to f is (integral of p(y | theta) dtheta) / (f - e). The
log-likelihood bends by at most size / sd^2, and the rule is on pieces of 3 sd / sqrt(size).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesdp.core.views import IntractableView, MeanLaw, NormalView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.cell_quadrature import between_edges, rule
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.gaussian_draws import records_around
from bayesdp.mechanisms.families.gaussian_laws import GaussianRecords, log_sums
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
from bayesdp.mechanisms.families.normal_views import COMBINE, statistics_of
from bayesdp.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class GaussianGrid:
    """Cells of the mean of normal records.

    Parameters
    ----------
    family : Gaussian
    """

    family: Gaussian

    most: ClassVar[int] = 1000
    published: ClassVar[bool] = True

    @property
    def offered(self) -> bool:
        """True where sd is known."""
        return self.family.sd is not None

    @property
    def ends(self) -> tuple[float, float]:
        """The records' bounds."""
        return self.family.bounds

    def check_ends(self, grid: Any) -> tuple[float, float]:
        """Return the least and the largest mean, or raise InvalidInput."""
        return check_interval_of(grid, "for example (-4, 4)", within=(-math.inf, math.inf))

    def model(self, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
        """Make the cells with the log posterior on them; InvalidInput if they are too narrow."""
        family, (edges, middles) = self.family, cells_between(grid, bins)
        variance, centre = Fraction(family.sd or 0) ** 2, Fraction(family.middle)
        away = [Fraction(theta) - centre for theta in middles.tolist()]
        prior = np.zeros(middles.size)
        if family.prior is not None:
            prior = -(((middles - family.prior[0]) / family.prior[1]) ** 2) / 2
        h = Fraction(family.numbers(n)[-1].sensitivity)
        none, unit = Fraction(0), Fraction(1)
        if n is None:
            return GridModel(
                edges,
                exact(prior),
                tuple((-(t**2) / variance / 2, t / variance) for t in away),
                (none, none),
                {
                    Neighbours.ADD_REMOVE: ((unit, h), (unit, -h)),
                    Neighbours.REPLACE_ONE: ((none, 2 * h),),
                },
            )
        return GridModel(
            edges,
            tuple(p - n * t**2 / variance / 2 for p, t in zip(exact(prior), away, strict=True)),
            tuple((n * t / variance,) for t in away),
            (centre,),
            {Neighbours.REPLACE_ONE: ((h,),)},
        )

    def number_of_records(self, vector: NDArray[Any]) -> Any:
        """The first of the statistic's numbers, where n is confidential."""
        return vector[0]

    def parameters(self, edges: Floats, cells: Integers) -> Floats:
        """Draw a uniform mean in each of the cells: post-processing."""
        return between_edges(edges, cells)

    def copies(self, mechanism: Copies, theta: Floats) -> NDArray[Any]:
        """Draw sorted records around each mean: post-processing."""
        sd = np.full(theta.shape, float(self.family.sd or 0))
        return records_around(self.family, theta, sd, mechanism.size, mechanism.bounding)

    def log_given_cell(self, mechanism: Copies, output: Any, edges: Floats) -> Floats:
        """Log density of outputs given theta uniform in each cell; their axes, then the cells."""
        y = np.asarray(output, dtype=np.float64)
        if y.ndim == 0 or y.shape[-1] != mechanism.size:
            raise InvalidInput(f"output has shape {y.shape}; it must be (..., {mechanism.size})")
        records = GaussianRecords(self.family, mechanism.bounding, y)
        width = edges[1] - edges[0]
        pieces = math.ceil(width * math.sqrt(mechanism.size) / (3 * float(self.family.sd or 0)))
        theta, weights = rule(edges, pieces)
        logs = np.full((*y.shape[:-1], edges.size - 1), -np.inf)
        for c, (points, log_weights) in enumerate(zip(theta, weights, strict=True)):
            terms = records.log_likelihood(points) + log_weights
            log_width = math.log(edges[c + 1] - edges[c])
            logs[..., c] = scipy.special.logsumexp(terms, axis=-1) - log_width
        return np.where(records.inside[..., None], logs, -np.inf)

    def views(self, mechanism: MakerOfGridCopies) -> tuple[View, ...]:
        """The view of copies given the mean, or why there is none."""
        if not mechanism.tractable:
            made = quoted(mechanism.method)
            why = f"the copies are by {made}, whose law is intractable; {COMBINE}"
            return (IntractableView(NormalView, why),)
        family, n = self.family, mechanism.n
        law = partial(self._law_of_mean, mechanism)
        return (NormalView(n, family.bounds, family.sd, statistics_of(family, n), law),)

    def _law_of_mean(self, mechanism: MakerOfGridCopies, outputs: Sequence[Any], n: int) -> MeanLaw:
        """The law of copies given the mean of n records: a sum over the cells.

        Their probabilities are a softmax of power n (theta_c mean - theta_c^2 / 2) / sd^2, of cells
        of width h, which varies no faster in the mean than a normal density of variance
        sd^2 / (power n), or where h is wider than that than the step from one cell to the next.
        """
        edges = mechanism.model.edges
        given = self.log_given_cell(mechanism, np.array(outputs), edges)
        precision = mechanism.power * n / float(self.family.sd or 0) ** 2
        width = float(np.diff(edges).max())
        scale = min(precision**-0.5, 1 / (precision * width))

        def logp(means: Floats) -> Floats:
            within = np.clip(means, *self.family.bounds)
            cells = mechanism.log_cells(statistics_of(self.family, mechanism.n)(n, within, None))
            return np.asarray(log_sums(cells, given).sum(axis=1))

        return MeanLaw(scale, logp)
