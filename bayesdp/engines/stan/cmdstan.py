"""Stan through CmdStanPy, on the CmdStan that the user has installed."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import sys
import sysconfig
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.engines.stan.backend import Run, require_variables, to_sample_stats, without_values
from bayesdp.engines.stan.programs import Program
from bayesdp.errors import EngineFailed
from bayesdp.private_folder import private_folder

_EXE = ".exe" if sys.platform == "win32" else ""
_SIGNIFICANT_FIGURES = 17  # a double, without loss
_COURSE = re.compile(
    r"\s*(Iteration:|Elapsed Time:|[\d.]+ seconds|Gradient evaluation took|1000 transitions using"
    r"|Adjust your expectations)"
)
"""What CmdStan prints of a run's course."""


def import_cmdstanpy() -> Any:
    """Import CmdStanPy without the warning of tqdm about notebook widgets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cmdstanpy
    return cmdstanpy


def find_cmdstan() -> Path | None:
    """Folder of the CmdStan that CmdStanPy would use, or None."""
    try:
        return Path(import_cmdstanpy().cmdstan_path())
    except (ImportError, ValueError):
        return None


class CmdStan:
    """The backend "cmdstanpy".

    Parameters
    ----------
    folder : Path
        Folder of CmdStan.
    threads : bool
        Whether programs are compiled with threads, for their `reduce_sum` and `map_rect`.
    """

    def __init__(self, folder: Path, *, threads: bool = False) -> None:
        self._folder = folder
        self._options = {"cpp_options": {"STAN_THREADS": True}} if threads else {}

    def fingerprint(self) -> dict[str, str]:
        """CmdStan's folder (executables link to it), version, make options, threads, platform."""
        options = self._folder / "make" / "local"
        return {
            "cmdstan": str(self._folder),
            "version": str(import_cmdstanpy().cmdstan_version()),
            "options": options.read_text("utf-8") if options.is_file() else "",
            "platform": sysconfig.get_platform(),
            **({"threads": "yes"} if self._options else {}),
        }

    def compile(self, program: Program, folder: Path) -> None:
        """Compile a program beside its text in a folder.

        Raises
        ------
        EngineFailed
            If the program doesn't compile; the message is that of stanc or the C++ compiler.
        """
        with _quiet():
            try:
                import_cmdstanpy().CmdStanModel(
                    stan_file=folder / program.filename, **self._options
                )
            except (ValueError, RuntimeError) as error:
                raise EngineFailed(
                    f"Stan can't compile {program.filename} with the CmdStan in {self._folder}. "
                    f"It says:\n{error}"
                ) from error

    def sample(self, program: Program, folder: Path, run: Run) -> Draws:
        """Sample from a compiled program, its chains in parallel.

        Data and draws pass through files in a private folder, which is removed.

        Raises
        ------
        EngineFailed
            If Stan refuses the data or a chain fails, with Stan's message without its numbers.
        InvalidInput
            If the program lacks some of `run.variables`.
        """
        cmdstanpy = import_cmdstanpy()
        with private_folder() as files, _quiet():
            data = files / "data.json"
            cmdstanpy.write_stan_json(str(data), run.data)
            try:
                model = cmdstanpy.CmdStanModel(
                    stan_file=folder / program.filename,
                    exe_file=folder / f"{program.name}{_EXE}",
                )
                at_once = max((os.cpu_count() or 1) // (run.threads_per_chain or 1), 1)
                fit = model.sample(
                    data=str(data),
                    chains=run.chains,
                    parallel_chains=min(run.chains, run.parallel_chains or at_once),
                    threads_per_chain=run.threads_per_chain,
                    force_one_process_per_chain=True,  # also those with threads
                    iter_warmup=run.warmup,
                    iter_sampling=run.draws * run.thin,
                    thin=run.thin,
                    seed=run.seed + 1,  # CmdStan refuses 0
                    adapt_delta=run.adapt_delta,
                    max_treedepth=run.max_treedepth,
                    metric=run.metric,
                    inits=_inits(cmdstanpy, run, files),
                    sig_figs=_SIGNIFICANT_FIGURES,
                    output_dir=str(files),
                    # Its bar is made of control characters.
                    show_progress=run.progress and sys.stderr.isatty(),
                    show_console=False,
                )
            except (ValueError, RuntimeError) as error:
                said = str(error).partition("Command and output files:")[0] + _printed(files)
                raise EngineFailed(
                    f"Stan can't sample from {program.filename}: {without_values(said, program)}"
                ) from None  # CmdStanPy's own message quotes data
            return _draws(program, run, fit, cmdstanpy.__version__)


def _inits(cmdstanpy: Any, run: Run, files: Path) -> list[str] | None:
    """Write starting values to files of our own: CmdStanPy's would outlive the call."""
    if run.inits is None:
        return None
    paths = [str(files / f"inits-{chain}.json") for chain in range(1, run.chains + 1)]
    for path, values in zip(paths, run.inits, strict=True):
        cmdstanpy.write_stan_json(path, values)
    return paths


def _draws(program: Program, run: Run, fit: Any, cmdstanpy_version: str) -> Draws:
    """Read a CmdStanMCMC into memory."""
    require_variables(program, run.variables, list(fit.metadata.stan_vars))

    def by_chain(name: str) -> NDArray[np.float64]:
        # stan_variable concatenates the chains: (chains * draws, ...)
        values = np.asarray(fit.stan_variable(name))
        return values.reshape(run.chains, run.draws, *values.shape[1:])

    config = fit.metadata.cmdstan_config
    version = ".".join(str(config[f"stan_version_{part}"]) for part in ("major", "minor", "patch"))
    return Draws(
        posterior={name: by_chain(name) for name in run.variables},
        sample_stats=to_sample_stats(
            {
                # (draws, chains), with a last axis of length one in some versions
                name: np.reshape(values, (run.draws, run.chains)).T
                for name, values in fit.method_variables().items()
            }
        ),
        engine="stan",
        versions={"cmdstanpy": cmdstanpy_version, "stan": version},
    )


def _printed(folder: Path) -> str:
    """Read what chains printed after their settings, which end with an empty line."""
    said = []
    for console in sorted(folder.glob("*stdout*.txt")):
        text = console.read_text("utf-8", errors="replace")
        lines = (text.partition("\n\n")[2] or text).splitlines()
        said += [line for line in lines if not _COURSE.match(line)]
    return "\n" + "\n".join(said)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Mute CmdStanPy's logger inside the context, and until the threads that it started end.

    After Ctrl-C these may still report that their chains were interrupted. Each call has a filter
    of its own, since `cmdstanpy.disable_logging` restores a wrong state when two threads leave it
    in the order they entered.
    """
    logger = logging.getLogger("cmdstanpy")
    before = set(threading.enumerate())

    def mute(record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(mute)
    try:
        yield
    finally:
        late = set(threading.enumerate()) - before

        def unmute() -> None:
            for thread in late:
                thread.join()
            logger.removeFilter(mute)

        if any(thread.name.startswith("ThreadPoolExecutor") for thread in late):
            threading.Thread(target=unmute, daemon=True).start()
        else:
            logger.removeFilter(mute)
