"""Packages that only some uses need, each in one of `pyproject.toml`'s extras."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bayesdp.errors import MissingDependency


def needed(module: str, what: str, extra: str) -> Any:
    """A module of an extra, imported.

    Parameters
    ----------
    module : str
        As "networkx".
    what : str
        What needs it, to begin the message with, as "Network.to_networkx".
    extra : str
        Which extra installs it.

    Raises
    ------
    MissingDependency
        If it can't be imported; the message has the line that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(
            f"{what} needs {module.partition('.')[0]}, which can't be imported: "
            f'pip install "bayesdp[{extra}]"'
        ) from error


def is_installed(module: str) -> bool:
    """Return True if a top-level module is there, found without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
