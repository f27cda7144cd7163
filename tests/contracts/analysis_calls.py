"""Valid calls of what analysts and readers of promises call: models, evaluation, privacy, laws."""

import dataclasses
import functools
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

import bayesdp as bdp
from tests.contracts.given import COUNTED, EXACT, FEW, LABELLED, ONES, SCHEMA, TABLE, D, anew
from tests.contracts.test_models import CASES
from tests.inference import record_functions


def models(call: Any) -> None:
    seen = set()
    for case in CASES.values():
        model, release = case.model, case.release()
        kind = type(model)
        fields = [field for field in dataclasses.fields(model) if field.init]
        if not isinstance(getattr(model, "weights", None), tuple):  # whose form is another
            call(kind, **{field.name: getattr(model, field.name) for field in fields})
        if kind in seen or kind.__name__ not in EXACT:
            continue
        seen.add(kind)
        thin = {} if "thin" not in inspect.signature(model.fit).parameters else {"thin": 1}
        call(model.fit, release, warmup=20, **FEW, **thin)
        call(model.fit_naive, release, **FEW)
    call(bdp.LinearRegressionModel, "y", (0.0, 0.1, 1.0, 0.1), ("x",), (0.0, 0.1, 3.0, 0.1))
    call(bdp.BinomialModel, (1.0, 1.0), 9)
    call(bdp.models.NetworkBetaModel, bdp.networks.NormalPrior(0.0, 2.0))
    call(bdp.GaussianModel, (0.0, 2.0), 1.0, n=9)
    call(bdp.models.GammaModel, (1.0, 2.0), 2.0, "mean", (0.0, 4.0), n=9)
    call(
        bdp.models.MultivariateGaussianModel,
        ((0.0, 1.0), ((4.0, 1.0), (1.0, 2.0))),
        ((1.0, 0.6), (0.6, 2.0)),
    )
    call(bdp.models.WeightedShareModel, (1.0, 2.0))
    call(bdp.models.QuantileModel, "normal", (0.0, 2.0, 1.0, 0.5), 9, (0.25, 0.5))
    call(bdp.models.PoissonModel, (1.0, 1.0), (2.0, 3.0), 9)
    call(bdp.models.HierarchicalGaussianModel, (0.0, 1.0), 1.0, 2.0, n=9)
    call(bdp.models.HierarchicalGaussianModel, (0.0, 1.0), 1.0, None, (3.0, 2.0), n=9)
    call(bdp.models.HierarchicalBinomialModel, (1.0, 2.0), 5.0)
    call(bdp.models.LogLinearModel, "a + b", 1.0, 1.0, (0.0, 10.0), n=9)
    call(bdp.models.ERGMModel, "edges", bdp.networks.NormalPrior(0.0, 2.0))
    sampled = bdp.models.RecordModel({"theta": (3,)}, record_functions.start,
        record_functions.categories_given, record_functions.itself,
        record_functions.category)  # fmt: skip
    call(
        bdp.models.RecordModel,
        sampled.parameters,
        sampled.start,
        sampled.posterior,
        sampled.statistic,
        sampled.record,
        record_size=1,
        n=9,
    )
    _tables(call)
    model = bdp.BinomialModel()
    idata = model.fit(COUNTED, draws=30, chains=2, seed=1)
    call(bdp.posterior_predictive, model, idata, COUNTED, draws=20, seed=1)
    call(bdp.prior_predictive, model, COUNTED, draws=20, seed=1)
    call(bdp.models.PyMCModel, lambda release: release, variables=("p",))
    call(bdp.log_evidence, model, COUNTED, draws=20, chains=2, warmup=20, seed=1)
    call(bdp.evaluate.log_likelihood, model, idata, COUNTED)
    part = COUNTED.parts[0]
    groups = {"a": (part.mechanism, [38]), "b": (part.mechanism, [41])}
    grouped = bdp.Release.of_groups(groups)
    fitted = model.fit(grouped, draws=30, chains=2, seed=1)
    call(bdp.evaluate.variance_parts, model, grouped)
    call(bdp.evaluate.poststratify, fitted, {"a": 30, "b": 70})
    call(
        bdp.compare,
        [model, bdp.BinomialModel((2.0, 2.0))],
        COUNTED,
        prior=(0.5, 0.5),
        draws=20,
        chains=2,
        warmup=20,
        seed=1,
    )
    mixture = model.posterior(COUNTED)
    call(bdp.models.BetaMixture, mixture.weights, mixture.a, mixture.b)
    call(mixture.sample, 5, 1)
    call(mixture.interval, 0.9)
    call(mixture.quantile, 0.9)
    call(mixture.pdf, 0.4)
    call(mixture.cdf, 0.4)
    axes = Figure().subplots()
    call(mixture.plot, axes, level=0.9)
    call(bdp.plot_comparison, posterior=mixture, truth=0.4, level=0.9, ax=axes)
    call(bdp.evaluate.write_explorer, COUNTED, "page.html", level=0.9)
    call(bdp.evaluate.write_report, idata, COUNTED, "report", level=0.9, reference=0.4)


def _tables(call: Any) -> None:
    model = call(bdp.TableModel, 3)
    made = bdp.mechanisms.NoisyTableMechanism(SCHEMA, [{"marginals": [("a", "b")], "scale": 2.0}])
    release = bdp.Release.of(made, [(3, 9, 4, 7, 2, 8)], delta=1e-6)
    synthesizer = call(
        bdp.TableSynthesizer, SCHEMA, epsilon=2.0, delta=1e-6, copies=2, marginals=[("a", "b")]
    )
    call(synthesizer.release, pd.DataFrame({"a": [True, False, True], "b": [0, 1, 2]}))
    call(synthesizer.guarantee)
    rounds = {"chosen": 1, "pilot": 0.25, "most_cells": 9}
    chooser = call(bdp.TableSynthesizer, SCHEMA, epsilon=2.0, delta=1e-6, **rounds)
    call(chooser.choice, [3, 9, 4, 7, 2, 8])
    posterior = call(model.fit, release, **FEW, warmup=5, thin=2, tables=4)
    call(posterior.synthetic, 3, seed=1)
    copies = call(bdp.evaluate.SyntheticCopies.of, posterior, 3, seed=1)
    call(bdp.evaluate.SyntheticCopies, copies.frames, copies.about)
    call(copies.table, "b", level=0.9)
    call(copies.regression, "b ~ a", level=0.9)
    call(posterior.table, "b", seed=1)
    call(posterior.regression, "b ~ a", draws=3, seed=1)
    estimates = call(posterior.estimate, lambda frame: frame["b"].mean(), draws=3, seed=1)
    call(estimates.interval, 0.9)


def evaluation(call: Any) -> None:
    other = TABLE * 0.9
    call(bdp.evaluate.cell_risk, LABELLED, LABELLED, columns=["sex", "dose"])
    call(bdp.evaluate.anonymity, LABELLED, quasi_identifiers=["sex"], sensitive=["dose"])
    call(bdp.evaluate.closest_records, TABLE, other, TABLE + 0.1, relabellings=3, seed=1)
    guesses = np.log([[[0.1, 0.9]], [[0.3, 0.7]]])
    call(bdp.evaluate.attribute_risk, guesses, [-0.2, -0.1], [1], prior=[0.5, 0.5])
    call(bdp.evaluate.identification_risk, TABLE, other, known=["x"], synthetic=["y"], radius=0.1)
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale=2.0)
    call(bdp.evaluate.membership_attack, noise, 3, 4, delta=0.1, trials=200, level=0.9)
    call(bdp.evaluate.utility, TABLE, other, quantiles=(0.25, 0.5), bins=3)
    estimates = pd.DataFrame({"estimate": [1.0, 2.0], "low": [0.5, 1.0], "high": [1.5, 3.0]})
    call(bdp.evaluate.interval_overlap, estimates, estimates)
    call(
        bdp.evaluate.plot_risk,
        bdp.evaluate.identification_risk(
            TABLE, other, known=["x"], synthetic=["y"], radius=0.1, by_record=True
        ),
    )
    law = bdp.synthesizers.CensoredBetaSynthesizer(2.0, grid=(12, 12)).pseudo_posterior(TABLE["x"])
    call(bdp.evaluate.plot_pseudo_posterior, law.to_inference_data(30, 1), var_names=["phi"])
    call(bdp.evaluate.plot_utility, bdp.evaluate.utility(TABLE, other, bins=3))
    found = call(bdp.combine, [1.0, 1.2, 0.9], [0.1, 0.1, 0.2], size_ratio=1.0)
    call(found.interval, 0.9)
    call(found.wald_test, 0.5)
    call(bdp.evaluate.combine_all, [1.0, 1.2, 0.9], [0.1, 0.1, 0.2], size_ratio=1.0, level=0.9)
    call(bdp.evaluate.combine_nested, [[1.0, 1.1], [1.2, 0.9]], [[0.1, 0.1], [0.2, 0.2]])
    vector = bdp.combine([[1.0, 2.0], [1.2, 2.1], [0.8, 2.3]], [[0.1, 0.1]] * 3)
    call(vector.interval, 0.9)
    call(vector.to_frame, 0.9)
    fits = [lambda theta, k=k: -float((theta[0] - k) ** 2 + theta[1] ** 2) for k in range(3)]
    call(
        bdp.evaluate.likelihood_ratio_test,
        fits,
        [[k, 0.0] for k in range(3)],
        [[0.0, 0.0]] * 3,
        1,
        size_ratio=1.0,
    )
    call(bdp.evaluate.Simulated, [0, 1], 0.5)
    call(bdp.evaluate.ModelAnalysis, bdp.BinomialModel(), 0.9)
    study = call(
        bdp.Study,
        data=[0, 1, 1, 0],
        synthesizers=[bdp.BetaBinomialSynthesizer],
        analyses=[bdp.BinomialModel()],
        grid={"epsilon": [0.5, 2.0]},
        replicates=2,
        seed=7,
        truth=0.5,
    )
    call(study.run, "study", client=None)

    def of_a_study() -> Any:
        study.run("done", client=None)
        return bdp.evaluate.StudyResults.load

    call(anew(of_a_study), "done")
    design = call(
        bdp.plan,
        bdp.BinomialModel(),
        50,
        target=0.5,
        mechanisms=["beta_binomial"],
        epsilon=(0.5, 4.0),
        copies=[2],
        level=0.9,
        assurance=0.8,
        attacker_prior=0.5,
        replicates=20,
        seed=1,
    )
    call(design.plot)


def privacy(call: Any) -> None:
    promise = call(bdp.Guarantee, 1.0, 0.0, "replace_one", "proved", (), "here", 0.5)
    call(bdp.compose, [promise, promise], delta=1e-6)
    call(bdp.privacy.subsampled, promise, rate=0.1, scheme="without_replacement")
    call(bdp.privacy.bootstrap_epsilon, 1.0, 20)
    made = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0)
    call(bdp.audit, made, trials=200, alpha=1e-3, search=2)

    @functools.wraps(bdp.reproducible)
    def reproducible(seed: Any) -> Any:
        with bdp.reproducible(seed):
            return bdp.BetaBinomialSynthesizer(epsilon=2.0, size=50).release(ONES)

    call(reproducible, 3)
    call(bdp.Ledger.open, "sqlite:///opened.db")
    total: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-6, "conversion_delta": 1e-7}

    def ledger(*datasets: str) -> Any:
        path = Path("budget.db")
        path.unlink(missing_ok=True)
        opened = bdp.Ledger.open(f"sqlite:///{path}")
        for each in datasets:
            opened.create(each, **total, neighbours="replace_one")
        return opened

    call(anew(lambda: ledger().create), "survey", **total, neighbours="replace_one")
    call(anew(lambda: ledger("survey").dataset), "survey")
    call(anew(lambda: ledger("survey").dataset("survey").spend), promise)
    call(anew(lambda: ledger("survey").verify))
    call(anew(lambda: ledger("survey").export), "e.jsonl")

    def exported() -> Any:
        ledger("survey").export("e.jsonl", force=True)
        return ledger()

    call(anew(lambda: exported().restore), "e.jsonl")
    call(anew(lambda: exported().verify_export), "e.jsonl")


def laws(call: Any) -> None:
    law = call(D.Uniform, 0.0, 1.0)
    call(D.TopCodedNormal, 0.0, 1.0, -2.0, 2.0)
    call(D.UniformPart, ((0.0, 1.0),), 0.5, ((0.0, 1.0),))
    call(D.BoundedLaw, ((0.0, 1.0),), ((0.0, 1.0),), 1.0)
    call(D.UniformProducts, 1.0, 1.0)
    call(D.UniformProducts, 1.0, (1.0, 2.0), 0.5)
    promise = call(D.DistributionalGuarantee, 0.5, 1e-6, "uniform", D.LawClass.of("u"), 3)
    call(D.LawClass, "u", (("n", 3),))
    call(D.LawClass.of, "u", n=3)
    call(D.records, 3)
    call(D.nodes, 3)
    call(D.attributes, 3, [1])
    call(D.groups, [[0, 1]])
    call(D.Secret, lambda x: None, lambda x: x[0])
    points = [{((0,), ()): 1.0}, {((1,), ()): 1.0}]

    def answer(x: Any) -> dict[int, float]:
        return {x[0]: 0.75, 1 - x[0]: 0.25}

    call(D.smallest_epsilon, answer, points, D.records(1), 0.1, within=1e-3)
    call(D.smallest_delta, answer, points, D.records(1), 0.1)
    fair = [{((0,), ()): 0.5, ((1,), ()): 0.5}]
    call(D.inference_delta, answer, fair, D.records(1), 0.1, lambda alt: {0: 0.5, 1: 0.5})
    call(D.noiseless_epsilon, answer, fair, D.records(1), 0.01)
    call(D.pufferfish_epsilon, answer, fair, [lambda x: bool(x[0])], 0.01)
    size = call(D.BinomialSize, 100, 0.2)
    call(D.PoissonSize, 20.0)
    fixed = call(D.FixedMinusLaplace, 100, 1.0, 1e-3)
    call(fixed.delta, 5, 1.0)
    call(fixed.delta_at, 5, 1.0, 0.5)
    histogram = call(D.TruncatedHistogram, 5, size)
    call(D.TruncatedHistogram.calibrate, size, epsilon=1.0, delta=1e-3, known_records=2)
    call(histogram.delta, 1.0, known_records=2)
    call(histogram.guarantee, 1.0, known_records=2)
    call(histogram.counts, [3, 9])
    profile = call(D.SumProfile, 50, law, 3)
    call(profile.delta, 1.0)
    call(profile.epsilon, 1e-6)
    call(D.simulator_floor, profile, 1e-6)
    call(D.sum_guarantee, 50, law, known_records=3, delta=1e-6)
    call(D.sum_guarantee, 50, law, known_records=3, epsilon=0.5)
    call(D.best_bound, 50, law, delta=1e-6, known_records=3)
    call(D.best_bound_at_epsilon, 50, law, epsilon=1.0, known_records=3)
    values = [k / 50 for k in range(50)]
    call(D.exact_sum, values, law=law, known_records=3, delta=1e-6)
    call(D.exact_sum, values, law=law, known_records=3, epsilon=1.0)
    call(D.slope, [1.0, 2.0])
    call(D.line, [1.0, 2.0, 3.0, 4.0], 20, 30)
    products = D.UniformProducts(1.0, 1.0)
    wide = np.linspace(-0.9, 0.9, 400)
    call(D.exact_slope, wide, wide**3, law=products, known_records=3, delta=0.2)
    call(D.exact_slope, wide, wide**3, law=products, known_records=3, epsilon=1.0)
    square = ((-1.0, 1.0), (-1.0, 1.0))
    split: dict[str, Any] = {"means_law": D.BoundedLaw(square, square, 0.25),
                             "products_law": products, "known_records": 3}  # fmt: skip
    call(D.exact_line, wide, wide**3, first=150, delta=0.2, **split)
    call(D.exact_line, wide, wide**3, first=[0, 2, 4, 6], second=range(1, 400, 2), delta=0.2,
         **split | {"known_records": 0})  # fmt: skip
    call(D.exact_line, wide, wide**3, first=150, epsilon=1.0, **split)
    both = np.column_stack([wide, wide**2])
    several: dict[str, Any] = {"bounds": (1.0, 1.0, 1.0), "known_records": 3}
    call(D.exact_regression, both, wide**3, delta=0.5, **several)
    call(D.exact_regression, both, wide**3, share=0.5, intercept=False, parts=(200, 200),
         epsilon=1.0, **several)  # fmt: skip
    call(D.exact_regression, both, wide**3, parts=[range(k, 400, 3) for k in range(3)], delta=0.5,
         **several)  # fmt: skip
    call(D.coefficients, [2.0, 1.0, 3.0, 2.0, 1.0, 1.0], (20, 30))
    coins = [stats.bernoulli(0.2), stats.bernoulli(0.8)]
    estimator = call(D.MAPEstimator, coins, (0.5, 0.5), 5.0)
    call(estimator.guarantee, 30, known_records=2, least_probability=0.1)
    call(estimator.estimate, [1, 1, 0])
    found = call(D.stable_function, lambda c: int(2 * c[1] > sum(c)), coins, 9, known_records=2,
                 draws=50, alpha=1e-3)  # fmt: skip
    call(found.delta, 0.5)
    call(found.epsilon, 0.4)
    call(found.guarantee, delta=0.4)
    call(D.stable_promise, 0.01, 0.5)
    base = D.LawClass.of("u")
    first, second = (
        dataclasses.replace(promise, class_as_data=base.knowing(known))
        for known in (D.SIMULATED, D.SEEN)
    )
    call(D.compose_guarantees, first, second, base=base)
    call(D.convex_hull, promise)
    call(D.less_known, promise, 1)
    call(D.split_samples, promise, promise, first_rows=range(6), second_rows=range(6, 12))
    call(D.to_inference, promise, 2, epsilon=1.5)
    call(D.semantic_privacy, bdp.Guarantee(1.0, 1e-6, "replace_one", "proved", (), ""), records=2,
         delta=1e-3)  # fmt: skip

    def counted(generator: np.random.Generator, value: int, draws: int) -> Any:
        return generator.binomial(20, 0.5, size=draws) + value

    claim = D.TruncatedHistogram(20, D.BinomialSize(1000, 0.2)).guarantee(0.5)
    attacked = call(D.attack, claim, counted, counted, values=(0, 1), prior=(0.5, 0.5), trials=200,
                    alpha=1e-3, seed=1)  # fmt: skip
    call(D.believed_delta, attacked, 1.5)


PARTS = (models, evaluation, privacy, laws)
"""Each makes its calls by the function that it is given, which keeps them."""
