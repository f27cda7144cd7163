"""Stan programs: where their text is read from, and where what they compile to is kept.

A compiled program lies in a folder of the user's cache, named by a hash of everything it
depends on. It is built in a temporary folder beside that one and moved into place when it is
complete, so that an interrupted build is never taken for a good one and two processes that
build at the same time don't meet.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.resources import shipped

MARKER = "complete.json"
"""Written last: a folder of the cache that has it holds a complete build."""

_BUILDING = "building-"
_STALE_SECONDS = 24 * 3600
_INCLUDE = re.compile(r"""^[ \t]*#include[ \t]+[<"]?([^<>"\s]+)[>"]?[ \t]*$""", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A Stan program with its `#include` lines resolved.

    Attributes
    ----------
    name : str
        Name of the program: "binomial" for stan/binomial.stan.
    code : str
        Its complete text.
    """

    name: str
    code: str

    @property
    def filename(self) -> str:
        """Name of the program's file."""
        return f"{self.name}.stan"


def read_program(name: str) -> Program:
    """Read a shipped program and resolve its `#include` lines.

    The resolution is textual, from the folder stan/include, as stanc itself does it; PyStan
    hands stanc no include path.

    Parameters
    ----------
    name : str
        Name of a shipped program: "binomial" for stan/binomial.stan.

    Returns
    -------
    Program

    Raises
    ------
    InvalidInput
        If no such program ships, or an `#include` names a file that doesn't, or itself.
    """
    folder = shipped("stan")
    names = sorted(path.stem for path in folder.glob("*.stan"))
    if name not in names:
        raise InvalidInput(
            f"program={quoted(name)} is not a Stan program of bayesdp; choose one of: "
            f"{', '.join(names)}"
        )
    return Program(name, _resolved(folder / f"{name}.stan", folder / "include", ()))


def _resolved(path: Path, include: Path, outer: tuple[Path, ...]) -> str:
    """Text of a file with each `#include` line replaced by the file it names."""

    def included(line: re.Match[str]) -> str:
        inner = include / line[1]
        if inner in (*outer, path) or not inner.is_file():
            raise InvalidInput(
                f"{path.name} has the line {quoted(line[0].strip())}: allowed are the files of "
                f"{include} that don't include {path.name} themselves"
            )
        return _resolved(inner, include, (*outer, path)).rstrip("\n")

    return _INCLUDE.sub(included, path.read_text(encoding="utf-8"))


def cache_folder() -> Path:
    """Folder of the compiled Stan programs.

    It is `stan` in the folder that the environment variable BAYESDP_CACHE names, or else in the
    user's cache folder for bayesdp. It may be deleted at any time; programs are then compiled
    again.
    """
    from platformdirs import user_cache_path

    override = os.environ.get("BAYESDP_CACHE")
    root = Path(override).expanduser() if override else user_cache_path("bayesdp")
    return root.absolute() / "stan"


def compiled(
    program: Program, fingerprint: Mapping[str, str], compile_into: Callable[[Path], None]
) -> Path:
    """Folder of a compiled program; compile it first unless the cache has it.

    Parameters
    ----------
    program : Program
        The program. The folder holds its text, to which Stan's line numbers refer.
    fingerprint : mapping of str to str
        All else that the compiled program depends on: compiler options, versions, platform.
    compile_into : callable
        Compiles the program into the folder that it is given, whose path is not final.

    Returns
    -------
    Path
        A folder that holds `MARKER`.

    Raises
    ------
    EngineFailed
        If `compile_into` raises it, or the cache can't be written.
    """
    content = json.dumps({"code": program.code, **fingerprint}, sort_keys=True)
    cache = cache_folder()
    folder = cache / f"{program.name}-{hashlib.sha256(content.encode()).hexdigest()[:20]}"
    if (folder / MARKER).is_file():
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _remove_stale_builds(cache)
        with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=cache) as temporary:
            building = Path(temporary) / program.name
            building.mkdir()
            (building / program.filename).write_text(program.code, encoding="utf-8")
            compile_into(building)
            (building / MARKER).write_text(json.dumps(dict(fingerprint), indent=1))
            _move_into_place(building, folder)
    except OSError as error:
        raise EngineFailed(
            f"cannot keep the compiled Stan program {quoted(program.name)} in {cache} ({error}); "
            "set the environment variable BAYESDP_CACHE to a folder that can be written"
        ) from error
    return folder


def _move_into_place(building: Path, folder: Path) -> None:
    """Rename a complete build, unless another process was first with the same one."""
    if folder.is_dir() and not (folder / MARKER).is_file():
        # Damaged. Removing it here could remove what another process has just put in its place;
        # this takes it to where it is removed in the end.
        with contextlib.suppress(FileNotFoundError):
            folder.rename(building.with_name("damaged"))
    try:
        building.rename(folder)
    except OSError:
        if not (folder / MARKER).is_file():
            raise


def _remove_stale_builds(cache: Path) -> None:
    """Remove what builds that were killed left behind."""
    for path in cache.glob(f"{_BUILDING}*"):
        try:
            stale = time.time() - path.stat().st_mtime > _STALE_SECONDS
        except FileNotFoundError:  # its own process has just removed it
            continue
        if stale:
            shutil.rmtree(path, ignore_errors=True)
