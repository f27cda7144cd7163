"""Optional packages, each in one of `pyproject.toml`'s extras."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from bayesdp.errors import MissingDependency


def needed(module: str, what: str, extra: str) -> Any:
    """Import a module of an extra.

    Parameters
    ----------
    module : str
        Name of the module, such as "networkx".
    what : str
        What needs it, as the message begins, such as "Network.to_networkx".
    extra : str
        The extra that installs it.

    Raises
    ------
    MissingDependency
        If it can't be imported; the message has the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependency(
            f"{what} needs {module.partition('.')[0]}, which can't be imported: "
            f'pip install "bayesdp[{extra}]"'
        ) from error


def is_installed(module: str) -> bool:
    """Return True if a top-level module is installed, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False
