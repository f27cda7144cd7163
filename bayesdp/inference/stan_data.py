r"""A release's law as the data of the user's own Stan program.

Stan has no discrete parameters, so an integer x that was randomised is summed out,

    p(z | theta) = sum over x of p(x | theta) prod_k Pr[z_k | x],

by the functions `latent_..._log_lik` of stan/include/latent_integer.stanfunctions, or by
`log_sum_exp` over any law of x. What it sums over is computed here, by the mechanism's own law.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bayesdp.core.views import AnswersView, view_of
from bayesdp.inference.observed_integers import integers_of, widest
from bayesdp.inference.several import Releases, releases_of


def data(release: Releases, *, n: int | None = None) -> dict[str, Any]:
    """Tabulate the law of a release's outputs given integers, as the data of a Stan program.

    The tables are for `#include bayesdp.stanfunctions` (`include_path`, `with_includes`). A program
    declares those that it reads:

        data {
          int<lower=1> E;                          // confidential integers
          int<lower=1> K;                          // their possible values, all together
          array[E] int<lower=1, upper=K> first;    // where those of each begin
          array[E] int<lower=1, upper=K> last;     // and end
          vector[K] x;
          vector[K] log_law;                       // log Pr[its outputs | x]
        }

    and adds `latent_poisson_log_log_lik(x[first[e]:last[e]], log_law[first[e]:last[e]], eta[e])`,
    say, to `target` for each e.

    Parameters
    ----------
    release : Release, or several in a list
        The outputs, and a manifest that says how they were randomised. Several releases must be of
        the same integers. The integers are noisy counts, numbers of ones that binary records were
        drawn for, events by area, or the categories of randomized responses.
    n : int, optional
        The number of confidential records, where the law depends on it and the release doesn't
        say it.

    Returns
    -------
    dict
        `E`, `K`, `first`, `last`, `x` and `log_law`, as above, in the order of `release.groups` and
        of each group's vector; and `weight`, shape (E,): 1, or for randomized responses, whose
        records of the same answers come once, how many there are of these. Categories count from 0.

    Raises
    ------
    InvalidInput
        If what was randomised isn't made of integers, or they aren't independent given their laws.

    Notes
    -----
    The values of each integer are all those within the reach of noise from its outputs, as for
    `bdp.observe`; the law is below 1e-26 of its largest value at all others.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(38, 100))
    >>> made = bdp.stan.data(release)
    >>> made["E"], made["K"], made["x"][[0, -1]].tolist()
    (1, 101, [0, 100])
    """
    releases = releases_of(release)
    alike = view_of(releases[0].parts[0].mechanism, AnswersView) is not None
    rows, _ = integers_of([each.parts for each in releases], n, alike=alike)
    values, table = widest(rows, [(-math.inf, math.inf)] * len(rows))
    possible = np.isfinite(table.T)
    last = np.cumsum(possible.sum(axis=1))
    return {
        "E": len(rows),
        "K": int(last[-1]),
        "first": np.concatenate([[1], last[:-1] + 1]),
        "last": last,
        "x": values.T[possible],
        "log_law": table.T[possible],
        "weight": np.array([row[0].weight for row in rows]),
    }
