"""What the spread of a column of numbers rests on."""

import datetime as dt
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.inference import verdict
from bayesdp.inference.table.doubts import doubted
from bayesdp.inference.table.spread import spread_of


def column(**declared):
    return bdp.Schema({"x": declared}).columns["x"]


def test_by_hand():
    """Three cells of width 2; the last holds 0 or 2 records, whose mean is its sd."""
    real = column(type="real", bounds=(0, 6), bins=3)
    spread = spread_of(real, np.array([[50, 50, 0], [50, 50, 2]]))
    mean = (50 * 1 + 50 * 3 + 1 * 5) / 101
    squares = np.array([50 * (1 - mean) ** 2, 50 * (3 - mean) ** 2, (5 - mean) ** 2])
    assert spread.drowned == pytest.approx(squares[2] / squares.sum())
    inside = 100 * 4 / 12
    assert spread.within == pytest.approx(inside / (inside + squares[:2].sum()))


def test_pools_by_hand():
    """Cells of width 1, the first two in a pool and the last two: within them, 1/4 + 1/12 each."""
    real = column(type="real", bounds=(0, 4), bins=4)
    spread = spread_of(real, np.array([[25, 25, 25, 25]] * 2), [0, 2])
    assert spread.pooled == pytest.approx((1 / 4 + 1 / 12) / (1 + 1 / 4 + 1 / 12))
    (said,) = spread.doubts("x")
    assert re.match("25% of the spread of x is within the intervals that were cut privately", said)
    assert spread_of(real, np.array([[25, 0, 0, 25]]), [0, 1, 3]).pooled < 0.05


def test_whole_numbers_and_dates_are_uniform_within_their_cells():
    whole = column(type="integer", bounds=(0, 9), bins=[0, 4, 9])
    np.testing.assert_allclose(whole.variances, [np.var(range(4)), np.var(range(4, 10))])
    np.testing.assert_array_equal(column(type="integer", bounds=(0, 9)).variances, 0)
    year = column(type="date", bounds=(dt.date(2020, 1, 1), dt.date(2020, 12, 31)), bins="month")
    np.testing.assert_allclose(year.variances[1], np.var(range(29)) / 365.2425**2, rtol=1e-3)


@pytest.mark.parametrize(
    "labels", [{"type": "boolean"}, {"type": "category", "labels": ("a", "b")}]
)
def test_labels_have_none(labels):
    assert spread_of(column(**labels), np.array([[3, 4]])) is None


def test_no_record_and_no_spread():
    whole = column(type="integer", bounds=(0, 2))
    assert spread_of(whole, np.zeros((3, 3), dtype=int)) is None
    alone = spread_of(whole, np.array([[0, 7, 0]] * 3))
    assert (alone.drowned, alone.within, list(alone.doubts("x"))) == (0.0, 0.0, [])


def posterior(incomes, bins):
    """A fit, with latent tables that are given, each a column of cells' numbers."""
    schema = bdp.Schema(
        {
            "income": {"type": "real", "bounds": (0, 100), "bins": bins},
            "old": {"type": "boolean"},
        }
    )
    frame = schema.decoded(
        pd.DataFrame({"income": incomes[0], "old": np.arange(len(incomes[0])) % 2}),
        np.random.default_rng(1),
    )
    release = bdp.TableSynthesizer(schema, epsilon=9).release(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = bdp.TableModel(rake=False).fit(
            release,
            draws=4,
            warmup=2,
            tables=len(incomes),
            chains=1,
            progress=False,
            thin=1,
            seed=1,
        )
    old = np.arange(len(incomes[0])) % 2
    records = np.array([[np.stack([one, old], axis=-1) for one in incomes]], dtype=np.uint16)
    return bdp.models.TablePosterior.of(fit, records)


def asked(given):
    return given.regression("income ~ old", by="tables", seed=1, draws=4)


NO_PROBLEM = f"{verdict.NO_PROBLEM}: all is well"


def test_a_fit_and_a_regression_say_what_columns_rest_on_once():
    rng = np.random.default_rng(3)
    body = rng.integers(0, 40, 200)
    noisy = [
        np.append(body, rng.choice([0, 99], 6, p=[1 - share, share])) for share in (0, 0, 1, 1)
    ]
    for tables, bins, said in (
        (noisy, 100, r"\d\d% of the spread of income is in cells"),
        (
            [np.repeat([0, 1], [190, 10])] * 4,
            2,
            r"\d\d% of the spread of income is within its cells",
        ),
    ):
        given = posterior(tables, bins)
        with pytest.warns(UserWarning, match=said):
            asked(given)
        for before in (NO_PROBLEM, "R-hat is above 1.01"):
            given.attrs["verdict"] = before
            with pytest.warns(UserWarning, match=said):
                fit = doubted(given)
            assert re.search(said, fit.attrs["verdict"])
            assert verdict.NO_PROBLEM not in fit.attrs["verdict"]
        assert fit.attrs["verdict"].startswith("R-hat is above 1.01; ")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asked(fit)
        with pytest.warns(UserWarning, match=said):
            asked(bdp.models.TablePosterior.of(fit))  # as of a file
    quiet = posterior([np.append(body, body[:6])] * 4, 100)
    quiet.attrs["verdict"] = NO_PROBLEM
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asked(quiet)
        assert doubted(quiet).attrs["verdict"] == NO_PROBLEM
