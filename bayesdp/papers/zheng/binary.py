"""Figure 6.1 of Zheng (2015): binary and categorical records, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable

from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.papers.reproduction import Table
from bayesdp.papers.zheng.tables import (
    APPROXIMATE,
    DRAWS,
    NAMES,
    PURE,
    Case,
    compared,
    constants,
    impossible,
    least_prior,
    sensitivities,
    symmetric,
)


def binary_impossible() -> list[Table]:
    """Compute Figure 6.1's rows of PARAM_MAP, and of PARAM_Post without delta."""
    rows = [
        (
            theorem,
            f"{what}, n = {n}, Beta({prior:g}, {prior:g})",
            ConjugateMechanism("bernoulli", method, n, (prior, prior)),
        )
        for theorem, what, method in (
            ("6.1", "PARAM_MAP", "parameter_map"),
            ("6.3", "PARAM_Post", "parameter_draw"),
        )
        for n, prior in ((100, 1.0), (1000, 10.0))
    ]
    return [impossible("bernoulli", rows), sensitivities()]


def binary_pure() -> list[Table]:
    """Compute Figure 6.1's pure epsilon of synthetic records."""
    printed: dict[str, tuple[str, Callable[[Case], float]]] = {
        "synthetic_map": ("6.9, 6.10", lambda c: 2 + 1 / math.expm1(c[2] / c[1])),
        "synthetic_one": ("6.13", lambda c: 1 + c[1] / math.expm1(c[2])),
        "synthetic_many": ("6.11, 6.12", lambda c: 1 + 1 / math.expm1(c[2] / c[1])),
    }
    return [
        compared(
            f"bernoulli_{method}_pure",
            f"Bernoulli, {NAMES[method]}, pure epsilon: prior a = b",
            "Printed as 'if and only if', and one more than is needed: the printed maximum is at "
            "a data set without a one, whose neighbour would have one less.",
            "prior",
            [(theorem, case, formula(case)) for case in PURE],
            least_prior(method),
            symmetric("bernoulli", method),
            necessary_too=True,
        )
        for method, (theorem, formula) in printed.items()
    ]


def binary_approximate() -> list[Table]:
    """Compute Figure 6.1's rows that are orders of magnitude, with exact constants."""

    def draw(n: int, m: int, epsilon: float, delta: float) -> float:
        return (math.log(n) + math.log(1 / delta)) / epsilon**2

    def necessary(n: int, m: int, epsilon: float, delta: float) -> float:
        return math.log(epsilon / (delta * n)) / epsilon**2

    def linear(n: int, m: int, epsilon: float, delta: float) -> float:
        return math.log(1 / delta) / epsilon**2

    def composed(n: int, m: int, epsilon: float, delta: float) -> float:
        return math.sqrt(m * math.log(1 / delta)) / epsilon

    zero: tuple[Case, ...] = tuple((100, 0, 0.0, delta) for delta in (0.1, 0.03, 0.01))
    made = [
        compared(
            "bernoulli_parameter_draw_zero",
            "Bernoulli, PARAM_Post, (0, delta): prior a = b",
            "Dimitrakakis and others (2013) by way of Theorem 4.3, c = 2.46. The order 1/delta^2 "
            "is right, and the constant is many times what is needed.",
            "prior",
            [("4.3", case, 2.46 / case[3] ** 2) for case in zero],
            least_prior("parameter_draw"),
            symmetric("bernoulli", "parameter_draw"),
        ),
        constants(
            "bernoulli_parameter_draw",
            "Bernoulli, PARAM_Post, (epsilon, delta): prior a = b",
            "Theorem 6.4 says that some constant is enough, 6.7 that some is necessary; here are "
            "the constants at which each is the exact threshold. The size of the data hardly "
            "matters: the rarer value's count does, which is the prior where nobody has it.",
            DRAWS,
            least_prior("parameter_draw"),
            (
                ("c of 6.4: (ln n + ln 1/delta)/epsilon^2", draw),
                ("c of 6.7: ln(epsilon/(delta n))/epsilon^2", necessary),
            ),
        ),
    ]
    for method, orders in {
        "synthetic_map": (("c of 6.16: ln(1/delta)/epsilon^2", linear),
                          ("c of 6.14: sqrt(m ln 1/delta)/epsilon", composed)),
        "synthetic_one": (("c of 6.15: (ln n + ln 1/delta)/epsilon^2", draw),),
        "synthetic_many": (("c of 6.16: ln(1/delta)/epsilon^2", linear),
                           ("c of 6.14: sqrt(m ln 1/delta)/epsilon", composed)),
    }.items():  # fmt: skip
        made.append(
            constants(
                f"bernoulli_{method}",
                f"Bernoulli, {NAMES[method]}, (epsilon, delta): prior a = b",
                "Printed as orders of magnitude with unnamed constants: these are the constants at "
                "which each formula is the exact threshold.",
                APPROXIMATE,
                least_prior(method),
                orders,
            )
        )
    return made


def categorical() -> list[Table]:
    """Compute Corollaries 6.21 and 6.22 of section 6.4."""
    return [
        compared(
            f"categorical_{method}",
            f"Four categories, {NAMES[method]}, pure epsilon: prior a of each",
            "By the exponential mechanism, at twice the epsilon of the exact ratio.",
            "prior",
            [(theorem, case, 1 + 1 / math.expm1(case[2] / (2 * case[1]))) for case in PURE],
            least_prior(method, "categorical", categories=4),
            symmetric("categorical", method, 4),
        )
        for theorem, method in (("6.21", "synthetic_map"), ("6.22", "synthetic_many"))
    ]
