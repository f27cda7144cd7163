"""The contract of synthesizers: tally, choose mechanisms, pay, and draw."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.checks import check_at_least_one, check_even, plain
from bayesdp.core.fields import check_declared
from bayesdp.display.words import declaration, public_fields
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.mechanisms.base import Mechanism, joint_guarantee
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.synthesis.groups import (
    check_apart_from_records,
    complete_groups,
    name_of,
    rows_by_group,
)
from bayesdp.synthesis.publish import publish_groups
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.tally import groups_name, tallied, typed

_NEAR = 1e-12


class Synthesizer:
    """Base of synthesizers: what is released is checked, then paid for, and only then drawn.

    A synthesizer is a frozen dataclass whose fields are public; their checks may be declared beside
    them (`bayesdp.core.fields.declared`). Those of records inherit `RecordSynthesizer`, those of
    graphs `bayesdp.synthesis.graphs.GraphSynthesizer`.
    """

    takes: ClassVar[str] = "records"
    """Confidential data that `release` takes: "records", a "network" or, in Python alone, a
    "model" that has them."""
    named: ClassVar[bool] = False
    """True where the synthesizer's own `columns` name the data that `release` takes."""
    batched: ClassVar[bool] = False
    """True where a file is read in batches, whatever else is declared."""
    paths: ClassVar[tuple[str, ...]] = ()
    """Fields that may be files' paths, which in a declaration are relative to its folder."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Arguments of `release` that are no data, and what they are where they aren't given; a field
    of the same name comes first."""

    def __post_init__(self) -> None:
        plain(self)
        check_declared(self)

    def __init_subclass__(cls) -> None:
        # A dataclass would write one that shows every field whole, whatever it holds.
        if "__repr__" not in vars(cls):
            cls.__repr__ = cls.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return declaration(self)

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        summary = inspect.cleandoc(type(self).__doc__ or "").partition("\n")[0]
        return card(type(self).__name__, public_fields(self), words=summary)

    def release(self, *args: Any, **kwargs: Any) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good."""
        raise NotImplementedError


class RecordSynthesizer(Synthesizer):
    """Base of synthesizers of records, which release disjoint groups of them.

    Among its fields are `epsilon` and `copies`, and where it needs them `delta`, `public_n` and
    `groups`. It defines

    - `tally`, sums over records in memory, which refuses records that it can't take;
    - `add`, where + doesn't add two tallies; `count`, where a tally has no `n`; `empty`, where an
      empty array isn't the data without records; `statistic`, where the tally isn't itself
      released; and `known`, where more of it is public than n;
    - `mechanism`, by which a group is released, from public numbers alone,

    and inherits `release` and `guarantee`, with groups, batches, scans of files and a ledger.
    """

    grouped: ClassVar[bool] = True
    """False where records aren't released by group."""
    variable: ClassVar[str | None] = None
    """Name of what is measured. Default: the records' own."""

    if TYPE_CHECKING:

        @property
        def copies(self) -> int: ...

    def tally(self, records: Any) -> Any:
        """Compute sums over confidential records, or raise InvalidInput that doesn't show them."""
        raise NotImplementedError

    def add(self, one: Any, other: Any) -> Any:
        """Add the tallies of two disjoint sets of records."""
        return operator.add(one, other)

    def count(self, tally: Any) -> int:
        """The number of records in a tally: by default its n."""
        return int(tally.n)

    def empty(self) -> Any:
        """The tally of no records."""
        return self.tally(np.empty(0))

    def statistic(self, tally: Any) -> Any:
        """The statistic that is released, from a tally: by default the tally itself."""
        return tally

    def known(self, tally: Any) -> Any:
        """The public part of a tally: by default its number of records, or None if confidential."""
        return self.count(tally) if self._field("public_n", True) else None

    def mechanism(self, known: Any, epsilon: float | None) -> Mechanism:
        """The mechanism of a group whose copies together cost `epsilon`.

        Parameters
        ----------
        known : int or None
            The group's number of records where that is public, or whatever else `known` returns.
        epsilon : float or None
            The group's privacy cost; None where it follows from other fields.
        """
        raise NotImplementedError

    def release(
        self,
        data: Any,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Groups of records are disjoint, and each has copies of its own: together they cost as much
        as the most expensive group, and a little more where a record may change group.

        Parameters
        ----------
        data : whatever `tally` takes, or Scan
            The confidential records, in memory or in files (`bdp.scan`).
        by : array_like, optional
            Each record's group, of the length of `data`.
        variable : str, optional
            Name of the measured variable. Default: the Series' name, or "value".
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are
            checked first, then the guarantee is charged, then the copies are drawn. A charge is
            final, even if this process is killed before the release is saved.

        Returns
        -------
        Release

        Raises
        ------
        InvalidInput
            If the data are empty where n is public, or can't be taken, or the groups don't fit; or
            if there is a ledger and the draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        name = variable or self.variable or name_of(data, "value")
        tallies = self.tallies(data, by, name)
        return self.publish(tallies, by=groups_name(data, by), variable=name, ledger=ledger)

    def publish(
        self,
        tallies: Mapping[Label, Any],
        *,
        by: str = "group",
        variable: str = "value",
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Release tallies: of each group, or of all records, whose label is None."""
        made = self.mechanisms({label: self.known(one) for label, one in tallies.items()})
        return publish_groups(
            {label: (made[label], self.statistic(one)) for label, one in tallies.items()},
            by=None if None in tallies else by,
            copies=self.outputs,
            delta=self._field("delta", 0.0),
            variable=variable,
            ledger=ledger,
        )

    def guarantee(self, n: int | Mapping[Any, int] | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, or mapping of label to int, optional
            The public number of records (of each group); not needed where it is confidential.
        """
        return self.promise(self.sizes(n))

    def sizes(self, n: int | Mapping[Any, int] | None) -> dict[Any, int | None]:
        """The public number of records of each group, or None for each if confidential."""
        public = self._field("public_n", True)
        if n is None and public:
            raise InvalidInput(
                "n is missing; give it where it is public: the guarantee depends on it"
            )
        labels = self._field("groups", None) or (None,)
        if isinstance(n, Mapping):
            sizes = {label: _checked_size(size) if public else None for label, size in n.items()}
        else:
            sizes = dict.fromkeys(labels, n if public else None)
        return sizes

    def promise(self, known: Mapping[Any, Any]) -> Guarantee:
        """The guarantee of a release of groups, from each one's public part."""
        made = list(self.mechanisms(known).values())
        return joint_guarantee(made, self.outputs, self._field("delta", 0.0))

    @property
    def outputs(self) -> int:
        """Number of independent outputs of each group."""
        return self.copies

    @property
    def axes(self) -> Sequence[Axis]:
        """The declared columns, by whose types a file is read."""
        return ()

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Any]:
        """The tally of each group's records, or of all records, whose label is None.

        Parameters
        ----------
        data, by
            As for `release`.
        name : str
            Name of a column that has none.
        """
        public, groups = self._field("public_n", True), self._field("groups", None)
        check_even(data)
        self.check_by(data, by)

        def tally(records: Any, by: Any) -> dict[Label, Any]:
            whole = self.tally(records)  # every record is checked before any is counted by group
            if by is None:
                return {None: whole}
            rows = rows_by_group(by, len(records), records)
            return {label: self.tally(_taken(records, places)) for label, places in rows.items()}

        nothing = None if public else self.empty()
        by_group = tallied(typed(data, self.axes, groups), tally, self.add, by, nothing)
        if None in by_group:
            if groups is not None:
                raise InvalidInput("groups is given, but by is not: say each record's group")
            if public and not self.count(by_group[None]):
                raise InvalidInput("data is empty; there is nothing to release")
            return by_group
        return complete_groups(by_group, nothing, groups, public_n=public, size=self.count)

    def check_by(self, data: Any, by: Any) -> None:
        """Raise InvalidInput if a synthesizer has no groups, or if the records are their own."""
        column = data.by if isinstance(data, Scan) else None
        if not self.grouped and (by is not None or column is not None):
            named = "given" if column is None else quoted(column)
            raise InvalidInput(f"by is {named}, but this synthesizer has no groups; leave it out")
        if by is not None and not isinstance(data, Scan | Iterator):
            declared = self._field("columns", None) if self.named else None
            check_apart_from_records(by, data, declared)

    def mechanisms(self, known: Mapping[Any, Any]) -> dict[Label, Any]:
        """One mechanism for each group, from public numbers alone, together within `epsilon`.

        Where a record may change group, `joint_guarantee` charges its removal from one and its
        addition to another, which is more than one group's cost: each group's share is then the
        largest that keeps within `epsilon`, to one part in 10^12.
        """
        budget = self._field("epsilon", None)

        def made(share: float | None) -> dict[Label, Mechanism]:
            each = {one: self.mechanism(one, share) for one in dict.fromkeys(known.values())}
            return {label: each[one] for label, one in known.items()}

        def holds(trial: Mapping[Label, Mechanism]) -> bool:
            cost = joint_guarantee(list(trial.values()), self.outputs, self._field("delta", 0.0))
            return bool(cost.epsilon <= budget)

        whole = made(budget)
        if budget is None or holds(whole):
            return whole
        low, high = 0.0, budget
        while high - low > _NEAR * high:
            middle = (low + high) / 2
            low, high = (middle, high) if holds(made(middle)) else (low, middle)
        return made(low)

    def _field(self, name: str, default: Any) -> Any:
        return getattr(self, name, default)


def _checked_size(size: Any) -> int:
    """Check one group's number of records; a message says its type alone, as of any data."""
    try:
        return check_at_least_one("n", size)
    except InvalidInput:
        raise InvalidInput(
            f"n has {kind_of(size)} for a group that isn't a whole number, at least 1; give each "
            "group's public number of records"
        ) from None


def _taken(records: Any, places: Any) -> Any:
    if hasattr(records, "iloc"):
        return records.iloc[places]
    if isinstance(records, Sequence):
        return [records[place] for place in places.tolist()]
    if hasattr(records, "to_pandas") and hasattr(records, "take"):  # an array of Arrow's
        return records.take(places)
    return records[places]
