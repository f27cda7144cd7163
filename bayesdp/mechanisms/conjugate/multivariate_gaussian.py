r"""Privacy profiles of conjugate releases of real vectors in a box, under a normal prior.

Records are N_d(theta, Sigma), Sigma known, column j in [-R_j, R_j], and theta ~ N_d(m, S). The
posterior is N(mu(x), T) with T^-1 = S^-1 + n Sigma^-1, and replacing record i moves mu by

    T Sigma^-1 v = S W^-1 v,    v = x_i' - x_i,    W = Sigma + n S,

for any v in the box |v_j| <= 2 R_j. Every release below is a normal law whose mean moves by this
much and whose covariance C the data leave alone, or has a sufficient statistic that is:

- `parameter_draw`: C = T;
- `synthetic_map` (m records from N(mu, Sigma); their mean is sufficient): Sigma / m;
- `synthetic_one` (m records from one draw; their mean is sufficient): T + Sigma / m;
- `synthetic_many` (m independent records, each from its own draw): (T + Sigma) / m.

In coordinates where C is the identity, rotated so that the first axis is along the move, the two
laws of neighbours are N(0, 1) and N(s, 1), times the same law of the other coordinates. So their
divergence, in either direction, is that of N(0, 1) and N(s, 1) (`gaussian_divergence`), where

    s^2 = v' Sigma^-1 T C^-1 T Sigma^-1 v

is the square of the move's Mahalanobis norm. It increases with s, and s is a norm of v and so
convex: over a box it is largest at a corner, from -R_j to R_j or back in every column. The corners
v and -v have one s, so 2^(d - 1) of them are compared. The profile is tight: it is attained. No
pure epsilon holds.

Since T Sigma^-1 = S W^-1, and T = S W^-1 Sigma, the matrices of the quadratic form are

    parameter_draw:    Sigma^-1 S W^-1,
    synthetic_map:     m  W^-1 S Sigma^-1 S W^-1,
    synthetic_one:     m  W^-1 S Sigma^-1 W (W + m S)^-1 S W^-1,
    synthetic_many:    m  W^-1 S Sigma^-1 W (W + S)^-1 S W^-1.

They, and s^2 at each corner, are computed in rational arithmetic (`exact_matrices`), whatever the
conditions of Sigma and S, and only the root of the largest is rounded, up.

M copies are M independent normal laws whose means move alike; their average is sufficient, and
moves by s sqrt(M) in its covariance.

Calibration takes the prior of c records, S = Sigma / c, which means the same in any units of the
columns. Then T = Sigma / (c + n), and with q = v' Sigma^-1 v the s^2 of the four are q / (c + n),
m q / (c + n)^2, m q / ((c + n) (c + n + m)) and m q / ((c + n) (c + n + 1)): all fall with c, so
that a stronger prior never costs more. With one column these are the releases of `gaussian`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.conjugate.exact_matrices import Exact, corners, farthest, root_above
from bayesdp.privacy.profile import Profile, gaussian_profile, of_a_function

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism

Floats = NDArray[np.float64]
Vector = tuple[float, ...]
Matrix = tuple[Vector, ...]

PARAMETERS = ("R", "covariance", "columns")
WHOLE = False
MOST = 12
"""The most columns: corners double with each, and errors of a mode add up."""
_FURTHEST = 1e100  # of bounds, means and a prior's sds: their squares stay floats
_SPREAD = 1e50  # of records' sds, so that any prior that calibration tries is one
_LEAST = 1e-8  # eigenvalue of correlations: below, floats leave too few digits of a draw
_SAFE = 1 + 2.0**-48


def check(release: ConjugateMechanism) -> dict[str, Any]:
    """Validate the release's parameters."""
    covariance = check_covariance("covariance", release.covariance, _SPREAD)
    d = len(covariance)
    mean, spread = check_prior(release.prior, d)
    R = release.R
    ends = (R,) * d if is_number(R) else R
    if not _is_vector(ends, d) or not all(1 / _FURTHEST <= end <= _FURTHEST for end in ends):
        raise InvalidInput(
            f"R is {quoted(R)}; it must be a positive number from {1 / _FURTHEST} to {_FURTHEST}, "
            f"or one for each of the {d} columns: column j lies in [-R[j], R[j]]"
        )
    checked = {
        "covariance": covariance,
        "prior": (mean, spread),
        "R": tuple(map(float, ends)),
        "columns": check_columns("columns", release.columns, d),
    }
    _, posterior = posterior_of(release.n, spread, covariance)
    if _condition(posterior) < _LEAST:
        raise InvalidInput(
            "prior and covariance together leave a posterior in which columns are nearly functions "
            "of each other, so that floats can't draw from it; bring the scales of the prior's "
            "covariance nearer to those of covariance"
        )
    return checked


def check_covariance(name: str, given: Any, furthest: float = _FURTHEST) -> Matrix:
    """Return a covariance matrix as tuples of floats.

    Parameters
    ----------
    name : str
        Name of the argument, for a message.
    given : sequence of sequences, or array, shape (d, d)
    furthest : float
        Largest standard deviation; one over it is the smallest.

    Raises
    ------
    InvalidInput
        If it isn't symmetric and positive definite, has more than 12 columns, or standard
        deviations out of range, or columns are nearly functions of each other.
    """
    rows = given.tolist() if isinstance(given, np.ndarray) else given
    size = len(rows) if isinstance(rows, Sequence) and not isinstance(rows, str) else 0
    if not size or not all(_is_vector(row, size) for row in rows):
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be a square table of finite numbers, one row for "
            "each column of the records, for example ((1, 0.5), (0.5, 2))"
        )
    if size > MOST:
        raise InvalidInput(
            f"{name} is of {size} columns; there may be {MOST}, as a promise compares the corners "
            "of a box, whose number doubles with each: release fewer columns, or groups of columns "
            "by themselves, whose costs add up"
        )
    made = tuple(tuple(map(float, row)) for row in rows)
    if any(made[i][j] != made[j][i] for i in range(size) for j in range(i)):
        raise InvalidInput(f"{name} isn't symmetric; take (C + C.T) / 2 for such a C")
    sds = [math.sqrt(made[j][j]) if made[j][j] > 0 else 0.0 for j in range(size)]
    if not all(1 / furthest <= sd <= furthest for sd in sds):
        raise InvalidInput(
            f"{name} has a variance on its diagonal whose root isn't from {1 / furthest} to "
            f"{furthest}; variances are positive: give the columns other units"
        )
    if Exact.of(made).inverse() is None or _condition(np.array(made)) < _LEAST:
        raise InvalidInput(
            f"{name} isn't positive definite, or nearly not (the smallest eigenvalue of its "
            f"correlations must be {_LEAST} at least): some column is a function of the others; "
            "leave it out"
        )
    return made


def check_prior(prior: Any, d: int) -> tuple[Vector, Matrix]:
    """Return a normal prior's mean and covariance matrix as tuples of floats.

    Raises
    ------
    InvalidInput
        If they aren't a vector of d numbers and a covariance matrix of d columns.
    """
    pair = isinstance(prior, Sequence) and not isinstance(prior, str) and len(prior) == 2
    mean: Any = prior[0] if pair else None
    mean = mean.tolist() if isinstance(mean, np.ndarray) else mean
    good = _is_vector(mean, d) and all(abs(value) <= _FURTHEST for value in mean)
    spread = check_covariance("the second part of prior", prior[1]) if good else ()
    if len(spread) != d:
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be the mean and the covariance matrix of a normal "
            f"distribution of {d} columns, with means up to {_FURTHEST}, for example "
            "((0, 0), ((1, 0), (0, 1))) for two"
        )
    return tuple(map(float, mean)), spread


def check_columns(name: str, columns: Any, d: int) -> tuple[str, ...] | None:
    """Return the columns' names, or None where they have none; `name` is the argument's."""
    if columns is None:
        return None
    good = isinstance(columns, Sequence) and not isinstance(columns, str)
    good = good and all(isinstance(each, str) and each for each in columns)
    if not good or len({*columns} - {"copy"}) != d or len(columns) != d:
        raise InvalidInput(
            f"{name} is {quoted(columns)}; it must be {d} different names, as covariance has {d} "
            "columns, and none 'copy'; or None"
        )
    return tuple(columns)


def prior_of_strength(strength: float, parameters: Mapping[str, Any]) -> tuple[Vector, Matrix]:
    """Make the prior that is worth `strength` records, centred at 0."""
    covariance = check_covariance("covariance", parameters.get("covariance"), _SPREAD)
    spread = tuple(tuple(value / strength for value in row) for row in covariance)
    return (0.0,) * len(covariance), spread


def least_strength(method: str, parameters: Mapping[str, Any]) -> float:
    """The weakest prior that calibration considers: next to none."""
    return 1e-90


def records_are(release: ConjugateMechanism) -> tuple[str, ...]:
    """State what the promise assumes of the records."""
    ends = ", ".join(f"[-{end}, {end}]" for end in release.R)
    return (f"The columns of every record lie in {ends}, in this order.",)


def components(release: ConjugateMechanism) -> int:
    """Number of components of the posterior mode."""
    return len(release.R)


def map_sensitivity(release: ConjugateMechanism) -> float:
    """Largest distance between the posterior modes of neighbours in L1 norm, rounded up.

    The norm of S W^-1 v, which is convex in v and so largest at a corner.
    """
    move = moves(release)
    each, under = corners(release.R)
    lengths = np.abs(each @ move.over.T).sum(axis=1)
    return float(2 * Fraction(int(max(lengths)), move.under * under)) * _SAFE


def largest_mode(release: ConjugateMechanism) -> float:
    """Bound what is added up in a component of the mode m + S W^-1 (sum - n m)."""
    middle = np.abs(release.prior[0])
    added = np.abs(moves(release).floats()) @ (middle + np.array(release.R))
    return float(np.max(middle + release.n * added))


def mode_bounds(release: ConjugateMechanism) -> None:
    """Give no ends that a noisy mode is moved to."""


def together(release: ConjugateMechanism, copies: int) -> Profile | None:
    """The profile of several copies, where it is another than that of as many more records."""
    if release.method == "parameter_map":
        return None
    return _profile(release, release.synthetic_size, copies)


def parameter_map(release: ConjugateMechanism) -> Profile:
    """Profile of the posterior mode itself, which promises nothing."""
    return of_a_function("posterior mode")


def parameter_draw(release: ConjugateMechanism) -> Profile:
    """Profile of one posterior draw."""
    return _profile(release, 0)


def synthetic_map(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records around the posterior mode."""
    return _profile(release, release.synthetic_size)


def synthetic_one(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records around one posterior draw."""
    return _profile(release, release.synthetic_size)


def synthetic_many(release: ConjugateMechanism) -> Profile:
    """Profile of `size` records, each around its own posterior draw."""
    return _profile(release, release.synthetic_size)


def worst_corner(release: ConjugateMechanism) -> Floats:
    """Signs of a replaced record's move that costs most, shape (d,); 1 is from -R_j to R_j.

    Of a mode, which promises nothing, all are 1.
    """
    if release.method == "parameter_map":
        return np.ones(len(release.R))
    return _largest(release, release.synthetic_size)[1]


def moves(release: ConjugateMechanism) -> Exact:
    """Matrix of the posterior mean's move by that of a record, S W^-1."""
    return posterior_of(release.n, release.prior[1], release.covariance or ())[0]


@lru_cache(maxsize=64)
def posterior_of(n: int, spread: Matrix, covariance: Matrix) -> tuple[Exact, Floats]:
    """Compute the matrix S W^-1, exactly, and the posterior's covariance T, rounded."""
    S, Sigma = Exact.of(spread), Exact.of(covariance)
    move = S @ _inverse(Sigma + S.times(n))
    return move, (move @ Sigma).floats()


def _profile(release: ConjugateMechanism, size: int, copies: int = 1) -> Profile:
    return gaussian_profile(root_above(copies * _largest(release, size)[0]))


def _largest(release: ConjugateMechanism, size: int) -> tuple[Fraction, Floats]:
    form = _form(release.method, release.n, size, release.prior[1], release.covariance or ())
    square, signs = farthest(form, release.R)
    return 4 * square, signs


@lru_cache(maxsize=64)
def _form(method: str, n: int, m: int, spread: Matrix, covariance: Matrix) -> Exact:
    """Matrix of the quadratic form of a record's move; see the module's docstring."""
    S, Sigma = Exact.of(spread), Exact.of(covariance)
    W = Sigma + S.times(n)
    per_move = S @ _inverse(W)
    if method == "parameter_draw":
        return _inverse(Sigma) @ per_move
    around = _inverse(W) @ S @ _inverse(Sigma)
    if method == "synthetic_map":
        return (around @ per_move).times(m)
    wider = W + S.times(m if method == "synthetic_one" else 1)
    return (around @ W @ _inverse(wider) @ per_move).times(m)


def _inverse(matrix: Exact) -> Exact:
    """Invert a sum of covariance matrices, which is one."""
    found = matrix.inverse()
    if found is None:
        raise InvalidInput("covariance isn't positive definite")
    return found


def _condition(matrix: Floats) -> float:
    """Smallest eigenvalue of the correlations."""
    sds = np.sqrt(np.diag(matrix))
    return float(np.linalg.eigvalsh(matrix / sds[:, None] / sds)[0])


def _is_vector(given: Any, d: int) -> bool:
    """Return True for d finite numbers."""
    given = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != d:
        return False
    return all(is_number(value) and math.isfinite(as_float(value)) for value in given)
