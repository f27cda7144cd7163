"""PyMC's program of the rates of gamma records, and the law of their copies in another model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.core.sum_views import GivenSumView, NoisySumView
from bayesdp.engines.pymc.noise import noise_logp
from bayesdp.engines.pymc.programs import in_a_matrix
from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.mechanisms.noise.reach import range_of

if TYPE_CHECKING:
    import pymc as pm


def gamma(data: Mapping[str, Any], groups: Sequence[Any] | None) -> pm.Model:
    """Model of rates whose records' sums are confidential, integrated out; as stan/gamma.stan.

    Parameters
    ----------
    data : mapping
        That program's data.
    groups : sequence or None
        Coordinate of the dimension "group" of the variables; None for a single rate.
    """
    import pytensor.tensor as pt

    pymc = import_pymc()
    dims = None if groups is None else "group"
    names = {"log_weight": -np.inf, "power": 0.0, "total": 0.0}
    log_weight, power, total = (
        in_a_matrix(np.split(data[name], data["last"][:-1]), fill) for name, fill in names.items()
    )
    with pymc.Model(coords=None if groups is None else {"group": groups}) as model:
        start = np.exp(data["centre"] if groups is not None else data["centre"][0])
        given = {"alpha": data["prior_shape"], "beta": data["prior_rate"], "initval": start}
        rate = pymc.Gamma("rate", **given, dims=dims)
        pymc.Deterministic("mean", data["shape"] / rate, dims=dims)
        each = pt.atleast_1d(rate)[:, None]
        terms = log_weight + power * pt.log(each) - total * each
        pymc.Potential("release", pt.logsumexp(terms, axis=1).sum())
    return model


def given_logp(given: GivenSumView, outputs: Any, total: Any) -> Any:
    """Log-law of what was released given the sum of gamma records itself, a tensor.

    It is up to a constant, and -inf at a sum that no records within the bounds have.
    """
    import pytensor.tensor as pt

    low, high = (given.n * end for end in given.bounds)
    law = given.log_kernel(pt, outputs, pt.clip(total, low, high))
    return pt.switch((total >= low) & (total <= high), law, -np.inf)


def copies_logp(pymc: Any, tag: str, copies: NoisySumView, outputs: Any, total: Any) -> Any:
    """Log-law of modips copies given the sum of gamma records, whose noisy sums join the model.

    The copies' own rates integrate out, as in `bayesdp.mechanisms.families.gamma_law`. Noise is
    treated as continuous, which makes no difference where the lattice is far finer than the noise.

    Parameters
    ----------
    pymc : module
    tag : str
        Suffix of the names of all variables that are added to the model.
    copies : NoisySumView
        The mechanism's view.
    outputs : sequence of arrays of records
    total : tensor
        The sum of the confidential records.

    Returns
    -------
    tensor
        Up to a constant.
    """
    import pytensor.tensor as pt

    y, noise = np.asarray(outputs, dtype=np.float64), copies.noise
    low, high = range_of(noise)
    if noise.bounding == "truncated":
        noisy = pymc.Uniform(f"noisy_sum_{tag}", low, high, shape=len(y))
        pymc.Potential(f"noise_{tag}", noise_logp(noise, noisy, total).sum())
    else:
        law = pymc.Laplace if noise.noise.laplace else pymc.Normal
        raw = law(f"noise_{tag}", 0.0, 1.0, shape=len(y))
        noisy = pt.clip(total + noise.scale * raw, low, high)
    a, b = copies.prior
    alpha, beta = a + copies.n * copies.shape, y.shape[1] * copies.shape
    z = (b + noisy) / y.sum(axis=1)
    return -(alpha * pt.log1p(1 / z) + beta * pt.log1p(z)).sum()
