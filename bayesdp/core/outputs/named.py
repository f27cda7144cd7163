"""Spaces of named numbers: coefficients, moments, statistics of a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float
from bayesdp.core.outputs import OutputSpace, as_sequence, rows_of, structured, values_of
from bayesdp.errors import InvalidInput, quoted

_FARTHEST = 2.0**53  # steps: floats are exact up to there


@dataclass(frozen=True, slots=True)
class NamedNumbers(OutputSpace):
    """One number for each name, a multiple of its step.

    Attributes
    ----------
    names : tuple of str
    steps : tuple of float
    kind : str
        What the names refer to, such as "coefficient".
    whole : tuple of bool
        Which numbers are integers; by default none.
    """

    names: tuple[str, ...]
    steps: tuple[float, ...]
    kind: str = "number"
    whole: tuple[bool, ...] = ()

    def check(self, output: Any) -> tuple[int | float, ...]:
        """Return the output as a tuple of numbers, or raise InvalidInput."""
        values = as_sequence(output)
        if len(values) != len(self.names):
            raise InvalidInput(
                f"output is {quoted(output)}; this mechanism releases {len(self.names)} numbers: "
                f"{', '.join(self.names)}"
            )
        of = zip(self.names, values, self.steps, self._kinds, strict=True)
        for name, value, step, kind in of:
            number = as_float(value)
            if not (abs(number) / step <= _FARTHEST and number % step == 0):
                whole = kind is int and step == 1
                raise InvalidInput(
                    f"output has {quoted(value)} for {name}; this mechanism releases "
                    + ("integers" if whole else f"multiples of {quoted(step)}")
                )
        return tuple(kind(value) for kind, value in zip(self._kinds, values, strict=True))

    @property
    def _kinds(self) -> tuple[type[int] | type[float], ...]:
        """Type of each number."""
        whole = self.whole or (False,) * len(self.names)
        return tuple(int if each else float for each in whole)

    def records(self, output: Any) -> NDArray[Any]:
        """Numbers with their names: a structured array of columns `kind` and value."""
        return structured(
            [(self.kind, np.array(self.names)), ("value", np.array(output, np.float64))]
        )


@dataclass(frozen=True, slots=True)
class NamedRows(NamedNumbers):
    """Named numbers, which a table shows in rows of a name and a value."""

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as columns copy, `kind` and value, one row for each name."""
        return {
            "copy": np.repeat(np.arange(len(outputs)), len(self.names)),
            self.kind: np.tile(np.array(self.names), len(outputs)),
            "value": np.asarray(outputs, dtype=np.float64).ravel(),
        }

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the numbers, unchecked, in the order of their copies."""
        number = {name: k for k, name in enumerate(self.names)}
        given = np.asarray(columns[self.kind]).tolist()
        places = np.array([number.get(str(name), -1) for name in given], dtype=np.int64)
        return rows_of({**columns, self.kind: places}, len(self.names), self.kind)


@dataclass(frozen=True, slots=True)
class NamedColumns(NamedNumbers):
    """Named numbers, each of which is a column of a table."""

    def records(self, output: Any) -> NDArray[Any]:
        """Numbers as one record with a column for each: a structured array of shape (1,)."""
        return np.array([tuple(output)], dtype=list(zip(self.names, self._kinds, strict=True)))

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as column copy and one for each name, with one row for each copy."""
        columns = {
            name: np.array([output[k] for output in outputs], dtype=kind)
            for k, (name, kind) in enumerate(zip(self.names, self._kinds, strict=True))
        }
        return {"copy": np.arange(len(outputs)), **columns}

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Decode the numbers, unchecked, in the order of their copies."""
        values = [values_of(columns, name).tolist() for name in self.names]
        return list(zip(*values, strict=True))
