"""The posterior of a whole table: synthetic copies, tables, regressions and other estimates."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_one_of, check_seed
from bayesdp.display.words import count_of, listed
from bayesdp.engines.draws import import_arviz
from bayesdp.engines.latent_records import ABSENT
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.table.doubts import (
    doubts_of_chains,
    doubts_of_coefficients,
    doubts_of_unmeasured,
    warn_of_unit,
)
from bayesdp.inference.table.estimates import Estimates, check_fitted, check_target
from bayesdp.inference.table.imputation import imputed
from bayesdp.inference.table.margins import (
    Margin,
    margins_in,
    margins_of,
    records_of_population,
    written,
)
from bayesdp.inference.table.moments import estimates_by_moments
from bayesdp.inference.table.numbers import aligned, counts_of, numbers_of
from bayesdp.inference.table.pooling import by_pools
from bayesdp.inference.table.regression import FAMILIES, Regression
from bayesdp.inference.table.released import RELEASED
from bayesdp.inference.table.spread import doubts_of_spreads
from bayesdp.schema.formulas import columns_and_sums
from bayesdp.schema.schema import Schema, schema_of
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd
    from matplotlib.axes import Axes

az = import_arviz()

_GROUP = "tables"
WAYS = ("moments", "tables")
_SPREAD = 50
"""Latent tables by which a column's spread is judged."""
_FINER = 4
"""Records of a population by weights for each of a table: rounding adds 1/4 / 4^2 at most."""
_MOST_COUNTS = 10**8
"""Counts of one table's cells in all latent tables."""


class TablePosterior(az.InferenceData):  # type: ignore[misc]
    """Posterior of a whole table, an InferenceData with what is computed from its latent tables.

    `TableModel.fit` returns one; `of` makes one again of what `arviz.from_netcdf` has read. Each
    latent table is a draw of the confidential table given all that was released. A quantity of the
    confidential table ("data") has the distribution of its values in these tables. One of the
    population that the records are a random sample of ("population", the default) also has sampling
    error: each table is resampled with replacement (Efron 1979; Rubin's Bayesian bootstrap is its
    limit for many records), so that functions of tables need no weights. With 300 records, half of
    which smoke, the former's interval shrinks to a point as epsilon grows, the latter's to 0.50 +/-
    0.057.

    Attributes
    ----------
    posterior, sample_stats, observed_data, constant_data
        As of any fit; see `TableModel`.
    tables : xarray.Dataset
        "records", the cells' numbers in each column of each record, dimensions chain, table,
        record and column; 65,535 where a table has fewer records.
    released : xarray.Dataset
        "count", the released counts of all marginals, one after another, "marginal", the one that
        each is of, and "scale" and "gaussian", each marginal's noise.
    """

    _told: frozenset[str] = frozenset()  # doubts that `fit` has warned of, in this process

    @classmethod
    def of(cls, idata: Any, records: Any = None) -> TablePosterior:
        """Make a TablePosterior of a fit's InferenceData.

        Parameters
        ----------
        idata : arviz.InferenceData
            As written by `to_netcdf` and read by `arviz.from_netcdf`.
        records : ndarray, optional
            The latent tables, where `idata` has none.

        Raises
        ------
        InvalidInput
            If it isn't a fit of `TableModel`.
        """
        groups = {name: idata[name] for name in idata.groups()} if hasattr(idata, "groups") else {}
        check_fitted(idata)
        if records is not None:
            names = list(schema_of(idata.attrs["schema"]).columns)
            dims = ("chain", "table", "record", "column")
            groups[_GROUP] = xr.Dataset({"records": (dims, records)}, coords={"column": names})
        if _GROUP not in groups:
            raise InvalidInput("idata has no group 'tables'; give all that a TableModel's fit has")
        return cls(attrs=idata.attrs, **groups)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the table."""
        return schema_of(self.attrs["schema"])

    @cached_property
    def measured(self) -> tuple[tuple[str, ...], ...]:
        """Columns of the marginals that were released."""
        return tuple(map(tuple, json.loads(self.attrs["measured"])))

    @cached_property
    def pooled(self) -> TablePosterior:
        """The posterior of the table whose cells are pooled by private cut points, or itself.

        The columns are in the same intervals as where they were counted with others.
        """
        return self._with(*by_pools(self, pools)) if (pools := self._pools) else self

    @cached_property
    def margins(self) -> tuple[Margin, ...]:
        """Known margins of the population, where `bdp.evaluate.poststratify` was given any."""
        return tuple(margins_in(self.attrs.get("margins", "[]"), self.schema))

    def poststratified(self, totals: Any) -> TablePosterior:
        """Weigh latent tables to known margins of the population; see `bdp.evaluate.poststratify`.

        Parameters
        ----------
        totals : mapping, Series, DataFrame or list of these

        Raises
        ------
        InvalidInput
            If they aren't margins of the schema's columns that each latent table can have.
        """
        if self.margins:
            raise InvalidInput(
                "posterior is raked to margins already; give all margins together, with the fit"
            )
        margins = margins_of(totals, self.schema, self._pools, self._tables(None, peopled=True))
        return self._with({"margins": written(margins)})

    def imputed(
        self, columns: str | Sequence[str] | None = None, *, seed: int | None = None
    ) -> TablePosterior:
        """Impute missing values: the posterior had everybody answered, if missing at random.

        Whether a value is missing may depend on those of the record that are there, but not, given
        these, on itself (Rubin 1976); records follow a mixture of classes, as in the fit. The
        missing values of each latent table are drawn given all that it has, by
        `bayesdp.kernels.table.imputation`, so that all that the result is asked has the imputation
        in its intervals (Rubin 1987): of the "population" had all its members answered, of the
        "data" had all records. Neither is a point at any epsilon. The naive answer takes one
        imputed copy for real data. How a column goes with others is as well known as their pairs.

        Parameters
        ----------
        columns : str or sequence of str, optional
            Columns to impute; default: all that may have missing values. Those of others stay a
            level of their own, as where not to answer is an answer.
        seed : int, optional

        Returns
        -------
        TablePosterior
            Its schema has no missing values in these columns, but where rules (`zeros`) leave a
            record no other value: what doesn't apply stays missing. "share" and "n" are those of
            its tables; attrs "imputed" has the columns, and "assumed" the assumption in words.

        Raises
        ------
        InvalidInput
            If `columns` are no columns that may have missing values, or the posterior is raked.

        Warns
        -----
        UserWarning
            If a column is in no released marginal with another, which could tell of its values.
        """
        made = imputed(self, columns, check_seed(seed))
        return self if made is None else self._with(*made)

    def __repr__(self) -> str:
        columns = count_of(len(self.schema.columns), "column")
        made = ", missing values imputed" if "imputed" in self.attrs else ""
        made += f", raked to {count_of(len(self.margins), 'margin')}" if self.margins else ""
        return f"<TablePosterior of {columns}: {count_of(self._kept, 'latent table')}{made}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        return card(
            "Posterior of a whole table",
            {
                "columns": listed(self.schema.columns, 12),
                "marginals released": f"{len(self.measured):,}",
                "latent tables": f"{self._kept:,}",
                "imputed": listed(json.loads(self.attrs.get("imputed", "[]")), 12) or None,
                "raked to": listed([", ".join(one.columns) for one in self.margins], 12) or None,
                "groups": listed(self.groups(), 12),
            },
            words=self.attrs.get("verdict", ""),
        )

    def synthetic(self, copies: int = 20, *, seed: int | None = None) -> list[pd.DataFrame]:
        """Draw synthetic copies of the confidential table, as DataFrames that look like it.

        Each is a latent table of its own, with the original's dtypes, labels, order of categories
        and missing values; a number is uniform within its cell. An analysis of each copy as if it
        were real gives an estimate and a variance, and ``bdp.combine(estimates, variances,
        rule="rubin")`` a valid interval: the copies impute the confidential table, which is missing
        data (Rubin 1987). `estimate` needs no variances. Where the posterior is raked to known
        margins, each copy is of as many records of the population instead, sampling error included:
        an estimate's values in many copies are its posterior, and need no rule.

        Parameters
        ----------
        copies : int
            Number of copies, at most that of the latent tables.
        seed : int, optional
            Seed of the values within cells.

        Raises
        ------
        InvalidInput
            If more copies are asked for than there are latent tables.
        """
        rng = np.random.default_rng(check_seed(seed))
        tables = self._tables(check_at_least_one("copies", copies))
        if self.margins:
            tables = (self._peopled(table, rng, 1) for table in tables)
        return [self.schema.decoded(self._frame(table), rng) for table in tables]

    def table(
        self,
        columns: str | Sequence[str],
        *,
        target: str = "population",
        seed: int | None = None,
    ) -> Estimates:
        """Estimate the cells of a table of some columns.

        A column whose cut points were chosen privately has the intervals between these; `estimate`
        takes any others, as of the grid among whose edges they were chosen.

        Parameters
        ----------
        columns : str or sequence of str
        target : {"population", "data"}
            Shares of the population, or counts of the confidential table.
        seed : int, optional
            Seed of the sampling error.

        Returns
        -------
        Estimates
            Of every cell, with an index of the columns' labels.

        Raises
        ------
        InvalidInput
            If a column isn't in the schema.

        Warns
        -----
        UserWarning
            If two of the columns are in no released marginal together.
        """
        import pandas as pd

        if self.pooled is not self:
            return self.pooled.table(columns, target=target, seed=seed)
        names = self._known(columns)
        self._warn_of_unmeasured(names)
        places = [list(self.schema.columns).index(name) for name in names]
        sizes = tuple(self.schema.cells[name] for name in names)
        if math.prod(sizes) * self._kept > _MOST_COUNTS:
            raise InvalidInput(
                f"columns is {quoted(names)}, whose table has {math.prod(sizes):,} cells; with "
                f"{self._kept} latent tables it may have {_MOST_COUNTS // self._kept:,}: ask for "
                "fewer columns, or by estimate for some cells of them"
            )
        rng = np.random.default_rng(check_seed(seed))
        population = check_target(target) == "population"
        tables = list(self._tables(None, peopled=population))
        counts, naive = counts_of(tables, places, sizes, self.margins, rng, sampled=population)
        self._warn_of_chains(counts)
        labels = [list(self.schema.columns[name].names) for name in names]
        index = pd.MultiIndex.from_product(labels, names=names)
        return Estimates(
            counts, naive, index if len(names) > 1 else index.get_level_values(0), target
        )

    def plot(
        self,
        columns: str | Sequence[str] | None = None,
        ax: Axes | None = None,
        *,
        level: float = 0.95,
        target: str = "population",
        seed: int | None = None,
    ) -> Axes:
        """Plot the cells of a table of some columns, by default of the first, with intervals.

        Parameters
        ----------
        columns : str or sequence of str, optional
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.
        level : float
            Probability of the intervals, in (0, 1).
        target, seed
            As for `table`.

        Returns
        -------
        matplotlib Axes
        """
        names = next(iter(self.schema.columns)) if columns is None else columns
        axes = self.table(names, target=target, seed=seed).plot(ax, level=level)
        axes.set_ylabel(names if isinstance(names, str) else ", ".join(names))
        return axes

    def estimate(
        self,
        function: Callable[[pd.DataFrame], Any],
        *,
        target: str = "population",
        draws: int = 200,
        seed: int | None = None,
    ) -> Estimates:
        """Estimate any function of the table.

        Parameters
        ----------
        function : callable
            Takes a DataFrame of records that looks like the confidential one, and returns a number,
            an array of numbers, or a Series or mapping of them, of one shape for all tables.
        target : {"population", "data"}
            The population's value, or the confidential table's.
        draws : int
            Number of latent tables, at most those that the fit kept; as many for the naive answer.
        seed : int, optional
            Seed of resampling, and of values within cells.

        Raises
        ------
        InvalidInput
            If it isn't a function, or returns anything else, or what isn't finite.
        """
        if not callable(function):
            raise InvalidInput(f"function is {quoted(function)}; give one that takes a DataFrame")
        rng = np.random.default_rng(check_seed(seed))
        return self._estimated(lambda f: function(self.schema.decoded(f, rng)), target, draws, rng)

    def regression(
        self,
        formula: str,
        *,
        family: str = "linear",
        by: str | None = None,
        target: str = "population",
        draws: int = 200,
        seed: int | None = None,
    ) -> Estimates:
        """Estimate the coefficients of a regression.

        It is fitted by statsmodels to each latent table, or, where it can be, by the released
        counts themselves ("moments"): a linear, logistic or Poisson regression of which the columns
        of any two terms, the outcome's included, were measured together: pairs, or with a term of
        two columns, triples (`bayesdp.inference.table.moments`). By tables slopes are drawn to 0
        where noise is wide for the cells; by moments they aren't, and intervals are wider.

        A number stands for its cell by the cell's middle, a date by its year with a fraction, a
        boolean by 0 and 1; the outcome of a logistic regression is one of these or a category of
        two labels, whose last one counts as 1. Records with a missing value are left out, also
        by income > 40, which is false of it; by np.isnan(income), which asks no value, they aren't.

        Parameters
        ----------
        formula : str
            In statsmodels' notation: "income ~ age + C(sex) + education".
        family : {"linear", "logit", "poisson", "ordinal"}
            Least squares, logistic, Poisson or ordered logistic regression; of its thresholds, each
            but the first is the logarithm of how far it is above the one before.
        by : {"moments", "tables"}, optional
            Default: moments where they will do.
        target, draws, seed
            As for `estimate`.

        Raises
        ------
        InvalidInput
            If the formula has unknown columns or can't be fitted to a table, or moments are asked
            for that weren't measured or that noise drowns.

        Warns
        -----
        UserWarning
            If two of its columns, or those of two of its terms, are in no released marginal
            together, so that their relation rests on the model alone; if much of a column's spread
            is in cells that noise drowns (by tables), or within wide cells, unless this fit has
            warned of it; or if some tables have no finite estimate, as where a label with few
            records separates the outcomes, or leave a coefficient open, as where a label has none.
        """
        if family not in FAMILIES:
            raise InvalidInput(
                f"family is {quoted(family)}; it must be one of {', '.join(FAMILIES)}"
            )
        if by is not None:
            check_one_of("by", by, WAYS)
        check_target(target)
        known = list(self.schema.columns)
        names, sums = columns_and_sums(formula, known)
        self._warn_of_unmeasured(names, sums)
        rng = np.random.default_rng(check_seed(seed))
        columns = {name: self.schema.columns[name] for name in names}
        asked, odd, moments = Regression(formula, family, columns), [0], None
        if by != "tables":
            imputed = set(json.loads(self.attrs.get("imputed", "[]")))
            alike = RELEASED in self.groups() and not self.margins and imputed.isdisjoint(names)
            alike = alike and asked.is_determined(self.schema)
            group = self[RELEASED] if alike else None  # tables that are as was released
            places = [known.index(name) for name in names]

            def tables() -> Iterator[NDArray[np.uint16]]:
                return (table[:, places] for table in self._tables(None))

            moments = estimates_by_moments(
                formula, family, columns, group, self._pools, tables, target, draws, rng
            )
        if by == "moments" and moments is None:
            raise InvalidInput(
                f"formula is {quoted(formula)}, whose moments weren't released, rules leave "
                "open or noise drowns; by='moments' takes a linear, logistic or Poisson regression "
                "where the columns of any two terms were released together (pairs, or triples for "
                "a term of two columns) and aren't imputed or weighed to totals, and an outcome of "
                "another than linear regression, or of two columns, has no private cut points: "
                "take by='tables'"
            )
        self._warn_of_spreads(names, drowned=moments is None)

        def fitted(codes: pd.DataFrame) -> Any:
            found = asked.fit(codes)
            odd[0] += not found.converged
            return found.coefficients

        if moments is None:
            estimates = self._estimated(fitted, target, draws, rng, finite=False)
        else:
            drawn = self._drawn(fitted, target, rng, finite=False)
            naive = self._naive(drawn, moments.names, target, min(draws, self._kept))
            estimates = replace(moments, naive=naive)
        for doubt in doubts_of_coefficients(estimates, odd[0]):
            warn_about(doubt, "no-estimate", stacklevel=2)
        return estimates

    def _estimated(
        self,
        function: Callable[[Any], Any],
        target: str,
        draws: int,
        rng: np.random.Generator,
        *,
        finite: bool = True,
    ) -> Estimates:
        """Compute a function of coded tables on draws of them, and on resamples of one."""
        population = check_target(target) == "population"
        count = min(check_at_least_one("draws", draws), self._kept)
        drawn = self._drawn(function, target, rng, finite=finite)
        each = [drawn(table) for table in self._tables(count, peopled=population)]
        names = each[0].index
        naive = self._naive(drawn, names, target, count) if population else None
        right = np.array([aligned(one, names) for one in each])
        self._warn_of_chains(right)
        return Estimates(right, right[:1] if naive is None else naive, names, target)

    def _drawn(
        self, function: Callable[[Any], Any], target: str, rng: np.random.Generator, *, finite: bool
    ) -> Callable[[NDArray[Any]], Any]:
        """Make what computes a function of a table, or of a draw of the population given one."""
        sampled = target == "population"

        def drawn(table: NDArray[Any]) -> Any:
            records = self._peopled(table, rng, _FINER) if sampled else table
            return numbers_of(function(self._frame(records)), finite=finite)

        return drawn

    def _naive(
        self, drawn: Callable[[NDArray[Any]], Any], names: Any, target: str, count: int
    ) -> NDArray[np.float64]:
        """Compute what one latent table says if it is the data: so many draws, or its numbers."""
        population = target == "population"
        (table,) = self._tables(1, peopled=population)
        return np.array([aligned(drawn(table), names) for _ in range(count if population else 1)])

    def _peopled(
        self, table: NDArray[Any], rng: np.random.Generator, finer: int
    ) -> NDArray[np.uint16]:
        """Draw records of the population: a resample, or where there are margins, by weights."""
        if self.margins:
            return records_of_population(self.margins, table, rng, finer * len(table))
        return np.asarray(table[rng.integers(0, len(table), len(table))])

    def _with(
        self, attrs: dict[str, str], posterior: Any = None, records: Any = None
    ) -> TablePosterior:
        """Make a TablePosterior with other attrs and, where given, another posterior or tables."""
        groups = {name: self[name] for name in self.groups()}
        if posterior is not None:
            groups["posterior"] = posterior
        made = TablePosterior.of(az.InferenceData(attrs=self.attrs | attrs, **groups), records)
        made._told = self._told
        return made

    @property
    def _pools(self) -> dict[str, list[int]]:
        """First cells of each pool, by column."""
        return dict(json.loads(self.attrs.get("pools", "{}")))

    @property
    def _kept(self) -> int:
        """Number of latent tables."""
        sizes = self[_GROUP]["records"].sizes
        return int(sizes["chain"] * sizes["table"])

    def _tables(self, count: int | None, *, peopled: bool = False) -> Iterator[NDArray[np.uint16]]:
        """Yield latent tables, all or so many, evenly spaced over the chains."""
        records = self[_GROUP]["records"].to_numpy()
        flat = records.reshape(-1, *records.shape[2:])
        if count is not None and count > len(flat):
            raise InvalidInput(
                f"copies is {count}; there are {len(flat)} latent tables: fit with more (tables)"
            )
        if peopled:
            warn_of_unit(self.schema.unit, self._told, stacklevel=4)
        for place in self._chosen(count or len(flat)):
            table = flat[place][flat[place][:, 0] != ABSENT]
            if peopled and not len(table):
                raise InvalidInput(
                    "target is 'population', but by what was released the table may have no record "
                    "at all, which says nothing of a population; ask for target='data'"
                )
            yield table

    def _chosen(self, count: int) -> NDArray[np.int64]:
        """Places of so many latent tables, evenly spaced over the chains."""
        return np.linspace(0, self._kept - 1, count).round().astype(np.int64)

    def _warn_of_chains(self, draws: NDArray[np.float64]) -> None:
        """Warn if chains differ in a number by more than its spread, shape (tables, numbers)."""
        chain = self._chosen(len(draws)) // int(self[_GROUP]["records"].sizes["table"])
        for doubt in doubts_of_chains(draws, chain):
            warn_about(doubt, "chains-differ", stacklevel=4)

    def _frame(self, table: NDArray[Any]) -> pd.DataFrame:
        """Codes of a latent table as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(table.astype(np.int64), columns=list(self.schema.columns))

    def _known(self, given: Any) -> list[str]:
        known = list(self.schema.columns)
        several = isinstance(given, Iterable) and not isinstance(given, str)
        names = list(given) if several else [given]
        wrong = [quoted(name) for name in names if name not in known or names.count(name) > 1]
        if wrong or not names:
            told = f"columns has {(wrong or ['nothing'])[0]}"
            raise InvalidInput(f"{told}; it must be some of {', '.join(known)}, once each")
        return names

    def _warn_of_unmeasured(self, names: Sequence[str], sums: Sequence[Sequence[str]] = ()) -> None:
        for doubt in doubts_of_unmeasured(names, self.measured, sums):
            warn_about(doubt, "no-marginal", stacklevel=3)

    def _warn_of_spreads(self, names: Sequence[str], *, drowned: bool) -> None:
        """Warn of columns of numbers whose spread isn't what was released, if `fit` hasn't."""
        for doubt in self._doubts_of_spreads(names, drowned=drowned):
            if doubt not in self._told:
                warn_about(doubt, "spread", stacklevel=3)

    def _doubts_of_spreads(self, names: Sequence[str], *, drowned: bool = True) -> Iterator[str]:
        tables = list(self._tables(min(self._kept, _SPREAD)))
        return doubts_of_spreads(self.schema.columns, names, tables, self._pools, drowned=drowned)
