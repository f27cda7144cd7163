"""Inputs of a report, checked before any work is done."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.release import Part, Release


def label_of(part: Part) -> str:
    """A group's label as text; "all records" where there are no groups."""
    return "all records" if part.group is None else str(part.group)


def attribute(idata: Any, name: str) -> str:
    """Return one of a fit's attrs by its name, or raise InvalidInput."""
    attrs = {**getattr(idata.posterior, "attrs", {}), **idata.attrs}
    if name not in attrs:
        raise InvalidInput(
            f"idata has no attribute {quoted(name)}; give the InferenceData that a model's fit "
            "returned, or one that was written with to_netcdf and read with arviz.from_netcdf"
        )
    return str(attrs[name])


def check_fit(idata: Any, release: Release) -> None:
    """Raise InvalidInput unless `idata` is a posterior of some family given this release."""
    if not hasattr(idata, "posterior"):
        raise InvalidInput(
            f"idata is a {type(idata).__name__} without a posterior; give the InferenceData that "
            "a model's fit returned"
        )
    if not isinstance(release, Release):
        raise InvalidInput(
            f"release is {quoted(release)}; it must be the bdp.Release that idata was fitted to"
        )
    attribute(idata, "family")
    if (made_for := attribute(idata, "release")) != release.fingerprint:
        raise InvalidInput(
            f"idata is the posterior of another release (fingerprint {made_for[:12]}...) than "
            f"the one given ({release.fingerprint[:12]}...); fit this one, or load that one"
        )
    if (reason := attribute(idata, "engine_reason")).startswith("naive"):
        raise InvalidInput(
            f"idata is not the posterior given the release ({reason}); give the InferenceData "
            "of fit, not of fit_naive"
        )


def check_naive(naive: Any, release: Release) -> None:
    """Raise InvalidInput unless it is a naive posterior of this release."""
    if not hasattr(naive, "posterior"):
        raise InvalidInput(
            f"naive is a {type(naive).__name__} without a posterior; give the InferenceData that a "
            "model's fit_naive returned"
        )
    same = attribute(naive, "release") == release.fingerprint
    if not same or not attribute(naive, "engine_reason").startswith("naive"):
        raise InvalidInput(
            "naive isn't the naive posterior of this release; give what fit_naive(release) returned"
        )


def check_references(reference: Any, posterior: Any) -> dict[str, NDArray[np.float64]]:
    """Return reference numbers by their variables, in their shapes, or raise InvalidInput."""
    if reference is None:
        return {}
    if not isinstance(reference, Mapping):
        raise InvalidInput(
            f"reference is {quoted(reference)}; of this family it must map names of variables to "
            "numbers of their shapes"
        )
    checked = {}
    for name, given in reference.items():
        if name not in posterior:
            raise InvalidInput(
                f"reference has {quoted(name)}; the posterior has "
                f"{', '.join(map(str, posterior.data_vars))}"
            )
        numbers = np.asarray(given, dtype=np.float64)
        shape = posterior[name].transpose("chain", "draw", ...).shape[2:]
        if numbers.shape != shape:
            raise InvalidInput(
                f"reference[{quoted(name)}] has shape {numbers.shape}; it must be {shape}"
            )
        checked[str(name)] = numbers
    return checked


def check_draws(idata: Any, release: Release) -> NDArray[np.float64]:
    """The draws of p, if they are the posterior given this release.

    Returns
    -------
    ndarray, shape (chains, draws, groups)

    Raises
    ------
    InvalidInput
        If `idata` is another family's or release's posterior, or is incomplete.
    """
    check_fit(idata, release)
    if (family := attribute(idata, "family")) != "binomial":
        raise InvalidInput(
            f"idata is of family {quoted(family)}; these are the numbers of 'binomial'"
        )
    if "p" not in idata.posterior:
        raise InvalidInput(
            f"idata has the variables {sorted(map(str, idata.posterior.data_vars))}; a report "
            "needs 'p', the proportion"
        )
    return _aligned(idata.posterior["p"], release)


def _aligned(p: Any, release: Release) -> NDArray[np.float64]:
    if release.by is None and set(p.dims) == {"chain", "draw"}:
        values = p.transpose("chain", "draw").to_numpy()[..., None]
    elif release.by is not None and set(p.dims) == {"chain", "draw", "group"}:
        present = [str(label) for label in p["group"].to_numpy().tolist()]
        if present != [label_of(part) for part in release.parts]:
            raise InvalidInput(
                f"idata has the groups {present}; the release has {list(release.groups)}, and a "
                "report shows all of them in their order"
            )
        values = p.transpose("chain", "draw", "group").to_numpy()
    else:
        raise InvalidInput(
            f"p has the dimensions {list(p.dims)}; they must be chain, draw and, where the "
            "release has groups, group"
        )
    draws = np.asarray(values, dtype=np.float64)
    if draws.size == 0 or not np.all((draws >= 0) & (draws <= 1)):
        raise InvalidInput("p has no draws, or some outside [0, 1]; fit the release again")
    return draws


def check_reference(reference: Any, release: Release) -> dict[Any, float]:
    """Return true proportions by group label, which is None for a release without groups.

    Raises
    ------
    InvalidInput
        If a group isn't the release's, or a value isn't a proportion.
    """
    if reference is None:
        return {}
    if release.by is None:
        truth: dict[Any, Any] = {None: reference}
    elif hasattr(reference, "items"):
        truth = dict(reference.items())
    else:
        raise InvalidInput(
            f"reference is {quoted(reference)}, but the release has groups; map their labels to "
            "proportions, for example {1: 0.25, 2: 0.4}"
        )
    for label in truth:
        if label not in release.groups:
            raise InvalidInput(
                f"reference has the group {quoted(label)}; this release has {list(release.groups)}"
            )
    return {label: _proportion(value) for label, value in truth.items()}


def _proportion(value: Any) -> float:
    try:
        proportion = math.nan if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        proportion = math.nan
    if not 0 <= proportion <= 1:
        raise InvalidInput(f"reference is {quoted(value)}; it must be a proportion, from 0 to 1")
    return proportion
