"""Evidence in the form that the kernels of the hidden graph read."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.kernels.hidden.seen import Seen
from bayesdp.kernels.hidden.triangles import triangles_among
from bayesdp.kernels.hidden.whole import reads_whole
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.formula import BoundFormula, bind_together
from bayesdp.networks.hidden.whole import whole_of
from bayesdp.networks.network import Network
from bayesdp.networks.offset import offset_from

_OF_TRIANGLES = ("triangle", "gwesp")
LAWS = ("laplace", "gaussian")


def seen_of(evidence: Evidence, formula: str, nodes: Network) -> tuple[Seen, BoundFormula, int]:
    """Convert evidence for kernels, and bind the formula with all statistics that were seen.

    The formula's statistics come first; the last value returned is their number.

    Raises
    ------
    InvalidInput
        If the evidence doesn't fit the nodes, or a number in it isn't allowed.
    """
    if (evidence.n, evidence.directed) != (nodes.n, nodes.directed):
        raise InvalidInput(
            f"evidence is of a graph with n = {evidence.n}, directed = {evidence.directed}, and "
            f"nodes has n = {nodes.n}, directed = {nodes.directed}; they must be the same"
        )
    parts = evidence.statistics
    formulas = *(part.formula for part in parts), *(part.formula for part in evidence.copies)
    bound, (own, *places) = bind_together([formula, *formulas], nodes)
    places, choosing = places[: len(parts)], places[len(parts) :]
    sizes = [len(place) for place in places]
    rows = (2, nodes.n) if nodes.directed else (nodes.n,)
    listed = offset_from((evidence.ties, _offsets(evidence), evidence.constant), *_kind(nodes))
    pairs = np.column_stack([np.repeat(np.arange(nodes.n), np.diff(listed.start)), listed.node])
    whole = whole_of(evidence, choosing)
    closing = not nodes.directed and any(name.startswith(_OF_TRIANGLES) for name in bound.names)
    closing &= not reads_whole(whole)
    seen = Seen(
        pairs=pairs,
        first=listed.start,
        offset=listed.value,
        constant=listed.constant,
        matrix=offset_from(evidence.matrix, *_kind(nodes)).matrix,
        coordinate=_joined(places, np.int64),
        values=_joined(
            [_numbers("values", p.values, (k,)) for p, k in zip(parts, sizes, strict=True)]
        ),
        scale=_joined(
            [_positive("scale", p.scale, (k,)) for p, k in zip(parts, sizes, strict=True)]
        ),
        step=_joined([_steps(p.granularity, k) for p, k in zip(parts, sizes, strict=True)]),
        law=np.repeat([_law(part.law) for part in parts], sizes).astype(np.int64),
        degrees=np.array([_numbers("degrees", p.values, rows).ravel() for p in evidence.degrees])
        .reshape(len(evidence.degrees), -1 if evidence.degrees else np.prod(rows)),
        degree_scale=np.array([float(_positive("scale", p.scale, ())) for p in evidence.degrees]),
        degree_law=np.array([_law(p.law) for p in evidence.degrees], dtype=np.int64),
        most=nodes.n if evidence.max_degree is None else evidence.max_degree,
        triangles=triangles_among(pairs if closing else pairs[:0], listed.start),
        whole=whole,
    )  # fmt: skip
    return seen, bound, len(own)


def _kind(nodes: Network) -> tuple[int, bool]:
    return nodes.n, nodes.directed


def _offsets(evidence: Evidence) -> NDArray[np.float64]:
    """Offsets, one for each listed dyad; a matrix is read instead, where there is one."""
    if evidence.matrix is None:
        return np.asarray(evidence.offset, dtype=np.float64)
    ties = np.asarray(evidence.ties, dtype=np.int64)
    return np.asarray(evidence.matrix, dtype=np.float64)[ties[:, 0], ties[:, 1]]


def _joined(parts: list[Any], kind: Any = np.float64) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype=kind), *parts])


def _numbers(name: str, given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != shape or not np.isfinite(values).all():
        raise InvalidInput(
            f"the evidence's {name} are of shape {values.shape}; they must be finite numbers of "
            f"shape {shape}"
        )
    return values


def _positive(name: str, given: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64]:
    values = _numbers(name, given, shape)
    if not (values > 0).all():
        raise InvalidInput(f"the evidence's {name} is {quoted(given)}; it must be above zero")
    return values


def _steps(granularity: Any, size: int) -> NDArray[np.float64]:
    values = (
        np.zeros(size) if granularity is None else _numbers("granularity", granularity, (size,))
    )
    if not (values >= 0).all():
        raise InvalidInput(
            f"the evidence's granularity is {quoted(granularity)}; it must be 0 or above"
        )
    return values


def _law(law: str) -> int:
    if law not in LAWS:
        raise InvalidInput(
            f"the evidence's law is {quoted(law)}; it must be one of {', '.join(LAWS)}"
        )
    return LAWS.index(law)
