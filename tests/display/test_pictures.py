"""Pictures of single objects: what is drawn are the numbers, in the axes that are given."""

import math

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import bayesdp as bdp
from bayesdp.engines.mixture import BetaMixture
from bayesdp.engines.normal_inverse_gamma import NormalInverseGammaMixture
from bayesdp.engines.normal_mixture import NormalMixture
from bayesdp.errors import InvalidInput
from bayesdp.inference.table.estimates import Estimates
from bayesdp.report.promise import promise_of
from tests.contracts.examples import EXAMPLES

TWO = np.array([0.25, 0.75])
BETA = BetaMixture(TWO, np.array([4.0, 30.0]), np.array([8.0, 20.0]))
NORMAL = NormalMixture(TWO, np.array([-1.0, 2.0]), np.array([1.0, 0.5]))
PAIR = NormalInverseGammaMixture(TWO, np.array([1.0, 1.2]), np.array([20.0, 22.0]), 20.0, 40.0)
MADE = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=50, size=50, epsilon=3.0, copies=2)
RELEASE = bdp.Release.of_groups({"a": (MADE, [21, 26]), "b": (MADE, [9, 13])}, variable="ill")


@pytest.fixture
def ax():
    return Figure().subplots()


def rows(axes, colour=None):
    """Ends of the horizontal lines of two points, by their height."""
    lines = (np.asarray(line.get_xydata()) for line in axes.lines)
    return {round(y[1], 2): x[[0, 1], 0] for x in lines if len(x) == 2 for y in [x[0]]}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_a_promise_s_bar_is_the_report_s(ax, epsilon):
    made = bdp.mechanisms.BetaBinomialMechanism.calibrate(n=50, size=50, epsilon=epsilon)
    release = bdp.Release.of(made, [20])
    belief = promise_of(release).belief
    assert release.guarantee.plot(ax) is ax
    np.testing.assert_allclose(ax.lines[1].get_xdata(), [1 - belief, belief])


def test_a_promise_of_nothing_has_a_whole_bar(ax):
    with bdp.reproducible(1):
        nothing = bdp.Release.of(MADE, [20]).guarantee
    assert math.isinf(nothing.epsilon)
    nothing.plot(ax)
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [0, 1])
    assert "promises nothing" in ax.get_xlabel()


@pytest.mark.parametrize(
    ("posterior", "mean", "interval", "options"),
    [
        (BETA, BETA.mean(), BETA.interval(0.8), {}),
        (NORMAL, NORMAL.mean(), NORMAL.interval(0.8), {}),
        (PAIR, PAIR.mean()[0], PAIR.interval_mu(0.8), {}),
        (PAIR, PAIR.mean()[1], PAIR.interval_sigma(0.8), {"of": "sigma"}),
    ],
)
def test_a_density_is_the_posterior_s(ax, posterior, mean, interval, options):
    assert posterior.plot(ax, level=0.8, label="mine", color="#a5488a", **options) is ax
    curve, bar, dot = (np.asarray(line.get_xydata()).T for line in ax.lines)
    assert 0.998 < curve[1].sum() * (curve[0][1] - curve[0][0]) < 1
    np.testing.assert_allclose(bar[0], interval)
    np.testing.assert_allclose(dot[:, 0], [mean, 0])
    assert "80% interval" in ax.get_xlabel()
    assert [line.get_color() for line in ax.lines] == ["#a5488a"] * 3


def test_a_density_without_bound_is_drawn(ax):
    """Of Beta(0.5, 9), which is infinite at 0."""
    BetaMixture(np.ones(1), np.full(1, 0.5), np.full(1, 9.0)).plot(ax)
    heights = ax.lines[0].get_ydata()
    assert np.all(np.isfinite(heights))
    assert heights.argmax() == 0


def test_where_and_what_is_wrong_is_refused(ax):
    with pytest.raises(InvalidInput, match="ax is a str; it must be matplotlib Axes"):
        RELEASE.guarantee.plot("here")
    with pytest.raises(InvalidInput, match="of is 'tau'"):
        PAIR.plot(ax, of="tau")
    with pytest.raises(InvalidInput, match="column is 'well'; this release has ill"):
        RELEASE.plot(ax, column="well")


def test_a_new_figure_is_shown_by_a_notebook():
    axes = RELEASE.guarantee.plot()
    assert plt.fignum_exists(axes.figure.number)
    plt.close(axes.figure)


def test_copies_are_marks_and_groups_rows(ax):
    assert RELEASE.plot(ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    first, second = (line.get_xdata() for line in ax.lines)
    np.testing.assert_allclose(first, [21 / 50, 26 / 50])
    np.testing.assert_allclose(second, [9 / 50, 13 / 50])


def test_what_a_mechanism_s_numbers_are_called_is_told(ax):
    columns = {"sex": ["f", "m"], "smokes": [0, 1]}
    with bdp.reproducible(1):
        release = bdp.synthesizers.DirichletMultinomialSynthesizer(2.0, categories=columns).release(
            pd.DataFrame({"sex": list("fmfm"), "smokes": [0, 1, 1, 1]})
        )
    release.plot(ax)
    frame = release.to_frames()[0]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["f: 0", "f: 1", "m: 0", "m: 1"]
    assert [line.get_xdata()[0] for line in ax.lines] == frame["count"].tolist()


def test_a_record_s_column_can_be_chosen(ax):
    made = bdp.synthesizers.CategoricalColumns({"sex": ("f", "m"), "$": ("x", "y", "z")})
    with bdp.reproducible(1):
        release = bdp.synthesizers.SequentialModipsSynthesizer([made], epsilon=2.0).release(
            pd.DataFrame({"sex": list("fmfmm"), "$": list("xyxyx")})
        )
    release.plot(ax, column="$")
    shares = release.to_frames()[0]["$"].value_counts(normalize=True)
    drawn = dict(zip([t.get_text()[-1] for t in ax.get_yticklabels()], ax.lines, strict=True))
    assert {name: line.get_xdata()[0] for name, line in drawn.items()} == shares.to_dict()
    ax.figure.canvas.draw()  # a dollar sign is no formula


def test_every_mechanism_s_release_can_be_drawn():
    axes = Figure().subplots()
    for mechanism in {each.mechanism.name: each for each in EXAMPLES}.values():
        axes.clear()
        bdp.Release.of(mechanism.mechanism, [mechanism.outputs[0]], delta=mechanism.delta).plot(
            axes
        )
        assert axes.get_xlabel()


def test_a_comparison_has_both_answers_and_the_truth(ax):
    model = bdp.BinomialModel()
    right = {group: model.posterior(RELEASE[group]) for group in "ab"}
    naive = {group: model.naive_posterior(RELEASE[group]) for group in "ab"}
    bdp.plot_comparison(truth={"b": 0.2}, posterior=right, naive=naive, level=0.9, ax=ax)
    drawn = rows(ax)
    for row, group in enumerate("ab"):
        np.testing.assert_allclose(drawn[row - 0.13], right[group].interval(0.9))
        np.testing.assert_allclose(drawn[row + 0.13], naive[group].interval(0.9))
    assert [tuple(p) for line in ax.lines if line.get_label() == "truth"
            for p in line.get_xydata()] == [(0.2, 1)]  # fmt: skip


def test_a_comparison_takes_fits_draws_and_estimates():
    draws = np.random.default_rng(1).normal(size=(2, 500, 2))
    fit = az.from_dict(
        posterior={"p": draws, "q": draws[..., 0]}, coords={"group": ["a", "b"]},
        dims={"p": ["group"]},
    )  # fmt: skip
    table = Estimates(draws.reshape(-1, 2), draws.reshape(-1, 2) / 2, pd.Index(["a", "b"]), "data")
    low, high = np.quantile(draws[..., 1], (0.025, 0.975))
    for given in (
        {"posterior": fit, "naive": fit, "variable": "p"},
        {"posterior": table},
        {"posterior": {g: draws[..., k] for k, g in enumerate("ab")}, "truth": [0, 1]},
    ):
        ax = Figure().subplots()
        bdp.plot_comparison(**given, ax=ax)
        assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
        alone = "naive" not in given and "truth" in given
        np.testing.assert_allclose(rows(ax)[1.0 if alone else 0.87], [low, high])
    ax = Figure().subplots()
    table.plot(ax)
    np.testing.assert_allclose(rows(ax)[1.13], [low / 2, high / 2])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"posterior": "mine"}, "posterior is a str; give an exact posterior"),
        ({"posterior": PAIR}, "posterior is a NormalInverseGammaMixture"),
        ({"posterior": BETA, "level": 2}, "level is 2"),
        ({"posterior": BETA, "truth": [1, 2]}, "truth is a list that doesn't fit"),
        ({"posterior": BETA, "naive": {"a": BETA}}, "naive has other rows than posterior: 'a'"),
        ({"posterior": dict.fromkeys(range(41), BETA)}, "there are 41 rows to plot"),
        (
            {"posterior": az.from_dict(posterior={"p": np.ones((1, 2)), "q": np.ones((1, 2))})},
            "variable is None; posterior has p, q",
        ),
    ],
)
def test_a_comparison_of_anything_else_is_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        bdp.plot_comparison(**given, ax=Figure().subplots())
