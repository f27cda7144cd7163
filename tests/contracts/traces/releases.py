"""Every public way to release, on records that can be told from anything else on a disk.

Run as a program, with a number that the records follow from and the names of what is to run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesdp as bdp
from tests.contracts.traces.search import needles, runs


@dataclass(frozen=True)
class Records:
    """Confidential records."""

    seed: int

    @cached_property
    def n(self) -> int:
        return 64 + self.seed

    def _floats(self, stream: int, low: float, high: float) -> Any:
        return np.random.default_rng([self.seed, stream]).uniform(low, high, self.n)

    @cached_property
    def unit(self) -> Any:
        return self._floats(1, 0.12, 0.88)

    @cached_property
    def real(self) -> Any:
        return self._floats(2, 300.0, 900.0)

    @cached_property
    def covariate(self) -> Any:
        return self._floats(3, 20.0, 90.0)

    @cached_property
    def weights(self) -> Any:
        return self._floats(4, 0.1, 1.0)

    @cached_property
    def bits(self) -> Any:
        return np.random.default_rng([self.seed, 5]).integers(0, 2, self.n)

    @cached_property
    def ties(self) -> Any:
        pairs = np.argwhere(np.triu(np.ones((40, 40)), 1))
        return pairs[np.random.default_rng([self.seed, 6]).random(len(pairs)) < 0.1]

    @property
    def table(self) -> pd.DataFrame:
        return pd.DataFrame(
            {"sex": np.array(["f", "m"])[self.bits], "age": self.covariate, "pressure": self.real}
        )

    @property
    def graph(self) -> Any:
        return bdp.networks.Network(40, self.ties)

    def sought(self) -> set[bytes]:
        """What no file may hold."""
        distinctive = (self.unit, self.real, self.covariate, self.weights)
        return (
            set[bytes]().union(*(needles(values.tolist()) for values in distinctive))
            | runs(self.bits.tolist())
            | runs(self.ties.ravel().tolist())
        )

    @property
    def model(self) -> Any:
        """Records in it as observed values, as constants, as data, and beside the likelihood."""
        from bayesdp.engines.pymc.sampling import import_pymc

        pm = import_pymc()
        with pm.Model() as model:
            covariate = pm.Data("covariate", self.covariate)
            slope = pm.Normal("slope", 0.0, 10.0)
            level = pm.Normal("level", 500.0, 300.0)
            pm.Deterministic("share", pm.math.exp(slope) * self.unit)
            sigma = pm.HalfNormal("sigma", 200.0)
            pm.Normal("income", level + slope * covariate, sigma, observed=self.real)
            pm.Bernoulli("voted", logit_p=slope / 10, observed=self.bits)
        return model


BOUNDS = {"age": (20, 90), "pressure": (300, 900)}


def beta_binomial(r: Records) -> None:
    bdp.BetaBinomialSynthesizer(2.0).release(r.bits)


def discrete_laplace(r: Records) -> None:
    bdp.synthesizers.DiscreteLaplaceSynthesizer(2.0).release(r.bits)


def propose_test_release(r: Records) -> None:
    bdp.synthesizers.ProposeTestReleaseSynthesizer(9.0, (300, 900), 1, delta=0.2).release(r.real)


def trimmed_mean(r: Records) -> None:
    made = bdp.synthesizers.TrimmedMeanSynthesizer(9.0, (300, 900), 90, delta=0.2)
    made.release(r.real)


def quantile(r: Records) -> None:
    bdp.synthesizers.QuantileSynthesizer(2.0, (300, 900)).release(r.real)


def subsample_aggregate(r: Records) -> None:
    def fails(block: Any) -> float:
        if block[0] < 600:
            raise ValueError(f"no estimate of {block.tolist()}")
        return float(block.mean())

    bdp.synthesizers.SubsampleAggregateSynthesizer(fails, (300, 900), blocks=8).release(r.real)


def weighted_counts(r: Records) -> None:
    table = r.table.assign(weight=r.covariate)
    bdp.synthesizers.WeightedCountsSynthesizer({"sex": ["f", "m"]}, 90.0).release(table)


def censor(r: Records) -> None:
    """And sample from it as one does with any model."""
    from bayesdp.engines.pymc import sampling as pymc

    private = bdp.censor(r.model, epsilon=4.0, weights=r.weights)
    pymc.sample(private, variables=["slope"], draws=20, warmup=20, seed=1)


def posterior(r: Records) -> None:
    bdp.PosteriorSynthesizer(
        r.model, 4.0, center=-8.0, size=5, weights=r.weights, covariates={"covariate": np.ones(5)}
    ).release()


def posterior_grid(r: Records) -> None:
    from bayesdp.engines.pymc.sampling import import_pymc

    pm = import_pymc()
    with pm.Model() as model:
        pm.Normal("income", pm.Normal("level", 500.0, 300.0), 200.0, observed=r.real)
    bdp.PosteriorSynthesizer(
        model, 4.0, size=5, engine="grid", grid_bounds={"level": (0, 1000)}, grid_size=20
    ).release()


def censored_beta(engine: str) -> Callable[[Records], None]:
    def run(r: Records) -> None:
        made = bdp.synthesizers.CensoredBetaSynthesizer(4.0, weights=r.weights, engine=engine)
        made.release(r.unit, size=5)
        made.pseudo_posterior(r.unit)

    return run


def censored_regression(engine: str, **options: Any) -> Callable[[Records], None]:
    def run(r: Records) -> None:
        made = bdp.synthesizers.CensoredRegressionSynthesizer(
            4.0, "normal", "pressure", ("age",), {"age": np.ones(5)}, size=5, weights=r.weights,
            engine=engine, prior_intercept=(500.0, 300.0), prior_sigma=300.0, **options,
        )  # fmt: skip
        made.release(r.table)
        if engine != "grid":
            made.pseudo_posterior(r.table, log_lik=True)

    return run


def public_weights(r: Records) -> None:
    ends = {"intercept": (0.0, 1000.0), "sigma": (50.0, 500.0)}
    made = bdp.synthesizers.CensoredRegressionSynthesizer(
        4.0, response="pressure", size=5, engine="grid", grid_bounds=ends, grid_size=6,
        weights=bdp.synthesizers.PublicRegressionWeights(2.0, (0.0, 1000.0), (), (50.0, 500.0)),
    )  # fmt: skip
    made.release(r.table)


def pseudo_posterior(r: Records) -> None:
    made = bdp.synthesizers.CensoredBetaSynthesizer(4.0, weights=r.weights)
    found = made.pseudo_posterior(r.unit)
    found.summary(), found.sample(10, 1), found.lipschitz, found.censored
    plain = made.pseudo_posterior(r.unit, clipped=False).to_inference_data(30, 1)
    bdp.evaluate.plot_pseudo_posterior(found.to_inference_data(30, 1), plain)


def scan(r: Records) -> None:
    """The file is the curator's own, and isn't searched; what is sorted on disk is."""
    from bayesdp.mechanisms.censored import disk_sort

    disk_sort._RUN = 8  # so that these few are sorted on disk
    path = Path(os.environ["CURATORS_OWN"]) / "records.parquet"
    pd.DataFrame({"income": r.unit}).to_parquet(path)
    bdp.synthesizers.CensoredBetaSynthesizer(4.0).release(bdp.scan(path, "income", rows=8), size=5)


def histogram(r: Records) -> None:
    made = bdp.synthesizers.PerturbedHistogramSynthesizer(2.0, bounds={"age": (20, 90)}, bins=4)
    made.records(made.release(r.table[["age"]]), size=5)


def log_linear(r: Records) -> None:
    columns = {"sex": ["f", "m"], "voted": [0, 1]}
    frame = pd.DataFrame({"sex": r.table["sex"], "voted": r.bits})
    made = bdp.synthesizers.LogLinearSynthesizer(
        2.0, marginals=[("sex", "voted")], categories=columns
    )
    made.records(made.release(frame), size=5)


def schema(r: Records) -> None:
    """Records that fit are coded and decoded, and those that don't are refused, one by one."""
    from bayesdp.cli import schema as commands

    age = {"type": "real", "bounds": (20.0, 90.0), "bins": 5}
    sex = {"type": "category", "labels": ["f", "m"]}
    made = bdp.Schema(
        {"sex": sex, "age": age, "pressure": {"type": "real", "bounds": (300, 600), "bins": 3}},
        unit={"person": "id", "most": 1},
    )
    frame = made.limited(r.table.assign(id=[f"{v!r}" for v in r.real]))
    for k in range(len(frame)):
        with contextlib.suppress(bdp.errors.InvalidInput):
            made.decoded(made.coded(frame[k : k + 1]), np.random.default_rng(1))
    path = Path(os.environ["CURATORS_OWN"]) / "records.csv"
    frame.to_csv(path, index=False)
    Path("survey.toml").write_text(made.template(path))
    made.save("survey.toml", force=True)
    with contextlib.suppress(bdp.errors.InvalidInput):
        commands.check(Path("survey.toml"), path)


def whole_table(r: Records) -> None:
    """From memory, in two rounds, of persons, from a file in batches, and refused."""
    age = {"type": "real", "bounds": (20.0, 90.0), "bins": 5, "outside": "clamp"}
    sex = {"type": "category", "labels": ["f", "m"]}
    real = {"type": "real", "bounds": (300, 900), "bins": 4, "outside": "clamp"}
    note = {"type": "category", "labels": ["seen", "strange"], "other": "strange"}
    columns = {"sex": sex, "age": age, "pressure": real, "note": note}
    ids, notes = ([f"{v!r}" for v in values] for values in (r.real, r.unit))
    frame = r.table.assign(id=ids, note=notes)
    persons = bdp.Schema(columns, unit={"person": "id", "most": 1})
    bdp.TableSynthesizer(persons, epsilon=1.0, delta=1e-6, chosen=2).release(frame)
    path = Path(os.environ["CURATORS_OWN"]) / "table.csv"
    frame.to_csv(path, index=False)
    of_persons = bdp.TableSynthesizer(persons, epsilon=1.0)
    of_persons.release(bdp.scan(path, of_persons.columns, rows=7))
    with contextlib.suppress(bdp.errors.InvalidInput):  # ids that aren't whole numbers
        of_persons.release(iter([frame[:9], frame[9:].assign(id=r.real[9:])]))
    made = bdp.TableSynthesizer(bdp.Schema(columns), epsilon=1.0)
    made.release(bdp.scan(path, [*columns], rows=7))
    strict = bdp.Schema({**columns, "note": note | {"other": None}})
    for refused in (bdp.TableSynthesizer(strict), made):  # a label, and a column, of none
        with contextlib.suppress(bdp.errors.InvalidInput):
            refused.release(frame)


def modips(r: Records) -> None:
    bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=2.0, copies=2).release(r.bits)
    bdp.ModipsSynthesizer(bdp.families.Gaussian((300, 900)), epsilon=2.0, copies=2).release(r.real)


def family_selection(r: Records) -> None:
    families = [bdp.families.Bernoulli((1, 1)), bdp.families.Bernoulli((1, 30))]
    bdp.synthesizers.select_family(families, r.bits, epsilon=0.5)


def sequential_modips(r: Records) -> None:
    steps = [
        bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")}),
        bdp.synthesizers.NumericColumns(BOUNDS, by=["sex"]),
    ]
    bdp.synthesizers.SequentialModipsSynthesizer(steps, epsilon=2.0, copies=2).release(r.table)


def sequential_dirichlet_multinomial(r: Records) -> None:
    steps = [
        bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")}),
        bdp.synthesizers.CategoricalColumns({"ill": (0, 1)}, by=["sex"]),
    ]
    bdp.synthesizers.SequentialDirichletMultinomialSynthesizer(steps, epsilon=2.0).release(
        r.table.assign(ill=r.bits)
    )


def coefficients(r: Records) -> None:
    bdp.synthesizers.PerturbedCoefficientsSynthesizer(
        BOUNDS, "pressure", penalty=500, epsilon=1.0, delta=1e-6
    ).release(r.table)


def comparators(r: Records) -> None:
    bdp.synthesizers.HuComparators(r.unit, count=20).weighted_e(4.0)


def poisson_gamma(r: Records) -> None:
    areas = [f"area {k}" for k in range(r.n)]
    bdp.synthesizers.PoissonGammaSynthesizer(2.0, expected=dict.fromkeys(areas, 1.0)).release(
        dict(zip(areas, r.bits.tolist(), strict=True))
    )


def publish(r: Records) -> None:
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.calibrate(epsilon=1.0, n=r.n)
    bdp.publish(mechanism, r.bits)


def of_graph(declared: Callable[[], Any]) -> Callable[[Records], None]:
    return lambda r: declared().release(r.graph)


CASES: dict[str, Callable[[Records], None]] = {
    "BetaBinomialSynthesizer": beta_binomial,
    "CensoredBetaSynthesizer": censored_beta("grid"),
    "CensoredRegressionSynthesizer": censored_regression(
        "grid",
        grid_bounds={"intercept": (0, 1000), "slope_age": (-9, 9), "sigma": (50, 500)},
        grid_size=6,
    ),
    "ConjugateSynthesizer": lambda r: bdp.synthesizers.ConjugateSynthesizer(
        "multivariate_gaussian", 1.0, 1e-6, R=900.0, covariance=((100.0, 30.0), (30.0, 200.0))
    ).release(r.table[["age", "pressure"]]),
    "DPERGMSynthesizer": of_graph(
        lambda: bdp.synthesizers.DPERGMSynthesizer("edges", epsilon=1.0, centre=-2.0, scale=0.5)
    ),
    "DiscreteLaplaceSynthesizer": discrete_laplace,
    "DirichletMultinomialSynthesizer": lambda r: bdp.synthesizers.DirichletMultinomialSynthesizer(
        2.0
    ).release(counts=np.bincount(r.bits)),
    "EdgeFlipSynthesizer": of_graph(lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.0)),
    "FamilySelection": family_selection,
    "HuComparators": comparators,
    "LogLinearSynthesizer": log_linear,
    "ModipsSynthesizer": modips,
    "TableSynthesizer": whole_table,
    "NoisyDegreesSynthesizer": of_graph(
        lambda: bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=1.0)
    ),
    "NoisyMomentsSynthesizer": lambda r: bdp.synthesizers.NoisyMomentsSynthesizer(
        BOUNDS, epsilon=1.0
    ).release(r.table[["age", "pressure"]]),
    "NoisyStatisticsSynthesizer": of_graph(
        lambda: bdp.synthesizers.NoisyStatisticsSynthesizer(
            "edges + gwesp(0.5)", epsilon=1.0, max_degree=17
        )
    ),
    "NoisyTrianglesSynthesizer": of_graph(
        lambda: bdp.synthesizers.NoisyTrianglesSynthesizer(epsilon=1.0)
    ),
    "PerturbedCoefficientsSynthesizer": coefficients,
    "PerturbedHistogramSynthesizer": histogram,
    "PoissonGammaSynthesizer": poisson_gamma,
    "ProposeTestReleaseSynthesizer": propose_test_release,
    "QuantileSynthesizer": quantile,
    "WeightedCountsSynthesizer": weighted_counts,
    "PosteriorSynthesizer": posterior_grid,
    "PseudoPosterior": pseudo_posterior,
    "PublicRegressionWeights": public_weights,
    "Schema": schema,
    "SequentialDirichletMultinomialSynthesizer": sequential_dirichlet_multinomial,
    "SequentialModipsSynthesizer": sequential_modips,
    "SubsampleAggregateSynthesizer": subsample_aggregate,
    "TrimmedMeanSynthesizer": trimmed_mean,
    "TruncatedStatisticsSynthesizer": of_graph(
        lambda: bdp.synthesizers.TruncatedStatisticsSynthesizer(
            "edges + isolates", epsilon=1.0, max_degree=8
        )
    ),
    "publish": publish,
    "scan": scan,
    "select_family": family_selection,
}
"""What takes seconds, by public name."""

CHAINS: dict[str, Callable[[Records], None]] = {
    "CensoredBetaSynthesizer(pymc)": censored_beta("pymc"),
    "CensoredBetaSynthesizer(stan)": censored_beta("stan"),
    "CensoredRegressionSynthesizer(stan)": censored_regression("stan", center=-7.0),
    "PosteriorSynthesizer(pymc)": posterior,
    "censor": censor,
}
"""What an engine's chains do, which compile."""


def endless_stan(r: Records) -> None:
    """Chains that are to be killed; the records' file is there while they run."""
    from bayesdp.engines.stan import sampling as stan
    from bayesdp.synthesis.censored_beta_law import BetaLaw
    from bayesdp.synthesis.censored_chains import Chains

    chains = Chains("stan", 4.0, 1, "add_remove", 0.0, BetaLaw((1.0, 1.0), (0.1, 1.5), 1000.0))
    data = chains.stan_data(r.unit, r.weights)
    stan.sample("censored_beta", data, variables=["phi"], draws=10**7, warmup=10**7, seed=0)


def endless_pymc(r: Records) -> None:
    """Chains that are to be killed, once the model is compiled."""
    import nutpie

    from bayesdp.engines.pymc import sampling as pymc

    sample = nutpie.sample

    def told(*arguments: Any, **options: Any) -> Any:
        Path("sampling").touch()
        return sample(*arguments, **options)

    nutpie.sample = told
    private = bdp.censor(r.model, epsilon=4.0, weights=r.weights)
    pymc.sample(private, variables=["slope"], draws=10**7, warmup=10**7, seed=1)


ENDLESS = {"stan": endless_stan, "pymc": endless_pymc}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored by what runs in background
    _records = Records(int(sys.argv[1]))
    with bdp.reproducible(_records.seed):  # chains that converge do so again
        for _name in sys.argv[2:]:
            (CASES | CHAINS | ENDLESS)[_name](_records)
