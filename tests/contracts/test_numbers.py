"""A number is taken as the plain number that it is, or refused: by every public callable."""

import dataclasses
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.networks import Network
from tests.contracts import calls

PACKAGE = Path(bdp.__file__).parent
NAMES = sorted({call.name for call in calls.every()})
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
HOSTILE: tuple[Any, ...] = (
    True,
    np.True_,
    "3",
    np.str_("3"),
    b"3",
    3j,
    Decimal(3),
    Fraction(7, 2),
    math.nan,
    math.inf,
    -math.inf,
    np.float32("nan"),
    10**400,
    -(10**400),
    Fraction(10**400, 3),
)
LENIENT = {"Network", "Secret", "Simulated", "publish"}


def numbers(call: calls.Call) -> Iterator[tuple[str, Any, Any]]:
    """Each number that a call has: where, the number, and how to put another in its place."""
    for name, value in call.arguments.arguments.items():
        if is_number(value):
            yield name, value, lambda new, name=name: {name: new}
        elif type(value) in (tuple, list) and value and all(map(is_number, value)):

            def changed(new: Any, k: int = 0, name: str = name, given: Any = value) -> Any:
                return {name: type(given)(new if i == k else v for i, v in enumerate(given))}

            yield f"{name}[0]", value[0], changed
        elif type(value) is dict and name in ("kwargs", "other", "parameters", "options", "fields"):
            for key, inner in value.items():
                if is_number(inner):

                    def replaced(
                        new: Any, key: str = key, name: str = name, of: Any = value
                    ) -> Any:
                        return {name: of | {key: new}}

                    yield f"{key}", inner, replaced


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def outcome(call: calls.Call, changed: dict[str, Any]) -> Any:
    """What it gives, or the class of the refusal."""
    try:
        return call(**changed)
    except bdp.BayesDPError as error:
        return type(error)


def alike(one: Any, other: Any) -> bool:
    """Whether two results are the same in all that is public of them."""
    if isinstance(one, np.generic) or isinstance(other, np.generic):
        one, other = (v.item() if isinstance(v, np.generic) else v for v in (one, other))
    if is_number(one) and is_number(other):
        return bool(one == other) or (math.isnan(one) and math.isnan(other))
    if type(one) is not type(other):
        return False
    if isinstance(one, pd.DataFrame | pd.Series):
        return bool(one.equals(other))
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and all(map(alike, one.tolist(), other.tolist()))
    if isinstance(one, Mapping):
        return list(one) == list(other) and all(alike(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, Network):
        same = bool(np.array_equal(one.edges, other.edges))
        return same and list(one.nodes) == list(other.nodes)
    if isinstance(one, bdp.Release):
        return one.parts == other.parts and one.delta == other.delta
    if hasattr(one, "posterior") and hasattr(one, "groups"):
        return bool(one.posterior.equals(other.posterior))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        fields = dataclasses.fields(one)
        return all(alike(getattr(one, f.name), getattr(other, f.name)) for f in fields)
    return True


def stored(value: Any) -> Iterator[Any]:
    """The numbers in the fields of a declaration, one by one."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from stored(each)
    elif isinstance(value, np.generic):
        yield value


@pytest.mark.parametrize("name", NAMES)
def test_a_number_of_another_kind_is_the_same_number_or_refused(name: str):
    wrong = []
    for call in (c for c in calls.every() if c.name == name):
        for where, value, put in numbers(call):
            plain = outcome(call, put(value))
            kinds: list[Any] = []
            if isinstance(value, int):
                fit = [k for k in INTEGERS if np.iinfo(k).min <= value <= np.iinfo(k).max]
                kinds = [fit[0], fit[1], np.int64, np.uint64] if value >= 0 else [fit[0], np.int64]
            elif math.isfinite(value):
                kinds = [k for k in FLOATS if float(k(value)) == value]
            for kind in kinds:
                found = outcome(call, put(kind(value)))
                if isinstance(found, type) and issubclass(found, bdp.BayesDPError):
                    continue
                if not alike(found, plain):
                    wrong.append(
                        f"{where} = {kind.__name__}({value}): {found!r}, not {plain!r}"[:300]
                    )
                if dataclasses.is_dataclass(found) and isinstance(call.function, type):
                    fields = dataclasses.fields(found)
                    left = [f.name for f in fields if any(stored(getattr(found, f.name)))]
                    wrong += [f"{where} = {kind.__name__}({value}) stays in {left}"] * bool(left)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_such_number_is_refused(name: str):
    wrong = []
    for call in (c for c in calls.every() if c.name == name):
        for where, value, put in numbers(call):
            for hostile in HOSTILE:
                shown = f"{where} = {hostile!r:.20} for {value}"
                try:
                    found = call(**put(hostile))
                except bdp.BayesDPError:
                    continue
                except Exception as error:
                    wrong.append(f"{shown}: {type(error).__name__}: {error}"[:300])
                    continue
                if not isinstance(hostile, int | float | Fraction) or hostile is True:
                    if name.split(".")[0] not in LENIENT:
                        wrong.append(f"{shown} is taken: {found!r}"[:300])
    assert not wrong, "\n".join(wrong)
