"""Cells of a study, their seeds, and one replicate of one cell.

A seed is the SHA-256 digest of the study's seed, the part that draws (data, release or analysis),
what the part depends on (the synthesizer's name and the values of its grid keys, or those that the
data's function takes) and the replicate's number. So it doesn't depend on other cells, their order
or the worker; and all cells whose data depend on the same keys see the same data.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bayesdp.errors import BayesDPError, InvalidInput, quoted
from bayesdp.evaluation.studies.calls import taken
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.release import Release

Keys = tuple[tuple[str, Any], ...]
Row = dict[str, Any]
WORDS = ("synthesizer", "analysis", "replicate", "estimand", "truth", "unit", "error", "message")
"""Columns of the results that are no grid key's and no analysis's."""
_SUMMARY = ("replicates", "failed", "bias", "rmse", "coverage")
TAKEN = f"{', '.join((*WORDS, *_SUMMARY))}, and names that end in _se"


def is_taken(name: str) -> bool:
    """Return True for a name of a column that results or their summary have anyway."""
    return name in WORDS or name in _SUMMARY or name.endswith("_se")


class Simulated(NamedTuple):
    """Records that a study's data function may return, with the truth behind them.

    Attributes
    ----------
    data : object
        The data, in the form that the synthesizers take.
    truth : number or mapping of str to number
        True value of the estimand, or of each estimand by its name.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> def draw(generator, n):
    ...     return bdp.evaluate.Simulated(generator.binomial(1, 0.3, n), truth=0.3)
    """

    data: Any
    truth: float | Mapping[str, float]


class TruthTwice(InvalidInput):
    """A study and its data's function both say what the truth is."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Cell of a study: a synthesizer, and the values of the grid keys that it depends on."""

    synthesizer: str
    keys: Keys


class Unit(NamedTuple):
    """Unit of work: a replicate of a cell, and the analyses to run on its release."""

    cell: Cell
    replicate: int
    analyses: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Declaration of a study that all replicates share, and that is sent to every worker."""

    data: Any
    synthesizers: Mapping[str, Any]
    analyses: Mapping[str, Callable[..., Any]]
    truth: Any
    seed: int
    public: bool
    data_keys: tuple[str, ...]
    """Grid keys that the data's function takes."""
    keys: tuple[str, ...]
    """All grid keys, also those that some cells don't depend on."""

    def made(self, cell: Cell) -> Any:
        """Make the cell's synthesizer."""
        maker = self.synthesizers[cell.synthesizer]
        if is_synthesizer(maker):
            return maker
        own = taken(f"synthesizer {quoted(cell.synthesizer)}", maker, 0, dict(cell.keys))
        made = maker(**{name: value for name, value in cell.keys if name in own})
        if not is_synthesizer(made):
            raise InvalidInput(
                f"synthesizer {quoted(cell.synthesizer)} makes a {type(made).__name__}, which has "
                "no release(data)"
            )
        return made

    def drawn(self, cell: Cell, replicate: int) -> Simulated:
        """Draw the replicate's data, and their truth or None."""
        data, truth = self.data, self.truth
        if callable(data):
            keys = {name: value for name, value in cell.keys if name in self.data_keys}
            seed = seed_of(self.seed, "data", keys.items(), replicate)
            data = data(np.random.default_rng(seed), **keys)
            if isinstance(data, Simulated):
                if truth is not None:
                    raise TruthTwice(
                        "truth is given, and the data's function returns a truth of its own; leave "
                        "truth out, or let the function return the records alone"
                    )
                data, truth = data
        return Simulated(data, truth(data) if callable(truth) else truth)


def is_synthesizer(thing: Any) -> bool:
    """Return True for an instance with a `release`."""
    return not isinstance(thing, type) and callable(getattr(thing, "release", None))


def cells(synthesizers: Mapping[str, Iterable[str]], grid: Mapping[str, list[Any]]) -> list[Cell]:
    """List all cells, each synthesizer's over the grid keys that it depends on."""
    listed = []
    for name, concerned in synthesizers.items():
        own = [key for key in grid if key in set(concerned)]
        for values in itertools.product(*(grid[key] for key in own)):
            listed.append(Cell(name, tuple(zip(own, values, strict=True))))
    return listed


def seed_of(seed: int, part: str, keys: Iterable[tuple[str, Any]], *others: str | int) -> int:
    """Derive a seed of 256 bits from keys in any order; see the module's docstring."""
    return int.from_bytes(_digest(keys, seed, part, *others), "big")


def unit_of(cell: Cell, analysis: str, replicate: int) -> str:
    """Name an analysis of a replicate of a cell by 32 hexadecimal digits."""
    return _digest(cell.keys, cell.synthesizer, analysis, replicate).hex()[:32]


def _digest(keys: Iterable[tuple[str, Any]], *others: str | int) -> bytes:
    content = [sorted([name, _plain(value)] for name, value in keys), *others]
    return hashlib.sha256(json.dumps(content).encode()).digest()


def _plain(value: Any) -> Any:
    """Make 1 and 1.0 alike, so that a grid may grow from whole numbers to others."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def run_unit(plan: Plan, unit: Unit) -> list[Row]:
    """Run a replicate: for each analysis one row for each estimand, or one with its error."""
    cell, replicate, analyses = unit
    try:
        simulated = plan.drawn(cell, replicate)
        synthesizer = plan.made(cell)
        with reproducible(seed_of(plan.seed, "release", cell.keys, cell.synthesizer, replicate)):
            release = synthesizer.release(simulated.data)
    except Exception as error:  # any that the user's own code may raise
        return [_failed(plan, cell, name, replicate, error) for name in analyses]
    rows = []
    for name in analyses:
        try:
            rows += _analysed(plan, cell, name, replicate, simulated, release)
        except Exception as error:
            rows.append(_failed(plan, cell, name, replicate, error))
    return rows


def _analysed(
    plan: Plan, cell: Cell, name: str, replicate: int, simulated: Simulated, release: Release
) -> list[Row]:
    analysis = plan.analyses[name]
    seed = seed_of(plan.seed, "analysis", cell.keys, cell.synthesizer, name, replicate)
    offered = {"generator": np.random.default_rng([seed, 1]), "data": simulated.data}
    own = taken(f"analysis {quoted(name)}", analysis, 1, offered)
    with reproducible(seed):
        answer = analysis(release, **{argument: offered[argument] for argument in own})
    estimands = _estimands(name, answer)
    truth = simulated.truth
    if isinstance(truth, Mapping) and not set(truth) & set(estimands):
        raise InvalidInput(
            f"truth is of {sorted(truth)}, and analysis {quoted(name)} has the estimands "
            f"{sorted(estimands)}; give the truth of one of them"
        )
    rows = []
    for estimand, numbers in estimands.items():
        clash = sorted(each for each in numbers if is_taken(each) or each in plan.keys)
        if clash:
            raise InvalidInput(
                f"analysis {quoted(name)} returned numbers called {clash}, which the grid's keys "
                f"or the results' own columns are called ({TAKEN}); choose other names"
            )
        true = truth.get(estimand) if isinstance(truth, Mapping) else truth
        row = {**_row(cell, name, replicate), "estimand": estimand, **numbers}
        rows.append(row | ({} if true is None else {"truth": float(true)}))
    return rows


def _estimands(name: str, answer: Any) -> dict[str, dict[str, float]]:
    """Return an analysis's numbers by estimand; a single estimand is named ""."""
    if isinstance(answer, Mapping) and answer:
        values = list(answer.values())
        if all(map(_is_number, values)):
            return {"": {str(k): float(v) for k, v in answer.items()}}
        whole = all(isinstance(each, Mapping) and each for each in values)
        if whole and all(_is_number(x) for each in values for x in each.values()):
            return {
                str(estimand): {str(k): float(v) for k, v in numbers.items()}
                for estimand, numbers in answer.items()
            }
    raise InvalidInput(
        f"analysis {quoted(name)} returned a {type(answer).__name__} that isn't a mapping of names "
        "to numbers, or of estimands to such mappings"
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, Real | np.bool_) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biuf"
    )


def _row(cell: Cell, analysis: str, replicate: int) -> Row:
    return {
        "unit": unit_of(cell, analysis, replicate),
        "synthesizer": cell.synthesizer,
        **{name: shown(value) for name, value in cell.keys},
        "analysis": analysis,
        "replicate": replicate,
    }


def shown(value: Any) -> Any:
    """Format a grid value as in the results: as JSON, unless it is one number or word."""
    return value if isinstance(value, str | int | float) else json.dumps(value)


def _failed(plan: Plan, cell: Cell, name: str, replicate: int, error: Exception) -> Row:
    """Describe an error by its type, and its message where that holds nothing confidential."""
    tell = plan.public or isinstance(error, BayesDPError)
    return failed_row(cell, name, replicate, type(error).__name__, str(error) if tell else None)


def failed_row(cell: Cell, name: str, replicate: int, error: str, message: str | None) -> Row:
    """Make a row of a replicate that has no numbers."""
    return {
        **_row(cell, name, replicate),
        "estimand": "",
        "error": error,
        **({} if message is None else {"message": message}),
    }
