"""Command `bayesdp doctor`: what is installed, and what caches hold. Heavy imports wait."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from bayesdp._version import __version__
from bayesdp.cli.options import Json
from bayesdp.cli.printed import print_json

_COMPILERS = ("g++", "clang++", "make")
_CODE = {".nbi", ".nbc", ".pyc", ".lock"}
_PYTENSOR = {".c", ".cpp", ".cu", ".h", ".o", ".so", ".pyd", ".dll", ".py", ".pyc", ".pkl", ".lock"}
_KERNELS_LOCK = "bayesdp-kernels.lock"
_SHOWN = 10


@dataclass(frozen=True)
class Cache:
    """A folder of compiled code, its size, and files in it that aren't of that kind."""

    what: str
    folder: str
    files: int = 0
    bytes: int = 0
    strange: list[str] = field(default_factory=list)


def doctor(
    ledger: Annotated[
        str | None, typer.Option(help="URL of a ledger, to see whether it can be opened.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show versions, compilers, CmdStan and PostgreSQL, and whether caches hold code alone.

    The exit status is 1 if something that is needed is missing, or a cache holds what isn't code.
    """
    found = {
        "bayesdp": __version__,
        "python": f"{platform.python_version()} on {platform.platform()}",
        "packages": list(_packages()),
        "compilers": {name: _version_of(name) for name in _COMPILERS},
        "stan": _stan(),
        "postgresql": _postgresql(),
        "caches": [vars(each) for each in (*_caches(), *_left_behind())],
        "ledger": None if ledger is None else _opened(ledger),
    }
    faults = list(_faults(found))
    if as_json:
        print_json(found | {"faults": faults})
    else:
        _print(found, faults)
    raise typer.Exit(1 if faults else 0)


def _packages() -> Iterator[dict[str, Any]]:
    """Each requirement, with the version that is installed and the extra that brings it."""
    from packaging.requirements import Requirement

    try:
        requirements = [Requirement(line) for line in importlib.metadata.requires("bayesdp") or ()]
    except importlib.metadata.PackageNotFoundError:  # a copy that isn't installed
        return
    for each in requirements:
        marker = str(each.marker or "")
        extra = marker.partition("extra ==")[2].strip(" '\"") if "extra ==" in marker else None
        if extra in ("all", "docs", "test"):
            continue
        version = _installed(each.name)
        fits = version is not None and each.specifier.contains(version, prereleases=True)
        yield {"name": each.name, "needed": str(each.specifier), "installed": version} | {
            "fits": fits,
            "extra": extra,
        }


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _version_of(program: str) -> str | None:
    """The first line that a program says of its version; None where it isn't there."""
    path = shutil.which(program)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, timeout=20, check=False,
            text=True, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return f"{path}, which can't be run"
    return next(iter(done.stdout.splitlines()), path)


def _stan() -> dict[str, Any]:
    from bayesdp.engines.stan.cmdstan import find_cmdstan, import_cmdstanpy
    from bayesdp.engines.stan.pystan import pystan_version

    folder = find_cmdstan()
    version = None if folder is None else import_cmdstanpy().cmdstan_version()
    cmdstan = None if folder is None else {"folder": str(folder), "version": version}
    return {"cmdstan": cmdstan, "pystan": pystan_version()}


def _postgresql() -> dict[str, Any]:
    return {"psycopg": _installed("psycopg"), "client": _version_of("psql")}


def _opened(url: str) -> dict[str, Any]:
    from bayesdp.errors import BayesDPError
    from bayesdp.privacy.ledger import Ledger

    try:
        return {"datasets": len(Ledger.open(url).datasets()), "error": None}
    except BayesDPError as error:
        return {"datasets": None, "error": str(error)}


def _caches() -> Iterator[Cache]:
    from bayesdp.engines.stan.programs import MARKER, cache_folder, running_builds

    stan = cache_folder()
    building, known = set(running_builds(stan)), {stan / MARKER}
    for marker in stan.glob(f"*/{MARKER}"):
        known |= {marker, *(marker.parent / name for name in _listed(marker))}

    def is_program(path: Path) -> bool:
        return path in known or not building.isdisjoint(path.parents)

    yield _cache("compiled Stan programs", [stan], is_program)
    yield _cache("kernels that numba compiled", _kernels(), lambda path: path.suffix in _CODE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pytensor
    compiled = Path(str(pytensor.config.compiledir))
    yield _cache("functions that PyTensor compiled", [compiled], _is_pytensors)


def _listed(marker: Path) -> list[str]:
    try:
        return list(json.loads(marker.read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _is_pytensors(path: Path) -> bool:
    return path.suffix in _PYTENSOR or path.name == ".lock"


def _kernels() -> list[Path]:
    """Folders where numba keeps the package's machine code."""
    from numba.core import config
    from platformdirs import user_cache_path

    home = Path(__file__).parents[1] / "kernels"
    own = [folder for folder in home.rglob("__pycache__") if folder.is_dir()]
    elsewhere = config.CACHE_DIR or user_cache_path("numba")
    return [*own, *(lock.parent for lock in Path(elsewhere).glob(f"*/{_KERNELS_LOCK}"))]


def _cache(what: str, folders: list[Path], is_code: Any) -> Cache:
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    strange = sorted(str(path) for path in files if not is_code(path))
    return Cache(what, str(_common(folders)), len(files), size, strange)


def _common(folders: list[Path]) -> Path:
    """The folder that all are in; the first one where they share none, as on two drives."""
    import os

    try:
        return Path(os.path.commonpath(folders))
    except ValueError:
        return next(iter(folders), Path())


def _left_behind() -> Iterator[Cache]:
    """Folders of confidential files of a process that was killed; those in use are no fault."""
    from bayesdp.private_folder import PREFIX, sweep

    sweep()
    for root in sorted({tempfile.gettempdir(), "/tmp"}):
        left = [path for path in Path(root).glob(f"{PREFIX}*") if path.is_dir()]
        if left:
            yield Cache("folders of confidential files in use by running fits", root, len(left))


def _get_compiler() -> str:
    """The command, or the page, that gets a C++ compiler on this system."""
    if sys.platform == "win32":
        return "install PyMC from conda-forge, whose packages bring one"
    return "xcode-select --install" if sys.platform == "darwin" else "apt-get install g++ make"


def _faults(found: dict[str, Any]) -> Iterator[str]:
    for each in found["packages"]:
        if not each["fits"] and (each["extra"] is None or each["installed"] is not None):
            has = each["installed"] or "not there"
            yield f"{each['name']} is {has}; needed is {each['needed'] or 'any version'}"
    if not found["compilers"]["g++"] and not found["compilers"]["clang++"]:
        yield f"there is no C++ compiler, which PyMC and Stan need: {_get_compiler()}"
    for cache in found["caches"]:
        if cache["strange"]:
            more = "" if len(cache["strange"]) <= _SHOWN else ", ..."
            listed = ", ".join(cache["strange"][:_SHOWN])
            yield f"{cache['what']}: {cache['folder']} has files that aren't code: {listed}{more}"
    if found["ledger"] and found["ledger"]["error"]:
        yield found["ledger"]["error"]


def _print(found: dict[str, Any], faults: list[str]) -> None:
    typer.echo(f"bayesdp {found['bayesdp']}, Python {found['python']}")
    own = [each for each in found["packages"] if each["extra"] is None]
    typer.echo("packages: " + ", ".join(f"{each['name']} {each['installed']}" for each in own))
    for extra in sorted({each["extra"] for each in found["packages"]} - {None}):
        of = [each for each in found["packages"] if each["extra"] == extra]
        absent = [each["name"] for each in of if each["installed"] is None]
        there = ", ".join(f"{each['name']} {each['installed']}" for each in of)
        lacking = f'no {", ".join(absent)}: pip install "bayesdp[{extra}]"'
        typer.echo(f"extra {extra}: {lacking if absent else there}")
    for name, version in found["compilers"].items():
        typer.echo(f"{name}: {version or 'not found'}")
    stan = found["stan"]
    cmdstan = stan["cmdstan"] and "{version} in {folder}".format(**stan["cmdstan"])
    typer.echo(f"CmdStan: {cmdstan or 'not found'}; PyStan: {stan['pystan'] or 'not installed'}")
    typer.echo("PostgreSQL: " + ", ".join(_words(found["postgresql"])))
    for cache in found["caches"]:
        size = f"{cache['files']:,} files, {cache['bytes'] / 1e6:,.1f} MB"
        typer.echo(f"{cache['what']}: {cache['folder']}, {size}")
    if found["ledger"] and not found["ledger"]["error"]:
        datasets = found["ledger"]["datasets"]
        typer.echo(f"ledger: opened, {datasets:,} dataset{'' if datasets == 1 else 's'}")
    for fault in faults:
        typer.secho(f"wrong: {fault}", fg=typer.colors.RED)
    if not faults:
        typer.echo("nothing is wrong: what is needed is there, and caches hold no files but code")


def _words(found: dict[str, Any]) -> Iterable[str]:
    return (f"{name} {version or 'not found'}" for name, version in found.items())
