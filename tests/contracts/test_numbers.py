"""A number is taken as the plain number that it is, or refused: by every public callable."""

import dataclasses
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
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
HOSTILE: tuple[Any, ...] = (True, np.True_, "3", Decimal(3), math.nan, math.inf, 10**400)
DATA = ("output", "outputs", "statistic", "data")
NO_NUMBER = {"ArrayLike", "NDArray", "Floats", "Any"}
LENIENT = {"Network", "Number", "Secret", "Simulated", "Sums"}


def numbers(call: calls.Call) -> Iterator[tuple[str, Any, Any]]:
    """Each number that a call has: where, the number, and how to put another in its place."""
    parameters = call.arguments.signature.parameters
    for name, value in call.arguments.arguments.items():
        kinds = set(re.findall(r"\w+", str(parameters[name].annotation)))
        if name in DATA or NO_NUMBER & kinds:
            continue
        if is_number(value):
            yield name, value, lambda new, name=name: {name: new}
        elif type(value) in (tuple, list) and value and all(map(is_number, value)):

            def changed(new: Any, name: str = name, given: Any = value) -> Any:
                return {name: type(given)([new, *given[1:]])}

            yield f"{name}[0]", value[0], changed
        elif parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            for key in (key for key in value if is_number(value[key])):

                def replaced(new: Any, key: str = key, at: str = name, of: Any = value) -> Any:
                    return {at: of | {key: new}}

                yield key, value[key], replaced


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
        one, other = map(_item, (one, other))
    if is_number(one) and is_number(other):
        return bool(one == other) or (math.isnan(one) and math.isnan(other))
    if type(one) is not type(other):
        return False
    if isinstance(one, pd.DataFrame | pd.Series):
        return bool(one.equals(other))
    if isinstance(one, np.ndarray):
        values = one.ravel().tolist(), other.ravel().tolist()
        return one.shape == other.shape and all(map(alike, *values))
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


def _item(value: Any) -> Any:
    return (
        float(value) if isinstance(value, np.floating) else getattr(value, "item", lambda: value)()
    )


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
        if not alike(call(), call()):
            continue  # it draws afresh
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
    wrong, tried = [], set()
    for call in (c for c in calls.every() if c.name == name):
        for where, value, put in numbers(call):
            if where in tried:
                continue
            tried.add(where)
            for hostile in HOSTILE:
                shown = f"{where} = {hostile!r:.20} for {value}"
                try:
                    found = call(**put(hostile))
                except bdp.BayesDPError:
                    continue
                except Exception as error:
                    wrong.append(f"{shown}: {type(error).__name__}: {error}"[:300])
                    continue
                number = is_number(hostile)
                if not number and name.split(".")[0] not in LENIENT:
                    wrong.append(f"{shown} is taken: {found!r}"[:300])
    assert not wrong, "\n".join(wrong)
