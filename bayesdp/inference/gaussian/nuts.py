"""Description of releases to NUTS, by PyMC or Stan, for a Gaussian model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.views import NoiseView, NormalCopiesView, check_tractable, view_of
from bayesdp.engines.observed_normals import Observed
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.gaussian.release import is_smooth, seen_mean, seen_pair
from bayesdp.release import Part


def all_observed(
    parts: Sequence[Part],
    sd: float | None,
    sizes: Sequence[int | None],
    statistic: str,
    engine: str,
) -> list[Observed]:
    """Check and describe all parts of a release; see `observed`, whose engine this names."""
    known = sd is not None
    return [
        observed(part, n, statistic, known=known, engine=engine)
        for part, n in zip(parts, sizes, strict=True)
    ]


def observed(
    part: Part, n: int | None, statistic: str, *, known: bool, engine: str = "pymc"
) -> Observed:
    """Check a release as for the exact engine, and describe it to NUTS.

    Parameters
    ----------
    part : Part
    n : int or None
        The number of records, as the analyst gives it.
    statistic : {"mean", "sum"}
        The statistic that noise was added to.
    known : bool
        Whether sd is known.
    engine : {"pymc", "stan"}
        The engine that is to sample; Stan's programs have no copies.

    Raises
    ------
    InvalidInput
        If the model doesn't fit the release, or its law is one that NUTS can't sample from.
    """
    mechanism: Any = part.mechanism
    if known:
        seen = seen_mean(part, n, statistic)
        size, means, variances = seen.n, seen.ends, None
    else:
        pair = seen_pair(part, n, statistic)
        size, means = pair.n, pair.means
        variances = max(pair.variances[0], 0.0), pair.variances[1]
    check_tractable(mechanism, NormalCopiesView)
    if not is_smooth(mechanism):
        copies_too = " and from modips copies" if engine == "pymc" else ""
        raise InvalidInput(
            f"engine is {quoted(engine)}, which samples from noise on real numbers{copies_too}, "
            f"but this release is by {quoted(mechanism.name)}; "
            "use bdp.GaussianModel with engine='exact'"
        )
    sums = statistic == "sum"
    if (copies := view_of(mechanism, NormalCopiesView)) is not None:
        if engine == "stan":
            raise InvalidInput(
                "engine is 'stan', whose program reads noisy numbers alone, but this release is of "
                "modips copies; use engine='pymc', which reads them too"
            )
        y, (low, high) = np.array(part.outputs), copies.bounds
        at_bound = (np.ptp(y, axis=1) == 0) & ((y[:, 0] <= low) | (y[:, 0] >= high))
        if not known and np.any(at_bound):
            raise InvalidInput(
                "engine is 'pymc', but a copy has all its records at a bound, for either of two "
                "reasons, which NUTS doesn't sum over; use bdp.GaussianModel with engine='exact'"
            )
        return Observed(part, size, False, means, variances)
    noise = view_of(mechanism, NoiseView)
    if noise is None or noise.cell.bounding != "truncated":
        return Observed(part, size, sums)
    if sums and not known:
        raise InvalidInput(
            f"engine is {quoted(engine)}, but the sum of squares was kept in a range, which ties "
            "the mean to the variance; use bdp.GaussianModel with engine='exact'"
        )
    return Observed(part, size, sums, means, variances)
