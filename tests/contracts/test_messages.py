"""No message shows a record, whatever argument the data were given as."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from tests.contracts import calls

PACKAGE = Path(bdp.__file__).parent
NAMES = sorted({call.name for call in calls.every()})
WORDS = ["Quetzalcoatl", "Xochimilco", "Popocatepetl"]
NUMBERS = [7306.5812, 9182.0457, 6643.7719]
WHOLE = [730658, 918204, 664377]
TRACES = [*WORDS, *(f"{v}"[:6] for v in NUMBERS), *map(str, WHOLE)]
DATA: dict[str, Any] = {
    "frame": pd.DataFrame({"name": WORDS, "income": NUMBERS, "code": WHOLE}),
    "numbers": pd.Series(NUMBERS, name="income"),
    "array": np.array(NUMBERS),
    "labels": np.array(WORDS),
    "pair": (NUMBERS[0], NUMBERS[1]),
    "list": [*WORDS, *NUMBERS],
    "mapping": {"name": WORDS[0], "income": NUMBERS[0], "code": WHOLE[0]},
    "Count": bdp.Count(WHOLE[2], WHOLE[1]),
}


def said(error: BaseException | None) -> Iterator[str]:
    """The messages that a traceback prints."""
    while error is not None:
        yield str(error)
        yield from getattr(error, "__notes__", ())
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize("name", NAMES)
def test_no_message_shows_a_record(name: str):
    shown = []
    for call in [c for c in calls.every() if c.name == name][:1]:
        for argument in call.arguments.arguments:
            for kind, data in DATA.items():
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    try:
                        call(**{argument: data})
                        messages = []
                    except Exception as error:
                        messages = [f"{type(error).__name__}: {each}" for each in said(error)]
                messages += [str(each.message) for each in warned]
                shown += [
                    f"{argument} = {kind}: {message}"[:300]
                    for message in messages
                    if any(trace in message for trace in TRACES)
                ]
    assert not shown, "\n".join(shown)
