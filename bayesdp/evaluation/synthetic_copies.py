r"""Synthetic copies of a whole table as files, and valid conclusions from the files alone.

Copies are draws of the confidential table given all that was released of it, so that they impute
what is missing, all its records, and analyses of them are combined as those of imputed data (Rubin
1987): with estimates q_i and squared standard errors v_i of copies i = 1, ..., m,

    estimate mean(q), variance T = mean(v) + (1 + 1 / m) B, B the variance of the q_i,
    interval by Student's t with (m - 1) (1 + mean(v) / ((1 + 1 / m) B))^2 degrees of freedom.

B holds the noise, and v the sampling of the confidential records from their population. Copies that
are weighed to known margins are samples of the population anew, with its uncertainty between them:
then v is counted already, and is left out.

A folder of copies is post-processing of a release, with that release's promise and no other, and
may be made as often as one likes.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy import stats

from bayesdp._version import __version__
from bayesdp.checks import check_one_of, check_path
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, InvalidRelease, quoted
from bayesdp.evaluation.combining import combine, proportions
from bayesdp.headers import head_of, separator_of
from bayesdp.inference.table.doubts import doubts_of_unmeasured
from bayesdp.inference.table.regression import FAMILIES, Regression
from bayesdp.inference.verdict import NO_PROBLEM
from bayesdp.schema.formulas import columns_and_sums
from bayesdp.schema.schema import Schema, schema_of
from bayesdp.storage import whole_folder
from bayesdp.table_files import check_columns
from bayesdp.warned import warn_about

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.inference.table.posterior import TablePosterior

ABOUT, WORDS = "copies.json", "README.txt"
"""Files of a folder of copies: what they are, for programs and for people."""
KINDS = ("csv", "parquet")
_MOST_CELLS = 10**6
_MOST_LISTED, _WIDTH = 30, 88


class About(BaseModel):
    """Description of a folder of copies, as its `copies.json` has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal[1] = 1
    software: str = f"bayesdp {__version__}"
    files: list[str] = Field(min_length=1)
    of: Literal["confidential records", "population"]
    """Whether a copy stands for the confidential table, or for a sample of a known population."""
    table: str
    """The table's schema, in TOML."""
    measured: list[list[str]]
    """Columns of each marginal that was released."""
    pools: dict[str, list[int]] = {}
    """First cells of pools, of columns that are counted with others by private cut points."""
    guarantee: str
    verdict: str
    assumed: str | None = None
    """Assumption under which missing values were imputed."""

    def warn_of_fit(self, *, stacklevel: int) -> None:
        """Warn if the fit that the copies are from was doubted."""
        if not self.verdict.startswith(NO_PROBLEM):
            warn_about(f"the copies' fit: {self.verdict}", "copies", stacklevel=stacklevel + 1)


@dataclass(frozen=True, eq=False)
class SyntheticCopies:
    """Synthetic copies of a whole table, with what it takes to draw valid conclusions from them.

    `of` draws them from a posterior, `save` writes a folder for anybody with software of any kind,
    and `load` reads one. `regression` and `table` analyse every copy as if it were real, and
    combine the analyses (`bayesdp.evaluation.synthetic_copies`); other estimates are combined by
    ``bdp.combine(estimates, variances, rule="rubin")``.

    Attributes
    ----------
    frames : tuple of DataFrame
        The copies, which look like the original table.
    about : About
        What they are: the promise, the schema, released marginals, the fit's verdict.

    Notes
    -----
    Whoever has the posterior has better: `posterior.regression` by moments doesn't draw slopes to
    0 where noise is wide, and `posterior.estimate` needs no variances.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pandas as pd
    >>> schema = bdp.Schema({"smokes": {"type": "boolean"}, "old": {"type": "boolean"}})
    >>> rng = np.random.default_rng(1)
    >>> frame = pd.DataFrame({"smokes": rng.random(300) < 0.3, "old": rng.random(300) < 0.5})
    >>> release = bdp.TableSynthesizer(schema, epsilon=1.0).release(frame)
    >>> posterior = bdp.TableModel().fit(release, draws=200, seed=1)
    >>> copies = bdp.evaluate.SyntheticCopies.of(posterior, 10, seed=1)
    >>> folder = copies.save("copies")
    >>> read = bdp.evaluate.SyntheticCopies.load("copies")
    >>> list(read.table("smokes").columns)
    ['estimate', 'sd', 'lower', 'upper', 'naive_lower', 'naive_upper']
    """

    frames: tuple[pd.DataFrame, ...]
    about: About

    def __post_init__(self) -> None:
        if bare := [k for k, frame in enumerate(self.frames, 1) if frame.empty]:
            raise InvalidInput(
                f"copy {bare[0]} has no records, so that there are no shares in it, and no fit; "
                "make the copies again"
            )

    @classmethod
    def of(
        cls, posterior: TablePosterior, copies: int = 20, *, seed: int | None = None
    ) -> SyntheticCopies:
        """Draw copies from a whole table's posterior.

        Parameters
        ----------
        posterior : TablePosterior
        copies : int
            Their number, at least 2, at most that of the posterior's latent tables. Twenty are
            enough for intervals; more make them a little shorter and steadier.
        seed : int, optional
            Seed of the values within cells.

        Raises
        ------
        InvalidInput
            If `posterior` isn't a whole table's, or has fewer latent tables.

        Warns
        -----
        UserWarning
            If the fit was doubted, as the copies then rest on it.
        """
        if getattr(posterior, "attrs", {}).get("family") != "table":
            raise InvalidInput(
                f"posterior is {quoted(posterior)}; it must be what TableModel's fit returned"
            )
        if copies == 1:
            raise InvalidInput("copies is 1; one copy leaves the noise out: take 2 or more")
        frames = tuple(posterior.synthetic(copies, seed=seed))
        width = len(str(len(frames)))
        about = About(
            files=[f"copy_{k:0{width}}" for k in range(1, len(frames) + 1)],
            of="population" if posterior.margins else "confidential records",
            table=posterior.attrs["schema"],
            measured=[list(each) for each in posterior.measured],
            pools=json.loads(posterior.attrs.get("pools", "{}")),
            guarantee=posterior.attrs["guarantee"],
            verdict=posterior.attrs["verdict"],
            assumed=posterior.attrs.get("assumed"),
        )
        about.warn_of_fit(stacklevel=2)
        return cls(frames, about)

    @cached_property
    def schema(self) -> Schema:
        """The schema of the table; of private cut points, with the cells of their grid."""
        return schema_of(self.about.table)

    def save(self, folder: str | Path, *, kind: str = "csv", force: bool = False) -> Path:
        """Write a folder with a file for each copy, `copies.json` and a `README.txt`.

        Parameters
        ----------
        folder : path
        kind : {"csv", "parquet"}
            CSV files are in UTF-8; a missing value is an empty field.
        force : bool
            Whether a folder of copies that exists may be replaced.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        ReleaseExists
            If the folder exists and may not be replaced.
        InvalidInput
            If `kind` is another one, or the folder can't be written.
        """
        check_one_of("kind", kind, KINDS)
        path = check_path("folder", folder)
        files = [f"{Path(name).stem}.{kind}" for name in self.about.files]
        about = self.about.model_copy(update={"files": files})
        with whole_folder(path, ABOUT, force=force) as work:
            for frame, name in zip(self.frames, files, strict=True):
                if kind == "csv":
                    frame.to_csv(work / name, index=False, encoding="utf-8", lineterminator="\n")
                else:
                    frame.to_parquet(work / name, index=False)
            (work / WORDS).write_text(_words(about, self.schema), encoding="utf-8")
            (work / ABOUT).write_text(about.model_dump_json(indent=2) + "\n", encoding="utf-8")
        return path

    @classmethod
    def load(cls, folder: str | Path) -> SyntheticCopies:
        """Read a folder of copies, with the types that its schema declares.

        Parameters
        ----------
        folder : path

        Raises
        ------
        InvalidRelease
            If it isn't a folder of copies, or a file lacks a column or records, or has a value that
            the schema hasn't.

        Warns
        -----
        UserWarning
            If the fit that they are from was doubted.
        """
        path = check_path("folder", folder)
        try:
            about = About.model_validate_json((path / ABOUT).read_text(encoding="utf-8"))
            schema = schema_of(about.table)
            _check_names(about.files)
            made = cls(tuple(_read(path / name, schema) for name in about.files), about)
        except OSError as error:
            raise InvalidRelease(
                f"{quoted(str(path))} isn't a folder of copies: {error.strerror} "
                f"({Path(str(error.filename)).name}); give one that `bayesdp copies` wrote"
            ) from None
        except ValidationError as error:
            fault = error.errors()[0]
            place = ".".join(map(str, fault["loc"])) or "the file"
            raise InvalidRelease(f"{path / ABOUT}: {place}: {fault['msg']}") from None
        except (InvalidInput, ValueError, TypeError) as error:  # of TOML, CSV and Parquet
            raise InvalidRelease(f"{path}: {error}") from None
        about.warn_of_fit(stacklevel=2)
        return made

    def regression(
        self, formula: str, *, family: str = "linear", level: float = 0.95
    ) -> pd.DataFrame:
        """Fit a regression to every copy, and combine its coefficients.

        A number stands for its cell by the cell's middle, as in `TablePosterior.regression`: where
        within its cell a copy's number lies is chance, and would draw its slope to 0.

        Parameters
        ----------
        formula : str
            In statsmodels' notation: "income ~ age + C(sex)".
        family : {"linear", "logit", "poisson", "ordinal"}
        level : float
            Probability of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            A row for each coefficient: estimate, sd, lower and upper; and naive_lower and
            naive_upper, of who takes the first copy for real.

        Raises
        ------
        InvalidInput
            If the formula has unknown columns, or a copy leaves a coefficient open, as where a
            label has no records or separates the outcomes.

        Warns
        -----
        UserWarning
            If two of the columns are in no released marginal together.
        """
        import pandas as pd

        check_one_of("family", family, FAMILIES)
        names = self._known(*columns_and_sums(formula, list(self.schema.columns)))
        columns = {name: self.schema.columns[name] for name in names}
        asked = Regression(formula, family, columns)
        fits = [asked.fit(codes[names]) for codes in map(self.schema.coded, self.frames)]
        every = list(dict.fromkeys(name for fit in fits for name in fit.coefficients.index))
        q = pd.DataFrame([fit.coefficients for fit in fits], columns=every).to_numpy()
        v = pd.DataFrame([fit.variances for fit in fits], columns=every).to_numpy()
        open_ = ~np.isfinite(q) | ~np.isfinite(v) | [[not fit.converged] for fit in fits]
        if open_.any():
            k = int(np.argmax(open_.any(axis=1)))
            which = ", ".join(quoted(every[place]) for place in np.flatnonzero(open_[k])[:5])
            raise InvalidInput(
                f"copy {k + 1} doesn't determine {which} of {quoted(formula)}: leave out or merge "
                "rare labels, or estimate from the posterior"
            )
        return self._combined(q, v, pd.Index(every), level)

    def table(self, columns: str | Sequence[str], *, level: float = 0.95) -> pd.DataFrame:
        """Estimate the shares of the cells of a table of some columns.

        Parameters
        ----------
        columns : str or sequence of str
        level : float
            Probability of the intervals, in (0, 1).

        Returns
        -------
        DataFrame
            A row for each cell: estimate, sd, lower, upper, naive_lower and naive_upper. Intervals
            end at 0 and 1. A column whose cut points were private has the intervals between these.

        Raises
        ------
        InvalidInput
            If a column isn't in the schema, or the table has over 1,000,000 cells.

        Warns
        -----
        UserWarning
            If two of the columns are in no released marginal together.
        """
        import pandas as pd

        names = self._known([columns] if isinstance(columns, str) else columns)
        pools = self.about.pools
        schema = self.schema.pooled(pools) if pools else self.schema
        each = [schema.columns[name] for name in names]
        sizes = [column.cells for column in each]
        if math.prod(sizes) > _MOST_CELLS:
            raise InvalidInput(
                f"columns is {quoted(names)}, whose table has {math.prod(sizes):,} cells; it may "
                f"have {_MOST_CELLS:,}: ask for fewer columns"
            )
        ones = [
            np.bincount(
                np.ravel_multi_index([codes[name].to_numpy(np.int64) for name in names], sizes),
                minlength=math.prod(sizes),
            )
            for codes in map(schema.coded, self.frames)
        ]
        shares = [proportions(one, max(int(one.sum()), 1)) for one in ones]
        q, v = (np.array(part) for part in zip(*shares, strict=True))
        cells = pd.MultiIndex.from_product([column.names for column in each], names=names)
        found = self._combined(q, v, cells if len(names) > 1 else cells.get_level_values(0), level)
        ends = ["lower", "upper", "naive_lower", "naive_upper"]
        found[ends] = found[ends].clip(0.0, 1.0)
        return found

    def _known(self, columns: Any, sums: Sequence[Sequence[str]] = ()) -> list[str]:
        """Return columns' names, with a warning of those, or sums', that no marginal has."""
        names = list(columns)
        there = self.schema.columns
        if unknown := [name for name in names if name not in there]:
            raise InvalidInput(
                f"{quoted(unknown[0])} isn't a column of the copies, which have {', '.join(there)}"
            )
        if not names or len(set(names)) < len(names):
            raise InvalidInput("columns must be one or more, and different")
        for doubt in doubts_of_unmeasured(names, self.about.measured, sums):
            warn_about(doubt, "no-marginal", stacklevel=3)
        return names

    def _combined(self, q: Any, v: Any, names: Any, level: float) -> pd.DataFrame:
        """Combine estimates and squared standard errors, shape (copies, numbers) each."""
        import pandas as pd

        known = self.about.of == "population"
        found = combine(q, np.zeros_like(v) if known else v, "rubin")
        lower, upper = found.interval(level)
        far = stats.norm.ppf((1 + check_level(level)) / 2) * np.sqrt(v[0])
        columns = {
            "estimate": found.estimate,
            "sd": np.sqrt(found.variance),
            "lower": lower,
            "upper": upper,
            "naive_lower": q[0] - far,
            "naive_upper": q[0] + far,
        }
        return pd.DataFrame(columns, index=names)

    def __repr__(self) -> str:
        records = f"{len(self.frames[0]):,} records of {len(self.schema.columns)} columns"
        return f"<SyntheticCopies: {len(self.frames)} copies, the first of {records}>"


def _check_names(files: Sequence[str]) -> None:
    """Raise InvalidInput unless files are in the folder itself, and of a kind that was written."""
    for name in files:
        if Path(name).name != name or Path(name).suffix[1:] not in KINDS:
            raise InvalidInput(
                f"{ABOUT} names the file {quoted(name)}; it must be a CSV or Parquet file beside it"
            )
    if len(set(files)) < len(files):
        raise InvalidInput(f"{ABOUT} names a file twice; every copy must have a file of its own")


def _read(file: Path, schema: Schema) -> pd.DataFrame:
    """Read a copy, and give its columns the types that the schema declares."""
    import pandas as pd

    if not file.is_file():
        raise InvalidInput(f"there is no {file.name}")
    frame = pd.read_parquet(file) if file.suffix == ".parquet" else _text(file, schema)
    check_columns(list(frame.columns), list(schema.columns), file.name)
    frame = frame[list(schema.columns)]
    try:
        codes = schema.coded(frame)
    except InvalidInput as error:
        raise InvalidInput(f"{file.name}: {error}") from None
    like = schema.decoded(codes, np.random.default_rng(0))  # whose labels are those of the file
    made = {}
    for name, column in schema.columns.items():
        values = frame[name]
        if column.middles is None or column.type == "boolean":
            made[name] = like[name]
        elif column.type == "date":
            made[name] = pd.to_datetime(values).astype(like[name].dtype)
        else:
            made[name] = values.astype(like[name].dtype)
    return pd.DataFrame(made)


def _text(file: Path, schema: Schema) -> pd.DataFrame:
    """Read a CSV file, in which a missing value is an empty field, and "NA" is a label."""
    import pandas as pd

    text = {name: str for name, kind in schema.types.items() if kind == "string"}
    empty = {name: [""] for name, column in schema.columns.items() if column.missing}
    try:
        separator = separator_of(file.name, head_of(file))
        first = pd.read_csv(file, sep=separator, header=None, nrows=1, dtype=str)
        check_columns(first.iloc[0].tolist(), list(schema.columns), file.name)  # before pandas' own
        return pd.read_csv(file, sep=separator, dtype=text, keep_default_na=False, na_values=empty)
    except ValueError as error:
        raise InvalidInput(f"{file.name} can't be read as a CSV table: {error}") from None


def _words(about: About, schema: Schema) -> str:
    """Explain a folder of copies to people who have other software."""
    m = len(about.files)
    sampled = about.of == "confidential records"
    within, degrees = (
        ("mean(v) + ", f"{m - 1} (1 + mean(v) / ((1 + 1/{m}) B))^2")
        if sampled
        else ("", f"{m - 1}")
    )
    rule = (
        " (Rubin 1987; software for multiple imputation does this)."
        if sampled
        else ". The copies are samples of the population, so that v is in B already."
    )
    weighed = "" if sampled else " It is weighed to known margins of the population."
    columns = [f"{name}: {_shown(each)}" for name, each in schema.columns.items()]
    together = [", ".join(each) for each in about.measured[:_MOST_LISTED]]
    if (more := len(about.measured) - _MOST_LISTED) > 0:
        together.append(f"and {more} more, in {ABOUT}")
    parts: list[str | list[str]] = [
        f"{m} synthetic copies of a table with {len(schema.columns)} columns",
        "No row is a record of anybody. Each copy is a draw of the whole confidential table, given "
        f"noisy counts that were released of it, and has the same columns and codes.{weighed}",
        f"Privacy: {about.guarantee}",
        "How to analyse them: analyse each copy as if it were real, which gives an estimate q and "
        "its squared standard error v. Report the mean of the q, with the variance",
        [f"T = {within}(1 + 1/{m}) B,"],
        "where B is the variance of the q between the copies, and an interval by Student's t with "
        f"{degrees} degrees of freedom{rule}",
        "A single copy leaves out the noise that was added for privacy, and its intervals are too "
        "short: one copy will do to write and try out code, and for no conclusion.",
        "Columns. A number or a date is drawn at random within an interval; where it predicts "
        "something, take the interval's middle instead.",
        columns,
        "These columns were counted together; how others go together rests on a model.",
        together,
        f"The fit that the copies are from: {about.verdict}",
        *([f"Missing values were imputed; assumed is that {about.assumed}"] * bool(about.assumed)),
    ]
    return "\n\n".join(_filled(each) for each in parts) + "\n"


def _filled(part: str | list[str]) -> str:
    """Break a paragraph into lines, or the items of a list, which are indented."""
    if isinstance(part, str):
        return textwrap.fill(part, _WIDTH)
    item = textwrap.TextWrapper(_WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(map(item.fill, part))


def _shown(column: Any) -> str:
    """List a column's labels or intervals, as far as a line or two hold them."""
    names = [str(one) for one in column.names]
    if len(names) <= _MOST_LISTED:
        return f"{column.type}: {'; '.join(names)}"
    return f"{column.type}: {len(names)} values, from {names[0]} to {names[-1]}"
