"""Releases as a Gaussian model reads them: the mechanisms it takes, and their likelihoods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import is_number
from bayesdp.core.views import (
    ExactView,
    IntegersView,
    NoiseView,
    NormalCopiesView,
    NormalView,
    check_tractable,
    view_of,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise, noise_from, noise_from_moments
from bayesdp.inference.exact_release import checked_value, is_exact
from bayesdp.inference.gaussian.mean import (
    Seen,
    seen_through_law,
    seen_through_noise,
)
from bayesdp.inference.gaussian.pair import SeenPair
from bayesdp.inference.gaussian.pair_copies import pair_through_copies
from bayesdp.inference.gaussian.pair_noise import pair_through_noise
from bayesdp.inference.readers import instead
from bayesdp.inference.several import Releases, agreed_size, releases_of
from bayesdp.inference.sizes import sizes_of_parts
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.release import Part, Release
from bayesdp.warned import warn_about

Floats = NDArray[np.float64]

_SMALLEST = 1e-100
_WARN_OUTSIDE = 0.01

TAKES = (
    "modips copies of Gaussian records, with n public where sd is unknown (bdp.ModipsSynthesizer "
    "with bdp.families.Gaussian, by 'sbs', 'sdd' or 'sphc'), "
    "Gaussian ConjugateMechanism, and a noisy mean or sum, or with sd unknown mean and variance or "
    "sum and sum of squares, by LaplaceMechanism, GaussianMechanism, DiscreteLaplaceMechanism or "
    "DiscreteGaussianMechanism, or such numbers exactly by "
    "bdp.distributional.ExactStatisticMechanism"
)


def size_of(part: Part, n: int | None) -> int:
    """The number of records, as the release or the analyst says it.

    Raises
    ------
    InvalidInput
        If neither does, or they differ.
    """
    size = agreed_size([part], n)
    if size is None:
        raise InvalidInput(
            "n isn't in this release; give the model the number of records that was released "
            "elsewhere, as n=1000"
        )
    return size


def unlike(mechanism: Any) -> InvalidInput:
    """The error for a mechanism that a Gaussian model has no law of."""
    return InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} doesn't randomise what a GaussianModel "
        f"can read; it takes {TAKES}; {instead(mechanism)}"
    )


def is_noise(mechanism: Any) -> bool:
    """Return True if noise was added to numbers that may be of normal records."""
    counts = view_of(mechanism, IntegersView)
    return view_of(mechanism, NoiseView) is not None and not (counts and counts.complete)


def is_of_normal(mechanism: Any) -> bool:
    """Return True if its outputs have a law given one mean, or a mean and a variance."""
    exact, noise = view_of(mechanism, ExactView), view_of(mechanism, NoiseView)
    if exact is not None:
        return exact.shape in ((), (2,))
    if noise is not None:
        return is_noise(mechanism) and noise.shape in ((), (2,))
    return view_of(mechanism, NormalView) is not None


def check_read(mechanism: Any) -> None:
    """Raise InvalidInput unless a Gaussian model may have the law of the mechanism's outputs."""
    if is_of_normal(mechanism):
        return
    check_tractable(mechanism, NormalView)
    raise unlike(mechanism)


def is_smooth(mechanism: Any) -> bool:
    """Return True if a mechanism's law has a gradient in the statistic, nearly everywhere."""
    if view_of(mechanism, NormalCopiesView) is not None:
        return True
    noise = view_of(mechanism, NoiseView)
    return noise is not None and is_noise(mechanism) and not noise.cell.whole


def seen_mean(part: Part, n: int | None, statistic: Any) -> Seen:
    """Read the likelihood of the mean from a part, where sd is known.

    Parameters
    ----------
    part : Part
    n : int or None
        The number of records, as the analyst gives it.
    statistic : {"mean", "sum"}
        The statistic that noise was added to.
    """
    normal = view_of(part.mechanism, NormalView)
    if normal is None:
        check_tractable(part.mechanism, NormalView)
    else:
        size = size_of(part, n)
        if normal.sd is None:
            raise InvalidInput(
                "the copies are of records whose standard deviation was unknown, but the model "
                "has sd; leave it out of the model"
            )
        return seen_through_law(part, normal, size)
    noise, size = _noise_of(part.mechanism), size_of(part, n)
    if noise.shape:
        raise InvalidInput(
            "the release is of a vector, but with sd known a Gaussian model reads one number; "
            "leave sd out of the model if the numbers are a mean and a variance"
        )
    return seen_through_noise(part, noise.cell, size, size if statistic == "sum" else 1.0)


def seen_pair(part: Part, n: int | None, statistic: str) -> SeenPair:
    """Read the likelihood of mean and variance from a part, where sd is unknown."""
    normal = view_of(part.mechanism, NormalView)
    if normal is not None and normal.sd is not None:
        raise InvalidInput(
            "the release is of records whose standard deviation was known, "
            f"{quoted(normal.sd)}, and carries no information about it; give the model sd"
        )
    check_tractable(part.mechanism, NormalView)
    if (copies := view_of(part.mechanism, NormalCopiesView)) is not None:
        size_of(part, n)
        return pair_through_copies(part, copies)
    noise, size = _noise_of(part.mechanism), size_of(part, n)
    if noise.shape != (2,) or size < 2:
        raise InvalidInput(
            "with sd unknown, a Gaussian model reads two numbers of 2 records or more: mean and "
            "variance, or sum and sum of squares; give the model sd if it is known"
        )
    return pair_through_noise(part, noise.cell, size, statistic)


def _noise_of(mechanism: Any) -> NoiseView:
    """Return the view of numbers with noise, or raise InvalidInput."""
    noise = view_of(mechanism, NoiseView)
    if noise is None or not is_noise(mechanism):
        raise unlike(mechanism)
    return noise


def noises_of_normal(
    groups: Sequence[Sequence[Part]],
    sd: float | None,
    sizes: Sequence[int | None],
    statistic: str,
) -> list[Noise]:
    """Compute the least noise that explains each group's outputs."""
    noises: list[Noise] = []
    for parts, n in zip(groups, sizes, strict=True):
        noises += (
            noises_of_means(parts) if sd is not None else noises_of_moments(parts, n, statistic)
        )
    return noises


def noises_of_means(parts: Sequence[Part]) -> Iterator[Noise]:
    """Compute the least noise that explains a group's noisy means or sums by any single one."""
    return noise_from([part for part in parts if is_noise(part.mechanism)], -math.inf, math.inf)


def noises_of_moments(parts: Sequence[Part], n: int | None, statistic: str) -> Iterator[Noise]:
    """Compute the least noise that explains a group's noisy moments by those of records."""
    noisy = [part for part in parts if is_noise(part.mechanism)]
    if statistic == "mean":
        yield from noise_from(noisy, (-math.inf, 0.0), math.inf)
        return
    apart = list(noise_from(noisy, -math.inf, math.inf))
    alone = 0.0
    for part in noisy:
        cell = _noise_of(part.mechanism).cell
        z = np.array(part.outputs, dtype=np.float64)
        rows = [np.full(len(z), size_of(part, n)), z[:, 0], z[:, 0], z[:, 1]]
        matrices = np.stack(rows, axis=-1).reshape(-1, 2, 2)
        scales = np.full(len(z), cell.scale)
        gaussian = np.full(len(z), not cell.noise.laplace)
        alone += sum(each.needed for each in noise_from_moments(matrices, scales, gaussian))
    together = sum(each.needed for each in apart)
    yield Noise(max(alone, together), sum(each.numbers for each in apart))


def naive_size(part: Part, n: Any, model: str) -> int:
    """Return the number of records that a naive analysis takes; of copies' records, any.

    Raises
    ------
    InvalidInput
        If it is unknown, and what was released aren't records.
    """
    sizes = sizes_of_parts(n, [part], model)
    if len(sizes) > 1 and not getattr(part.mechanism, "size", None):
        raise InvalidInput(
            "n has a prior, and noisy numbers aren't the moments of records without a number of "
            "these: there is no naive posterior; use fit()"
        )
    return sizes[0][0]


def naive_mean(part: Part, n: int | None, statistic: Any) -> tuple[int, float]:
    """Return the number of records and their mean, as if copies or noisy numbers were real."""
    if is_exact(part.mechanism):
        size = size_of(part, n)
        return size, float(checked_value(part, None)) / (size if statistic == "sum" else 1)
    seen = seen_mean(part, n, statistic)
    if getattr(part.mechanism, "size", None):
        records = np.concatenate([part.mechanism.records(z) for z in part.outputs])
        return int(records.size), float(records.mean())
    unit = seen.n if is_noise(part.mechanism) and statistic == "sum" else 1
    return seen.n, float(np.mean(part.outputs)) / unit


def naive_pair(part: Part, n: int | None, statistic: str) -> tuple[int, float, float]:
    """Return number, mean and variance of records, as if copies or noisy numbers were real.

    Raises
    ------
    InvalidInput
        If noise has left a variance that isn't positive.
    """
    if is_exact(part.mechanism):
        size = size_of(part, n)
        checked_value(part, 2)
    else:
        size = seen_pair(part, n, statistic).n
    if view_of(part.mechanism, NormalCopiesView) is not None:
        records = np.concatenate([part.mechanism.records(z) for z in part.outputs])
        return int(records.size), float(records.mean()), float(records.var(ddof=1))
    mean, variance = np.mean(part.outputs, axis=0).tolist()
    if statistic == "sum":
        mean, squares = mean / size, variance
        variance = (squares - size * mean**2) / (size - 1)
    if variance <= 0:
        raise InvalidInput(
            "the noisy numbers are those of no records: their variance isn't positive, so there "
            "is no naive posterior"
        )
    return size, mean, variance


def told_shares(releases: Releases, mu: Floats, sd: float | Floats) -> dict[str, str]:
    """Expected share of normal records beyond their public bounds, for a fit's attrs.

    The largest share over releases and groups, as "expected_share_outside_bounds"; empty where no
    release has bounds.

    Parameters
    ----------
    releases : Release, or several in a list
    mu, sd : ndarray, shape (chains, draws) or (chains, draws, groups), or float
        Draws from the posterior.

    Warns
    -----
    UserWarning
        If it is above 1%.
    """
    shares = [share for each in releases_of(releases) for share in _shares_outside(each, mu, sd)]
    return told_largest(shares, stacklevel=6)


def told_largest(shares: Sequence[float], *, stacklevel: int) -> dict[str, str]:
    """Tell the largest of expected shares of records beyond public bounds, for a fit's attrs.

    Parameters
    ----------
    shares : sequence of float
        Of each release, group and column; empty where there are no bounds.
    stacklevel : int
        Of the warning, as `warnings.warn` takes it.

    Warns
    -----
    UserWarning
        If it is above 1%.
    """
    if not shares:
        return {}
    if max(shares) > _WARN_OUTSIDE:
        warn_about(
            f"under this posterior {max(shares):.1%} of normal records would be beyond the public "
            "bounds, so the confidential ones, which aren't, weren't normal, and the model is "
            "doubtful; take bounds further apart in the next release",
            "bounds",
            stacklevel=stacklevel,
        )
    return {"expected_share_outside_bounds": repr(max(shares))}


def _shares_outside(release: Release, mu: Floats, sd: float | Floats) -> Iterator[float]:
    shape = (-1, len(release.parts))
    spread = np.broadcast_to(sd, mu.shape).reshape(shape)
    for part, centre, width in zip(release.parts, mu.reshape(shape).T, spread.T, strict=True):
        if (normal := view_of(part.mechanism, NormalView)) is not None:
            yield share_outside(normal.bounds, centre, width)


def share_outside(bounds: tuple[float, float], mu: Floats, sd: float | Floats) -> float:
    """Expected share of normal records beyond bounds, averaged over draws of mu and sd."""
    low, high = (np.asarray(end - mu) / sd for end in bounds)
    return float(np.mean(special.ndtr(low) + special.ndtr(-high)))


def checked_prior(prior: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the prior as floats, or raise InvalidInput that names its numbers."""
    good = isinstance(prior, Sequence) and len(prior) == len(names)
    good = good and all(is_number(v) and math.isfinite(v) for v in prior)
    if not good or min(prior[1:]) < _SMALLEST:
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be ({', '.join(names)}), all finite and all but m0 "
            f"positive, at least {_SMALLEST}"
        )
    return tuple(map(float, prior))


def checked_sd(sd: Any) -> float:
    """Return the records' known standard deviation, or raise InvalidInput."""
    checked = check_positive("sd", sd, "records' unit")
    if not _SMALLEST <= checked <= 1 / _SMALLEST:
        raise InvalidInput(f"sd is {quoted(sd)}; it must be from {_SMALLEST} to {1 / _SMALLEST}")
    return checked
