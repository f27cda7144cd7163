"""Doubts about numbers of latent tables: unmeasured, of persons, differing, or without value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.convergence import apart, chance_of_rhat
from bayesdp.inference.table.estimates import Estimates
from bayesdp.inference.verdict import NO_PROBLEM
from bayesdp.schema.units import Person
from bayesdp.warned import warn_about

_APART, _FEW = 1.1, 5
"""R-hat that tells chains apart, by more than chance, and the fewest draws of a chain for it."""
_STILL = 1e-6
"""Standard deviation, relative to the mean, of a number that is known, but for rounding."""


def doubts_of_unmeasured(
    names: Sequence[str],
    measured: Sequence[Sequence[str]],
    sums: Sequence[Sequence[str]] = (),
) -> Iterator[str]:
    """Yield in words which columns, and which of them together, are in no released marginal.

    Parameters
    ----------
    names : sequence of str
        Columns, of which all pairs are looked for.
    measured : sequence of sequence of str
        Columns of each released marginal.
    sums : sequence of sequence of str
        Columns of sums that a regression takes; those of three and more are looked for.
    """
    together = [set(part) for part in measured]
    alone = [name for name in names if not any(name in part for part in together)]
    if alone:
        yield (
            f"no released marginal has {', '.join(alone[:5])}"
            f"{' and others' if len(alone) > 5 else ''}: what is said of it is the prior "
            "alone; release it (marginals)"
        )
    pairs = [
        f"{a} and {b}"
        for k, a in enumerate(names)
        for b in names[k + 1 :]
        if not any({a, b} <= part for part in together)
    ]
    if pairs:
        yield (
            f"no released marginal has {', '.join(pairs[:5])} together"
            f"{' and others' if len(pairs) > 5 else ''}: how they are related rests on the "
            "latent class model alone; release them together (workload, or a step of copies)"
        )
    more = [
        " and ".join(filter(None, [", ".join(one[:-1]), one[-1]]))
        for one in sums
        if len(one) > 2 and not any(set(one) <= part for part in together)
    ]
    if more:
        yield (
            f"no released marginal has {'; or '.join(more[:5])} together"
            f"{'; nor others' if len(more) > 5 else ''}: what terms of several columns say of them "
            "rests on the latent class model, which may draw them to 0; release them together "
            "(workload, marginals for more than three, or a step of copies)"
        )


def doubts_of_chains(draws: NDArray[np.float64], chain: NDArray[np.integer]) -> Iterator[str]:
    """Yield a doubt if chains differ in a number by more than its spread and than chance.

    Counts that were measured are the same in all chains soon; combinations that no marginal has
    rest on the classes that each chain is at.

    Parameters
    ----------
    draws : ndarray, shape (tables, numbers)
    chain : ndarray of int, shape (tables,)
        The chain of each table.
    """
    sizes = np.bincount(chain)
    if len(sizes) < 2 or sizes.min() < _FEW:
        return
    each = np.stack([draws[chain == k][: sizes.min()] for k in range(len(sizes))])
    within, between = each.var(axis=1, ddof=1).mean(axis=0), each.mean(axis=1).var(axis=0, ddof=1)
    moving = within > (_STILL * each.mean(axis=(0, 1))) ** 2
    if not np.any(moving):
        return
    size = int(sizes.min())
    rhat = np.sqrt(1 - 1 / size + between[moving] / within[moving])
    told = apart(rhat, chance_of_rhat(rhat, len(sizes), size), _APART)
    if np.any(told):
        yield (
            f"the chains differ in {np.count_nonzero(told)} of {draws.shape[1]} numbers "
            f"(R-hat up to {rhat.max():.2f}): what no released marginal has rests on the "
            "latent classes, and these on where a chain began. Intervals are rough: release "
            "these columns together (marginals), or fit with more draws"
        )


def doubts_of_coefficients(estimates: Estimates, odd: int) -> Iterator[str]:
    """Yield doubts about a regression's coefficients that tables leave open, or without an end.

    Parameters
    ----------
    estimates : Estimates
    odd : int
        Number of regressions that didn't converge.
    """
    both = np.isnan(np.concatenate([estimates.draws, estimates.naive]))
    if both.any():
        vague = [str(name) for name in estimates.names[both.any(axis=0)]]
        yield (
            f"{both.any(axis=1).sum()} of {len(both)} regressions leave coefficients open, as "
            "where a label has no records or a column is constant: "
            f"{', '.join(vague[:5])}{' and others' if len(vague) > 5 else ''}. They may have "
            "any value there, so that an interval may have no end: merge such labels, or leave "
            "them out"
        )
    if odd:
        yield (
            f"{odd} of {len(both)} regressions have no finite estimate, as where a rare label has "
            "one outcome alone. Their large coefficients are kept, so that an interval may have no "
            "end: merge such labels, or leave them out"
        )


def warn_of_unit(unit: Any, told: Set[str] = frozenset(), *, stacklevel: int) -> list[str]:
    """Doubt the population's intervals if a schema's unit is a person with several records."""
    most = unit.most if isinstance(unit, Person) else 1
    return warn_of_several("person", most, told, stacklevel=stacklevel + 1)


def warn_of_several(
    name: str, most: int, told: Set[str] = frozenset(), *, stacklevel: int
) -> list[str]:
    """Doubt the population's intervals if a protected unit may have several records.

    Of n records, up to k of a person, the variance of a mean is at most k times that of n records
    by themselves (Kish 1965, section 5.4), as where all of a person's are the same. Of a weighted
    mean too, as (sum w e)^2 of a person's records is at most k sum (w e)^2.

    Parameters
    ----------
    name : str
        The unit, in words.
    most : int
        Largest number of its records.
    told : set of str
        Doubts that aren't warned of again.
    stacklevel : int
        As of `warnings.warn`, counted from the caller.

    Returns
    -------
    list of str
        The doubt, if there is one.
    """
    if most == 1:
        return []
    doubt = (
        f"a {name} has up to {most} records, and nothing that was released says how alike "
        "these are: intervals of the population, as if all records were drawn by themselves, may "
        f"be up to {math.sqrt(most):.1f} times too short, but for the noise. Take "
        f"target='data', or release one record a {name} (most = 1)"
    )
    if doubt not in told:
        warn_about(doubt, "persons", stacklevel=stacklevel + 1)
    return [doubt]


def warn_of_left_out(columns: str) -> None:
    """Warn that columns of the release, if there are any, aren't in the posterior."""
    if columns:
        warn_about(
            f"the posterior leaves out the numeric columns of the copies, {columns}, whose law is "
            "intractable here; fit bdp.LinearRegressionModel to those drawn without labels, or "
            "analyse them in each copy, and combine the results with bdp.combine",
            "left-out",
            stacklevel=4,
        )


def doubted(fit: Any) -> Any:
    """Return what `TableModel.fit` returns, with doubts of spreads and persons in its verdict.

    Warns
    -----
    UserWarning
        Of each. The fit's estimates don't repeat it; those of a fit that was saved and loaded do.
    """
    doubts = list(fit._doubts_of_spreads(list(fit.schema.columns)))
    for doubt in doubts:
        warn_about(doubt, "spread", stacklevel=4)
    doubts += warn_of_unit(fit.schema.unit, stacklevel=4)
    found = fit.attrs["verdict"]
    if doubts:
        before = [] if found.startswith(NO_PROBLEM) else [found]
        fit.attrs["verdict"] = "; ".join([*before, *doubts])
    fit._told = frozenset(doubts)
    return fit
