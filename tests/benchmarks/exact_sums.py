"""Exact sums: their bounds, their profiles and the reproduced tables."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import bayesdp as bdp
from bayesdp.papers.groce import tables
from bayesdp.privacy.distributional import irwin_hall
from tests.benchmarks.measure import line, seconds


def exact_sums(n: int = 10**6) -> None:
    """Epsilon for a delta of a sum, against the alternating sum in integers of a small one."""
    normal = bdp.distributional.TopCodedNormal(0, 1, -2.5, 2.5)
    uniform = bdp.distributional.Uniform(0, 1)

    def alternating(y: float = 430.0, count: int = 1000) -> float:
        place, total = Fraction(y), Fraction(0)
        for k in range(math.floor(y) + 1):
            total += (-1) ** k * math.comb(count, k) * (place - k) ** (count - 1)
        return float(total / math.factorial(count - 1))

    naive = seconds(alternating, repeats=1)
    places = iter(430 + k / 4096 for k in range(10**6))
    one = seconds(lambda: irwin_hall.density(next(places), 1000), repeats=50)
    line("Irwin-Hall density and tail, n = 1000", f"{1e3 * one:.2f} ms",
         "faster than the exact alternating sum", naive / one, "-")  # fmt: skip
    for name, law in (("uniform", uniform), ("top-coded", normal)):
        bound = seconds(
            lambda law=law: bdp.distributional.best_bound(n, law, delta=1e-6), repeats=1
        )
        line(f"epsilon of a sum, n = 10^6, {name}, best a, r", f"{bound:.2f} s",
             "the time of one density at n = 1000 by integers", bound / naive, "1 s")  # fmt: skip
        start = time.perf_counter()
        ours = bdp.distributional.SumProfile(n, law).epsilon(1e-6)
        took = time.perf_counter() - start
        best = bdp.distributional.best_bound(n, law, delta=1e-6).epsilon
        line(f"the same by the sum's own profile, {took:.1f} s", f"{ours:.5f}",
             "times smaller than the theorem's epsilon", best / ours, "-")  # fmt: skip
    start = time.perf_counter()
    tables.uniform_table()
    first = time.perf_counter() - start
    for part in ("top_coded_table", "means_table", "products_table"):
        getattr(tables, part)()
    took = time.perf_counter() - start
    line("Groce's four tables", f"{took:.1f} s", "the time of the first", took / first, "20 s")
