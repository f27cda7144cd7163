"""Data of the programs of PyMC and Stan of a linear regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayesdp.inference.regression.linear_read import Read
from bayesdp.inference.regression.start import white_space


def data_of(given: Read) -> dict[str, Any]:
    """Build the data of stan/linear_regression.stan, by its names.

    The coordinates are those that the engine "hmc" starts with: white at the mode of the density
    with Gaussian noise.
    """
    hidden = given.hidden
    z, scale, gaussian, penalty = hidden.seen
    m0, k, (a, b), m, (r, nu), psi = hidden.prior
    origin, rotation, noisy_n, first, last, (centre, base), *_ = white_space(hidden)
    middle, half = given.ends.mean(axis=1), (given.ends[:, 1] - given.ends[:, 0]) / 2
    units = np.diag(half[-1] / np.append(1.0, half[:-1]))
    units[0, 0] = half[-1]
    units[0, 1:] = -half[-1] * middle[:-1] / half[:-1]
    return {
        "d": hidden.columns,
        "K": z.shape[0],
        "M": z.shape[1],
        "z": z,
        "scale": scale,
        "laplace": (~gaussian).astype(np.int64),
        "penalty": penalty,
        "n_low": first,
        "n_high": last,
        "noisy_n": noisy_n if first < last else np.zeros(0),
        "m0": m0,
        "k": k,
        "a": a,
        "b": b,
        "m": m,
        "r": r,
        "nu": nu,
        "psi": psi,
        "origin": origin,
        "rotation": rotation.T,
        "centre": centre,
        "base": base,
        "shift": np.append(middle[-1], np.zeros(hidden.columns - 1)),
        "units": units,
        "unit": half[-1],
    }
