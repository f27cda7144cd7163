"""States of a likelihood graph's variables: how each depends on the records.

Every variable is in one of these states, from the data down:

- *public*: the same whatever the records are: parameters, and numbers of no record;
- *records*, axis k: entry i along axis k is a function of parameters and of record i alone, the
  same function for every i;
- *count*, *shape* and *places*: the number n of records, a shape whose entry k is n, and
  (0, ..., n - 1) along axis k; they may only say how long something is, or pick entry i for
  record i;
- *random*: not yet drawn, so only its shape has a meaning;
- *mixed*: anything else, with the reason.

The rules (`bayesdp.synthesis.censor.rules`) keep these meanings, given that they hold for an
operation's inputs; an operation without a rule gives *mixed* as soon as an input is not public.
So if the graph's result is *records*, each record has a term of its own: a proof by induction
on the graph, not a test of examples. What an operation hides from the graph can't be seen:
those with Python code of the user's inside are refused, whatever they are given.

Where n is confidential, a record's term may also not depend on its place, nor on n itself, as
both change when another record leaves; where n is public, the place and n are public too, and
"the same function" above becomes "a public function for every i".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """Kind of a variable's content; the module's docstring has the meanings."""

    PUBLIC = "public"
    RECORDS = "records"
    COUNT = "count"
    SHAPE = "shape"
    PLACES = "places"
    RANDOM = "random"
    MIXED = "mixed"


@dataclass(frozen=True)
class State:
    """State of a variable: its kind, its records' axis, and for a mixed one why it is mixed."""

    kind: Kind
    axis: int = -1
    reason: str = ""


PUBLIC = State(Kind.PUBLIC)
COUNT = State(Kind.COUNT)


def records(axis: int) -> State:
    """State of a variable with one entry for each record along `axis`."""
    return State(Kind.RECORDS, axis)


def mixed(reason: str) -> State:
    """State of a variable that isn't one record's alone."""
    return State(Kind.MIXED, reason=reason)


PLACE = mixed("depends on its place among the records, or on a variable that it has for itself")


@dataclass(frozen=True)
class Setting:
    """The number of records of this data set, and whether it is public."""

    n: int
    public_n: bool

    def value(self, state: State) -> State:
        """State of a count, shape or position that is used as a value rather than a length."""
        if state.kind not in (Kind.COUNT, Kind.SHAPE, Kind.PLACES):
            return state
        if self.public_n:
            return PUBLIC
        return PLACE if state.kind is Kind.PLACES else mixed("depends on the number of records")

    def values(self, states: Sequence[State]) -> State:
        """Return PUBLIC if all states are, when used as values; else the first that isn't."""
        used = (self.value(state) for state in states)
        return next((state for state in used if state != PUBLIC), PUBLIC)

    def together(
        self, op: Any, variables: Sequence[Any], states: Sequence[State], ndim: int
    ) -> State:
        """Combine states entry by entry over their first `ndim` axes, which broadcast."""
        states = [self.value(state) for state in states]
        for state in states:
            if state.kind is Kind.MIXED:
                return state
        axes = {state.axis for state in states if state.kind is Kind.RECORDS}
        if not axes:
            return PUBLIC
        if len(axes) > 1 or max(axes) >= ndim:
            return mixed(f"is combined with other records by {op}")
        (axis,) = axes
        for each, state in zip(variables, states, strict=True):
            # A public entry of its own for every record: known by its place.
            own = each.type.ndim > axis and each.type.shape[axis] != 1
            if state == PUBLIC and own and not self.public_n:
                return PLACE
        return records(axis)
