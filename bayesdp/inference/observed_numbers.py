"""Likelihoods of real numbers given a release, in a PyMC model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.sum_views import GivenSumView, NoisySumView, PositiveSumView
from bayesdp.core.vector_views import SeparateNoiseView
from bayesdp.core.views import NoiseView, NormalCopiesView, check_tractable, view_of
from bayesdp.engines.pymc import gamma
from bayesdp.engines.pymc.gaussian import copies_logp
from bayesdp.engines.pymc.noise import noise_logp
from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.exact_release import is_exact, sampled
from bayesdp.inference.gaussian.nuts import observed
from bayesdp.inference.gaussian.release import size_of
from bayesdp.inference.observed_integers import check_shape, shape_of
from bayesdp.inference.unobserved import unlike
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part


def log_law_of(parts: Sequence[Part], statistic: Any, n: int | None, tag: str) -> Any:
    """Log p(outputs | statistic) as a PyTensor expression, up to a constant.

    Parameters
    ----------
    parts : sequence of Part
        One for each group.
    statistic : tensor
        The real numbers that the mechanism randomised, under the model.
    n : int, optional
        Number of confidential records, for modips copies only.
    tag : str
        Suffix of the names of latent variables, where any are needed.
    """
    if is_exact(parts[0].mechanism):
        raise sampled()
    grouped = parts[0].group is not None
    shape = shape_of(parts, _own_shape(parts[0].mechanism))
    check_shape(statistic, shape)
    law: Any = 0.0
    for g, part in enumerate(parts):
        s, name = (statistic[g], f"{tag}_{g}") if grouped else (statistic, tag)
        outputs = np.array(part.outputs, dtype=np.float64)
        if (noise := view_of(part.mechanism, NoiseView)) is not None:
            law = law + _noisy(noise.cell, part, outputs, s)
        elif (apart := view_of(part.mechanism, SeparateNoiseView)) is not None:
            for k, cell in enumerate(apart.cells):
                law = law + _noisy(cell, part, outputs[:, k], s[k])
        else:
            law = law + _copies(part, s, n, name)
    return law


def _own_shape(mechanism: Any) -> tuple[int, ...]:
    """Return the shape of one group's statistic."""
    if (noise := view_of(mechanism, NoiseView)) is not None:
        return noise.shape
    if (apart := view_of(mechanism, SeparateNoiseView)) is not None:
        return apart.shape
    for kind in (NormalCopiesView, PositiveSumView):
        check_tractable(mechanism, kind)
    if (copies := view_of(mechanism, NormalCopiesView)) is not None:
        return () if copies.sd is not None else (2,)
    if view_of(mechanism, PositiveSumView) is not None:
        return ()
    raise unlike(mechanism)


def _noisy(cell: Any, part: Part, outputs: Any, s: Any) -> Any:
    import pytensor.tensor as pt

    if cell.whole and cell.bounding is not None:
        raise InvalidInput(
            f"the noise of {quoted(part.mechanism.name)} is of integers kept in a range, whose law "
            "has no form in a real number; give the integers' distribution, as pm.Binomial.dist"
        )
    law = noise_logp(cell, outputs, s)
    if cell.bounding != "truncated":
        return law.sum()
    low, high = range_of(cell)
    return pt.switch((s >= low) & (s <= high), law, -np.inf).sum()


def _copies(part: Part, s: Any, n: int | None, tag: str) -> Any:
    if view_of(part.mechanism, PositiveSumView) is not None:
        size_of(part, n)  # which refuses another n
    if (given := view_of(part.mechanism, GivenSumView)) is not None:
        return gamma.given_logp(given, part.outputs, s)
    if (sums := view_of(part.mechanism, NoisySumView)) is not None:
        return gamma.copies_logp(import_pymc(), tag, sums, part.outputs, s)
    copies = view_of(part.mechanism, NormalCopiesView)
    if copies is None:
        raise unlike(part.mechanism)
    known = copies.sd is not None
    seen = observed(part, n, "mean", known=known)
    mean, variance = (s, None) if known else (s[0], s[1])
    return copies_logp(import_pymc(), tag, seen, copies, mean, variance)
