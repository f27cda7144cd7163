"""Data that the Stan programs of normal records have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.core.views import Cell, Floats, NoiseView, view_of
from bayesdp.engines.observed_normals import Observed
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.mechanisms.noise.reach import range_of


def moments_data(parts: Sequence[Observed], sd: float | None) -> dict[str, Any]:
    """Build the data of gaussian.stan and hierarchical_gaussian.stan, but for the priors.

    Parameters
    ----------
    parts : sequence of Observed
        One for each group, all with noisy numbers.
    sd : float or None
        Standard deviation of the records, if it is known; else there are two numbers.

    Returns
    -------
    dict
        By the programs' names: every group's first number, and then every group's second.
    """
    groups = len(parts)
    cells = [_cell(seen) for seen in parts] * (1 if sd is not None else 2)
    outputs = [np.array(seen.part.outputs, dtype=np.float64) for seen in parts]
    columns = [z.reshape(len(z), -1).T for z in outputs]
    versions = [each[k] for k in range(len(cells) // groups) for each in columns]
    means = [seen.means for seen in parts if seen.means is not None]
    variances = [seen.variances for seen in parts if seen.variances is not None]
    bounded = np.array([seen.means is not None for seen in parts])
    return {
        "G": groups,
        **noisy_numbers(cells, versions),
        "sums": int(parts[0].sums),
        "n": [seen.n for seen in parts],
        "sd": [] if sd is None else [sd],
        "B": int(bounded.sum()),
        "bounded": np.flatnonzero(bounded) + 1,
        "unbounded": np.flatnonzero(~bounded) + 1,
        "mean_low": [low for low, _ in means],
        "mean_high": [high for _, high in means],
        "variance_low": [low for low, _ in variances],
        "variance_high": [high for _, high in variances],
        "replicates": 0,
    }


def noisy_numbers(cells: Sequence[Cell], versions: Sequence[Floats]) -> dict[str, Any]:
    """Build the arguments of noisy_numbers_lpdf (stan/include/noisy_numbers.stanfunctions).

    Parameters
    ----------
    cells : sequence of Cell
        The noise of each number.
    versions : sequence of ndarray
        The noisy versions of each.

    Returns
    -------
    dict
        By their names; with N, the number of numbers, and K, that of their versions in z.
    """
    ends = [range_of(cell) for cell in cells]
    inflated = [cell.bounding == "inflated" for cell in cells]
    at_low, at_high = (
        [(z == end[side]) & kept for z, end, kept in zip(versions, ends, inflated, strict=True)]
        for side in (0, 1)
    )
    between = [z[~(a | b)] for z, a, b in zip(versions, at_low, at_high, strict=True)]
    rows = ends_of_rows([z.size for z in between])
    return {
        "N": len(cells),
        "K": int(rows["last"][-1]),
        **rows,
        "z": np.concatenate(between),
        "scale": [float(cell.scale) for cell in cells],
        "laplace": [int(cell.noise.laplace) for cell in cells],
        "truncated": [int(cell.bounding == "truncated") for cell in cells],
        "low": [low for low, _ in ends],
        "high": [high for _, high in ends],
        "at_low": [int(each.sum()) for each in at_low],
        "at_high": [int(each.sum()) for each in at_high],
    }


def _cell(seen: Observed) -> Cell:
    """Noise of a release, of which `observed` has checked that it has some."""
    noise: Any = view_of(seen.part.mechanism, NoiseView)
    cell: Cell = noise.cell
    return cell
