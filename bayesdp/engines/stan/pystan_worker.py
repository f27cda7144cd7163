"""Compile a Stan program with PyStan, or sample from it, in a process of its own.

    python -P pystan_worker.py FOLDER

FOLDER holds request.json. A failure is written to failure.txt there, with exit status 1; what
PyStan and the compiler print goes to the standard output.

PyStan prints to the terminal, runs an event loop, forks its chains, redirects the file
descriptor of stderr while it compiles, leaves a folder `build` in the working directory, and
keeps draws in a cache. In a process of its own none of that reaches the caller.

This file imports nothing of bayesdp. The option -P keeps its folder off the module search path,
where bayesdp/engines/stan/sampling.py would hide the package `stan`.
"""

import asyncio
import contextlib
import importlib
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

_STANC_ATTEMPTS = 3


def main(folder: Path) -> None:
    """Carry out the request in `folder`/request.json."""
    request = json.loads((folder / "request.json").read_text("utf-8"))
    cache: Any = importlib.import_module("httpstan.cache")
    cache.cache_directory = lambda: Path(request["cache"])
    if request["task"] == "compile":
        for _ in range(_STANC_ATTEMPTS):
            if compile_program(request["code"], request["options"]):
                return
        raise TimeoutError(f"stanc took more than a second, {_STANC_ATTEMPTS} times")
    link_compiled(Path(request["compiled"]), Path(request["cache"]))
    sample(request, folder)


def compile_program(code: str, options: list[str]) -> bool:
    """Compile into httpstan's cache folder, with the logs that httpstan wants to find there.

    False if stanc took more than the one second that httpstan gives it, few on a cold disk.
    """
    cache: Any = importlib.import_module("httpstan.cache")
    stanc: Any = importlib.import_module("httpstan.compile")
    models: Any = importlib.import_module("httpstan.models")
    model = models.calculate_model_name(code)
    try:
        _, warnings = stanc.compile(code, "program")
        # Where sys.stderr has no file descriptor, httpstan leaves the compiler's messages alone.
        with contextlib.redirect_stderr(io.StringIO()):
            output = asyncio.run(models.build_services_extension_module(code, options))
    except subprocess.TimeoutExpired:
        return False
    cache.dump_stanc_warnings(warnings, model)
    cache.dump_services_extension_module_compiler_output(output, model)
    return True


def link_compiled(compiled: Path, cache: Path) -> None:
    """Show httpstan a compiled program in a cache of its own, where it may also write draws."""
    for path in compiled.glob("models/*/*"):
        link = cache / path.relative_to(compiled)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)


def sample(request: dict[str, Any], folder: Path) -> None:
    """Sample, and write the names of all variables and the draws of those asked for.

    The names are in declared.json. If those asked for are among them, posterior.npz and
    sample_stats.npz hold arrays of shape (chains, draws, ...).
    """
    import numpy as np

    import stan

    chains, draws = request["chains"], request["draws"]
    model = stan.build(request["code"], request["data"], random_seed=request["seed"])
    (folder / "declared.json").write_text(json.dumps(model.param_names), encoding="utf-8")
    if not set(request["variables"]) <= set(model.param_names):
        return
    starts = {} if request["inits"] is None else {"init": request["inits"]}
    fit = model.sample(
        num_chains=chains,
        num_samples=draws * request["thin"],
        num_thin=request["thin"],
        num_warmup=request["warmup"],
        delta=request["adapt_delta"],
        max_depth=request["max_treedepth"],
        **starts,
    )

    def by_chain(name: str, shape: tuple[int, ...]) -> Any:
        # fit[name] ends in one axis of chains * draws on which the chain varies fastest.
        return np.moveaxis(fit[name].reshape(*shape, draws, chains), (-1, -2), (0, 1))

    shapes = dict(zip(model.param_names, model.dims, strict=True))
    np.savez(
        folder / "posterior.npz",
        **{name: by_chain(name, tuple(shapes[name])) for name in request["variables"]},
    )
    np.savez(
        folder / "sample_stats.npz",
        **{name: by_chain(name, ()) for name in request["sample_stats"]},
    )


def end_with_parent() -> None:
    """Kill this process, its chains and compilers once the process that started it has ended."""
    os.read(0, 1)  # not sys.stdin, whose lock a thread that is waiting would keep at the end
    if sys.platform != "win32":  # where PyStan isn't either
        os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    threading.Thread(target=end_with_parent, daemon=True).start()
    _folder = Path(sys.argv[1])
    try:
        main(_folder)
    except Exception as error:
        (_folder / "failure.txt").write_text(f"{error}" or type(error).__name__, encoding="utf-8")
        sys.exit(1)
