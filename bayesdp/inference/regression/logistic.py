r"""Logistic regression on predictors of finitely many values, from a noisy or randomised release.

    log odds of the response = beta_0 + (design of the predictors) . beta,
    released z | the records ~ mechanism.

Only z is seen: a table of counts, response by predictors, or each record's answer. The true data
are summed out exactly where that is possible, and otherwise sampled with the coefficients
(`bayesdp.inference.regression.logistic_release`). A logistic regression is a log-linear model in
which the frequency of each combination of predictors has a parameter of its own, and the engine is
that model's (`bayesdp.kernels.log_linear.chain`). Those parameters' prior doesn't depend on beta,
so that beta's prior is as declared and, were the records known, the predictors' frequencies would
carry no information about beta, as they should.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.checks import check_at_least_one, is_number, plain
from bayesdp.engines.draws import Draws
from bayesdp.engines.log_linear.chains import doubted
from bayesdp.engines.stan.replicates import replicates
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Option, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.log_linear.fit import check_thin
from bayesdp.inference.log_linear.programs import new_tables
from bayesdp.inference.log_linear.release import noises_of_table
from bayesdp.inference.predictive_statistics import Rng, Statistic, Theta
from bayesdp.inference.regression.logistic_answers import chances_at, public_records
from bayesdp.inference.regression.logistic_design import split
from bayesdp.inference.regression.logistic_fit import chosen, naive_setting, obstacle, sampled
from bayesdp.inference.regression.logistic_problem import Setting, prior_of
from bayesdp.inference.regression.logistic_programs import data_of
from bayesdp.inference.regression.logistic_release import is_of_binary, setting_of
from bayesdp.inference.several import Releases, parts_of
from bayesdp.inference.sizes import kept_sizes
from bayesdp.release import Part, Release

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class LogisticRegressionModel(Model):
    """Inference about a logistic regression from a private release of a table or of answers.

    Parameters
    ----------
    formula : str
        The response, of two categories, and the predictors in Wilkinson's notation:
        "smokes ~ age + sex", "smokes ~ age*sex", "smokes ~ ." for all columns, "smokes ~ 1" for
        none. Columns whose categories are all numbers enter as numbers; others, and intervals,
        enter by an indicator of each category except the first.
    prior : tuple (mean, sd)
        Mean and sd of the normal priors of the intercept and the coefficients, where numeric
        columns are rescaled to [-1, 1] by their smallest and largest value: one number for all, or
        one for each.
    success : optional
        The category of the response that counts as 1. Default: its last.
    factors : sequence of str
        Columns of numbers to be treated as labels.
    spread : float
        Where predictors are confidential: sd of the normal prior of the log frequencies of their
        combinations, around a common number.
    rate : tuple of two floats
        Mean and sd of the normal prior of that number, the log expected number of records of a
        combination, where n isn't known.
    n : int, range or array_like of float, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k]. Without, counts are Poisson.
    categories : mapping of str to sequence, optional
        The columns' categories where the release doesn't say them, in the order of its cells, the
        last column moving fastest.
    zeros : array of bool, optional
        Structural zeros where the release doesn't say them: True where no record can be.
    data : DataFrame or mapping of str to array_like, optional
        Public predictors, with any values: the release is then of each record's response, by
        randomized response, in the same order.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or the formula isn't valid.

    Notes
    -----
    The posterior variables are "beta", with the dimension "coefficient" ("intercept", "age",
    "sex[f]", "age:sex[f]") and in the columns' own units, and "n" where it has a prior. The model
    reads a table's counts or records' answers, without groups, with any number of copies; several
    releases must be of the counts of one table. The "hmc" engine sums the true data out: always for
    answers, and for a table where each cell has noise of its own and the number of records is
    Poisson; so do "pymc" and "stan", by NUTS; "gibbs" samples the latent table. `fit` has the
    option `thin`, the number of iterations for each draw, by default 2 ("stan": 1; not "pymc").

    Examples
    --------
    >>> import bayesdp as bdp
    >>> columns = {"age": [30, 50, 70], "ill": ["no", "yes"]}
    >>> made = bdp.synthesizers.DirichletMultinomialSynthesizer(2.0, categories=columns)
    >>> release = made.release(counts=[90, 10, 80, 20, 60, 40])
    >>> idata = bdp.LogisticRegressionModel("ill ~ age").fit(release, draws=500, seed=1)
    >>> idata.posterior["coefficient"].to_numpy().tolist()
    ['intercept', 'age']
    """

    formula: str
    prior: tuple[Any, Any] = (0.0, 2.5)
    success: Any = None
    factors: Sequence[str] = ()
    spread: float = 1.0
    rate: tuple[float, float] = (0.0, 10.0)
    n: Any = None
    categories: Mapping[str, Sequence[Any]] | None = field(default=None, compare=False)
    zeros: Any = field(default=None, compare=False)
    data: Any = field(default=None, compare=False)

    family: ClassVar[str] = "logistic_regression"
    engines: ClassVar[tuple[str, ...]] = ("hmc", "gibbs", "pymc", "stan")
    takes_groups: ClassVar[bool] = False
    usual: ClassVar[tuple[int, int]] = (1000, 1000)
    options: ClassVar[Mapping[str, Option]] = {"thin": (None, check_at_least_one)}
    naive_options: ClassVar[Mapping[str, Option]] = options
    naive_reason: ClassVar[str] = "naive: treats the released data as true"
    variables: ClassVar[tuple[str, ...]] = ("beta",)
    told: ClassVar[tuple[str, ...]] = ("formula", "prior", "spread", "rate")
    likelihood_dim: ClassVar[str | None] = "record"
    no_evidence: ClassVar[str] = (
        "there is no bridge over its latent tables here; where a table was released with noise, "
        "compare log-linear models of it, which hold the same regressions"
    )
    """Why it has no log evidence here, and the way out."""

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return is_of_binary(mechanism)

    def read(self, release: Releases) -> Setting:
        """Read the latent table, or answers, and the design of the predictors."""
        return setting_of(self, release)

    def chosen(self, engine: str, read: Setting) -> tuple[str, str]:
        """Choose the engine, and say why."""
        return chosen(engine, read)

    def sample(self, run: Run) -> Draws:
        """Run chains over the coefficients, and the latent table where it doesn't sum out."""
        thin = check_thin(run.engine, run.options["thin"])
        if run.engine in ("pymc", "stan"):
            drawn = super().sample(dataclasses.replace(run, settings={**run.settings, **thin}))
            return doubted(drawn, run.read.problem, run.seed)
        options = {**run.chained, **thin, "progress": run.progress}
        return sampled(run.read, summed=run.engine == "hmc", **options)

    def kept(self, run: Run) -> Sequence[str]:
        """Names of the programs' parameters that a fit draws, with the coordinates "u"."""
        return [*self.variables, "u"]

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw coefficients from their priors, and n where it has one."""
        design, problem = run.read.design, run.read.problem
        u = rng.normal(*prior_of(self, design), size=(run.draws, len(design.labels)))
        return {"beta": u @ design.shown.T, **problem.sizes_from_prior(run.draws, rng)}

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Any]) -> Any:
        """Compute the log law of each record's answers at draws of beta, shape (draws, records).

        Raises
        ------
        InvalidInput
            If the release isn't of answers of records whose predictors are public.
        """
        setting, view = public_records(self, parts[0])
        answers = np.array(parts[0].outputs, dtype=np.int64)
        laws = view.matrix[:, answers].prod(axis=1).T  # of a record's answers, one a category
        with np.errstate(divide="ignore"):
            return np.log((chances_at(setting, values["beta"]) * laws).sum(axis=-1))

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws new responses of records with public predictors.

        Raises
        ------
        InvalidInput
            As for `pointwise`.
        """
        setting, _ = public_records(self, part)

        def responses(theta: Theta, rng: Rng) -> Any:
            chances = chances_at(setting, np.asarray(theta["beta"])[None])[0]
            return (rng.random(len(chances)) < chances[:, 1]).astype(np.int64)

        return responses

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the latent table or the records' true answers summed out.

        Raises
        ------
        InvalidInput
            If the table doesn't sum out cell by cell, as where its total is known, or synthetic
            tables or coefficients were released.
        """
        from bayesdp.engines.pymc.log_linear import logistic_regression

        setting = self.read(release)
        data = data_of(self, setting, obstacle(setting))
        return logistic_regression(data, setting.design.labels)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `logistic_regression`, which `pymc_model` is too.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        setting = self.read(release)
        data = data_of(self, setting, obstacle(setting))
        if setting.noisy is None:
            return {**data, **replicates(())}
        groups, cells = parts_of(release), setting.problem.pairs.ravel()
        return {**data, **new_tables(groups, setting.problem.released, cells)}

    def read_naive(self, release: Release) -> tuple[Setting, Any]:
        """Read the outputs as if they were true.

        Answers, and synthetic tables, are pooled over copies, each as records of its own; for noisy
        cells the rounded average over copies is the table.

        Raises
        ------
        InvalidInput
            As for `read`; or if a count is below 0, and so can't be mistaken for real, or if
            overlapping marginals were released, which don't make a table.
        """
        return naive_setting(self, release)

    def naive(self, run: Run) -> Draws:
        """Run chains over the coefficients alone."""
        setting, table = run.read
        options = {**run.chained, **check_thin(run.engine, run.options["thin"])}
        return sampled(setting, summed=table is None, known=table, **options)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        setting: Setting = self.read(release) if read is None else read
        return noises_of_table(release, setting.problem, setting.noisy)

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimension: one coefficient for each column of the design."""
        setting = run.read if isinstance(run.read, Setting) else run.read[0]
        return {
            "coords": {"coefficient": list(setting.design.labels)},
            "dims": {name: [] for name in drawn.posterior if name != "beta"},
        }

    def __post_init__(self) -> None:
        plain(self)
        split(self.formula)
        object.__setattr__(self, "prior", _check_prior(self.prior))
        pair = self.rate
        good = isinstance(pair, Sequence | np.ndarray) and len(pair) == 2
        if not good or not all(map(_is_finite, pair)) or pair[1] <= 0:
            raise InvalidInput(
                f"rate is {quoted(pair)}; it must be a normal prior's mean and sd, as (0, 10)"
            )
        if not _is_finite(self.spread) or self.spread <= 0:
            raise InvalidInput(f"spread is {quoted(self.spread)}; it must be positive and finite")
        names = self.factors
        listed = np.iterable(names) and not isinstance(names, str)
        if not listed or not all(isinstance(name, str) for name in names):
            raise InvalidInput(
                f"factors is {quoted(names)}; it must be a sequence of columns' names"
            )
        object.__setattr__(self, "n", kept_sizes(self.n))


def _is_finite(value: Any) -> bool:
    return is_number(value) and math.isfinite(value)


def _check_prior(prior: Any) -> tuple[Any, Any]:
    """Return a prior as a pair of floats or tuples of floats, or raise InvalidInput."""
    made: list[Any] = []
    pair: list[Any] = list(prior) if isinstance(prior, Sequence) and len(prior) == 2 else []
    for each in pair:
        several = isinstance(each, Sequence | np.ndarray) and not isinstance(each, str)
        values: list[Any] = list(each) if several else [each]
        if values and all(map(_is_finite, values)):
            made.append(tuple(map(float, values)) if several else float(each))
    if len(made) < 2 or np.min(made[1]) <= 0:
        raise InvalidInput(
            f"prior is {quoted(prior)}; it must be the means and standard deviations of normal "
            "priors, as (0, 2.5), each one number for all coefficients or one for each; sds are "
            "positive and finite, since noisy counts can fit an infinite coefficient"
        )
    return made[0], made[1]
