"""Fits by Stan, one for each figure of Hu, Williams and Savitsky (2025), beside the grid's.

The supplement samples its posteriors by Stan; ours are drawn exactly on a grid. Here the first
replicate's records and weights go to both. A figure's quantity is computed of each draw's beta
distribution, not of synthetic records, so that what is left to differ is the posterior, and its
mean has a standard error: of independent draws on the grid, of a chain's by Stan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from bayesdp.engines.draws import import_arviz
from bayesdp.engines.stan import sampling as stan
from bayesdp.errors import BayesDPError, EngineFailed, MissingDependency
from bayesdp.papers.hu.comparators import FittedComparator, HuComparators
from bayesdp.papers.hu.figures import PLANS, Plan
from bayesdp.papers.hu.study import DOWNSCALED, Floats, at_replicate
from bayesdp.papers.hu.tables import APART
from bayesdp.papers.hu.weights import BetaPrior
from bayesdp.papers.journal import Progress
from bayesdp.papers.reproduction import Table, Value

FITS: dict[int, tuple[str, float, float]] = {
    1: ("Unweighted", 5.0, 1.0),
    2: ("Weighted", 5.0, 1.0),
    3: ("Weighted-e", 5.0, 1.0),
    4: ("Censor_w", 4.0, 1.0),
    5: ("Censor_uw", 4.0, 1.0),
    6: ("Censor_w", 3.0, 1.0),
    7: ("Weighted", *DOWNSCALED),
    8: ("Weighted-e", *DOWNSCALED),
    9: ("Censor_w", *DOWNSCALED),
    10: ("Censor_w", 4.0, 1.0),
}
"""Of each figure: the synthesizer, epsilon and the factor whose posterior Stan samples."""
CHAINS, DRAWS, WARMUP = 4, 1000, 500
LEVELS = {"q15": 0.15, "median": 0.5, "q90": 0.9}
_UNCLIPPED = 1e9  # beyond every log density of a float in (0, 1), lambda up to 1000
_FAR = 4.0  # standard errors: fewer than one such row in 1,000 tables of ten


@dataclass(frozen=True, slots=True)
class Compared:
    """A figure's quantity, averaged over one posterior's draws by the grid and by Stan."""

    plan: Plan
    grid: tuple[float, float]
    stan: tuple[float, float]
    rhat: float

    @property
    def apart(self) -> float:
        """Difference of grid and Stan in standard errors."""
        return (self.stan[0] - self.grid[0]) / float(np.hypot(self.stan[1], self.grid[1]))


def stan_table(seed: int, records: int, tell: Progress = lambda what, done: None) -> Table:
    """A fit by Stan for each figure, or, where Stan isn't there or fails, a note that says so."""
    rows: list[tuple[Value, ...]] = []
    note = (
        f"{CHAINS} chains of {DRAWS} draws by stan/censored_beta.stan, and 1000 independent draws "
        "on the grid, of the posterior given the first replicate's records and weights. The "
        "quantity is that of the beta distribution of each draw (figure 1: the largest "
        "|weighted log density| of a record at the draw), averaged over the draws; s.e. is the "
        "mean's standard error, or that of the difference."
    )
    try:
        stan.compile_program("censored_beta")
        for done, plan in enumerate(PLANS):
            tell(f"Stan's fit for figure {plan.number}", done / len(PLANS))
            agreement = compared(seed, records, plan)
            name, epsilon, factor = FITS[plan.number]
            rows.append(
                (plan.number, plan.words, name, epsilon, factor, *agreement.grid, *agreement.stan,
                 agreement.apart, agreement.rhat)
            )  # fmt: skip
    except (MissingDependency, EngineFailed) as error:
        note = f"Not every figure has its fit: {_reason(error)}"
    return Table(
        name="stan",
        title="One posterior of each figure by Stan, beside the grid's",
        columns=("figure", "mean over draws of", "synthesizer", "ε", "factor", "grid",
                 "s.e. of grid", "Stan", "s.e. of Stan", APART,
                 "R-hat"),
        values=tuple(rows),
        formats=("d", "", "", "g", "g", ".5f", ".5f", ".5f", ".5f", ".1f", ".3f"),
        note=note,
    )  # fmt: skip


def stan_finding(table: Table) -> str:
    """Say what the comparison with Stan shows, in a sentence."""
    if len(table.values) < len(PLANS):
        return f"Stan: {table.note}"
    furthest = max(map(abs, table.numbers(APART)))
    verdict = "agree" if furthest < _FAR else "DISAGREE: one of the two is wrong"
    return (
        f"Stan's fits of one posterior for each figure and the grid's {verdict}: at most "
        f"{furthest:.1f} standard errors apart in {len(table.values)}, the largest R-hat "
        f"{max(table.numbers('R-hat')):.3f}."
    )


def _reason(error: BayesDPError) -> str:
    return str(error).strip().splitlines()[0]


def compared(seed: int, records: int, plan: Plan) -> Compared:
    """Fit one figure's posterior by the grid and by Stan."""
    name, epsilon, factor = FITS[plan.number]
    with at_replicate(seed, 0, records) as y:
        fitted = _fit(HuComparators(y), name, epsilon, factor)
    own = int(np.random.default_rng([seed, 0, plan.number]).integers(1, 2**31 - 1))
    drawn = by_stan(y, fitted, own)
    return compare(plan, y, fitted, drawn)


def compare(plan: Plan, y: Floats, fitted: FittedComparator, drawn: Floats) -> Compared:
    """Compare the two means with standard errors; `drawn` has shape (chains, draws, 2)."""
    az = import_arviz()
    grid = quantity(plan.quantity, y, fitted, fitted.draws)
    flat = quantity(plan.quantity, y, fitted, drawn.reshape(-1, 2))
    chains = az.convert_to_dataset({"q": flat.reshape(drawn.shape[:2])})
    return Compared(
        plan,
        (float(grid.mean()), float(grid.std(ddof=1) / np.sqrt(grid.size))),
        (float(flat.mean()), float(az.mcse(chains)["q"])),
        float(az.rhat(chains)["q"]),
    )


def _fit(fits: HuComparators, name: str, epsilon: float, factor: float) -> FittedComparator:
    if name == "Unweighted":
        return fits.unweighted
    if name == "Censor_uw":
        return fits.censor_uw(epsilon)
    make = {"Weighted": fits.weighted, "Weighted-e": fits.weighted_e, "Censor_w": fits.censor_w}
    return make[name](epsilon, factor)


def by_stan(y: Floats, fitted: FittedComparator, seed: int) -> Floats:
    """Draw (phi, lambda) by Stan from a comparator's posterior, shape (chains, draws, 2)."""
    prior = BetaPrior()
    low, high = fitted.interval or (-_UNCLIPPED, _UNCLIPPED)
    plain = fitted.name == "Censor_uw"  # all weights 1, which the program has a faster way for
    data = {
        "n": y.size, "y": y,
        "weighted": int(not plain), "weight": np.empty(0) if plain else fitted.weights,
        "low": low, "high": high,
        "phi_a": prior.phi[0], "phi_b": prior.phi[1],
        "smallest": prior.lam[0], "shape": prior.lam[1], "largest": prior.largest,
        "log_densities": 0,
    }  # fmt: skip
    draws = stan.sample(
        "censored_beta", data, variables=("phi", "lambda"),
        draws=DRAWS, warmup=WARMUP, chains=CHAINS, seed=seed,
    ).posterior  # fmt: skip
    return np.stack([draws["phi"], draws["lambda"]], axis=-1)


def quantity(name: str, y: Floats, fitted: FittedComparator, draws: Floats) -> Floats:
    """Compute a figure's quantity, of the beta distribution of each draw, shape (draws,)."""
    phi, lam = draws[:, 0], draws[:, 1]
    if name == "mean":
        return phi
    a, b = lam * phi, lam * (1 - phi)
    if name == "lipschitz":
        terms = np.outer(a - 1, np.log(y)) + np.outer(b - 1, np.log1p(-y))
        terms = fitted.weights * (terms - special.betaln(a, b)[:, None])
        return np.asarray(np.abs(np.clip(terms, *(fitted.interval or (None, None)))).max(axis=1))
    law = stats.beta(a, b)
    if name in LEVELS:
        return np.asarray(law.ppf(LEVELS[name]))
    points = np.sort(y)
    steps = np.arange(points.size + 1) / points.size
    return np.array([_distance(points, steps, *each) for each in zip(a, b, strict=True)])


def _distance(points: Floats, steps: Floats, a: float, b: float) -> float:
    """Largest distance of an empirical distribution function from Beta(a, b)'s."""
    below = stats.beta.cdf(points, a, b)
    return float(max(np.max(steps[1:] - below), np.max(below - steps[:-1])))
