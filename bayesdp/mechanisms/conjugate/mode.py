"""The posterior mode with Laplace noise, to be released in place of the mode itself.

The mode alone promises nothing (`ConjugateMechanism` with method "parameter_map"). Between
neighbours it moves by at most the family's `map_sensitivity`, in L1 norm:

- bernoulli: 1 / (a + b + n - 2), for priors of 1 or more; below, more. Zheng (2015, Corollary
  6.2) divides by a + b + n;
- categorical: 2 / (sum of the prior + n - k), for priors of 1 or more;
- gaussian: 2 R tau^2 / sigma^2 < 2 R / n. Zheng (2015, Corollary 7.3) has R / n, half of it;
- multivariate_gaussian: the largest L1 norm of S W^-1 v over the corners v of a box;
- gamma: (a + n k - 1) R / (b (b + R)).

The mode is computed in floating point, whose error, below 2^-50 of the largest mode, moves both
neighbours' modes; 2^-48 of it is added to the sensitivity. A component of a vector is off by at
most (d + 4) 2^-53 of what is added up in it: sums, differences, coefficients and products are
rounded once each, and d of them and the mean added. That is 2^-49 for the most columns, 12, and as
much for the neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.families import FAMILIES
from bayesdp.mechanisms.noise.laplace import LaplaceMechanism

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism


def noisy_mode(release: ConjugateMechanism, *, epsilon: float, copies: int = 1) -> LaplaceMechanism:
    """Make the Laplace mechanism of the smallest scale for a release's posterior mode.

    Parameters
    ----------
    release : ConjugateMechanism
        With method "parameter_map". ``release.release(release.statistic(data))[0]`` is the mode,
        the mechanism's statistic.
    epsilon : float
        Cost of all `copies` copies under replace-one, positive.
    copies : int
        Independent copies.

    Returns
    -------
    LaplaceMechanism
        The mechanism, with outputs clamped to [0, 1] for probabilities, and for rates to the ends
        that a mode can have. Its guarantee is proved, given the mode's sensitivity.

    Raises
    ------
    InvalidInput
        If the release has another method, or epsilon is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mode = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_map", n=4, prior=(2, 2))
    >>> mechanism = bdp.mechanisms.noisy_mode(mode, epsilon=1.0)
    >>> noisy = bdp.publish(mechanism, mode.release(mode.statistic([0, 1, 1, 1]))[0])
    """
    if release.method != "parameter_map":
        raise InvalidInput(
            f"release has method {quoted(release.method)}, which is randomised already; give one "
            "with method 'parameter_map', whose posterior mode needs noise"
        )
    family = FAMILIES[release.family]
    components: int = family.components(release)
    moved: float = family.map_sensitivity(release)
    bounds = family.mode_bounds(release)
    return LaplaceMechanism.calibrate(
        epsilon=epsilon,
        copies=copies,
        sensitivity=moved + 2.0**-48 * components * family.largest_mode(release),
        neighbours="replace_one",
        dimension=components if components > 1 else None,
        bounds=bounds,
        bounding=None if bounds is None else "inflated",
        n=release.n,
    )
