"""Tables of the exact posterior beside Theorem 7, and what they show in words."""

from __future__ import annotations

from bayesdp.papers.liu.cells import (
    LEVEL,
    OFF_MIDDLE,
    Cell,
    Numbers,
    posterior_designs,
    standard_error,
)
from bayesdp.papers.liu.posterior import PRIOR
from bayesdp.papers.liu.study import Design, bounds_of
from bayesdp.papers.liu.tables import Cells
from bayesdp.papers.reproduction import Table, Value

COVERAGES = ("coverage, Thm 7", "coverage, posterior")
RATIO = "ratio of lengths"
_COLUMNS = (*COVERAGES, "standard error", "length, Thm 7", "length, posterior", RATIO,
            "its standard error")  # fmt: skip
_FORMATS = (".3f", ".3f", ".3f", ".4f", ".4f", ".3f", ".3f")


def posterior_tables(cells: Cells) -> tuple[Table, Table, Table]:
    """Compute the tables: the cells of Table 1(a) and (b), other means, and some of Figure 8."""
    binary: list[tuple[Value, ...]] = []
    normal: list[tuple[Value, ...]] = []
    unknown: list[tuple[Value, ...]] = []
    for design in posterior_designs():
        numbers = _row(cells[Cell("posterior", design)])
        if design.share is not None:
            unknown.append((_interval(design), design.n, design.bounding, design.share, *numbers))
        else:
            where = (design.epsilon, design.n, design.truth)
            (normal if design.bounds else binary).append((*where, *numbers))
    replicates, pairs = (_replicates(cells, unknown=each) for each in (False, True))
    title = "The posterior that knows the noise beside Theorem 7, from the same 10 copies"
    of_mechanism = "replicates of bdp.mechanisms.ModipsSBSMechanism itself, "
    made = f"{replicates} {of_mechanism}inflated, and 95% equal-tailed "
    return (
        Table(
            name="posterior",
            title=f"{title}: binary records",
            columns=("ε", "n", "p", *_COLUMNS),
            values=tuple(binary),
            formats=("g", "d", "g", *_FORMATS),
            note=(
                f"{made}intervals of bdp.BinomialModel with a uniform prior, exact. At one fixed p "
                "such an interval covers nearly, not exactly, 95%; averaged over p from its prior "
                "it does."
            ),
        ),
        Table(
            name="posterior_normal",
            title=f"{title}: normal records, sd known",
            columns=("ε", "n", "mean", *_COLUMNS),
            values=tuple(normal),
            formats=("g", "d", "g", *_FORMATS),
            note=(
                f"{made}intervals of bdp.GaussianModel with a flat prior, exact. Where noise is "
                "far wider than the bounds, [-4, 4], noisy means are at either of them, and their "
                "average is near the middle whatever the truth: Theorem 7's interval around it is "
                "short, and covers a mean of 0, which is there. The posterior is then nearly flat "
                "between the bounds, as nothing was learnt. The last rows have another mean."
            ),
        ),
        Table(
            name="posterior_unknown",
            title=f"{title}: normal records, sd unknown, ε = 1",
            columns=("bounds", "n", "bounding", "w", *_COLUMNS),
            values=tuple(unknown),
            formats=("", "d", "", "g", *_FORMATS),
            note=(
                f"{pairs} {of_mechanism}and 95% equal-tailed intervals for the mean of "
                f"bdp.GaussianModel(prior={PRIOR}), exact, in cells of Figure 8. Where noise is "
                "as wide as the bounds the posterior keeps every mean that is possible; Theorem "
                "7's interval is again around a middle that is the truth."
            ),
        ),
    )


def _replicates(cells: Cells, *, unknown: bool) -> int:
    parts = ((c.design, f) for c, f in cells.items() if c.part == "posterior")
    same = (int(f["replicates"]) for d, f in parts if (d.share is not None) == unknown)
    return max(same, default=0)


def _interval(design: Design) -> str:
    low, high = bounds_of(design)
    return f"[{low:g}, {high:g}]"


def _row(numbers: Numbers) -> tuple[Value, ...]:
    return (
        *(numbers["liu_coverage"], numbers["posterior_coverage"]),
        standard_error(numbers["posterior_coverage"], int(numbers["replicates"])),
        *(
            numbers["liu_length"],
            numbers["posterior_length"],
            numbers["ratio"],
            numbers["ratio_error"],
        ),
    )


def posterior_findings(
    cells: Cells, binary: Table, normal: Table, unknown: Table
) -> tuple[str, str, str]:
    """Say in one sentence or two what each kind of records shows."""
    ratio, covered = binary.numbers(RATIO), binary.numbers(COVERAGES[1])
    replicates = int(cells[Cell("posterior", Design(100, 10, 1.0, p=0.1))]["replicates"])
    away = max(abs(each - LEVEL) for each in covered) / standard_error(LEVEL, replicates)
    centred, others = normal.numbers(RATIO, mean=0.0), normal.numbers(COVERAGES[1], mean=0.0)
    theirs, ours = (normal.numbers(name, mean=OFF_MIDDLE) for name in COVERAGES)
    unsure, lengths = unknown.numbers(COVERAGES[1]), unknown.numbers(RATIO)
    return (
        f"The exact posterior that knows the noise covers {min(covered):.1%} to {max(covered):.1%} "
        f"in the cells of Table 1(a), at most {away:.1f} standard errors from {LEVEL:.0%}, with "
        f"intervals {min(ratio):.3f} to {max(ratio):.4f} times as long as Theorem 7's from the "
        f"same copies, shorter on average in {sum(each < 1 for each in ratio)} of {len(ratio)} "
        "cells.",
        f"In those of Table 1(b), whose mean is in the middle of the bounds, it covers "
        f"{min(others):.1%} to {max(others):.1%}, with intervals {min(centred):.3f} to "
        f"{max(centred):.3f} times as long, shorter on average in "
        f"{sum(each < 1 for each in centred)} of {len(centred)} cells. Theorem 7 owes its coverage "
        f"under wide noise to that middle: with a mean of {OFF_MIDDLE:g}, at ε of 1 and less, it "
        f"covers {min(theirs):.1%} to {max(theirs):.1%}, the posterior {min(ours):.1%} to "
        f"{max(ours):.1%}.",
        f"With sd unknown, in {len(unknown.values)} cells of Figure 8, the posterior covers "
        f"{min(unsure):.1%} to {max(unsure):.1%}, with intervals {min(lengths):.3f} to "
        f"{max(lengths):.3f} times as long as Theorem 7's, shorter on average in "
        f"{sum(each < 1 for each in lengths)} of {len(lengths)} cells.",
    )
