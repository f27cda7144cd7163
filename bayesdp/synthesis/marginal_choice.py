r"""Choice of a second round's marginals from the released numbers of a pilot of pairs.

It is a function of what was released, the schema and public parameters, and of nothing else that
depends on the data: by `bayesdp.mechanisms.counts.noisy_table` it costs nothing, and the law of
what is released is that of the noise alone, whatever is chosen.

A pair that the pilot released as z, with a x b cells and noise of standard deviation s, departs
from independence by an estimated

    D = sum of |z - e| - c sum of sqrt((s^2 + e) (1 - 1/a) (1 - 1/b)), c = sqrt(2 / pi),

records, within 0 and 2 n, where n is the total of z, e = z_i z_j / n by its row and column sums,
and what is taken off is nearly what noise and sampling alone would show. With the pilot alone an
analyst errs by D, taking the columns for independent, or by c s a b, the noise in z, whichever is
less. A second round, of standard deviation t, leaves c r a b, r = s t / sqrt(s^2 + t^2) that of the
two together, and in a triple, of k cells, c t k. So

    gain of a pair = min(D, c s a b) - c r a b,
    gain of a triple = second largest D of its pairs - c t k:

how three columns go together beyond their pairs isn't in the pilot, and is taken to be as strong as
the pairs are, of which it needs two. The marginals with the largest gains are chosen, among equal
ones those with the largest D. Large marginals, which can't be measured well, gain least. To weigh
what is missed against the noise of measuring it is the idea of AIM (McKenna, Mullins, Sheldon and
Miklau 2022), whose score is of the data, so that its choice must be private.

Figures
-------
The mean total variation between data and posterior mean (of `TableModel(rake=False)`), of all pairs
and of the related ones (the strongest fifth, or within groups), at delta 1e-6, with a pilot of 0.8,
the second round chosen by released counts:

=========================  =======  =========  =========  ============  ============
table                      epsilon  all, one   all, two   related, one  related, two
=========================  =======  =========  =========  ============  ============
fair: 28 pairs, 6 chosen   0.3      .062       .059       .091          .077
fair                       1        .027       .027       .034          .027
fair                       3        .012       .013       .014          .014
adult: 91 pairs, 20        1        .066       .068       .108          .103
adult                      3        .040       .041       .065          .064
groups: 276 pairs, 24      1        .055       .052       .083          .049
groups                     3        .023       .024       .023          .018
=========================  =======  =========  =========  ============  ============

They are statsmodels' fair, the mean of three releases; 10,000 records of adult, whose large
pairs (age by hours) neither measures well; and 4,000 records of 24 columns of four levels, in
groups of three, each of which shows its group's level with probability 0.7 and any level otherwise.
With a pilot of 0.5 related pairs gain more and all lose: .015 and .027 in the last row.

By the exponential mechanism (``choosing="exponential"``), whose choice is of the data, related
pairs gain most and others are left to the model: related and all have .063 and .069, .020 and .058,
.008 and .049 for fair (epsilon .3, 1, 3), and .029 and .167, .011 and .191 for groups (1, 3).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from bayesdp.synthesis.workload import Marginals, size_of

Pair = tuple[str, str]
_MEAN = math.sqrt(2 / math.pi)  # of the absolute value of a standard normal number


def candidates(pilot: Marginals, cells: Mapping[str, int], most_cells: int) -> Marginals:
    """Marginals that a second round may have: the pilot's pairs, and triples of such pairs.

    Parameters
    ----------
    pilot : sequence of sequences of str
        Marginals of the first round.
    cells : mapping of str to int
        Number of cells of each column.
    most_cells : int
        Largest number of cells of a triple.
    """
    pairs = [part for part in pilot if len(part) == 2]
    there, names = set(map(frozenset, pairs)), dict.fromkeys(itertools.chain(*pairs))
    triples = (
        part
        for part in itertools.combinations(names, 3)
        if size_of(part, cells) <= most_cells
        and all(frozenset(pair) in there for pair in itertools.combinations(part, 2))
    )
    return (*pairs, *triples)


def chosen_marginals(
    released: Mapping[Pair, NDArray[np.int64]],
    cells: Mapping[str, int],
    *,
    number: int,
    noise: str,
    scales: tuple[float, float],
    most_cells: int,
) -> Marginals:
    """Choose the marginals of a second round.

    Parameters
    ----------
    released : mapping of pairs of str to ndarray
        Noisy counts of each of the pilot's pairs, of shape (a, b).
    cells : mapping of str to int
        Number of cells of each column.
    number : int
        Number of marginals to choose.
    noise : {"gaussian", "laplace"}
    scales : tuple of two floats
        Scale of the noise in the pilot, and in the second round.
    most_cells : int
        Largest number of cells of a triple.
    """
    before, after = (deviation(noise, scale) for scale in scales)
    both = before * after / math.hypot(before, after)
    missed = {frozenset(pair): departure(z, before) for pair, z in released.items()}

    def gain(part: tuple[str, ...]) -> tuple[float, float]:
        size = size_of(part, cells)
        each = sorted(missed[frozenset(pair)] for pair in itertools.combinations(part, 2))
        if len(part) == 2:
            return min(each[0], _MEAN * before * size) - _MEAN * both * size, each[0]
        return each[1] - _MEAN * after * size, each[1]

    parts = candidates(tuple(released), cells, most_cells)
    return tuple(sorted(parts, key=gain, reverse=True)[:number])


def departure(counts: NDArray[np.int64], deviation: float) -> float:
    """Departure of noisy counts from independence, in records, net of what noise alone shows."""
    total = float(counts.sum())
    if total <= 0:
        return 0.0
    a, b = counts.shape
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / total
    variance = (deviation**2 + np.maximum(expected, 0)) * (1 - 1 / a) * (1 - 1 / b)
    net = np.abs(counts - expected).sum() - _MEAN * np.sqrt(variance).sum()
    return float(np.clip(net, 0, 2 * total))


def deviation(noise: str, scale: float) -> float:
    """Standard deviation of the noise, nearly where it is discrete Gaussian of a small scale."""
    return scale if noise == "gaussian" else math.sqrt(0.5) / math.sinh(min(0.5 / scale, 350.0))
