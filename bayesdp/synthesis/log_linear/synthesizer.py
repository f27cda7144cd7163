"""The log-linear synthesizer: noisy marginals of a table, and records from a model of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, points_in, shape_of
from bayesdp.mechanisms.counts.noisy_marginals import NoisyMarginalsMechanism
from bayesdp.mechanisms.randomness import generator_of
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.release import Part, Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.contingency import Cells, ContingencySynthesizer, Table
from bayesdp.synthesis.log_linear.fit import fit_log_linear
from bayesdp.synthesis.parameters import by_value, check_outside
from bayesdp.synthesis.structural_zeros import zero_masks
from bayesdp.synthesis.table_counts import declared_axes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class LogLinearSynthesizer(ContingencySynthesizer):
    """Synthesize a table with many cells by a hierarchical log-linear model of its marginals.

    The release holds the noisy counts of the marginals (`NoisyMarginalsMechanism`), so that the
    analyst has their exact law, `release.mechanism.logp`. `fitted` is the log-linear model's table
    closest to them, and `records` draws synthetic records from it, any number at no cost.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    marginals : sequence of sequences of str
        Each marginal's columns: the model's highest interactions, ``[("age", "sex"), ("sex",
        "job")]``. Chosen without the data. Each gets the same part of the budget.
    categories : mapping of str to sequence of labels, optional
        The categorical columns of a DataFrame, and all labels that each may have.
    bounds : tuple of two floats, or sequence or mapping of them, optional
        Bounds of the numeric columns, as for `PerturbedHistogramSynthesizer`.
    bins : int or edges, or sequence or mapping of them, optional
        How the bounded columns are cut into intervals; needed with `bounds`.
    outside : {"refuse", "clamp"}
        Whether records outside the bounds are refused, or set to the nearest bound.
    noise : {"laplace", "gaussian"}
        Discrete Laplace noise, whose scale grows with the number of marginals, or discrete Gaussian
        noise, whose scale grows with its square root and which needs a delta.
    delta : float
        The delta, in [0, 1), at which the promise is stated.
    copies : int
        Number of independent releases of the marginals. One is enough for any number of synthetic
        data sets.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. Under replace-one the number of records (in
        each group) is public and in the release.
    zeros : sequence of mapping, array of bool, or callable, optional
        Structural zeros, cells where no record can be, by a public rule: as for
        `DirichletMultinomialSynthesizer`. Counts of such cells alone get no noise, and neither the
        model nor its records have any there. Data that have one are refused, and the refusal
        reveals that.
    groups : sequence of labels, optional
        All groups that may occur. Required for grouped data under add/remove-one, since the groups
        released would otherwise depend on the data. A record is in one group, so that the groups
        together cost as much as one; each has a model of its own.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> columns = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    >>> made = LogLinearSynthesizer(2.0, marginals=[("a", "b"), ("b", "c")], categories=columns)
    >>> release = made.release(counts=[10, 2, 3, 5, 1, 8, 2, 9])
    >>> len(made.records(release, size=50)[0])
    50
    """

    epsilon: float = declared(by_value(check_epsilon))
    marginals: Sequence[Sequence[str]] = ()
    categories: Mapping[str, Sequence[Any]] | None = None
    bounds: Any = None
    bins: Any = None
    outside: str = declared(check_outside, default="refuse")
    noise: str = "laplace"
    delta: float = declared(by_value(check_delta), default=0.0)
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    zeros: Any = None
    groups: Sequence[Any] | None = None

    variable = "value"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._like  # whose own checks raise

    def statistic(self, tally: Table) -> Any:
        """The counts of all marginals."""
        return tuple(self._like.statistic(tally.counts).tolist())

    def mechanisms(self, known: Mapping[Any, Cells]) -> dict[Label, NoisyMarginalsMechanism]:
        """One mechanism for each group; they differ in n alone."""
        made = self._like
        return {
            label: made if one.n is None else dataclasses.replace(made, n=one.n)
            for label, one in known.items()
        }

    @property
    def public_n(self) -> bool:
        """True if the number of records (in each group) is public: under replace-one."""
        return check_neighbours(self.neighbours) is Neighbours.REPLACE_ONE

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, or mapping of label to int, optional
            Not needed: the guarantee is the same for any number of records.
        """
        axes = self._axes()
        sizes = self.sizes(1 if n is None and self.public_n else n)
        shape = shape_of(axes)
        return self.promise({label: Cells(one, axes, shape) for label, one in sizes.items()})

    @staticmethod
    def fitted(release: Release) -> list[NDArray[np.float64]]:
        """Fit the probabilities of all cells: one table for each copy, with one axis a column.

        With groups, take one of them: `fitted(release["a"])`.
        """
        made = _of_marginals(release.mechanism)
        return [
            fit_log_linear(shape_of(made.axes), made.places, made.tables(output), made.possible)
            for output in release.outputs
        ]

    @staticmethod
    def records(
        release: Release, size: int | Mapping[Any, int] | None = None, *, seed: int | None = None
    ) -> list[pd.DataFrame]:
        """Draw synthetic records from the fitted model by post-processing, one DataFrame a copy.

        Parameters
        ----------
        release : Release
            A release of this synthesizer, as drawn or loaded.
        size : int, or mapping of label to int, optional
            Records in each copy (of each group). Default: the number of confidential ones, where it
            is public.
        seed : int, optional
            Seed of the draws, which need no secrecy.

        Raises
        ------
        InvalidInput
            If the release isn't of marginals, or has no public n and `size` isn't given.
        """
        import pandas as pd

        sizes = [_size_of(part, size) for part in release.parts]
        random = generator_of(seed)
        drawn: list[list[pd.DataFrame]] = [[] for _ in range(release.copies)]
        for part, wanted in zip(release.parts, sizes, strict=True):
            made = _of_marginals(part.mechanism)
            alone = release if release.by is None else release[part.group]
            for k, p in enumerate(LogLinearSynthesizer.fitted(alone)):
                cells = random.choice(p.size, wanted, p=p.ravel())
                frame = pd.DataFrame(points_in(made.axes, cells, random))
                if release.by is not None:
                    frame.insert(0, release.by, part.group)
                drawn[k].append(frame)
        return [pd.concat(frames, ignore_index=True) for frames in drawn]

    def _axes(self) -> tuple[Axis, ...]:
        axes = declared_axes(self.bounds, self.categories, self.bins)
        if axes is None or (self.bounds is not None and not isinstance(self.bounds, Mapping)):
            raise InvalidInput(
                "categories is missing; list the columns' labels, or give bounds by their names"
            )
        return axes

    @cached_property
    def _like(self) -> NoisyMarginalsMechanism:
        """The mechanism of any group; where n is public, with a placeholder for it."""
        return NoisyMarginalsMechanism.calibrate(
            epsilon=self.epsilon,
            copies=self.copies,
            delta=self.delta,
            axes=self._axes(),
            marginals=self.marginals,
            noise=self.noise,
            neighbours=check_neighbours(self.neighbours),
            zeros=self._zeros(),
        )

    def _zeros(self) -> tuple[int, ...]:
        axes = self._axes()
        masks = zero_masks(self.zeros, axes, shape_of(axes)).values()
        return tuple(np.flatnonzero(np.any([*masks], axis=0)).tolist()) if masks else ()


def _of_marginals(made: Any) -> NoisyMarginalsMechanism:
    if not isinstance(made, NoisyMarginalsMechanism):
        raise InvalidInput(
            f"release is of mechanism {quoted(made.name)}; give a release of a log-linear "
            "synthesizer"
        )
    return made


def _size_of(part: Part, size: int | Mapping[Any, int] | None) -> int:
    """Number of synthetic records of a copy of one group."""
    asked = size.get(part.group) if isinstance(size, Mapping) else size
    if asked is None and isinstance(size, Mapping):
        raise InvalidInput(
            f"size has no number for the group {quoted(part.group)}; give each group's"
        )
    wanted = _of_marginals(part.mechanism).n if asked is None else asked
    if wanted is None:
        raise InvalidInput(
            "size is missing; the number of records is confidential, so choose one, for "
            "example the sum of a marginal's released counts"
        )
    return check_at_least_one("size", wanted)
