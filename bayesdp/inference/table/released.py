"""The released counts of a whole table's marginals, as a group of its posterior."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from bayesdp.engines.latent_classes import Noisy

RELEASED = "released"
"""Name of the group."""


def stored(noisy: Sequence[Noisy], n: int | None, names: Sequence[str]) -> xr.Dataset:
    """Make a Dataset of released marginals: their counts, one after another, and their noise.

    Parameters
    ----------
    noisy : sequence of Noisy
    n : int or None
        Number of records, if it is public.
    names : sequence of str
        The table's columns.
    """
    sizes = [one.counts.size for one in noisy]
    variables = {
        "count": ("place", np.concatenate([one.counts.ravel() for one in noisy])),
        "marginal": ("place", np.repeat(np.arange(len(noisy)), sizes)),
        "scale": ("noise", np.array([one.scale for one in noisy])),
        "gaussian": ("noise", np.array([one.gaussian for one in noisy])),
    }
    columns = [[names[k] for k in one.columns] for one in noisy]
    shapes = [one.counts.shape for one in noisy]
    attrs = {"columns": json.dumps(columns), "shapes": json.dumps(shapes)}
    return xr.Dataset(variables, attrs=attrs | ({} if n is None else {"n": n}))


def read(group: Any, names: Sequence[str]) -> tuple[list[Noisy], int | None]:
    """Read the marginals and the public number of records that `stored` has written.

    Parameters
    ----------
    group : xarray.Dataset
    names : sequence of str
        Columns by whose places the marginals' are numbered; others have numbers above these.
    """
    place = {name: k for k, name in enumerate(names)}
    columns, shapes = (json.loads(group.attrs[each]) for each in ("columns", "shapes"))
    ends = np.searchsorted(group["marginal"].to_numpy(), np.arange(1, len(shapes)))
    counts = np.split(group["count"].to_numpy(), ends)
    scales, gaussian = group["scale"].to_numpy(), group["gaussian"].to_numpy().astype(bool)
    noisy = [
        Noisy(
            tuple(place.setdefault(name, len(place)) for name in part),
            count.reshape(shape),
            float(scale),
            bool(normal),
        )
        for part, shape, count, scale, normal in zip(
            columns, shapes, counts, scales, gaussian, strict=True
        )
    ]
    n = group.attrs.get("n")
    return noisy, None if n is None else int(n)
