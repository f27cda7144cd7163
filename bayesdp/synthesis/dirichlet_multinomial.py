"""The Dirichlet-multinomial synthesizer: a contingency table in, private copies of it out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, is_number, keep
from bayesdp.core.fields import declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.mechanisms.counts.cells import Axis, check_order, shape_of
from bayesdp.mechanisms.counts.dirichlet_multinomial import (
    DirichletMultinomialMechanism,
    share_of_a_move,
)
from bayesdp.mechanisms.randomness import generator_of
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.contingency import Cells, ContingencySynthesizer
from bayesdp.synthesis.parameters import by_value, check_cost, check_outside, check_size
from bayesdp.synthesis.structural_zeros import zero_masks
from bayesdp.synthesis.table_counts import declared_axes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class DirichletMultinomialSynthesizer(ContingencySynthesizer):
    """Synthesize a contingency table as independent Dirichlet-multinomial copies.

    Machanavajjhala, Kifer, Abowd, Gehrke and Vilhuber's synthesizer (2008): each copy is `size`
    records from the posterior predictive of the cells' probabilities. It costs
    log(1 + size / smallest prior), however many cells there are.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies. Each prior is then the smallest within it,
        size / (exp(epsilon / copies) - 1), and a little more for groups between which a record
        may move.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    size : int, optional
        Synthetic records per copy (per group). Default: the number of confidential records, which
        is possible only where that is public.
    prior : float or array of float, optional
        Prior counts, one for all cells or a table of them, chosen without the data: an older,
        public table, say. With `epsilon`, all are multiplied by the one number at which the copies
        cost that; without it they are used as they are, and the release reports its epsilon.
    zeros : sequence of mapping, array of bool, or callable, optional
        Structural zeros: cells where no record can be, by a public rule. Rules such as
        ``[{"sex": "male", "pregnant": "yes"}]``; or a mask over the table; or a function of a
        DataFrame of all cells that returns a mask. Copies have no record there. Data that have one
        are refused, and the refusal reveals that.
    categories : mapping of str to sequence of labels, optional
        The categorical columns of a DataFrame, and all labels that each may have. Without
        `categories` and `bounds`, give the counts.
    bounds : tuple of two floats, or sequence or mapping of them, optional
        Bounds of the numeric columns, as for `PerturbedHistogramSynthesizer`.
    bins : int or edges, or sequence or mapping of them, optional
        How the bounded columns are cut into intervals; needed with `bounds`.
    outside : {"refuse", "clamp"}
        Whether records outside the bounds are refused, or set to the nearest bound.
    delta : float
        The delta, in [0, 1), at which the promise is stated: with a positive one, the prior may be
        smaller. Used under replace-one, and for at most a million records in each copy.
    public_n : bool
        Whether the number of records (in each group) is public. If it is, it is written
        into the release and not protected. If not, neither it nor a record's group is revealed,
        add/remove-one is protected like replace-one, and `size` must be given.
    groups : sequence of labels, optional
        All groups that may occur. Required for grouped data where n is confidential, since
        the groups released would otherwise depend on the data.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> synthesizer = DirichletMultinomialSynthesizer(epsilon=2.0, copies=1)
    >>> release = synthesizer.release(counts=[[12, 3], [0, 5]])
    >>> sum(release.outputs[0])
    20
    """

    epsilon: float | None = None
    copies: int = declared(check_at_least_one, default=5)
    size: int | None = None
    prior: Any = None
    zeros: Any = None
    categories: Mapping[str, Sequence[Any]] | None = None
    bounds: Any = None
    bins: Any = None
    outside: str = declared(check_outside, default="refuse")
    delta: float = declared(by_value(check_delta), default=0.0)
    public_n: bool = True
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, epsilon=check_cost(self.epsilon, self.prior))
        keep(self, size=check_size(self.size, self.public_n))
        self._axes()

    def guarantee(self, n: Any = None, *, cells: int | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int or mapping of label to int, optional
            The public number of records (of each group); not needed where n is
            confidential.
        cells : int, optional
            The number of cells, where there are neither categories nor bounds.
        """
        sizes, axes = self.sizes(n), self._axes()
        if axes is None and cells is None:
            raise InvalidInput("cells is missing; without categories or bounds, say how many")
        shape = shape_of(axes) if axes else (check_at_least_one("cells", cells),)
        return self.promise({label: Cells(one, axes, shape) for label, one in sizes.items()})

    @staticmethod
    def records(release: Release, *, seed: int | None = None) -> list[pd.DataFrame]:
        """Draw the synthetic records of a release, one DataFrame for each copy: post-processing.

        Numbers are uniform within their intervals. The rows are sorted by their cells.

        Parameters
        ----------
        release : Release
            A release of this synthesizer, as drawn or loaded.
        seed : int, optional
            Seed for the numbers within their intervals, which need no secrecy.

        Raises
        ------
        InvalidInput
            If the release isn't of such a table, or its cells have no names.
        """
        return _record_frames(release, seed)

    def _axes(self) -> tuple[Axis, ...] | None:
        return declared_axes(self.bounds, self.categories, self.bins)

    def mechanisms(self, known: Mapping[Any, Cells]) -> dict[Label, DirichletMultinomialMechanism]:
        """One mechanism for each group, from public numbers alone, together within `epsilon`."""
        first = next(iter(known.values()))
        axes, shape = first.axes, first.shape
        cells, masks = math.prod(shape), zero_masks(self.zeros, axes, shape)
        excluded = reduce(np.logical_or, masks.values(), np.zeros(cells, dtype=bool))
        zeros = tuple(np.flatnonzero(excluded).tolist())
        check_order("prior", self.prior, axes)
        weights = self._weights(shape, excluded)
        moving = not self.public_n and len(known) > 1
        share, delta = self.epsilon, 0.0 if moving else self.delta
        if share is not None and moving:
            positive = weights[weights > 0] if np.ndim(weights) else np.ones(cells - len(zeros))
            share = share_of_a_move(share, self.copies, float(positive.sum() / positive.min()))

        def made(n: int | None) -> DirichletMultinomialMechanism:
            size = n if self.size is None else self.size
            if size is None:
                raise InvalidInput("n is missing; without a size, it is the size of a copy")
            if share is None:
                return DirichletMultinomialMechanism(n, size, cells, weights, zeros, axes)
            return DirichletMultinomialMechanism.calibrate(
                n=n,
                size=size,
                cells=cells,
                epsilon=share,
                copies=self.copies,
                delta=delta,
                proportions=weights if np.ndim(weights) else None,
                zeros=zeros,
                axes=axes,
            )

        while True:
            chosen = {label: made(one.n) for label, one in known.items()}
            cost = joint_guarantee(list(chosen.values()), self.copies, self.delta).epsilon
            if self.epsilon is None or share is None or cost <= self.epsilon:
                return chosen
            share *= 1 - 2.0**-50

    def _weights(self, shape: tuple[int, ...], excluded: NDArray[np.bool_]) -> Any:
        """Return the prior as given: one number, or one for each cell, 0 in structural zeros."""
        if self.prior is None or is_number(self.prior):
            return self.prior
        given = np.asarray(self.prior)
        if given.dtype.kind not in "iuf" or given.shape not in (shape, (math.prod(shape),)):
            raise InvalidInput(
                f"prior has type {given.dtype} and shape {given.shape}; it must be a number, or a "
                f"table of numbers of shape {shape}"
            )
        return np.where(excluded, 0.0, given.ravel())


def _record_frames(release: Release, seed: int | None) -> list[pd.DataFrame]:
    """Draw the synthetic records of a table's release, one DataFrame for each copy."""
    import pandas as pd

    for part in release.parts:
        if not isinstance(part.mechanism, DirichletMultinomialMechanism):
            raise InvalidInput(
                f"release is of mechanism {quoted(part.mechanism.name)}; give a release of a "
                "Dirichlet-multinomial table"
            )
    random = generator_of(seed)
    frames = []
    for k in range(release.copies):
        parts = []
        for part in release.parts:
            mechanism: Any = part.mechanism
            frame = pd.DataFrame(mechanism.synthetic(part.outputs[k], random))
            if release.by is not None:
                frame.insert(0, release.by, part.group)
            parts.append(frame)
        frames.append(pd.concat(parts, ignore_index=True))
    return frames
