"""Latent tables by the pools of cells in which columns were counted with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesdp.engines.latent_records import ABSENT
from bayesdp.engines.latent_tables import variables_of
from bayesdp.inference.table.estimates import cell_names
from bayesdp.inference.table.pool_means import pool_of
from bayesdp.schema.files import text_of
from bayesdp.schema.schema import Schema


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
    for k, (name, cells) in enumerate(posterior.schema.cells.items()):
        there = records[..., k] != ABSENT
        runs = pool_of(records[..., k], pools.get(name, range(cells)))
        records[..., k] = np.where(there, runs, ABSENT)
    attrs = {"schema": text_of(schema.unit, schema.columns, schema.zeros), "pools": "{}"}
    return attrs, shares_in(schema, posterior.posterior, records), records


def shares_in(schema: Schema, posterior: Any, records: NDArray[np.uint16]) -> xr.Dataset:
    """Each column's shares in the tables, and their numbers of records, as a posterior's group."""
    made = variables_of(records, [*schema.cells.values()], sized="n" in posterior)
    coords: Mapping[str, Any] = {
        "chain": posterior["chain"].to_numpy(),
        "draw": np.arange(records.shape[1]),
        "level": cell_names(schema),
    }
    variables = {name: ([*coords][: each.ndim], each) for name, each in made.items()}
    return xr.Dataset(variables, coords=coords, attrs=posterior.attrs)
