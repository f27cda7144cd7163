"""The engine "stan": NUTS on one of the programs in stan/, by CmdStan or by PyStan."""

from __future__ import annotations

import logging
import secrets
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bayesdp.checks import check_one_of, check_seed
from bayesdp.engines.draws import Draws, seed_of
from bayesdp.engines.settings import METRICS, check_parameters, check_starts
from bayesdp.engines.stan.backend import Backend, Run
from bayesdp.engines.stan.cmdstan import CmdStan, find_cmdstan
from bayesdp.engines.stan.programs import Program, compiled, read_program
from bayesdp.engines.stan.pystan import PyStan, pystan_version
from bayesdp.errors import InvalidInput, MissingDependency, quoted
from bayesdp.progress import wanted

_logger = logging.getLogger(__name__)

_INSTALL_CMDSTAN = (
    "python -m cmdstanpy.install_cmdstan (or, in Python, cmdstanpy.install_cmdstan())"
)
_SEED_BITS = 31


def sample(
    program: str | Program,
    data: Mapping[str, Any],
    *,
    variables: Sequence[str],
    draws: int,
    chains: int = 4,
    warmup: int = 1000,
    seed: int | None = None,
    backend: Literal["auto", "cmdstanpy", "pystan"] = "auto",
    progress: bool | None = False,
    adapt_delta: float = 0.8,
    max_treedepth: int = 10,
    metric: str = "diag_e",
    inits: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    thin: int = 1,
    parallel_chains: int | None = None,
    threads_per_chain: int | None = None,
) -> Draws:
    """Draw from the posterior of a Stan program by NUTS.

    The program is compiled on first use, which takes a minute or so, and kept in the user's
    cache (`bayesdp.engines.stan.programs.cache_folder`). Data and draws pass through files in a
    private folder (`bayesdp.private_folder`), which doesn't outlive the call.

    Parameters
    ----------
    program : str or Program
        Name of a shipped program, "binomial" for stan/binomial.stan, or any program.
    data : mapping of str to int, float or array of these
        The program's data block. Infinities are allowed, NaN is not.
    variables : sequence of str
        Names of the parameters, transformed parameters or generated quantities to return.
    draws : int
        Draws of each chain, after warmup; at least 1.
    chains : int, default 4
        Number of chains, at least 1. They run in parallel over the cores there are.
    warmup : int, default 1000
        Iterations in which each chain adapts, at least 1. They are not returned.
    seed : int, optional
        Not negative; random if omitted. The same seed and versions give the same draws.
    backend : {"auto", "cmdstanpy", "pystan"}
        The interface to Stan; see `available_backend` for "auto".
    progress : bool or None, default False
        Whether to show progress; None: only if standard error is a terminal. Otherwise nothing
        is printed.
    adapt_delta : float, default 0.8
        Target acceptance rate of the adaptation, above 0 and below 1. Nearer to 1 means
        smaller steps and fewer divergences.
    max_treedepth : int, default 10
        Largest depth of a trajectory's tree: at most 2^max_treedepth steps for each iteration.
    metric : {"diag_e", "dense_e", "unit_e"}
        Mass matrix that the warmup adapts; "cmdstanpy" alone has others than "diag_e".
    inits : mapping of str to numbers, or a sequence with one for each chain; optional
        Starting values of parameters, by name; those not given, and all by default, are random.
    thin : int, default 1
        Iterations for each draw that is kept, of which there are still `draws`.
    parallel_chains : int, optional
        Most chains at a time, with "cmdstanpy"; by default as many as there are cores for.
    threads_per_chain : int, optional
        Threads of each chain, with "cmdstanpy": the program is compiled with STAN_THREADS then, and
        kept beside the one without. Only `reduce_sum` and `map_rect` use more than one.

    Returns
    -------
    Draws
        Variables of shape (chains, draws, ...), and the sampler's statistics under ArviZ's names.

    Raises
    ------
    InvalidInput
        If an argument is out of its range.
    MissingDependency
        If the backend is not installed.
    EngineFailed
        If the program doesn't compile, Stan refuses the data, or a chain fails. The message has
        Stan's own, without its numbers, which may be data.
    """
    source = program if isinstance(program, Program) else read_program(program)
    if isinstance(variables, str) or not variables:
        raise InvalidInput(
            f"variables={quoted(variables)} must be a sequence of names, such as ['p']"
        )
    seed = check_seed(seed)
    if not 0 < adapt_delta < 1:
        raise InvalidInput(f"adapt_delta={quoted(adapt_delta)} must be above 0 and below 1")
    check_one_of("metric", metric, METRICS)
    chains = _integer("chains", chains)
    run = Run(
        data={name: _plain(name, value) for name, value in data.items()},
        variables=tuple(variables),
        draws=_integer("draws", draws),
        chains=chains,
        warmup=_integer("warmup", warmup),
        seed=seed_of(secrets.randbits(_SEED_BITS) if seed is None else seed, _SEED_BITS),
        adapt_delta=float(adapt_delta),
        progress=wanted(progress),
        max_treedepth=_integer("max_treedepth", max_treedepth),
        metric=metric,
        inits=None if inits is None else _of_chains(inits, chains, source),
        thin=_integer("thin", thin),
        parallel_chains=None
        if parallel_chains is None
        else _integer("parallel_chains", parallel_chains),
        threads_per_chain=None
        if threads_per_chain is None
        else _integer("threads_per_chain", threads_per_chain),
    )
    chosen = _choose(backend, threads=threads_per_chain is not None)
    return chosen.sample(source, _compiled(source, chosen, run.progress), run)


def compile_program(program: str) -> None:
    """Compile a shipped program unless the cache has it, so that `sample` can't fail there.

    Raises
    ------
    InvalidInput
        If no such program ships.
    MissingDependency
        If neither CmdStan nor PyStan is installed.
    EngineFailed
        If the program doesn't compile.
    """
    _compiled(read_program(program), _choose("auto"), False)


def _compiled(source: Program, chosen: Backend, progress: bool) -> Path:
    def compile_into(building: Path) -> None:
        _logger.info("compiling %s, which takes a minute or so", source.filename)
        if progress:
            print(f"Compiling {source.filename}, which takes a minute or so", file=sys.stderr)
        chosen.compile(source, building)

    return compiled(source, chosen.fingerprint(), compile_into)


def available_backend() -> str:
    """Name the backend that `sample` uses by default.

    Returns
    -------
    str
        "cmdstanpy" where CmdStanPy finds a CmdStan, else "pystan" where PyStan is installed.

    Raises
    ------
    MissingDependency
        If neither is installed; the message has the commands that install them.
    """
    if find_cmdstan() is not None:
        return "cmdstanpy"
    if pystan_version() is not None:
        return "pystan"
    raise MissingDependency(
        f"the engine 'stan' finds neither CmdStan nor PyStan. {_get_pystan()}; or CmdStan with: "
        f"{_INSTALL_CMDSTAN}"
    )


def _get_pystan() -> str:
    """Say how to get PyStan, whose server is written for Linux and macOS."""
    if sys.platform == "win32":
        return "PyStan doesn't run on Windows: use WSL"
    return 'Install PyStan with: pip install "bayesdp[stan]"'


def _choose(backend: str, *, threads: bool = False) -> Backend:
    """Choose the backend by name, check that it is there, and log the choice."""
    if backend not in ("auto", "cmdstanpy", "pystan"):
        raise InvalidInput(
            f"backend={quoted(backend)} is unknown; choose one of: auto, cmdstanpy, pystan"
        )
    name = available_backend() if backend == "auto" else backend
    asked = "" if backend == "auto" else ", as asked"
    if name == "cmdstanpy":
        folder = find_cmdstan()
        if folder is None:
            raise MissingDependency(
                f"backend='cmdstanpy' needs CmdStan, which was not found. Install it with: "
                f"{_INSTALL_CMDSTAN}"
            )
        _logger.info("Stan runs through cmdstanpy%s: CmdStan is in %s", asked, folder)
        return CmdStan(folder, threads=threads)
    version = pystan_version()
    if version is None:
        raise MissingDependency(f"backend='pystan' needs PyStan. {_get_pystan()}")
    why = asked or ", since no CmdStan was found"
    _logger.info("Stan runs through pystan %s%s", version, why)
    return PyStan()


def _of_chains(inits: Any, chains: int, program: Program) -> list[dict[str, Any]]:
    """Starting values of each chain, the same for all if one mapping is given."""
    starts = check_starts("inits", inits)
    each = [starts] * chains if isinstance(starts, dict) else starts
    if len(each) != chains:
        raise InvalidInput(
            f"inits has {len(each)} mappings for {chains} chains; give one for each chain, or one "
            "for all"
        )
    for start in each:
        check_parameters("inits", start, program.parameters)  # Stan itself ignores other names
    return each


def _integer(name: str, value: int) -> int:
    """Check that an argument is a positive integer."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < 1:
        raise InvalidInput(f"{name}={quoted(value)} must be an integer of at least 1")
    return int(value)


def _plain(name: str, value: Any) -> Any:
    """Convert data to numbers and nested lists; the message keeps the values to itself."""
    try:
        array = np.asarray(value)
    except ValueError:  # ragged
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iuf":
        raise InvalidInput(
            f"data[{quoted(name)}] has dtype {array.dtype}; allowed are integers, floats and "
            f"rectangular arrays of them"
        )
    if np.isnan(array).any():
        raise InvalidInput(f"data[{quoted(name)}] contains NaN; every value must be a number")
    return array.tolist()
