"""Fits by approximate engines: near the exact posterior, named as what they are, and checked."""

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp import cli
from bayesdp.errors import InvalidInput
from bayesdp.report.html import write_report

TAIL = 5.2  # standard errors: 1e-7 of false alarms
REPLACE = bdp.Neighbours.REPLACE_ONE


def noisy_mean() -> bdp.Release:
    noise = bdp.mechanisms.GaussianMechanism(0.5, 0.1, REPLACE, n=20)
    return bdp.Release.of(noise, [1.0])


def counted_groups() -> bdp.Release:
    with bdp.reproducible(5):
        counts = {f"g{g}": bdp.Count(40 + 10 * g, 200) for g in range(12)}
        return bdp.BetaBinomialSynthesizer(epsilon=20.0, copies=1).release(counts)


def agree(one: Any, other: Any, *names: str) -> None:
    """The mean of an approximation and that of draws that are nearly independent."""
    worth = float(one.attrs["importance_ess"])
    for name in names:
        a, b = (idata.posterior[name] for idata in (one, other))
        error = np.sqrt(a.var(("chain", "draw")) / worth + b.var(("chain", "draw")) / 1000)
        away = (a.mean(("chain", "draw")) - b.mean(("chain", "draw"))) / error
        assert float(np.abs(away).max()) < TAIL, name


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pathfinder", "laplace"])
def test_a_proportion_s_posterior_is_exact(engine: str, charest_release: bdp.Release) -> None:
    model = bdp.BinomialModel()
    exact = model.posterior(charest_release)
    fit = model.fit(charest_release, engine=engine, seed=1)
    p, worth = fit.posterior["p"].to_numpy().ravel(), float(fit.attrs["importance_ess"])
    assert worth > 10_000
    assert abs(p.mean() - exact.mean()) < TAIL * exact.sd() / np.sqrt(worth)
    square = (p - exact.mean()) ** 2
    assert abs(square.mean() - exact.sd() ** 2) < TAIL * square.std() / np.sqrt(worth)
    assert fit.attrs["engine"] == engine
    assert fit.attrs["engine_reason"] == "asked for: an approximation of the posterior"
    assert fit.attrs["verdict"].startswith(f"approximate draws ({engine}), weighted by importance")
    assert float(fit.attrs["pareto_k"]) < 0.7
    assert fit.sample_stats["approximate"].all()
    assert "pymc" in json.loads(fit.attrs["engine_versions"])


@pytest.mark.slow
def test_means_and_groups_agree_with_their_own_engines(tmp_path: Path) -> None:
    for model, release, names in (
        (bdp.GaussianModel(sd=1.0), noisy_mean(), ["mu"]),
        (bdp.models.HierarchicalBinomialModel(), counted_groups(), ["p", "mean"]),
    ):
        own = model.fit(release, seed=1)
        near = model.fit(release, engine="pathfinder", seed=1)
        assert float(near.attrs["pareto_k"]) < 0.7, model
        assert near.posterior.sizes == own.posterior.sizes
        assert all(near.posterior[v].dims == own.posterior[v].dims for v in names)
        agree(near, own, *names)
        page = write_report(near, release, tmp_path / model.family).read_text()
        assert "An approximation that its weights correct." in page


def test_what_is_refused(charest_release: bdp.Release) -> None:
    model = bdp.BinomialModel()
    assert not {"pathfinder", "laplace"} & {*model.engines}  # which "auto" and others choose from
    said = r"target_accept is a setting of engine='pymc', but engine='laplace' .*no such settings"
    with pytest.raises(InvalidInput, match=said):
        model.fit(charest_release, engine="laplace", target_accept=0.9)
    with pytest.raises(InvalidInput, match="'stan', 'pathfinder' or 'laplace'"):
        model.fit(charest_release, engine="advi")
    made = bdp.mechanisms.PoissonGammaMechanism(None, (20.0, 5.0), (9.0, 4.0), 15)
    tied = bdp.Release.of(made, [(11, 4)])
    said = r"engine is 'pathfinder', which approximates what engine='pymc' samples.*use engine="
    with pytest.raises(InvalidInput, match=said):
        bdp.models.PoissonModel((20.0, 20.0)).fit(tied, engine="pathfinder")


@pytest.mark.slow
def test_the_command_line_and_its_page_name_them(
    charest_release: bdp.Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def command(*line: str) -> str:
        monkeypatch.setattr(sys, "argv", ["bayesdp", *line])
        with contextlib.suppress(SystemExit):
            cli.main()
        return " ".join(capsys.readouterr().out.split())

    saved, out = str(charest_release.save(tmp_path / "release")), str(tmp_path / "posterior.nc")
    fit = ["fit", saved, "--engine", "pathfinder", "--draws", "300", "--seed", "1", "--out", out]
    assert "(engine pathfinder: asked for: an approximation of the posterior)" in command(*fit)
    command("report", out, saved, "--out", str(tmp_path / "page"))
    (page,) = (tmp_path / "page").rglob("*.html")
    assert "An approximation that its weights correct." in page.read_text()
    assert "from the exact posterior" not in page.read_text()
    assert "approximate engines: pathfinder, laplace" in command("models", "binomial")
