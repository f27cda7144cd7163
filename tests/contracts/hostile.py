"""Damaged and hostile release folders: mutations of real ones, the same in every run."""

import copy
import hashlib
import io
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bayesdp.release import MANIFEST, OUTPUTS
from bayesdp.release.manifest_text import sealed

NUMBERS: list[Any] = [
    0, -1, 1, 2, 3, 10**6, 10**9, 10**12, -(10**12), 2**31, 2**53 + 1, 2**63, 2**64, 10**400,
    0.0, -0.0, 0.5, 1.0, 1.5, 1e-300, 5e-324, 1e300, -1e300, True, False,
]  # fmt: skip
OTHERS: list[Any] = [
    None, "", "a", "0", "nan", "x" * 100_000, "\x00", "\ud800", "../../etc/passwd", "\u202e",
    [], [[]], [[[[]]]], {}, {"": None}, [1, "a", None], [0] * 10_000, {"copy": 1},
    [None], [10**9, 10**9], [1e300, 1e300],
]  # fmt: skip

Place = tuple[Any, ...]


def places(value: Any, here: Place = ()) -> Iterator[Place]:
    """The path of every value within a document, its own first."""
    yield here
    if isinstance(value, dict | list):
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, below in inside:
            yield from places(below, (*here, key))


def at(document: Any, place: Place) -> Any:
    for key in place:
        document = document[key]
    return document


def put(document: Any, place: Place, value: Any) -> Any:
    """A copy of the document with another value there."""
    if not place:
        return value
    changed = copy.deepcopy(document)
    at(changed, place[:-1])[place[-1]] = value
    return changed


def mutated(document: Any, draw: random.Random) -> Any:
    """The document with one value changed: swapped for another type, size or length."""
    place = draw.choice(list(places(document)))
    old = at(document, place)
    kinds: list[Callable[[], Any]] = [
        lambda: draw.choice(NUMBERS),
        lambda: draw.choice(OTHERS),
        lambda: at(document, draw.choice(list(places(document)))),
    ]
    if isinstance(old, bool | int | float):
        kinds += [
            lambda: old + 1, lambda: -old, lambda: old * 10**6, lambda: float(old),
            lambda: str(old), lambda: [old], lambda: draw.choice(NUMBERS),
        ]  # fmt: skip
    if isinstance(old, str):
        kinds += [lambda: old + "x", lambda: [old]]
    if isinstance(old, list) and old:
        kinds += [lambda: old * 2, lambda: old[:-1], lambda: old[::-1], lambda: {"0": old},
                  lambda: [*old, None]]  # fmt: skip
    if isinstance(old, dict) and old:
        key = draw.choice(sorted(old))
        rest = {k: v for k, v in old.items() if k != key}
        kinds += [lambda: rest, lambda: old | {"more": 1}, lambda: rest | {key.upper(): old[key]},
                  lambda: list(old.values())]  # fmt: skip
    return put(document, place, draw.choice(kinds)())


def table_mutated(table: pa.Table, draw: random.Random) -> pa.Table:
    """The table with its columns, types, rows or values changed."""
    name = draw.choice(table.column_names)
    place, column = table.column_names.index(name), table.column(name)
    rows = table.num_rows

    def replaced(values: Any) -> pa.Table:
        return table.set_column(place, name, pa.array(values))

    numbers = [0, -1, 10**9, 10**12, 2**62, float("nan"), float("inf"), -1e300, 0.5]
    return draw.choice([
        lambda: table.drop_columns([name]),
        lambda: table.rename_columns([n + "x" if n == name else n for n in table.column_names]),
        lambda: table.append_column("more", column),
        lambda: table.append_column(name, column),
        lambda: table.slice(0, max(rows - 1, 0)),
        lambda: table.slice(0, 0),
        lambda: pa.concat_tables([table, table]),
        lambda: table.take(pa.array(list(range(rows))[::-1])),
        lambda: replaced([draw.choice(numbers)] * rows),
        lambda: replaced(["x" * draw.choice([1, 1000])] * rows),
        lambda: replaced([None] * rows),
        lambda: replaced([*column.to_pylist()[:-1], None]),
        lambda: replaced([[value] for value in column.to_pylist()]),
        lambda: replaced([str(value) for value in column.to_pylist()]),
        lambda: replaced([{"a": 1}] * rows),
        lambda: replaced([b"\xff"] * rows),
        lambda: replaced(pa.array(column.to_pylist()).dictionary_encode()),
        lambda: replaced(np.arange(rows).astype("datetime64[s]")),
        lambda: replaced([True] * rows),
        lambda: replaced(draw.sample(column.to_pylist(), rows)),
    ])()  # fmt: skip


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def write(folder: Path, manifest: Any, data: bytes) -> None:
    """Write a release's files with hashes that match, so that what is looked at is the content."""
    manifest = copy.deepcopy(manifest)
    if isinstance(manifest, dict):
        if isinstance(manifest.get("outputs"), dict):
            manifest["outputs"]["sha256"] = hashlib.sha256(data).hexdigest()
        if "seal" in manifest:
            manifest = sealed(manifest)
    (folder / OUTPUTS).write_bytes(data)
    (folder / MANIFEST).write_text(json.dumps(manifest))
