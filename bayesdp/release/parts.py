"""Parts of a release, and a release as its folder sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from bayesdp.mechanisms.base import AnyGuarantee, Mechanism
from bayesdp.release.manifest import Label, Origin

MANIFEST = "manifest.json"
OUTPUTS = "outputs.parquet"


@dataclass(frozen=True, slots=True)
class Part:
    """One group's mechanism and its released copies."""

    group: Label
    mechanism: Mechanism
    outputs: tuple[Any, ...]


class Written(Protocol):
    """Protocol of a release as its folder sees it; `Release` satisfies it."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts, one for each group."""

    @property
    def variable(self) -> str:
        """The counted variable."""

    @property
    def by(self) -> str | None:
        """The grouping variable, if any."""

    @property
    def delta(self) -> float:
        """The delta at which the guarantee is stated."""

    @property
    def origin(self) -> Origin:
        """Who drew the outputs."""

    @property
    def reproducible(self) -> bool:
        """True if the outputs were drawn from a seeded generator."""

    @property
    def copies(self) -> int:
        """Number of copies."""

    @property
    def guarantee(self) -> AnyGuarantee:
        """The guarantee of all outputs together."""
