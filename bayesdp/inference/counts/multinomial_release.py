r"""Releases as a multinomial model reads them: the law of the outputs, category by category.

With theta ~ Dirichlet(alpha) summed out, the latent counts x of n records have

    Pr[x | n] = NB(x_1; alpha_1) ... NB(x_k; alpha_k) / NB(n; A),    A = sum alpha_i,

negative binomials at any common odds. Noise of its own on every cell, and the laws of conjugate
releases at a public n, are products over the cells too, so the posterior of x is one
(`bayesdp.engines.count_vectors.Factored`). The law of modips copies is a mixture of such products,
over the log odds of each copy (`bayesdp.mechanisms.families.count_laws`). A randomized response
answers records and not counts, and sums them out (`bayesdp.inference.counts.multinomial_response`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.outputs.counts import all_counts
from bayesdp.core.views import (
    Integer,
    IntegersView,
    MixtureTable,
    NoiseView,
    ProductTable,
    TableView,
    view_of,
)
from bayesdp.display.words import count_of
from bayesdp.engines.count_vectors import Factored, Listed, holds
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import instead
from bayesdp.mechanisms.counts.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.laws import negative_binomial
from bayesdp.release import Part

Floats = NDArray[np.float64]
Sizes = Sequence[tuple[int, float]]

TAKES = (
    "counts with noise on every cell (PerturbedHistogramMechanism, or a Laplace or Gaussian "
    "mechanism with a dimension), DirichletMultinomialMechanism, categorical ConjugateMechanism, "
    "modips copies of bdp.families.Categorical by 'sbs' or 'sdd', exact counts, and "
    "RandomizedResponseMechanism"
)
_MOST_CELLS = 20_000_000
_MOST_PRODUCTS = 10**12  # of the sums' laws: minutes
_MANY_PRODUCTS = 10**11  # seconds, after which chains are faster
_MOST_LISTED = 100_000
_BLOCK = 1 << 20  # numbers in a temporary array


@dataclass(frozen=True)
class Mixed:
    """Product over the categories given one point of each copy's own mixture.

    Attributes
    ----------
    base : Factored
        The prior, and the laws that are products.
    tables : sequence of ndarray
        One for each copy: log laws, shape (k, counts from the base's firsts on, points).
    log_scale : float
    """

    base: Factored
    tables: Sequence[Floats]
    log_scale: float

    def log_joint(self, counts: NDArray[np.int64]) -> Floats:
        """Log Pr[z, x] of counts, shape (vectors, k)."""
        logs = self.base.log_probability(counts) + self.base.log_evidence + self.log_scale
        for table in self.tables:
            step = max(1, _BLOCK // table.shape[2])
            for start in range(0, len(counts), step):
                some = slice(start, start + step)
                each = [row[counts[some, i]] for i, row in enumerate(table)]
                logs[some] += special.logsumexp(sum(each), axis=-1)
        return logs


def table_of(mechanism: Any) -> TableView | IntegersView | None:
    """The mechanism's view of counts of categories, fixed in sum or each by itself."""
    counts = view_of(mechanism, IntegersView)
    return counts if counts is not None and counts.shape else view_of(mechanism, TableView)


def is_mixture(mechanism: Any) -> bool:
    """Return True if its law is a mixture of products over the categories."""
    return view_of(mechanism, MixtureTable) is not None


def check_categories(mechanism: Any, k: int) -> None:
    """Raise InvalidInput unless the release is of counts of k categories."""
    view = table_of(mechanism)
    if view is None:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't randomise counts of "
            f"categories; a MultinomialModel takes {TAKES}; {instead(mechanism)}"
        )
    if isinstance(view, TableView) and view.zeros:
        raise InvalidInput(
            f"the release has {count_of(view.zeros, 'structural zero')}, where no record can be, "
            "but a MultinomialModel gives every category a probability; release the table "
            "without those cells, or combine the copies with bdp.combine"
        )
    cells = view.cells if isinstance(view, TableView) else view.shape[0]
    if cells != k:
        raise InvalidInput(
            f"prior has {k} numbers, but the release is of {cells} categories; give one number a "
            "category"
        )


class _Seen(NamedTuple):
    """A part's outputs, and their law by category: of integers, or as a product given n."""

    outputs: NDArray[Any]
    integers: list[Integer] | None
    product: ProductTable | None


def _seen(part: Part) -> _Seen:
    view = table_of(part.mechanism)
    integers = view.each(part.outputs) if isinstance(view, IntegersView) else None
    return _Seen(np.array(part.outputs), integers, view if isinstance(view, ProductTable) else None)


def factored(
    parts: Sequence[Part], alpha: Sequence[float], sizes: Sizes, *, whole: bool = False
) -> Factored | None:
    """Make the latent counts' posterior where it is a product given their sum, else None.

    With `whole`, over all counts; otherwise over those from which noise reaches the outputs with
    more than a negligible probability.
    """
    if not all(_is_product(part.mechanism) for part in parts):
        return None
    seen, n, times = [_seen(part) for part in parts], sizes[-1][0], 1.0
    widest = [(0, n)] * len(alpha) if whole else _windows(seen, len(alpha), n, math.inf)
    # Others' laws are much narrower than their windows.
    as_wide = not whole and all(each.integers is not None for each in seen)
    while True:
        windows = widest if whole else _windows(seen, len(alpha), n, times)
        if as_wide:
            _check_products(windows)
        firsts, tables, each, log_sizes = _tables(seen, alpha, sizes, windows)
        if windows == widest or holds(firsts, tables, each, log_sizes, widest):
            return Factored(firsts, tables, each, log_sizes)
        times *= 8


def _tables(
    seen: Sequence[_Seen],
    alpha: Sequence[float],
    sizes: Sizes,
    windows: Sequence[tuple[int, int]],
) -> tuple[list[int], list[Floats], NDArray[np.int64], Floats]:
    """Tabulate the factors of the posterior within windows of each category."""
    _check_cells(sum(last - first + 1 for first, last in windows))
    each, tables, log_sizes = prior_of(alpha, sizes, windows)
    counts = [np.arange(first, last + 1) for first, last in windows]
    for one in seen:
        if one.integers is not None:
            for i, (z, x) in enumerate(zip(one.integers, counts, strict=True)):
                tables[i] += z.logp(x)
        elif one.product is not None:
            constant: Any = 0.0
            for i, x in enumerate(counts):
                law, constant = one.product.law(one.outputs[:, i], i, x, each)
                tables[i] += law
            log_sizes = log_sizes + constant * len(one.outputs)
    return [first for first, _ in windows], tables, each, log_sizes


def _is_product(mechanism: Any) -> bool:
    """Return True if its law is a product over the categories."""
    return isinstance(table_of(mechanism), IntegersView | ProductTable)


def too_wide(parts: Sequence[Part], k: int, sizes: Sizes) -> bool:
    """Return True if all cells of one release are noisy and chains faster than sums over them."""
    if len(parts) > 1 or view_of(parts[0].mechanism, NoiseView) is None:
        return False
    return _products(_windows([_seen(parts[0])], k, sizes[-1][0])) > _MANY_PRODUCTS


def _products(windows: Sequence[tuple[int, int]]) -> int:
    """Count the products that the laws of the counts' partial sums take, by convolution."""
    widths = [last - first + 1 for first, last in windows]
    return (sum(widths) ** 2 - sum(width**2 for width in widths)) // 2


def _windows(seen: Sequence[_Seen], k: int, n: int, times: float = 1.0) -> list[tuple[int, int]]:
    """Find the counts of each category that all releases' outputs can come from."""
    windows = [(0, n)] * k
    for one in seen:
        if one.integers is not None:
            each = [z.reached(w, times) for z, w in zip(one.integers, windows, strict=True)]
            windows = [(int(first), int(last)) for first, last in each]
    if any(first > last for first, last in windows):
        raise InvalidInput("the outputs have probability zero under the model's prior")
    return windows


def mixed(parts: Sequence[Part], alpha: Sequence[float], sizes: Sizes) -> Mixed:
    """Make the latent counts' posterior from modips copies, and from other releases of them."""
    n = sizes[-1][0]
    views = [(part, view_of(part.mechanism, MixtureTable)) for part in parts]
    copies = [(z, view) for part, view in views if view is not None for z in part.outputs]
    others = [part for part, view in views if view is None]
    base = factored(others, alpha, sizes, whole=True)
    if base is None:
        names = sorted({part.mechanism.name for part in others})
        raise InvalidInput(
            f"mechanisms {names} have no laws in products over the categories, which Gibbs "
            "sampling needs; take other methods of release, or fewer records"
        )
    rare = 64 + math.ceil(max(_least_rare(z, view, n) for z, view in copies))
    tables, log_scale = [], 0.0
    for z, view in copies:
        logs_of, log_step = view.tables(z, n, rare)
        _check_cells(len(copies) * sum(table.size for table in logs_of))
        best = np.sum([table.max(axis=0) for table in logs_of], axis=0)
        kept = best > best.max() - 745.0  # a bound that no counts exceed
        tables.append(np.stack([table[:, kept] for table in logs_of]))
        log_scale += log_step
    return Mixed(base, tables, log_scale)


def listed(parts: Sequence[Part], alpha: Sequence[float], sizes: Sizes) -> Listed | None:
    """List all vectors of counts with their posterior, for any mechanism; None if too many."""
    k = len(alpha)
    if sum(math.comb(n + k - 1, k - 1) for n, _ in sizes) > _MOST_LISTED:
        return None
    rows, weights = [], []
    for n, probability in sizes:
        counts = all_counts(n, k)
        if counts is None or n == 0:
            counts = np.zeros((1, k), dtype=np.int64)
        law = dirichlet_multinomial_logpmf(counts, n, alpha) if n else np.zeros(1)
        law = law + math.log(probability)
        for part in parts:
            outputs = np.stack([np.array(output) for output in part.outputs])
            law = law + part.mechanism.logp(outputs[:, None], counts).sum(axis=0)
        rows.append(counts)
        weights.append(law)
    return Listed(np.concatenate(rows), np.concatenate(weights))


def prior_of(
    alpha: Sequence[float], sizes: Sizes, windows: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.int64], list[Floats], Floats]:
    """Prior of the counts within windows, and of the sizes; with the sizes themselves."""
    n = np.array([size for size, _ in sizes])
    against = float(max(np.median(n), 1.0))

    def law(x: NDArray[np.int64], a: float) -> Floats:
        k, shape, odds, rest = (np.full(x.size, v) for v in (0.0, a, float(sum(alpha)), against))
        return negative_binomial(k + x, shape, odds, rest)

    tables = [law(np.arange(f, e + 1), float(a)) for (f, e), a in zip(windows, alpha, strict=True)]
    log_sizes = np.log([p for _, p in sizes]) - law(n, float(sum(alpha)))
    return n, tables, log_sizes


def _check_cells(cells: int) -> None:
    if cells > _MOST_CELLS:
        raise InvalidInput(
            f"the latent counts have {cells:,} values to look at, more than {_MOST_CELLS:,}; "
            "narrow the prior on n, merge categories, or combine the copies with bdp.combine"
        )


def _check_products(windows: Sequence[tuple[int, int]]) -> None:
    if _products(windows) > _MOST_PRODUCTS:
        widest = max(last - first + 1 for first, last in windows)
        raise InvalidInput(
            f"the latent counts have up to {widest:,} values to look at in each of {len(windows)} "
            "categories, too many to add up; merge categories, combine the copies with "
            "bdp.combine or, with one release, take engine='augmentation'"
        )


def _least_rare(output: Any, view: MixtureTable, n: int) -> float:
    """-log of a bound from below of the law where it is likely."""
    z = np.array(output)
    counts = np.rint(z * (n / max(z.sum(), 1))).astype(np.int64)
    return -float(dirichlet_multinomial_logpmf(z, view.size, np.asarray(view.prior) + counts))
