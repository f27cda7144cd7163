"""The Stan engine: arguments, the choice of a backend, and what messages may say."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bayesdp.engines.stan import backend as stan_backend
from bayesdp.engines.stan import sampling as stan
from bayesdp.engines.stan.programs import Program
from bayesdp.errors import InvalidInput, MissingDependency


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"draws": 0}, "draws=0 must be an integer of at least 1"),
        ({"chains": 0}, "chains=0"),
        ({"warmup": 0}, "warmup=0"),
        ({"draws": 10.0}, "draws=10.0"),
        ({"seed": -1}, "seed is -1; it must be None or a non-negative integer"),
        ({"seed": 1.0}, "seed is 1.0"),
        ({"seed": True}, "seed is True"),
        ({"adapt_delta": 1.0}, "adapt_delta=1.0"),
        ({"variables": "p"}, "variables='p'"),
        ({"variables": []}, "variables=a list"),
        ({"data": {"log_weight": [7.5, np.nan]}}, r"data\['log_weight'\] contains NaN"),
        ({"data": {"G": "7.5"}}, r"data\['G'\] has dtype <U3"),
        ({"data": {"G": [[1], [7.5, 2]]}}, r"data\['G'\] has dtype object"),
    ],
)
def test_invalid_arguments_are_named(options: dict[str, Any], said: str) -> None:
    options = {"data": {}, "variables": ["p"], "draws": 1, **options}
    with pytest.raises(InvalidInput, match=said) as failure:
        stan.sample("binomial", **options)
    assert "7.5" not in str(failure.value)


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"program='\.\./x'.*choose one of: .*binomial"):
        stan.sample("../x", {}, variables=["p"], draws=1)
    with pytest.raises(InvalidInput, match="backend='rstan' is unknown; choose one of: auto"):
        stan.sample("binomial", {}, variables=["p"], draws=1, backend="rstan")  # type: ignore[arg-type]


def test_missing_backends_are_named_with_their_install_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stan, "find_cmdstan", lambda: None)
    monkeypatch.setattr(stan, "pystan_version", lambda: None)
    with pytest.raises(MissingDependency, match=r'pip install "bayesdp\[stan\]".*install_cmdstan'):
        stan.available_backend()
    for backend, command in (("cmdstanpy", "cmdstanpy.install_cmdstan"), ("pystan", "pip install")):
        with pytest.raises(MissingDependency, match=command):
            stan.sample("binomial", {}, variables=["p"], draws=1, backend=backend)  # type: ignore[arg-type]


def test_the_choice_of_a_backend_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "bayesdp.engines.stan.sampling")
    monkeypatch.setattr(stan, "find_cmdstan", lambda: None)
    monkeypatch.setattr(stan, "pystan_version", lambda: "3.10.0")
    assert stan.available_backend() == "pystan"
    assert isinstance(stan._choose("auto"), stan.PyStan)
    monkeypatch.setattr(stan, "find_cmdstan", lambda: Path("/opt/cmdstan"))
    assert stan.available_backend() == "cmdstanpy"
    assert isinstance(stan._choose("auto"), stan.CmdStan)
    stan._choose("pystan")
    assert [record.getMessage() for record in caplog.records] == [
        "Stan runs through pystan 3.10.0, since no CmdStan was found",
        "Stan runs through cmdstanpy: CmdStan is in /opt/cmdstan",
        "Stan runs through pystan 3.10.0, as asked",
    ]


def test_a_message_says_everything_once() -> None:
    """As of a prior that forbids all of a hundred starting points, in each of four chains."""
    point = (
        "Rejecting initial value:\n  Error evaluating the log probability at the initial value.\n"
        "Exception: beta_lpdf: First shape parameter is 0, but must be positive finite! "
        "(in 'binomial.stan', line 44, column 2 to column 24)\n"
    )
    message = (point * 100 + "Initialization between (-2, 2) failed after 100 attempts.\n") * 4
    assert stan_backend.without_values(message, Program("binomial", "")).splitlines() == [
        "Rejecting initial value:",
        "Error evaluating the log probability at the initial value.",
        "Exception: beta_lpdf: First shape parameter is …, but must be positive finite! "
        "(in 'binomial.stan', line 44, column 2 to column 24)",
        "Initialization between (-2, 2) failed after 100 attempts.",
    ]


def test_messages_keep_positions_and_lose_values() -> None:
    message = (
        "Exception: model_ab1_namespace::model_ab1: N is -5e+03, x2 is [1.5,2], but in the "
        "interval [1, 3] or y[1, 2] of beta_lpdf "
        "(in '/tmp/httpstan_1/model_ab1.stan', line 3, column 2)"
    )
    assert stan_backend.without_values(message, Program("some", "")) == (
        "Exception: N is …, x2 is […,…], but in the interval […, …] or y[1, 2] of beta_lpdf "
        "(in 'some.stan', line 3, column 2)"
    )
