r"""Synthetic tables from a perturbed posterior predictive that keeps associations between columns.

The columns come in steps, and the model is p(step 1) p(step 2 | earlier) ... : a step has a table
of probabilities of its own columns' labels in each cell of the labels that it is given, with a
Dirichlet prior that is perturbed, alpha_j in each of its cells. No count gets noise; only synthetic
records are released, drawn from the posterior predictive: Charest (2010), Section 5.1, carries the
beta-binomial synthesizer of counts over to contingency tables so. If the columns that a step is
given are all in one earlier step, own and given ones together, the steps are in the order of a
junction tree, whose cliques they are, and the model is decomposable log-linear.

Let x_c be the confidential records in cell c of step j, and N_s those in cell s of the columns that
it is given; step j has K_j labels, combinations of its own columns', in each s. One copy has m
records. Of the y_s that have s by earlier steps, labels are drawn together:

    p_s ~ Dirichlet(alpha_j + x_c, c in s),    the y_s records' labels ~ p_s, independently,

so that, with rising factorials (u)_y = u (u + 1) ... (u + y - 1), the copy's records in an order
have the law

    P(y | x) = prod_j prod_s [ prod_{c in s} (alpha_j + x_c)_{y_c} ] / (K_j alpha_j + N_s)_{y_s},

and a copy, which has no order, as many times this as its records have orders. One step that is
given no columns is `DirichletMultinomialMechanism`.

Proof of what it promises
-------------------------
Of each step a record is in one cell c, of one s. Added to the others, it multiplies step j's factor
of P by

    f_j = (1 + y_c / u) / (1 + y_s / A),    u = alpha_j + x_c,    A = K_j alpha_j + N_s,

u and A without that record. As y_c <= y_s <= m and u <= A,

    f_j <= 1 + y_c / u <= 1 + m / alpha_j    and    1 / f_j <= 1 + y_s / A <= 1 + m / (K_j alpha_j).

*Adding or removing one* (n confidential). The ratios of the steps multiply, so that

    epsilon = sum_j log(1 + m / alpha_j),

and a removal alone has at most sum_j log(1 + m / (K_j alpha_j)). Columns of one label aside,
epsilon is approached as n grows, and so is the least that holds for all n, unless all columns of
one step, own and given, are given to another: let the record differ from all others in each step,
and agree with many on the columns that each step is given, and let all synthetic ones be like it.
Then x_c = 0, y_c = y_s = m and A grows in every step. Where one step's columns are all given to
another, its x_c can't be 0 while the other's A is large, and less than epsilon is spent: join the
two, {a} and {b given a} to {a, b}, which is the same model for one step's price.

*Replacing one* (n public) takes the record from c in s to c' in s'. If s' = s, the step's ratio
is

    (1 + y_c' / u') / (1 + y_c / u) <= 1 + m / alpha_j,

and so always in a step that is given nothing. Else it is f' / f, at most (1 + a / alpha_j) (1 + b /
(K_j alpha_j)) with a = y_c' and b = y_s, for which a + b <= m, as no record is in s and s'. With

    t = (1 + m / alpha_j) / K_j

this is largest at b = 0 where t <= 1, and then 1 + m / alpha_j; else at alpha_j + a = K_j alpha_j +
b, as the sum of these is given, and then K_j ((1 + t) / 2)^2. So

    epsilon = sum_j e_j,    e_j = log(1 + m / alpha_j) in steps given nothing, and where t <= 1,
                            e_j = log K_j + 2 log((1 + t) / 2) in others.

The largest ratio may be less: by the factor (1 + t)^2 / (4 t) in a step, at most, for b in fact
takes records from earlier steps' y_c' too (2% at log(1 + m / alpha_j) = 1 and K_j = 2, nothing at
larger K_j); by 1 + m / (K_j alpha_j + n - 1), for A' is finite; and as for adding one. A step that
is given nothing is exact.

Copies are independent given the table: M of them cost M epsilon. At delta > 0 the profile is what
the pure epsilon implies, an upper bound.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.checks import check_at_least_one, check_one_statistic
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.table_fields import check_size
from bayesdp.mechanisms.draws.polya import polya_sequences
from bayesdp.mechanisms.laws import negative_binomial
from bayesdp.mechanisms.modips.promise import check_weights
from bayesdp.mechanisms.modips.sequential.counts import sums_of_columns
from bayesdp.mechanisms.modips.sequential.layout import Layout, check_steps, layouts_of
from bayesdp.mechanisms.modips.sequential.steps import CategoricalColumns
from bayesdp.mechanisms.modips.sequential.views import table_view
from bayesdp.privacy.composition import repeated, total
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

Integers = NDArray[np.int64]

_SAFE = 1 + 2.0**-50  # covers the rounding of log1p, the division and the products below
_LARGEST_EXPONENT = 600.0


@dataclass(frozen=True, slots=True)
class SequentialDirichletMultinomialMechanism(Mechanism):
    """Synthetic tables drawn from a sequence of Dirichlet-multinomial posterior predictives.

    Parameters
    ----------
    steps : sequence of CategoricalColumns
        The model, with the prior alpha_j of each step. Public.
    size : int
        Number of synthetic records in a copy, at least 1. Public.
    n : int, optional
        Number of confidential records, where it is public; neighbours then replace one. None where
        it is confidential; neighbours then add or remove one.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a step is of numbers.

    Notes
    -----
    Draws are exact, by Polya's urn (`bayesdp.mechanisms.draws.polya`).
    """

    steps: tuple[CategoricalColumns, ...]
    size: int
    n: int | None = None

    name: ClassVar[str] = "sequential_dirichlet_multinomial"
    source: ClassVar[str] = (
        "bayesdp.mechanisms.counts.sequential_dirichlet_multinomial; Charest (2010), Section 5.1"
    )
    log_concave: ClassVar[bool] = False
    """The statistic isn't one integer."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", check_categorical(self.steps))
        object.__setattr__(self, "size", check_size(self.size))
        if self.n is not None:
            also = "or None if confidential"
            object.__setattr__(self, "n", check_at_least_one("n", self.n, also))

    @classmethod
    def calibrate(
        cls,
        *,
        epsilon: float,
        steps: Any,
        size: int,
        n: int | None = None,
        copies: int = 1,
        weights: Sequence[float] | None = None,
    ) -> SequentialDirichletMultinomialMechanism:
        """Make the mechanism with the weakest priors whose copies keep epsilon.

        Parameters
        ----------
        epsilon, copies
            The promise of all copies together.
        steps : sequence of CategoricalColumns
            The model. Its priors follow from epsilon, and aren't given.
        size, n
            The class's other parameters.
        weights : sequence of float, optional
            Share of each step, positive with sum 1. Default: equal.

        Raises
        ------
        InvalidInput
            If an argument is out of its range.
        """
        epsilon, copies = check_epsilon(epsilon), check_at_least_one("copies", copies)
        declared, size = check_categorical(steps), check_size(size)
        if any(step.prior != 1 for step in declared):
            raise InvalidInput(
                f"steps has priors {[step.prior for step in declared]}; the priors follow from "
                "epsilon and weights: leave prior out"
            )
        if isinstance(weights, Sequence) and len(weights) != len(declared):
            raise InvalidInput(f"weights has {len(weights)} numbers; give one for each step")
        shares = check_weights("individualized", weights, len(declared))
        moves = n is not None
        alphas = [
            size / max(_excess(share * epsilon / copies, layout, moves=moves), 1e-300)
            for share, layout in zip(shares, layouts_of(declared), strict=True)
        ]
        more = 2.0**-52
        while True:
            made = cls(
                tuple(
                    dataclasses.replace(step, prior=alpha)
                    for step, alpha in zip(declared, alphas, strict=True)
                ),
                size,
                n,
            )
            if made.guarantee(copies=copies).epsilon <= epsilon:
                return made
            alphas, more = [alpha * (1 + more) for alpha in alphas], 2 * more

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Steps with the labels that they are given."""
        return layouts_of(self.steps)

    @property
    def alpha(self) -> tuple[float, ...]:
        """Prior of each cell, by step."""
        return tuple(step.prior for step in self.steps)

    # What is promised.

    def costs(self, neighbours: Neighbours | None = None) -> tuple[float, ...]:
        """Pure epsilon of each step of one copy, rounded up."""
        relation = self.relation(neighbours)
        moves = relation is Neighbours.REPLACE_ONE
        each = zip(self.alpha, self.layouts, strict=True)
        return tuple(_cost(self.size / alpha, layout, moves=moves) for alpha, layout in each)

    def pure_epsilon(self) -> float:
        """Pure epsilon of one copy under `neighbours`, rounded up."""
        return total(self.costs())

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The profile that the pure epsilon of `copies` copies implies: an upper bound."""
        copies, one = check_at_least_one("copies", copies), total(self.costs(neighbours))
        return pure_profile(one, copies, repeated(one, copies))

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        chosen = "The steps, their priors and the size of a copy were chosen without the data."
        listed = "All labels are among the listed ones: others are refused."
        return (chosen, *(() if self.n is None else (PUBLIC_N,)), listed)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Integers:
        """Return the counts of all steps' cells, one step after another, or raise InvalidInput."""
        counts = self.check_statistics(statistic)
        check_one_statistic(counts.shape, (sum(_sizes(self.layouts)),))
        return counts

    def check_statistics(self, statistic: Any) -> Integers:
        """Return one or several statistics' counts, shape (..., cells), or raise InvalidInput."""
        x, cells = np.asarray(statistic), sum(_sizes(self.layouts))
        if x.dtype.kind not in "iuf" or x.shape[-1:] != (cells,):
            raise InvalidInput(
                f"the statistic has type {x.dtype} and shape {x.shape}; it must be {cells} counts, "
                "as the synthesizer counts them"
            )
        if not np.all((x >= 0) & (x == np.floor(x)) & (x < 2.0**53)):
            raise InvalidInput("the statistic must be whole numbers, at least 0")
        sums = np.stack([part.sum(axis=(-2, -1)) for part in _parted(x, self.layouts)], axis=-1)
        if np.any(sums != sums[..., :1]) or (self.n is not None and np.any(sums != self.n)):
            raise InvalidInput(
                "the statistic's steps must count the same records, n of them where that is public"
            )
        return x.astype(np.int64)

    def draw(self, statistic: Integers, copies: int) -> Integers:
        """Draw copies from the secure generator, shape (copies, ..., size, columns).

        Labels are given by their numbers, in the steps' order; records are sorted.
        """
        x = np.broadcast_to(statistic, (copies, *statistic.shape)).reshape(-1, statistic.shape[-1])
        columns: dict[str, Integers] = {}
        layouts, records = self.layouts, len(x) * self.size
        for alpha, layout, part in zip(self.alpha, layouts, _parted(x, layouts), strict=True):
            cell = layout.cell_of(columns, records).reshape(len(x), self.size)
            labels = _labels(part, [alpha] * layout.table, cell).ravel()
            columns |= dict(zip(layout.names, layout.codes(labels), strict=True))
        flat = [columns[each.name] for each in self._columns]
        copy = np.repeat(np.arange(len(x)), self.size)
        order = np.lexsort([*flat[::-1], copy])
        drawn = np.stack([codes[order] for codes in flat], axis=-1)
        return drawn.reshape(copies, *statistic.shape[:-1], self.size, -1)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both; first axes are broadcast."""
        x, codes = self.check_statistics(statistic), self._codes(output)
        flat, shape = codes.reshape(-1, *codes.shape[-2:]), codes.shape[:-2]
        columns = {each.name: flat[..., k].ravel() for k, each in enumerate(self._columns)}
        log = _log_orders(flat).reshape(shape)
        which = np.repeat(np.arange(len(flat)), self.size)
        layouts = self.layouts
        for prior, layout, part in zip(self.alpha, layouts, _parted(x, layouts), strict=True):
            cell = layout.cell_of(columns, which.size) + layout.cells * which
            place = cell * layout.width + layout.label_of(columns, which.size)
            y = np.bincount(place, minlength=len(flat) * layout.cells * layout.width)
            seen = y.reshape(*shape, layout.cells, layout.width)
            log = log + _log_labels(seen, prior + part)
        return log

    # What is written down, read, and what an audit tries.

    @property
    def views(self) -> tuple[View, ...]:
        """Views of a whole table, drawn by its own counts, and of records."""
        none = [None] * len(self.steps)
        return table_view(self.layouts, none, lambda: 1.0, self.costs()), RecordsView()

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs where a record with the last labels is added, or replaces one with the first.

        The others agree with it on what each step is given, and have the first labels beside.
        """
        far = {each.name: int(each.high) for each in self._columns}
        others = 8 * len(self.steps) if self.n is None else self.n - 1
        rows = [
            {name: code if name in step.by else 0 for name, code in far.items()}
            for step in (self.steps[k % len(self.steps)] for k in range(others))
        ]
        left = [] if self.n is None else [dict.fromkeys(far, 0)]
        return [(self._counted([*rows, *left]), self._counted([*rows, far]))]

    @property
    def space(self) -> Records:
        """Tables with a column of labels for each column of the steps."""
        return Records(self.size, self._columns)

    @property
    def _columns(self) -> tuple[Column, ...]:
        return tuple(column for layout in self.layouts for column in layout.columns)

    def _codes(self, output: Any) -> Integers:
        """Labels' numbers of one or several copies, shape (..., size, columns), or raise."""
        codes, columns = np.asarray(output), self._columns
        good = codes.dtype.kind in "iuf" and codes.shape[-2:] == (self.size, len(columns))
        if not good or not all(each.good(codes[..., k]) for k, each in enumerate(columns)):
            raise InvalidInput(
                f"output has type {codes.dtype} and shape {codes.shape}; a copy is size = "
                f"{self.size} rows of {len(columns)} labels' numbers"
            )
        return codes.astype(np.int64)

    def _counted(self, rows: list[dict[str, int]]) -> Integers:
        """Count records in all cells of all steps."""
        columns = {
            each.name: np.array([row[each.name] for row in rows], dtype=np.int64)
            for each in self._columns
        }
        return np.array(sums_of_columns(self.layouts, columns, len(rows)).totals, dtype=np.int64)


def check_categorical(given: Any) -> tuple[CategoricalColumns, ...]:
    """Return steps that fit together, all of labels, or raise InvalidInput."""
    made = []
    for step in check_steps(given):
        if not isinstance(step, CategoricalColumns):
            raise InvalidInput(
                f"steps has the numeric columns {[name for name, _ in step.columns]}; this "
                "synthesizer's columns are categorical: cut them into intervals with labels of "
                "their own, or take bdp.synthesizers.SequentialModipsSynthesizer"
            )
        made.append(step)
    return tuple(made)


def _labels(counts: Integers, alpha: list[float], cell: Integers) -> Integers:
    """Draw a step's labels of each copy's records, shape (copies, size), by their given cells.

    Parameters
    ----------
    counts : ndarray of int, shape (copies, given cells, labels)
        The confidential counts.
    alpha : list of float
    cell : ndarray of int, shape (copies, size)
    """
    made = np.empty_like(cell)
    for s in np.unique(cell):
        inside = cell == s
        copy, _ = np.nonzero(inside)
        place = (np.cumsum(inside, axis=1) - 1)[inside]
        drawn = polya_sequences(counts[:, s], alpha, int(place.max()) + 1)
        made[inside] = drawn[copy, place]
    return made


def _cost(ratio: float, layout: Layout, *, moves: bool) -> float:
    """Pure epsilon of a step, rounded up, by size / alpha; `moves` says if a record is replaced."""
    k = layout.table
    t = (1 + ratio) / k
    if not (moves and layout.given) or t <= 1:
        return math.log1p(ratio) * _SAFE
    return (math.log(k) + 2 * math.log1p((t - 1) / 2)) * _SAFE


def _excess(epsilon: float, layout: Layout, *, moves: bool) -> float:
    """size / alpha of a step that costs epsilon: `_cost`, inverted."""
    epsilon, k = min(epsilon, _LARGEST_EXPONENT), layout.table
    if not (moves and layout.given) or epsilon <= math.log(k):
        return math.expm1(epsilon)
    return 2 * math.sqrt(k) * math.exp(epsilon / 2) - k - 1


def _sizes(layouts: Sequence[Layout]) -> list[int]:
    return [layout.cells * layout.width for layout in layouts]


def _parted(numbers: NDArray[Any], layouts: Sequence[Layout]) -> list[NDArray[Any]]:
    """Part numbers of all steps' cells, shape (..., cells), to (..., given cells, labels) each."""
    parts = np.split(numbers, np.cumsum(_sizes(layouts))[:-1], axis=-1)
    return [
        part.reshape(*part.shape[:-1], layout.cells, layout.width)
        for part, layout in zip(parts, layouts, strict=True)
    ]


def _log_orders(codes: Integers) -> NDArray[np.float64]:
    """Log number of orders of each copy's records, of codes with shape (copies, size, columns)."""
    copies, size, _ = codes.shape
    _, same = np.unique(codes.reshape(copies * size, -1), axis=0, return_inverse=True)
    alike = np.sort(same.reshape(copies, size), axis=1)
    place, log = np.ones(copies), np.zeros(copies)  # among those that are alike
    for k in range(1, size):
        place = np.where(alike[:, k] == alike[:, k - 1], place + 1, 1.0)
        log += math.log(k + 1) - np.log(place)
    return log


def _log_labels(seen: Integers, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log probability of a step's labels in an order: the last axes are given cells and labels.

    That of their counts is one of negative binomials given their sum, without cancellation.
    """
    z, a = np.broadcast_arrays(seen.astype(np.float64), alpha)
    sums, total = z.sum(axis=-1, keepdims=True), a.sum(axis=-1, keepdims=True)
    trials = np.maximum(sums, 1.0)  # a row without records has nothing to draw
    each = negative_binomial(z, a, *np.broadcast_arrays(total, trials, a)[:2]).sum(axis=-1)
    whole = negative_binomial(trials, total, total, trials)[..., 0]
    orders = special.gammaln(sums[..., 0] + 1) - special.gammaln(z + 1).sum(axis=-1)
    law: NDArray[np.float64] = np.where(sums[..., 0] > 0, each - whole - orders, 0.0).sum(axis=-1)
    return law
