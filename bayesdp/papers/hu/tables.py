"""Table 1 of the supplement of Hu, Williams and Savitsky (2025), and averages of its figures.

Each mean, and each standard deviation of ours, has a standard error, and printed ones are compared
with ours in units of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bayesdp.papers.hu.figures import TRUTHS, WORDS, Study
from bayesdp.papers.hu.study import DOWNSCALED
from bayesdp.papers.reproduction import Table, Value

PRINTED = {
    ("Weighted-e", 1.0): (0, 130, 219, 195, 272, 364, 103.48),
    ("Censor_w", 1.0): (0, 404, 425, 408, 440, 549, 92.56),
    ("Weighted-e", DOWNSCALED[1]): (0, 0, 93, 91, 165, 269, 86.49),
    ("Censor_w", DOWNSCALED[1]): (0, 0, 0, 144, 328, 413, 165.66),
}
"""Table 1: min, quartile, median, mean, quartile, max, sd, at epsilon = 4."""
PRINTED_REPLICATES = 100
_FAR = 3.0  # standard errors, beyond which a mean is said to differ


def _summary(counts: Sequence[float]) -> tuple[float, ...]:
    low, first, middle, third, high = (float(q) for q in np.quantile(counts, np.arange(5) / 4))
    return low, first, middle, float(np.mean(counts)), third, high, float(np.std(counts, ddof=1))


def _compared(
    ours: tuple[float, ...], replicates: int, printed: tuple[float, ...]
) -> tuple[float, ...]:
    """Distance of the means, in standard errors of their difference; and the sds' ratio."""
    error = math.hypot(ours[-1] / math.sqrt(replicates), _error(printed))
    return (ours[3] - printed[3]) / error, ours[-1] / printed[-1]


def _error(printed: tuple[float, ...]) -> float:
    return printed[-1] / math.sqrt(PRINTED_REPLICATES)


def count_table(study: Study) -> Table:
    """Compute Table 1, each printed row above ours, with Censor_uw's counts too."""
    rows: list[tuple[Value, ...]] = []
    for synthesizer, factor in (*PRINTED, ("Censor_uw", 1.0)):
        what = "removed" if synthesizer == "Weighted-e" else "censored"
        counts = [
            getattr(o, what)
            for outcomes in study
            for o in outcomes
            if (o.synthesizer, o.epsilon, o.factor) == (synthesizer, DOWNSCALED[0], factor)
        ]
        label, ours = (factor, synthesizer), _summary(counts)
        error = ours[-1] / math.sqrt(len(study))
        apart: tuple[float | None, ...] = (None, None)
        if (synthesizer, factor) in PRINTED:
            printed = PRINTED[synthesizer, factor]
            rows.append((*label, "printed", *printed, _error(printed), None, None))
            apart = _compared(ours, len(study), printed)
        rows.append((*label, "ours", *ours, error, *apart))
    return Table(
        name="table1",
        title="Table 1: records with weight set to 0 (Weighted-e) or censored, at ε = 4",
        columns=(*("factor", "synthesizer", "numbers"),
                 *("min", "Q1", "median", "mean", "Q3", "max", "sd"),
                 ERROR, APART, RATIO),
        values=tuple(rows),
        formats=("g", "", "", "g", ".0f", ".0f", ".0f", ".0f", "g", ".1f", ".1f", ".1f", ".2f"),
        note=(
            f"Factor below 1: with downscaling. s.e.: standard error, of the mean or of the "
            f"difference of ours from the printed one. Over {len(study)} replicates of ours, and "
            f"{PRINTED_REPLICATES} printed. {_agreement(rows)} The length of the paper's chains "
            "and its rules aren't printed, and the downscaling is chosen so that one of the means "
            "agrees: the table doesn't confirm the paper's simulation. What is drawn here is each "
            "synthesizer as it is described. The last row is not in the paper: compare its "
            "quartiles with those printed for Censor_w without downscaling (404, 425, 440). Beside "
            "what the paper labels DP: Censor_w is not differentially private, "
            "as its weights are fitted to the confidential data."
        ),
    )  # fmt: skip


ERROR = "s.e. of mean"
APART = "apart, s.e."
RATIO = "ratio of sd"


def _agreement(rows: Sequence[tuple[Value, ...]]) -> str:
    """Say in how many printed rows the mean agrees, and how much less ours vary."""
    apart, ratios = (
        [abs(row[place]) for row in rows if isinstance(row[place], float)]  # type: ignore[arg-type]
        for place in (-2, -1)
    )
    near = sum(each <= _FAR for each in apart)
    return (
        f"Of the {len(apart)} printed means, {near} {'is' if near == 1 else 'are'} within {_FAR:g} "
        f"standard errors of ours, the furthest is {max(apart):.1f} away; our standard deviations "
        f"are {min(ratios):.2f} to {max(ratios):.2f} times the printed ones."
    )


def average_table(study: Study) -> Table:
    """Averages over the replicates of everything the figures show, with their standard errors."""
    cells = list(dict.fromkeys((o.synthesizer, o.epsilon, o.factor) for o in study[0]))
    rows: list[tuple[Value, ...]] = [("Beta(0.5, 3)", None, None, "true", None, *_truth_row())]
    for cell in cells:
        outcomes = [o for k in study for o in k if (o.synthesizer, o.epsilon, o.factor) == cell]
        every = [[getattr(o, name) for o in outcomes] for name in WORDS]
        rows.append((*cell, "mean", *(_mean(each) for each in every)))
        rows.append((*cell, "standard error", *(standard_error(each) for each in every)))
    return Table(
        name="averages",
        title="Averages over the replicates",
        columns=("synthesizer", "ε", "factor", "numbers", *WORDS.values()),
        values=tuple(rows),
        formats=("", "g", "g", "", ".3f", *[".4f"] * 5),
        note="Unweighted doesn't depend on ε: its rows differ by the draw of synthetic records.",
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def standard_error(values: Sequence[float | None]) -> float | None:
    """Standard error of a mean over replicates; None of a synthesizer without the quantity."""
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1) / math.sqrt(len(known))) if known else None


def _truth_row() -> tuple[Value, ...]:
    return tuple(TRUTHS.get(name) for name in list(WORDS)[1:])
