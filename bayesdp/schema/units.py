"""The unit that a promise protects: one record, or a person with at most so many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import Column
from bayesdp.schema.faults import Contradiction

if TYPE_CHECKING:
    import pandas as pd

RECORD = "record"


@dataclass(frozen=True)
class Person:
    """A person with several records, of which at most so many are used.

    Parameters
    ----------
    person : str
        The column of persons' ids, which isn't one of the schema's.
    most : int
        Largest number of a person's records that are used.
    """

    person: str
    most: int


def declared_unit(unit: Any, columns: Mapping[str, Column]) -> str | Person:
    """Return the unit that is declared.

    Raises
    ------
    Contradiction
        If it is none, or the ids' column is one of those that are modelled.
    """
    if isinstance(unit, str) and unit == RECORD:
        return unit
    given = vars(unit) if isinstance(unit, Person) else unit
    if not isinstance(given, Mapping) or set(given) != {"person", "most"}:
        said = f" is {quoted(unit)}; it must be 'record', or {{ person = 'id', most = 3 }}"
        raise Contradiction([(("unit",), said)])
    person, most = given["person"], given["most"]
    if not isinstance(person, str) or not person:
        raise Contradiction([(("unit",), ": person must be the name of the column of ids")])
    if type(most) is not int or most < 1:
        said = ": most must be a whole number of records, at least 1"
        raise Contradiction([(("unit",), said)])
    if person in columns:
        why = "is public, but ids name persons" if columns[person].public else "would be modelled"
        said = f": person is column {quoted(person)}, which {why}; leave it out of columns"
        raise Contradiction([(("unit",), said)])
    return Person(person, most)


def first_of_each(frame: pd.DataFrame, unit: Person) -> pd.DataFrame:
    """Return each person's first records, in the order of the frame.

    Raises
    ------
    InvalidInput
        If the ids' column isn't there, or an id is missing.
    """
    if unit.person not in frame.columns or not frame.columns.is_unique:
        raise InvalidInput(
            f"frame has no single column {quoted(unit.person)}, which has the persons' ids"
        )
    ids = frame[unit.person]
    if ids.isna().any():
        raise InvalidInput(
            f"column {quoted(unit.person)} has missing values; give every record its person's id, "
            "one of its own where the person is unknown"
        )
    return frame[(frame.groupby(ids, sort=False, observed=True).cumcount() < unit.most).to_numpy()]
