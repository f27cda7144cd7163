"""The bounds of Zheng (2015), Figures 6.1 and 7.1, row by row, beside exact values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from bayesdp.mechanisms.conjugate import bernoulli as conjugate_bernoulli
from bayesdp.mechanisms.conjugate import gaussian as conjugate_gaussian
from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.papers.reproduction import Table, Value
from bayesdp.privacy.profile import smallest_satisfying

Case = tuple[int, int, float, float]
"""n, m (0 where a parameter is released), epsilon and delta."""

FLAT = 1e8
"""Standard deviation of a normal prior that doesn't matter, where R = 1."""

PURE: tuple[Case, ...] = ((100, 1, 1.0, 0.0), (100, 100, 1.0, 0.0), (1000, 1000, 0.5, 0.0))
APPROXIMATE: tuple[Case, ...] = (
    *((100, 100, 1.0, 1e-5), (1000, 100, 1.0, 1e-6), (1000, 1000, 1.0, 1e-6)),
    (1000, 1000, 0.5, 1e-6),
)
DRAWS: tuple[Case, ...] = (
    *((100, 0, 1.0, 1e-5), (1000, 0, 1.0, 1e-6), (1000, 0, 0.5, 1e-6)),
    (10**6, 0, 0.5, 1e-9),
)
"""Of a released parameter: m = 0."""

SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
NAMES = {
    "parameter_map": "PARAM_MAP",
    "parameter_draw": "PARAM_Post",
    "synthetic_map": "SYNTH_MAP",
    "synthetic_one": "SYNTH_Post(One)",
    "synthetic_many": "SYNTH_Post(Many)",
}

_HOLDS = 1 + 1e-9  # for the rounding of a printed threshold that is exact
_COLUMNS = ("theorem", "n", "m", "epsilon", "delta")
_FORMATS = ("", "d", "d", "g", "g")


def compared(
    name: str,
    title: str,
    note: str,
    what: str,
    rows: Sequence[tuple[str, Case, float]],
    exact: Callable[[Case], float],
    release: Callable[[Case, float], ConjugateMechanism],
    *,
    smaller_is_stronger: bool = False,
    necessary_too: bool = False,
) -> Table:
    """Tabulate printed thresholds (theorem, case, value) beside exact ones, and their worth."""
    values: list[tuple[Value, ...]] = []
    for theorem, case, printed in rows:
        n, m, epsilon, delta = case
        needed, made = exact(case), release(case, printed)
        true = made.delta(epsilon) if delta else made.epsilon(0)
        if true > (delta or epsilon) * _HOLDS:
            verdict = f"FALSE: {'delta' if delta else 'epsilon'} is {true:.3g}"
        elif smaller_is_stronger:
            verdict = f"holds; {needed / printed:.3g} times as much would"
        elif necessary_too:
            verdict = f"'only if' is FALSE; {printed - needed:.3g} less is enough"
        else:
            verdict = f"holds; {printed - needed:.3g} more than needed"
        row = theorem, n, m or None, epsilon, delta, printed, needed, true, verdict
        values.append(row)
    promised = "delta" if rows[0][1][3] else "epsilon"
    return Table(
        name=name,
        title=title,
        columns=(*_COLUMNS, f"{what}, printed", "exact", f"{promised} at the printed", "verdict"),
        values=tuple(values),
        formats=(*_FORMATS, ".5g", ".5g", ".4g", ""),
        note=note,
    )


def constants(
    name: str,
    title: str,
    note: str,
    cases: Sequence[Case],
    exact: Callable[[Case], float],
    orders: Sequence[tuple[str, Callable[[int, int, float, float], float]]],
) -> Table:
    """Tabulate exact thresholds, and the constants that orders of magnitude need."""
    values: list[tuple[Value, ...]] = []
    for case in cases:
        n, m, epsilon, delta = case
        needed = exact(case)
        ratios = [needed / formula(n, m, epsilon, delta) for _, formula in orders]
        values.append((n, m or None, epsilon, delta, needed, *ratios))
    return Table(
        name=name,
        title=title,
        columns=(*_COLUMNS[1:], "exact", *(heading for heading, _ in orders)),
        values=tuple(values),
        formats=(*_FORMATS[1:], ".5g", *[".3g"] * len(orders)),
        note=note,
    )


def impossible(family: str, releases: Sequence[tuple[str, str, ConjugateMechanism]]) -> Table:
    """Tabulate the rows that say No: (theorem, what, release), with what the profile says."""
    return Table(
        name=f"{family}_no",
        title=f"{family.capitalize()}: what no prior makes private",
        columns=("theorem", "release", "pure epsilon", "delta at epsilon = 2", "verdict"),
        values=tuple(
            (theorem, what, made.epsilon(0), made.delta(2.0), "holds")
            for theorem, what, made in releases
            if made.epsilon(0) == math.inf
        ),
        formats=("", "", "g", ".3g", ""),
        note="A posterior mode is a function of the data, so delta is 1 at every epsilon. A draw "
        "has an unbounded likelihood ratio, so no epsilon is enough with delta = 0.",
    )


def sensitivities() -> Table:
    """Tabulate the sensitivity of the posterior mode: Corollaries 6.2 and 7.3."""
    values: list[tuple[Value, ...]] = []
    for n, a, b in ((10, 1.0, 1.0), (100, 5.0, 2.0), (1000, 50.0, 50.0)):
        made = ConjugateMechanism("bernoulli", "parameter_map", n, (a, b))
        true, printed = conjugate_bernoulli.map_sensitivity(made), 1 / (n + a + b)
        values.append(("6.2", n, f"Beta({a:g}, {b:g})", printed, true, _too_small(printed, true)))
    for n, sd in ((10, FLAT), (100, FLAT), (100, 0.05)):
        normal = ConjugateMechanism("gaussian", "parameter_map", n, (0.0, sd), R=1.0, sigma=1.0)
        true, printed = conjugate_gaussian.map_sensitivity(normal), 1 / n
        values.append(("7.3", n, f"N(0, {sd:g}^2)", printed, true, _too_small(printed, true)))
    return Table(
        name="sensitivity",
        title="PARAM_MAP with Laplace noise: the sensitivity of the mode (R = sigma = 1)",
        columns=("theorem", "n", "prior", "sensitivity, printed", "exact", "verdict"),
        values=tuple(values),
        formats=("", "d", "", ".5g", ".5g", ""),
        note="The mode is (n_1 + a - 1)/(n + a + b - 2), which moves by 1/(n + a + b - 2); the "
        "printed one has the mean's denominator. A record that moves from -R to R moves a mean "
        "by 2R/n, not R/n, and a posterior's centre by 2R tau^2/sigma^2, which is less.",
    )


def _too_small(printed: float, true: float) -> str:
    if printed * _HOLDS >= true:
        return f"holds; {printed / true:.3g} times the exact"
    return f"FALSE: {true / printed:.4g} times as much"


def symmetric(
    family: str, method: str, categories: int = 2
) -> Callable[[Case, float], ConjugateMechanism]:
    """Make releases of a case with a symmetric prior."""
    return lambda case, prior: ConjugateMechanism(
        family, method, case[0], (prior,) * categories, size=case[1] or None
    )


def least_prior(method: str, family: str = "bernoulli", **other: Any) -> Callable[[Case], float]:
    """Find the smallest symmetric prior for a case; at epsilon = 0 searched here."""

    def exact(case: Case) -> float:
        n, m, epsilon, delta = case
        size = {"size": m} if m else {}
        if epsilon == 0:
            made = symmetric("bernoulli", method)
            return smallest_satisfying(lambda a: made(case, a).delta(0.0), delta, least=1e-100)
        arguments: dict[str, Any] = {"family": family, "method": method, **size, **other}
        mechanism = ConjugateMechanism.calibrate(n=n, epsilon=epsilon, delta=delta, **arguments)
        return float(mechanism.prior[0])

    return exact


def gaussian(method: str) -> Callable[[Case, float], ConjugateMechanism]:
    """Make releases of a case at R / sigma, with a flat prior; bounded where epsilon is pure."""
    return lambda case, ratio: ConjugateMechanism(
        *("gaussian", method, case[0], (0.0, FLAT)),
        size=case[1] or None,
        R=1.0,
        sigma=1 / ratio,
        bounded=case[3] == 0,
    )


def largest_ratio(method: str) -> Callable[[Case], float]:
    """Find the largest R / sigma for a case, from below."""

    def exact(case: Case) -> float:
        _, _, epsilon, delta = case

        def cost(sigma: float) -> float:
            made = gaussian(method)(case, 1 / sigma)
            return made.delta(epsilon) if delta else made.epsilon(0)

        return 1 / smallest_satisfying(cost, delta or epsilon, least=1e-4)

    return exact
