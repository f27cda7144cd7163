"""Ready-to-run analyses: one TOML file declares the data, synthesizer, model and engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from bayesdp import resources
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.declarations import model_of, synthesizer_of
from bayesdp.evaluation.declared_files import read_declared
from bayesdp.release import Release
from bayesdp.storage import whole_folder
from bayesdp.synthesis.tables import answers, check_values, group_labels, read_table

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd

POSTERIOR = "posterior.nc"
RELEASE = "release"
REPORT = "report"

Progress = Callable[[str, float], None]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DataSection(_Section):
    """Declaration of the confidential records; see `read_table`, `answers` and `group_labels`."""

    source: str
    column: str | None = None
    columns: list[str] | None = None
    """Several, for a synthesizer of tables."""
    by: str | None = None
    equals: str | None = None
    values: list[str] | None = None
    """All that may occur, with `equals`."""
    above: float | None = None
    labels: dict[str, str] | None = None
    public: bool = False
    """Public benchmark data: the report may show the true proportions."""

    @model_validator(mode="after")
    def _one_way(self) -> DataSection:
        if (self.column is None) == (self.columns is None):
            raise ValueError("give either column or columns")
        if self.columns is not None and (self.equals, self.above) != (None, None):
            raise ValueError("equals and above are about one column; give column, not columns")
        check_values(self.equals, self.values)
        return self

    def answers(self, frame: Any) -> Any:
        """Return the column as 0/1 answers."""
        column = frame[self.column]
        return answers(column, equals=self.equals, values=self.values, above=self.above)


class SynthesizerSection(BaseModel):
    """Declaration of a synthesizer: its name, and its parameters; see `synthesizer_of`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class ModelSection(BaseModel):
    """Declaration of a model: its family, and its parameters; see `model_of`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    family: str


class EngineSection(_Section):
    """Declaration of the arguments of `fit`; the model's defaults apply where none is given."""

    engine: str | None = None
    draws: int | None = None
    chains: int | None = None
    warmup: int | None = None
    seed: int | None = None


class Analysis(_Section):
    """Declaration of a whole analysis, as read from a TOML file."""

    title: str
    data: DataSection | None = None
    synthesizer: SynthesizerSection | None = None
    release: str | None = None
    """An existing release folder, instead of data and a synthesizer."""
    model: ModelSection
    fit: EngineSection = Field(default_factory=EngineSection)

    @model_validator(mode="after")
    def _one_source(self) -> Analysis:
        made = self.data is not None and self.synthesizer is not None
        if made == (self.release is not None) or (self.data is None) != (self.synthesizer is None):
            raise ValueError("give either [data] and [synthesizer], or release")
        return self


@dataclass(frozen=True)
class Result:
    """Result of an analysis: its folder, release, posterior and model.

    Attributes
    ----------
    folder : Path
        Folder with `release/` (unless it existed before), `posterior.nc` and `report/index.html`.
    release, idata
        The release, and the posterior given it.
    reference : mapping or None
        True proportion of each group, for public yes/no data.
    """

    folder: Path
    release: Release
    idata: az.InferenceData
    model: Any
    reference: Any


def find_analysis(name: str) -> Path:
    """The path of an analysis: a TOML file, or the name of a shipped one.

    Raises
    ------
    InvalidInput
        If there is neither; the message lists the shipped analyses.
    """
    path = Path(name)
    if path.is_file():
        return path
    shipped = resources.shipped("models")
    candidate = shipped / f"{path.stem}.toml"
    if candidate.is_file() and path.suffix in ("", ".toml"):
        return candidate
    names = ", ".join(sorted(file.stem for file in shipped.glob("*.toml")))
    raise InvalidInput(
        f"{quoted(name)} is neither a release folder nor an analysis; give a folder, a .toml file "
        f"or the name of a shipped analysis: {names}"
    )


def load_analysis(path: Path) -> Analysis:
    """Read and validate an analysis.

    Raises
    ------
    InvalidInput
        If the file can't be read, isn't TOML, or a key is unknown, missing or of a wrong type.
    """
    return read_declared(path, Analysis)


def run_analysis(
    name: str,
    out: Path,
    *,
    force: bool = False,
    progress: Progress = lambda description, done: None,
) -> Result:
    """Synthesize, fit and report, into one folder that appears whole or not at all.

    Parameters
    ----------
    name : str
        A TOML file, or the name of a shipped analysis.
    out : Path
        Folder to make.
    force : bool
        Whether to replace an earlier result there.
    progress : callable
        Called with the name of each step as it starts, and the fraction done so far.

    Raises
    ------
    InvalidInput, ReleaseExists, ...
        As raised by the steps; nothing is written then.
    """
    from bayesdp.report.html import write_report

    path = find_analysis(name)
    analysis = load_analysis(path)
    model = model_of(analysis.model.family, analysis.model.model_extra or {})
    with whole_folder(out, POSTERIOR, force=force) as work:
        release, reference = _released(analysis, path.parent, progress)
        if analysis.release is None:
            release.save(work / RELEASE)
        progress("fit the posterior of what was released", 0.6)
        idata = model.fit(release, **analysis.fit.model_dump(exclude_none=True))
        idata.to_netcdf(str(work / POSTERIOR))
        progress("write the report", 0.8)
        write_report(idata, release, work / REPORT, title=analysis.title, reference=reference)
    return Result(out, release, idata, model, reference)


def _released(analysis: Analysis, folder: Path, progress: Progress) -> tuple[Release, Any]:
    if analysis.data is None or analysis.synthesizer is None:
        progress("read the release", 0.2)
        return Release.load(folder / str(analysis.release)), None
    data, declared = analysis.data, analysis.synthesizer
    synthesizer = synthesizer_of(declared.name, declared.model_extra or {})
    progress("read the confidential records", 0.2)
    source = data.source
    if ":" not in source and not Path(source).is_absolute():
        source = str(folder / source)
    columns = data.columns or [str(data.column)]
    written = ((data.column, data.equals), (data.by, data.labels))
    text = [name for name, given in written if name and given is not None]
    text += _texts(synthesizer, data.by)
    frame = read_table(source, [*columns, *([data.by] if data.by else [])], text=text)
    records: Any = frame[columns]
    if data.column is not None:
        records = data.answers(frame)
    by = group_labels(frame[data.by], data.labels) if data.by else None
    progress("draw private copies", 0.4)
    release = synthesizer.release(records, **({} if by is None else {"by": by}))
    shown = data.public and analysis.model.family == "binomial"
    return release, _true_proportions(records, by) if shown else None


def _texts(synthesizer: Any, by: str | None) -> list[str]:
    """List the columns whose listed labels are strings, and are read from a file as such."""
    labels = dict(getattr(synthesizer, "categories", None) or {})
    for step in getattr(synthesizer, "steps", ()):
        labels |= dict(step.columns)
    if by is not None:
        labels[by] = getattr(synthesizer, "groups", None) or ()
    return [name for name, given in labels.items() if {type(v) for v in given} == {str}]


def _true_proportions(values: pd.Series[Any], by: pd.Series[Any] | None) -> Any:
    if by is None:
        return float(values.mean())
    return values.astype(float).groupby(by, observed=True).mean().to_dict()
