"""A release's outputs as tables and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.release.parts import Part

if TYPE_CHECKING:
    import pandas as pd


def frames(parts: Sequence[Part], variable: str, by: str | None) -> list[pd.DataFrame]:
    """Tabulate a release's outputs, one DataFrame for each copy; see `Release.to_frames`."""
    import pandas as pd

    made = []
    for k in range(len(parts[0].outputs)):
        records = [part.mechanism.records(part.outputs[k]) for part in parts]
        columns: dict[str, Any] = {}
        if by is not None:
            groups = np.array([part.group for part in parts])
            columns[by] = np.repeat(groups, [len(column) for column in records])
        shown = np.concatenate(records)
        names = shown.dtype.names
        columns |= {n: shown[n] for n in names} if names else {variable: shown}
        made.append(pd.DataFrame(columns))
    return made


def listed(part: Part) -> dict[str, list[Any]]:
    """The encoded outputs as lists, one for each column name."""
    encoded = part.mechanism.encode(part.outputs)
    return {name: np.asarray(column).tolist() for name, column in encoded.items()}
