"""Studies in TOML: one file declares the data, synthesizers, analyses and grid.

title = "Which epsilon, and how many copies"
replicates = 200
seed = 7

[data]                       # simulated: a law of `laws`, its arguments here or in the grid
law = "bernoulli"
p = 0.3
# or records, as in an analysis: source = "survey.csv", column = "voted", public = true

[grid]
n = [100, 1000]
epsilon = [0.5, 1.0, 2.0]
copies = [1, 5]

[synthesizers.copies]        # any name; `name` is that of a synthesizer, and the rest fixed
name = "beta_binomial"

[analyses.posterior]         # any name; a model's family and its parameters
family = "binomial"
prior = [1, 1]               # and, of a `ModelAnalysis`: level = 0.9, variables = ["beta"],
                             # fit = { draws = 1000 }

[truth]                      # of records, not of a law: known numbers, by the estimands' names
p = 0.3
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from bayesdp.declared_files import check_declared, read_declared
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.data_section import DataSection
from bayesdp.evaluation.declarations import model_of, synthesizer_class
from bayesdp.evaluation.studies.laws import LAWS
from bayesdp.evaluation.studies.models import ModelAnalysis
from bayesdp.evaluation.studies.study import Study


class _Synthesizer(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


class _Analysis(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)

    family: str
    level: float = 0.95
    variables: tuple[str, ...] | None = None
    fit: dict[str, Any] | None = None


class StudyFile(BaseModel):
    """Declaration of a whole study, as read from a TOML file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = "Study"
    replicates: int = Field(100, strict=True)
    seed: int = Field(strict=True)
    out: str | None = None
    data: dict[str, Any]
    grid: dict[str, list[Any]]
    synthesizers: dict[str, _Synthesizer]
    analyses: dict[str, _Analysis]
    truth: float | dict[str, float] | None = None


def load_study(path: Path, *, replicates: int | None = None) -> tuple[StudyFile, Study]:
    """Read a study's file, and the records that it names.

    Parameters
    ----------
    path : Path
    replicates : int, optional
        Number of replicates, instead of the file's.

    Raises
    ------
    InvalidInput
        If the file isn't there, isn't TOML, or has a key that is unknown, missing or of a wrong
        type; or if it names a table, column, law, synthesizer, model, parameter or grid key that
        isn't there.
    """
    if not path.is_file():
        there = "which is a folder" if path.is_dir() else "but there is no such file"
        raise InvalidInput(f"study is {quoted(path)}, {there}; give a TOML file")
    declared = read_declared(path, StudyFile)
    data, public = _data(declared.data, path)
    if declared.truth is not None and "law" in declared.data:
        raise InvalidInput(
            f"{quoted(path)} has a truth, and the law {quoted(declared.data['law'])} knows its "
            "own; leave [truth] out"
        )
    study = Study(
        data=data,
        synthesizers={name: _maker(name, each) for name, each in declared.synthesizers.items()},
        analyses={name: _analysis(name, each) for name, each in declared.analyses.items()},
        grid=declared.grid,
        replicates=declared.replicates if replicates is None else replicates,
        seed=declared.seed,
        truth=declared.truth,
        public=public,
    )
    return declared, study


def _data(section: Mapping[str, Any], path: Path) -> tuple[Any, bool]:
    """Make records or a law that draws them, and say whether they are public."""
    if "law" in section:
        return _law(dict(section)), True
    data = check_declared(path, DataSection, section, "data")
    if data.takes != "records":
        raise InvalidInput("data is of a network; a study's are records, or a law's")
    if data.by is not None or data.labels is not None:
        raise InvalidInput("data.by is given, but a study's records have no groups; leave it out")
    return data.read(path.parent)[0], data.public


def _law(given: dict[str, Any]) -> Any:
    name = given.pop("law")
    if name not in LAWS:
        raise InvalidInput(f"data.law is {quoted(name)}; it must be one of {', '.join(LAWS)}")
    known = list(inspect.signature(LAWS[name]).parameters)[1:]
    for parameter in given:
        if parameter not in known:
            raise InvalidInput(
                f"data.{parameter}: the law {quoted(name)} has no such parameter; it has "
                f"{', '.join(known)}"
            )
    return partial(LAWS[name], **given)


def _maker(name: str, section: _Synthesizer) -> Any:
    try:
        cls, fixed = synthesizer_class(section.name, section.model_extra or {})
    except InvalidInput as error:
        raise InvalidInput(f"synthesizers.{name}: {error}") from error
    return partial(cls, **fixed)


def _analysis(name: str, section: _Analysis) -> ModelAnalysis:
    try:
        model = model_of(section.family, section.model_extra or {})
        return ModelAnalysis(model, section.level, section.fit, section.variables)
    except InvalidInput as error:
        raise InvalidInput(f"analyses.{name}: {error}") from error
