"""Names of an engine's draws, as every fit returns them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._version import __version__
from bayesdp.engines.convergence import verdict
from bayesdp.engines.draws import Draws, to_inference_data
from bayesdp.inference.several import Releases, releases_of
from bayesdp.release import Release
from bayesdp.release.manifest import MechanismEntry

if TYPE_CHECKING:
    import arviz as az


def known_of(name: str) -> str:
    """Name, among constant data, the marks of a variable's known constants; see `Draws.known`."""
    return f"{name}_known"


def inference_data(
    drawn: Draws,
    release: Release,
    *others: Release,
    reason: str,
    model: Mapping[str, str],
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, list[str]] | None = None,
) -> az.InferenceData:
    """Make an InferenceData with the release's outputs, its mechanism's parameters and promise.

    Parameters
    ----------
    drawn : Draws
        Every posterior variable has one value for each group: shape (chains, draws, groups, ...),
        or (chains, draws, ...) where there are no groups; without `coords` also (chains, draws, 1).
    release, *others : Release
        The fitted releases; the others' outputs and parameters have names that end in _2, _3, ....
    reason : str
        Why this engine ran.
    model : mapping of str to str
        The model's own attrs: its family and parameters.
    coords : mapping of str to sequence, optional
        The dimensions that every variable has after its group, and their labels.
    dims : mapping of str to list of str, optional
        Each variable's own dimensions, instead of those of `coords`.
    """
    group = ["group"] if release.by is not None else []
    own = dict(coords or {})
    suffixes = ["", *(f"_{k}" for k in range(2, len(others) + 2))]
    every = list(zip((release, *others), suffixes, strict=True))
    constant: dict[str, Any] = {}
    observed: dict[str, Any] = {}
    observed_dims: dict[str, list[str]] = {}
    for each, suffix in every:
        constant |= _public_parameters(each, suffix)
        outputs, its_dims = _observed(each, suffix)
        observed, observed_dims = observed | outputs, observed_dims | its_dims
    posterior = dict(drawn.posterior)
    coordinates: dict[str, Any] = {f"copy{suffix}": np.arange(r.copies) for r, suffix in every}
    coordinates |= own
    if group:
        coordinates["group"] = group_coordinate(release)
    else:
        constant = {name: value[0] for name, value in constant.items()}
        if not own and dims is None:
            posterior = {name: v.reshape(v.shape[:2]) for name, v in posterior.items()}
    own_dims = {**{name: [*group, *own] for name in posterior}, **(dims or {})}
    known = {known_of(name): marks for name, marks in drawn.known.items()}
    return to_inference_data(
        Draws(posterior, drawn.sample_stats, drawn.engine, drawn.versions),
        dims={
            **observed_dims,
            **own_dims,
            **dict.fromkeys(constant, group),
            **{known_of(name): own_dims[name] for name in drawn.known},
        },
        coords=coordinates,
        observed_data=observed,
        constant_data=constant | known,
        attrs={**_about(drawn, release, *others), **model, "engine_reason": reason},
    )


def _observed(release: Release, suffix: str) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the outputs, copies first and then groups, and names of an output's own axes.

    Groups whose outputs differ in length have one array each.
    """
    group = release.by is not None
    arrays = [np.array(part.outputs) for part in release.parts]
    if len({array.shape for array in arrays}) > 1:
        labels = [f"outputs{suffix}_{label}" for label in release.groups]
        by_group = dict(zip(labels, arrays, strict=True))
        return by_group, {name: [f"copy{suffix}", f"{name}_component"] for name in by_group}
    name, own = f"outputs{suffix}", [f"component{suffix}"] if arrays[0].ndim > 1 else []
    outputs = np.stack(arrays, axis=1) if group else arrays[0]
    return {name: outputs}, {name: [f"copy{suffix}", *(["group"] if group else []), *own]}


def _about(drawn: Draws, *releases: Release) -> dict[str, str]:
    return {
        "bayesdp_version": __version__,
        "engine": drawn.engine,
        "engine_versions": json.dumps(dict(drawn.versions)),
        "guarantee": "; ".join(str(release.guarantee) for release in releases),
        "release": " ".join(release.fingerprint for release in releases),
        **drawn.told,
    }


def group_coordinate(release: Release) -> list[Any]:
    """Return a release's group labels as a coordinate."""
    return coordinate_of(release.groups)


def coordinate_of(labels: Sequence[Any]) -> list[Any]:
    """Return labels as one type, since netCDF has no mixed columns."""
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], bool):
        return list(labels)
    return [str(label) for label in labels]


def groups_of(releases: Releases) -> list[Any] | None:
    """Return the coordinate of a model's groups, or None where its releases have none."""
    first = releases_of(releases)[0]
    return None if first.by is None else group_coordinate(first)


def with_groups(drawn: Draws, name: str, releases: Releases) -> Draws:
    """Give vectors a dimension of groups where releases have these, be it one, and no other.

    Parameters
    ----------
    drawn : Draws
        Of one variable, shape (chains, draws, k) or (chains, draws, groups, k).
    name : str
        The variable.
    releases : Release, or several in a list
    """
    vectors = drawn.posterior[name]
    groups = () if releases_of(releases)[0].by is None else (-1,)
    vectors = vectors.reshape(*vectors.shape[:2], *groups, vectors.shape[-1])
    return dataclasses.replace(drawn, posterior={name: vectors})


def _public_parameters(release: Release, suffix: str = "") -> dict[str, Any]:
    """Return the mechanisms' known parameters, as arrays with one row for each group.

    A parameter that has parameters of its own, differs in length between groups, or is missing in
    some of them, is given as JSON, since netCDF has no such values.
    """
    mechanisms = [MechanismEntry.of(part.mechanism).parameters for part in release.parts]
    names = dict.fromkeys(name for parameters in mechanisms for name in parameters)
    each = {name: [parameters.get(name) for parameters in mechanisms] for name in names}
    return {
        f"mechanism{suffix}_{name}": _plain(values)
        for name, values in each.items()
        if any(value is not None for value in values)
    }


def _plain(values: list[Any]) -> Any:
    try:
        array = np.array(values)
    except ValueError:  # lengths differ
        array = np.array(values, dtype=object)
    if array.dtype.kind in "biufU":
        return array
    return np.array([value if isinstance(value, str) else json.dumps(value) for value in values])


def network_inference_data(
    drawn: Draws,
    release: Release,
    *,
    of: str,
    dims: Mapping[str, list[str]],
    coords: Mapping[str, Any],
    attrs: Mapping[str, str],
) -> az.InferenceData:
    """Make an InferenceData from a release of graphs, observed as the columns that hold them.

    The attrs get a "verdict" on the chains; `of` names the items that coefficients belong to.
    """
    encoded = release.mechanism.encode(release.outputs)
    observed = {f"output_{name}": np.asarray(column) for name, column in encoded.items()}
    constant = {
        name: value[0]
        for name, value in _public_parameters(release).items()
        if value.dtype.kind in "biufU"
    }
    return to_inference_data(
        drawn,
        dims={**dims, **{name: ["row"] for name in observed}},
        coords=coords,
        observed_data=observed,
        constant_data=constant,
        attrs={
            **_about(drawn, release),
            **attrs,
            "verdict": verdict(
                drawn, [n for n in drawn.posterior if n != "statistics"], of=of, also=drawn.doubts
            ),
        },
    )
