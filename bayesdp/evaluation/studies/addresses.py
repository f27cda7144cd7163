"""Results of a study at an address: one Parquet file in an object store or on a web server.

A study's own folder is on a disk of this machine, since it needs what object stores don't have: a
lock, a rename that replaces a file, and bytes that are on the disk when a write returns. They do
promise that an object appears whole or not at all; so what goes there is one object, at the end.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bayesdp._version import __version__
from bayesdp.checks import check_flag
from bayesdp.errors import (
    InvalidInput,
    MissingDependency,
    ReleaseExists,
    StudyStopped,
    quoted,
    without_secrets,
)
from bayesdp.evaluation.studies.store import NOTE
from bayesdp.optional import needed

if TYPE_CHECKING:
    import pandas as pd

_KIND, _VERSION = "bayesdp study's results", 1
_ENTRY = b"bayesdp"  # of the file's metadata
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_PACKAGES = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
}

Options = Mapping[str, Any]


def is_address(place: Any) -> bool:
    """Return True for a text such as "s3://bucket/study.parquet", which is no path."""
    return isinstance(place, str) and _ADDRESS.match(place) is not None


def check(url: str, options: Options | None = None, *, force: bool) -> tuple[Any, str]:
    """Return the file system and the path of an address that may be written to.

    Raises
    ------
    InvalidInput, MissingDependency, ReleaseExists, StudyStopped
        As for `write`.
    """
    check_flag("force", force)
    files, path = _at(url, options)
    with _reached(url, "written to", StudyStopped):
        there = files.exists(path)
    if there and not force:
        raise ReleaseExists(
            f"there is something at {quoted(url)} already, and nothing was written; choose another "
            "name, or replace it with force=True (--force)"
        )
    return files, path


def write(frame: pd.DataFrame, keys: tuple[str, ...], url: str, options: Options | None, *,
          force: bool) -> None:  # fmt: skip
    """Write results to an address, as one Parquet file that says what it is.

    Raises
    ------
    InvalidInput
        If `url` isn't an address, or of a protocol that fsspec doesn't know.
    MissingDependency
        If fsspec, or its package for the protocol, isn't installed.
    ReleaseExists
        If something is there, and `force` isn't given.
    StudyStopped
        If it can't be written there.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files, path = check(url, options, force=force)
    told = {"kind": _KIND, "version": _VERSION, "bayesdp": __version__, "note": NOTE, "keys": keys}
    table = pa.Table.from_pandas(frame, preserve_index=False)
    whole = io.BytesIO()
    pq.write_table(
        table.replace_schema_metadata({**table.schema.metadata, _ENTRY: json.dumps(told)}), whole
    )
    with _reached(url, "written to", StudyStopped):
        files.pipe_file(path, whole.getvalue())


def read(url: str, options: Options | None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read the results at an address, and the keys of their grid.

    Raises
    ------
    InvalidInput
        If `url` isn't an address, can't be read, or holds something else.
    MissingDependency
        If fsspec, or its package for the protocol, isn't installed.
    """
    import pyarrow.parquet as pq

    files, path = _at(url, options)
    with _reached(url, "read from", InvalidInput):
        content = files.cat_file(path)
    try:
        table = pq.read_table(io.BytesIO(content))
        told = json.loads(table.schema.metadata[_ENTRY])
        kind, version, keys = told["kind"], told["version"], tuple(map(str, told["keys"]))
    except (OSError, ValueError, KeyError, TypeError):  # pyarrow's own are among these
        raise InvalidInput(
            f"{quoted(url)} holds no results of a study; give what results.save(url) wrote"
        ) from None
    if (kind, version) != (_KIND, _VERSION):
        raise InvalidInput(
            f"{quoted(url)} has results of version {quoted(version)}; this bayesdp reads "
            f"{_VERSION}: upgrade it"
        )
    return table.to_pandas(), keys


def _at(url: Any, options: Options | None) -> tuple[Any, str]:
    """Return fsspec's file system for an address, and the path there."""
    if not is_address(url):
        raise InvalidInput(
            f"url is {quoted(url)}; it must be an address, as 's3://bucket/study.parquet'. A "
            "study's folder on this machine can be copied as it is"
        )
    protocol = url.partition("://")[0]
    core = needed("fsspec.core", f"the address {quoted(url)}", "studies")
    try:
        files, path = core.url_to_fs(url, **(options or {}))
    except ImportError as error:
        package = _PACKAGES.get(protocol)
        advice = without_secrets(str(error))  # fsspec's own
        way = f"pip install {package}" if package else advice
        raise MissingDependency(
            f"an address of {protocol}:// needs a package of its own, which can't be imported: "
            f"{way}"
        ) from None
    except (ValueError, TypeError) as error:
        raise InvalidInput(
            f"url is {quoted(url)}, of which fsspec makes nothing ({type(error).__name__}); it "
            "must be an address, as 's3://bucket/study.parquet', and options its file system's"
        ) from None  # whose words may have the address
    return files, path


@contextmanager
def _reached(url: str, what: str, kind: type[InvalidInput] | type[StudyStopped]) -> Iterator[None]:
    """Turn what a store's own client raises, which may be anything, into an error of ours."""
    try:
        yield
    except Exception as error:
        raise kind(
            f"results can't be {what} {quoted(url)} ({type(error).__name__}); look whether "
            "it is there, whether you may, and for its options, as results.save(url, options={...})"
        ) from None  # whose words may have the address
