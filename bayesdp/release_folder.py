"""A release on disk: a folder with `manifest.json` and `outputs.parquet`."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayesdp._version import __version__
from bayesdp.errors import InvalidInput, InvalidRelease, quoted
from bayesdp.manifest import (
    DistributionalEntry,
    GuaranteeEntry,
    Manifest,
    MechanismEntry,
    OutputsEntry,
    PartEntry,
    parse_manifest,
)
from bayesdp.mechanisms.base import Mechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.release import MANIFEST, OUTPUTS, Part, Release
from bayesdp.storage import whole_folder


def write(release: Release, folder: Path, *, force: bool) -> Path:
    """Write a release; see `Release.save`."""
    data = _parquet(release)
    manifest = _manifest(release, hashlib.sha256(data).hexdigest())
    with whole_folder(folder, MANIFEST, force=force) as work:
        (work / OUTPUTS).write_bytes(data)
        (work / MANIFEST).write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return folder


def read(folder: Path) -> Release:
    """Read a release and check all of it; see `Release.load`."""
    text = _bytes_of(folder, MANIFEST).decode("utf-8", errors="replace")
    manifest = parse_manifest(text, str(folder / MANIFEST))
    data = _bytes_of(folder, OUTPUTS)
    if hashlib.sha256(data).hexdigest() != manifest.outputs.sha256:
        raise InvalidRelease(
            f"{folder / OUTPUTS} doesn't match the hash in its manifest: it was changed or "
            "damaged; get the release folder again from whoever published it"
        )
    try:
        release = Release(
            tuple(_parts(data, manifest)),
            variable=manifest.variable,
            by=manifest.by,
            delta=manifest.delta,
            origin=manifest.origin,
            reproducible=manifest.reproducible,
        )
    except InvalidInput as error:
        raise InvalidRelease(f"{folder}: {error}") from error
    _check_promise(release, manifest, folder)
    return release


def _parquet(release: Release) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = []
    for index, part in enumerate(release.parts):
        columns = part.mechanism.encode(part.outputs)
        rows = len(columns["copy"])
        tables.append(pa.table({"part": [index] * rows, **columns}))
    buffer = io.BytesIO()
    pq.write_table(pa.concat_tables(tables), buffer)
    return buffer.getvalue()


PromiseEntry = GuaranteeEntry | DistributionalEntry
_CLOSE_OR_WORDS = {"epsilon", "rho", "assumptions", "source", "class_in_words"}


def _promise(release: Release) -> PromiseEntry | None:
    promise = release.guarantee
    if release.reproducible or math.isinf(promise.epsilon):
        return None
    entry = GuaranteeEntry if isinstance(promise, Guarantee) else DistributionalEntry
    return entry.model_validate_json(json.dumps(dataclasses.asdict(promise)))


def _manifest(release: Release, sha256: str) -> Manifest:
    return Manifest(
        software=f"bayesdp {__version__}",
        origin=release.origin,
        reproducible=release.reproducible,
        variable=release.variable,
        by=release.by,
        delta=release.delta,
        copies=release.copies,
        parts=[
            PartEntry(group=part.group, mechanism=MechanismEntry.of(part.mechanism))
            for part in release.parts
        ],
        guarantee=_promise(release),
        outputs=OutputsEntry(sha256=sha256),
    )


def _check_promise(release: Release, manifest: Manifest, folder: Path) -> None:
    """Compare what is written with what the mechanisms give; the wording may differ."""
    written, true = manifest.guarantee, _promise(release)
    if written is None and true is None:
        return
    if (
        written is None
        or true is None
        or not math.isclose(written.epsilon, true.epsilon, rel_tol=1e-9)
        or written.model_dump(exclude=_CLOSE_OR_WORDS) != true.model_dump(exclude=_CLOSE_OR_WORDS)
        or _rho(written) < _rho(true) * (1 - 1e-9)
    ):
        raise InvalidRelease(
            f"{folder}: the manifest promises {_short(written)}, but its mechanisms give "
            f"{_short(true)}; get the release folder again from whoever published it"
        )


def _rho(entry: PromiseEntry) -> float:
    rho: float | None = getattr(entry, "rho", None)
    return math.inf if rho is None else rho


def _short(entry: PromiseEntry | None) -> str:
    if entry is None:
        return "nothing"
    if isinstance(entry, DistributionalEntry):
        law = entry.class_as_data
        about = f"{entry.definition}, {entry.level}, {entry.known_records} known, {law}"
    else:
        about = entry.neighbours
    return f"epsilon = {entry.epsilon}, delta = {entry.delta} ({about}, {entry.strength})"


def _bytes_of(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidRelease(
            f"{quoted(folder)} is not a release folder: it has no {name}"
        ) from error


def _parts(data: bytes, manifest: Manifest) -> Iterator[Part]:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(io.BytesIO(data))
        indices, claimed = table.column("part"), 0
        for index, entry in enumerate(manifest.parts):
            mechanism = entry.mechanism.build()
            rows = table.filter(pc.equal(indices, index))
            columns = {name: rows.column(name).to_numpy() for name in rows.column_names}
            found = sorted(set(columns["copy"].tolist()))
            if found != list(range(manifest.copies)):
                raise InvalidRelease(
                    f"copies is {manifest.copies} in {MANIFEST}, but part {index} of {OUTPUTS} has "
                    f"{len(found)}, numbered {found[:5]}..."
                )
            claimed += rows.num_rows
            yield Part(entry.group, mechanism, _decoded(mechanism, columns, manifest.copies))
        if table.num_rows != claimed:
            raise InvalidRelease(f"{OUTPUTS} has rows that belong to no part of {MANIFEST}")
    except (pa.ArrowException, KeyError) as error:
        raise InvalidRelease(f"{OUTPUTS} is not what its manifest says: {error}") from error


def _decoded(mechanism: Mechanism, columns: dict[str, Any], copies: int) -> tuple[Any, ...]:
    outputs = tuple(mechanism.decode(columns))
    if len(outputs) != copies:
        raise InvalidRelease(f"{OUTPUTS} holds {len(outputs)} outputs for {copies} copies")
    return outputs
