"""A release on disk: a folder with `manifest.json` and `outputs.parquet`."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from bayesdp._version import __version__
from bayesdp.errors import InvalidRelease, quoted
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.release.manifest import (
    STUMBLES,
    DistributionalEntry,
    GuaranteeEntry,
    Manifest,
    MechanismEntry,
    OutputsEntry,
    PartEntry,
    parse_manifest,
)
from bayesdp.release.manifest_text import check_key
from bayesdp.release.parts import MANIFEST, OUTPUTS, Part, Written
from bayesdp.release.table import read_table, split_table, write_table
from bayesdp.storage import whole_folder

Made = TypeVar("Made", bound=Written)


def write(release: Written, folder: Path, *, force: bool, key: bytes | None) -> Path:
    """Write a release; see `Release.save`."""
    check_key(key)
    data = write_table([(part.mechanism, part.outputs) for part in release.parts])
    text = _manifest(release, hashlib.sha256(data).hexdigest()).text(key)
    with whole_folder(folder, MANIFEST, force=force) as work:
        (work / OUTPUTS).write_bytes(data)
        (work / MANIFEST).write_text(text, encoding="utf-8")
    return folder


def read(make: Callable[..., Made], folder: Path, key: bytes | None) -> Made:
    """Read a release and check all of it; see `Release.load`."""
    check_key(key)
    try:
        text = _bytes_of(folder, MANIFEST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRelease(f"{folder / MANIFEST} is not text in UTF-8 (truncated?)") from error
    manifest = parse_manifest(text, str(folder / MANIFEST), key)
    data = _bytes_of(folder, OUTPUTS)
    if hashlib.sha256(data).hexdigest() != manifest.outputs.sha256:
        raise InvalidRelease(
            f"{folder / OUTPUTS} doesn't match the hash in its manifest: it was changed or "
            "damaged; get the release folder again from whoever published it"
        )
    try:
        release = make(
            tuple(_parts(data, manifest)),
            variable=manifest.variable,
            by=manifest.by,
            delta=manifest.delta,
            origin=manifest.origin,
            reproducible=manifest.reproducible,
        )
        _check_promise(release, manifest)
    except STUMBLES as error:
        raise InvalidRelease(f"{folder}: {error}") from error
    return release


PromiseEntry = GuaranteeEntry | DistributionalEntry
_CLOSE_OR_WORDS = {"epsilon", "rho", "assumptions", "source", "class_in_words"}


def _promise(release: Written) -> PromiseEntry | None:
    promise = release.guarantee
    if release.reproducible or math.isinf(promise.epsilon):
        return None
    entry = GuaranteeEntry if isinstance(promise, Guarantee) else DistributionalEntry
    return entry.model_validate_json(json.dumps(dataclasses.asdict(promise)))


def _manifest(release: Written, sha256: str) -> Manifest:
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


def _check_promise(release: Written, manifest: Manifest) -> None:
    """Compare the promise in the manifest with the mechanisms' own; the wording may differ."""
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
            f"the manifest promises {_short(written)}, but its mechanisms give "
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
        if not stat.S_ISREG((folder / name).stat().st_mode):  # a pipe would keep us waiting
            raise InvalidRelease(f"{quoted(folder / name)} is not a file; a release folder has one")
        return (folder / name).read_bytes()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidRelease(
            f"{quoted(folder)} is not a release folder: it has no {name}"
        ) from error
    except (OSError, ValueError) as error:  # ValueError: a null character in the path
        if isinstance(error, InvalidRelease):
            raise
        raise InvalidRelease(f"{quoted(folder / name)} can't be read: {error}") from error


def _parts(data: bytes, manifest: Manifest) -> Iterator[Part]:
    columns = read_table(data, OUTPUTS)
    tables = split_table(columns, len(manifest.parts), manifest.copies, OUTPUTS)
    for entry, table in zip(manifest.parts, tables, strict=True):
        mechanism = entry.mechanism.build()
        try:
            outputs = tuple(mechanism.decode(table))
        except STUMBLES as error:
            raise InvalidRelease(f"{OUTPUTS} is not what its manifest says: {error}") from error
        if len(outputs) != manifest.copies:
            raise InvalidRelease(
                f"{OUTPUTS} holds {len(outputs)} outputs for {manifest.copies} copies"
            )
        yield Part(entry.group, mechanism, outputs)
