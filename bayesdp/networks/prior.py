"""Normal priors of a network model's coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least, plain
from bayesdp.errors import InvalidInput, quoted


@dataclass(frozen=True)
class NormalPrior:
    """Independent normal priors of coefficients.

    Parameters
    ----------
    mean, sd : float or array_like of shape (terms,)
        One number for all terms, or one for each; every sd must be above zero.

    Raises
    ------
    InvalidInput
        If a number isn't finite or an sd isn't above zero.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> model = bdp.models.ERGMModel(
    ...     "edges + triangle", prior=bdp.networks.NormalPrior(mean=[-2, 0], sd=[2, 1])
    ... )
    """

    mean: Any = 0.0
    sd: Any = 5.0

    def __post_init__(self) -> None:
        for name, value in (("mean", self.mean), ("sd", self.sd)):
            labels: Any = getattr(value, "index", None)
            if hasattr(labels, "get_loc") and list(labels) != list(range(len(labels))):
                raise InvalidInput(
                    f"{name} has labels, which a prior doesn't read; put it into the order of the "
                    "formula's statistics, and drop them by .to_numpy()"
                )
        plain(self)
        for name, value in (("mean", self.mean), ("sd", self.sd)):
            numbers = np.asarray(value)
            if numbers.ndim > 1 or numbers.dtype.kind not in "iuf":
                raise InvalidInput(
                    f"{name} is {quoted(value)}; it must be a number, or one for each term"
                )
            if not np.isfinite(numbers).all() or (name == "sd" and not (numbers > 0).all()):
                raise InvalidInput(
                    f"{name} is {quoted(value)}; it must be "
                    f"finite{', and above zero' * (name == 'sd')}"
                )

    def of(self, terms: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and standard deviation of each term, shapes (terms,)."""
        terms, both = check_at_least("terms", terms, 0), []
        for name, value in (("mean", self.mean), ("sd", self.sd)):
            numbers = np.asarray(value, dtype=np.float64)
            if numbers.ndim and numbers.shape != (terms,):
                raise InvalidInput(
                    f"the prior's {name} has {len(numbers)} numbers; the formula has {terms} terms"
                )
            both.append(np.broadcast_to(numbers, (terms,)).copy())
        return both[0], both[1]
