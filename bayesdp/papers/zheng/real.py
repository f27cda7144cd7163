"""Figure 7.1 of Zheng (2015): real records of known variance, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable

from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.papers.reproduction import Table, Value
from bayesdp.papers.zheng.tables import (
    DRAWS,
    FLAT,
    NAMES,
    PURE,
    SYNTHETIC,
    Case,
    compared,
    gaussian,
    impossible,
    largest_ratio,
)


def real_impossible() -> list[Table]:
    """Compute Figure 7.1's rows of PARAM_MAP."""
    rows = [
        ("7.2", f"PARAM_MAP, R/sigma = {r:g}", ConjugateMechanism(
            "gaussian", "parameter_map", 100, (0.0, FLAT), R=r, sigma=1.0))
        for r in (1.0, 10.0)
    ] + [
        ("7.6", f"PARAM_Post, not conditioned, R/sigma = {r:g}", ConjugateMechanism(
            "gaussian", "parameter_draw", 100, (0.0, FLAT), R=r, sigma=1.0))
        for r in (1.0, 10.0)
    ]  # fmt: skip
    return [impossible("gaussian", rows)]


UNBOUNDED = (10.0, 100.0, 1000.0, 10_000.0)
"""R / sigma, as it grows towards records that have no bound."""


def real_unbounded() -> list[Table]:
    """Compute Theorems 7.4 and 7.10: real records without bounds."""
    values: list[tuple[Value, ...]] = []
    for theorem, method in (("7.4", "parameter_draw"), *(("7.10", m) for m in SYNTHETIC)):
        size = 1 if method in SYNTHETIC else None
        for prior in (FLAT, 0.1):
            deltas = [
                ConjugateMechanism(
                    "gaussian", method, 100, (0.0, prior), size=size, R=ratio, sigma=1.0
                ).delta(1.0)
                for ratio in UNBOUNDED
            ]
            shown = "holds" if deltas == sorted(deltas) and deltas[-1] > 1 - 1e-6 else "not shown"
            values.append((theorem, NAMES[method], f"N(0, {prior:g}^2)", *deltas, shown))
    return [
        Table(
            name="gaussian_unbounded",
            title="Gaussian, records without bounds: delta at epsilon = 1, n = 100, m = 1",
            columns=("theorem", "release", "prior (sigma = 1)",
                     *(f"R/sigma = {ratio:g}" for ratio in UNBOUNDED), "verdict"),
            values=tuple(values),
            formats=("", "", "", *[".4g"] * len(UNBOUNDED), ""),
            note="Records in [-R, R]: the distance of two neighbours' means grows with R, and "
            "delta with it to 1, whatever the prior. So no (epsilon, delta) holds for records "
            "without bounds. The logarithm printed in the proof of 7.10 for SYNTH_MAP leaves the "
            "prior out of the mean, which changes nothing.",
        )
    ]  # fmt: skip


def real_pure() -> list[Table]:
    """Compute Figure 7.1's pure epsilon, what is released conditioned to [-R, R]."""
    draws: tuple[Case, ...] = ((10, 0, 1.0, 0.0), (1000, 0, 1.0, 0.0), (1000, 0, 0.1, 0.0))
    records: tuple[Case, ...] = ((10, 1, 1.0, 0.0), *PURE)
    forgotten = (
        "The printed proof leaves out the normalising constant of the conditioned law, which "
        "differs between neighbours. "
    )
    tables: dict[str, tuple[str, tuple[Case, ...], Callable[[Case], float], str]] = {
        "parameter_draw": (
            "7.7",
            draws,
            lambda c: math.sqrt(c[2]) / 2,
            forgotten + "The bound holds nevertheless: the log ratio is linear and has both signs, "
            "so that it is at most its range, 4 R^2/sigma^2. Its second half, not private from "
            "sqrt(epsilon) on, holds too: the exact threshold is below that.",
        ),
        "synthetic_map": (
            "7.14",
            records,
            lambda c: math.sqrt(c[0] * c[2] / (c[1] * (2 - 1 / (2 * c[0])))),
            "Printed as (epsilon, delta), for one record and with 'if and only if'; a statement on "
            "pure epsilon, here with m times its epsilon for m records. " + forgotten + "The mean "
            "is said to move by R/n, where it moves by 2R/n, which makes it false.",
        ),
        "synthetic_one": (
            "7.7, 5.1",
            tuple((n, 10, epsilon, 0.0) for n, _, epsilon, _ in draws),
            lambda c: math.sqrt(c[2]) / 2,
            "The draw is conditioned, and the records given it. What is called exact here is the "
            "draw's: tight for many records only, and a bound for few.",
        ),
        "synthetic_many": (
            "7.12, 7.13",
            records,
            lambda c: math.sqrt(c[0] * c[2] / (2 * c[1])),
            forgotten + "The mean is said to move by R/n, where it moves by 2R/n, which makes it "
            "false.",
        ),
    }
    return [
        compared(
            f"gaussian_{method}_pure",
            f"Gaussian, {NAMES[method]} in [-R, R], pure epsilon: R/sigma",
            note,
            "R/sigma",
            [(theorem, case, formula(case)) for case in cases],
            largest_ratio(method),
            gaussian(method),
            smaller_is_stronger=True,
        )
        for method, (theorem, cases, formula, note) in tables.items()
    ]


def real_approximate() -> list[Table]:
    """Compute Figure 7.1's (epsilon, delta)."""

    def tail(c: Case) -> float:
        return c[2] * math.sqrt(c[0] / (2 * math.log(1 / c[3])))

    def basic(c: Case) -> float:
        return c[0] * c[2] / (2 * c[1] * math.sqrt(2 * math.log(c[1] / c[3])))

    def advanced(c: Case) -> float:
        return math.sqrt(c[2] * c[0] / (4 * math.sqrt(2 * c[1] * math.log(1 / c[3]))))

    few: tuple[Case, ...] = ((100, 1, 1.0, 1e-5), (10, 1, 10.0, 1e-5), (100, 10, 1.0, 1e-5))
    many: tuple[Case, ...] = ((100, 100, 1.0, 1e-5), (100, 100, 0.1, 1e-5), (1000, 1000, 0.5, 1e-6))
    both = [("7.15", c, basic(c)) for c in few] + [("7.16", c, advanced(c)) for c in many]
    shift = "The mean is said to move by R/n, where it moves by 2R/n. "
    note = (
        shift
        + "So Theorem 7.15 fails for SYNTH_MAP at a large epsilon, and Corollary 7.16, printed "
        "with some constant c that its formula doesn't have, at a small one; elsewhere they "
        "hold, with less than would be possible."
    )
    rows = {
        "parameter_draw": ([("7.8", c, tail(c)) for c in DRAWS[:3]], shift),
        "synthetic_map": (both, note),
        "synthetic_one": (
            [("7.8, 5.1", c, tail(c)) for c in (few[0], *many)],
            shift + "A single record has far more noise than the draw, and the bound holds for it.",
        ),
        "synthetic_many": (both, note),
    }
    return [
        compared(
            f"gaussian_{method}",
            f"Gaussian, {NAMES[method]}, (epsilon, delta): R/sigma",
            text,
            "R/sigma",
            printed,
            largest_ratio(method),
            gaussian(method),
            smaller_is_stronger=True,
        )
        for method, (printed, text) in rows.items()
    ]
