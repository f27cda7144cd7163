r"""The log-linear model: a contingency table's cells from noisy cells or noisy marginals.

    log rate of cell c = intercept + its effect in every term of the formula,
    counts x_c ~ Poisson(rate_c), or Multinomial(n, rates / their sum) where n is known,
    released z | x ~ mechanism.

Only z is seen. A term's effects, one for each combination of categories, sum to zero over its
columns and have prior Normal(0, tau^2) (`bayesdp.inference.log_linear.design`), with tau given, or
tau ~ HalfNormal(scale) of its own. Each cell may have an effect of its own beside these, which
takes up what a short formula leaves out (Skinner and Holmes 1998). Several overlapping marginals
are of one latent table, so they share one posterior. See `bayesdp.kernels.log_linear.chain` for how
it is sampled.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.checks import check_at_least_one, check_flag, is_number, plain
from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Option, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.evidence_ways import Answer
from bayesdp.inference.fitted import check_fitted
from bayesdp.inference.log_linear import fit as fits
from bayesdp.inference.log_linear.design import INTERCEPT, cell_labels
from bayesdp.inference.log_linear.formula import terms_of
from bayesdp.inference.log_linear.programs import data_of, new_tables
from bayesdp.inference.log_linear.release import is_of_table, noises_of_table
from bayesdp.inference.predictive_statistics import Statistic
from bayesdp.inference.several import Releases, parts_of
from bayesdp.inference.sizes import kept_sizes
from bayesdp.release import Part, Release
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm
    import xarray as xr

_CAREFUL = 0.95
"""Mean acceptance that NUTS aims at where a tau is unknown, which makes funnels."""


@dataclass(frozen=True)
class LogLinearModel(Model):
    """Inference about a contingency table by a log-linear model.

    Parameters
    ----------
    formula : str
        Terms in Wilkinson's notation: "age + sex + age:sex", "age*sex", "(age + sex + job)^2", or
        "(.)^2" for all columns. Each column has its own term, and an interaction those within it.
    prior : float or mapping of str to float, optional
        Standard deviation tau of a term's effects, for all terms or by term, ``{"age:sex": 0.5}``.
        A term without one has its own tau ~ HalfNormal(scale), so that terms which the release
        doesn't need shrink.
    scale : float
        Scale of the half-normal priors.
    intercept : tuple of two floats
        Mean and standard deviation of the normal prior of the intercept, the mean log rate of the
        cells, where the number of records is Poisson.
    n : int, range or array_like of float, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k]. Without, counts are Poisson.
    categories : mapping of str to sequence, optional
        The columns' categories where the release doesn't say them, in the order of its cells, the
        last column moving fastest.
    zeros : array of bool, optional
        Structural zeros where the release doesn't say them: True where no record can be.
    cell_effects : bool or float
        Whether each cell has an effect of its own beside the formula's, Normal(0, tau^2): with
        True, tau ~ HalfNormal(scale); a number is tau. With main effects alone, that is the model
        of Skinner and Holmes (1998), which interactions that are left out mislead less. It has a
        coordinate more for each cell. Of 30 tables of 2,000 records in 24 cells, with interactions
        of sd 0.4, released at epsilon = 1, 95% intervals by main effects covered 30% of the cells'
        probabilities, and 94% with the cells' effects.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or the formula isn't valid.

    Notes
    -----
    The posterior variables are "beta", the effects of all combinations of categories without each
    column's last, with the dimension "term" ("sex[f]:job[clerk]", a cell's own
    "1|cell[f, clerk]", and "Intercept" where counts are Poisson); "tau" with the dimension "scale"
    (terms as in the formula, and "1|cell") where not all are given; and "probability" with the
    dimension "cell". A last category's effect is minus the sum of the others'.

    The model reads noisy marginals or cells of one table, without groups. The "hmc" engine sums the
    latent counts out, where each cell has noise of its own and the number of records is Poisson;
    and so do "pymc" and "stan", by NUTS (which aims at a mean acceptance of 0.95 where there is a
    tau, if it is told no other); "gibbs" samples the latent table. `fit` has two options:
    `thin`, the number of iterations for each draw, by default 2 ("stan": 1; not "pymc"); and
    `cells`, whether to keep "probability", by default if there are at most 4,096 cells. A fit warns
    of a term whose columns are in no released marginal together, as its posterior is hardly
    narrower than its prior.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> columns = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    >>> made = bdp.synthesizers.LogLinearSynthesizer(
    ...     2.0, marginals=[("a", "b"), ("b", "c")], categories=columns
    ... )
    >>> release = made.release(counts=[10, 2, 3, 5, 1, 8, 2, 9])
    >>> idata = bdp.models.LogLinearModel("a*b + b*c").fit(release, draws=200, seed=1)
    >>> idata.posterior["beta"].dims
    ('chain', 'draw', 'term')
    """

    formula: str
    prior: float | Mapping[str, float] | None = field(default=None, compare=False)
    scale: float = 1.0
    intercept: tuple[float, float] = (0.0, 10.0)
    n: Any = None
    categories: Mapping[str, Sequence[Any]] | None = field(default=None, compare=False)
    zeros: Any = field(default=None, compare=False)
    cell_effects: bool | float = False

    family: ClassVar[str] = "log_linear"
    engines: ClassVar[tuple[str, ...]] = ("hmc", "gibbs", "pymc", "stan")
    takes_groups: ClassVar[bool] = False
    usual: ClassVar[tuple[int, int]] = (1000, 1000)
    options: ClassVar[Mapping[str, Option]] = {
        "thin": (None, check_at_least_one),
        "cells": (None, lambda name, given: given if given is None else check_flag(name, given)),
    }
    naive_options: ClassVar[Mapping[str, Option]] = options
    naive_reason: ClassVar[str] = "naive: treats the noisy counts as real"
    derived: ClassVar[frozenset[str]] = frozenset({"probability"})
    likelihood_dim: ClassVar[str | None] = "cell"
    variables: ClassVar[tuple[str, ...]] = ("beta", "tau", "probability")

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return is_of_table(mechanism)

    def __post_init__(self) -> None:
        plain(self)
        terms_of(self.formula)
        given = self.prior
        if isinstance(given, Mapping):
            for name, sd in given.items():
                if not isinstance(name, str):
                    raise InvalidInput(
                        f"prior has the name {quoted(name)}; terms are named as in the formula, "
                        'as {"age:sex": 0.5}'
                    )
                _check_positive(f"prior[{quoted(name)}]", sd)
        elif given is not None:
            _check_positive("prior", given)
        _check_positive("scale", self.scale)
        tau = self.cell_effects
        if not isinstance(tau, bool) and not (is_number(tau) and 0 < tau < math.inf):
            raise InvalidInput(
                f"cell_effects is {quoted(tau)}; it must be positive and finite, as the effects' "
                "standard deviation, or True or False"
            )
        pair = self.intercept
        good = isinstance(pair, Sequence | np.ndarray) and len(pair) == 2
        if not good or not is_number(pair[0]) or not math.isfinite(pair[0]):
            raise InvalidInput(
                f"intercept is {quoted(pair)}; it must be a normal prior's mean and sd, as (0, 10)"
            )
        _check_positive("intercept[1]", pair[1])
        object.__setattr__(self, "n", kept_sizes(self.n))

    def read(self, release: Releases) -> fits.Setting:
        """Read the noisy table, and the design of the terms."""
        return fits.setting_of(self, release)

    def chosen(self, engine: str, read: fits.Setting) -> tuple[str, str]:
        """Choose the engine, and say why."""
        return fits.chosen(engine, read)

    def sample(self, run: Run) -> Draws:
        """Run chains over the effects, and the latent table where it doesn't sum out."""
        from bayesdp.engines.log_linear.chains import doubted, sample

        setting: fits.Setting = run.read
        if setting.unseen:
            warn_about(
                f"the released marginals tell hardly anything of {', '.join(setting.unseen)}, "
                "whose columns are in none of them together: their posterior is nearly their "
                "prior. Leave them out of the model, or release such a marginal",
                "unmeasured",
                stacklevel=3,
            )
        thin = fits.check_thin(run.engine, run.options["thin"])
        if run.engine in ("pymc", "stan"):
            run = dataclasses.replace(run, settings={**run.settings, **thin})
            drawn = super().sample(run.carefully(_CAREFUL) if setting.scaled else run)
            return doubted(drawn, setting.problem, run.seed)
        options = {**run.chained, **thin, "progress": run.progress}
        return self._named(run, sample(setting.problem, summed=run.engine == "hmc", **options))

    def kept(self, run: Run) -> Sequence[str]:
        """Names of the programs' parameters that this fit draws, with the coordinates "u"."""
        setting: fits.Setting = run.read
        cells = fits.keeps_cells(setting, run.options["cells"], run.chains * run.draws)
        without = {"tau"} if not setting.scaled else set()
        without |= set() if cells else {"probability"}
        return [*(name for name in self.variables if name not in without), "u"]

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, the latent counts summed out.

        Raises
        ------
        InvalidInput
            If the counts don't sum out one by one, as where their total is known, or several
            marginals were released.
        """
        from bayesdp.engines.pymc.log_linear import log_linear

        setting = self.read(release)
        data = data_of(setting)
        terms = [INTERCEPT, *setting.design.labels]
        cells = cell_labels(setting.noisy.axes, setting.noisy.possible)
        return log_linear(data, terms, setting.scaled, cells)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `log_linear`, the latent counts summed out.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        setting = self.read(release)
        data = data_of(setting)
        cells = np.arange(data["C"])
        return {**data, **new_tables(parts_of(release), setting.noisy.released, cells)}

    def read_naive(self, release: Release) -> fits.Setting:
        """Read the rounded average over copies as the true table, and its sum as n.

        Raises
        ------
        InvalidInput
            If a count is below 0 or in a structural zero, and so can't be mistaken for real, or if
            overlapping marginals were released, which don't make a table.
        """
        setting = fits.setting_of(self, release)
        return fits.known_table(setting, fits.naive_counts(setting.noisy))

    def naive(self, run: Run) -> Draws:
        """Run chains over the effects, given a table that is treated as true."""
        from bayesdp.engines.log_linear.chains import sample

        setting: fits.Setting = run.read
        known = fits.naive_counts(setting.noisy)
        options = {**run.chained, **fits.check_thin(run.engine, run.options["thin"])}
        return self._named(run, sample(setting.problem, summed=False, known=known, **options))

    def _named(self, run: Run, drawn: Draws) -> Draws:
        return fits.named(drawn, run.read, cells=run.options["cells"])

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The formula and the priors."""
        prior = dict(self.prior) if isinstance(self.prior, Mapping) else self.prior
        return {
            "formula": self.formula,
            "prior": json.dumps(prior),
            "scale": json.dumps(self.scale),
            "cell_effects": json.dumps(self.cell_effects),
            "intercept": json.dumps(list(self.intercept)),
        }

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: effects by terms, their scales, and the table's cells."""
        return fits.labels(drawn, run.read)

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`, by a bridge over the effects.

        Raises
        ------
        InvalidInput
            If the latent table doesn't sum out.
        """
        from bayesdp.inference.log_linear.evidence import log_linear

        return log_linear(self, release, **options)

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the terms' scales and effects from their priors, and n where it has one."""
        setting: fits.Setting = run.read
        problem = setting.problem
        tau = np.abs(rng.normal(0.0, problem.scales, (run.draws, problem.scales.size)))
        own = np.append(tau, np.ones((run.draws, 1)), axis=1)[:, problem.owners]
        sd = np.where(problem.owners >= 0, own, problem.sd)
        u = problem.mean + sd * rng.standard_normal(sd.shape)
        drawn = {"u": u, "tau": tau, **problem.sizes_from_prior(run.draws, rng)}
        each = {name: values[None] for name, values in drawn.items()}
        made = self._named(run, Draws(each, {}, "prior", {}))
        return {name: values[0] for name, values in made.posterior.items()}

    def pointwise(self, parts: Sequence[Part], values: Mapping[str, Any]) -> Any:
        """Compute the log law of each cell's outputs, or of all; see `log_linear.pointwise`.

        Shape (draws, cells), or, where the number of records has a law and ties them, (draws,).

        Raises
        ------
        InvalidInput
            If the latent table doesn't sum out, as where the released counts overlap.
        """
        from bayesdp.inference.log_linear.pointwise import pointwise

        return pointwise(fits.setting_of_parts(self, parts), parts, values["beta"])

    def predicted(self, release: Release, part: Part) -> Statistic:
        """Return a function that draws a new table, or its marginals, given the parameters."""
        from bayesdp.inference.log_linear.predictive import table

        return partial(table, fits.setting_of(self, release), part)

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        setting: fits.Setting = self.read(release) if read is None else read
        return noises_of_table(release, setting.problem, setting.noisy)

    def marginal(
        self, idata: az.InferenceData, release: Release, columns: Sequence[str]
    ) -> xr.DataArray:
        """Compute the posterior of a marginal's probabilities, for odds ratios and the like.

        Parameters
        ----------
        idata : arviz.InferenceData
            The result of `fit`, with "probability".
        release : Release
            The fitted release, or one of several.
        columns : sequence of str
            The marginal's columns, in the order of the result's dimensions.

        Returns
        -------
        xarray.DataArray
            Dimensions chain, draw and the columns, with their categories.

        Raises
        ------
        InvalidInput
            If `idata` isn't this model's posterior given this release, or has no "probability",
            or the table no such column.
        """
        check_fitted(self, idata, release)
        return fits.marginal(idata, fits.setting_of(self, release), columns)


def _check_positive(name: str, value: Any) -> None:
    if not is_number(value) or not 0 < value < math.inf:
        raise InvalidInput(
            f"{name} is {quoted(value)}; it must be positive and finite, as noisy counts can fit "
            "an infinite effect"
        )
