"""A number is taken as the plain number that it is, or refused: by every public callable."""

import ast
import dataclasses
import enum
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism
from bayesdp.networks import Network
from tests.contracts import calls
from tests.contracts.examples import EXAMPLES
from tests.test_site import reference

PACKAGE = Path(bdp.__file__).parent
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
FLOATS = (np.float16, np.float32, np.float64, np.longdouble)
HOSTILE: tuple[Any, ...] = (True, np.True_, "3", Decimal(3), math.nan, math.inf, 10**400)
DATA = ("output", "outputs", "statistic", "data")
NO_NUMBER = {"ArrayLike", "NDArray", "Floats", "Any"}
RESULTS = {"Attack", "Audit", "Best", "BetaModelFit", "Combined", "CombinedNested"}
RESULTS |= {"CombinedVector", "Evidence", "FTest", "Fit", "GoodnessOfFit", "Plan"}
RESULTS |= {"Estimates", "TablePosterior"}
RESULTS |= {"SemanticPrivacy", "Simulation", "StableFunction", "StudyResults", "Family", "Ledger"}
"""What users are given and don't make; and a protocol."""
COMPILED = {"sample"}
"""A Stan program's `bdp.stan.sample`, whose arguments tests/engines/test_stan_library.py tries."""
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
    except bdp.errors.BayesDPError as error:
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


def parts(value: Any) -> Iterator[Any]:
    """What is in nested lists and tuples, one by one."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from parts(each)
    else:
        yield value


def stored(value: Any) -> list[Any]:
    """The numbers of NumPy's in a field of a declaration, or in an output."""
    return [each for each in parts(value) if isinstance(each, np.generic)]


def draws_afresh(call: calls.Call, times: int) -> bool:
    """Whether the same call gives different results."""
    first = call()
    return not all(alike(call(), first) for _ in range(times))


def taken_otherwise(call: calls.Call) -> list[str]:
    """Where a number of another kind gives another result than the plain one."""
    if not any(numbers(call)) or draws_afresh(call, 1):
        return []
    wrong = list(_taken_otherwise(call))
    # a few draws of few values agree by chance now and then
    return [] if wrong and draws_afresh(call, 30) else wrong


def _taken_otherwise(call: calls.Call) -> Iterator[str]:
    for where, value, put in numbers(call):
        plain = outcome(call, put(value))
        for kind in kinds_of(value):
            found = outcome(call, put(kind(value)))
            said = f"{call.name}, {where} = {kind.__name__}({value})"
            if isinstance(found, type) and issubclass(found, bdp.errors.BayesDPError):
                continue
            if not alike(found, plain):
                yield f"{said}: {found!r}, not {plain!r}"[:300]
            if dataclasses.is_dataclass(found) and isinstance(call.function, type):
                fields = dataclasses.fields(found)
                if left := [f.name for f in fields if stored(getattr(found, f.name))]:
                    yield f"{said} stays in {left}"


def kinds_of(value: Any) -> list[Any]:
    """NumPy's types that hold the number."""
    if isinstance(value, int):
        fit = [k for k in INTEGERS if np.iinfo(k).min <= value <= np.iinfo(k).max]
        return [fit[0], fit[1], np.int64, np.uint64] if value >= 0 else [fit[0], np.int64]
    return [k for k in FLOATS if fits(value, k)]


def not_refused(call: calls.Call, tried: set[tuple[str, str]]) -> Iterator[str]:
    """Where what is no number, or none there is room for, is taken or fails otherwise.

    Of each argument once: what was tried by calls before is in `tried`, and so is what is now.
    """
    for where, value, put in numbers(call):
        if (call.name, where) in tried:
            continue
        tried.add((call.name, where))
        for hostile in HOSTILE:
            said = f"{call.name}, {where} = {hostile!r:.20} for {value}"
            try:
                found = call(**put(hostile))
            except bdp.errors.BayesDPError:
                continue
            except Exception as error:
                yield f"{said}: {type(error).__name__}: {error}"[:300]
                continue
            if not is_number(hostile):
                yield f"{said} is taken: {found!r}"[:300]


@pytest.mark.slow
def test_a_number_of_another_kind_is_the_same_number_or_refused():
    wrong = [line for call in calls.every() for line in taken_otherwise(call)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_what_is_no_such_number_is_refused():
    tried: set[tuple[str, str]] = set()
    wrong = [
        line
        for call in calls.every()
        if call.name.split(".")[0] not in LENIENT
        for line in not_refused(call, tried)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_every_public_callable_is_tried():
    tried = {call.name for call in calls.every()}
    public = {
        dotted.rpartition(".")[2]
        for dotted, thing in reference.callables()
        if not (inspect.isclass(thing) and issubclass(thing, Exception | enum.Enum))
        if not dotted.startswith("bayesdp.extending.")  # what takes no numbers of users
    }
    assert public - tried <= RESULTS | COMPILED, public - tried - RESULTS - COMPILED


def of_kind(output: Any, kind: Any) -> Any:
    """The output with each of its numbers of that kind."""
    if isinstance(output, tuple):
        return tuple(of_kind(each, kind) for each in output)
    return kind(output) if is_number(output) else output


def fits(value: Any, kind: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            return bool(float(kind(value)) == value)
        except (OverflowError, ValueError):
            return False


@pytest.mark.parametrize(
    "example",
    {each.mechanism.name: each for each in EXAMPLES}.values(),
    ids=lambda each: each.mechanism.name,
)
def test_outputs_of_another_kind_are_the_same_or_refused(example: Any):
    for output in map(example.mechanism.check_output, example.outputs[:3]):
        for kind in (*FLOATS, np.int8, np.int64, Fraction):
            if not all(fits(each, kind) for each in parts(output) if is_number(each)):
                continue
            try:
                found = example.mechanism.check_output(of_kind(output, kind))
            except bdp.errors.InvalidInput:
                continue
            assert found == output
            assert not stored(found), f"{kind.__name__} stays"


COPIES = {
    "beta_binomial": bdp.mechanisms.BetaBinomialMechanism(None, 100, (50.0, 50.0)),
    "censored": CensoredPosteriorMechanism(None, 2, -0.7, 0.0, (("y", "number"),)),
    "dp_ergm": DPERGMMechanism("edges", 4.0, 4, False, (1.0,), centre=(-1.0,), scale=(0.5,)),
}


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("method", ["guarantee", "removal_guarantee"])
@pytest.mark.parametrize("kind", INTEGERS)
def test_copies_of_a_narrow_type_cost_as_many_plain_ones(name: str, method: str, kind: Any):
    promise = getattr(COPIES[name], method)
    assert promise(copies=kind(64)) == promise(copies=64)
    assert promise(copies=64).epsilon > 40


@pytest.mark.slow
def test_what_a_check_of_a_number_returns_is_used():
    """No statement calls one and drops what it returns."""
    trees = {p: ast.parse(p.read_text(encoding="utf-8")) for p in PACKAGE.rglob("*.py")}
    kinds = ("int", "float", "int | None", "float | None", "dict[str, Any]")
    checks = {
        (".".join(("bayesdp", *path.relative_to(PACKAGE).with_suffix("").parts)), node.name)
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and "check" in node.name
        if node.returns is not None and ast.unparse(node.returns) in kinds
    }
    assert ("bayesdp.checks", "check_at_least_one") in checks
    dropped = []
    for path, tree in trees.items():
        here = ".".join(("bayesdp", *path.relative_to(PACKAGE).with_suffix("").parts))
        known = {
            alias.asname or alias.name: (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                name = getattr(node.value.func, "id", "")
                if known.get(name, (here, name)) in checks:
                    dropped.append(f"{path.relative_to(PACKAGE)}:{node.lineno}")
    assert not dropped


def test_epsilon_is_the_total_of_the_copies_of_dp_ergm():
    declared = bdp.synthesizers.DPERGMSynthesizer(
        "edges", 2.0, centre=(-1.0,), scale=(0.5,), bins=5
    )
    release = declared.release(calls.GRAPH, copies=3)
    assert 1.99 < release.guarantee.epsilon <= 2.0
    elsewhere = bdp.Release.of(declared, release.outputs)
    assert elsewhere.guarantee.epsilon == release.guarantee.epsilon
