"""The PyMC engine: NUTS on a pm.Model, by nutpie, by PyMC itself, or by NumPyro or BlackJAX."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from bayesdp.engines.draws import APPROXIMATE, Draws, import_arviz, seed_of
from bayesdp.engines.pymc.approximations import approximate
from bayesdp.engines.pytensor_sources import sources_in_memory
from bayesdp.engines.settings import check_parameters
from bayesdp.errors import EngineFailed, InvalidInput
from bayesdp.optional import needed
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
"""ArviZ's names of the samplers' statistics, which the others use, and nutpie's."""

_DEPTHS = {"numpyro": "max_tree_depth", "blackjax": "max_num_doublings"}
"""The samplers that JAX compiles, and their names of `max_treedepth`."""


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
    sampler: Literal["nutpie", "pymc", "numpyro", "blackjax", "pathfinder", "laplace"] = "nutpie",
    target_accept: float | None = None,
    max_treedepth: int | None = None,
    metric: Literal["diag", "low_rank"] = "diag",
    initvals: Mapping[str, Any] | None = None,
    cores: int | None = None,
) -> Draws:
    """Sample a PyMC model by NUTS.

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
        Whether to show the sampler's progress bar; None: only if standard error is a terminal.
    sampler : {"nutpie", "pymc", "numpyro", "blackjax", "pathfinder", "laplace"}
        The implementation of NUTS. PyMC's own compiles C code that holds the model's constants, and
        keeps it on the disk: it is for models of released data alone. So are "numpyro" and
        "blackjax", which JAX compiles anew for every fit, in double precision and in memory unless
        JAX's own cache is set; `pip install "bayesdp[jax]"` installs them. "pathfinder" and
        "laplace" don't sample, but approximate (`bayesdp.engines.pymc.approximations`): they take
        no warmup, and none of the settings below.
    target_accept : float, optional
        Mean acceptance probability that the step size adapts to, above 0 and below 1; by default
        the sampler's, 0.8.
    max_treedepth : int, optional
        Largest depth of a trajectory's tree; by default the sampler's, 10.
    metric : {"diag", "low_rank"}
        Mass matrix that the warmup adapts; "low_rank" takes in the strongest correlations of the
        parameters too, and is nutpie's alone.
    initvals : mapping of str to numbers, optional
        Starting values of free variables, by name, which the sampler may jitter.
    cores : int, optional
        Most chains at a time; by default as many as there are cores. With "numpyro" and "blackjax"
        each chain has a thread, or all are one computation if `cores` is less than `chains`.

    Raises
    ------
    InvalidInput
        If there are starting values of what isn't a free variable, or the sampler has no such
        metric.
    MissingDependency
        If the sampler isn't installed.
    EngineFailed
        If the model doesn't compile or sampling stops; the message is the engine's.
    """
    pymc = import_pymc()
    if metric == "low_rank" and sampler != "nutpie":
        raise InvalidInput(
            "metric is 'low_rank', which sampler='nutpie' alone adapts; take that, or leave metric "
            "out"
        )
    if initvals is not None:
        check_parameters("initvals", initvals, [str(free.name) for free in model.free_RVs])
    run = _Run(
        model, sampler, list(variables), draws, chains, warmup, seed, wanted(progress),
        target_accept, max_treedepth, metric, initvals, cores,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if sampler in APPROXIMATE:
                return approximate(
                    model, sampler, variables=variables, draws=draws, chains=chains, seed=seed
                )
            with threadpool_limits(1):  # BLAS: a chain has a core
                idata, versions = _SAMPLERS[sampler](run)
        except EngineFailed:
            raise
        except (
            RuntimeError, ValueError, NotImplementedError, pymc.exceptions.SamplingError,
        ) as error:  # fmt: skip
            raise EngineFailed(f"{sampler} could not sample the model: {error}") from error
    stats, names = idata.sample_stats, _STATS if sampler == "nutpie" else {s: s for s in _STATS}
    return Draws(
        posterior={name: idata.posterior[name].to_numpy() for name in variables},
        sample_stats={
            ours: stats[theirs].to_numpy() for ours, theirs in names.items() if theirs in stats
        },
        engine="pymc",
        versions={"pymc": pymc.__version__, **versions},
    )


@dataclass(frozen=True)
class _Run:
    """Arguments of one call of `sample`."""

    model: pm.Model
    sampler: str
    variables: list[str]
    draws: int
    chains: int
    warmup: int
    seed: int | None
    progress: bool
    target_accept: float | None
    max_treedepth: int | None
    metric: str
    initvals: Mapping[str, Any] | None
    cores: int | None

    def options(self, depth: str) -> dict[str, Any]:
        """Arguments that both samplers take, the tree's depth under its name of `depth`."""
        optional = {
            "target_accept": self.target_accept,
            depth: self.max_treedepth,
            "cores": self.cores,
        }
        return {
            "draws": self.draws,
            "chains": self.chains,
            "tune": self.warmup,
            **{name: value for name, value in optional.items() if value is not None},
        }


def _by_nutpie(run: _Run) -> tuple[Any, dict[str, str]]:
    import nutpie

    start = run.initvals and {name: np.asarray(value) for name, value in run.initvals.items()}
    with sources_in_memory():
        compiled = nutpie.compile_pymc_model(
            run.model, var_names=run.variables, initial_points=start
        )
    sampler = nutpie.sample(
        compiled,
        **run.options("maxdepth"),
        seed=None if run.seed is None else seed_of(run.seed, 64),
        progress_bar=run.progress,
        low_rank_modified_mass_matrix=run.metric == "low_rank",
        save_warmup=False,
        blocking=False,
    )
    return _uncut(sampler), {"nutpie": nutpie.__version__}


def _by_pymc(run: _Run) -> tuple[Any, dict[str, str]]:
    import pymc

    idata = pymc.sample(
        **run.options("max_treedepth"),
        model=run.model,
        var_names=run.variables,
        initvals=run.initvals and dict(run.initvals),
        random_seed=None if run.seed is None else seed_of(run.seed, 32),
        progressbar=run.progress,
        quiet=not run.progress,
        compute_convergence_checks=False,
    )
    if idata.posterior.sizes["draw"] < run.draws:
        raise KeyboardInterrupt  # which PyMC takes, as nutpie does, for the wish to stop early
    return idata, {}


def _by_jax(run: _Run) -> tuple[Any, dict[str, str]]:
    jax = needed("jax", f"sampler={run.sampler!r}", "jax")
    from pymc.sampling import jax as pymc_jax  # before JAX looks for devices: it asks for 100

    library = needed(run.sampler, f"sampler={run.sampler!r}", "jax")
    threads = run.chains <= min(run.cores or run.chains, jax.local_device_count())
    depth = {} if run.max_treedepth is None else {_DEPTHS[run.sampler]: run.max_treedepth}
    sample = getattr(pymc_jax, f"sample_{run.sampler}_nuts")
    try:
        with sources_in_memory(), jax.enable_x64(True), run.model:
            idata = sample(
                draws=run.draws,
                chains=run.chains,
                tune=run.warmup,
                target_accept=run.target_accept or 0.8,
                var_names=run.variables,
                initvals=run.initvals and dict(run.initvals),
                random_seed=None if run.seed is None else seed_of(run.seed, 32),
                progressbar=run.progress,
                quiet=not run.progress,
                compute_convergence_checks=False,
                chain_method="parallel" if threads else "vectorized",
                nuts_kwargs=depth,
            )
    except (NotImplementedError, TypeError, IndexError) as error:  # as JAX's own errors are
        raise EngineFailed(
            f"{run.sampler} can't sample the model, which JAX doesn't compile; take "
            f"sampler='nutpie' or 'pymc'. JAX says: {str(error).partition(chr(10))[0]}"
        ) from error
    if run.sampler == "numpyro":  # whose "lp" is the potential energy
        idata.sample_stats["lp"] = -idata.sample_stats["lp"]
    return idata, {run.sampler: library.__version__, "jax": jax.__version__}


_SAMPLERS: Mapping[str, Callable[[_Run], tuple[Any, dict[str, str]]]] = {
    "nutpie": _by_nutpie,
    "pymc": _by_pymc,
    "numpyro": _by_jax,
    "blackjax": _by_jax,
}


def _uncut(sampler: Any) -> Any:
    """Wait for nutpie's sampler and return its result; Ctrl-C stops it.

    nutpie itself treats Ctrl-C as a request to go on with the draws made so far.
    """
    try:
        return sampler.wait()
    except BaseException:
        sampler.cancel()
        raise
