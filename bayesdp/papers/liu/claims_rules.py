"""Claims of Liu (2016), sections 5.2 and 5.3, on rules and shares of epsilon, put to the test."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import sqrt

from bayesdp.papers.liu.cells import BOUNDING, BOUNDS, PRINTED_EPSILONS, RULES, SIZES
from bayesdp.papers.liu.reading import (
    ALIKE,
    ALWAYS,
    NEAR,
    SEVERE,
    VISIBLE,
    Answer,
    Found,
    Study,
    coverages,
    inside,
    span,
)
from bayesdp.papers.liu.study import Design

# Section 5.2.


def _printed(study: Study, where: Callable[[Design], bool] = lambda d: True) -> Found:
    return study.of("table1", lambda d: d.epsilon in PRINTED_EPSILONS and where(d))


def _large(d: Design) -> bool:
    return d.n == (SIZES[1] if d.bounds is None else SIZES[0])


def _liu_nominal(study: Study) -> Answer:
    rates = coverages(_printed(study))
    return span(rates), inside(rates)


def _raab(study: Study) -> Answer:
    high = coverages(_printed(study, lambda d: d.epsilon >= 10 and _large(d)), "raab")
    low = coverages(_printed(study, lambda d: d.epsilon < 10 or not _large(d)), "raab")
    return (
        f"{span(high)} for ε >= 10 and the larger n, {span(low)} elsewhere",
        inside(high) and max(low) < NEAR[0],
    )


def _reiter(study: Study) -> Answer:
    rates = coverages(_printed(study), "reiter")
    near = sum(NEAR[0] <= each <= NEAR[1] for each in rates)
    return f"{span(rates)}, near nominal in {near} of {len(rates)} rows", near <= len(rates) / 8


def _rubin(study: Study) -> Answer:
    rates = coverages(_printed(study), "rubin")
    return span(rates), min(rates) >= ALWAYS


def _alone(study: Study) -> Answer:
    rates = [f["coverage"] for _, f in study.of("single")]
    return span(rates), max(rates) < SEVERE


def _ratios(rows: Found, one: str, other: str) -> list[float]:
    return [f[f"{one}_sd"] / f[f"{other}_sd"] for _, f in rows]


def _binary_order(study: Study) -> Answer:
    every = study.of("table1", lambda d: d.p is not None)
    order = ("rubin", "reiter", "liu", "raab")
    held = sum(all(f[f"{a}_sd"] >= f[f"{b}_sd"] for a, b in pairwise(order)) for _, f in every)
    return f"so in {held} of {len(every)} cells", held == len(every)


def _binary_alike(study: Study) -> Answer:
    every = study.of("table1", lambda d: d.p is not None and d.epsilon > 1)
    raab, reiter = _ratios(every, "liu", "raab"), _ratios(every, "reiter", "liu")
    return (
        f"v+b/m is {span(raab, '.2f')} times (1+2/m)v, and (1+1/m)b-v "
        f"{span(reiter, '.2f')} times v+b/m",
        inside([*raab, *reiter], 1 / ALIKE, ALIKE),
    )


def _normal_alike(study: Study) -> Answer:
    ratio = _ratios(study.of("table1", lambda d: d.bounds is not None), "rubin", "reiter")
    return f"ratio {span(ratio, '.2f')}", max(ratio) <= ALIKE


def _normal_high(study: Study) -> Answer:
    every = study.of("table1", lambda d: d.bounds is not None and d.epsilon > 10)
    ratio = _ratios(every, "liu", "raab")
    return f"ratio {span(ratio, '.2f')}", max(ratio) <= ALIKE


def _all_alike(study: Study) -> Answer:
    every = study.of(
        "table1", lambda d: d.bounds is not None and d.epsilon > (99 if d.n == 10 else 10)
    )
    ratio = [max(f[f"{r}_sd"] for r in RULES) / min(f[f"{r}_sd"] for r in RULES) for _, f in every]
    return f"largest over smallest {span(ratio, '.2f')}", max(ratio) <= ALIKE


def _raab_flat(study: Study) -> Answer:
    lines: dict[tuple[object, ...], list[float]] = {}
    for d, f in study.of("table1"):
        lines.setdefault((d.n, d.p), []).append(f["raab_sd"])
    ratio = [max(line) / min(line) for line in lines.values()]
    return f"over ε, largest over smallest {span(ratio, '.2f')}", max(ratio) <= ALIKE


TABLE_CLAIMS: tuple[tuple[str, Callable[[Study], Answer]], ...] = (
    ("Theorem 7 covers nominally in all rows", _liu_nominal),
    ("(1+2/m)v does for ε >= 10 and the larger n, and is severely short elsewhere", _raab),
    ("(1+1/m)b-v hardly ever does", _reiter),
    ("(1+1/m)b+v covers close to always", _rubin),
    ("a single copy is severely short", _alone),
)
RULE_CLAIMS: tuple[tuple[str, Callable[[Study], Answer]], ...] = (
    ("binary: (1+1/m)b+v is largest, then (1+1/m)b-v, v+b/m and (1+2/m)v",
     _binary_order),
    ("binary, ε > 1: the latter three are similar", _binary_alike),
    ("normal: (1+1/m)b+v and (1+1/m)b-v are very similar", _normal_alike),
    ("normal, ε > 10: v+b/m and (1+2/m)v are similar", _normal_high),
    ("normal: all four are similar at ε = 100 for n = 10, and at ε > 10 for n = 100", _all_alike),
    ("(1+2/m)v is roughly constant over ε", _raab_flat),
)  # fmt: skip


# Section 5.3.


def _shares(
    study: Study, n: int, bounds: tuple[float, float] | None = None, bounding: str | None = None
) -> Found:
    return study.of(
        "figure8",
        lambda d: d.n == n and bounds in (None, d.bounds) and bounding in (None, d.bounding),
    )


def _share_even(study: Study) -> Answer:
    biases = [study.visible(f) for n in SIZES for _, f in _shares(study, n, BOUNDS[0])]
    most = max(map(abs, biases))
    return f"bias up to {most:.1f} standard errors", most < VISIBLE


def _share_odd(study: Study) -> Answer:
    shown, holds = [], True
    for bounding in BOUNDING:
        by_share = {d.share or 0.0: f for d, f in _shares(study, SIZES[0], BOUNDS[1], bounding)}
        line = {w: f["bias"] for w, f in by_share.items()}
        late = [line[w] for w in line if w > 0.5]
        error = max(f["spread"] for w, f in by_share.items() if w > 0.5) / sqrt(study.replicates)
        shown.append(f"{bounding} {line[0.1]:.3f} at w = 0.1, {span(late)} for w > 0.5")
        flat = max(late) - min(late) < VISIBLE * sqrt(2) * error
        holds = holds and flat and line[0.1] > line[0.3] > max(late) and min(late) > 0
    return "; ".join(shown), holds


def _share_inflated(study: Study) -> Answer:
    every = [x for n in SIZES for x in _shares(study, n, bounding="inflated")]
    rates = coverages(every)
    late = coverages([x for x in every if x[0].share is not None and x[0].share >= 0.5])
    return f"{span(rates)}, for w >= 0.5 {span(late)}", inside(rates, NEAR[0], 1.0)


def _share_truncated(study: Study) -> Answer:
    small = coverages(_shares(study, SIZES[0], bounding="truncated"))
    large = _shares(study, SIZES[1], bounding="truncated")
    late = coverages([x for x in large if x[0].share is not None and x[0].share > 0.5])
    return (
        f"{span(small)} at n = 100, {span(late)} for w > 0.5 at n = 1000",
        max(small) < NEAR[0] and max(late) < NEAR[0],
    )


def _share_width(study: Study) -> Answer:
    shown = []
    ratio = {
        n: [(d.share or 0.0, f["liu_half"] / f["original_half"]) for d, f in _shares(study, n)]
        for n in SIZES
    }
    for n, pairs in ratio.items():
        early = span((r for w, r in pairs if w <= 0.5), ".1f")
        late = span((r for w, r in pairs if w > 0.5), ".1f")
        shown.append(f"n = {n}: {early} for w <= 0.5, {late} above")
    late_large = max(r for w, r in ratio[SIZES[1]] if w > 0.5)
    return (
        f"times the original's, {'; '.join(shown)}",
        min(r for pairs in ratio.values() for _, r in pairs) > 1 and late_large <= 1.5,
    )


SHARE_CLAIMS: tuple[tuple[str, Callable[[Study], Answer]], ...] = (
    ("[-4, 4]: w barely affects accuracy", _share_even),
    ("[-4, 5], n = 100: obvious bias, falling with w, constant for w > 0.5", _share_odd),
    ("inflated: coverage around 95%, slightly above for w >= 0.5", _share_inflated),
    ("truncated: coverage short for all w at n = 100, and for w > 0.5 at n = 1000",
     _share_truncated),
    ("half widths exceed the original's, but are close to it for w > 0.5 at n = 1000",
     _share_width),
)  # fmt: skip
