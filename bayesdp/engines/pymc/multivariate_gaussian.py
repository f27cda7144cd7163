"""The PyMC program of mean vectors, the mean of the confidential records integrated out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm


def multivariate_gaussian(
    seen: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    prior: tuple[Any, ...] | None,
    columns: Sequence[str],
    groups: Sequence[Any] | None,
) -> pm.Model:
    """Model of mean vectors "mu", each observed with normal errors of a known covariance.

    Parameters
    ----------
    seen : sequence of pairs of ndarray, shapes (d,) and (d, d)
        For each group, what its release is worth as an observation, and its covariance.
    prior : tuple (m0, S0), or None
        None is flat.
    columns : sequence of str
        Coordinate of the dimension "column".
    groups : sequence or None
        Coordinate of the dimension "group" of "mu"; None for a single vector.
    """
    pymc = import_pymc()
    coords = {"column": list(columns)} | ({} if groups is None else {"group": groups})
    dims = ("column",) if groups is None else ("group", "column")
    with pymc.Model(coords=coords) as model:
        if prior is None:
            start = np.array([centre for centre, _ in seen])
            mu = pymc.Flat("mu", initval=start[0] if groups is None else start, dims=dims)
        else:
            mu = pymc.MvNormal("mu", np.array(prior[0]), cov=np.array(prior[1]), dims=dims)
        for g, (centre, spread) in enumerate(seen):
            at = mu if groups is None else mu[g]
            pymc.MvNormal(f"release_{g}", at, cov=spread, observed=centre)
    return model
