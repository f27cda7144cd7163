"""The bounds of Zheng (2015), each beside the exact value it bounds.

Chapter 5 (a parameter beside synthetic records), every row of Figures 6.1 (binary records) and 7.1
(real records), with printed thresholds, exact ones, and what is promised at the printed ones, and
section 6.3 (average-case privacy). Nothing is simulated.
"""

from __future__ import annotations

from functools import partial

from bayesdp.papers.errata import errata_table
from bayesdp.papers.reproduction import Table, compute_tables
from bayesdp.papers.zheng.average import average_case
from bayesdp.papers.zheng.binary import (
    binary_approximate,
    binary_impossible,
    binary_pure,
    categorical,
)
from bayesdp.papers.zheng.methods import correspondences
from bayesdp.papers.zheng.real import real_approximate, real_impossible, real_pure, real_unbounded

SOURCE = (
    "Zheng, S. (2015), The Differential Privacy of Bayesian Inference, chapters 5 to 7; "
    "neighbours replace one record, and n is public"
)


def _findings(tables: dict[str, Table]) -> tuple[str, ...]:
    def first(table: str, column: str, **where: float) -> float:
        return tables[table].numbers(column, **where)[0]

    epsilon, delta = "epsilon at the printed", "delta at the printed"
    draw = "bernoulli_parameter_draw"
    constant = tables[draw].numbers("c of 6.4: (ln n + ln 1/delta)/epsilon^2")
    many = "gaussian_synthetic_many"
    fewest = tables["too_many"].numbers("m", epsilon=1.0, delta=0.5)
    least, claimed = (
        first("average_case_condition", column, n=100, theta=0.5)
        for column in ("no simulator below", "delta by the condition")
    )
    return (
        "Chapter 5: Theorem 5.1 (synthetic records cost no more than their parameter), Theorem 5.4 "
        "and Corollary 5.6 (enough of them cost anything) hold; at n = 100 a delta of 0.5 at "
        f"epsilon = 1 is exceeded from {min(fewest):,.0f} to {max(fewest):,.0f} records on. "
        "Hypothesis 5.5 is true with c = 1, so that Table 5.1 is exact in the limit.",
        "Section 6.3: Theorems 6.18 and 6.20 hold. Proposition 6.17 is false of a single theta, "
        f"where at n = 100 it asks for a delta of {claimed:.3g} and none below {least:.3g} is "
        "possible, and empty of all of them. Corollary 6.19's rate is negative.",
        "Theorems 7.4 and 7.10 hold: without bounds on the records, delta goes to 1.",
        "Figure 6.1, pure epsilon: all three 'if and only if' thresholds on the prior are one too "
        "large: they are enough, not needed. Exact are m/(e^epsilon - 1) for "
        "SYNTH_Post(One), 1/(e^(epsilon/m) - 1) for SYNTH_Post(Many), and one more than that for "
        "SYNTH_MAP.",
        "Figure 6.1, (epsilon, delta): the orders of magnitude get their constants. For a "
        f"posterior draw that of Theorem 6.4 is between {min(constant):.2f} and "
        f"{max(constant):.2f} in the cases below.",
        "Figure 7.1, pure epsilon: Theorem 7.7 holds, with "
        f"{first('gaussian_parameter_draw_pure', epsilon, n=1000, epsilon=1.0):.3f} of epsilon at "
        "n = 1000, though its proof forgets a normalising constant. Theorem 7.12 and Corollaries "
        "7.13 and 7.14 are false: at n = 100, m = 1 and epsilon = 1 what they allow costs "
        f"{first(f'{many}_pure', epsilon, n=100, m=1):.2f} and "
        f"{first('gaussian_synthetic_map_pure', epsilon, n=100, m=1):.2f}. They take R/n for the "
        "sensitivity of a mean, which is 2R/n.",
        "Figure 7.1, (epsilon, delta): Theorem 7.8 promises delta = 1e-5 at n = 100 and epsilon = "
        f"1, where the true delta is {first('gaussian_parameter_draw', delta, n=100):.2e}. "
        "Theorem 7.15 and Corollary 7.16 are false in some cases and far from tight in others.",
        "Corollaries 6.2 and 7.3 add too little Laplace noise: the sensitivity of the mode is "
        "1/(n + a + b - 2), and below but near 2R/n.",
    )


def errata() -> Table:
    """Tabulate the errata of Zheng (2015)."""
    return errata_table("zheng")


reproduce = partial(
    compute_tables,
    title="The differential privacy of Bayesian inference: Zheng's bounds against exact values",
    source=SOURCE,
    parts=(
        correspondences,
        binary_impossible,
        binary_pure,
        binary_approximate,
        average_case,
        categorical,
        real_unbounded,
        real_impossible,
        real_pure,
        real_approximate,
        errata,
    ),
    findings=_findings,
)
