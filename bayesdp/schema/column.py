"""A column of a schema: its cells, the codes of its values, and values drawn from codes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from bayesdp.schema.faults import Unfit
from bayesdp.schema.records import WORDS, read

MOST_CELLS = 1_000_000
MISSING = "missing"


class Column(BaseModel):
    """Declaration of a column, and what follows from it alone.

    Parameters
    ----------
    type : str
        Its kind: "category", "ordered", "boolean", "integer", "real" or "date".
    missing : bool
        Whether a missing value is a value of its own, whose code is the last.
    public : bool
        Whether the column is public.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    type: str
    missing: bool = False
    public: bool = False

    @property
    def declared(self) -> dict[str, Any]:
        """Fields that aren't as by default; labels 0 and 1 aren't False and True, their equals."""
        made = {}
        for key, field in type(self).model_fields.items():
            usual = field.get_default(call_default_factory=True, validated_data={})
            if repr(value := getattr(self, key)) != repr(usual):
                made[key] = value
        return made

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of cells, without that of missing values."""

    @property
    def cells(self) -> int:
        """Number of cells; where values may be missing, the last is theirs."""
        return self.size + self.missing

    @abstractmethod
    def places(self, kind: str, values: NDArray[Any]) -> NDArray[np.int64]:
        """Return each value's cell, or -1 outside; raise `Unfit` where the kind is wrong."""

    @abstractmethod
    def drawn(
        self, codes: NDArray[np.int64], missing: NDArray[np.bool_], rng: np.random.Generator
    ) -> Any:
        """Draw a value in each cell, in an array of pandas' or NumPy's; `missing` are marked."""

    @abstractmethod
    def picked(self, given: Any) -> NDArray[np.bool_]:
        """Mark the cells that a rule names, of `size`; ValueError says what it may name."""

    @property
    @abstractmethod
    def shown(self) -> tuple[Any, ...]:
        """Labels of the cells, without that of missing values."""

    @property
    def names(self) -> tuple[Any, ...]:
        """Labels of all cells; where values may be missing, the last is `MISSING`."""
        return (*self.shown, MISSING) if self.missing else self.shown

    @property
    def middles(self) -> NDArray[np.float64] | None:
        """Number that stands for each cell in a regression, or None where labels do."""
        return None

    @property
    def widths(self) -> NDArray[np.float64] | None:
        """Width of each cell, in the numbers that it is coded by; None where there are none."""
        return None

    @property
    def variances(self) -> NDArray[np.float64] | None:
        """Variance of numbers that are uniform in each cell; None where cells aren't intervals."""
        return None

    @property
    @abstractmethod
    def outside_said(self) -> str:
        """Words about records outside the schema, and the way out."""

    @property
    @abstractmethod
    def takes(self) -> tuple[str, ...]:
        """Kinds of values that the column takes."""

    @property
    @abstractmethod
    def way_out(self) -> str:
        """Advice on values of another kind."""

    @property
    def way_out_of_file(self) -> str:
        """Advice on values of a text file that can't be read as the column's kind."""
        return "correct them by a public rule, or declare the column otherwise"

    def coded(self, given: Any) -> NDArray[Any]:
        """Return each record's code, the cell's number from 0; it depends on that record alone.

        Raises
        ------
        Unfit
            If a value is of another kind, outside, or missing where none may be.
        """
        found = read(given)
        if not self.missing and found.missing.any():
            raise Unfit("has missing values; declare missing = true")
        codes = np.full(found.missing.size, self.size, dtype=np.min_scalar_type(self.cells - 1))
        if found.kind == "nothing":
            return codes
        if found.kind not in self.takes:
            raise Unfit(f"holds {WORDS[found.kind]}, but its type is {self.type}; {self.way_out}")
        places = self.places(found.kind, found.values)
        if np.any(places < 0):
            raise Unfit(self.outside_said)
        codes[~found.missing] = found.each(places)
        return codes
