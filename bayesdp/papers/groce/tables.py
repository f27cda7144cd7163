"""Tables 6.1 to 6.4 of Groce (2014): exact sums, each number beside its own theorem's and ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import stats

from bayesdp.papers.reproduction import Table, Value
from bayesdp.privacy.distributional.irwin_hall import centred_distribution
from bayesdp.privacy.distributional.least_squares import UniformProducts
from bayesdp.privacy.distributional.record_laws import RecordLaw, TopCodedNormal, Uniform
from bayesdp.privacy.distributional.sums.choice import best_bound
from bayesdp.privacy.distributional.sums.profile import SumProfile
from bayesdp.privacy.distributional.sums.published import (
    SumBound,
    published,
    published_uniform,
    tight,
    tight_uniform,
)
from bayesdp.privacy.distributional.uniform_part import UniformPart

UNIFORM: tuple[tuple[int, float, float, float], ...] = (
    (100, 40, 0.634, 6.83e-4),
    (100, 37, 0.835, 8.18e-6),
    (1000, 460, 0.243, 1.31e-5),
    (1000, 450, 0.303, 4.82e-8),
    (10000, 4870, 0.0782, 6.95e-6),
    (10000, 4850, 0.0902, 2.12e-7),
    (10000, 4830, 0.102, 4.07e-9),
)
"""Table 6.1: n, a, epsilon and delta as printed."""

TOP_CODED: tuple[tuple[int, float, float, float, float, float], ...] = (
    (1000, 1.0, 175, 0.83, 0.986, 2.77e-5),
    (1000, 1.5, 125, 0.78, 0.904, 7.43e-7),
    (1000, 1.5, 130, 0.79, 0.775, 1.24e-5),
    (1000, 2.0, 56, 0.66, 0.829, 4.73e-5),
    (10000, 1.5, 1725, 0.93, 0.227, 3.69e-6),
    (10000, 1.5, 1690, 0.92, 0.273, 2.89e-8),
)
"""Table 6.2: n, t, a, r, epsilon and delta as printed."""

MEANS: tuple[tuple[int, float, float, float, float], ...] = (
    (1000, 400, 0.9, 0.669, 2.05e-8),
    (5000, 2270, 0.955, 0.295, 1.14e-8),
    (20000, 9500, 0.976, 0.160, 4.42e-10),
)
"""Table 6.3: n, a, r, epsilon and delta as printed."""

PRODUCTS: tuple[tuple[int, float, float, float, float], ...] = (
    (7500, 535, 0.82, 0.914, 9.30e-8),
    (10000, 740, 0.84, 0.801, 3.64e-8),
    (14000, 1082, 0.865, 0.676, 3.02e-8),
    (70000, 6113, 0.938, 0.293, 1.35e-8),
)
"""Table 6.4: n, a, r, epsilon and delta as printed."""

_OURS = ("best choice", "ours")
_NOTE = (
    "The last two columns are the smallest epsilons at the printed delta: of the theorem, with a, "
    "r and the box chosen for it and delta as its proof needs it; and of the sum's own profile."
)


def uniform_table() -> Table:
    """Compute Table 6.1 of Groce (2014)."""
    law = Uniform(0, 1)
    values: list[tuple[Value, ...]] = []
    for n, a, epsilon, delta in UNIFORM:
        by_theorem, proof = published_uniform(n, a), tight_uniform(n, a)
        values.append(
            (n, a, epsilon, by_theorem.epsilon, delta, by_theorem.delta, proof.delta,
             *_ours(n, law, delta))
        )  # fmt: skip
    return Table(
        name="table_6_1",
        title="Table 6.1: the sum of n uniform records",
        columns=("n", "a", "epsilon, printed", "epsilon", "delta, printed", "Theorem 6.6",
                 "as proved", *_OURS),
        values=tuple(values),
        formats=("d", "g", ".3g", ".4g", ".3g", ".4g", ".4g", ".4g", ".4g"),
        note="Every number reproduces. The proof gives a smaller delta, F(a - 1) + F(a) instead of "
        f"F(a - 1/2) + F(a). {_NOTE}",
    )  # fmt: skip


def top_coded_table() -> Table:
    """Compute Table 6.2 of Groce (2014)."""
    law = TopCodedNormal(0, 1, -2.5, 2.5)
    values: list[tuple[Value, ...]] = []
    for n, t, a, r, epsilon, delta in TOP_CODED:
        part = UniformPart(((-t, t),), float(stats.norm.pdf(t)), law.support)
        by_theorem, proof = published(n, part, a, r), tight(n, part, a, r)
        few = _few(n, part, r)
        values.append(
            (n, t, a, r, epsilon, by_theorem.epsilon, delta,
             by_theorem.delta - math.exp(by_theorem.epsilon) * few, by_theorem.delta, proof.delta,
             *_ours(n, law, delta))
        )  # fmt: skip
    return Table(
        name="table_6_2",
        title="Table 6.2: the sum of n standard normal records, top-coded at -2.5 and 2.5",
        columns=("n", "t", "a", "r", "epsilon, printed", "epsilon", "delta, printed",
                 "no factor", "Corollary 6.2", "as proved", *_OURS),
        values=tuple(values),
        formats=("d", "g", "g", "g", ".3g", ".4g", ".3g", ".4g", ".4g", ".4g", ".4g", ".4g"),
        note="All deltas as printed lack the corollary's factor 1 + e^epsilon: see 'no factor'. A "
        "proof by joint convexity needs no such factor, and holds them all: see 'as proved', which "
        f"also counts exactly how many records may be too few. {_NOTE}",
    )  # fmt: skip


def means_table() -> Table:
    """Compute Table 6.3 of Groce (2014)."""
    law = Uniform((-1, -1), (1, 1))
    return _pairs(
        "table_6_3",
        "Table 6.3: the means of g and h, both uniform on [-1, 1]",
        MEANS,
        law,
        law.parts()[0],
        "",
    )


def products_table() -> Table:
    """Compute Table 6.4 of Groce (2014)."""
    return _pairs(
        "table_6_4",
        "Table 6.4: the means of g^2 and gh, g and h uniform on [-1, 1]",
        PRODUCTS,
        UniformProducts(),
        UniformPart(((0.36, 1), (-0.6, 0.6)), 0.25, UniformProducts().support),
        "The box is [.36, 1] x [-.6, .6]; the printed caption speaks of (x, y). ",
    )


def _pairs(
    name: str,
    title: str,
    rows: Sequence[tuple[int, float, float, float, float]],
    law: RecordLaw,
    part: UniformPart,
    note: str,
) -> Table:
    values: list[tuple[Value, ...]] = []
    for n, a, r, epsilon, delta in rows:
        by_theorem, proof = published(n, part, a, r), tight(n, part, a, r)
        values.append(
            (n, a, r, epsilon, by_theorem.epsilon, delta, _wrong_side(n, part, by_theorem, r),
             by_theorem.delta, proof.delta, *_ours(n, law, delta))
        )  # fmt: skip
    return Table(
        name=name,
        title=title,
        columns=("n", "a", "r", "epsilon, printed", "epsilon", "delta, printed",
                 "with F(a - w/2)", "Corollary 6.2", "as proved", *_OURS),
        values=tuple(values),
        formats=("d", "g", "g", ".3g", ".4g", ".3g", ".4g", ".4g", ".4g", ".4g", ".4g"),
        note="The deltas as printed take F(a - w/2) where Corollary 6.2 has F(a + w/2), and so are "
        f"smaller than the corollary's. {note}{_NOTE}",
    )  # fmt: skip


def _few(n: int, part: UniformPart, r: float) -> float:
    return math.exp(-2 * n * part.volume**2 * (1 - r) ** 2)


def _wrong_side(n: int, part: UniformPart, bound: SumBound, r: float) -> float:
    """Compute delta with w/2 subtracted where it should be added."""
    count = bound.hidden - 1
    tails = [
        2 * centred_distribution(count / 2 - a + w / 2, count)
        for a, w in zip(bound.a, part.widths, strict=True)
    ]
    return sum(tails) + (1 + math.exp(bound.epsilon)) * _few(n, part, r)


def _ours(n: int, law: RecordLaw, delta: float) -> tuple[float, float]:
    """Return the theorem's epsilon at its best, and the profile's."""
    return best_bound(n, law, delta=delta).epsilon, SumProfile(n, law).epsilon(delta)
