"""The PyMC engine: NUTS on a pm.Model, by nutpie or by PyMC itself."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bayesdp.engines.draws import Draws, import_arviz, seed_of
from bayesdp.engines.pytensor_sources import sources_in_memory
from bayesdp.engines.settings import check_parameters
from bayesdp.errors import EngineFailed, InvalidInput
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
    sampler: Literal["nutpie", "pymc"] = "nutpie",
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
    sampler : {"nutpie", "pymc"}
        The implementation of NUTS. PyMC's own compiles C code that holds the model's constants, and
        keeps it on the disk: it is for models of released data alone.
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
        Most chains at a time; by default as many as there are cores.

    Raises
    ------
    InvalidInput
        If there are starting values of what isn't a free variable, or the sampler has no such
        metric.
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
        model, list(variables), draws, chains, warmup, seed, wanted(progress), target_accept,
        max_treedepth, metric, initvals, cores,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            idata, versions = (_by_nutpie if sampler == "nutpie" else _by_pymc)(run)
        except (
            RuntimeError, ValueError, NotImplementedError, pymc.exceptions.SamplingError,
        ) as error:  # fmt: skip
            raise EngineFailed(f"{sampler} could not sample the model: {error}") from error
    stats, names = idata.sample_stats, _STATS if sampler == "nutpie" else {s: s for s in _STATS}
    return Draws(
        posterior={name: idata.posterior[name].to_numpy() for name in variables},
        sample_stats={ours: stats[theirs].to_numpy() for ours, theirs in names.items()},
        engine="pymc",
        versions={"pymc": pymc.__version__, **versions},
    )


@dataclass(frozen=True)
class _Run:
    """Arguments of one call of `sample`."""

    model: pm.Model
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


def _uncut(sampler: Any) -> Any:
    """Wait for nutpie's sampler and return its result; Ctrl-C stops it.

    nutpie itself treats Ctrl-C as a request to go on with the draws made so far.
    """
    try:
        return sampler.wait()
    except BaseException:
        sampler.cancel()
        raise
