r"""Chapter 5 of Zheng (2015): a parameter beside synthetic records made with it.

Theorem 5.1 is post-processing. For 5.4 and Corollary 5.6, records are independent given a law that
differs between two neighbours, so that the divergence of m of them goes to 1.

*Corollary 5.6* asks for two posteriors that differ, where its proof needs two laws of a record
that do. The latter follows. Let c(x) be the mean of the density D(x) of a record x over the
posterior of the records that neighbours share. If x and x' led to the same law of a new record, the
mean of (D(x) / c(x) - D(x') / c(x')) D(y) would be 0 for every y; of y = x and y = x' that makes
the mean of (D(x) / c(x) - D(x') / c(x'))^2 equal to 0, so that both lead to the same posterior.

*Hypothesis 5.5* is true wherever m records tell their parameter more and more exactly, and with
c = 1. Let an estimator of the parameter converge to it in probability. Computed from m records of
SYNTH_Post(One), its law converges to that of PARAM_Post, for each of two neighbours; it is at
most as far apart as the records are (Theorem 5.1's argument); and a hockey-stick divergence of
limits is at most the limit of the divergences, as it is a supremum over continuous functions.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bayesdp.mechanisms.conjugate.release import ConjugateMechanism
from bayesdp.papers.reproduction import Table, Value
from bayesdp.papers.zheng.tables import NAMES

SIZES = (100, 10_000, 100_000)
"""m, of `correspondences`."""
CASES = ((1.0, 1e-5), (1.0, 0.5), (2.0, 0.9))
"""Epsilon and delta, of `too_many`."""
PAIRS = (
    ("synthetic_map", "parameter_map"),
    ("synthetic_one", "parameter_draw"),
    ("synthetic_many", None),
)
"""Table 5.1, and the method that it leaves out."""
_N = 100
_FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bernoulli": ("binary, Beta(10, 10)", {"prior": (10.0, 10.0)}),
    "gaussian": ("normal, N(0, sigma^2)", {"prior": (0.0, 1.0), "R": 1.0, "sigma": 1.0}),
}
_LOOSE = 1 + 1e-9  # for rounding


def correspondences() -> list[Table]:
    """Compute Table 5.1 with Theorem 5.1 and Hypothesis 5.5; Theorem 5.4 and Corollary 5.6."""
    values: list[tuple[Value, ...]] = []
    for family, (prior, _) in _FAMILIES.items():
        for method, parameter in PAIRS:
            deltas = [_delta(family, method, m) for m in SIZES]
            limit = None if parameter is None else _delta(family, parameter, None)
            name = "" if parameter is None else NAMES[parameter]
            row = (prior, NAMES[method], name, *deltas, limit)
            values.append((*row, _verdict(deltas, limit)))
    return [
        Table(
            name="correspondence",
            title=f"Table 5.1: synthetic records beside their parameter, delta at epsilon = 1, n = "
            f"{_N}",
            columns=("records", "synthetic", "parameter", *(f"m = {m}" for m in SIZES),
                     "of the parameter", "Theorem 5.1"),
            values=tuple(values),
            formats=("", "", "", *[".4g"] * (len(SIZES) + 1), ""),
            note="The printed table pairs the methods: infinitely many records are worth their "
            "parameter. Delta increases with m, stays at or below the parameter's (Theorem "
            "5.1), and converges to it. For SYNTH_Post(One) that is Hypothesis 5.5, which is "
            "true, with c = 1: a divergence of limits is at most the limit of divergences. "
            "SYNTH_Post(Many) has no counterpart; its delta goes to 1, as SYNTH_MAP's does. Normal "
            "records have R = sigma.",
        ),
        _too_many(),
    ]  # fmt: skip


def _verdict(deltas: list[float], limit: float | None) -> str:
    if any(later < sooner / _LOOSE for sooner, later in pairwise(deltas)):
        return "FALSE: delta falls"
    if limit is None:
        return ""
    return "holds" if max(deltas) <= limit * _LOOSE else "FALSE: more than the parameter's"


def _delta(family: str, method: str, m: int | None, epsilon: float = 1.0) -> float:
    return ConjugateMechanism(family, method, _N, size=m, **_FAMILIES[family][1]).delta(epsilon)


def _too_many() -> Table:
    values: list[tuple[Value, ...]] = []
    for theorem, method in (("5.4", "synthetic_map"), ("5.6", "synthetic_many")):
        for family, (prior, _) in _FAMILIES.items():
            for epsilon, delta in CASES:
                m = fewest(family, method, epsilon, delta)
                at = [_delta(family, method, each, epsilon) for each in (m - 1, m) if each]
                row = theorem, prior, NAMES[method], epsilon, delta
                values.append((*row, m, at[-1], "holds" if at[-1] > delta else "not shown"))
    return Table(
        name="too_many",
        title=f"Theorem 5.4 and Corollary 5.6: the smallest m that isn't (epsilon, delta), n = "
        f"{_N}",
        columns=("theorem", "records", "release", "epsilon", "delta", "m", "delta of m", "verdict"),
        values=tuple(values),
        formats=("", "", "", "g", "g", "d", ".4g", ""),
        note="Both say that there is such an m for every prior, epsilon and delta below 1, and "
        "hold. What 5.6 asks of the posteriors, that they differ, is enough: two records that "
        "lead to different posteriors lead to different laws of a synthetic record.",
    )


def fewest(family: str, method: str, epsilon: float, delta: float) -> int:
    """Find the smallest number of synthetic records that aren't (epsilon, delta), at n = 100.

    Delta increases with their number, since any of them leave when all do.
    """
    most = 1
    while _delta(family, method, most, epsilon) <= delta:
        most *= 2
    least = most // 2  # private, or 0
    while most - least > 1:
        middle = (least + most) // 2
        if _delta(family, method, middle, epsilon) <= delta:
            least = middle
        else:
            most = middle
    return most
