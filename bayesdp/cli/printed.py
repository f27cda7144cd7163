"""Printing that commands share: JSON instead of a table, and the line to type next."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from typing import Any

import typer


def print_json(value: Any) -> None:
    """Print a value as JSON, with every number as it is, and null for one that isn't finite."""
    typer.echo(json.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value of lists, mappings and numbers of any type as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):  # of NumPy
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """The rows of a pandas DataFrame, as JSON has them."""
    rows: list[dict[str, Any]] = plain(frame.to_dict("records"))
    return rows


def promise_of(guarantee: Any) -> dict[str, Any]:
    """A guarantee's parts, by their names."""
    told: dict[str, Any] = plain(dataclasses.asdict(guarantee))
    return told


def print_next(line: str | None) -> None:
    """Print what can be typed next, where there is something."""
    if line:
        typer.echo(f"next: {line}")
