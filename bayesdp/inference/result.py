"""Give an engine's draws the names that every fit returns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp._version import __version__
from bayesdp.engines.convergence import verdict
from bayesdp.engines.draws import Draws, to_inference_data
from bayesdp.manifest import MechanismEntry
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az


def inference_data(
    drawn: Draws, release: Release, *, reason: str, model: Mapping[str, str]
) -> az.InferenceData:
    """An InferenceData with the release's outputs, its mechanism's parameters and its promise.

    Parameters
    ----------
    drawn : Draws
        Every posterior variable is one a group: shape (chains, draws, groups), or
        (chains, draws) where there are no groups.
    release : Release
        What was fitted.
    reason : str
        Why this engine ran.
    model : mapping of str to str
        What the model says of itself: its family and parameters.
    """
    group = ["group"] if release.by is not None else []
    outputs = np.array([part.outputs for part in release.parts]).T
    constant = _public_parameters(release)
    posterior = dict(drawn.posterior)
    coords: dict[str, Any] = {"copy": np.arange(release.copies)}
    if group:
        coords["group"] = group_coordinate(release)
    else:
        outputs = outputs[:, 0]
        constant = {name: value[0] for name, value in constant.items()}
        posterior = {name: v.reshape(v.shape[:2]) for name, v in posterior.items()}
    return to_inference_data(
        Draws(posterior, drawn.sample_stats, drawn.engine, drawn.versions),
        dims={
            "outputs": ["copy", *group],
            **dict.fromkeys(posterior, group),
            **dict.fromkeys(constant, group),
        },
        coords=coords,
        observed_data={"outputs": outputs},
        constant_data=constant,
        attrs={**_about(drawn, release), **model, "engine_reason": reason},
    )


def _about(drawn: Draws, release: Release) -> dict[str, str]:
    return {
        "bayesdp_version": __version__,
        "engine": drawn.engine,
        "engine_versions": json.dumps(dict(drawn.versions)),
        "guarantee": str(release.guarantee),
        "release": release.fingerprint,
    }


def group_coordinate(release: Release) -> list[Any]:
    """Group labels as one type, since netCDF has no mixed columns."""
    labels = release.groups
    if len({type(label) for label in labels}) == 1 and not isinstance(labels[0], bool):
        return list(labels)
    return [str(label) for label in labels]


def _public_parameters(release: Release) -> dict[str, Any]:
    """The mechanisms' parameters that are known, as arrays with one row a group.

    What has parameters of its own is shown as JSON, since netCDF has no such values.
    """
    mechanisms = [MechanismEntry.of(part.mechanism).parameters for part in release.parts]
    return {
        f"mechanism_{name}": np.array([_plain(parameters[name]) for parameters in mechanisms])
        for name, value in mechanisms[0].items()
        if value is not None
    }


def _plain(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def network_inference_data(
    drawn: Draws,
    release: Release,
    *,
    of: str,
    dims: Mapping[str, list[str]],
    coords: Mapping[str, Any],
    attrs: Mapping[str, str],
) -> az.InferenceData:
    """The same from a release of graphs, which are observed as the columns that hold them.

    `attrs` get a "verdict" on the chains, `of` what its numbers belong to.
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
            "verdict": verdict(drawn, [n for n in drawn.posterior if n != "statistics"], of=of),
        },
    )
