"""Stan through PyStan, which compiles and samples with what pip installs and a C++ compiler.

PyStan runs in a process of its own (see `pystan_worker`). httpstan, the part of PyStan that
compiles and samples, has a cache of programs and draws; here it sees a cache in the private
folder of one run, which has links to the compiled program in bayesdp's cache and goes with all
draws when the run ends. httpstan's cache of the user is neither read nor written.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.engines.stan.backend import (
    SAMPLE_STATS,
    Run,
    require_variables,
    to_sample_stats,
    without_values,
)
from bayesdp.engines.stan.programs import Program
from bayesdp.errors import EngineFailed, InvalidInput
from bayesdp.private_folder import private_folder

_WORKER = Path(__file__).with_name("pystan_worker.py")
# httpstan's own, and no symbols for a debugger, which take a third of the time and the space.
_COMPILER_OPTIONS = ["-O3", "-std=c++14", "-Wno-sign-compare", "-g0"]
_POLL_SECONDS = 0.2
_TAIL_CHARACTERS = 2000
# `Error calling get_param_names: `Exception: ...``, or
# `Exception during ...: `RuntimeError("...")`, traceback: `...``
_HTTPSTAN_ERROR = re.compile(
    r"""\A[^`]*`(?:\w+\(['"])?(.*?)(?:['"]\))?`(?:, traceback: .*)?\Z""", re.DOTALL
)


def pystan_version() -> str | None:
    """Version of PyStan, or None where it isn't installed; doesn't import it."""
    try:
        return importlib.metadata.version("pystan")
    except importlib.metadata.PackageNotFoundError:
        return None


def _httpstan_folder() -> Path:
    spec = importlib.util.find_spec("httpstan")
    if spec is None or spec.origin is None:
        raise EngineFailed(
            'PyStan is installed without httpstan; repair it with: pip install "bayesdp[stan]"'
        )
    return Path(spec.origin).parent


def _stan_version() -> str:
    """Version of the Stan that comes with httpstan, from its header."""
    header = _httpstan_folder() / "include" / "stan" / "version.hpp"
    return ".".join(
        re.findall(r"#define STAN_(?:MAJOR|MINOR|PATCH) (\d+)", header.read_text("utf-8"))
    )


class PyStan:
    """The backend "pystan"."""

    def versions(self) -> dict[str, str]:
        """Versions of PyStan, of httpstan and of Stan."""
        return {
            "pystan": importlib.metadata.version("pystan"),
            "httpstan": importlib.metadata.version("httpstan"),
            "stan": _stan_version(),
        }

    def fingerprint(self) -> dict[str, str]:
        """Versions, compiler options, platform, and paths that httpstan builds into programs."""
        return {
            **self.versions(),
            "options": " ".join(_COMPILER_OPTIONS),
            "python": sys.version,
            "platform": sysconfig.get_platform(),
            "executable": sys.executable,
            "libraries": str(_httpstan_folder() / "lib"),
        }

    def compile(self, program: Program, folder: Path) -> None:
        """Compile a program into a folder.

        Raises
        ------
        EngineFailed
            If the program doesn't compile; the message is that of stanc or the C++ compiler.
        """
        request = {
            "task": "compile",
            "cache": str(folder),
            "code": program.code,
            "options": _COMPILER_OPTIONS,
        }
        with _worker(request) as outcome:
            if outcome.failure is not None:
                raise EngineFailed(
                    f"Stan can't compile {program.filename}; PyStan needs a C++ compiler (g++ or "
                    f"clang++) on the PATH. It says:\n{outcome.failure}\n{outcome.printed}".rstrip()
                )
        if not any(folder.glob("models/*/*.so")):
            raise EngineFailed(
                f"PyStan left no compiled {program.filename} in {folder}; "
                f'install the version bayesdp knows with: pip install "bayesdp[stan]"'
            )

    def sample(self, program: Program, folder: Path, run: Run) -> Draws:
        """Sample from a compiled program, its chains in parallel.

        Raises
        ------
        EngineFailed
            If Stan refuses the data or a chain fails, with Stan's message without its numbers.
        InvalidInput
            If the program lacks some of `run.variables`, or a setting is CmdStan's alone.
        """
        given = (run.metric != "diag_e", run.parallel_chains, run.threads_per_chain)
        if asked := [*compress(("metric", "parallel_chains", "threads_per_chain"), given)]:
            raise InvalidInput(
                f"{asked[0]} is a setting of CmdStan's, and Stan runs through PyStan here; leave "
                "it out, or install CmdStan with: python -m cmdstanpy.install_cmdstan"
            )
        request = {
            "task": "sample",
            "compiled": str(folder),
            "code": program.code,
            "data": run.data,
            "variables": list(run.variables),
            "sample_stats": list(SAMPLE_STATS.values()),
            "draws": run.draws,
            "chains": run.chains,
            "warmup": run.warmup,
            "seed": run.seed,
            "adapt_delta": run.adapt_delta,
            "max_treedepth": run.max_treedepth,
            "inits": run.inits,
            "thin": run.thin,
        }
        with _worker(request, progress=run.progress) as outcome:
            if outcome.failure is not None:
                said = _HTTPSTAN_ERROR.sub(r"\1", outcome.failure)
                raise EngineFailed(
                    f"Stan can't sample from {program.filename}: {without_values(said, program)}"
                )
            declared = json.loads((outcome.folder / "declared.json").read_text("utf-8"))
            require_variables(program, run.variables, declared)
            return Draws(
                posterior=_load(outcome.folder / "posterior.npz"),
                sample_stats=to_sample_stats(_load(outcome.folder / "sample_stats.npz")),
                engine="stan",
                versions=self.versions(),
            )


def _load(path: Path) -> dict[str, NDArray[np.float64]]:
    with np.load(path) as arrays:
        return dict(arrays)


@dataclass(frozen=True)
class _Outcome:
    """Outcome of a worker: its folder, why it failed if it did, and what was printed last."""

    folder: Path
    failure: str | None
    printed: str


@contextlib.contextmanager
def _worker(request: Mapping[str, Any], *, progress: bool = False) -> Iterator[_Outcome]:
    """Run the worker; neither its folder nor any process of it outlives the context."""
    with private_folder(sockets=True) as folder:
        output = folder / "output.txt"
        request = {"cache": str(folder), **request}
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        with output.open("wb") as stream:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-P", str(_WORKER), str(folder)],
                cwd=folder,
                env={**os.environ, "TMPDIR": str(folder)},  # sockets and the compiler's files
                stdin=subprocess.PIPE,  # its end tells the worker that this process has ended
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            _wait(process, output if progress else None)
        finally:
            # Chains and compilers are children of the worker and outlive it if it is killed.
            if sys.platform == "win32":  # where there is no PyStan, nor a group of processes
                process.kill()
            else:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        yield _outcome(process.returncode, folder, output.read_text("utf-8", errors="replace"))


def _outcome(status: int, folder: Path, printed: str) -> _Outcome:
    said = folder / "failure.txt"
    failure = None
    if said.is_file():
        failure = said.read_text("utf-8")
    elif status != 0:
        failure = f"its process ended with status {status}, perhaps out of memory"
    return _Outcome(folder, failure, printed.strip()[-_TAIL_CHARACTERS:])


def _wait(process: subprocess.Popen[bytes], output: Path | None) -> None:
    """Wait for the worker, showing its last line of progress if it is to be followed."""
    if output is None:
        process.wait()
        return
    shown = ""
    while process.poll() is None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLL_SECONDS)
        lines = re.findall(
            r"^Sampling: .*%.*$", output.read_text("utf-8", errors="replace"), re.MULTILINE
        )
        if lines and lines[-1] != shown:
            shown = lines[-1]
            print(shown, file=sys.stderr)
