"""A release's outputs as tables and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.errors import InvalidInput, quoted
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
            labels = [part.group for part in parts]
            # in an array of one type, a str would turn every 1 into "1"
            groups = np.array(labels, dtype=object if len({*map(type, labels)}) > 1 else None)
            columns[by] = np.repeat(groups, [len(column) for column in records])
        shown = np.concatenate(records)
        names = shown.dtype.names
        if by is not None and by in (names or (variable,)):
            raise InvalidInput(
                f"by is {quoted(by)}, which is a column of what was released too; name the groups "
                "otherwise: dataclasses.replace(release, by='group')"
            )
        columns |= {n: shown[n] for n in names} if names else {variable: shown}
        made.append(pd.DataFrame(columns))
    return made


def listed(part: Part) -> dict[str, list[Any]]:
    """The encoded outputs as lists, one for each column name."""
    encoded = part.mechanism.encode(part.outputs)
    return {name: np.asarray(column).tolist() for name, column in encoded.items()}
