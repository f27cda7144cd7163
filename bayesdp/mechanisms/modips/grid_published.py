"""Deprecated module that warns and imports names from `bayesdp.mechanisms.modips.grid`."""

from __future__ import annotations

import warnings
from typing import Any

from bayesdp.mechanisms.modips import grid


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # as import itself asks for
        raise AttributeError(name)
    warnings.warn(
        f"{__name__} is deprecated and will be removed in a later release; import {name} from "
        f"{grid.__name__}",
        DeprecationWarning,
        stacklevel=2,
    )
    return getattr(grid, name)
