"""Stan programs: where their text is read from, and where compiled programs are kept.

A compiled program lies in a folder of the user's cache, named by a hash of everything it
depends on. It is built in a temporary folder beside that one and moved into place when it is
complete, so that an interrupted build is never mistaken for a good one. A second process that wants
it meanwhile waits; on a disk without locks it builds its own, and the two don't collide.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bayesdp.errors import EngineFailed, InvalidInput, kind_of, quoted
from bayesdp.private_folder import private_folder
from bayesdp.resources import shipped
from bayesdp.warned import warn_about

MARKER = "complete.json"
"""Written last, with the sizes of all files: a folder of the cache that has these is complete."""

_BUILDING = "building-"
_STALE_SECONDS = 24 * 3600
_INCLUDE = re.compile(r"""^[ \t]*#include[ \t]+[<"]?([^<>"\s]+)[>"]?[ \t]*$""", re.MULTILINE)

_BRACKETS = re.compile(r"\[[^][]*\]|\([^()]*\)|<[^<>]*>")
"""Sizes, bounds and transforms of a declaration."""


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

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of their block."""
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", self.code, flags=re.DOTALL)
        block = re.search(r"(?<!transformed )\bparameters\s*\{(.*?)\}", text, re.DOTALL)
        names = []
        for declaration in block[1].split(";") if block else ():
            left = before = declaration
            while (left := _BRACKETS.sub(" ", left)) != before:  # innermost first
                before = left
            names += [words[-1] for each in left.split(",") if (words := each.split())]
        return tuple(names)


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
        If no such program ships, or an `#include` names a file that doesn't exist, or its own.
    """
    folder = shipped("stan")
    names = sorted(path.stem for path in folder.glob("*.stan"))
    if name not in names:
        raise InvalidInput(
            f"program={quoted(name)} is not a Stan program of bayesdp; choose one of: "
            f"{', '.join(names)}"
        )
    text = (folder / f"{name}.stan").read_text(encoding="utf-8")
    return Program(name, _resolved(text, f"{name}.stan", ()))


def include_path() -> Path:
    """Return the folder of bayesdp's Stan functions, for stanc's include paths.

    A program's `#include bayesdp.stanfunctions`, in its functions block, is found there:

        cmdstanpy.CmdStanModel(
            stan_file="mine.stan", stanc_options={"include-paths": [str(bdp.stan.include_path())]}
        )

    Returns
    -------
    Path
    """
    return shipped("stan") / "include"


def with_includes(code: str) -> str:
    """Return a Stan program with bayesdp's functions in place of the lines that include them.

    It is for PyStan, which has no include paths: `stan.build(bdp.stan.with_includes(code), ...)`.

    Parameters
    ----------
    code : str
        A program with lines such as `#include bayesdp.stanfunctions`.

    Returns
    -------
    str

    Raises
    ------
    InvalidInput
        If a line includes a file that isn't bayesdp's.
    """
    if not isinstance(code, str):
        raise InvalidInput(f"code is {kind_of(code)}; it must be the text of a Stan program")
    return _resolved(code, "the program", ())


def _resolved(text: str, name: str, outer: tuple[str, ...]) -> str:
    """Replace each `#include` line of a file of this name by the file that it names."""
    include = include_path()

    def included(line: re.Match[str]) -> str:
        inner = include / line[1]
        if line[1] in (*outer, name) or inner.parent != include or not inner.is_file():
            raise InvalidInput(
                f"{name} has the line {quoted(line[0].strip())}: allowed are the files of "
                f"{include} that don't include {name} themselves"
            )
        return _resolved(inner.read_text(encoding="utf-8"), line[1], (*outer, name)).rstrip("\n")

    return _INCLUDE.sub(included, text)


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
        Everything else that the compiled program depends on: compiler options, versions, platform.
    compile_into : callable
        Compiles the program into the folder that it is given, whose path is not final.

    Returns
    -------
    Path
        A folder that holds `MARKER` and all files of the build. Where the cache can't be read or
        written, it is in a temporary one, with one warning for each process.

    Raises
    ------
    EngineFailed
        If `compile_into` raises it, or the cache can't be written.
    """
    content = json.dumps({"code": program.code, **fingerprint}, sort_keys=True)
    name = f"{program.name}-{hashlib.sha256(content.encode()).hexdigest()[:20]}"
    cache = _usable(cache_folder(), name)
    folder = cache / name
    if _is_whole(folder):
        return folder
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(cache.with_name("stan-locks") / name):
            if not _is_whole(folder):  # nobody was faster
                _build(program, fingerprint, compile_into, folder)
    except OSError as error:
        raise EngineFailed(
            f"cannot keep the compiled Stan program {quoted(program.name)} in {cache} ({error}); "
            "set the environment variable BAYESDP_CACHE to a folder that can be written"
        ) from error
    return folder


def _usable(cache: Path, name: str) -> Path:
    """Return the cache, or one of this process's own where it can't be read or written."""
    try:
        if _is_whole(cache / name):
            return cache
        cache.mkdir(parents=True, exist_ok=True)
        usable = os.access(cache, os.R_OK | os.W_OK | os.X_OK)
    except (FileExistsError, NotADirectoryError):  # not a folder at all
        return cache
    except OSError:
        usable = False
    return cache if usable else _own_cache(cache)


@functools.cache
def _own_cache(instead_of: Path) -> Path:
    """Make a cache that is removed with this process, and warn once."""
    warn_about(
        f"the folder of compiled Stan programs {str(instead_of)!r} can't be used, so programs are "
        "compiled anew in each session; set the environment variable BAYESDP_CACHE to a folder "
        "that can be read and written",
        "stan-cache",
        stacklevel=2,
        category=RuntimeWarning,
    )
    stack = contextlib.ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(private_folder())


def _is_whole(folder: Path) -> bool:
    """Check that a folder holds a complete build, with all of its files."""
    marker = folder / MARKER
    if not marker.is_file():
        return False
    try:
        files = dict(json.loads(marker.read_text("utf-8"))["files"])
    except (ValueError, KeyError, TypeError):
        return False
    paths = ((folder / name, size) for name, size in files.items())
    return all(path.is_file() and path.stat().st_size == size for path, size in paths)


@contextlib.contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Wait until no other process holds the lock; on a disk without locks, go on."""
    from filelock import FileLock

    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, NotImplementedError):
            lock.parent.mkdir(exist_ok=True)
            stack.enter_context(FileLock(lock))
        yield


def _build(
    program: Program,
    fingerprint: Mapping[str, str],
    compile_into: Callable[[Path], None],
    folder: Path,
) -> None:
    running_builds(folder.parent)
    with tempfile.TemporaryDirectory(prefix=_BUILDING, dir=folder.parent) as temporary:
        building = Path(temporary) / program.name
        building.mkdir()
        (building / program.filename).write_text(program.code, encoding="utf-8")
        compile_into(building)
        files = [path for path in building.rglob("*") if path.is_file()]
        sizes = {path.relative_to(building).as_posix(): path.stat().st_size for path in files}
        told = json.dumps({**fingerprint, "files": sizes}, indent=1)
        (building / MARKER).write_text(told, encoding="utf-8")
        _move_into_place(building, folder)


def _move_into_place(building: Path, folder: Path) -> None:
    """Rename a complete build, unless another process was first with the same one."""
    if folder.is_dir() and not _is_whole(folder):
        # Damaged. Removing it here could remove what another process has just put in its place;
        # this takes it to where it is removed in the end.
        with contextlib.suppress(FileNotFoundError):
            folder.rename(building.with_name("damaged"))
    try:
        building.rename(folder)
    except OSError:
        if not _is_whole(folder):
            raise


def running_builds(cache: Path) -> list[Path]:
    """Remove what builds that were killed left behind, and return the folders of the others."""
    running = []
    for path in cache.glob(f"{_BUILDING}*"):
        try:
            stale = time.time() - path.stat().st_mtime > _STALE_SECONDS
        except FileNotFoundError:  # its own process has just removed it
            continue
        if stale:
            shutil.rmtree(path, ignore_errors=True)
        else:
            running.append(path)
    return running
