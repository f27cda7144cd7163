"""Old location of modules that tutorials import, now in `bayesdp.papers`, with a warning."""

from __future__ import annotations

import importlib
import sys
import warnings
from types import ModuleType
from typing import Any

from bayesdp.renamed import MOVED


class _Moved(ModuleType):
    """A module that was here: loads the one that has its names now when one is asked for."""

    def __init__(self, name: str, new: str) -> None:
        super().__init__(f"{__name__}.{name}", __doc__)
        self._new = f"bayesdp.{new}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # as import itself asks for
            raise AttributeError(name)
        warnings.warn(
            f"{self.__name__} is deprecated and will go in a later release; import {name} from "
            f"{self._new}",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(importlib.import_module(self._new), name)


for _name, _new in MOVED[__name__].items():
    globals()[_name] = sys.modules[f"{__name__}.{_name}"] = _Moved(_name, _new)
