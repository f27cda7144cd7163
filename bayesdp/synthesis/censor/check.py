"""Numerical check of what the graph's rules have proved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytensor
from numpy.typing import NDArray
from pytensor.compile.mode import Mode
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace

from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.randomness import generator
from bayesdp.synthesis.censor.graph import Tracer, contents

_POINTS = 3


def check_terms(tracer: Tracer, terms: Variable) -> None:
    """Replace one record, and reorder all, at random parameters: only its own term may change.

    With a public n, a record may have parameters of its own, so records are only replaced.

    Raises
    ------
    InvalidInput
        If another record's term changes.
    """
    data = {root: np.asarray(contents(root)) for root in tracer.roots}
    evaluate = _compiled(tracer, terms)
    random = generator()
    n = tracer.axes.n

    def moved(places: NDArray[np.int64]) -> list[NDArray[Any]]:
        return [np.take(data[root], places, axis) for root, axis in tracer.roots.items()]

    for point in _points(tracer.model, random):
        before = evaluate(point, list(data.values()))
        i, j = random.choice(n, 2, replace=False)
        places = np.arange(n)
        places[i] = j
        after = evaluate(point, moved(places))
        others = np.arange(n) != i
        shuffled = random.permutation(n)
        if not _same(after[others], before[others]) or (
            not tracer.setting.public_n
            and not _same(evaluate(point, moved(shuffled)), before[shuffled])
        ):
            raise InvalidInput(
                "replacing or reordering records changed the terms of others; a model of "
                "dependent records can't be censored record by record"
            )


def _same(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    scale = np.max(np.abs(other), where=np.isfinite(other), initial=1.0)
    return np.allclose(one, other, rtol=1e-8, atol=1e-9 * scale, equal_nan=True)


def _compiled(
    tracer: Tracer, terms: Variable
) -> Callable[[dict[str, Any], list[NDArray[Any]]], NDArray[np.float64]]:
    model = tracer.model
    values = [model.rvs_to_values[rv] for rv in model.free_RVs]
    unconstrained = model.replace_rvs_by_values(model.free_RVs)
    records = {root: root.type() for root in tracer.roots}
    cut = dict(zip(tracer.parameters.values(), unconstrained, strict=True))
    output = clone_replace(clone_replace(terms, cut), records)
    run = pytensor.function(
        [*values, *records.values()],
        output,
        mode=Mode(linker="py", optimizer=None),
        on_unused_input="ignore",
    )

    def evaluate(point: dict[str, Any], data: list[NDArray[Any]]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.asarray(run(*(point[value.name] for value in values), *data))

    return evaluate


def _points(model: Any, random: np.random.Generator) -> list[dict[str, Any]]:
    """Yield the initial point, shifted at random where it is continuous."""
    start = {name: np.asarray(value) for name, value in model.initial_point().items()}
    return [
        {
            name: value + random.normal(size=value.shape) if value.dtype.kind == "f" else value
            for name, value in start.items()
        }
        for _ in range(_POINTS)
    ]
