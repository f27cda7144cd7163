"""Structural zeros of a schema: combinations of values that no record has, by a public rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.declared_files import Fault, Place
from bayesdp.errors import quoted
from bayesdp.schema.column import MISSING, Column
from bayesdp.schema.faults import Contradiction

Rule = dict[str, NDArray[np.bool_]]
"""The cells that a rule names, of each of its columns: no record is in all of these."""


def declared_rules(zeros: Any, columns: Mapping[str, Column]) -> tuple[Rule, ...]:
    """Return the cells that each rule names.

    Raises
    ------
    Contradiction
        If a rule is of other columns or cells, or the rules leave no possible record.
    """
    if not isinstance(zeros, tuple):
        said = f" is {quoted(zeros)}; it must be a list of rules, each a table of columns"
        raise Contradiction([(("zeros",), said)])
    faults: list[Fault] = []
    rules = []
    for k, rule in enumerate(zeros):
        try:
            rules.append(_declared(("zeros", k), rule, columns))
        except Contradiction as error:
            faults += error.faults
    if not faults:
        allowed = {name: np.ones(column.cells, dtype=bool) for name, column in columns.items()}
        several = [k for k, rule in enumerate(rules) if len(rule) == 1]
        for k in several:  # a rule about one column leaves fewer of its cells
            ((name, mask),) = rules[k].items()
            allowed[name] &= ~mask
            if not allowed[name].any():
                said = f": it leaves no cell of column {quoted(name)}; no record would be possible"
                faults.append((("zeros", k, name), said))
        if not faults and not _possible(rules, allowed):
            last = len(rules) - 1
            faults.append((("zeros", last), ": the rules exclude every record; leave one out"))
    if faults:
        raise Contradiction(faults)
    return tuple(rules)


def _declared(place: Place, rule: Any, columns: Mapping[str, Column]) -> Rule:
    if not isinstance(rule, Mapping) or not rule:
        said = ": it must be a table of one column or more, and their cells that don't go together"
        raise Contradiction([(place, said)])
    made: Rule = {}
    faults: list[Fault] = []
    for name, given in rule.items():
        if name not in columns:
            known = ", ".join(columns)
            faults.append(((*place, name), f" isn't a column; the columns are {known}"))
            continue
        try:
            made[name] = picked(columns[name], given)
        except ValueError as error:
            faults.append(((*place, name), f": {error}"))
    if faults:
        raise Contradiction(faults)
    return made


def picked(column: Column, given: Any) -> NDArray[np.bool_]:
    """Mark the cells that a rule names of a column, shape (cells,); ValueError if it can't be."""
    several = given if isinstance(given, tuple) else (given,)
    absent = column.missing and MISSING in several
    values = tuple(value for value in several if not absent or value != MISSING)
    mask = np.zeros(column.cells, dtype=bool)
    mask[column.size :] = absent
    if values or not several:
        mask[: column.size] = column.picked(values if isinstance(given, tuple) else given)
    return mask


def is_of(rule: Mapping[str, Any], columns: Mapping[str, Column]) -> bool:
    """Return True if a rule names whole cells of all its columns."""
    try:
        return all(len(picked(columns[name], given)) for name, given in rule.items())
    except ValueError:
        return False


def _possible(rules: Sequence[Rule], allowed: Rule) -> bool:
    """Return True if some record, of allowed cells, is excluded by no rule."""
    tried = [(0, allowed)]
    while tried:
        k, allowed = tried.pop()
        if k == len(rules):
            return True
        left = {name: allowed[name] & ~mask for name, mask in rules[k].items()}
        if any(np.array_equal(left[name], allowed[name]) for name in left):
            tried.append((k + 1, allowed))  # the rule excludes none of these
            continue
        tried += [(k + 1, allowed | {name: mask}) for name, mask in left.items() if mask.any()]
    return False


def excluded(rules: Sequence[Rule], codes: Mapping[str, NDArray[Any]], n: int) -> NDArray[np.bool_]:
    """Mark the records that a rule excludes, by their codes; shape (n,)."""
    found = np.zeros(n, dtype=bool)
    for rule in rules:
        every = np.ones(n, dtype=bool)
        for name, mask in rule.items():
            every &= mask[codes[name]]
        found |= every
    return found
