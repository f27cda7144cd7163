r"""Families on a public grid of the parameter theta: how the posterior's cells depend on records.

theta has `bins` cells of equal width between public ends, with middles theta_c; the probabilities
of three categories have bins^2 triangles (`bayesdp.mechanisms.families.triangles`). In an
exponential family the log posterior at a middle is, with v the numbers of the statistic
(`Family.numbers`) and but for a constant common to all cells,

    u_c = R_c + sum_k A_ck (v_k - o_k),      R_c and A_ck public, o_k any public origin,

so that v' in place of v changes it by d_c = sum_k A_ck m_k, m = v' - v. The range of d over cells
is convex in m, and the same for -m; so over all neighbours it is largest at a few `moves`, of which
all m and -m are averages:

==========  ==============  ==========================  ==========================================
family      n               A_c                         moves
==========  ==============  ==========================  ==========================================
Bernoulli   public          logit theta_c               replace: 1
            confidential    log theta_c, log(1 -        add: (1, 0) or (0, 1); replace: (1, -1)
                            theta_c)
three       public          log(theta_c / theta_c3)     replace: (1, -1, 0), (1, 0, -1), (0, 1, -1)
categories  confidential    log theta_c                 add: (1, 0, 0) and so on; replace: as above
Gaussian,   public          n t_c / sd^2                replace: the mean's sensitivity
sd known    confidential    -t_c^2 / (2 sd^2),          add: (1, h) or (1, -h), h the sum's
                            t_c / sd^2                  sensitivity; replace: (0, 2 h)
==========  ==============  ==========================  ==========================================

t_c is theta_c less the middle of the records' bounds. So the range R of a record's log-likelihood
ratio is, but for what rounding adds, for w the distance of the bounds,

    Bernoulli, replace:  logit theta_last - logit theta_first,
    Bernoulli, add:      log(theta_last / theta_first), or of 1 - theta, the larger,
    categories, replace: of log(theta_i / theta_j) over all cells, the largest for i and j,
    categories, add:     of log theta_i over all cells, the largest for i,
    Gaussian, replace:   w (theta_last - theta_first) / sd^2,
    Gaussian, add:       the larger, x = low or high, of (max_c - min_c) (x - theta_c)^2 / (2 sd^2).

All are finite since middles are within (0, 1), and records within bounds. With bins to a side and
any probabilities those of categories are 2 log(3 bins - 2) and log(3 bins - 2). Where sd is unknown
the log-likelihood has no finite range as sd falls to 0, and a grid of two parameters isn't offered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.triangles import triangles
from bayesdp.privacy.neighbours import Neighbours

Floats = NDArray[np.float64]
Vector = tuple[Fraction, ...]


@dataclass(frozen=True, eq=False)
class GridModel:
    """The log posterior on the cells as a function of the statistic; all of it is public.

    Parameters
    ----------
    edges : ndarray, shape (bins + 1,); of triangles their corners, shape (cells, 3, 3)
    public : tuple of Fraction
        R, one for each cell.
    coefficients : tuple of tuples of Fraction
        A, one tuple for each cell.
    origin : tuple of Fraction
        o, the public origin of each number.
    moves : mapping of Neighbours to vectors
        The extreme moves under each relation that neighbours can have.
    """

    edges: Floats
    public: Vector
    coefficients: tuple[Vector, ...]
    origin: Vector
    moves: Mapping[Neighbours, tuple[Vector, ...]]

    @property
    def width(self) -> float:
        """Width of a cell."""
        return float((self.edges[-1] - self.edges[0]) / (self.edges.size - 1))

    def furthest(self, relation: Neighbours) -> Fraction:
        """Sensitivity R: the largest range of d over cells, for neighbours by a relation; exact."""
        return _furthest(self, relation)

    def log_weights(self, v: Any) -> Floats:
        """Log weights u in floating point; the cells take the place of v's last axis."""
        away = np.asarray(v, dtype=np.float64) - np.array([float(o) for o in self.origin])
        slopes = np.array([[float(a) for a in cell] for cell in self.coefficients])
        levels = np.array([float(r) for r in self.public])
        return np.asarray(levels + away @ slopes.T)

    def units(self, v: Any, bits: int) -> list[int]:
        """Log weights u of one statistic in units of 2^-bits, each exact and then rounded once."""
        away = [Fraction(x.item()) - o for x, o in zip(np.asarray(v), self.origin, strict=True)]
        scale = 2**bits
        return [
            round(scale * (r + sum(a * m for a, m in zip(cell, away, strict=True))))
            for r, cell in zip(self.public, self.coefficients, strict=True)
        ]


@lru_cache(maxsize=64)
def _furthest(model: GridModel, relation: Neighbours) -> Fraction:
    return max(_range(model.coefficients, move) for move in model.moves[relation])


def _range(coefficients: tuple[Vector, ...], move: Vector) -> Fraction:
    d = [
        sum((a * m for a, m in zip(cell, move, strict=True)), Fraction(0)) for cell in coefficients
    ]
    return Fraction(max(d) - min(d))


def check_grid(family: Family, grid: Any) -> tuple[float, float]:
    """Return the public ends of the parameter's grid as two floats, or raise InvalidInput."""
    _builder(family)
    try:
        low, high = (float(v) if is_number(v) else np.nan for v in grid)
    except (TypeError, ValueError):  # not a pair
        low = high = np.nan
    if isinstance(family, Categorical):
        if not (0 <= low < 1 / 3 and abs(high - (1 - 2 * low)) < 1e-12):
            raise InvalidInput(
                f"grid is {quoted(grid)}; for three categories it must be the least and the "
                "largest that a probability may be, low and 1 - 2 low, for example (0, 1) or "
                "(0.05, 0.9)"
            )
        return low, high
    binary = isinstance(family, Bernoulli)
    if not (low < high and np.isfinite(high - low)) or (binary and not 0 <= low < high <= 1):
        where = "from 0 to 1, for example (0.05, 0.95)" if binary else "for example (-4, 4)"
        raise InvalidInput(
            f"grid is {quoted(grid)}; it must be two finite numbers, the lower first, {where}: the "
            "parameter's range, chosen without the data"
        )
    return low, high


def default_grid(family: Family) -> tuple[float, float]:
    """Default ends of a grid: 0 and 1 for proportions, the records' bounds for a mean."""
    _builder(family)
    return family.bounds if isinstance(family, Gaussian) else (0.0, 1.0)


@lru_cache(maxsize=64)
def grid_model(family: Family, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
    """Make the cells of a family's parameter, with its log posterior on them.

    Raises
    ------
    InvalidInput
        If the family hasn't a parameter whose log-likelihood is bounded on a grid, or the cells
        are too narrow for floats, or too many.
    """
    if isinstance(family, Categorical):
        return _categorical(family, triangles(grid[0], bins), n)
    edges = np.linspace(*grid, bins + 1)
    middles = (edges[:-1] + edges[1:]) / 2
    if not np.all((edges[:-1] < middles) & (middles < edges[1:])):
        raise InvalidInput(
            f"grid is {quoted(grid)}, too narrow for {bins} cells in floating point; widen it"
        )
    return _builder(family)(family, edges, middles, n)


def _builder(family: Family) -> Callable[..., GridModel]:
    build = GRIDS.get(type(family))
    unknown = isinstance(family, Gaussian) and family.sd is None
    if build is None or unknown or (isinstance(family, Categorical) and family.k != 3):
        raise InvalidInput(
            f"family is {quoted(family)}, whose parameter has no cells: the log-likelihood of a "
            "record must be bounded on a grid of one parameter, as that of "
            "bdp.families.Bernoulli() is, or of bdp.families.Gaussian(bounds, sd=...) with a "
            "known sd, or on the triangles of bdp.families.Categorical(3); or take method='sbs'"
        )
    return build


def _bernoulli(family: Bernoulli, edges: Floats, middles: Floats, n: int | None) -> GridModel:
    a, b = family.prior
    one, zero = np.log(middles), np.log1p(-middles)
    prior = (a - 1) * one + (b - 1) * zero
    unit, none = Fraction(1), Fraction(0)
    if n is None:
        return GridModel(
            edges,
            _exact(prior),
            tuple(zip(_exact(one), _exact(zero), strict=True)),
            (none, none),
            {
                Neighbours.ADD_REMOVE: ((unit, none), (none, unit)),
                Neighbours.REPLACE_ONE: ((unit, -unit),),
            },
        )
    return GridModel(
        edges,
        _exact(prior + n * zero),
        tuple((logit,) for logit in _exact(one - zero)),
        (none,),
        {Neighbours.REPLACE_ONE: ((unit,),)},
    )


def _gaussian(family: Gaussian, edges: Floats, middles: Floats, n: int | None) -> GridModel:
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
            _exact(prior),
            tuple((-(t**2) / variance / 2, t / variance) for t in away),
            (none, none),
            {
                Neighbours.ADD_REMOVE: ((unit, h), (unit, -h)),
                Neighbours.REPLACE_ONE: ((none, 2 * h),),
            },
        )
    return GridModel(
        edges,
        tuple(p - n * t**2 / variance / 2 for p, t in zip(_exact(prior), away, strict=True)),
        tuple((n * t / variance,) for t in away),
        (centre,),
        {Neighbours.REPLACE_ONE: ((h,),)},
    )


def _categorical(family: Categorical, corners: Floats, n: int | None) -> GridModel:
    log_theta = np.log(corners.mean(axis=1))
    prior = log_theta @ (np.array(family.prior) - 1)
    unit, none = Fraction(1), Fraction(0)
    replaced = {
        Neighbours.REPLACE_ONE: ((unit, -unit, none), (unit, none, -unit), (none, unit, -unit))
    }
    each = tuple(_exact(cell) for cell in log_theta)
    if n is None:
        added = {
            Neighbours.ADD_REMOVE: ((unit, none, none), (none, unit, none), (none, none, unit))
        }
        return GridModel(corners, _exact(prior), each, (none,) * 3, {**added, **replaced})
    public = tuple(p + n * cell[2] for p, cell in zip(_exact(prior), each, strict=True))
    ratios = tuple((cell[0] - cell[2], cell[1] - cell[2], none) for cell in each)
    return GridModel(corners, public, ratios, (none,) * 3, replaced)


def _exact(values: Floats) -> Vector:
    return tuple(map(Fraction, values.tolist()))


GRIDS: dict[type[Any], Callable[..., GridModel]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    Gaussian: _gaussian,
}
"""By family."""
