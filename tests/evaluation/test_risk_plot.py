"""Pictures of risk show the numbers of their tables."""

import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.evaluation.risk_plot import at_least

RECORDS = pd.DataFrame({"g": list("aabb"), "x": [1.0, 2.0, 3.0, 4.0]})
COPIES = [RECORDS.assign(x=[1.0, 2.0, 4.0, 3.0]), RECORDS.assign(x=9.0)]
HOW = {"known": ["g"], "synthetic": ["x"], "radius": 0.1}


def titles(figure):
    figure.canvas.draw()  # with warnings as errors
    return [axes.get_title("left") or axes.get_xlabel() for axes in figure.axes]


def test_shares_by_hand():
    x, y = at_least(np.array([3.0, 1.0, 3.0, math.inf, math.nan]))
    assert x.tolist() == [1, 3, 3, 3]
    assert y.tolist() == [1, 0.75, 0.75, 0.25]
    assert at_least(np.array([math.inf]))[0].size == 0


def test_identification_of_copies_and_of_records():
    found = bdp.evaluate.identification_risk(RECORDS, COPIES, **HOW)
    figure = bdp.evaluate.plot_risk(found)
    assert titles(figure) == ["expected match risk", "true match rate", "false match rate"]
    for axes, name in zip(figure.axes, found.columns[1:4], strict=True):
        assert np.array_equal(axes.lines[0].get_ydata(), found[name], equal_nan=True)
    records = bdp.evaluate.identification_risk(RECORDS, COPIES, by_record=True, **HOW)
    figure = bdp.evaluate.plot_risk(records)
    assert titles(figure) == ["probability of a find", "matching rows"]
    first, second = figure.axes[0].lines
    assert first.get_xdata().tolist() == [0, 0, 1, 1, 1]
    assert first.get_ydata().tolist() == [1, 1, 0.5, 0.5, 0]
    assert second.get_xdata().max() == 0


def test_attributes():
    density = np.log(np.array([[[0.5, 0.5], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]]))
    found = bdp.evaluate.attribute_risk(density, [-1.0, -3.0], [1, 0])
    figure = bdp.evaluate.plot_risk(found)
    assert titles(figure) == ["probability of the true value", "posterior odds / prior odds"]
    posterior, prior = figure.axes[0].lines
    assert posterior.get_xdata()[:2].tolist() == sorted(found["posterior"])
    assert prior.get_xdata().tolist() == [0.5] * 3
    assert figure.axes[1].get_xscale() == "linear"
    wide = bdp.evaluate.plot_risk(found.assign(odds_ratio=[0.5, 50.0]))
    assert wide.axes[1].get_xscale() == "log"
    assert titles(wide) == titles(figure)
    certain = bdp.evaluate.attribute_risk(
        density[:, :, 1:], [-1.0, -3.0], [0, 0]
    )  # no odds to draw
    assert titles(bdp.evaluate.plot_risk(certain)) == ["probability of the true value"]


def test_anonymity():
    found = bdp.evaluate.anonymity(COPIES, quasi_identifiers=["g"], sensitive=["x"])
    figure = bdp.evaluate.plot_risk(found)
    assert titles(figure) == ["k", "l, distinct", "l, entropy", "t"]
    assert figure.axes[3].lines[0].get_ydata().tolist() == found["t"].tolist()
    assert titles(
        bdp.evaluate.plot_risk(bdp.evaluate.anonymity(COPIES, quasi_identifiers=["g"]))
    ) == ["k"]


@pytest.mark.parametrize("risk", [None, "risk", RECORDS.iloc[:0], RECORDS])
def test_other_tables_are_refused(risk):
    with pytest.raises(bdp.errors.InvalidInput, match=r"risk (must be|has columns \['g', 'x'\])"):
        bdp.evaluate.plot_risk(risk)
