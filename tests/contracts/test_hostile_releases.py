"""Whatever is in its files, a release folder is read as it is, or refused as InvalidRelease."""

import base64
import dataclasses
import io
import json
import os
import random
import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bayesdp as bdp
from bayesdp.release import MANIFEST, OUTPUTS
from bayesdp.release.manifest import MechanismEntry
from tests.contracts.examples import EXAMPLES, each
from tests.contracts.examples.example import Example
from tests.contracts.hostile import at, mutated, parquet, put, table_mutated, write

MUTANTS = 8  # of each example
MOST_BYTES = 64 << 20  # beside what the file itself has
PATIENCE = 1  # seconds; a mutant whose promise takes longer to compute is left
PARAMETERS = ("parts", 0, "mechanism", "parameters")


class Patience(BaseException):
    """A promise about a huge number is being computed, which is slow and not wrong."""


@contextmanager
def patience(gave_up: list[int]) -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise Patience

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        yield
    except Patience:
        gave_up.append(PATIENCE)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True, scope="module")
def _traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@contextmanager
def little_memory() -> Iterator[None]:
    """Python's and NumPy's own, and Arrow's, which is counted by itself."""
    pool = pa.default_memory_pool()
    start, high = pool.bytes_allocated(), pool.max_memory()
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    yield
    _, peak = tracemalloc.get_traced_memory()
    assert peak - before < MOST_BYTES
    assert pool.max_memory() <= max(high, start + MOST_BYTES)


def is_what_is_written(release: bdp.Release, manifest: Any) -> bool:
    """Whether a release is of the mechanisms, labels and names that a manifest says."""
    entries = [
        {"group": part.group, "mechanism": MechanismEntry.of(part.mechanism).model_dump()}
        for part in release.parts
    ]
    names = ("variable", "by", "delta", "origin", "reproducible", "copies")
    return same(entries, manifest["parts"]) and all(
        same(getattr(release, name), manifest[name]) for name in names if name in manifest
    )


def same(loaded: Any, written: Any) -> bool:
    """Whether two values are alike, but for whole numbers that are held as floats."""
    if isinstance(loaded, dict) and isinstance(written, dict):
        return loaded.keys() == written.keys() and all(same(loaded[k], written[k]) for k in loaded)
    if isinstance(loaded, list) and isinstance(written, list):
        return len(loaded) == len(written) and all(map(same, loaded, written))
    if isinstance(loaded, float) and type(written) is int:
        return loaded == float(written)
    return type(loaded) is type(written) and loaded == written


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of numbers out of all range, on the way to the refusal
@each(EXAMPLES)
def test_mutants_are_read_as_they_are_or_refused(example: Example, tmp_path: Path):
    outputs = [example.mechanism.check_output(z) for z in example.outputs][:3]
    release = bdp.Release.of(example.mechanism, outputs, delta=example.delta)
    folder = release.save(tmp_path / "r")
    manifest, data = json.loads((folder / MANIFEST).read_text()), (folder / OUTPUTS).read_bytes()
    table = pq.read_table(io.BytesIO(data))
    draw, gave_up = random.Random(MechanismEntry.of(example.mechanism).model_dump_json()), []
    for turn in range(MUTANTS):
        if len(gave_up) > 1:  # the promise itself takes long; the others will too
            break
        changed, content = manifest, data
        if turn % 4 == 0:
            content = parquet(table_mutated(table, draw))
        elif turn % 4 == 1:
            changed = mutated(manifest, draw)
        else:
            changed = put(manifest, PARAMETERS, mutated(at(manifest, PARAMETERS), draw))
        write(folder, changed, content)
        with little_memory(), patience(gave_up):
            try:
                loaded = bdp.Release.load(folder)
            except bdp.errors.InvalidRelease:
                continue
            assert is_what_is_written(loaded, changed)
            assert loaded.copies == release.copies


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    mechanism = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(16.0, 16.0))
    return bdp.Release.of(mechanism, [38, 41]).save(tmp_path / "r")


def refuse(folder: Path, message: str) -> None:
    with little_memory(), pytest.raises(bdp.errors.InvalidRelease, match=message):
        bdp.Release.load(folder)


TEXTS = {
    "an integer of 5,000 digits": ('"copies": 2', f'"copies": {"9" * 5000}', "5000 digits"),
    "a number beyond floats": ('"delta": 0.0', '"delta": 1e999', "isn't finite"),
    "a number that is none": ('"delta": 0.0', '"delta": NaN', "the number NaN"),
    "a key twice": ('"copies": 2', '"copies": 2, "copies": 2', "a key twice"),
    "100,000 brackets": ('"copies": 2', f'"copies": {"[" * 10**5}{"]" * 10**5}', "too deeply"),
    "brackets that don't end": ('"copies": 2', "[" * 10**5, "too deeply|not valid JSON"),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_that_no_release_has(folder: Path, kind: str):
    old, new, message = TEXTS[kind]
    text = (folder / MANIFEST).read_text()
    assert old in text
    (folder / MANIFEST).write_text(text.replace(old, new))
    refuse(folder, message)


def manifest_of(folder: Path) -> tuple[Any, bytes]:
    return json.loads((folder / MANIFEST).read_text()), (folder / OUTPUTS).read_bytes()


@pytest.mark.parametrize("copies", [10**12, 2**63, 2**64, 10**200])
def test_more_copies_than_rows(folder: Path, copies: int):
    manifest, data = manifest_of(folder)
    write(folder, manifest | {"copies": copies}, data)
    refuse(folder, "copies")


def test_many_parts_of_few_rows(folder: Path):
    manifest, data = manifest_of(folder)
    parts = [put(manifest["parts"][0], ("group",), k) for k in range(2000)]
    write(folder, manifest | {"parts": parts, "by": "g"}, data)
    refuse(folder, "part 1 of outputs.parquet has 0")


def test_a_degree_that_no_network_has(tmp_path: Path):
    made = bdp.mechanisms.TruncatedStatisticsMechanism("edges", 1.5, 2)
    folder = bdp.Release.of(made, [(3,)]).save(tmp_path / "r")
    manifest, data = manifest_of(folder)
    write(folder, put(manifest, (*PARAMETERS, "max_degree"), 10**9), data)
    refuse(folder, "max_degree is 1000000000; it must be at most 100,000")


def test_counts_that_are_too_many_to_try(tmp_path: Path):
    made = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 5, (50.0, 50.0), size=9)
    folder = bdp.Release.of(made, [3], delta=1e-6).save(tmp_path / "r")
    manifest, data = manifest_of(folder)
    for name in ("n", "size"):
        write(folder, put(manifest, (*PARAMETERS, name), 10**9), data)
        refuse(folder, "these are 1,000,000,000")


@pytest.mark.slow
def test_a_small_file_that_says_it_is_large(folder: Path):
    """Equal values take no room in a file, and all of it in memory."""
    manifest, _ = manifest_of(folder)
    rows = 30_000_000
    buffer = io.BytesIO()
    schema = pa.schema({name: pa.int64() for name in ("part", "copy", "ones", "records")})
    chunk = pa.table({name: pa.repeat(0, 1_000_000) for name in schema.names}, schema=schema)
    with pq.ParquetWriter(buffer, schema) as writer:
        for _ in range(rows // len(chunk)):
            writer.write_table(chunk)
    del chunk
    data = buffer.getvalue()
    assert len(data) < 1 << 20
    write(folder, manifest, data)
    refuse(folder, "which no table of outputs does")


def test_a_long_text_that_is_repeated_is_held_once(folder: Path):
    manifest, _ = manifest_of(folder)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000), pa.array(["x" * 10_000]))
    columns = {name: [0] * 100_000 for name in ("part", "copy", "ones")}
    write(folder, manifest, parquet(pa.table(columns | {"records": long})))
    refuse(folder, "copies is 2")


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "device"])
@pytest.mark.parametrize("name", [MANIFEST, OUTPUTS])
def test_what_is_no_file(folder: Path, name: str, kind: str):
    (folder / name).unlink()
    if kind == "folder":
        (folder / name).mkdir()
    elif kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero" if kind == "device" else folder / name)
    refuse(folder, f"{name}' (is not a file|can't be read)")


@pytest.mark.parametrize("name", [MANIFEST, OUTPUTS])
def test_bytes_of_something_else(folder: Path, name: str):
    whole = (folder / name).read_bytes()
    magic = b"PAR1" + whole[4:40] + b"\xff\xff\xff\x7fPAR1"
    for data in (b"", b"\x00" * 100, b"\xff\xfe{\x00", base64.b64encode(whole), magic, whole[:-1]):
        manifest, table = manifest_of(folder) if name == OUTPUTS else ({}, b"")
        if name == OUTPUTS:
            write(folder, manifest, data)
        else:
            (folder / name).write_bytes(data)
        if data != whole[:-1] or name == OUTPUTS:  # a manifest's last byte ends its line
            refuse(folder, name)
        if table:
            write(folder, manifest, whole)


# A hash, and a signature.

KEY = b"sixteen or more bytes"


def edit(folder: Path, place: tuple[Any, ...], value: Any) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    (folder / MANIFEST).write_text(json.dumps(put(manifest, place, value)))


EDITS = {
    "another n": ((*PARAMETERS, "n"), 10),
    "another size": ((*PARAMETERS, "size"), 99),
    "another name": (("variable",), "well"),
    "another writer": (("software",), "bayesdp 9"),
    "other words": (("guarantee", "assumptions"), ["None."]),
    "another hash": (("seal", "sha256"), "0" * 64),
    "no hash": (("seal",), None),
    "an older version": (("version",), 1),
}


@pytest.mark.parametrize("kind", EDITS)
def test_an_edit_is_found(folder: Path, kind: str):
    """A beta-binomial's promise is the same for every n, but its likelihood isn't."""
    edit(folder, *EDITS[kind])
    refuse(folder, r"its own hash|valid manifest|needs a seal")


def test_layout_is_no_edit(folder: Path):
    manifest, _ = manifest_of(folder)
    (folder / MANIFEST).write_text(json.dumps(dict(reversed(manifest.items()))))
    assert bdp.Release.load(folder).outputs == (38, 41)


def test_a_release_of_the_first_version_is_read(folder: Path):
    whole = bdp.Release.load(folder)
    manifest, data = manifest_of(folder)
    del manifest["seal"]
    write(folder, manifest | {"version": 1}, data)
    assert bdp.Release.load(folder) == whole
    with pytest.raises(bdp.errors.InvalidRelease, match="has no signature"):
        bdp.Release.load(folder, key=KEY)
    write(folder, manifest, data)
    refuse(folder, "needs a seal")


def test_a_signature_is_made_and_asked_for(folder: Path, tmp_path: Path):
    release = bdp.Release.load(folder)
    with pytest.raises(bdp.errors.InvalidRelease, match="has no signature"):
        bdp.Release.load(folder, key=KEY)
    signed = release.save(tmp_path / "signed", key=KEY)
    assert bdp.Release.load(signed, key=KEY) == bdp.Release.load(signed) == release
    with pytest.raises(bdp.errors.InvalidRelease, match="isn't signed with this key"):
        bdp.Release.load(signed, key=KEY + b"!")
    manifest, data = manifest_of(signed)
    forged = put(manifest, (*PARAMETERS, "n"), 10)
    write(signed, forged, data)  # with a hash that matches, as anybody can
    assert bdp.Release.load(signed).mechanism.n == 10
    with pytest.raises(bdp.errors.InvalidRelease, match="has no signature"):
        bdp.Release.load(signed, key=KEY)
    forged = json.loads((signed / MANIFEST).read_text())
    edit(signed, ("seal",), forged["seal"] | {"hmac_sha256": manifest["seal"]["hmac_sha256"]})
    with pytest.raises(bdp.errors.InvalidRelease, match="isn't signed with this key"):
        bdp.Release.load(signed, key=KEY)


@pytest.mark.parametrize("key", [b"", b"short", "a text that is long enough", 5, bytearray(40)])
def test_keys_that_are_none(folder: Path, tmp_path: Path, key: Any):
    release = bdp.Release.load(folder)
    for use in (
        lambda: release.save(tmp_path / "s", key=key),
        lambda: release.load(folder, key=key),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match="key is") as caught:
            use()
        assert "long enough" not in str(caught.value)
    assert not (tmp_path / "s").exists()


def test_the_seal_is_of_what_is_released_alone(folder: Path, tmp_path: Path):
    """The same release gives the same files, byte for byte."""
    again = dataclasses.replace(bdp.Release.load(folder)).save(tmp_path / "again")
    for name in (MANIFEST, OUTPUTS):
        assert (again / name).read_bytes() == (folder / name).read_bytes()
