"""Pictures of a pseudo-posterior show its numbers, and say that they are confidential."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.draws import Draws
from bayesdp.synthesis.censored_chains import as_inference_data
from bayesdp.synthesis.censored_regression_law import RegressionLaw, Rows

RNG = np.random.default_rng(4)
N = 60
ROWS = Rows(RNG.normal(size=N), RNG.normal(size=(N, 2)))
LAW = RegressionLaw("normal", ("a", "b"), 2, (0.0, 2.0), (1.0, 1.0), 1.0)
INTERVAL = (-1.5, 0.5)
WEIGHTS = RNG.random(N)


def drawn(shift: float = 0.0, weights: Any = WEIGHTS, *, log_lik: bool = True) -> Any:
    posterior = {
        "intercept": RNG.normal(0.2 + shift, 0.1, size=(2, 2000)),
        "slope": RNG.normal([0.5, -0.5], 0.2, size=(2, 2000, 2)),
        "sigma": RNG.normal(1.0, 0.05, size=(2, 2000)),
    }
    draws = Draws(posterior, {}, "stan")
    return as_inference_data(draws, LAW, INTERVAL, ROWS, weights, log_lik=log_lik)


def test_panels_show_the_numbers():
    """A density's line is that of the normal law its draws are of, within a tenth of its top."""
    pseudo, plain = drawn(), drawn(0.3, None)
    figure = bdp.evaluate.plot_pseudo_posterior(pseudo, plain)
    figure.canvas.draw()  # with warnings as errors
    assert figure._suptitle.get_text().startswith("CONFIDENTIAL")
    weight, clipping, intercept, sigma, *slopes = figure.axes
    names = [axes.get_title("left") for axes in (intercept, *slopes, sigma)]
    assert names == ["intercept", "slope[0]", "slope[1]", "sigma"]
    (line,) = weight.lines
    assert np.array_equal(line.get_xdata(), ROWS.y)
    assert np.array_equal(line.get_ydata(), WEIGHTS)

    parameters = pseudo.posterior
    eta = parameters["intercept"].to_numpy()[..., None] + parameters["slope"].to_numpy() @ ROWS.x.T
    before = WEIGHTS * stats.norm.logpdf(ROWS.y, eta, parameters["sigma"].to_numpy()[..., None])
    after = np.clip(before, *INTERVAL)
    moved = (before != after).any(axis=(0, 1))
    assert 0 < moved.sum() < N
    never, ever, low, high = clipping.lines
    for found, where in ((never, ~moved), (ever, moved)):
        assert found.get_xdata() == pytest.approx(before.mean(axis=(0, 1))[where])
        assert found.get_ydata() == pytest.approx(after.mean(axis=(0, 1))[where])
    assert [end.get_ydata()[0] for end in (low, high)] == list(INTERVAL)
    assert clipping.get_title("left") == f"log density: {moved.sum()} of {N} clipped"

    for axes, shift, laws in (
        (intercept, 0.3, (stats.norm(0.2, 0.1), stats.norm(0.5, 0.1))),
        (slopes[0], 0.0, (stats.norm(0.5, 0.2),) * 2),
        (sigma, 0.0, (stats.norm(1.0, 0.05),) * 2),
    ):
        labels = [line.get_label() for line in axes.lines]
        assert labels == ["pseudo-posterior", "posterior"], shift
        for line, law in zip(axes.lines, laws, strict=True):
            x, y = line.get_data()
            assert np.abs(y - law.pdf(x)).max() < 0.1 * law.pdf(law.mean())


def test_what_is_left_out():
    """No weights, no ordinary posterior, one parameter, nothing clipped."""
    pseudo = drawn(weights=None)
    pseudo.log_likelihood["log_lik"] = pseudo.log_likelihood["log_lik_noM"]
    figure = bdp.evaluate.plot_pseudo_posterior(pseudo, var_names=["sigma"])
    titles = [axes.get_title("left") for axes in figure.axes]
    assert titles == ["log density: 0 of 60 clipped", "sigma"]
    assert len(figure.axes[0].lines) == 3
    assert len(figure.axes[1].lines) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3.0,), "pseudo is a float"),
        ((drawn(log_lik=False),), "pseudo has no log densities; draw it with pseudo_posterior"),
        ((drawn(), [1.0]), "posterior is a list"),
    ],
)
def test_other_things_are_refused(arguments: Any, message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.evaluate.plot_pseudo_posterior(*arguments)


def test_wrong_parameters_are_refused():
    pseudo = drawn()
    with pytest.raises(bdp.errors.InvalidInput, match="parameter 'phi' isn't in each of pseudo"):
        bdp.evaluate.plot_pseudo_posterior(pseudo, var_names=["phi"])
    with pytest.raises(bdp.errors.InvalidInput, match="there are 26 panels, more than 24"):
        bdp.evaluate.plot_pseudo_posterior(pseudo, var_names=["slope"] * 12)


@pytest.mark.slow
@pytest.mark.parametrize("weights", [None, bdp.synthesizers.PublicWeights(1, (0.1, 0.5), (1, 9))])
def test_the_grids_law_has_log_densities_too(weights: Any):
    y = np.array([0.9, 0.02, 0.3, 0.3])
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=2.0, weights=weights)
    law = made.pseudo_posterior(y)
    idata = law.to_inference_data(50, seed=3)
    (phi, lam), values = law.sample(50, seed=3).to_numpy().T[..., None], np.sort(y)
    assert np.array_equal(idata.observed_data["value"], values)
    weight = 1.0 if weights is None else weights(values)
    right = weight * stats.beta(lam * phi, lam * (1 - phi)).logpdf(values)
    assert idata.log_likelihood["log_lik_noM"][0].to_numpy() == pytest.approx(right, abs=1e-9)
    low, high = (idata.constant_data[name].item() for name in ("low", "high"))
    assert (low, high) == pytest.approx((-1.0, 1.0))
    clipped = idata.log_likelihood["log_lik"][0].to_numpy()
    assert clipped == pytest.approx(np.clip(right, low, high), abs=1e-9)
    assert np.array_equal(idata.constant_data["lipschitz"], np.abs(clipped).max(axis=0))
    bdp.evaluate.plot_pseudo_posterior(idata).canvas.draw()
