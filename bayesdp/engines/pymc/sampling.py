"""The PyMC engine: NUTS on a pm.Model, by nutpie."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bayesdp.engines.draws import Draws, import_arviz, seed_of
from bayesdp.engines.pytensor_sources import sources_in_memory
from bayesdp.errors import EngineFailed
from bayesdp.progress import wanted

if TYPE_CHECKING:
    import pymc as pm

_STATS = {
    "lp": "logp",
    "diverging": "diverging",
    "energy": "energy",
    "tree_depth": "depth",
    "n_steps": "n_steps",
    "acceptance_rate": "mean_tree_accept",
    "step_size": "step_size",
}


def import_pymc() -> Any:
    """Import PyMC without the notices of its dependencies about their own futures."""
    import_arviz()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pymc
    return pymc


@contextmanager
def without_notices() -> Iterator[None]:
    """Suppress PyTensor's notice that it has no BLAS, and that on PyMC's use of an older Scan."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PyTensor could not link to a BLAS", UserWarning)
        warnings.filterwarnings("ignore", "Scan return signature", DeprecationWarning)
        yield


def sample(
    model: pm.Model,
    *,
    variables: Sequence[str],
    draws: int,
    chains: int = 4,
    warmup: int = 1000,
    seed: int | None = None,
    progress: bool | None = False,
) -> Draws:
    """Sample a PyMC model with nutpie's NUTS.

    Compiled code is kept in PyTensor's cache, from which the next model of the same form takes it.
    The model's constants are part of it, so confidential data must be in shared variables
    (`pm.Data`), as `bdp.censor` has them: compiled code takes these as arguments.

    Parameters
    ----------
    model : pm.Model
        A model with continuous free variables only.
    variables : sequence of str
        The posterior variables to keep.
    draws, chains, warmup : int
        Draws per chain after `warmup` draws of adaptation, and number of chains.
    seed : int or None
        Seed, for reproducible draws.
    progress : bool or None
        Whether to show nutpie's progress bar; None: only if standard error is a terminal.

    Raises
    ------
    EngineFailed
        If the model doesn't compile or sampling stops; the message is the engine's.
    """
    pymc = import_pymc()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nutpie

        try:
            with sources_in_memory():
                compiled = nutpie.compile_pymc_model(model, var_names=variables)
            idata = _uncut(
                nutpie.sample(
                    compiled,
                    draws=draws,
                    tune=warmup,
                    chains=chains,
                    seed=None if seed is None else seed_of(seed, 64),
                    progress_bar=wanted(progress),
                    save_warmup=False,
                    blocking=False,
                )
            )
        except (RuntimeError, ValueError, NotImplementedError) as error:
            raise EngineFailed(f"nutpie could not sample the model: {error}") from error
    stats = idata.sample_stats
    return Draws(
        posterior={name: idata.posterior[name].to_numpy() for name in variables},
        sample_stats={ours: stats[theirs].to_numpy() for ours, theirs in _STATS.items()},
        engine="pymc",
        versions={"pymc": pymc.__version__, "nutpie": nutpie.__version__},
    )


def _uncut(sampler: Any) -> Any:
    """Wait for nutpie's sampler and return its result; Ctrl-C stops it.

    nutpie itself treats Ctrl-C as a request to go on with the draws made so far.
    """
    try:
        return sampler.wait()
    except BaseException:
        sampler.cancel()
        raise
