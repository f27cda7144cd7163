"""The PyMC program of probabilities whose records were answered by randomized response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.pymc.sampling import import_pymc

if TYPE_CHECKING:
    import pymc as pm


def multinomial_response(
    counts: Sequence[NDArray[np.int64]],
    columns: Sequence[NDArray[np.float64]],
    alpha: Sequence[float],
) -> pm.Model:
    """Model of each group's probabilities; stan/multinomial_response.stan is the same for one.

    Parameters
    ----------
    counts : sequence of ndarray, shape (patterns,)
        Number of records with each pattern of answers, one array for each group.
    columns : sequence of ndarray, shape (k, patterns)
        Pr[pattern | category].
    alpha : sequence of k floats
        Parameters of the Dirichlet prior of "theta", which has shape (groups, k).
    """
    pymc = import_pymc()
    import pytensor.tensor as pt

    with pymc.Model() as model:
        shape = (len(counts), len(alpha))
        theta = pymc.Dirichlet("theta", np.asarray(alpha, dtype=np.float64), shape=shape)
        total: Any = 0.0
        for g, (count, column) in enumerate(zip(counts, columns, strict=True)):
            total = total + (count * pt.log((theta[g][:, None] * column).sum(axis=0))).sum()
        pymc.Potential("release", total)
    return model
