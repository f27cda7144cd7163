"""Public weights of censored regressions: their bound, against a lattice of the box, and uses."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.synthesis.censored_regression_law import CATEGORICAL, FAMILIES, RegressionLaw, Rows
from bayesdp.synthesis.censored_regression_weights import weights_of

Weights = bdp.synthesizers.PublicRegressionWeights
RNG = np.random.default_rng(8)
N = 24
X = np.column_stack([RNG.normal(size=N), RNG.normal(size=N) * 3])
Y: dict[str, Any] = {
    "normal": np.append(RNG.normal(size=N - 2) * 3, [0.0, 1e3]),
    "log_normal": np.append(RNG.lognormal(sigma=2, size=N - 2), [1e-12, 1e9]),
    "gamma": np.append(RNG.gamma(0.5, 3, size=N - 2), [1e-12, 1e4]),
    "poisson": np.append(RNG.poisson(4, size=N - 2), [0, 10_000]),
    "negative_binomial": np.append(RNG.poisson(RNG.gamma(0.3, 20, N - 2)), [0, 10_000]),
    "categorical": RNG.integers(0, 3, size=N),
    "binary": RNG.integers(0, 2, size=N),
}
LOOSE = {"negative_binomial": 1.05}
BOX: dict[str, Any] = {"intercept": (-1.0, 2.0), "slope": ((-0.5, 0.25), (0.1, 0.4))}


def law_of(family: str, predictors: int = 2) -> RegressionLaw:
    categories = 3 if family == "categorical" else 2
    name = CATEGORICAL if family == "binary" else family
    names = ("a", "b")[:predictors]
    return RegressionLaw(name, names, categories, (0.0, 2.0), (1.5,) * predictors, 1.0)


def box_of(law: RegressionLaw, bound: float = 2.0, sigma: Any = (0.2, 3.0)) -> Any:
    return Weights(bound, **BOX, sigma=sigma if law.known.spread else None)


def lattice(law: RegressionLaw, box: Any) -> dict[str, np.ndarray]:
    """Parameters at all corners of the box and between, one chain of them."""
    each = [np.linspace(*box.intercept, 31)] * (law.categories - 1)
    each += [np.array(pair) for pair in box.slope for _ in range(law.categories - 1)]
    sigma = np.geomspace(*box.sigma, 301) if box.sigma else np.ones(1)
    if law.categories > 2:
        each = [np.linspace(*ends[[0, -1]], 3) for ends in each]
    points = [flat.ravel() for flat in np.meshgrid(*each, sigma, indexing="ij")]
    j, k = law.categories - 1, len(law.predictors)
    drawn = {"intercept": np.stack(points[:j], -1)[None]}
    drawn["slope"] = np.stack(points[j:-1], -1).reshape(1, -1, k, j)
    return drawn | ({"sigma": points[-1][None]} if box.sigma else {})


SIGMAS = [(0.2, 3.0), (1.0, 1.0), (0.01, 0.02)]
CASES = [(family, s) for family in Y for s in (SIGMAS if law_of(family).known.spread else [None])]


@pytest.mark.parametrize(("family", "sigma"), CASES)
def test_a_weight_bounds_its_record_over_the_box_and_hardly_more(family: str, sigma: Any):
    law = law_of(family)
    box, rows = box_of(law, sigma=sigma), Rows(Y[family], X)
    most = np.abs(law.log_density(lattice(law, box), rows)).max(axis=(0, 1))
    small = dataclasses.replace(box, bound=1e-9)  # so that no weight is 1
    delta = 1e-9 / weights_of(small, law, rows)
    assert np.all(delta >= most * (1 - 1e-9))
    assert np.all(delta <= most * LOOSE.get(family, 1.01) + 1e-6)
    weights = weights_of(box, law, rows)
    assert weights == pytest.approx(np.minimum(1, 2.0 / delta), rel=1e-12)
    assert np.all(weights * most <= 2.0 * (1 + 1e-9))


@pytest.mark.parametrize("family", list(Y))
def test_a_weight_is_its_records_alone_to_the_last_bit(family: str):
    law = law_of(family)
    box, rows = box_of(law), Rows(Y[family], X)
    whole = weights_of(box, law, rows)
    order = RNG.permutation(N)[: N - 5]
    part = weights_of(box, law, Rows(rows.y[order], rows.x[order]))
    assert np.array_equal(part, whole[order])
    assert np.array_equal(weights_of(box, law, Rows(rows.y[:0], rows.x[:0])), np.empty(0))


def test_a_record_beyond_all_floats_gets_no_weight():
    law = law_of("poisson", 1)
    box = Weights(2.0, (0.0, 1.0), ((1.0, 2.0),))
    rows = Rows(np.array([3, 3]), np.array([[1e300], [0.0]]))
    assert weights_of(box, law, rows).tolist() == [0.0, 2.0 / (1 + math.log(6))]
    box = dataclasses.replace(box, sigma=(0.5, 1.0))
    weights = weights_of(box, law_of("negative_binomial", 1), rows)
    assert weights[0] == 0.0
    assert 0 < weights[1] < 1


@pytest.mark.parametrize("neighbours", ["add_remove", "replace_one"])
def test_weighted_one_record_moves_no_cell_by_more_than_epsilon(neighbours: str):
    """The law of the grid's cells, by enumeration; and nothing is clipped within the box."""
    ends = {"intercept": (-1.0, 1.0), "slope_x": (-0.5, 0.5)}
    half = 0.5 if neighbours == "add_remove" else 0.25
    table = {"bound": half, "intercept": [-1, 1], "slope": [[-0.5, 0.5]], "sigma": [0.5, 2.0]}
    made = bdp.synthesizers.CensoredRegressionSynthesizer(
        epsilon=1.0, response="y", predictors=("x",), covariates={"x": [0.0]}, size=1,
        engine="grid", grid_bounds=ends | {"sigma": (0.5, 2.0)}, grid_size=7, weights=table,
        neighbours=neighbours,
    )  # fmt: skip
    assert made.weights == Weights(half, (-1.0, 1.0), ((-0.5, 0.5),), (0.5, 2.0))
    y, x = [0.5, -1.0, 2.0, 0.0], [0.0, 1.0, -1.0, 3.0]
    data = made.stan_data({"y": y, "x": x})
    assert (data["low"], data["high"]) == (-half, half)
    laws = []
    for extra in ((), (1e9, 0.0), (0.0, 1e6), (1e300, -1e300)):
        one = extra if extra else (1.0, 1.0)
        rows, weights = made._read({"y": [*y, one[0]], "x": [*x, one[1]]})
        if neighbours == "add_remove" and not extra:
            rows, weights = made._read({"y": y, "x": x})
        grid = made._posterior(rows, weights, None)._grid()
        logs = grid.log_weights * 2.0**-grid.bits
        laws.append(logs - special.logsumexp(logs))
    most = max(float(np.abs(each - laws[0]).max()) for each in laws[1:])
    assert 0.01 < most <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bound": 0.0}, "bound is 0"),
        ({"intercept": (1.0, 0.0)}, "intercept is or has a tuple"),
        ({"intercept": (0.0, math.inf)}, "intercept is or has"),
        ({"intercept": 1.0}, "intercept is or has a float"),
        ({"slope": 1.0}, "slope is 1"),
        ({"slope": (1.0,)}, "slope is or has a float"),
        ({"slope": ((0.0, 1.0),)}, "weights has 1 pairs in slope"),
        ({"sigma": (0.0, 1.0)}, "sigma is"),
        ({"sigma": None}, "family='normal' needs sigma"),
        ({"phi": (0.1, 0.2)}, "a PublicRegressionWeights has bound, intercept, slope, sigma"),
    ],
)
def test_wrong_boxes_are_refused(given: dict[str, Any], message: str):
    good = {"bound": 1.0, "intercept": (0.0, 1.0), "sigma": (1.0, 2.0)}
    made = bdp.synthesizers.CensoredRegressionSynthesizer
    made(epsilon=1.0, weights=good)
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        made(epsilon=1.0, weights=good | given)
    with pytest.raises(bdp.errors.InvalidInput, match="has no sigma"):
        made(epsilon=1.0, family="poisson", weights=Weights(**good))


def test_all_families_have_a_bound():
    assert set(FAMILIES) == set(Y) - {"binary"}
