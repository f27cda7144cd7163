"""The censored regression synthesizer: a confidential column, given public values of others."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.checks import (
    as_float,
    check_at_least_one,
    check_even,
    check_one_of,
    check_present,
    keep,
)
from bayesdp.core.fields import declared, of_table
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.censored.weights import of_each_alone
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import check_of_records
from bayesdp.release import Release
from bayesdp.synthesis.base import Synthesizer
from bayesdp.synthesis.censor.model import check_weights
from bayesdp.synthesis.censored_base import CensoredSynthesizer
from bayesdp.synthesis.censored_regression_weights import (
    PublicRegressionWeights,
    check_fits,
    weights_of,
)
from bayesdp.synthesis.groups import check_rows
from bayesdp.synthesis.parameters import by_value

if TYPE_CHECKING:
    from bayesdp.synthesis.censored_regression_law import RegressionLaw, Rows
    from bayesdp.synthesis.posterior import PosteriorSynthesizer

Floats = NDArray[np.float64]
_ENGINES = ("pymc", "stan", "grid")
_UNIT = "units of the columns"
_RESERVED = ("intercept", "slope", "sigma", "copy", "part")


@dataclass(frozen=True, eq=False)
class CensoredRegressionSynthesizer(CensoredSynthesizer, Synthesizer):
    r"""Synthesize a confidential column from a censored posterior of its regression on others.

    Every record's weighted log density is clipped to an interval that is epsilon / copies wide
    under add/remove-one and half as wide under replace-one; each copy is one draw of the parameters
    from that posterior, and then synthetic records at public values of the predictors (Hu, Williams
    and Savitsky 2025). `bayesdp.synthesis.censor` has the proof. Without predictors, the column's
    own distribution is synthesized.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    family : {"normal", "log_normal", "gamma", "poisson", "negative_binomial", "categorical"}
        Law of the column given eta = intercept + sum over k of x_k slope_k and sigma. Normal: mean
        eta, standard deviation sigma; log-normal: of its log. The others have mean exp(eta); sigma
        is the gamma's coefficient of variation, and the negative binomial has the variance
        mu + sigma^2 mu^2. Categorical: multinomial logit, with an intercept and slopes for each
        category but the first.
    response : str, optional
        Name of the column. Default: that of `categories`, the Series' name, or "value"; needed
        where there are predictors.
    predictors : sequence of str
        Names of the columns of numbers that it is regressed on. They are confidential too.
    covariates : mapping of str to array_like, or DataFrame, optional
        Public values of every predictor, `size` of each, at which synthetic records are drawn.
        They are in the release.
    categories : mapping of str to sequence, optional
        A categorical column, and all its categories, two or more, public. Copies have these labels.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated. A record is its response, its predictors
        and its weight.
    center : float, optional
        Centre of the interval, chosen without the data; it should lie where most records' log
        densities are. Default: 0; for counts and categories the interval ends at 0. Where it lies
        above most of them, chains hardly mix: they are refused, and paid for. Those of a normal
        column whose residuals have standard deviation s are about -1.4 - log(s).
    weights : array_like, callable or PublicRegressionWeights, optional
        Non-negative weights that multiply each record's log density before it is clipped: a vector
        with one for each record, public or a public function of its own record, or that function.
        It is called with one record at a time, an array of shape (1,), or where there are
        predictors a dict of such arrays, and returns one weight. `PublicRegressionWeights` is such
        a function of this family; a table of its parameters will do.
    engine : {"pymc", "stan", "grid"}
        NUTS, each copy from the last state of a chain of its own, so that the guarantee is
        conditional on exact draws; or an exact draw from a public grid, for at most three
        parameters, whose guarantee is proved.
    prior_intercept : tuple of two floats
        Mean and standard deviation of the intercepts' normal prior.
    prior_slope : float or sequence of float
        Standard deviation of the slopes' normal prior with mean 0, or one for each predictor. Give
        predictors, and a normal response, in public units in which they are of size 1 or so: with
        an age of 50 the prior of eta has a standard deviation of 125, and copies that are drawn
        from little more than the prior are far from all data.
    prior_sigma : float
        Scale of the half-normal prior of sigma.
    size : int
        Synthetic records in each copy, chosen without the data. It costs nothing.
    grid_bounds : mapping of str to pair of float, optional
        For engine="grid": bounds of each parameter, chosen without the data, as for
        `PosteriorSynthesizer`. A slope is called "slope_age", by its predictor.
    grid_size : int or mapping of str to int, optional
        For engine="grid": the number of cells along each parameter, as for `PosteriorSynthesizer`.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Weights fitted to the confidential records break the guarantee, as for
    `CensoredBetaSynthesizer`.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> synthesizer = bdp.synthesizers.CensoredRegressionSynthesizer(
    ...     epsilon=2.0, family="poisson", engine="grid", grid_bounds={"intercept": (-2, 4)}, size=4
    ... )
    >>> release = synthesizer.release([2, 0, 3, 1, 1])
    >>> print(release.guarantee)
    epsilon = 2 (add_remove, proved)
    """

    epsilon: float = declared(by_value(check_epsilon))
    family: str = "normal"
    response: str | None = None
    predictors: tuple[str, ...] = ()
    covariates: Mapping[str, ArrayLike] | None = None
    categories: Mapping[str, Sequence[Any]] | None = None
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    center: float | None = None
    weights: Any = dataclasses.field(default=None, repr=False)
    engine: str = "pymc"
    prior_intercept: tuple[float, float] = (0.0, 10.0)
    prior_slope: float | tuple[float, ...] = 2.5
    prior_sigma: float = 2.5
    size: int = declared(check_at_least_one, default=2000)
    grid_bounds: Mapping[str, tuple[float, float]] | None = None
    grid_size: int | Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        from bayesdp.synthesis.censored_regression_law import CATEGORICAL, FAMILIES

        check_one_of("family", self.family, tuple(FAMILIES))
        check_one_of("engine", self.engine, _ENGINES)
        check_of_records(self.neighbours)
        if (self.family == CATEGORICAL) != (self.categories is not None):
            raise InvalidInput(
                "categories go with family='categorical', and only with it; list all that can "
                "occur, without looking at the data"
            )
        _ = self._axis, self._chains.interval
        self._check_covariates()
        if self.engine != "grid" and (self.grid_bounds, self.grid_size) != (None, None):
            raise InvalidInput("grid_bounds and grid_size are for engine='grid'; leave them out")
        if self.grid_size is not None and not isinstance(self.grid_size, Mapping):
            keep(self, grid_size=check_at_least_one("grid_size", self.grid_size))
        if isinstance(self.weights, Mapping):
            keep(self, weights=of_table(PublicRegressionWeights)("weights", self.weights))
        if isinstance(self.weights, PublicRegressionWeights):
            check_fits(self.weights, self._law)
        elif self.weights is not None and not callable(self.weights):
            check_weights(self.weights, np.size(self.weights))

    def release(
        self, data: Any, *, by: None = None, ledger: DatasetLedger | None = None
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : array_like, mapping or DataFrame
            The confidential records: the column alone, or a table that has it and the predictors.
        by : None
            There are no groups.
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. A charge is final, even
            if sampling fails.

        Returns
        -------
        Release
            Each copy is a table of the response and the public predictors.

        Raises
        ------
        InvalidInput
            If the data have missing values or don't fit the family, or the weights or the
            covariates don't fit. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        MissingDependency
            If the engine isn't installed. Nothing is spent or drawn then.
        EngineFailed
            If sampling fails, or the chains clearly have not converged.
        """
        if by is not None:
            raise InvalidInput("by is given, but this synthesizer has no groups; leave it out")
        rows, weights = self._read(data)
        made = self._posterior(rows, weights, self._named or getattr(data, "name", None))
        axes = () if self._axis is None else (self._axis,)
        if self.engine != "stan":
            return made.released(ledger, axes=axes)
        from bayesdp.engines.stan.sampling import compile_program

        chains = self._chains
        compile_program(chains.law.program)  # what can fail does so before anything is spent
        return made.released(ledger, chains.points(rows, weights), "stan", axes)

    def guarantee(self, n: int | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            Not needed: the guarantee is the same for any number of records.
        """
        mechanism = self._chains.mechanism(1, 1, (("value", "number"),))
        if self.engine == "grid":
            mechanism = dataclasses.replace(mechanism, grid=self._grid())
        return mechanism.guarantee(copies=self.copies)

    def _check_covariates(self) -> None:
        given: Any = self.covariates
        if hasattr(given, "columns"):
            given = {name: given[name].to_numpy() for name in given.columns}
            object.__setattr__(self, "covariates", given)
        if given is not None and not isinstance(given, Mapping):
            raise InvalidInput(
                f"covariates is {kind_of(given)}; it must map each predictor to its public values"
            )
        if set(given or {}) != set(self.predictors):
            raise InvalidInput(
                f"covariates must have the predictors, {list(self.predictors)}, and nothing else; "
                f"give public values of each, size = {self.size} of them, at which the synthetic "
                "records are drawn (the confidential ones would be given away)"
            )

    def _on_grid(self, data: Any, *, clipped: bool) -> NoReturn:
        raise InvalidInput(
            "engine is 'grid', which has no chains, and pseudo_posterior draws by one; take "
            "engine='pymc' or 'stan', whose law is the same but for the grid"
        )

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the predictors and, if given, of the response: all different."""
        named = [*self.predictors, *([] if self._named is None else [self._named])]
        taken = {*_RESERVED, *(f"slope_{name}" for name in self.predictors)}
        wrong = [n for n in named if not isinstance(n, str) or not n or n in taken]
        if isinstance(self.predictors, str) or wrong or len(set(named)) < len(named):
            raise InvalidInput(
                f"predictors is {quoted(self.predictors)} and response {quoted(self.response)}; "
                "they must be names of columns, all different, and none of "
                f"{', '.join(_RESERVED)} or slope_ and a predictor's name: rename the column"
            )
        if self.predictors and self._named is None:
            raise InvalidInput("response is missing; name the column that predictors predict")
        return tuple(self.predictors)

    @property
    def _named(self) -> str | None:
        """Name of the response, if it is given or has categories."""
        return next(iter(self.categories), None) if self.categories else self.response

    @cached_property
    def _axis(self) -> Axis | None:
        """The response's categories, where it has them."""
        if self.categories is None:
            return None
        given = self.categories if isinstance(self.categories, Mapping) else {}
        if len(given) != 1 or self.response not in (None, *given):
            raise InvalidInput(
                f"categories is {quoted(self.categories)}; it must map the response, one column, "
                "to its categories, as {'opinion': ['for', 'against']}"
            )
        ((name, labels),) = given.items()
        axis = Axis(name, categories=tuple(labels))
        if axis.size < 2:
            raise InvalidInput("categories has one category; a law of them needs two or more")
        types = {type(label) for label in axis.categories or ()}
        if len(types) > 1:  # no table holds such a column
            raise InvalidInput(
                f"categories of {quoted(name)} are of several types; write all of them as texts, "
                "or all as numbers of one kind"
            )
        return axis

    @cached_property
    def _law(self) -> RegressionLaw:
        from bayesdp.synthesis.censored_regression_law import RegressionLaw

        names, axis = self._names, self._axis
        return RegressionLaw(
            self.family,
            names,
            2 if axis is None else axis.size,
            _check_location(self.prior_intercept),
            _check_scales(self.prior_slope, len(names)),
            check_positive("prior_sigma", self.prior_sigma, _UNIT),
            scalars=self.engine == "grid",
        )

    def _posterior(self, rows: Rows, weights: Floats | None, name: Any) -> PosteriorSynthesizer:
        """The synthesizer of a PyMC model that is this one's, by its engine."""
        from bayesdp.synthesis.posterior import PosteriorSynthesizer

        variable = name if isinstance(name, str) and name and name not in _RESERVED else "value"
        return PosteriorSynthesizer(
            self._law.model(rows, variable),
            self.epsilon,
            self.copies,
            self.neighbours,
            self.center,
            weights,
            engine="grid" if self.engine == "grid" else "pymc",
            size=self.size,
            covariates=self.covariates,
            grid_bounds=self.grid_bounds,
            grid_size=self.grid_size,
        )

    def _read(self, data: Any) -> tuple[Rows, Floats | None]:
        """Check the records and their weights; no message shows a value."""
        from bayesdp.synthesis.censored_regression_law import Rows

        check_even(data)
        law = self._law
        is_table = hasattr(data, "columns") or isinstance(data, Mapping)
        if self.predictors and not is_table:
            raise InvalidInput(
                f"data is {kind_of(data)}; it must be a table with the columns "
                f"{[self._named, *self.predictors]}"
            )
        columns = {name: _column(data[name], name) for name in self._in(data, is_table)}
        if len({column.size for column in columns.values()}) > 1:
            raise InvalidInput("data has columns of different lengths; give one value a record")
        x = [_numbers(columns[name], name) for name in self.predictors]
        name, axis = self._named or "value", self._axis
        values = columns[name] if is_table else _column(data, name)
        if axis is not None:
            y: NDArray[Any] = axis.bins(values, clamp=False)
        else:
            y = _numbers(values, name)
            if not np.all(law.known.allowed(y)):
                raise InvalidInput(
                    f"column {quoted(name)} has records that family={quoted(self.family)} can't "
                    f"have; they must be {law.known.values}: choose another family, or rescale "
                    "them by a public rule"
                )
            y = y.astype(np.int64) if law.known.whole else y
        if y.size == 0:
            raise InvalidInput("data is empty; there is nothing to release")
        rows = Rows(y, np.stack(x, axis=1) if x else np.empty((y.size, 0)))
        if isinstance(self.weights, PublicRegressionWeights):
            return rows, weights_of(self.weights, law, rows)
        check_rows(self.weights, data, "weights", "weight")
        return rows, self._weighed({name: values, **columns}, y.size)

    def _in(self, data: Any, is_table: bool) -> list[str]:
        """Names of the columns that are read from a table, all of which it must have."""
        if not is_table:
            return []
        wanted = [self._named or "value", *self.predictors]
        if missing := [name for name in wanted if name not in data]:
            raise InvalidInput(f"data has no column {quoted(missing[0])}; it must have {wanted}")
        return wanted

    def _weighed(self, columns: Mapping[str, Any], n: int) -> Floats | None:
        if not callable(self.weights):
            return check_weights(self.weights, n)
        rows: Any = (
            {name: np.array(values[i : i + 1]) for name, values in columns.items()}
            for i in range(n)
        )
        if not self.predictors:
            rows = (row[self._named or "value"] for row in rows)
        return check_weights(of_each_alone(self.weights, rows), n)

    def _grid(self) -> Any:
        """The public grid, which depends on the names of the parameters alone."""
        from bayesdp.synthesis.censored_regression_law import Rows
        from bayesdp.synthesis.posterior_grid import grid_of

        one = Rows(
            np.ones(1, np.int64 if self._law.known.whole else float),
            np.ones((1, len(self.predictors))),
        )
        return grid_of(self._law.model(one, "value"), self.grid_bounds, self.grid_size)


def _column(values: Any, name: str) -> NDArray[Any]:
    """Return a column as an array, or raise InvalidInput without showing a value."""
    check_present(name, values)
    column = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if column.ndim != 1:
        raise InvalidInput(f"column {quoted(name)} has {column.ndim} dimensions; it must have one")
    return column


def _numbers(column: NDArray[Any], name: str) -> Floats:
    if column.dtype.kind not in "biuf" and column.size:
        raise InvalidInput(f"column {quoted(name)} doesn't hold numbers")
    numbers = column.astype(np.float64)
    if not np.all(np.isfinite(numbers)):
        raise InvalidInput(f"column {quoted(name)} has infinite values; move them by a public rule")
    return numbers


def _check_location(prior: Any) -> tuple[float, float]:
    given = [as_float(each) for each in prior] if np.ndim(prior) == 1 else []
    if len(given) != 2 or not (math.isfinite(given[0]) and 0 < given[1] < math.inf):
        raise InvalidInput(
            f"prior_intercept is {quoted(prior)}; it must be a mean and a positive standard "
            "deviation, as (0, 10)"
        )
    return given[0], given[1]


def _check_scales(prior: Any, k: int) -> tuple[float, ...]:
    if np.ndim(prior) == 0:
        return (check_positive("prior_slope", prior, _UNIT),) * k
    if len(prior) != k:
        raise InvalidInput(
            f"prior_slope has {len(prior)} numbers; it must be one, or one for each of the "
            f"{k} predictors"
        )
    return tuple(check_positive("prior_slope", each, _UNIT) for each in prior)
