"""The Stan engine through CmdStanPy.

A fake `CmdStanModel` checks what it is called with and writes CmdStan's output files, which
CmdStanPy's own reader then reads; one test runs a real CmdStan where there is one.
"""

import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from bayesdp.engines.draws import Draws
from bayesdp.engines.stan import cmdstan as stan_cmdstan
from bayesdp.engines.stan import sampling as stan
from bayesdp.engines.stan.replicates import replicates
from bayesdp.errors import EngineFailed, InvalidInput

cmdstanpy = stan_cmdstan.import_cmdstanpy()

DATA: dict[str, Any] = {
    "G": 2,
    "K": 3,
    "first": np.array([1, 2]),
    "last": np.array([1, 3]),
    "log_weight": np.array([0.0, -1.0, -np.inf]),
    "successes": np.array([3, 0, 1]),
    "failures": np.array([2, 0, 5]),
    "prior_a": 1.0,
    "prior_b": 1.0,
    **replicates(()),
}
CHAINS, DRAWS = 2, 3

CONFIG = """# stan_version_major = 2
# stan_version_minor = 36
# stan_version_patch = 0
# model = binomial_model
# method = sample (Default)
#   sample
#     num_samples = {draws}
#     num_warmup = {warmup}
#     save_warmup = false (Default)
#     thin = 1 (Default)
#     algorithm = hmc (Default)
#       hmc
#         engine = nuts (Default)
#           nuts
#             max_depth = 10 (Default)
#         metric = diag_e (Default)
# id = {chain}
"""
COLUMNS = [
    "lp__",
    "accept_stat__",
    "stepsize__",
    "treedepth__",
    "n_leapfrog__",
    "divergent__",
    "energy__",
    "p.1",
    "p.2",
]


def value(chain: int, draw: int, column: int) -> int:
    """What the fake writes: every cell its own number, except in the column of divergences."""
    return draw % 2 if COLUMNS[column] == "divergent__" else 100 * chain + 10 * draw + column


def output_file(chain: int, draws: int, warmup: int) -> str:
    """CmdStan's CSV file of one chain."""
    rows = [
        ",".join(str(value(chain, draw, column)) for column in range(len(COLUMNS)))
        for draw in range(draws)
    ]
    return "\n".join(
        [
            CONFIG.format(draws=draws, warmup=warmup, chain=chain) + ",".join(COLUMNS),
            "# Adaptation terminated",
            "# Step size = 0.9",
            "# Diagonal elements of inverse mass matrix:",
            "# 1, 1",
            *rows,
            "# ",
            "#  Elapsed Time: 0.01 seconds (Warm-up)",
            "#                0.01 seconds (Sampling)",
            "#                0.02 seconds (Total)",
            "# ",
        ]
    )


class FakeModel:
    """Stands in for `cmdstanpy.CmdStanModel`."""

    compilations: ClassVar[list[Path]] = []
    calls: ClassVar[list[dict[str, Any]]] = []
    options: ClassVar[list[dict[str, Any]]] = []

    def __init__(
        self,
        *,
        stan_file: Path,
        exe_file: Path | None = None,
        cpp_options: dict[str, Any] | None = None,
    ) -> None:
        logging.getLogger("cmdstanpy").error("must not be seen")
        assert "real latent_count_log_lik" in stan_file.read_text()
        if exe_file is None:
            exe_file = stan_file.with_name(f"binomial{stan_cmdstan._EXE}")
            exe_file.touch()
            self.compilations.append(exe_file)
            self.options.append(cpp_options or {})
        assert exe_file.parent == stan_file.parent
        assert exe_file.exists()

    def sample(self, **options: Any) -> Any:
        folder = Path(options["output_dir"])
        options["data"] = json.loads(Path(options["data"]).read_text())
        self.calls.append(options)
        for chain in range(1, options["chains"] + 1):
            text = output_file(chain, options["iter_sampling"], options["iter_warmup"])
            (folder / f"binomial-20250101000000_{chain}.csv").write_text(text)
        return cmdstanpy.from_csv(str(folder / "*.csv"))


@pytest.fixture(autouse=True)
def cmdstan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that passes for a CmdStan, and the fake model."""
    folder = tmp_path / "cmdstan-2.36.0"
    (folder / "make").mkdir(parents=True)
    (folder / "makefile").write_text("CMDSTAN_VERSION := 2.36.0\n")
    monkeypatch.setenv("CMDSTAN", str(folder))
    monkeypatch.setenv("BAYESDP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cmdstanpy, "CmdStanModel", FakeModel)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    FakeModel.compilations.clear()
    FakeModel.calls.clear()
    FakeModel.options.clear()
    yield folder
    assert list((tmp_path / "temporary").iterdir()) == []


def draw(**options: Any) -> Draws:
    options = {"variables": ["p"], "draws": DRAWS, "chains": CHAINS, "warmup": 7, **options}
    return stan.sample("binomial", DATA, **{"seed": 11, **options})


def expected(column: int) -> np.ndarray[Any, Any]:
    return np.array(
        [[value(chain, draw, column) for draw in range(DRAWS)] for chain in range(1, CHAINS + 1)]
    )


def test_draws_keep_their_chain_and_place() -> None:
    result = draw()
    assert result.posterior["p"].shape == (CHAINS, DRAWS, 2)
    for group in range(2):
        assert np.array_equal(result.posterior["p"][:, :, group], expected(7 + group))
    names = ["lp", "acceptance_rate", "step_size", "tree_depth", "n_steps", "diverging", "energy"]
    for column, name in enumerate(names):
        assert np.array_equal(result.sample_stats[name], expected(column))
    assert set(result.sample_stats) == set(names)
    assert result.sample_stats["diverging"].dtype == np.bool_
    assert result.sample_stats["n_steps"].dtype == np.int64
    assert result.versions == {"cmdstanpy": cmdstanpy.__version__, "stan": "2.36.0"}


def test_the_arguments_reach_cmdstan() -> None:
    draw(adapt_delta=0.95)
    (call,) = FakeModel.calls
    assert call.pop("data") == {
        **{name: np.asarray(value).tolist() for name, value in DATA.items()},
        "log_weight": [0.0, -1.0, -np.inf],
    }
    assert Path(call.pop("output_dir")).name.startswith("bayesdp-")
    assert call == {
        "chains": CHAINS,
        "parallel_chains": min(CHAINS, os.cpu_count() or 1),
        "threads_per_chain": None,
        "force_one_process_per_chain": True,
        "iter_warmup": 7,
        "iter_sampling": DRAWS,
        "seed": 12,  # never 0, which CmdStan refuses
        "adapt_delta": 0.95,
        "max_treedepth": 10,
        "metric": "diag_e",
        "inits": None,
        "thin": 1,
        "sig_figs": 17,
        "show_progress": False,
        "show_console": False,
    }


def test_no_seed_is_one_that_cmdstan_refuses() -> None:
    for seed in (0, 2**31 - 1, 2**31, 2**64):
        draw(seed=seed)
    seeds = [call["seed"] for call in FakeModel.calls]
    assert all(0 < seed < 2**32 for seed in seeds)
    assert len(set(seeds)) == len(seeds)


def test_a_program_is_compiled_once_per_cmdstan_and_its_options(cmdstan: Path) -> None:
    draw()
    draw()
    assert len(FakeModel.compilations) == 1
    (cmdstan / "make" / "local").write_text("STAN_THREADS=true\n")
    draw()
    assert len(FakeModel.compilations) == 2
    assert not FakeModel.compilations[0].is_relative_to(Path(stan.__file__).parents[2])


def test_a_program_with_threads_is_kept_beside_the_one_without(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    for threads in (None, 4, 2, None):
        draw(threads_per_chain=threads)
    assert FakeModel.options == [{}, {"STAN_THREADS": True}]
    asked = [(call["threads_per_chain"], call["parallel_chains"]) for call in FakeModel.calls]
    assert asked == [(None, CHAINS), (4, 1), (2, CHAINS), (None, CHAINS)]
    with pytest.raises(InvalidInput, match="threads_per_chain=0 must be an integer"):
        draw(threads_per_chain=0)


def test_cmdstanpy_is_quiet_meanwhile_and_heard_afterwards(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    draw()
    assert "must not be seen" not in caplog.text
    logger = logging.getLogger("cmdstanpy")
    assert logger.filters == []
    assert not logger.disabled
    logger.error("seen")
    assert "seen" in caplog.text
    assert capfd.readouterr().out == ""


def test_a_compiler_error_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(self: FakeModel, **files: Path) -> None:
        raise ValueError("Failed to compile Stan model 'x.stan'. Console:\nSyntax error in line 3")

    monkeypatch.setattr(FakeModel, "__init__", refuse)
    with pytest.raises(EngineFailed, match="Syntax error in line 3"):
        draw()
    assert list((tmp_path / "cache" / "stan").iterdir()) == []
    assert logging.getLogger("cmdstanpy").filters == []


def test_rejected_data_are_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(self: FakeModel, **options: Any) -> None:
        raise RuntimeError(
            "Error during sampling:\nException: prior_a is -725, but must be greater than or equal "
            "to 0 (in '/home/x/binomial.stan', line 44, column 2 to column 24)\n"
            "Command and output files:\nRunSet: chains=4 seed=725"
        )

    monkeypatch.setattr(FakeModel, "sample", reject)
    with pytest.raises(EngineFailed) as failure:
        draw()
    assert str(failure.value) == (
        "Stan can't sample from binomial.stan: Error during sampling:\n"
        "Exception: prior_a is …, but must be greater than or equal to … "
        "(in 'binomial.stan', line 44, column 2 to column 24)"
    )
    assert failure.value.__suppress_context__


def test_the_reason_is_read_from_the_console_and_told_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """CmdStanPy itself finds lines only that begin with "Ex" or "Er"."""

    def reject(self: FakeModel, **options: Any) -> None:
        for chain in (1, 2):
            (Path(options["output_dir"]) / f"binomial-1_{chain}-stdout.txt").write_text(
                "method = sample (Default)\ndata\n  file = /tmp/secret-725/data.json\n\n"
                "Iteration:    1 / 2000 [  0%]  (Warmup)\n"
                + "Unrecoverable error evaluating the log probability: 725\n"
                * 100
            )
        raise RuntimeError("Error during sampling:\n\nCommand and output files:\nRunSet: 725")

    monkeypatch.setattr(FakeModel, "sample", reject)
    with pytest.raises(EngineFailed) as failure:
        draw()
    assert str(failure.value) == (
        "Stan can't sample from binomial.stan: Error during sampling:\n"
        "Unrecoverable error evaluating the log probability: …"
    )


def test_an_interrupted_chain_s_last_words_are_muted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Threads of CmdStanPy's log that their chains have ended, after Ctrl-C has left it."""
    go, gone = threading.Event(), threading.Event()

    def chain() -> None:
        go.wait(60)
        logging.getLogger("cmdstanpy").error("Chain [1] error: code '-2'")
        gone.set()

    def interrupted(self: FakeModel, **options: Any) -> None:
        ThreadPoolExecutor(1).submit(chain)
        raise KeyboardInterrupt

    monkeypatch.setattr(FakeModel, "sample", interrupted)
    with pytest.raises(KeyboardInterrupt):
        draw()
    go.set()
    assert gone.wait(60)
    assert "Chain" not in caplog.text
    while logging.getLogger("cmdstanpy").filters:
        time.sleep(0.01)


def test_a_program_that_is_missing_beside_its_marker_is_compiled_again() -> None:
    draw()
    FakeModel.compilations.clear()
    (executable,) = Path(os.environ["BAYESDP_CACHE"]).glob(f"stan/*/binomial{stan_cmdstan._EXE}")
    executable.unlink()
    draw()
    assert len(FakeModel.compilations) == 1


def test_unknown_variables_are_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"binomial\.stan has no q; choose from: p"):
        draw(variables=["q"])


REAL_MODEL = cmdstanpy.CmdStanModel
REAL_CMDSTAN = stan_cmdstan.find_cmdstan()


@pytest.mark.skipif(
    REAL_CMDSTAN is None,
    reason="no CmdStan is installed; install one with: python -m cmdstanpy.install_cmdstan",
)
def test_a_real_cmdstan_agrees_with_the_conjugate_posterior(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CMDSTAN", str(REAL_CMDSTAN))
    monkeypatch.setattr(cmdstanpy, "CmdStanModel", REAL_MODEL)
    result = draw(draws=2000, chains=4, warmup=1000)
    assert result.posterior["p"].shape == (4, 2000, 2)
    # Group 0 has one cell, so that p is beta(4, 3): standard deviation 0.175, and 0.004 is a
    # standard error with a generous number of effective draws.
    assert abs(result.posterior["p"][:, :, 0].mean() - 4 / 7) < 5.2 * 0.004
    assert capfd.readouterr() == ("", "")
