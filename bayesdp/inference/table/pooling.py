"""Latent tables by the pools of cells in which columns were counted with others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.latent_records import ABSENT
from bayesdp.inference.table.estimates import cell_names
from bayesdp.schema.files import text_of


def by_pools(
    posterior: Any, pools: dict[str, list[int]]
) -> tuple[dict[str, str], Any, NDArray[np.uint16]]:
    """Return the attrs, posterior and tables of a TablePosterior whose cells are pooled.

    Parameters
    ----------
    posterior : TablePosterior
    pools : mapping of str to list of int
        First cells of each pool, by column.
    """
    schema = posterior.schema.pooled(pools)
    records = posterior.tables["records"].to_numpy().copy()
    share = posterior.posterior["share"]
    ends = np.cumsum([0, *posterior.schema.cells.values()])
    parts = []
    for k, (name, cells) in enumerate(posterior.schema.cells.items()):
        own, firsts = share[..., ends[k] : ends[k + 1]], pools.get(name, range(cells))
        parts.append(np.add.reduceat(own.to_numpy(), firsts, axis=-1))
        there = records[..., k] != ABSENT
        runs = np.searchsorted(firsts, records[..., k], side="right") - 1
        records[..., k] = np.where(there, runs, ABSENT)
    made = {"share": ((*share.dims[:2], "level"), np.concatenate(parts, axis=-1))}
    group = posterior.posterior.drop_vars(["share", "level"]).assign(made)
    attrs = {"schema": text_of(schema.unit, schema.columns, schema.zeros), "pools": "{}"}
    return attrs, group.assign_coords(level=cell_names(schema)), records
