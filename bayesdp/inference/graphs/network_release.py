"""Releases as a model of graphs reads them."""

from __future__ import annotations

from bayesdp.core.views import GraphView, check_tractable
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import read_view
from bayesdp.networks.evidence import Evidence, together
from bayesdp.networks.network import Network
from bayesdp.release import Release


def evidence_in(release: Release) -> Evidence:
    """Return all copies' joint evidence on the hidden graph, and its nodes.

    Raises
    ------
    InvalidInput
        If the release has groups, or its mechanism doesn't randomise a graph by a known law.
    """
    mechanism = release.mechanism
    check_tractable(mechanism, GraphView)
    view = read_view(mechanism, GraphView, "randomise a graph", "a model of graphs")
    return together([view.evidence(output) for output in release.outputs])


def graphs_in(release: Release) -> list[Network]:
    """Return the released graphs, one for each copy.

    Raises
    ------
    InvalidInput
        If the copies aren't graphs, and so can't be mistaken for the real one.
    """
    networks = [output for output in release.outputs if isinstance(output, Network)]
    if len(networks) < release.copies:
        raise InvalidInput(
            f"mechanism {quoted(release.mechanism.name)} released no graphs, which could be "
            "mistaken for the real one: there is no naive posterior"
        )
    return networks
