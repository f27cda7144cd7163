"""No message shows a record, whatever argument the data were given as."""

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.checks import check_numbers, check_seed
from bayesdp.errors import kind_of, quoted, without_secrets
from tests.contracts import calls

PACKAGE = Path(bdp.__file__).parent
# What a curator calls, but for what takes a release, which is public.
CURATOR = ("bayesdp.schema", "bayesdp.synthesis", "bayesdp.mechanisms", "bayesdp.privacy")
RELEASED = ("logp", "encode", "decode", "records", "check_output")
LEFT_AS_THEY_ARE = {"lazy.py:51"}  # an attribute's name, as in the standard library
WORDS = ["Quetzalcoatl", "Xochimilco", "Popocatepetl"]
NUMBERS = [7306.5812, 9182.0457, 6643.7719]
WHOLE = [730658, 918204, 664377]
TRACES = [*WORDS, *(f"{v}"[:6] for v in NUMBERS), *map(str, WHOLE)]
DATA: dict[str, Any] = {
    "frame": pd.DataFrame({"name": WORDS, "income": NUMBERS, "code": WHOLE}),
    "strange labels": pd.DataFrame({"a": WORDS, "b": NUMBERS}),  # in a schema's own columns
    "a record for names": pd.DataFrame(
        [["y", NUMBERS[1], WHOLE[1]]], columns=["x", str(NUMBERS[0]), str(WHOLE[0])]
    ),
    "numbers": pd.Series(NUMBERS, name="income"),
    "array": np.array(NUMBERS),
    "labels": np.array(WORDS),
    "pair": (NUMBERS[0], NUMBERS[1]),
    "list": [*WORDS, *NUMBERS],
    "whole": np.array(WHOLE),
    "negative": -np.array(NUMBERS),
    "pairs": [(NUMBERS[0], NUMBERS[1]), (NUMBERS[2], NUMBERS[0])],
    "repeated": (NUMBERS[0], -NUMBERS[1], NUMBERS[2], NUMBERS[0]),
    "mapping": {"name": WORDS[0], "income": NUMBERS[0], "code": WHOLE[0]},
    "Count": bdp.Count(WHOLE[2], WHOLE[1]),
}


def said(error: BaseException | None) -> Iterator[str]:
    """The messages that a traceback prints."""
    while error is not None:
        yield str(error)
        yield from getattr(error, "__notes__", ())
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def shown_by(call: calls.Call) -> Iterator[str]:
    """What its messages show of data that are given as each of its arguments."""
    for argument in call.arguments.arguments:
        for kind, data in DATA.items():
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    call(**{argument: data})
                    messages = []
                except Exception as error:
                    messages = [f"{type(error).__name__}: {each}" for each in said(error)]
            for message in (*messages, *(str(each.message) for each in warned)):
                if any(trace in message for trace in TRACES):
                    yield f"{call.name}, {argument} = {kind}: {message}"[:300]


@pytest.mark.slow
def test_no_message_shows_a_record():
    first = {
        call.name: call
        for call in reversed(calls.every())
        if call.function.__module__.startswith(CURATOR) and call.name.split(".")[-1] not in RELEASED
    }
    assert len(first) > 100
    shown = [line for call in first.values() for line in shown_by(call)]
    assert not shown, "\n".join(shown)


@pytest.mark.parametrize(
    "value",
    [*DATA.values(), "\n".join(WORDS), WORDS[0].encode(), [[WORDS]], object()],
    ids=lambda value: type(value).__name__,
)
def test_of_what_may_hold_data_a_message_quotes_the_type_alone(value: Any):
    name = type(value).__name__
    wanted = "a text of several lines" if name == "str" else name
    assert quoted(value).removeprefix("an ").removeprefix("a ") == wanted.removeprefix("a ")


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (3, "3"),
        (np.int8(3), "3"),
        (np.float32(0.5), "0.5"),
        (True, "True"),
        (None, "None"),
        (10**5000, "a whole number of over 40 digits"),
        ("gwesp", "'gwesp'"),
        ("x" * 100, f"'{'x' * 80}' and so on"),
        (Path("/a/b"), "'/a/b'"),
        (bdp.Neighbours.EDGE, "'edge'"),
        (bdp.Count, "the class Count"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_numbers_names_and_paths_are_quoted(value: Any, wanted: str):
    assert quoted(value) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("https://ann:secret@host/file?sig=3f2a", "https://***@host/file?***"),
        ("https://token@host/file#part", "https://***@host/file?***"),
        ("postgresql+psycopg://ann:p@s/s?w d@host/db", "postgresql+psycopg://***@host/db"),
        ("no https://ann:secret@host, nor s3://b?x=1", "no https://***@host, nor s3://b?***"),
        ("s3://bucket/key@v1.parquet", "s3://bucket/key@v1.parquet"),
        ("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/a"),
        ("sqlite:///folder/budget.db", "sqlite:///folder/budget.db"),
        ("C:/folder/what?.csv", "C:/folder/what?.csv"),
        ("y ~ a + I(b)", "y ~ a + I(b)"),
    ],
)
def test_addresses_are_quoted_without_their_secrets(text: str, wanted: str):
    """Also as paths, which have one slash where an address has two."""
    assert without_secrets(text) == wanted
    assert quoted(text) == repr(wanted)
    path = PurePosixPath(text)
    assert "secret" not in quoted(path)
    assert "token" not in quoted(path)


@pytest.mark.parametrize("value", [NUMBERS[0], WHOLE[0], WORDS[0]], ids=str)
def test_of_one_of_several_values_a_message_says_the_type_alone(value: Any):
    assert kind_of(value) in ("a float", "an int", "a str")
    with pytest.raises(bdp.errors.InvalidInput, match="part is a") as caught:
        bdp.compose([value])
    assert str(value) not in str(caught.value)


@pytest.mark.parametrize("check", [check_seed, lambda data: check_numbers("records", data)])
def test_what_numpy_would_show_is_refused_before(check: Any):
    for data in (DATA["frame"], DATA["labels"], DATA["list"], DATA["mapping"]):
        with pytest.raises(bdp.errors.InvalidInput) as caught:
            check(data)
        assert not [trace for trace in TRACES for shown in said(caught.value) if trace in shown]


@pytest.mark.slow
def test_messages_quote_by_the_one_function():
    """No `!r` in what is raised: `quoted` says what may be shown."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for raised in (node for node in ast.walk(tree) if isinstance(node, ast.Raise)):
            fields = [n for n in ast.walk(raised) if isinstance(n, ast.FormattedValue)]
            if any(field.conversion == ord("r") for field in fields):
                found.append(f"{path.relative_to(PACKAGE)}:{raised.lineno}")
    assert set(found) <= LEFT_AS_THEY_ARE, found


@pytest.mark.parametrize("size", [NUMBERS[0], -WHOLE[0], WORDS[0]], ids=str)
def test_of_groups_sizes_a_message_says_the_type_alone(size: Any):
    with pytest.raises(
        bdp.errors.InvalidInput, match=f"n has {kind_of(size)} for a group"
    ) as caught:
        bdp.BetaBinomialSynthesizer(1.0).guarantee({"a": 9, "b": size})
    assert not [trace for trace in TRACES for message in said(caught.value) if trace in message]


def test_a_frame_in_the_place_of_steps():
    frame = DATA["frame"]
    with pytest.raises(bdp.errors.InvalidInput) as caught:
        bdp.synthesizers.SequentialModipsSynthesizer(frame, epsilon=4)
    assert not [trace for trace in TRACES for message in said(caught.value) if trace in message]
