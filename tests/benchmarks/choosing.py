"""Width and coverage of 95% intervals by every way to answer a question, at equal epsilon.

`python -m tests.benchmarks.choosing` simulates, and writes choosing.json and the tables of the page
"Which mechanism, which model?"; with names of questions after it, it simulates these alone, and
with "question:mechanism" one mechanism's rows. Data and releases are seeded, so that each figure
can be had again. All epsilons are under replace-one, with n public; of networks they are about one
tie.
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import bayesdp as bdp
from tests.benchmarks import choosing_answers as to
from tests.benchmarks.choosing_answers import DELTA, QUESTIONS, Ends

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_suffix(".json")
PAGE = ROOT / "notebooks" / "choosing.md"
EPSILONS = (0.5, 1.0, 2.0)


@dataclass(frozen=True)
class Way:
    """A mechanism and a model that answer a question, and what to write for them."""

    question: str
    mechanism: str
    write: str
    answer: Callable[[Any, float], Ends]
    replicates: int = 200
    delta: bool = False


def measured(way: Way, epsilon: float | None, replicates: int | None = None) -> dict[str, Any]:
    """Mean width, coverage and its standard error, over replicates and the question's numbers."""
    question = QUESTIONS[way.question]
    widths, covered = [], []
    for i in range(replicates or way.replicates):
        data = question.data(np.random.default_rng([22, i]))
        with warnings.catch_warnings(), bdp.reproducible(i):
            warnings.simplefilter("ignore")  # of short chains, one in hundreds
            low, high = map(np.asarray, way.answer(data, epsilon))
        widths.append(np.mean(high - low))
        covered.append(np.mean((low <= question.truth) & (question.truth <= high)))
    count = len(widths)
    return {
        "width": float(np.mean(widths)),
        "width_se": float(np.std(widths, ddof=1) / math.sqrt(count)),
        "coverage": float(np.mean(covered)),
        "replicates": count,
    }


_NOISE_1 = "`DiscreteLaplaceMechanism` of the count; `BinomialModel`"
_SYNTHETIC = "`BetaBinomialSynthesizer`; `BinomialModel`"
_MODIPS = "`ModipsSynthesizer` with `families.Bernoulli`; `BinomialModel`"
_NORMAL = "`ModipsSynthesizer` with `families.Gaussian`; `GaussianModel`"
_NOISY_SUM = "`LaplaceMechanism` of the sum; `GammaModel`"
_POSITIVE = "`ModipsSynthesizer` with `families.Gamma`; `GammaModel`"
_CHOSEN = "`QuantileSynthesizer`; `QuantileModel`"

WAYS = (
    Way("proportion", "discrete_laplace", _NOISE_1, to.noisy_count(1)),
    Way("proportion", "discrete_laplace, 5 copies", _NOISE_1, to.noisy_count(5)),
    Way(
        "proportion",
        "discrete_gaussian",
        "`DiscreteGaussianMechanism` of the count; `BinomialModel`",
        lambda x, e: to.proportion(bdp.publish(to.gaussian(1, e), int(x.sum()), delta=DELTA)),
        delta=True,
    ),
    Way("proportion", "modips_sbs", _MODIPS, to.bernoulli_modips(1)),
    Way("proportion", "modips_sbs, 5 copies", _MODIPS, to.bernoulli_modips(5)),
    Way(
        "proportion",
        "modips_sbs, 5 copies combined",
        "`ModipsSynthesizer`; `combine`",
        to.combined_proportion,
    ),
    Way("proportion", "beta_binomial", _SYNTHETIC, to.beta_binomial(1)),
    Way("proportion", "beta_binomial, 5 copies", _SYNTHETIC, to.beta_binomial(5)),
    Way(
        "proportion",
        "conjugate, synthetic_one",
        "`ConjugateMechanism`; `BinomialModel`",
        to.conjugate,
        delta=True,
    ),
    Way(
        "proportion",
        "randomized_response",
        "`RandomizedResponseMechanism`; `MultinomialModel`",
        to.answers,
    ),
    Way(
        "areas",
        "discrete_laplace",
        "`DiscreteLaplaceMechanism` of the vector; `PoissonModel`",
        to.area_noise("laplace"),
        100,
    ),
    Way(
        "areas",
        "discrete_gaussian",
        "`DiscreteGaussianMechanism` of the vector; `PoissonModel`",
        to.area_noise("gaussian"),
        100,
        delta=True,
    ),
    Way(
        "areas", "poisson_gamma", "`PoissonGammaSynthesizer`; `PoissonModel`", to.area_copies(1), 40
    ),
    Way(
        "areas",
        "poisson_gamma, 5 copies",
        "`PoissonGammaSynthesizer`; `PoissonModel`",
        to.area_copies(5),
        40,
    ),
    Way(
        "categories",
        "perturbed_histogram",
        "`PerturbedHistogramSynthesizer`; `MultinomialModel`",
        to.cells,
    ),
    Way(
        "categories",
        "discrete_laplace",
        "`DiscreteLaplaceMechanism` of the vector; `MultinomialModel`",
        to.table_noise("laplace"),
    ),
    Way(
        "categories",
        "discrete_gaussian",
        "`DiscreteGaussianMechanism` of the vector; `MultinomialModel`",
        to.table_noise("gaussian"),
        delta=True,
    ),
    Way(
        "categories",
        "dirichlet_multinomial",
        "`DirichletMultinomialSynthesizer`; `MultinomialModel`",
        to.table_copies(1),
    ),
    Way(
        "categories",
        "dirichlet_multinomial, 5 copies",
        "`DirichletMultinomialSynthesizer`; `MultinomialModel`",
        to.table_copies(5),
    ),
    Way(
        "categories",
        "randomized_response",
        "`RandomizedResponseMechanism`; `MultinomialModel`",
        to.table_answers,
    ),
    Way(
        "mean",
        "laplace",
        "`LaplaceMechanism` of the mean; `GaussianModel`",
        to.mean_noise("laplace"),
    ),
    Way(
        "mean",
        "gaussian",
        "`GaussianMechanism` of the mean; `GaussianModel`",
        to.mean_noise("gaussian"),
        delta=True,
    ),
    Way("mean", "modips_sbs", _NORMAL, to.normal_modips(1)),
    Way("mean", "modips_sbs, 5 copies", _NORMAL, to.normal_modips(5)),
    Way(
        "mean",
        "modips_sbs, 5 copies combined",
        "`ModipsSynthesizer`; `combine`",
        to.combined_mean,
    ),
    Way(
        "mean",
        "censored_beta, 5 copies combined",
        "`CensoredBetaSynthesizer`; `combine`",
        to.censored_mean,
        20,
    ),
    Way("duration", "laplace", _NOISY_SUM, to.duration_noise("laplace", to.TIGHT)),
    Way("duration", "laplace, bounds to 200", _NOISY_SUM, to.duration_noise("laplace", to.WIDE)),
    Way(
        "duration",
        "gaussian",
        "`GaussianMechanism` of the sum; `GammaModel`",
        to.duration_noise("gaussian", to.TIGHT),
        delta=True,
    ),
    Way("duration", "modips_sbs", _POSITIVE, lambda x, e: to.duration(to.duration_copies(x, e, 1))),
    Way(
        "duration",
        "modips_sbs, 5 copies",
        _POSITIVE,
        lambda x, e: to.duration(to.duration_copies(x, e, 5)),
    ),
    Way(
        "duration",
        "modips_sbs, 5 copies combined",
        "`ModipsSynthesizer`; `combine`",
        lambda x, e: to.combined(to.duration_copies(x, e, 5).to_frames()),
    ),
    Way(
        "median",
        "perturbed_histogram",
        "`PerturbedHistogramSynthesizer`; `MultinomialModel`, its cells added up",
        to.median_cells,
        100,
    ),
    Way(
        "median",
        "discrete_gaussian",
        "`DiscreteGaussianMechanism` of the cells; `MultinomialModel`, added up",
        to.median_gaussian,
        100,
        delta=True,
    ),
    Way(
        "median",
        "noisy_table",
        "`TableSynthesizer`; `TableModel`, `posterior.estimate`",
        to.median_table,
        100,
    ),
    Way(
        "median", "quantiles, at 0.4, 0.5 and 0.6", _CHOSEN, to.median_quantiles(0.4, 0.5, 0.6), 40
    ),
    Way(
        "median",
        "quantiles, of 100 blocks",
        "`SubsampleAggregateSynthesizer`; `QuantileModel`",
        to.median_blocks,
        20,
    ),
    Way(
        "median",
        "propose_test_release",
        "`ProposeTestReleaseSynthesizer`; `QuantileModel`",
        to.median_tested,
        20,
        delta=True,
    ),
    Way(
        "regression",
        "noisy_moments",
        "`NoisyMomentsSynthesizer`; `LinearRegressionModel`",
        to.moments("laplace"),
        100,
    ),
    Way(
        "regression",
        "noisy_moments, Gaussian",
        "`NoisyMomentsSynthesizer`; `LinearRegressionModel`",
        to.moments("gaussian"),
        100,
        delta=True,
    ),
    Way(
        "regression",
        "noisy_table",
        "`TableSynthesizer`; `TableModel`, `posterior.regression`",
        to.whole,
        40,
    ),
    Way(
        "regression",
        "perturbed_coefficients",
        "`PerturbedCoefficientsSynthesizer`; `LinearRegressionModel`",
        to.coefficients,
        100,
        delta=True,
    ),
    Way(
        "regression",
        "modips_sequential, 5 copies combined",
        "`SequentialModipsSynthesizer`; `combine`",
        to.combined_slopes,
        100,
    ),
    Way(
        "logistic",
        "noisy_marginals",
        "`LogLinearSynthesizer`; `LogisticRegressionModel`",
        to.logistic_marginals,
        40,
    ),
    Way(
        "logistic",
        "noisy_table",
        "`TableSynthesizer`; `TableModel`, `posterior.regression`",
        to.logistic_whole,
        40,
    ),
    Way(
        "logistic",
        "perturbed_histogram",
        "`PerturbedHistogramSynthesizer`; `LogisticRegressionModel`",
        to.logistic_cells,
        40,
    ),
    Way(
        "logistic",
        "dirichlet_multinomial",
        "`DirichletMultinomialSynthesizer`; `LogisticRegressionModel`",
        to.logistic_copies,
        40,
    ),
    Way(
        "logistic",
        "randomized_response",
        "`RandomizedResponseMechanism`; `LogisticRegressionModel`",
        to.logistic_answers,
        40,
    ),
    *(
        Way("density", kind, f"`{synthesizer}`; `ERGMModel`", to.graph(kind), 20)
        for kind, synthesizer in (
            ("noisy_statistics", "NoisyStatisticsSynthesizer"),
            ("noisy_degrees", "NoisyDegreesSynthesizer"),
            ("edge_flip", "EdgeFlipSynthesizer"),
        )
    ),
)


def results_of(question: str, mechanism: str = "") -> Iterator[dict[str, Any]]:
    """A row for each way and epsilon, and one without privacy; or one mechanism's rows."""
    bare = QUESTIONS[question].bare
    if bare is not None and not mechanism:
        way = Way(question, "without privacy", "", lambda data, _: bare(data))
        yield {"mechanism": way.mechanism, "epsilon": None, **measured(way, None)}
    for way in WAYS:
        if way.question == question and mechanism in ("", way.mechanism):
            for epsilon in EPSILONS:
                yield {"mechanism": way.mechanism, "epsilon": epsilon, **measured(way, epsilon)}


def table(question: str, stored: dict[str, list[dict[str, Any]]]) -> str:
    """The page's table: width and, in brackets, percent of intervals that cover."""
    rows = {(row["mechanism"], row["epsilon"]): row for row in stored[question]}
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    lines = [
        f"| mechanism | {heads} | replicates | write |",
        f"|---|{'---|' * len(EPSILONS)}---|---|",
    ]
    for way in WAYS:
        if way.question == question:
            cells = [rows[way.mechanism, epsilon] for epsilon in EPSILONS]
            shown = " | ".join(_cell(cell) for cell in cells)
            name, comma, more = way.mechanism.partition(",")
            name = f"[{name}]({_page_of(name)}){comma}{more}{' †' if way.delta else ''}"
            lines.append(f"| {name} | {shown} | {cells[0]['replicates']} | {way.write} |")
    if ("without privacy", None) in rows:
        cell = rows["without privacy", None]
        shown = " | ".join([_cell(cell)] * len(EPSILONS))
        lines.append(f"| *without privacy* | {shown} | {cell['replicates']} | |")
    return "\n".join(lines)


def _cell(row: dict[str, Any]) -> str:
    return f"{row['width']:.3g} ({100 * row['coverage']:.0f}%)"


def _page_of(name: str) -> str:
    for page in sorted((ROOT / "notebooks" / "mechanisms").glob("*.md")):
        if f"{{ #{name} }}" in page.read_text(encoding="utf-8"):
            return f"mechanisms/{page.name}#{name}"
    raise LookupError(name)


def copies(stored: dict[str, list[dict[str, Any]]]) -> str:
    """The page's table of five copies against one, as ratios of widths."""
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in EPSILONS)
    lines = [f"| question | mechanism | {heads} |", f"|---|---|{'---|' * len(EPSILONS)}"]
    for way in WAYS:
        name, five, _ = way.mechanism.partition(", 5 copies")
        rows = {(row["mechanism"], row["epsilon"]): row for row in stored[way.question]}
        if not five or (name, EPSILONS[0]) not in rows or way.mechanism != name + five:
            continue
        ratios = [
            rows[way.mechanism, epsilon]["width"] / rows[name, epsilon]["width"]
            for epsilon in EPSILONS
        ]
        shown = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        lines.append(f"| [{TITLES[way.question]}](#{way.question}) | {name} | {shown} |")
    return "\n".join(lines)


TITLES = {
    "proportion": "a proportion",
    "areas": "counts by area",
    "categories": "a table of categories",
    "mean": "a mean",
    "duration": "a mean duration",
}


def tables(stored: dict[str, list[dict[str, Any]]]) -> dict[str, str]:
    """All tables of the page, by their names there."""
    return {question: table(question, stored) for question in QUESTIONS} | {
        "copies": copies(stored)
    }


def write_page(stored: dict[str, list[dict[str, Any]]]) -> None:
    """Put the tables where the page has them."""
    text = PAGE.read_text(encoding="utf-8")
    for name, rows in tables(stored).items():
        start = f"<!-- table: {name} -->\n"
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{rows}\n\n<!-- end -->{rest.partition('<!-- end -->')[2]}"
    PAGE.write_text(text, encoding="utf-8")


def choosing(names: list[str]) -> None:
    """Simulate, keep what came out, and write the page's tables."""
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for name in names or QUESTIONS:
        question, _, mechanism = name.partition(":")
        found = list(results_of(question, mechanism))
        if not found:
            raise SystemExit(f"no way to answer {question} is called {mechanism}")
        kept = stored.get(question, []) if mechanism else []
        stored[question] = [row for row in kept if row["mechanism"] != mechanism] + found
        STORED.write_text(json.dumps(stored, indent=1) + "\n")
        print(f"\n{question}\n{table(question, stored)}", flush=True)
    write_page(stored)


if __name__ == "__main__":
    choosing(sys.argv[1:])
