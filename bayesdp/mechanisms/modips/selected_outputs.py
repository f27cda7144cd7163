"""Outputs of `SelectedModipsMechanism`: rows of integers, the chosen family and then its copies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import decode_numbers, encode_numbers
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.modips.nested import NestedModipsMechanism

if TYPE_CHECKING:
    from bayesdp.mechanisms.modips.selected import SelectedModipsMechanism

_MOST_OUTPUTS = 100_000


def _shape(made: SelectedModipsMechanism) -> tuple[int, ...]:
    """Shape of one copy: () for binary records, whose number of ones it is."""
    first = made.families[0]
    inner = (first.k,) if isinstance(first, Categorical) else ()
    return (made.modips.draws, *inner) if isinstance(made.modips, NestedModipsMechanism) else inner


def width(made: SelectedModipsMechanism) -> int:
    """Number of integers in an output."""
    return 1 + made.each * math.prod(_shape(made))


def copies_in(made: SelectedModipsMechanism, output: NDArray[Any]) -> list[NDArray[Any]]:
    """Cut copies from outputs of shape (..., width); shape (..., *shape of a copy) each."""
    apart = output[..., 1:].reshape(*output.shape[:-1], made.each, *_shape(made))
    return list(np.moveaxis(apart, output.ndim - 1, 0))


def split(made: SelectedModipsMechanism, output: Any) -> tuple[int, tuple[Any, ...]]:
    """Split an output into the choice and its copies; see `SelectedModipsMechanism.split`."""
    values = np.asarray(output)
    if values.shape != (width(made),) or values.dtype.kind not in "iu":
        raise InvalidInput(
            f"output is {quoted(output)}; this mechanism releases {width(made)} integers: the "
            "position of the chosen family, and the numbers of the copies after it"
        )
    chosen = made.choice.check_output(values[0])
    candidate = made.candidates[chosen]
    return chosen, tuple(candidate.check_output(each) for each in copies_in(made, values))


def every_output(made: SelectedModipsMechanism) -> NDArray[np.int64] | None:
    """List every output; see `SelectedModipsMechanism.outputs`."""
    copies = made.modips.outputs()
    if copies is None or len(made.families) * len(copies) ** made.each > _MOST_OUTPUTS:
        return None
    flat = np.reshape(copies, (len(copies), -1))
    rows = itertools.product(range(len(made.families)), *[range(len(flat))] * made.each)
    return np.array([np.concatenate([[i], *(flat[j] for j in places)]) for i, *places in rows])


def records(made: SelectedModipsMechanism, output: Any) -> NDArray[Any]:
    """Synthetic records of an output; see `SelectedModipsMechanism.records`."""
    chosen, copies = split(made, output)
    each = [made.candidates[chosen].records(copy) for copy in copies]
    shown = np.concatenate(each)
    columns: dict[str, Any] = {"family": np.full(shown.size, chosen)}
    if made.each > 1:
        columns["copy"] = np.repeat(np.arange(made.each), [one.size for one in each])
    names = shown.dtype.names
    columns |= {name: shown[name] for name in names} if names else {"value": shown}
    found = np.empty(shown.size, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        found[name] = column
    return found


def encode(outputs: Sequence[Any]) -> dict[str, Any]:
    """Encode outputs as columns; see `SelectedModipsMechanism.encode`."""
    values = np.asarray(outputs)
    chosen = np.repeat(values[:, 0], values.shape[1] - 1)
    return {**encode_numbers(values[:, 1:].tolist()), "family": chosen}


def decode(columns: Mapping[str, Any]) -> list[tuple[int, ...]]:
    """Read the encoded outputs; see `SelectedModipsMechanism.decode`."""
    family = np.asarray(columns["family"])
    _, first, place = np.unique(columns["copy"], return_index=True, return_inverse=True)
    if np.any(family != family[first][place]):
        raise InvalidInput("family differs within an output; it is one choice")
    rest = decode_numbers({name: values for name, values in columns.items() if name != "family"})
    return [(chosen, *row) for chosen, row in zip(family[first].tolist(), rest, strict=True)]
