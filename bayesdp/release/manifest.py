"""The manifest of a release: how it was made, in public inputs and released values only."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bayesdp.checks import is_label, is_text
from bayesdp.core.fields import is_later, written
from bayesdp.errors import InvalidInput, InvalidRelease, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.registry import mechanism_named
from bayesdp.release.manifest_text import SEAL, check_seal, read_json, sealed

FORMAT: Final = "bayesdp-release"
VERSION: Final = 2

STUMBLES: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that code written for sound values may raise for others."""

Label = bool | str | int | float | None
Origin = Literal["bayesdp", "elsewhere"]


def check_label(raw: Any) -> Label:
    """Return a group's label as a plain Python value, or raise InvalidInput."""
    value: Any = raw.item() if hasattr(raw, "item") else raw  # numpy's scalars
    if not is_label(value):
        raise InvalidInput(
            f"group label is of type {type(raw).__name__}, or infinite, or has characters that no "
            "file keeps; labels are texts, numbers or booleans (convert the column with "
            ".astype(str))"
        )
    return value  # type: ignore[no-any-return]


def check_apart(groups: Iterable[Any]) -> None:
    """Raise InvalidInput where groups that differ would have one name in a posterior.

    Its coordinates are an array of one type, in which a single text turns every 1 into "1".
    """
    labels = list(groups)
    if len(set(map(str, labels))) < len(set(labels)):
        raise InvalidInput(
            "two groups have labels that are one text, as 1 and '1' are; rename one of them, or "
            "convert the column with .astype(str) if they are the same group"
        )


def check_names(variable: Any, by: Any) -> None:
    """Raise InvalidInput unless the names of the variable and of the groups are texts."""
    for argument, name in (("variable", variable), ("by", by)):
        if not (is_text(name) or (argument == "by" and name is None)):
            raise InvalidInput(f"{argument} is {quoted(name)}; it must be a column's name, a text")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class MechanismEntry(_Strict):
    """A mechanism's name and public parameters."""

    name: str
    parameters: dict[str, Any]

    @classmethod
    def of(cls, mechanism: Mechanism) -> MechanismEntry:
        """Describe a mechanism."""
        return cls(name=mechanism.name, parameters=json.loads(json.dumps(written(mechanism))))

    def build(self) -> Mechanism:
        """The mechanism described, its parameters validated by its own rules.

        Raises
        ------
        InvalidRelease
            If the name is unknown, or the parameters aren't the mechanism's or are out of range.
        """
        made = mechanism_named(self.name)
        fields = dataclasses.fields(made)
        expected = {field.name for field in fields}
        old = {field.name for field in fields if not is_later(field)}
        if not old <= set(self.parameters) <= expected:
            raise InvalidRelease(
                f"mechanism {quoted(self.name)} has parameters {sorted(self.parameters)}; "
                f"they must be {sorted(expected)}"
            )
        try:
            mechanism: Mechanism = made(**self.parameters)
        except STUMBLES as error:
            raise InvalidRelease(f"mechanism {quoted(self.name)}: {error}") from error
        if MechanismEntry.of(mechanism).parameters != self.parameters:
            raise InvalidRelease(
                f"mechanism {quoted(self.name)} isn't written in full: a parameter within another "
                "is missing, or isn't as a manifest has it; get the release again from who made it"
            )
        return mechanism


class PartEntry(_Strict):
    """One group's label (None where there are no groups) and mechanism."""

    group: Label
    mechanism: MechanismEntry


class GuaranteeEntry(_Strict):
    """The promise, for a reader; it is recomputed from the mechanisms when loaded."""

    epsilon: float
    delta: float
    neighbours: str
    strength: str
    assumptions: list[str]
    source: str
    rho: float | None = None


class LawClassEntry(_Strict):
    """A class of laws of the data."""

    name: str
    parameters: list[tuple[str, Any]]


class DistributionalEntry(_Strict):
    """A distributional promise, which is about a class of laws and no neighbours."""

    epsilon: float
    delta: float
    class_in_words: str
    class_as_data: LawClassEntry
    known_records: int
    definition: str
    level: str
    strength: str
    assumptions: list[str]
    source: str


class OutputsEntry(_Strict):
    """The file that holds the released values, and its SHA-256."""

    file: Literal["outputs.parquet"] = "outputs.parquet"
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class SealEntry(_Strict):
    """A hash of everything else in the manifest, and its signature if it has a key."""

    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    hmac_sha256: str | None = Field(pattern="^[0-9a-f]{64}$")


class Manifest(_Strict):
    """Everything that a release folder says of itself.

    Version 1, which had no seal yet, is read too.
    """

    format: Literal["bayesdp-release"] = FORMAT
    version: Literal[1, 2] = VERSION
    software: str
    origin: Origin
    reproducible: bool
    variable: str
    by: str | None
    delta: float = Field(default=0.0, ge=0, lt=1)
    copies: int = Field(ge=1)
    parts: list[PartEntry] = Field(min_length=1)
    guarantee: GuaranteeEntry | DistributionalEntry | None
    outputs: OutputsEntry
    seal: SealEntry | None = None

    def text(self, key: bytes | None = None) -> str:
        """The manifest as it is written, with its seal."""
        written = self.model_dump(mode="json", exclude={"seal"})
        return json.dumps(sealed(written, key), indent=2) + "\n"


def parse_manifest(text: str, where: str, key: bytes | None = None) -> Manifest:
    """Validate a manifest's text, and its signature where a key is given.

    Raises
    ------
    InvalidRelease
        If it is truncated, not a release's, from a newer version, was edited, or has
        missing, unknown or mistyped fields; the message names them.
    """
    raw = read_json(text, where)
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise InvalidRelease(
            f"{where} is not a bayesdp release: its format is not {quoted(FORMAT)}"
        )
    version = raw.get("version")
    if isinstance(version, int) and version > VERSION:
        raise InvalidRelease(
            f"{where} has version {version}, written by a newer bayesdp; this one reads up to "
            f"version {VERSION}: pip install --upgrade bayesdp"
        )
    if (SEAL in raw) == (version == 1):
        raise InvalidRelease(f"{where} needs a {SEAL} from version 2 on, and has none in version 1")
    check_seal(raw, key, where)
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()[:5]
        )
        raise InvalidRelease(f"{where} is not a valid manifest: {faults}") from error
