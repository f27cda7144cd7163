r"""Likelihood of a normal mean where the number n of records has a prior: that of a larger sample.

The mean s_n of n records of N(mu, sigma^2) is that of N >= n such records, and noise apart:

    s_n = s_N + e_n,    e_n ~ N(0, sigma^2 / n - sigma^2 / N) whatever mu is,

in law, so that outputs z with the law p(z | n, s_n), and n the probability pi_n, have

    p(z | mu)  =  integral of N(s; mu, sigma^2 / N) h(s) ds,
    h(s)  =  sum over n of pi_n E p(z | n, s + e_n):

one likelihood of the mean of N records, exactly, whatever mu is. N is twice the largest n, by which
every e_n is as wide as sigma / sqrt(N) at least: h is then smooth on that scale, where the laws
given n have kinks, and needs no finer nodes than they.

From one n to the next the laws move little. Where two numbers are within 2%, and their laws within
a fifth of a width, those between them share their probability between these two linearly, which
adds at most 1% to a law's variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from bayesdp.engines.pooled_laws import in_a_row
from bayesdp.inference.gaussian.mean import Seen, no_kinks, nodes_of
from bayesdp.inference.unknown_size import Impossible
from bayesdp.kernels.pooled.means import log_blurred

Peak = Callable[[Seen], float]

_MOVED = 0.2  # of the width of a law, from one number to the next
_WIDER = 0.02  # of a number, from it to the next


def seen_of_sizes(
    sizes: Sequence[tuple[int, float]],
    given: Callable[[int], Seen],
    sd: float,
    matters: Callable[[Seen], tuple[float, float]],
    peak: Peak,
) -> Seen:
    """Return h as the likelihood of the mean of N records; see the module's docstring.

    Parameters
    ----------
    sizes : sequence of tuples
        Possible numbers of records, two or more, and their probabilities.
    given : callable
        Likelihood of the mean of so many records, or Impossible raised.
    sd : float
        sigma, the records' known standard deviation.
    matters : callable
        Ends of the means that aren't negligible under a likelihood.
    peak : callable
        Where a likelihood is largest, nearly.

    Raises
    ------
    Impossible
        If the outputs have probability zero whatever n is.
    """
    most = 2 * max(n for n, _ in sizes)
    least = sd / math.sqrt(most)
    laws, places, variances, near, refused = [], [], [], [], []
    for n, probability in _thinned(sizes, sd, given, peak):
        try:
            one = given(n)
            low, high = matters(one)
        except Impossible as error:
            refused.append(error)
            continue
        apart = sd * math.sqrt(1 / n - 1 / most)
        nodes, log_lengths, _ = nodes_of(one, low, high, min(one.scale, apart))
        laws.append(one.log_law(nodes) + log_lengths + math.log(probability))
        places.append(nodes)
        variances.append(apart**2)
        near.append(one.near)
    if not laws:
        raise refused[0]
    rows = in_a_row(laws, places, [np.zeros(law.size) for law in laws], variances, (0, 0, 0))
    hull = (min(low for low, _ in near), max(high for _, high in near))
    everywhere = (-math.inf, math.inf)
    return Seen(most, everywhere, least, no_kinks, lambda means: log_blurred(means, rows), hull)


def _thinned(
    sizes: Sequence[tuple[int, float]], sd: float, given: Callable[[int], Seen], peak: Peak
) -> list[tuple[int, float]]:
    """Numbers of records that stand for all, and the probability that each has with its share."""
    numbers, chances = (np.array(each) for each in zip(*sorted(sizes), strict=True))
    least, most = int(numbers[0]), int(numbers[-1])
    try:
        # Means of a sum go as 1 / n, those of other statistics hardly move.
        moved = abs(peak(given(least)) - peak(given(most))) / (1 / least - 1 / most)
    except Impossible:
        return sorted(sizes)
    places = [0]
    while places[-1] < numbers.size - 1:
        n = int(numbers[places[-1]])
        width = math.hypot(given(n).scale, sd * math.sqrt(1 / n - 1 / (2 * most)))
        step = n * min(_WIDER, _MOVED * width * n / moved if moved else math.inf)
        beyond = int(np.searchsorted(numbers, n + step, side="right")) - 1
        places.append(max(places[-1] + 1, beyond))
    at = numbers[places]
    where = np.interp(numbers, at, np.arange(at.size))
    left = np.minimum(where.astype(np.int64), at.size - 2)
    shares = np.bincount(left, chances * (1 - (where - left)), at.size)
    shares += np.bincount(left + 1, chances * (where - left), at.size)
    return [(int(n), float(share)) for n, share in zip(at, shares, strict=True) if share > 0]
