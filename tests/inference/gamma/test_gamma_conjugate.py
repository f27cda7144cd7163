"""The gamma model of what was drawn from a conjugate posterior of the records' rate."""

from typing import Any

import numpy as np
import pymc as pm
import pytest

import bayesdp as bdp
from tests.inference.gamma.test_gamma_model import check_against

METHODS = ("parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many")


def released(method: str, shape: float, copies: int = 2) -> bdp.Release:
    size = 15 if method.startswith("synthetic") else None
    made = bdp.mechanisms.ConjugateMechanism(
        "gamma", method, 12, (3.0, 20.0), size=size, R=60.0, shape=shape
    )
    with bdp.reproducible(1):
        return bdp.publish(made, 40.0, copies=copies, delta=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_its_posterior_is_that_of_sums_over_all_records_sums(method):
    release = released(method, 2.5)
    made: Any = release.mechanism
    totals = np.linspace(0.0, 700.0, 7001)[1:]

    def log_law(at: np.ndarray) -> Any:
        return sum(made.logp(np.array(z), at[:, None]) for z in release.outputs).T

    check_against(bdp.models.GammaModel((2.0, 3.0), 2.5), release, log_law, totals, 12)


@pytest.mark.parametrize("method", METHODS)
def test_a_pymc_model_observes_it(method):
    """The log density's differences are those of the mechanism's own law of the sum."""
    release = released(method, 1.0)
    made: Any = release.mechanism
    with pm.Model() as model:
        total = pm.Flat("total")
        bdp.observe(release, total)
    law = model.compile_logp(mode="FAST_COMPILE")
    sums = np.array([1e-3, 30.0, 55.0, 700.0])
    found = np.array([float(law({"total": total})) for total in sums])
    truth = sum(made.logp(np.array(z), sums[:, None]) for z in release.outputs).ravel()
    assert np.diff(found) == pytest.approx(np.diff(truth), rel=1e-9)
    assert float(law({"total": 721.0})) == float(law({"total": -1.0})) == -np.inf


def test_a_mode_and_another_shape_are_refused():
    made = bdp.mechanisms.ConjugateMechanism("gamma", "parameter_map", 4, (2.0, 3.0), R=9.0)
    release = bdp.Release.of(made, made.release(8.0))
    with pytest.raises(bdp.errors.InvalidInput, match="tells the sum of the records exactly"):
        bdp.models.GammaModel((1.0, 1.0)).posterior(release)
    with pytest.raises(bdp.errors.InvalidInput, match=r"shape 2.5, but the model has"):
        bdp.models.GammaModel((1.0, 1.0)).posterior(released("synthetic_one", 2.5))


def test_the_naive_answer_takes_a_rate_for_the_records_own():
    release = released("parameter_draw", 2.0, copies=3)
    naive = bdp.models.GammaModel((2.0, 3.0), 2.0).naive_posterior(release)
    mean = 2 * 3 / sum(release.outputs)
    assert naive.mean() == pytest.approx((2.0 + 24) / (3.0 + 12 * mean))


def test_a_release_is_read_back_as_it_was(tmp_path):
    release = released("synthetic_many", 2.5)
    release.save(tmp_path / "made")
    again = bdp.Release.load(tmp_path / "made")
    assert again.mechanism == release.mechanism
    model = bdp.models.GammaModel((2.0, 3.0), 2.5)
    assert model.posterior(again).mean() == model.posterior(release).mean()
