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

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.base import Family
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.grid_bernoulli import BernoulliGrid
from bayesdp.mechanisms.families.grid_categorical import CategoricalGrid
from bayesdp.mechanisms.families.grid_gaussian import GaussianGrid
from bayesdp.mechanisms.families.grid_model import GridModel, OnGrid

GRIDS: dict[type[Any], Callable[[Any], OnGrid]] = {
    Bernoulli: BernoulliGrid,
    Categorical: CategoricalGrid,
    Gaussian: GaussianGrid,
}
"""By family."""


def on_grid(family: Family) -> OnGrid:
    """Return what a family says of the cells of its parameter.

    Raises
    ------
    InvalidInput
        If the family hasn't a parameter whose log-likelihood is bounded on a grid.
    """
    made = GRIDS.get(type(family))
    cells = None if made is None else made(family)
    if cells is None or not cells.offered:
        raise InvalidInput(
            f"family is {quoted(family)}, whose parameter has no cells: the log-likelihood of a "
            "record must be bounded on a grid of one parameter, as that of "
            "bdp.families.Bernoulli() is, or of bdp.families.Gaussian(bounds, sd=...) with a "
            "known sd, or on the triangles of bdp.families.Categorical(3); or take method='sbs'"
        )
    return cells


@lru_cache(maxsize=64)
def grid_model(family: Family, grid: tuple[float, float], bins: int, n: int | None) -> GridModel:
    """Make the cells of a family's parameter, with its log posterior on them.

    Raises
    ------
    InvalidInput
        If the family hasn't a parameter whose log-likelihood is bounded on a grid, or the cells
        are too narrow for floats.
    """
    return on_grid(family).model(grid, bins, n)
