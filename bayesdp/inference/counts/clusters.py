"""Clusters and strata of a survey's noisy weighted counts, as its documentation has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.axis import Axis
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import shape_of

LEAST = 2
"""Clusters of a stratum, whose spread is seen."""


class ByCluster(NamedTuple):
    """Cells of weighted counts, by cluster.

    Attributes
    ----------
    axes : tuple of Axis
        The columns but that of clusters.
    cells : ndarray of int, shape (clusters, k)
        Each cluster's cells, in order of the other columns; one row where there are no clusters.
    strata : list of ndarray of int
        The clusters of each stratum; empty where there are no clusters.
    """

    axes: tuple[Axis, ...]
    cells: NDArray[np.int64]
    strata: list[NDArray[np.int64]]


def check_strata(clusters: Any, strata: Any) -> dict[Any, tuple[Any, ...]] | None:
    """Return strata as a dictionary, checked by themselves.

    Raises
    ------
    InvalidInput
        If `clusters` isn't a name, or `strata` not a mapping of labels to clusters' labels, two or
        more in each and each in one.
    """
    if clusters is not None and not (isinstance(clusters, str) and clusters):
        raise InvalidInput(
            f"clusters is {quoted(clusters)}; it must be the name of the column of clusters "
            "(primary sampling units), or None if records were sampled independently"
        )
    if strata is None:
        return None
    if clusters is None:
        raise InvalidInput(
            f"strata is {quoted(strata)} and clusters is None; strata are of clusters, so name "
            "their column. Strata of records that were sampled independently are the release's "
            "groups (by=)"
        )
    if not isinstance(strata, Mapping) or not all(map(_is_sequence, strata.values())):
        raise InvalidInput(
            f"strata is {quoted(strata)}; it must be a mapping of each stratum's label to a "
            "sequence of the labels of its clusters"
        )
    made = {label: tuple(within) for label, within in strata.items()}
    labels = [cluster for within in made.values() for cluster in within]
    try:
        different = len(set(labels))
    except TypeError as error:  # not hashable
        raise InvalidInput(
            f"strata is {quoted(strata)}; its clusters must be labels, as the categories of "
            f"{quoted(clusters)} are"
        ) from error
    if not made or different < len(labels):
        raise InvalidInput(
            f"strata has {len(labels)} clusters, of which {different} are different; there must be "
            "some, each in one stratum, once"
        )
    for label, within in made.items():
        if len(within) < LEAST:
            raise InvalidInput(
                f"strata has {len(within)} of the {LEAST} clusters that {quoted(label)} needs at "
                "least, as the spread between them is what is seen of sampling; merge it with a "
                "stratum like it"
            )
    return made


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def read_clusters(
    axes: Sequence[Axis], clusters: str | None, strata: Mapping[Any, Sequence[Any]] | None
) -> ByCluster:
    """Find the cells of each cluster, and the clusters of each stratum, in a release's columns.

    Raises
    ------
    InvalidInput
        If clusters aren't a categorical column beside another one, or not those of `strata`; or if
        there is a single one.
    """
    names, shape = [axis.name for axis in axes], shape_of(axes)
    cells = np.arange(np.prod(shape)).reshape(shape)
    if clusters is None:
        return ByCluster(tuple(axes), cells.reshape(1, -1), [])
    if clusters not in names:
        raise InvalidInput(
            f"clusters is {quoted(clusters)}, which isn't a column of the release; its columns are "
            f"{names}. Release weighted counts with the clusters' column among its categories, or "
            "take clusters=None for records that were sampled independently"
        )
    at = names.index(clusters)
    labels = axes[at].categories
    if labels is None or len(names) == 1:
        raise InvalidInput(
            f"clusters is {quoted(clusters)}, and the release has "
            f"{'intervals of it' if labels is None else 'no other column'}; clusters are "
            "categories, beside those of which shares are wanted"
        )
    cells = np.moveaxis(cells, at, 0).reshape(shape[at], -1)
    rest = tuple(axis for axis in axes if axis.name != clusters)
    return ByCluster(rest, cells, _places(clusters, labels, strata))


def _places(
    clusters: str, labels: Sequence[Any], strata: Mapping[Any, Sequence[Any]] | None
) -> list[NDArray[np.int64]]:
    """Places of each stratum's clusters among the labels of all."""
    if strata is None:
        if len(labels) < LEAST:
            raise InvalidInput(
                f"the release has a single cluster in {quoted(clusters)}, and so no spread between "
                "clusters; release weighted counts by the clusters that were sampled"
            )
        return [np.arange(len(labels))]
    place = {label: at for at, label in enumerate(labels)}
    named = {label for within in strata.values() for label in within}
    if named != {*labels}:
        raise InvalidInput(
            f"strata names {len(named - {*labels})} clusters that aren't categories of "
            f"{quoted(clusters)} in the release, and leaves out {len({*labels} - named)} that are; "
            f"it must have each of the {len(labels)} once"
        )
    return [np.array([place[label] for label in within]) for within in strata.values()]
