"""The unit that a promise protects: one record, or a person with at most so many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.schema.column import Column
from bayesdp.schema.faults import Contradiction
from bayesdp.schema.records import read

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


def check_frame(frame: Any) -> None:
    """Raise InvalidInput unless it is a DataFrame of pandas."""
    if not hasattr(frame, "columns") or not hasattr(frame, "groupby"):
        raise InvalidInput(
            f"frame is {quoted(frame)}; it must be a DataFrame of pandas: pd.DataFrame(columns) of "
            "a mapping, or frame.to_pandas() of another package's"
        )


class FirstOfEach:
    """The first records of each person, over a frame or batches of one, in their order.

    A record is kept if fewer than `most` records of its person came before it, in its batch or an
    earlier one: where batches end makes no difference. A person's number of earlier records is all
    that is held of the records, in memory alone. A new one starts afresh.

    Whether two records are of one person depends on their two ids alone, each read by itself: texts
    as they are written, so that "1", "01" and "1.0" are three persons; whole numbers by their
    value, so that 1 and 1.0 are one. What could make it depend on others is refused: texts in one
    record and numbers in another, which one reader tells apart and another doesn't, and floats too
    large for their type to tell whole numbers apart, of which several persons' may be one.

    Parameters
    ----------
    unit : Person
    """

    def __init__(self, unit: Person) -> None:
        self._unit = unit
        self._kind: str | None = None
        self._seen: dict[Any, int] = {}

    def of(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the records of the next batch that are kept.

        Raises
        ------
        InvalidInput
            If the ids' column isn't there, or an id is missing or can't be told from others.
        """
        import pandas as pd

        persons, places = self._persons(frame)
        earlier = np.fromiter((self._seen.get(one, 0) for one in persons), np.int64, len(persons))
        within = pd.Series(places).groupby(places, sort=False).cumcount().to_numpy()
        later = earlier + np.bincount(places, minlength=len(persons))
        self._seen.update(zip(persons, np.minimum(later, self._unit.most).tolist(), strict=True))
        return frame[earlier[places] + within < self._unit.most]

    def _persons(self, frame: Any) -> tuple[list[Any], NDArray[np.int64]]:
        """Return a batch's persons, and which of them each record is of."""
        import pandas as pd

        name = self._unit.person
        check_frame(frame)
        there = list(frame.columns)  # names, or a level's of several
        if there.count(name) != 1 or len(set(there)) < len(there):
            raise InvalidInput(
                f"frame has no single column {quoted(name)}, which has the persons' ids; a scan "
                "has the columns that it was made with: bdp.scan(files, synthesizer.columns)"
            )
        given = read(frame[name])
        if given.missing.any() or (given.kind == "text" and not all(map(str.strip, given.values))):
            raise InvalidInput(
                f"column {quoted(name)} has missing values; give every record its person's id, "
                "one of its own where the person is unknown"
            )
        if given.kind == "nothing":
            return [], np.empty(0, dtype=np.int64)
        kind = "number" if given.kind == "integer" else given.kind
        if kind not in ("text", "number") or self._kind not in (None, kind):
            raise InvalidInput(
                f"column {quoted(name)} must have ids that are all texts, or all whole numbers; "
                "write all as texts, by one public rule, where they are read: bdp.scan(..., "
                f"types={{{quoted(name)}: 'string'}}), dtype={{{quoted(name)}: str}} of pandas"
            )
        self._kind = kind
        values = given.values
        if values.dtype.kind == "f":
            values = _whole(values, frame[name].dtype, name)
        places, persons = pd.factorize(values)
        return persons.tolist(), given.each(places.astype(np.int64))


def _whole(values: NDArray[Any], dtype: Any, name: str) -> NDArray[np.int64]:
    """Return floats as whole numbers, where their type tells these apart."""
    size = dtype.itemsize if getattr(dtype, "kind", "") == "f" else 8
    if not np.all((np.trunc(values) == values) & (np.abs(values) < 2.0 ** _DIGITS[size])):
        raise InvalidInput(
            f"column {quoted(name)} has ids that are floats, and not whole numbers below "
            f"2^{_DIGITS[size]}, which floats of {8 * size} bits tell apart; read ids as texts"
        )
    return values.astype(np.int64)


_DIGITS = {2: 11, 4: 24, 8: 53}
"""Binary digits of floats, by their size in bytes."""
