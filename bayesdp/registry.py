"""Classes by their names, each imported when it is first looked up.

Another package adds to a registry by an entry point of the registry's group, whose name is the
class's. Its `pyproject.toml` has, for a mechanism whose `name` is "my_noise",

    [project.entry-points."bayesdp.mechanisms"]
    my_noise = "my_package.noise:MyNoise"

Entry points are looked up only for names that bayesdp doesn't have, and so can't replace its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesdp.errors import BayesDPError, quoted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


class Lazy(Mapping[str, Any]):
    """Classes and modules by their names, each imported when it is looked up.

    Parameters
    ----------
    home : str
        The package that the rows' modules are in.
    rows : mapping
        Mapping from a name to "module:Class" or "module".
    """

    def __init__(self, home: str, rows: Mapping[str, str]) -> None:
        self._home, self._rows = home, dict(rows)

    def __getitem__(self, name: str) -> Any:
        module, _, attribute = self._rows[name].partition(":")
        imported = import_module(f"{self._home}.{module}")
        return getattr(imported, attribute) if attribute else imported

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Registry(Lazy):
    """Classes by their names, of bayesdp and of other installed packages.

    As a mapping it has the classes of bayesdp; `find` also finds the others.

    Parameters
    ----------
    group : str
        The group of entry points, such as "bayesdp.mechanisms".
    home : str
        The package that the rows' modules are in.
    rows : mapping
        Mapping from a name to "module:Class".
    """

    def __init__(self, group: str, home: str, rows: Mapping[str, str]) -> None:
        super().__init__(home, rows)
        self.group = group

    def find(self, name: str, error: type[BayesDPError]) -> Any:
        """Find a class by its name, in bayesdp or another installed package; None if there is none.

        Parameters
        ----------
        name : str
            The class's name.
        error : type
            Type of the error to raise.

        Raises
        ------
        BayesDPError
            Of type `error`, if several packages have a class of that name, or the class can't be
            imported or isn't a dataclass.
        """
        if not isinstance(name, str):
            return None
        if name in self._rows:
            return self[name]
        entries = {(entry.value, _package(entry)): entry for entry in self._entries(name)}
        if not entries:
            return None
        where = " and ".join(sorted(f"{value} of {package}" for value, package in entries))
        if len(entries) > 1:
            raise error(
                f"{quoted(name)} is in several installed packages: {where}; uninstall all but one"
            )
        (entry,) = entries.values()
        try:
            cls = entry.load()
        except Exception as cause:  # another package's import may raise anything
            raise error(
                f"{quoted(name)} is {where}, which can't be imported ({type(cause).__name__}); "
                "install that package anew"
            ) from cause
        if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
            raise error(f"{quoted(name)} is {where}, which isn't a dataclass")
        return cls

    def names(self) -> list[str]:
        """All names that `find` knows, sorted; for a message."""
        return sorted({*self._rows, *(entry.name for entry in self._entries())})

    def _entries(self, name: str | None = None) -> EntryPoints:
        from importlib.metadata import entry_points

        entries = entry_points(group=self.group)
        return entries if name is None else entries.select(name=name)


def _package(entry: EntryPoint) -> str:
    return "an unnamed package" if entry.dist is None else str(entry.dist.name)
