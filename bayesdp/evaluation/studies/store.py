"""A study's folder: a manifest, and rows that are added as they come and never half written.

While a study runs, rows are in part-000001.parquet and so on, each written whole; at the end they
are merged into results.parquet, and the parts are removed, oldest first, so that whenever it is
killed, every row is there and the newest row of a unit is in the last file that has it.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp._version import __version__
from bayesdp.errors import InvalidInput, StudyStopped, quoted
from bayesdp.evaluation.studies.identity import fingerprint
from bayesdp.storage import whole_file

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST, RESULTS, _LOCK = "study.json", "results.parquet", ".lock"
NOTE = (
    "Made with seeds, so no release behind these results carries any guarantee of privacy. Results "
    "of confidential data are confidential, and so is this folder."
)
_KIND, _VERSION = "bayesdp study", 1
_WAIT, _SHARE = 0.5, 0.01  # seconds between parts: so many, or this share of the time so far
_FIRST = ("unit", "synthesizer")
_LAST = ("analysis", "replicate", "estimand", "truth", "mean", "sd", "low", "high")
_END = ("error", "message")
_INTEGERS = ("replicate",)

Row = dict[str, Any]


@dataclass
class Store:
    """Store of an open study folder's rows; made by `opened`."""

    folder: Path
    keys: tuple[str, ...]
    _waiting: list[Row] = field(default_factory=list)
    _started: float = field(default_factory=time.monotonic)
    _written: float = field(default_factory=time.monotonic)

    def units(self) -> dict[str, bool]:
        """List every unit in the folder, and whether it failed."""
        table = self.table(["unit", *_END[:1]])
        if table is None:
            return {}
        units, errors = table["unit"].to_pylist(), [None] * len(table)
        if "error" in table.column_names:
            errors = table["error"].to_pylist()
        return dict(zip(units, [error is not None for error in errors], strict=True))

    def append(self, rows: Sequence[Row]) -> None:
        """Append rows, which are written to disk soon.

        Raises
        ------
        StudyStopped
            If the rows can't be written, because the disk is full, say.
        """
        self._waiting += rows
        now = time.monotonic()
        if now - self._written > max(_WAIT, _SHARE * (now - self._started)):
            self.flush()

    def flush(self) -> None:
        """Write the waiting rows to a new part, whole."""
        if self._waiting:
            parts = self._parts()
            last = int(parts[-1].stem.rpartition("-")[2]) if parts else 0
            self._write(self.folder / f"part-{last + 1:06d}.parquet", _table(self._waiting))
            self._waiting.clear()
        self._written = time.monotonic()

    def merge(self) -> None:
        """Merge all rows into one file, in a fixed order, and remove the parts."""
        self.flush()
        parts, table = self._parts(), self.table()
        if not parts or table is None:
            return
        order = ["synthesizer", *sorted(self.keys), *_LAST[:2]]
        places = table.select(order).to_pandas().sort_values(order, kind="stable").index
        self._write(self.folder / RESULTS, table.take(places.to_numpy()))
        for part in parts:
            part.unlink()

    def table(self, columns: list[str] | None = None) -> pa.Table | None:
        """Read all rows, the newest of each unit; None if there are none."""
        import numpy as np
        import pyarrow as pa

        first = [self.folder / RESULTS] if (self.folder / RESULTS).is_file() else []
        tables = [_read(path, columns) for path in (*first, *self._parts())]
        if not tables:
            return None
        whole = pa.concat_tables(tables, promote_options="permissive")
        newest: dict[str, int] = {}
        for number, table in enumerate(tables):
            newest |= dict.fromkeys(table["unit"].to_pylist(), number)
        source = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        own = np.array([newest[unit] for unit in whole["unit"].to_pylist()], dtype=np.int64)
        whole = whole.filter(pa.array(source == own))
        return whole.select(_ordered(whole.column_names, self.keys))

    def _parts(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _write(self, path: Path, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        with _disk(self.folder), whole_file(path) as work:
            pq.write_table(table, work)


@contextmanager
def opened(
    folder: Path, identity: Mapping[str, Any], public: Mapping[str, Any], keys: Sequence[str]
) -> Iterator[Store]:
    """Yield a study's store, made if there is none; no other process may write meanwhile.

    Parameters
    ----------
    folder : Path
    identity : mapping
        Fingerprints of what the rows depend on, by the names that an error gives them. Another run
        may leave some out or add some, but not change any.
    public : mapping
        Further content of the manifest, for JSON; nothing confidential.
    keys : sequence of str
        Keys of the grid.

    Raises
    ------
    InvalidInput
        If the folder holds another study, or something else, or can't be made.
    StudyStopped
        If another process is running it, or the disk is full.
    """
    from filelock import FileLock, Timeout

    if not folder.parent.is_dir():
        raise InvalidInput(f"folder {quoted(folder.parent)} doesn't exist; create it first")
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"out is {quoted(folder)}, which isn't a folder; choose another name")
    _check_contents(folder)
    try:
        folder.mkdir(exist_ok=True)
        lock = FileLock(folder / _LOCK)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise StudyStopped(
            f"another process is running the study in {quoted(folder)}; wait for it, or end it"
        ) from error
    except OSError as error:
        raise InvalidInput(f"nothing can be written in {quoted(folder)} ({_why(error)})") from error
    try:
        for name in ("part-", f"{RESULTS}-", f"{MANIFEST}-"):
            for remains in folder.glob(f".{name}*"):
                remains.unlink()  # of a file that wasn't whole when its process was killed
        _agree(folder, identity, public, keys)
        store = Store(folder, tuple(keys))
        try:
            yield store
        finally:
            store.flush()
    finally:
        lock.release()


def _check_contents(folder: Path) -> None:
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    if MANIFEST not in names and any(not name.startswith(".") for name in names):
        raise InvalidInput(
            f"{quoted(folder)} holds other files and no study; choose another folder"
        )


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a study's folder.

    Raises
    ------
    InvalidInput
        If it isn't a study's folder, or a newer bayesdp made it.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InvalidInput(
            f"{quoted(folder)} has no readable {MANIFEST}, so it isn't a study's folder"
        ) from None
    if not isinstance(manifest, dict) or manifest.get("kind") != _KIND:
        raise InvalidInput(f"{quoted(path)} isn't a study's manifest")
    if manifest.get("version") != _VERSION:
        raise InvalidInput(
            f"{quoted(path)} has version {quoted(manifest.get('version'))}; this bayesdp reads "
            f"{_VERSION}"
        )
    return manifest


def _agree(
    folder: Path, identity: Mapping[str, Any], public: Mapping[str, Any], keys: Sequence[str]
) -> None:
    """Write the manifest, or check that the one there is of the same study."""
    earlier = read_manifest(folder) if (folder / MANIFEST).is_file() else {}
    salt = bytes.fromhex(earlier["salt"]) if earlier else secrets.token_bytes(16)
    prints = {name: fingerprint(value, salt) for name, value in identity.items()}
    kept = earlier.get("fingerprints", {})
    if earlier:
        other = [name for name, own in prints.items() if kept.get(name, own) != own]
        if earlier["bayesdp"] != __version__:
            other.append(f"bayesdp {earlier['bayesdp']} (this is {__version__})")
        if sorted(earlier["keys"]) != sorted(keys):
            other.append(f"the grid's keys, {', '.join(earlier['keys'])}")
        if other:
            raise InvalidInput(
                f"{quoted(folder)} holds results of another study: it differs in "
                f"{'; '.join(other)}. Nothing there was changed; choose another folder"
            )
    manifest = {
        "kind": _KIND,
        "version": _VERSION,
        "bayesdp": __version__,
        "note": NOTE,
        "keys": list(keys),
        **public,
        "salt": salt.hex(),
        "fingerprints": {**kept, **prints},
    }
    if manifest != earlier:
        with _disk(folder), whole_file(folder / MANIFEST) as work:
            work.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def _table(rows: Sequence[Row]) -> pa.Table:
    """Convert rows to columns; numbers of analyses are floats."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    fixed = {*_FIRST, *_END, "analysis", "estimand"}
    columns: dict[str, Any] = {}
    for name in names:
        values = [row.get(name) for row in rows]
        kind = pa.string() if name in fixed else pa.int64() if name in _INTEGERS else None
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def _ordered(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    ahead = [*_FIRST, *(sorted(keys)), *_LAST]
    first = [name for name in ahead if name in names]
    return [*first, *sorted(set(names) - {*ahead, *_END}), *(n for n in _END if n in names)]


def _read(path: Path, columns: list[str] | None) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        names = pq.read_schema(path).names
        return pq.read_table(path, columns=None if columns is None else
                             [name for name in columns if name in names])  # fmt: skip
    except (OSError, ValueError):
        raise InvalidInput(
            f"{quoted(path)} can't be read; if you delete it, its replicates are computed again"
        ) from None


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, InvalidInput) as error:
        raise StudyStopped(
            f"results can't be written to {quoted(folder)} ({_why(error)}); those written earlier "
            "are kept: make room, and run the study again"
        ) from error


def _why(error: Exception) -> str:
    cause = error.__cause__ if isinstance(error, InvalidInput) else error
    return getattr(cause, "strerror", None) or type(error).__name__
