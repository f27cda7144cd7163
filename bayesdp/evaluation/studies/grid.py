"""Checks of a study's declaration, before anything runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.studies.cells import (
    TAKEN,
    Cell,
    Plan,
    Simulated,
    TruthTwice,
    is_taken,
    shown,
)
from bayesdp.evaluation.studies.models import RETURNED, ModelAnalysis


def checked_grid(grid: Any) -> dict[str, list[Any]]:
    """Return each key's values as a list of Python's own numbers, words and tuples.

    Raises
    ------
    InvalidInput
        If there is no key, or a key has no values, equal values, values of several kinds, or the
        name of a column of the results.
    """
    if not isinstance(grid, Mapping) or not grid:
        raise InvalidInput(
            f"grid is {'empty' if isinstance(grid, Mapping) else f'a {type(grid).__name__}'}; give "
            "at least one key with its values, as {'epsilon': [0.5, 1.0]}"
        )
    checked = {}
    for key, values in grid.items():
        if not isinstance(key, str) or not key.isidentifier() or is_taken(key):
            raise InvalidInput(
                f"grid has the key {quoted(key)}; keys are arguments' names, and none of {TAKEN}, "
                "which columns of the results and their summary are called: give the argument "
                "another name, by a function of your own"
            )
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InvalidInput(
                f"grid[{quoted(key)}] is {quoted(values)}; it must be a list of values"
            )
        checked[key] = [_value(key, value) for value in values]
        if not checked[key]:
            raise InvalidInput(f"grid[{quoted(key)}] is empty; give at least one value")
        if len(set(checked[key])) < len(checked[key]):
            raise InvalidInput(
                f"grid[{quoted(key)}] has a value twice: {checked[key]}; give each once"
            )
        kind_of(key, checked[key])
    return checked


def _value(key: str, value: Any) -> Any:
    plain = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if isinstance(plain, list | tuple):
        return tuple(_value(key, each) for each in plain)
    if isinstance(plain, bool | str | int) or (isinstance(plain, float) and math.isfinite(plain)):
        return plain
    raise InvalidInput(
        f"grid[{quoted(key)}] has {quoted(value)}; values must be finite numbers, words, or tuples "
        "of them"
    )


def kind_of(key: str, values: Iterable[Any]) -> str:
    """Return the common kind of a key's values: number, truth value or word."""
    kinds = sorted({_kind(shown(value)) for value in values})
    if len(kinds) > 1:
        raise InvalidInput(
            f"grid[{quoted(key)}] has values of several kinds: {', '.join(kinds)}; give one kind"
        )
    return kinds[0]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "truth value"
    return "word" if isinstance(value, str) else "number"


def checked_truth(truth: Any) -> Any:
    """Return a number, numbers by estimand, a function, or None."""
    numbers = list(truth.values()) if isinstance(truth, Mapping) else [truth]
    if truth is None or callable(truth) or (numbers and all(map(is_number, numbers))):
        return truth
    raise InvalidInput(
        f"truth is a {type(truth).__name__}; it must be a number, a mapping of estimands to "
        "numbers, or a function of the data"
    )


def check_one_truth(plan: Plan, cell: Cell) -> None:
    """Raise InvalidInput if data that are drawn for a first replicate have a second truth."""
    if plan.truth is None or not callable(plan.data):
        return
    try:
        plan.drawn(cell, 0)
    except TruthTwice:
        raise
    except Exception:  # of the user's own code, which is told of each replicate
        return


def check_data(data: Any) -> None:
    """Raise InvalidInput unless data are records that a synthesizer may take, or draw them."""
    if isinstance(data, Simulated):
        raise InvalidInput("data is a Simulated; give its records as data, and its truth as truth")
    if data is None or isinstance(data, str | bytes) or is_number(data):
        raise InvalidInput(
            f"data is a {type(data).__name__}; give records, as a DataFrame, or a function of a "
            "numpy Generator that draws them (read files with pandas first)"
        )


def check_analysis(name: str, analysis: Any, grid: Mapping[str, Any]) -> None:
    """Raise InvalidInput if an analysis is a model's class, or its numbers are called as keys."""
    if isinstance(analysis, type) and hasattr(analysis, "fit"):
        raise InvalidInput(
            f"analysis {quoted(name)} is a class; give a model of it, as "
            f"bdp.models.{analysis.__name__}()"
        )
    clash = [key for key in grid if isinstance(analysis, ModelAnalysis) and key in RETURNED]
    if clash:
        raise InvalidInput(
            f"grid has the key {quoted(clash[0])}, and analysis {quoted(name)} numbers of that "
            "name; give the key another, by a function of your own that takes it"
        )


def check_cell(plan: Plan, cell: Cell) -> None:
    """Raise InvalidInput unless the cell's synthesizer can be made."""
    try:
        plan.made(cell)
    except InvalidInput as error:
        where = ", ".join(f"{name}={quoted(value)}" for name, value in cell.keys)
        raise InvalidInput(f"synthesizer {quoted(cell.synthesizer)} at {where}: {error}") from error
