"""Draws that an engine returns, and their conversion to an InferenceData."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_seed

if TYPE_CHECKING:
    import arviz as az


APPROXIMATE = ("pathfinder", "laplace")
"""Engines that approximate the posterior which "pymc" samples."""


@dataclass(frozen=True)
class Draws:
    """Posterior draws, before they have names for their dimensions.

    Attributes
    ----------
    posterior : mapping of str to ndarray
        Each variable, shape (chains, draws, *variable's shape).
    sample_stats : mapping of str to ndarray
        ArviZ's names (`lp`, `diverging`, `energy`, `tree_depth`, `n_steps`,
        `acceptance_rate`, `step_size`), shape (chains, draws).
    engine : str
        The engine that ran: "exact", "pymc" or "stan", for example.
    versions : mapping of str to str
        Versions of the software that drew them.
    doubts : tuple of str
        The engine's own reasons to doubt its draws, in words.
    told : mapping of str to str
        Further information from the engine about its draws, for a fit's attrs.
    known : mapping of str to ndarray of bool
        Of variables that have known constants among their numbers, as the public size of one group
        where others' are confidential: which these are, in the variable's shape.
    """

    posterior: Mapping[str, NDArray[np.float64]]
    sample_stats: Mapping[str, NDArray[Any]]
    engine: str
    versions: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def moving(self) -> list[NDArray[Any]]:
        """Draws of each number that can move, shape (chains, draws): all but known constants."""
        return [
            column
            for name, draws in self.posterior.items()
            for column in _columns(draws)[~self._known_of(name, draws)]
        ]

    def _known_of(self, name: str, draws: NDArray[Any]) -> NDArray[np.bool_]:
        none = np.zeros(draws.shape[2:], dtype=np.bool_)
        return np.asarray(self.known.get(name, none), dtype=np.bool_).ravel()


def _columns(draws: Any) -> NDArray[Any]:
    """Draws of each number of a variable, shape (numbers, chains, draws)."""
    array = np.asarray(draws)
    return np.moveaxis(array.reshape(*array.shape[:2], -1), -1, 0)


def constants_beside(posterior: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[np.bool_]]:
    """Mark numbers with one value in all chains beside others that move, as `Draws.known`.

    Where a step moves all numbers at once, as NUTS does, they are constants, as the diagonal of a
    correlation matrix is: a chain that is stuck has none that moves.
    """
    still = {name: np.ptp(draws, axis=(0, 1)) == 0 for name, draws in posterior.items()}
    if all(np.all(each) for each in still.values()):
        return {}
    return {name: np.asarray(each) for name, each in still.items() if np.any(each)}


def check_sampling(seed: int | None, **counts: Any) -> dict[str, Any]:
    """Return the seed and numbers of draws, chains and so on, or raise InvalidInput."""
    checked = {name: check_at_least_one(name, value) for name, value in counts.items()}
    return {**checked, "seed": check_seed(seed)}


def seed_of(seed: int, bits: int) -> int:
    """Derive a seed of `bits` bits for an engine: unchanged if it is that short, or else hashed."""
    if seed < 1 << bits:
        return seed
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]) >> (64 - bits)


def import_arviz() -> Any:
    """Import ArviZ without the notice it prints about its next major version."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import arviz
    return arviz


def to_inference_data(
    draws: Draws,
    *,
    dims: Mapping[str, list[str]],
    coords: Mapping[str, Any],
    observed_data: Mapping[str, Any],
    constant_data: Mapping[str, Any],
    attrs: Mapping[str, str],
    log_likelihood: Mapping[str, Any] | None = None,
) -> az.InferenceData:
    """Assemble the InferenceData that every fit returns.

    `attrs` are set on the InferenceData and on its posterior group, since netCDF
    keeps both and readers look in either.
    """
    az = import_arviz()
    with warnings.catch_warnings():
        # A fit of few draws is no array whose chains and draws are the wrong way round.
        warnings.filterwarnings("ignore", "More chains", UserWarning)
        idata = az.from_dict(
            posterior=dict(draws.posterior),
            sample_stats=dict(draws.sample_stats),
            observed_data=dict(observed_data),
            constant_data=dict(constant_data),
            **({"log_likelihood": dict(log_likelihood)} if log_likelihood else {}),
            coords=dict(coords),
            dims=dict(dims),
        )
    idata.attrs = dict(attrs)
    idata.posterior.attrs.update(attrs)
    return idata
