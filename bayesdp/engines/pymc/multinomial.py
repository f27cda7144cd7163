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
    groups: Sequence[Any] | None,
) -> pm.Model:
    """Model of each group's probabilities, the categories of records summed out.

    It is that of stan/multinomial_response.stan.

    Parameters
    ----------
    counts : sequence of ndarray, shape (patterns,)
        Number of records with each pattern of answers, one array for each group.
    columns : sequence of ndarray, shape (k, patterns)
        Pr[pattern | category].
    alpha : sequence of k floats
        Parameters of the Dirichlet prior of "theta", which has the dimension "category".
    groups : sequence or None
        Coordinate of its dimension "group", before that; None where there are no groups.
    """
    pymc = import_pymc()
    import pytensor.tensor as pt

    dims = ("category",) if groups is None else ("group", "category")
    most = max(each.size for each in counts)
    # Filled up by patterns that are certain, and that no record has.
    records = np.stack([np.pad(each, (0, most - each.size)) for each in counts])
    patterns = np.stack(
        [np.pad(each, ((0, 0), (0, most - each.shape[1])), constant_values=1) for each in columns]
    )
    coords = {"category": np.arange(len(alpha)), **({} if groups is None else {"group": groups})}
    with pymc.Model(coords=coords) as model:
        theta = pymc.Dirichlet("theta", np.asarray(alpha, dtype=np.float64), dims=dims)
        chances = (theta.reshape((len(counts), -1, 1)) * patterns).sum(axis=1)
        pymc.Potential("release", (records * pt.log(chances)).sum())
    return model
