"""Records between public bounds other than 0 and 1, in the censored beta synthesizer."""

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.engines.draws import Draws
from bayesdp.engines.pymc import sampling as pymc
from bayesdp.engines.stan import sampling as stan
from bayesdp.mechanisms.censored import synthetic_column
from bayesdp.synthesis import posterior

BOUNDS = (-50.0, 150.0)
UNIT = np.linspace(0.1, 0.6, 30)
Y = -50 + 200 * UNIT


def made(**options: Any) -> bdp.synthesizers.CensoredBetaSynthesizer:
    return bdp.synthesizers.CensoredBetaSynthesizer(4.0, **({"bounds": BOUNDS} | options))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws without sampling: phi = 0.3 and lambda = 5."""

    def fake(*where: Any, variables: Any, chains: int, **options: Any) -> Draws:
        values = {"phi": np.full((chains, 5), 0.3), "lambda": np.full((chains, 5), 5.0)}
        return Draws({name: values[name] for name in variables}, {}, "stan")

    monkeypatch.setattr(pymc, "sample", fake)
    monkeypatch.setattr(stan, "sample", fake)
    monkeypatch.setattr(stan, "compile_program", lambda name: None)
    monkeypatch.setattr(posterior, "check_converged", lambda draws: None)


def test_copies_are_those_of_the_rescaled_records(tmp_path):
    """The same draw, rescaled back, by the same public numbers for every record."""
    with bdp.reproducible(3):
        release = made().release(pd.Series(Y, name="income"))
    with bdp.reproducible(3):
        plain = made(bounds=(0.0, 1.0)).release((Y + 50) / 200)
    np.testing.assert_allclose(release.outputs[0], -50 + 200 * np.array(plain.outputs[0]))
    assert release.guarantee == plain.guarantee
    loaded = bdp.Release.load(release.save(tmp_path / "r"))
    assert loaded == release
    assert loaded.mechanism.bounds == BOUNDS
    assert list(loaded.to_frames()[0]) == ["income"]


def test_a_manifest_has_bounds_only_where_they_are_not_0_and_1(tmp_path):
    """Older releases, which have none, are read, and written again the same."""
    for bounds, there in ((BOUNDS, True), ((0, 1), False)):
        release = made(bounds=bounds).release(Y if there else UNIT)
        text = (release.save(tmp_path / str(there)) / "manifest.json").read_text()
        parameters = json.loads(text)["parts"][0]["mechanism"]["parameters"]
        assert ("bounds" in parameters) == there


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("engine", ["pymc", "stan"])
def test_chains_release_between_the_bounds(engine):
    release = made(engine=engine).release(Y, size=4000)
    drawn = release.to_frames()[0]["value"]
    assert drawn.between(*BOUNDS).all()
    sd = 200 * math.sqrt(0.3 * 0.7 / 6)
    assert abs(drawn.mean() - (-50 + 200 * 0.3)) < 6 * sd / math.sqrt(4000)


def test_no_record_is_rounded_to_an_end():
    bounds = (1e9, 1e9 + 1e-6)
    drawn = synthetic_column.draw([1e-9, 1 - 1e-9], [1.0, 1.0], 50, bounds)
    assert np.all((drawn > bounds[0]) & (drawn < bounds[1]))
    assert np.all(np.diff(drawn, axis=1) >= 0)


@pytest.mark.parametrize("records", [[-50.0, 3.0], [150.0], [151.0], [math.nan], ["3"], [[1.0]]])
def test_records_at_or_outside_the_bounds_are_refused(records):
    with pytest.raises(bdp.errors.InvalidInput, match="data"):
        made().release(records)


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, math.inf), 3, "01", (0, 1, 2), None])
def test_bounds_are_two_numbers(bounds):
    with pytest.raises(bdp.errors.InvalidInput, match="bounds is"):
        made(bounds=bounds)


def test_a_scan_is_rescaled_too(tmp_path):
    pd.DataFrame({"income": Y}).to_parquet(tmp_path / "y.parquet")
    with bdp.reproducible(3):
        scanned = made().release(bdp.scan(tmp_path / "y.parquet", "income"))
    with bdp.reproducible(3):
        assert made().release(Y, variable="income") == scanned


def test_public_weights_may_be_a_table():
    """As in a file; they are of the rescaled record."""
    table = {"bound": 2.0, "phi": (0.1, 0.5), "lam": (1.0, 20.0)}
    assert made(weights=table).weights == bdp.synthesizers.PublicWeights(**table)
    with pytest.raises(bdp.errors.InvalidInput, match="a PublicWeights has bound, phi, lam"):
        made(weights=table | {"mu": 3})
    with pytest.raises(bdp.errors.InvalidInput, match="lacks one of bound, phi, lam"):
        made(weights={"bound": 2.0})
