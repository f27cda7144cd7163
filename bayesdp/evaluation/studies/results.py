"""Results of a study: its rows, what failed, and a summary of each cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_path
from bayesdp.display.words import listed, one_line
from bayesdp.errors import InvalidInput, quoted, without_secrets
from bayesdp.evaluation.studies import addresses
from bayesdp.evaluation.studies.store import NOTE, Store, read_manifest

if TYPE_CHECKING:
    import pandas as pd

_NOT_NUMBERS = frozenset(
    ("synthesizer", "analysis", "replicate", "estimand", "truth", "error", "message")
)


@dataclass(frozen=True)
class StudyResults:
    """Results of a study: a row for each synthesizer, cell, analysis, replicate and estimand.

    They aren't a private release, and promise nothing: see `note`.

    Attributes
    ----------
    frame : DataFrame
        Columns synthesizer, one for each grid key (empty where the synthesizer doesn't depend on
        it), analysis, replicate, estimand ("" for an analysis with a single one), truth where it is
        known, the analyses' numbers, and error and message where a replicate failed.
    keys : tuple of str
        Keys of the grid.
    folder : Path or str
        Where the results are kept, as results.parquet; or the address that they were loaded from.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> study = bdp.Study(data=[0, 1, 1, 0] * 25, synthesizers=[bdp.BetaBinomialSynthesizer],
    ...                   analyses=[bdp.BinomialModel()], grid={"epsilon": [2.0]},
    ...                   replicates=2, seed=7)
    >>> study.run(out="saved", client=None).save("memory://bucket/study.parquet")
    >>> len(bdp.evaluate.StudyResults.load("memory://bucket/study.parquet").frame)
    2
    """

    frame: pd.DataFrame
    keys: tuple[str, ...]
    folder: Path | str

    note = NOTE

    @staticmethod
    def load(folder: str | Path, *, options: Mapping[str, Any] | None = None) -> StudyResults:
        """Load the results in a study's folder, finished or not, or those saved at an address.

        Parameters
        ----------
        folder : path or str
            The study's folder; or an address that `save` wrote, as "s3://bucket/study.parquet".
        options : mapping, optional
            Options of the address's file system, as for `save`.

        Raises
        ------
        InvalidInput
            If it isn't a study's folder, a file in it is damaged, or the address can't be read.
        MissingDependency
            If an address needs a package that isn't installed.
        """
        if isinstance(folder, str) and addresses.is_address(folder):
            frame, keys = addresses.read(folder, options)
            return StudyResults(frame, keys, without_secrets(folder))
        if options is not None:
            raise InvalidInput("options goes with an address, as 's3://bucket/study.parquet'")
        return results_of(check_path("folder", folder))

    def save(
        self, url: str, *, options: Mapping[str, Any] | None = None, force: bool = False
    ) -> None:
        """Save the results at an address, by fsspec: as one Parquet file, which `load` reads.

        It has `frame`, the grid's keys and `note`, and no fingerprints of the data: a study can't
        go on from it. Results of confidential data are confidential there as well.

        Parameters
        ----------
        url : str
            Such as "s3://bucket/study.parquet", "gs://..." or "abfs://...". Object stores write it
            whole or not at all; of two that save to one address, the last one stays.
        options : mapping, optional
            Options of the address's file system, as fsspec calls them: ``{"profile": "work"}``,
            say, for S3.
        force : bool
            Whether to replace what is there.

        Raises
        ------
        InvalidInput
            If `url` isn't an address, or of a protocol that fsspec doesn't know.
        MissingDependency
            If fsspec, or its package for the protocol, isn't installed.
        ReleaseExists
            If something is there, and `force` isn't given.
        StudyStopped
            If it can't be written there.
        """
        addresses.write(self.frame, self.keys, url, options, force=force)

    @property
    def failures(self) -> pd.DataFrame:
        """Select the rows of replicates that failed, with their errors."""
        if "error" not in self.frame:
            return self.frame.iloc[:0]
        return self.frame[self.frame["error"].notna()]

    def summary(self) -> pd.DataFrame:
        """Average over replicates, with Monte Carlo standard errors.

        For a number x in R replicates, the mean and its standard error sd(x) / sqrt(R), with
        divisor R - 1 in sd. With a true value t, of each replicate or of all: the bias,
        mean(x - t), of "mean"; its root mean squared error, with the standard error
        sd((x - t)^2) / (2 rmse sqrt(R)) of the delta method; and the coverage c, the share with
        low <= t <= high, with the standard error sqrt(c (1 - c) / R); if c is 0 or 1, as if half a
        replicate were otherwise.

        Returns
        -------
        DataFrame
            One row for each synthesizer, cell, analysis and estimand, with the number of replicates
            that have numbers and of those that failed, and columns NAME and NAME_se. Rows are in
            the order of the synthesizers' names, then of the grid's keys as they were declared. A
            number is NaN where the analysis doesn't have it, or it is NaN in a replicate.
        """
        import pandas as pd

        cell = ["synthesizer", *self.keys, "analysis"]
        failed = self.failures.groupby(cell, dropna=False, sort=False).size()
        good = self.frame
        if "error" in good:
            good = good[good["error"].isna()]
        by = [*cell, "estimand"]
        rows = []
        for place, group in good.groupby(by, dropna=False, sort=False):
            where = dict(zip(by, place, strict=True))
            rows.append({**where, "replicates": len(group), **self._averages(group)})
        table = pd.DataFrame(rows, columns=None if rows else [*by, "replicates"])
        lost = failed.rename("failed").reset_index()
        table = table.merge(lost, on=cell, how="outer" if len(lost) else "left", sort=False)
        for name in ("replicates", "failed"):
            table[name] = table[name].fillna(0).astype("int64")
        table = table.sort_values(cell, kind="stable", ignore_index=True)
        ahead = [*by, "replicates", "failed"]
        return table[[*ahead, *(name for name in table.columns if name not in ahead)]]

    def _averages(self, group: pd.DataFrame) -> dict[str, float]:
        averages: dict[str, float] = {}
        columns = {
            str(name): group[name].to_numpy(dtype=np.float64, na_value=np.nan)
            for name in group.columns
            if name not in _NOT_NUMBERS and name not in self.keys and group[name].notna().any()
        }
        for name, x in columns.items():
            averages[name], averages[f"{name}_se"] = _mean(x)
        if "truth" not in group or group["truth"].isna().all():
            return averages
        truth = group["truth"].to_numpy(dtype=np.float64, na_value=np.nan)
        if "mean" in columns:
            away = columns["mean"] - truth
            averages["bias"], averages["bias_se"] = _mean(away)
            square, error = _mean(away**2)
            averages["rmse"] = root = float(np.sqrt(square))
            averages["rmse_se"] = error / (2 * root) if root else 0.0
        if {"low", "high"} <= set(columns):
            inside = (columns["low"] <= truth) & (truth <= columns["high"])
            known = ~np.isnan(columns["low"] + columns["high"] + truth)
            share = float(inside.mean()) if known.all() else float("nan")
            averages["coverage"] = share
            apart = np.clip(share, 0.5 / len(group), 1 - 0.5 / len(group))
            averages["coverage_se"] = float(np.sqrt(apart * (1 - apart) / len(group)))
        return averages

    def __str__(self) -> str:
        failed, first = self.failures, ""
        if len(failed):
            row = failed.iloc[0]
            said = [each for each in (row["error"], row.get("message")) if isinstance(each, str)]
            first = f" (the first with {': '.join(said)})"
        counts = f"{len(self.frame):,} rows, {len(failed):,} of them failed{first}"
        return f"{counts}, in {self.folder}. {self.note}"

    def __repr__(self) -> str:
        failed = f"{len(self.failures):,} of them failed"
        return f"<StudyResults: {len(self.frame):,} rows, {failed}, in {one_line(self.folder)}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import MOST_ROWS, card

        cells = self.summary()
        shown = ("mean", "bias", "rmse", "coverage")
        several = ["estimand"] if cells["estimand"].fillna("").ne("").any() else []
        names = ["synthesizer", *self.keys, "analysis", *several, "replicates", "failed"]
        names += [name for name in shown if name in cells]
        return card(
            "Results of a study",
            {
                "rows": f"{len(self.frame):,}",
                "failed": f"{len(self.failures):,}",
                "grid": listed(self.keys) or "none",
                "folder": self.folder,
            },
            rows=[dict(row) for _, row in cells[names].head(MOST_ROWS).iterrows()],
            among=len(cells),
            warning=self.note,
        )


def results_of(folder: Path, units: Collection[str] | None = None) -> StudyResults:
    """Read the results in a folder; with `units`, of these alone."""
    keys = tuple(read_manifest(folder)["keys"])
    table = Store(folder, keys).table()
    if table is None:
        raise InvalidInput(f"{quoted(folder)} has no results yet; run the study")
    if units is not None:
        table = table.filter([unit in units for unit in table["unit"].to_pylist()])
    # Numbers that only rows left out have are missing here, which isn't the same as NaN.
    there = [name for name in table.column_names if table[name].null_count < len(table)]
    shown = [name for name in table.column_names if name in {*there, *keys} - {"unit"}]
    return StudyResults(table.select(shown).to_pandas(), keys, folder)


def _mean(x: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and its standard error, which is NaN for a single number."""
    error: Any = x.std(ddof=1) / np.sqrt(x.size) if x.size > 1 else np.nan
    return float(x.mean()), float(error)
