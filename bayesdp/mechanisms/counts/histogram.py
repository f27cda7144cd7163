"""The perturbed histogram: counts of disjoint cells plus discrete Laplace noise, none below 0.

Adding or removing a record moves one count by 1: L1 sensitivity 1. Replacing one moves at most two
counts by 1 each: 2. Setting negative counts to 0 is post-processing. So epsilon = 1 / scale or 2 /
scale for each copy, exactly (`bayesdp.mechanisms.noise.laplace`). Dwork, McSherry, Nissim and Smith
(2006); Wasserman and Zhou (2010) draw synthetic records from such counts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.outputs.numbers import Numbers
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, check_axes, drawn, shown_by
from bayesdp.mechanisms.noise.additive import AdditiveNoise, noise_space, noise_views
from bayesdp.mechanisms.noise.laplace import DiscreteLaplaceMechanism, laplace_profile
from bayesdp.mechanisms.noise.laws import LaplaceNoise
from bayesdp.privacy.neighbours import Neighbours, check_neighbours, check_unshown

_SENSITIVITY = {Neighbours.ADD_REMOVE: 1, Neighbours.REPLACE_ONE: 2}


@dataclass(frozen=True, slots=True)
class PerturbedHistogramMechanism(AdditiveNoise):
    """Release max(0, count + discrete Laplace noise) for each cell of a histogram.

    Every record is counted in exactly one cell; the cells are fixed without the data.

    Parameters
    ----------
    scale : float
        Scale of the noise, in records.
    cells : int
        Number of cells.
    neighbours : Neighbours
        Add/remove-one or replace-one: the relation of its promise where no other is asked for. It
        has a promise under both.
    n : int, optional
        Number of records, where it is public: not under add/remove-one.
    axes : sequence of `bayesdp.mechanisms.counts.cells.Axis`, optional
        What the cells are: all combinations of the axes' bins, the last moving fastest. Public.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> histogram = bdp.mechanisms.PerturbedHistogramMechanism.calibrate(epsilon=0.5, cells=3)
    >>> release = bdp.publish(histogram, [120, 45, 9])
    >>> print(release.guarantee)
    epsilon = 0.5 (add_remove, proved)
    """

    scale: float
    cells: int
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    n: int | None = None
    axes: tuple[Axis, ...] | None = None

    name: ClassVar[str] = "perturbed_histogram"
    complete: ClassVar[bool] = True
    norm: ClassVar[str] = "L1"
    law: ClassVar[type[LaplaceNoise]] = LaplaceNoise
    source: ClassVar[str] = (
        "bayesdp.mechanisms.counts.histogram; Dwork, McSherry, Nissim and Smith (2006)"
    )
    bounds: ClassVar[tuple[int, None]] = (0, None)
    bounding: ClassVar[str] = "inflated"
    profile = laplace_profile

    def __post_init__(self) -> None:
        if self.cells is None:
            raise InvalidInput("cells is None; give the number of cells, a whole number")
        relation = check_neighbours(self.neighbours)
        self._spanned(relation)
        noise = DiscreteLaplaceMechanism(
            self.scale, _SENSITIVITY[relation], relation, self.cells, (0, None), "inflated", self.n
        )
        checked: dict[str, Any] = {"scale": noise.scale, "cells": noise.dimension, "n": noise.n}
        checked |= {"neighbours": relation, "axes": check_axes(self.axes, self.cells)}
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def sensitivity(self) -> float:
        """L1 sensitivity of the counts under `neighbours`: 1, or 2 under replace-one."""
        return float(_SENSITIVITY[self.neighbours])

    @property
    def dimension(self) -> int:
        """The number of cells."""
        return self.cells

    @property
    def cell(self) -> DiscreteLaplaceMechanism:
        """The mechanism's noise on a single count."""
        return DiscreteLaplaceMechanism(self.scale, bounds=self.bounds, bounding=self.bounding)

    @property
    def views(self) -> tuple[View, ...]:
        """View of noise on counts of categories, from which records can be drawn."""
        way = "bdp.synthesizers.PerturbedHistogramSynthesizer.records(release, size)"
        return (*noise_views(self), RecordsView(way))

    @property
    def space(self) -> Numbers:
        """Released counts; with axes, a structured array shows their cells too."""
        return dataclasses.replace(noise_space(self), shown=shown_by(self.axes))

    def synthetic(
        self, output: Any, size: int, random: np.random.Generator
    ) -> dict[str, NDArray[Any]]:
        """Draw records from released counts: post-processing, which costs nothing.

        A cell is drawn with probability proportional to its count or, where all counts are 0, to
        its volume, and then a point uniform in it (Wasserman and Zhou 2010). One array of shape
        (size,) for each axis.
        """
        if self.axes is None:
            raise InvalidInput(
                "this histogram doesn't say what its cells are; give the mechanism axes, or "
                "release by bdp.synthesizers.PerturbedHistogramSynthesizer"
            )
        return drawn(self.axes, output, check_at_least_one("size", size), random)

    def _spanned(self, relation: Neighbours) -> Fraction:
        if relation not in _SENSITIVITY:
            raise InvalidInput(
                f"neighbours is {quoted(relation.value)}; a histogram of records has 'add_remove' "
                "and 'replace_one'"
            )
        check_unshown(relation, self.n)
        return Fraction(_SENSITIVITY[relation], _SENSITIVITY[self.neighbours])

    def _stated(self) -> str:
        return "Every record is in one cell, and the cells were fixed without the data."
