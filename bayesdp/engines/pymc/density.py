"""The log density of a PyMC model over one vector of unconstrained numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from bayesdp.engines.pytensor_sources import sources_in_memory

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]
_REFUSED = 1e100  # minus the log density where there is none, for a line search to turn back at


@dataclass(frozen=True)
class Density:
    """Compiled functions of a vector that holds all free variables, unconstrained.

    Attributes
    ----------
    start : ndarray, shape (d,)
        PyMC's starting point.
    with_gradient : callable
        The log density at a vector, up to a constant and with the transforms' Jacobian, and its
        gradient.
    variables : callable
        The asked variables at a vector, in their own space.
    """

    start: Floats
    with_gradient: Callable[[Floats], Sequence[Any]]
    variables: Callable[[Floats], Sequence[Any]]

    def log_densities(self, x: Floats) -> Floats:
        """Compute the log density of vectors, shape (size, d): -inf where there is none."""
        return np.nan_to_num([float(self.with_gradient(each)[0]) for each in x], nan=-np.inf)

    def gradient(self, x: Floats) -> Floats:
        """Compute the log density's gradient."""
        return np.asarray(self.with_gradient(x)[1], dtype=np.float64)

    def climb(self, start: Floats, history: int, seen: Callable[[Any], None]) -> Floats:
        """Climb to a mode by L-BFGS, which calls `seen` with every point on the way."""

        minimize: Any = optimize.minimize  # whose stubs know no gradient of this type

        def downhill(x: Floats) -> tuple[float, Floats]:
            value, slope = self.with_gradient(x)
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                return _REFUSED, np.zeros_like(x)
            return -float(value), -np.asarray(slope)

        limits = {"maxcor": history, "maxiter": 1000, "ftol": 1e-13, "gtol": 1e-8}
        found = minimize(
            downhill, start, jac=True, method="L-BFGS-B", callback=seen, options=limits
        )
        return np.asarray(found.x, dtype=np.float64)


def density_of(model: pm.Model, variables: Sequence[str], seed: int) -> Density:
    """Compile a model's density, by numba, whose code PyTensor keeps as it does for nutpie.

    Parameters
    ----------
    model : pm.Model
        A model with continuous free variables only.
    variables : sequence of str
        Names of the variables that `Density.variables` returns.
    seed : int
        Of the starting values that PyMC draws, where it draws any.
    """
    import pymc
    import pytensor
    from pymc.pytensorf import join_nonshared_inputs

    point = model.initial_point(random_seed=seed)
    asked = model.replace_rvs_by_values([model[name] for name in variables])
    outputs, x = join_nonshared_inputs(point, [model.logp(), *asked], model.value_vars)
    gradient = pytensor.grad(outputs[0], x)

    def compiled(results: Any) -> Any:
        return pymc.pytensorf.compile([x], results, mode="NUMBA", trust_input=True)

    with sources_in_memory():
        return Density(
            np.concatenate([np.ravel(point[v.name]) for v in model.value_vars]).astype(np.float64),
            compiled([outputs[0], gradient]),
            compiled(outputs[1:]),
        )
