r"""A release's law as the data of the user's own Stan program.

A real number s with noise is a parameter, or a function of such, and the program has p(z | s). An
integer x can't be a parameter in Stan, and is summed out,

    p(z | theta) = sum over x of p(x | theta) prod_k Pr[z_k | x],

by the functions `latent_..._log_lik` of stan/include/latent_integer.stanfunctions, or by
`log_sum_exp` over any law of x. What it sums over is computed here, by the mechanism's own law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_flag
from bayesdp.core.vector_views import SeparateNoiseView
from bayesdp.core.views import AnswersView, Cell, Floats, NoiseView, view_of
from bayesdp.engines.stan.gaussian import noisy_numbers
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.errors import InvalidInput
from bayesdp.inference.observed_integers import integers_of, widest
from bayesdp.inference.several import Releases, all_releases
from bayesdp.inference.table.marginal import laws_of
from bayesdp.release import Part, Release


def data(
    release: Releases,
    *,
    n: int | None = None,
    integers: bool | None = None,
    columns: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Build a release's part of the data of a Stan program that includes bayesdp's functions.

    A program has the functions by `#include bayesdp.stanfunctions` (`include_path`,
    `with_includes`). For integers that were randomised, it declares

        int<lower=1> E;                          // confidential integers
        int<lower=1> K;                          // their possible values, all together
        array[E] int<lower=1, upper=K> first;    // where those of each begin
        array[E] int<lower=1, upper=K> last;     // and end
        vector[K] x;
        vector[K] log_law;                       // log Pr[its outputs | x]

    and adds `latent_poisson_log_log_lik(x[first[e]:last[e]], log_law[first[e]:last[e]], eta[e])`,
    say, to `target` for each e. For real numbers with noise, it declares the arguments of
    `noisy_numbers_lpdf`, whose numbers are its parameters, or functions of them.

    For a posterior predictive check, its generated quantities draw a new integer e from the model,
    and a new output from the mechanism's law given that, by its function in the library:

        int y_rep = discrete_laplace_rng(poisson_log_rng(eta[e]), scale);

    `discrete_laplace_rng` and `discrete_gaussian_rng` (also `..._truncated_rng` and
    `..._inflated_rng`, between ends), `synthetic_count_rng`, `synthetic_table_rng`,
    `synthetic_events_rng`, `randomized_response_rng`, `noisy_number_rng` and `noisy_numbers_rng`
    take the mechanism's own parameters, such as `release.mechanism.scale`. They are in floating
    point and keep no privacy promise: they replicate what was released, and never release.

    Parameters
    ----------
    release : Release, or several in a list
        The outputs, and a manifest that says how they were randomised. Several releases must be of
        the same integers; of real numbers, take one at a time. Integers are noisy counts, numbers
        of ones that binary records were drawn for, events by area, the categories of randomized
        responses, or a graph's degrees, statistics or dyads (as for `bdp.observe`).
    n : int, optional
        The number of confidential records, where the law depends on it and the release doesn't
        say it.
    integers : bool, optional
        Whether numbers with noise on a lattice finer than the integers are integers none the less,
        such as counts; by default they aren't. Nor are a graph's statistics, if one of them isn't.
    columns : sequence of str, optional
        Of a release of a table's marginals, the columns of one that was released, whose counts are
        the integers, the last column moving fastest.

    Returns
    -------
    dict
        In the order of `release.groups`, and of each group's vector. For integers `E`, `K`,
        `first`, `last`, `x` and `log_law`, as above, and `weight`, shape (E,): 1, or for randomized
        responses, whose records of the same answers come once, how many there are of these;
        categories count from 0. For real numbers `N` numbers and `K` noisy versions, and the
        arguments of `noisy_numbers_lpdf` by their names.

    Raises
    ------
    InvalidInput
        If what was randomised is neither, or integers aren't independent given their laws.

    Notes
    -----
    The values of each integer are all those within the reach of noise from its outputs, as for
    `bdp.observe`; the law is below 1e-26 of its largest value at all others. Noise on a real number
    is treated as continuous, which makes no difference where the lattice is far finer than it.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(38, 100))
    >>> made = bdp.stan.data(release)
    >>> made["E"], made["K"], made["x"][[0, -1]].tolist()
    (1, 101, [0, 100])
    """
    releases = all_releases(release)
    if integers is not None:
        check_flag("integers", integers)
    if not integers and (noises := _real_noises(releases)):
        if len(releases) > 1:
            raise InvalidInput(
                f"release is {len(releases)} releases of real numbers with noise; take the data of "
                "each, and add noisy_numbers_lpdf of each to target"
            )
        versions = [z for part in releases[0].parts for z in _versions(part)]
        return noisy_numbers(noises, versions)
    alike = view_of(releases[0].parts[0].mechanism, AnswersView) is not None
    rows, _ = integers_of(laws_of(releases, columns), n, alike=alike)
    values, table = widest(rows, [(-math.inf, math.inf)] * len(rows))
    possible = np.isfinite(table.T)
    ends = ends_of_rows(possible.sum(axis=1))
    return {
        "E": len(rows),
        "K": int(ends["last"][-1]),
        **ends,
        "x": values.T[possible],
        "log_law": table.T[possible],
        "weight": np.array([row[0].weight for row in rows]),
    }


def _real_noises(releases: Sequence[Release]) -> list[Cell]:
    """Return the noise of each number of a release, if all are real; InvalidInput if some are."""
    parts = [part for release in releases for part in release.parts]
    cells = [_cells(part) for part in parts]
    real = [each for each in cells if not all(cell.whole for cell in each)]
    if real and len(real) < len(parts):
        raise InvalidInput(
            f"{len(real)} of {len(parts)} parts of the release are real numbers with noise, and "
            "the others are integers; take each by itself, as release['a'], or say integers=True "
            "if all are integers"
        )
    return [cell for each in real[: len(releases[0].parts)] for cell in each]


def _cells(part: Part) -> list[Cell]:
    """Return the noise of each number of one part; none where what is in it is no such number."""
    if (apart := view_of(part.mechanism, SeparateNoiseView)) is not None:
        return list(apart.cells)
    view = view_of(part.mechanism, NoiseView)
    return [] if view is None else [view.cell] * math.prod(view.shape)


def _versions(part: Part) -> list[Floats]:
    """Return all outputs of each number."""
    outputs = np.array(part.outputs, dtype=np.float64)
    return list(outputs.reshape(len(outputs), -1).T)
