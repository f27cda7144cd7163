r"""What a multinomial model reads from a release: the law of the outputs, category by category.

With theta ~ Dirichlet(alpha) summed out, the latent counts x of n records have

    Pr[x | n] = NB(x_1; alpha_1) ... NB(x_k; alpha_k) / NB(n; A),    A = sum alpha_i,

negative binomials at any common odds. Noise of its own on every cell, and the laws of conjugate
releases at a public n, are products over the cells too, so the posterior of x is one
(`bayesdp.engines.count_vectors.Factored`). The law of modips copies is a mixture of such products,
over the log odds of each copy (`bayesdp.mechanisms.families.count_laws`). A randomized response
answers records and not counts, and sums them out (`bayesdp.inference.multinomial_response`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.count_vectors import Factored, Listed
from bayesdp.errors import InvalidInput
from bayesdp.inference.noisy_cells import one_cell, reached
from bayesdp.mechanisms.category_laws import dirichlet_multinomial_logpmf
from bayesdp.mechanisms.conjugate import ConjugateRelease
from bayesdp.mechanisms.conjugate_categorical_outputs import all_counts
from bayesdp.mechanisms.dirichlet_multinomial import DirichletMultinomialMechanism
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.count_laws import mixture_tables
from bayesdp.mechanisms.laws import negative_binomial
from bayesdp.mechanisms.modips_sbs import ModipsSBS
from bayesdp.mechanisms.noise import AdditiveNoise
from bayesdp.release import Part

Floats = NDArray[np.float64]
Sizes = Sequence[tuple[int, float]]

TAKES = (
    "counts with noise on every cell (PerturbedHistogram, or a Laplace or Gaussian mechanism with "
    "a dimension), DirichletMultinomialMechanism, categorical ConjugateRelease, modips copies of "
    "bdp.families.Categorical, and RandomizedResponse"
)
_MOST_CELLS = 20_000_000
_MOST_LISTED = 100_000
_BLOCK = 1 << 20  # numbers in a temporary array


@dataclass(frozen=True)
class Mixed:
    """A product over the categories given one point of each copy's own mixture.

    Attributes
    ----------
    base : Factored
        The prior.
    tables : sequence of ndarray
        One a copy, shape (k, counts from the base's firsts on, points): logs.
    log_scale : float
    """

    base: Factored
    tables: Sequence[Floats]
    log_scale: float

    def log_joint(self, counts: NDArray[np.int64]) -> Floats:
        """log Pr[z, x] of counts, shape (vectors, k)."""
        found = self.base.log_probability(counts) + self.base.log_evidence + self.log_scale
        for table in self.tables:
            step = max(1, _BLOCK // table.shape[2])
            for start in range(0, len(counts), step):
                some = slice(start, start + step)
                each = [row[counts[some, i]] for i, row in enumerate(table)]
                found[some] += special.logsumexp(sum(each), axis=-1)
        return found


def is_conjugate(mechanism: Any) -> bool:
    """Whether it is a conjugate release of categorical records."""
    return isinstance(mechanism, ConjugateRelease) and mechanism.family == "categorical"


def is_copied(mechanism: Any) -> bool:
    """Whether it makes Dirichlet-multinomial copies of a table."""
    return isinstance(mechanism, DirichletMultinomialMechanism)


def is_modips(mechanism: Any) -> bool:
    """Whether it makes modips copies of categorical records."""
    return isinstance(mechanism, ModipsSBS) and isinstance(mechanism.family, Categorical)


def is_noise(mechanism: Any) -> bool:
    """Whether it adds noise to every cell of a vector."""
    return isinstance(mechanism, AdditiveNoise) and mechanism.dimension is not None


def check_categories(mechanism: Any, k: int) -> None:
    """Raise InvalidInput unless the release is of counts of k categories."""
    if is_conjugate(mechanism):
        found = len(mechanism.prior)
    elif is_copied(mechanism):
        found = mechanism.cells
        if mechanism.zeros:
            raise InvalidInput(
                f"the release has {len(mechanism.zeros)} structural zeros, where no record can be, "
                "but a MultinomialModel gives every category a probability; release the table "
                "without those cells, or combine the copies with bdp.combine"
            )
    elif is_modips(mechanism):
        found = mechanism.family.k
    elif is_noise(mechanism):
        found = mechanism.dimension
    else:
        raise InvalidInput(
            f"the release's mechanism {mechanism.name!r} doesn't randomise counts of categories; "
            f"a MultinomialModel takes {TAKES}"
        )
    if found != k:
        raise InvalidInput(
            f"prior has {k} numbers, but the release is of {found} categories; give one number a "
            "category"
        )


def factored(part: Part, alpha: Sequence[float], sizes: Sizes) -> Factored | None:
    """The latent counts' posterior where it is a product given their sum, else None."""
    mechanism: Any = part.mechanism
    n = sizes[-1][0]
    outputs = np.array(part.outputs)
    constant: Any = 0.0
    if is_noise(mechanism):
        cell = one_cell(mechanism)
        windows = _windows(cell, outputs, n)
    elif is_copied(mechanism) or (is_conjugate(mechanism) and mechanism.method in _CONJUGATE):
        windows = [(0, n)] * len(alpha)
    else:
        return None
    _check_cells(sum(last - first + 1 for first, last in windows))
    base = prior_of(alpha, sizes, windows)
    tables = []
    for i, ((first, last), table) in enumerate(zip(windows, base.tables, strict=True)):
        x = np.arange(first, last + 1)
        if is_noise(mechanism):
            tables.append(table + cell.logp(outputs[:, i, None], x).sum(axis=0))
        else:
            made = _one_draw if is_copied(mechanism) else _CONJUGATE[mechanism.method]
            law, constant = made(mechanism, outputs[:, i], i, x, base.sizes)
            tables.append(table + law)
    firsts = [first for first, _ in windows]
    whole = base.log_sizes + constant * len(outputs)
    return Factored(firsts, tables, base.sizes, whole)


def too_wide(part: Part, sizes: Sizes) -> bool:
    """Whether there is noise on every cell, and more counts than can be looked at one by one."""
    mechanism: Any = part.mechanism
    if not is_noise(mechanism):
        return False
    windows = _windows(one_cell(mechanism), np.array(part.outputs), sizes[-1][0])
    return sum(last - first + 1 for first, last in windows) > _MOST_CELLS


def _windows(cell: AdditiveNoise, outputs: NDArray[Any], n: int) -> list[tuple[int, int]]:
    return [reached(cell, column, (0, n)) for column in outputs.T]


def mixed(part: Part, alpha: Sequence[float], sizes: Sizes) -> Mixed:
    """The latent counts' posterior from modips copies."""
    mechanism: Any = part.mechanism
    n, k = sizes[-1][0], len(alpha)
    base = prior_of(alpha, sizes, [(0, n)] * k)
    rare = 64 + math.ceil(max(_least_rare(z, mechanism, n) for z in part.outputs))
    tables, log_scale = [], 0.0
    for z in part.outputs:
        found, log_step = mixture_tables(
            z, mechanism.family.prior, mechanism.size, mechanism.parts, n, rare
        )
        cells = len(part.outputs) * sum(table.size for table in found)
        _check_cells(cells)
        best = np.sum([table.max(axis=0) for table in found], axis=0)
        kept = best > best.max() - 745.0  # a bound that no counts exceed
        tables.append(np.stack([table[:, kept] for table in found]))
        log_scale += log_step
    return Mixed(base, tables, log_scale)


def listed(part: Part, alpha: Sequence[float], sizes: Sizes) -> Listed | None:
    """The same by listing all vectors of counts, of any mechanism; None where they are many."""
    mechanism, k = part.mechanism, len(alpha)
    if sum(math.comb(n + k - 1, k - 1) for n, _ in sizes) > _MOST_LISTED:
        return None
    rows, weights = [], []
    for n, probability in sizes:
        counts = all_counts(n, k)
        if counts is None or n == 0:
            counts = np.zeros((1, k), dtype=np.int64)
        law = dirichlet_multinomial_logpmf(counts, n, alpha) if n else np.zeros(1)
        law = law + math.log(probability)
        for output in part.outputs:
            law = law + mechanism.logp(np.array(output), counts)
        rows.append(counts)
        weights.append(law)
    return Listed(np.concatenate(rows), np.concatenate(weights))


def prior_of(alpha: Sequence[float], sizes: Sizes, windows: Sequence[tuple[int, int]]) -> Factored:
    """The prior of the counts within windows of each category."""
    n = np.array([size for size, _ in sizes])
    against = float(max(np.median(n), 1.0))

    def law(x: NDArray[np.int64], a: float) -> Floats:
        k, shape, odds, rest = (np.full(x.size, v) for v in (0.0, a, float(sum(alpha)), against))
        return negative_binomial(k + x, shape, odds, rest)

    tables = [law(np.arange(f, e + 1), float(a)) for (f, e), a in zip(windows, alpha, strict=True)]
    log_sizes = np.log([p for _, p in sizes]) - law(n, float(sum(alpha)))
    return Factored([first for first, _ in windows], tables, n, log_sizes)


def _check_cells(cells: int) -> None:
    if cells > _MOST_CELLS:
        raise InvalidInput(
            f"the latent counts have {cells:,} values to look at, more than {_MOST_CELLS:,}; "
            "narrow the prior on n, merge categories, or combine the copies with bdp.combine"
        )


def _least_rare(output: Any, mechanism: Any, n: int) -> float:
    """-log of a bound from below of the law where it is likely."""
    z = np.array(output)
    counts = np.rint(z * (n / max(z.sum(), 1))).astype(np.int64)
    alpha = np.asarray(mechanism.family.prior) + counts
    return -float(dirichlet_multinomial_logpmf(z, mechanism.size, alpha))


def _one_draw(
    mechanism: Any, z: NDArray[Any], i: int, x: NDArray[np.int64], n: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Dirichlet-multinomial copies; the constant is one for each of the sizes n."""
    if is_copied(mechanism):
        prior, size = mechanism.alpha, float(mechanism.size)
    else:
        prior, size = np.array(mechanism.prior), float(mechanism.synthetic_size)
    weights = prior.sum() + n
    total, found = float(np.median(weights)), np.zeros(x.size)
    for each in z.tolist():
        counts, odds, rest = (np.full(x.size, v) for v in (float(each), total, size))
        found += negative_binomial(counts, prior[i] + x, odds, rest)
    counts, odds, rest = (np.full(n.size, v) for v in (size, total, size))
    return found, -negative_binomial(counts, weights, odds, rest)


def _many_draws(
    mechanism: ConjugateRelease,
    z: NDArray[Any],
    i: int,
    x: NDArray[np.int64],
    n: NDArray[np.int64],
) -> tuple[Floats, float]:
    size, total = mechanism.synthetic_size, sum(mechanism.prior) + mechanism.n
    law = z.sum() * np.log((mechanism.prior[i] + x) / total) - special.gammaln(z + 1.0).sum()
    return np.asarray(law), math.lgamma(size + 1)


def _parameter(
    mechanism: ConjugateRelease,
    theta: NDArray[Any],
    i: int,
    x: NDArray[np.int64],
    n: NDArray[np.int64],
) -> tuple[Floats, float]:
    if np.any(theta == 0):
        raise InvalidInput(
            "a released probability is 0, rounded from one that wasn't: its density is 0 or "
            "infinite; release it with more digits"
        )
    shape = mechanism.prior[i] + x
    law = (shape - 1) * np.log(theta).sum() - theta.size * special.gammaln(shape)
    return np.asarray(law), math.lgamma(sum(mechanism.prior) + mechanism.n)


_CONJUGATE = {
    "synthetic_one": _one_draw,
    "synthetic_many": _many_draws,
    "parameter_draw": _parameter,
}
"""Of one category: the law of all copies at x, and a constant for each copy; n are the sizes."""
