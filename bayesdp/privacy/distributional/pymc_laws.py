"""PyMC distributions, as `families` reads those of scipy: densities, quantiles and a support."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput

_LAST = 100_000  # of a search for the end of a discrete support, from 0


class PyMCLaw:
    """A scalar PyMC distribution with numeric parameters as a law: ``pm.Bernoulli.dist(0.2)``.

    Raises
    ------
    InvalidInput
        If it isn't such a distribution, or PyMC has no quantile function for it.
    """

    def __init__(self, law: Any) -> None:
        import pymc as pm
        import pytensor
        import pytensor.tensor as pt

        if law.ndim != 0:
            raise InvalidInput(f"a law has {law.ndim} dimensions; a record's must be one number")
        self.discrete = law.dtype.startswith(("int", "uint", "bool"))
        x = pt.vector("x", dtype="int64" if self.discrete else "float64")
        try:
            self._logp = pytensor.function([x], pm.logp(law, x), mode="FAST_COMPILE")
            if not self.discrete:
                self._icdf = pytensor.function([x], pm.icdf(law, x), mode="FAST_COMPILE")
        except Exception as error:  # of many kinds, from PyMC and PyTensor
            raise InvalidInput(
                f"PyMC has no density or quantiles of the law {law.owner.op}, or its parameters "
                "aren't numbers; give the same distribution of scipy.stats"
            ) from error
        parameters = law.owner.op.dist_params(law.owner)
        self.name = f"{law.owner.op.name}({', '.join(str(p.eval()) for p in parameters)})"

    def logpdf(self, records: Any) -> NDArray[np.float64]:
        """Log-density, vectorised."""
        x = np.asarray(records)
        with np.errstate(all="ignore"):
            logs = self._logp(x.ravel().astype(np.int64 if self.discrete else np.float64))
        return np.asarray(logs, dtype=np.float64).reshape(x.shape)

    def logpmf(self, records: Any) -> NDArray[np.float64]:
        """Log-probability, vectorised; -inf where the value isn't whole."""
        x = np.asarray(records, dtype=np.float64)
        return np.where(x == np.floor(x), self.logpdf(np.floor(x)), -np.inf)

    def ppf(self, probability: Any) -> NDArray[np.float64]:
        """Quantiles of the law."""
        p = np.asarray(probability, dtype=np.float64)
        return np.asarray(self._icdf(p.ravel()), dtype=np.float64).reshape(p.shape)

    def isf(self, probability: Any) -> NDArray[np.float64]:
        """Quantiles of the law from above."""
        return self.ppf(1 - np.asarray(probability))

    def support(self) -> tuple[float, float]:
        """Ends of the support; infinite where a discrete law has values beyond 100,000."""
        if not self.discrete:
            low, high = self.ppf(np.array([0.0, 1.0])).tolist()
            return low, high
        if np.isfinite(self.logpmf(np.array([-1.0]))[0]):
            return -math.inf, math.inf
        values = np.flatnonzero(np.isfinite(self.logpmf(np.arange(_LAST + 1))))
        last = float(values[-1])
        return float(values[0]), math.inf if last == _LAST else last


def as_law(law: Any) -> Any:
    """Return a law as `families` reads it: scipy's as it is, PyMC's wrapped."""
    return PyMCLaw(law) if hasattr(law, "owner") and hasattr(law, "ndim") else law
