"""Simulation-based calibration of regressions of groups, at censored copies of their records.

The truth's place among the draws must be uniform. False alarm 1e-6 a test.
"""

import dataclasses

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from tests.statistical.test_models_calibration import check

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:the chains of this fit"),  # of one in hundreds
]
AT = {"a": -1.0, "b": 0.0, "c": 1.0}
SHARES = {"a": 0.2, "b": 0.3, "c": 0.5}  # of the records
PRIOR = ((-0.3, 0.2), (0.7, 0.5))
NEAR = 4  # records more or fewer in a group, where their numbers are unknown
MODELS = {
    "beta": bdp.models.BetaRegressionModel({"z": AT}, PRIOR, precision=(4.0, 0.5)),
    "logit_normal": bdp.models.LogitNormalRegressionModel({"z": AT}, PRIOR, variance=(4.0, 4.0)),
}


def truth_of(family: str, rng: np.random.Generator) -> tuple[dict[str, float], float]:
    """Coefficients and the shared parameter from the prior, and the latter by its name."""
    beta = rng.normal(*PRIOR)
    if family == "beta":
        shared = rng.gamma(4.0, 1 / 0.5)
        return {"intercept": beta[0], "z": beta[1], "precision": shared}, shared
    shared = np.sqrt(4.0 / rng.gamma(4.0))
    return {"intercept": beta[0], "z": beta[1], "sigma": shared}, shared


def records_of(family: str, g: float, shared: float, n: int, rng: np.random.Generator):
    if family == "beta":
        x = rng.beta(shared * special.expit(g), shared * special.expit(-g), n)
    else:
        x = special.expit(rng.normal(g, shared, n))
    return x.clip(1e-300, 1 - 2.0**-53)


def places_of(idata, truth: dict[str, float]) -> dict[str, float]:
    """Places of the truth among the draws."""
    found = {}
    for name, value in truth.items():
        coefficient = name in idata.posterior["coefficient"]
        beta = idata.posterior["beta"]
        drawn = beta.sel(coefficient=name) if coefficient else idata.posterior[name]
        found[name] = float(np.mean(drawn.to_numpy() < value))
    return found


@pytest.mark.parametrize(
    ("family", "n", "epsilon", "copies", "known", "replicates", "draws"),
    [
        ("beta", 50, 6.0, 2, True, 30, 600),
        ("logit_normal", 50, 4.0, 1, False, 30, 400),
        *[
            pytest.param(*each, marks=pytest.mark.calibrate)
            for each in [
                ("beta", 50, 6.0, 2, True, 200, 600),
                ("beta", 500, 4.0, 1, True, 200, 700),
                ("logit_normal", 50, 4.0, 1, False, 200, 400),
                ("logit_normal", 500, 4.0, 1, True, 200, 700),
            ]
        ],
    ],
)
def test_coefficients_of_groups(family, n, epsilon, copies, known, replicates, draws):
    rng = np.random.default_rng(1)
    made = bdp.synthesizers.CensoredBetaSynthesizer(
        epsilon=epsilon, copies=copies, size=n // 3, groups=list(AT)
    )
    usual = {label: round(share * n) for label, share in SHARES.items()}
    sizes = {label: range(k - NEAR, k + NEAR + 1) for label, k in usual.items()}
    model = dataclasses.replace(MODELS[family], n=usual if known else sizes)
    places: dict[str, list[float]] = {}
    for i in range(replicates):
        truth, shared = truth_of(family, rng)
        counts = usual if known else {k: int(rng.choice(v)) for k, v in sizes.items()}
        x = [
            records_of(family, truth["intercept"] + truth["z"] * AT[k], shared, counts[k], rng)
            for k in AT
        ]
        with bdp.reproducible(i):
            release = made.release(np.concatenate(x), by=np.repeat(list(AT), [*counts.values()]))
        idata = model.fit(release, draws=draws, chains=1, warmup=300, seed=i)
        for name, place in places_of(idata, truth).items():
            places.setdefault(name, []).append(place)
        if not known:
            drawn = idata.posterior["n"].sel(group="a").to_numpy()
            below, equal = np.mean(drawn < counts["a"]), np.mean(drawn == counts["a"])
            places.setdefault("n", []).append(below + rng.random() * equal)
    for each in places.values():
        check(each)
