"""Conjugate releases of categorical records: how they are drawn, and their laws.

The statistic is the counts of the k categories, integers of shape (..., k) with sum n. A
released parameter is k probabilities, synthetic records are k counts with sum `size`; the
counts are drawn in integer arithmetic, exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.outputs import FromRecords, OutputSpace
from bayesdp.core.outputs.counts import CellCounts, Probabilities, labels_of
from bayesdp.core.views import DrawnCountsView, ProductTable, TableView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.category_laws import (
    accumulated,
    dirichlet_logpdf,
    dirichlet_multinomial_logpmf,
    mode_weights,
    multinomial_logpmf,
)
from bayesdp.mechanisms.counts.category_products import many_draws, one_draw, parameter
from bayesdp.mechanisms.counts.count import column_of
from bayesdp.mechanisms.draws.categories import multinomial_draws
from bayesdp.mechanisms.draws.category_splitting import dirichlet_multinomial_draws
from bayesdp.mechanisms.randomness import generator

if TYPE_CHECKING:
    from bayesdp.mechanisms.conjugate.release import ConjugateMechanism


def statistic_of(release: ConjugateMechanism, data: Any) -> tuple[int, ...]:
    """Count the records of each category, labelled 0 to k - 1."""
    k = len(release.prior)
    labels = column_of(data, f"labels from 0 to {k - 1}")
    if not np.all((labels >= 0) & (labels < k) & (labels == np.floor(labels))):
        raise InvalidInput(
            f"data has values other than the labels 0 to {k - 1} of the prior's {k} categories; "
            "recode the column, for example with pandas' Categorical(column, categories).codes"
        )
    return tuple(np.bincount(labels.astype(np.int64), minlength=k).tolist())


def check_statistic(release: ConjugateMechanism, statistic: Any) -> NDArray[np.int64]:
    """Return the counts as an array if they are integers of n records, else raise InvalidInput."""
    counts, k = np.asarray(statistic), len(release.prior)
    if counts.dtype.kind not in "iu" or counts.shape[-1:] != (k,):
        raise InvalidInput(
            f"the statistic has type {counts.dtype} and shape {counts.shape}; it must be the "
            f"counts of the {k} categories, integers of shape (..., {k}); "
            "release.statistic(data) makes them"
        )
    if np.any(counts < 0) or np.any(counts.sum(axis=-1) != release.n):
        raise InvalidInput(
            "the statistic must be counts, at least 0, whose sum is the mechanism's "
            f"n = {release.n}"
        )
    return counts.astype(np.int64)


def one_statistic(release: ConjugateMechanism, statistic: Any) -> NDArray[np.int64]:
    """Return the counts if they are of n records and for one release alone, else raise."""
    checked = check_statistic(release, statistic)
    if checked.ndim > 1:
        raise InvalidInput("the statistic is an array of several; release one at a time")
    return checked


def draw(release: ConjugateMechanism, counts: NDArray[np.int64], copies: int) -> NDArray[Any]:
    """Draw outputs, shape (copies, *shape of the counts)."""
    return DRAWS[release.method](release, np.broadcast_to(counts, (copies, *counts.shape)))


def logp(release: ConjugateMechanism, output: Any, counts: NDArray[np.int64]) -> NDArray[Any]:
    """Log-probability of counts, or log-density of probabilities in all coordinates but one."""
    return LAWS[release.method](release, np.asarray(output), counts)


def pairs(release: ConjugateMechanism) -> list[tuple[Any, Any]]:
    """Pairs where a record moves between the two categories of smallest prior.

    The other records are outside both, which is worst, or in the second; with two categories, in
    the second or in the first.
    """
    n, k = release.n, len(release.prior)
    order = np.argsort(release.prior, kind="stable")
    places = dict.fromkeys([order[-1], order[1], *order[: 2 if k == 2 else 0]])
    worst = []
    for place in list(places)[: 1 if n == 1 else None]:
        shared = np.zeros(k, dtype=np.int64)
        shared[place] = n - 1
        one, other = (shared + (np.arange(k) == order[i]) for i in (0, 1))
        worst.append((tuple(one.tolist()), tuple(other.tolist())))
    return worst


def space(release: ConjugateMechanism) -> OutputSpace:
    """Counts with sum `size`, shown as labels in order; or the probabilities."""
    k = len(release.prior)
    return labelled(k, release.size) if release.size else Probabilities(k)


def labelled(k: int, size: int) -> CellCounts:
    """The space of counts of `size` synthetic labels from 0 to k - 1, shown in order."""
    how = FromRecords((), partial(labels_of, k, size))
    return CellCounts(
        k, size, limit="size", shown=lambda counts: np.repeat(np.arange(k), counts), counted=how
    )


def mode(release: ConjugateMechanism, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The posterior mode; see `mode_weights` for where it is on the boundary."""
    weights = mode_weights(counts, release.prior)
    return np.asarray(weights / accumulated(weights))


def _posterior(release: ConjugateMechanism, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(np.array(release.prior) + counts)


def _draw_parameter(release: ConjugateMechanism, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    # Gamma variables over their sum, which is positive: some shape is at least 1.
    gammas = generator().standard_gamma(_posterior(release, counts))
    return np.asarray(gammas / gammas.sum(axis=-1, keepdims=True))


def _independent(
    release: ConjugateMechanism, counts: NDArray[np.int64], less: int
) -> NDArray[np.int64]:
    prior = [Fraction(value) - less for value in release.prior]
    return multinomial_draws(counts, prior, release.synthetic_size)


DRAWS: dict[str, Callable[[ConjugateMechanism, NDArray[np.int64]], NDArray[Any]]] = {
    "parameter_map": mode,
    "parameter_draw": _draw_parameter,
    "synthetic_map": lambda release, counts: _independent(release, counts, less=1),
    "synthetic_one": lambda release, counts: dirichlet_multinomial_draws(
        counts, release.prior, release.synthetic_size
    ),
    "synthetic_many": lambda release, counts: _independent(release, counts, less=0),
}
"""How each method draws, for counts of shape (..., k); outputs have the same shape."""

LAWS: dict[
    str, Callable[[ConjugateMechanism, NDArray[Any], NDArray[np.int64]], NDArray[np.float64]]
] = {
    "parameter_map": lambda release, output, counts: np.where(
        np.all(output == mode(release, counts), axis=-1), 0.0, -np.inf
    ),
    "parameter_draw": lambda release, output, counts: dirichlet_logpdf(
        output, _posterior(release, counts)
    ),
    "synthetic_map": lambda release, output, counts: multinomial_logpmf(
        output, release.synthetic_size, mode_weights(counts, release.prior)
    ),
    "synthetic_one": lambda release, output, counts: dirichlet_multinomial_logpmf(
        output, release.synthetic_size, _posterior(release, counts)
    ),
    "synthetic_many": lambda release, output, counts: multinomial_logpmf(
        output, release.synthetic_size, _posterior(release, counts)
    ),
}
"""Each method's law."""


def views(release: Any) -> list[View]:
    """Views given counts of categories, as a product over them where the law is one."""
    k, prior = len(release.prior), np.array(release.prior)
    laws: dict[str, Any] = {
        "synthetic_one": partial(one_draw, prior, float(release.synthetic_size)),
        "synthetic_many": partial(many_draws, prior, release.synthetic_size),
        "parameter_draw": partial(parameter, prior),
    }
    offered: list[View] = [TableView(k, 0)]
    if release.method in laws:
        offered = [ProductTable(k, 0, laws[release.method])]
    if release.method == "synthetic_one":
        counts = partial(np.asarray, dtype=np.float64)
        offered.append(DrawnCountsView(prior.astype(np.float64), release.synthetic_size, counts))
    return offered
