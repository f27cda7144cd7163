"""Releases of normal records, as NUTS reads them: a latent statistic, and its noisy versions."""

from __future__ import annotations

from dataclasses import dataclass

from bayesdp.release import Part


@dataclass(frozen=True)
class Observed:
    """One release of normal records, and the statistic that its mechanism randomised.

    Attributes
    ----------
    part : Part
    n : int
        Number of confidential records.
    sums : bool
        Whether noise was added to sums; if not, it was added to means and variances.
    means, variances : tuple of two floats, or None
        Ranges outside which the law isn't defined, if there are any; infinite where open.
    """

    part: Part
    n: int
    sums: bool
    means: tuple[float, float] | None = None
    variances: tuple[float, float] | None = None
