"""Ready-to-run analyses: one TOML file declares the data, synthesizer, model and engine."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bayesdp import resources
from bayesdp.declared_files import read_declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.combine_section import CombineSection
from bayesdp.evaluation.data_section import DataSection
from bayesdp.evaluation.declarations import located, model_of, release_of, synthesizer_named
from bayesdp.release import Release
from bayesdp.storage import whole_folder

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd

POSTERIOR = "posterior.nc"
COMBINED = "combined.csv"
RELEASE = "release"
REPORT = "report"

Progress = Callable[[str, float], None]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SynthesizerSection(BaseModel):
    """Declaration of a synthesizer: its name, and its parameters; see `release_of`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class ModelSection(BaseModel):
    """Declaration of a model: its family, and its parameters; see `model_of`."""

    model_config = ConfigDict(extra="allow", frozen=True)

    family: str

    def parameters(self, folder: Path) -> dict[str, Any]:
        """Return the model's parameters; a source is a file beside this one, in this folder."""
        made = dict(self.model_extra or {})
        if isinstance(made.get("source"), str):
            made["source"] = str(folder / made["source"])
        return made


class Analysis(_Section):
    """Declaration of a whole analysis, as read from a TOML file."""

    title: str
    data: DataSection | None = None
    synthesizer: SynthesizerSection | None = None
    release: str | None = None
    """An existing release folder, instead of data and a synthesizer."""
    model: ModelSection | None = None
    fit: dict[str, Any] = Field(default_factory=dict)
    """Arguments of the model's `fit`, its own options and its engines' settings among them."""
    combine: CombineSection | None = None
    """Instead of a model, where none reads the release: a quantity of each copy, combined."""

    @model_validator(mode="after")
    def _one_source(self) -> Analysis:
        made = self.data is not None and self.synthesizer is not None
        if made == (self.release is not None) or (self.data is None) != (self.synthesizer is None):
            raise ValueError("give either [data] and [synthesizer], or release")
        if (self.model is None) == (self.combine is None) or (self.combine and self.fit):
            raise ValueError("give either [model], perhaps with [fit], or [combine]")
        if self.combine is not None and self.data is not None:
            columns = {*(self.data.columns or ()), self.data.column}
            if self.data.by is not None or not set(self.combine.columns) <= columns:
                raise ValueError("[combine] is of the columns in [data], all groups together")
        return self


@dataclass(frozen=True)
class Result:
    """Result of an analysis: its folder, release, posterior and model.

    Attributes
    ----------
    folder : Path
        Folder with `release/` (unless it existed before), `posterior.nc`, or `combined.csv`, and
        `report/index.html`.
    release, idata
        The release, and the posterior given it; None where its copies were combined.
    model : Model or None
    reference : mapping, float or None
        What public data say themselves, as `write_report` takes it: the true proportion of each
        group, for yes/no data, and else estimates by the names of the posterior's variables.
    naive : InferenceData or None
        The model's naive posterior, where it has one.
    combined : DataFrame or None
        Where copies were combined: estimates and intervals, as `CombineSection.combined` has them.
    level : float
        Level of its intervals.
    caveats : tuple of str
        What they don't say.
    """

    folder: Path
    release: Release
    idata: az.InferenceData | None
    model: Any
    reference: Any
    naive: az.InferenceData | None = None
    combined: pd.DataFrame | None = None
    level: float = 0.95
    caveats: tuple[str, ...] = ()


def shipped_analyses() -> list[str]:
    """Names of the ready-to-run analyses."""
    return sorted(file.stem for file in resources.shipped("models").glob("*.toml"))


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
    raise InvalidInput(
        f"{quoted(name)} is neither a release folder nor an analysis; give a folder, a .toml file "
        f"or the name of a shipped analysis: {', '.join(shipped_analyses())}"
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
    fit: Mapping[str, Any] | None = None,
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
    fit : mapping, optional
        Arguments of the model's `fit`, instead of the file's.
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
    if analysis.model is None:
        if fit:
            raise InvalidInput(
                f"{', '.join(fit)}: this analysis combines its copies, and fits no model that "
                "these options are for; leave them out"
            )
        section = cast(CombineSection, analysis.combine)  # there is one or the other
        return _run_combined(analysis, section, path.parent, out, force, progress)
    model = model_of(analysis.model.family, analysis.model.parameters(path.parent))
    sampling = checked_fit(model, {**analysis.fit, **(fit or {})})
    with whole_folder(out, POSTERIOR, force=force) as work:
        release, data, by = _released(analysis, path.parent, progress)
        if analysis.release is None:
            release.save(work / RELEASE)
        progress("fit the posterior of what was released", 0.6)
        idata = model.fit(release, **sampling)
        idata.to_netcdf(str(work / POSTERIOR))
        progress("fit the naive posterior", 0.8)
        naive = _naive(model, release, sampling)
        progress("write the report", 0.9)
        reference = None
        if analysis.data is not None and analysis.data.public:
            reference = _reference(model, data, by, release, idata.posterior)
        write_report(
            idata, release, work / REPORT, title=analysis.title, reference=reference, naive=naive
        )
    return Result(out, release, idata, model, reference, naive)


def _run_combined(
    analysis: Analysis,
    section: CombineSection,
    folder: Path,
    out: Path,
    force: bool,
    progress: Progress,
) -> Result:
    """Synthesize, combine and report."""
    from bayesdp.report.combined import write_combined

    with whole_folder(out, COMBINED, force=force) as work:
        release, data, _ = _released(analysis, folder, progress)
        if analysis.release is None:
            release.save(work / RELEASE)
        progress("combine the copies", 0.8)
        public = analysis.data is not None and analysis.data.public
        found = section.combined(release.to_frames(), data if public else None)
        found.to_csv(work / COMBINED)
        progress("write the report", 0.9)
        caveats = tuple(section.caveats)
        write_combined(found, release, work / REPORT, analysis.title, section.level, caveats)
    reference = found["reference"].to_dict() if "reference" in found else None
    return Result(
        out,
        release,
        None,
        None,
        reference,
        combined=found,
        level=section.level,
        caveats=caveats,
    )


def checked_fit(model: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a model's `fit`, or raise InvalidInput before anything is released.

    Another package's model that has no `check_fit` checks them when it is fitted.
    """
    try:
        if hasattr(model, "check_fit"):
            model.check_fit(**arguments)
    except InvalidInput as error:
        raise InvalidInput(f"fit.{error}") from error
    except TypeError as error:
        raise InvalidInput(f"fit: {error}") from error
    return dict(arguments)


def _released(analysis: Analysis, folder: Path, progress: Progress) -> tuple[Release, Any, Any]:
    """Return the release, and the data and groups that it is of, where they are here."""
    if analysis.data is None or analysis.synthesizer is None:
        progress("read the release", 0.2)
        return Release.load(folder / str(analysis.release)), None, None
    declared, given = analysis.data, analysis.synthesizer
    declared.check_taken_by(given.name, synthesizer_named(given.name))
    fields = located(given.name, given.model_extra or {}, folder)
    synthesizer, settings = release_of(given.name, fields)
    progress("read the confidential data", 0.2)
    data, by = declared.read(folder, synthesizer)
    progress("draw private copies", 0.4)
    release = synthesizer.release(data, **({} if by is None else {"by": by}), **settings)
    return release, data, by


def _naive(model: Any, release: Release, sampling: Mapping[str, Any]) -> az.InferenceData | None:
    """Fit the posterior that takes what was released for real data, where the model has one."""
    sizes = ("draws", "chains", "warmup", "seed")
    try:
        with warnings.catch_warnings():  # it is wrong, well sampled or not
            warnings.simplefilter("ignore", UserWarning)
            arguments = {name: sampling[name] for name in sizes if name in sampling}
            fitted: az.InferenceData = model.fit_naive(release, **arguments)
    except InvalidInput:
        return None
    return fitted


def _reference(model: Any, data: Any, by: Any, release: Release, posterior: Any) -> Any:
    """Return what public data say of the posterior's variables, or None where nothing is known."""
    from bayesdp.evaluation.truth import truth

    found = truth(model, data, by, release, posterior)
    if model.family == "binomial" and "p" in found:
        shares = np.atleast_1d(found["p"]).tolist()
        return shares[0] if by is None else dict(zip(release.groups, shares, strict=True))
    shapes = {
        name: variable.transpose("chain", "draw", ...).shape[2:]
        for name, variable in posterior.data_vars.items()
    }
    return {name: each for name, each in found.items() if shapes.get(name) == each.shape} or None
