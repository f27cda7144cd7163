"""Claims of Liu (2016), section 5.1, on the number of copies, put to the test."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bayesdp.papers.liu.cells import BOUNDS, SIZES, Cell
from bayesdp.papers.liu.reading import (
    ALIKE,
    AT_PEAK,
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

# Section 5.1, binary: of the smaller and the larger number of records.

Sizes = tuple[int, int]


def _exception(d: Design, small: int) -> bool:
    return d.n == small and d.p == 0.1 and d.copies > 200


def _binary_bias(study: Study, sizes: Sizes) -> Answer:
    every = study.of("figure6", lambda d: d.p is not None and d.n in sizes)
    late = [f["bias"] for d, f in every if _exception(d, sizes[0])]
    rest = max(abs(f["bias"]) for d, f in every if not _exception(d, sizes[0]))
    return (
        f"bias {span(late, '.4f')} there, up to {rest:.4f} elsewhere",
        rest < 0.005 and 0.005 <= max(late) <= 0.02,
    )


def _binary_larger(study: Study, sizes: Sizes) -> Answer:
    every = study.of("figure6", lambda d: d.p is not None and d.n in sizes)
    ratio = [f["liu_sd"] / f["original_sd"] for _, f in every]
    return f"{span(ratio, '.2f')} times the original's", min(ratio) > 1


def _sd_by_copies(
    study: Study, where: Callable[[Design], bool]
) -> dict[tuple[object, ...], dict[int, float]]:
    """Estimated standard deviation by m, for each line of a figure."""
    lines: dict[tuple[object, ...], dict[int, float]] = {}
    for d, f in study.of("figure6", where):
        lines.setdefault((d.p, d.bounds, d.bounding), {})[d.copies] = f["liu_sd"]
    return lines


def _binary_flat(study: Study, sizes: Sizes) -> Answer:
    lines = _sd_by_copies(study, lambda d: d.p is not None and d.n == sizes[1]).values()
    spread = [max(s[m] for m in s if m >= 40) / min(s[m] for m in s if m >= 40) for s in lines]
    falls = all(s[2] > s[10] > 0 and s[10] >= AT_PEAK * s[40] for s in lines)
    return f"for m >= 40, largest over smallest {span(spread, '.2f')}", falls and max(
        spread
    ) <= ALIKE


def _binary_minimum(study: Study, sizes: Sizes) -> Answer:
    lines = _sd_by_copies(study, lambda d: d.p is not None and d.n == sizes[0]).values()
    least = [min(s, key=lambda m, s=s: s[m]) for s in lines]  # type: ignore[misc]
    near = all(s[30] <= min(s.values()) / AT_PEAK for s in lines)
    rises = all(s[500] > s[40] for s in lines)
    return f"least at m = {', '.join(map(str, sorted(set(least))))}", near and rises


def _binary_coverage(study: Study, sizes: Sizes) -> Answer:
    every = study.of("figure6", lambda d: d.p is not None and d.n in sizes)
    usual = [x for x in every if not _exception(x[0], sizes[0])]
    two = coverages([x for x in usual if x[0].copies == 2])
    rest = coverages([x for x in usual if x[0].copies > 2])
    late = coverages([x for x in every if _exception(x[0], sizes[0])])
    return (
        f"{span(two)} at m = 2, {span(late)} there, {span(rest)} elsewhere",
        inside(rest) and inside(two, 0.9, 0.95) and min(late) < SEVERE,
    )


BINARY_CLAIMS: tuple[tuple[str, Callable[[Study, Sizes], Answer]], ...] = (
    ("minimal bias, except for about 0.01 at m > 200, n = 100 and p = 0.1", _binary_bias),
    ("the sd estimate is larger than the original's", _binary_larger),
    ("n = 1000: it falls, then is roughly constant for m > 30 to 40", _binary_flat),
    ("n = 100: it is least around m = 30 to 40, then rises", _binary_minimum),
    ("coverage near nominal, about 0.925 at m = 2, severely short at m > 200, n = 100, p = 0.1",
     _binary_coverage),
)  # fmt: skip


# Section 5.1, normal.


def _normal(
    study: Study, n: int, bounds: tuple[float, float], bounding: str | None = None
) -> Found:
    return study.of(
        "figure6",
        lambda d: d.n == n and d.bounds == bounds and bounding in (None, d.bounding),
    )


def _normal_bias(study: Study) -> Answer:
    even = [study.visible(f) for n in SIZES for _, f in _normal(study, n, BOUNDS[0])]
    odd = [study.visible(f) for d, f in _normal(study, SIZES[0], BOUNDS[1]) if d.copies > 10]
    return (
        f"bias up to {max(map(abs, even)):.1f} standard errors for [-4, 4], of {span(odd, '.0f')} "
        "for [-4, 5] at n = 100 and m > 10",
        max(map(abs, even)) < VISIBLE < min(odd),
    )


def _normal_sd(study: Study) -> Answer:
    ratio = []
    for d, f in study.of("figure6", lambda d: d.bounds == BOUNDS[0]):
        other = Design(d.n, d.copies, d.epsilon, d.bounding, bounds=BOUNDS[1])
        ratio.append(f["liu_sd"] / study.cells[Cell("figure6", other)]["liu_sd"])
    return f"{span(ratio, '.2f')} times as large for [-4, 4] as for [-4, 5]", max(ratio) < 1


def _peak(study: Study, n: int, claimed: Mapping[str, int]) -> tuple[str, bool]:
    shown, holds = [], True
    for bounding, at in claimed.items():
        lines = _sd_by_copies(
            study,
            lambda d, k=bounding: d.n == n and d.bounds is not None and d.bounding == k,  # type: ignore[misc]
        ).values()
        tops = sorted({max(s, key=lambda m, s=s: s[m]) for s in lines})  # type: ignore[misc]
        share = min(s[at] / max(s.values()) for s in lines)
        shown.append(f"{bounding} at m = {' and '.join(map(str, tops))}, {share:.0%} of it at {at}")
        holds = holds and share >= AT_PEAK
    return "; ".join(shown), holds


def _normal_large(study: Study) -> Answer:
    shown, holds = _peak(study, SIZES[1], {"truncated": 50, "inflated": 150})
    lines = _sd_by_copies(study, lambda d: d.n == SIZES[1] and d.bounds is not None).values()
    early = [max(s[m] for m in (2, 3, 5)) / min(s[m] for m in (2, 3, 5)) for s in lines]
    return f"{shown}", holds and max(early) <= ALIKE


def _normal_small(study: Study) -> Answer:
    return _peak(study, SIZES[0], {"truncated": 20, "inflated": 40})


def _normal_even_coverage(study: Study) -> Answer:
    every = [x for n in SIZES for x in _normal(study, n, BOUNDS[0])]
    two = coverages([x for x in every if x[0].copies == 2])
    late = coverages([x for x in every if x[0].n == SIZES[0] and x[0].copies > 40])
    rest = coverages(
        [x for x in every if x[0].copies > 2 and not (x[0].n == SIZES[0] and x[0].copies > 40)]
    )
    return (
        f"{span(two)} at m = 2, {span(late)} at n = 100 and m > 40, {span(rest)} elsewhere",
        inside(two, 0.88, 0.94) and inside(rest) and min(late) >= NEAR[0] and max(late) > NEAR[1],
    )


def _normal_odd_coverage(study: Study) -> Answer:
    shown, holds = [], True
    claimed = {(100, "truncated"): 20, (100, "inflated"): 40,
               (1000, "truncated"): 80, (1000, "inflated"): 150}  # fmt: skip
    for (n, bounding), after in claimed.items():
        line = {d.copies: f["liu_coverage"] for d, f in _normal(study, n, BOUNDS[1], bounding)}
        short = [m for m in line if line[m] < SEVERE]
        shown.append(f"n = {n}, {bounding}: m = {', '.join(map(str, short)) or 'none'}")
        holds = holds and all((m > after) == (m in short) for m in line)
    return f"below {SEVERE:g} at " + "; ".join(shown), holds


def _few_copies(study: Study) -> Answer:
    every = study.of("figure6", lambda d: 3 <= d.copies <= 10 and d.n in SIZES)
    biased, most = max(every, key=lambda x: abs(x[1]["bias"]) / x[1]["liu_sd"])
    return (
        f"coverage {span(coverages(every))}; bias up to {most['bias'] / most['liu_sd']:.2f} sd "
        f"(n = {biased.n}, {biased.bounding}, m = {biased.copies})",
        inside(coverages(every)) and abs(most["bias"]) <= most["liu_sd"] / 2,
    )


NORMAL_CLAIMS: tuple[tuple[str, Callable[[Study], Answer]], ...] = (
    ("minimal bias for [-4, 4], obvious for [-4, 5] at n = 100 and m > 10", _normal_bias),
    ("the sd estimate is slightly smaller for [-4, 4]", _normal_sd),
    ("n = 1000: it is constant for m < 10, and peaks around 50 (truncated) to 150 (inflated)",
     _normal_large),
    ("n = 100: it peaks around 20 (truncated) to 40 (inflated)", _normal_small),
    ("[-4, 4]: coverage near nominal, about 0.91 at m = 2, some above for m > 40 at n = 100",
     _normal_even_coverage),
    ("[-4, 5]: coverage severely short for m > 20 (truncated) and m > 40 (inflated) at n = 100, "
     "and for m > 80 to 150 at n = 1000", _normal_odd_coverage),
    ("m from 3 to 10 is satisfactory in bias and coverage, binary records included", _few_copies),
)  # fmt: skip
