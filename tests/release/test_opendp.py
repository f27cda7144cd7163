"""OpenDP's contingency tables become releases: by its own package, and by what it says of them."""

import importlib.util
import math
import warnings
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from tests.conftest import missing


class Factor:
    """Stands for mbi's, of which a measurement names the query of all cells."""

    def datavector(self) -> None: ...


@dataclass
class Keys:
    """Stands for a Series of Polars."""

    labels: list[Any]

    def to_list(self) -> list[Any]:
        return self.labels


@dataclass(frozen=True)
class Measurement:
    """Stands for mbi's LinearMeasurement."""

    noisy_measurement: Any
    clique: tuple[str, ...]
    stddev: float
    query: Any = Factor.datavector


@dataclass
class Table:
    """Stands for OpenDP's ContingencyTable, as its 0.16 fills it."""

    parts: tuple[Measurement, ...]
    keys: dict[str, Keys]
    thresholds: dict[str, int] = field(default_factory=dict)

    @property
    def marginals(self) -> Any:
        return SimpleNamespace(flatten=lambda: list(self.parts))


KEYS = {
    "sex": Keys(["f", "m", None]),
    "age": Keys(["(-inf, 30.0]", "(30.0, inf]"]),
    "ill": Keys([True, False, None]),
    "unasked": Keys(["u", "v"]),
}
SIGMA = math.sqrt(2)
PAIRS = (
    Measurement(np.array([45, 92, 104, 40, -1, 0], np.int32), ("sex", "age"), SIGMA),
    Measurement(np.array([47, 102, -1, 92, 40, 0], np.int32), ("age", "ill"), SIGMA),
)
TABLE = Table(PAIRS, KEYS)
FIXED: dict[str, Any] = {"noise": "gaussian", "algorithm": "fixed"}


def test_its_counts_are_marginals_of_one_noise():
    read = bdp.Release.from_opendp(TABLE, delta=1e-6, **FIXED)
    made: Any = read.mechanism
    assert [axis.name for axis in made.axes] == ["sex", "age", "ill"]
    assert made.axes[0].categories == ("f", "m", "missing")
    assert made.marginals == (("sex", "age"), ("age", "ill"))
    assert read.outputs == ((45, 92, 104, 40, -1, 0, 47, 102, -1, 92, 40, 0),)
    assert made.rho() == pytest.approx(2 / (2 * SIGMA**2))
    assert (read.origin, made.neighbours) == ("elsewhere", "add_remove")
    counts = np.zeros(12, dtype=int)
    k = np.arange(-60, 61)
    law = np.exp(-(k**2) / (2 * SIGMA**2))
    expected = np.log(law[k == 1] / law.sum()) + 11 * np.log(1 / law.sum())
    assert made.logp(np.eye(12, dtype=int)[3], counts) == pytest.approx(float(expected[0]))


@pytest.mark.parametrize("scale", [2.0, 4 / 3, 0.1, 1e6 / 7, 2.9319129045484305])
def test_a_laplace_scale_is_the_smallest_of_its_standard_deviation(scale: float):
    told = tuple(replace(part, stddev=scale * math.sqrt(2)) for part in PAIRS)
    read = bdp.Release.from_opendp(Table(told, KEYS), noise="laplace", algorithm="fixed")
    found = read.mechanism.scale  # type: ignore[attr-defined]
    assert found <= scale == pytest.approx(found, rel=1e-15)
    assert found * math.sqrt(2) == scale * math.sqrt(2)
    assert math.nextafter(found, 0) * math.sqrt(2) < scale * math.sqrt(2)
    assert read.guarantee.epsilon >= 2 / scale


def other(part: Measurement, **changed: Any) -> Table:
    return Table((replace(part, **changed), *PAIRS[1:]), KEYS)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (3, {}, r"table is 3; it must be the ContingencyTable"),
        (TABLE, {"algorithm": "aim"}, r"algorithm is 'aim'.*costs privacy"),
        (TABLE, {"noise": "rho"}, r"noise is 'rho'"),
        (TABLE, {"delta": 2.0}, r"delta is 2"),
        (Table(PAIRS, KEYS, {"sex": 12}), {}, r"columns \['sex'\] without keys"),
        (Table((), KEYS), {}, r"no measurement"),
        (other(PAIRS[0], stddev=3.0), {}, r"2 standard deviations, from 1\.414 to 3"),
        (other(PAIRS[0], clique=()), {}, r"'the total'"),
        (other(PAIRS[0], query=len), {}, r"'sex x age' that isn't a count for each of its 6"),
        (other(PAIRS[0], noisy_measurement=np.arange(5)), {}, r"each of its 6 cells"),
        (other(PAIRS[0], noisy_measurement=np.arange(6.0)), {}, r"aren't whole"),
        (other(PAIRS[0], noisy_measurement=np.full(6, 2**31 - 1)), {}, r"the range of i32"),
        (other(PAIRS[0], clique=("age", "ill")), {}, r"different sets of the columns"),
        (TABLE, {"missing": 3}, r"missing is 3; it must be a text"),
        (TABLE, {"missing": "f"}, r"missing is 'f', which is a label of column 'sex'"),
    ],
)
def test_what_has_no_such_law_is_refused(table: Any, options: Any, message: str):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.Release.from_opendp(table, **(FIXED | options))


def released(loss: dict[str, float], empty: bool = False, **chosen: Any) -> tuple[Any, Any]:
    """A table by OpenDP itself, and the records that it is of, some `empty` values among them."""
    if any(importlib.util.find_spec(name) is None for name in ("opendp", "mbi", "polars")):
        missing("OpenDP", 'pip install "bayesdp[test]"')
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import opendp.prelude as dp  # type: ignore[import-not-found, unused-ignore]
        import polars as pl  # type: ignore[import-not-found, unused-ignore]

        dp.enable_features("contrib")
        records = pl.DataFrame(
            {
                "sex": ["f", "m"] * 2000,
                "age": np.linspace(18, 90, 4000),
                "ill": [True, False, False, False] * 1000,
            }
        )
        if empty:
            nulls = {"sex": range(10), "age": range(5, 45)}
            for name, rows in nulls.items():
                column = records[name].to_list()
                records = records.with_columns(
                    pl.Series(name, [None if k in rows else v for k, v in enumerate(column)])
                )
        context = dp.Context.compositor(
            data=records.lazy(),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(**loss),
        )
        queries = [dp.mbi.Count(["sex", "age"]), dp.mbi.Count(["ill", "age"])]
        query = context.query(**loss).contingency_table(
            keys={"sex": ["f", "m"], "ill": [True, False]},
            cuts={"age": list(np.linspace(20.0, 88.0, 100))},
            algorithm=dp.mbi.Fixed(queries=queries, **chosen),
        )
        return query.release(), records


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "loss"), [("laplace", {"epsilon": 0.5}), ("gaussian", {"rho": 0.125})]
)
def test_what_opendp_releases_is_read_with_its_law_and_its_promise(noise: str, loss: Any):
    """Its noise has the law, by a chi-squared test of 1e-6; its budget is what ours promises."""
    table, records = released(loss)
    read = bdp.Release.from_opendp(table, noise=noise, algorithm="fixed")
    made: Any = read.mechanism
    spent = made.rho() if noise == "gaussian" else read.guarantee.epsilon
    (asked,) = loss.values()
    assert asked * (1 - 1e-6) <= spent <= asked * (1 + 1e-9)

    edges = np.concatenate([[-np.inf], np.linspace(20.0, 88.0, 100), [np.inf]])
    age = np.searchsorted(edges, records["age"].to_numpy(), side="left") - 1  # left-open
    sex = (records["sex"].to_numpy() == "m").astype(int)
    ill = 1 - records["ill"].to_numpy().astype(int)
    whole = np.zeros([axis.size for axis in made.axes], dtype=int)
    columns = {"sex": sex, "age": age, "ill": ill}
    np.add.at(whole, tuple(columns[axis.name] for axis in made.axes), 1)
    drawn = np.subtract(read.outputs[0], made.statistic(whole))
    assert drawn.size == 606
    ends = np.array([-np.inf, -6, -4, -3, -2, -1, 0, 1, 2, 3, 5, np.inf])
    k = np.arange(-400, 401)
    at = k / made.scale
    law = np.exp(-np.abs(at) if noise == "laplace" else -(at**2) / 2)
    expected = np.histogram(k, ends, weights=law / law.sum())[0] * drawn.size
    found = np.histogram(drawn, ends)[0]
    assert stats.chisquare(found, expected).pvalue > 1e-6


@pytest.mark.slow
def test_missing_values_are_where_it_is_said_that_they_are():
    """With next to no noise: under their label, but in the last interval of a column of cuts."""
    table, records = released({"epsilon": 200.0}, empty=True)
    read = bdp.Release.from_opendp(table, noise="laplace", algorithm="fixed")
    axes = {axis.name: axis for axis in read.mechanism.axes}
    assert axes["sex"].categories[-1] == "missing"
    assert "missing" not in axes["age"].categories
    sizes = [axes[name].size for name in ("sex", "age")]
    counts = np.reshape(read.outputs[0][: math.prod(sizes)], sizes)
    last = records.filter(records["age"].is_null() | (records["age"] > 88.0))
    assert counts[-1].sum() == records["sex"].is_null().sum() > 0
    assert counts[:, -1].sum() == len(last) > (records["age"] > 88.0).sum()


@pytest.mark.slow
def test_its_marginals_of_several_scales_are_refused():
    table, _ = released({"rho": 0.125}, oneway="all")
    with pytest.raises(bdp.errors.InvalidInput, match=r"2 standard deviations"):
        bdp.Release.from_opendp(table, **FIXED)
