"""Examples of every mechanism of the registry, each small enough to try everything.

A new mechanism adds its own to one of these files.
"""

import collections
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.contracts.examples import (
    counts,
    modips,
    modips_of_columns,
    networks,
    noise,
    posteriors,
)
from tests.contracts.examples.example import Example

EXAMPLES: list[Example] = [
    *counts.EXAMPLES,
    *noise.EXAMPLES,
    *networks.EXAMPLES,
    *posteriors.EXAMPLES,
    *modips.EXAMPLES,
    *modips_of_columns.EXAMPLES,
]
INTRACTABLE = [example for example in EXAMPLES if example.intractable]
COMPUTABLE = [example for example in EXAMPLES if not example.intractable]
"""Those whose law can be computed."""
LISTED = [example for example in COMPUTABLE if not example.continuous]
"""Of these, those all of whose likely outputs are listed, so that their law sums to one."""


def _ids() -> dict[int, str]:
    times: collections.Counter[str] = collections.Counter()
    found = {}
    for example in EXAMPLES:
        name = example.mechanism.name
        found[id(example)] = f"{name}-{times[name]}"
        times[name] += 1
    return found


_IDS = _ids()


def each(examples: Sequence[Example]) -> Callable[[Any], Any]:
    """Run a test on each of the examples, which have the same ids in every test."""
    return pytest.mark.parametrize("example", examples, ids=lambda e: _IDS[id(e)])
