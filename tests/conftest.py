"""What the tests share: how a missing real part is treated, and small releases."""

import multiprocessing
import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import SimpleNamespace

import hypothesis
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms import randomness

# The same examples in every run, and no clock: `--hypothesis-profile=default` looks for new ones.
hypothesis.settings.load_profile("ci")

with warnings.catch_warnings():  # these libraries announce their own futures when imported
    warnings.simplefilter("ignore")
    import arviz  # noqa: F401

STAN_HEADER = Path(__file__).with_name("stan_header.py")
STAN_HEADERS = "BAYESDP_TESTS_STAN_HEADER"
# Those of setuptools, which compiles PyStan's programs.
STAN_COMPILERS = {name: str(sysconfig.get_config_var(name)) for name in ("CC", "CXX")}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cells of `make calibrate` out, unless `-m` or a test's own id asks for them."""
    asked = [argument for argument in config.args if "::" in argument]
    if "calibrate" in config.option.markexpr or asked:
        return
    left_out = [item for item in items if item.get_closest_marker("calibrate")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("calibrate")]
        config.hook.pytest_deselected(items=left_out)


def missing(what: str, install: str) -> None:
    """Fail in CI, skip on a laptop, and say what to install."""
    message = f"{what} is missing; install it with: {install}"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session's folder of temporary files, which its workers have in common."""
    root = tmp_path_factory.getbasetemp()
    return root.parent if "PYTEST_XDIST_WORKER" in os.environ else root  # a worker's own is in it


def pytest_configure(config: pytest.Config) -> None:
    """Make a folder for Stan's precompiled header, which the session's workers share."""
    if not hasattr(config, "workerinput"):
        os.environ[STAN_HEADERS] = tempfile.mkdtemp(prefix="bayesdp-stan-header-")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the header, most of a GB, once all workers have ended."""
    if not hasattr(config, "workerinput"):
        shutil.rmtree(os.environ.pop(STAN_HEADERS, ""), ignore_errors=True)


@pytest.fixture(scope="session", autouse=True)
def _stan_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache of compiled Stan programs for all workers of the session, and not the user's.

    On Linux, compilers read Stan's header precompiled, which is a third of a program's time.
    """
    root = session_folder(tmp_path_factory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BAYESDP_CACHE", str(root / "stan-cache"))
        if sys.platform == "linux":
            for name, compiler in STAN_COMPILERS.items():
                ours = [sys.executable, "-SE", str(STAN_HEADER), os.environ[STAN_HEADERS]]
                patch.setenv(name, f"{shlex.join(ours)} {compiler}")
        yield


@pytest.fixture(scope="session")
def processes() -> ForkServerContext:
    """Processes that are forked, already warm, from a server without threads, one for all tests."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        [
            "tests.privacy.crash_worker",
            "bayesdp.privacy.ledger_store",
            "psycopg",
            "tests.evaluation.studies.imported",
        ]
    )
    return context


@pytest.fixture(autouse=True)
def _empty_store() -> None:
    """Nothing at addresses in memory: they outlive a test, and examples write to the same."""
    if "fsspec.implementations.memory" in sys.modules:
        sys.modules["fsspec.implementations.memory"].MemoryFileSystem.store.clear()


@pytest.fixture(autouse=True)
def _same_draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a release without a seed draws in a test: the same in every run, by the test's name.

    Nothing else is changed: such a release isn't marked `reproducible`, and has its guarantee.
    """
    generator = np.random.default_rng(zlib.crc32(request.node.nodeid.encode()))
    monkeypatch.setattr(randomness, "os", SimpleNamespace(urandom=generator.bytes))


@pytest.fixture
def run_cli(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str, str]]:
    """Exit status, standard output and error of `bayesdp LINE`."""
    from bayesdp import cli

    def run(line: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bayesdp", *shlex.split(line)])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def charest_release() -> bdp.Release:
    """The release of the reference figures: n = m = 100, one copy, z = 38, a = 15.65."""
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(15.65, 15.65))
    return bdp.Release.of(mechanism, outputs=[38])


@pytest.fixture
def grouped_release() -> bdp.Release:
    """Three groups of different size, two copies."""
    counts = {"a": bdp.Count(20, 50), "b": bdp.Count(70, 80), "c": bdp.Count(0, 30)}
    with bdp.reproducible(5):
        return bdp.BetaBinomialSynthesizer(epsilon=3.0, copies=2).release(counts)


def require_jax() -> None:
    """Skip, or fail in CI, unless NumPyro and BlackJAX are installed."""
    import importlib.util

    if not all(importlib.util.find_spec(name) for name in ("jax", "numpyro", "blackjax")):
        missing("JAX with NumPyro and BlackJAX", 'pip install "bayesdp[jax]"')


def require_pystan() -> None:
    """Skip, or fail in CI, unless PyStan can compile here."""
    import importlib.util
    import shutil

    if importlib.util.find_spec("httpstan") is None:
        missing("PyStan", 'pip install "bayesdp[stan]"')
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        missing("a C++ compiler", "apt-get install g++")
