"""A fit's posterior draws, by group, for what is computed from them afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput
from bayesdp.release import Release


def check_fitted(model: Any, idata: Any, *releases: Release) -> None:
    """Raise InvalidInput unless `idata` is this model's posterior given these releases.

    They may be some of those that it was fitted to.
    """
    attrs = getattr(idata, "attrs", {})
    fitted = str(attrs.get("release", "")).split(" ")
    known = all(release.fingerprint in fitted for release in releases)
    if attrs.get("family") != model.family or not known:
        raise InvalidInput("idata isn't this model's posterior given this release; fit it again")


def draws_by_group(idata: Any, groups: int) -> list[dict[str, NDArray[np.float64]]]:
    """Return each group's draws of all variables, shape (chains * draws, ...).

    A variable without groups is in all of them.
    """
    flat: dict[str, NDArray[np.float64]] = {}
    grouped = {name for name, each in idata.posterior.data_vars.items() if "group" in each.dims}
    for name, values in idata.posterior.data_vars.items():
        ordered = values.transpose("chain", "draw", "group", ..., missing_dims="ignore")
        flat[str(name)] = ordered.to_numpy().reshape(-1, *ordered.shape[2:])
    return [
        {name: values[:, g] if name in grouped else values for name, values in flat.items()}
        for g in range(groups)
    ]
