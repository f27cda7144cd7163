"""The supplement's figures and table of Hu, Williams and Savitsky (2025), computed again.

Choices that the supplement's text leaves open are listed in `CHOICES`, and on the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bayesdp.evaluation.papers.hu_figures import PLANS, TRUTHS, WORDS, Plan, Study, figure, values
from bayesdp.evaluation.papers.hu_study import DOWNSCALED, EPSILONS, run_study
from bayesdp.evaluation.papers.journal import Progress, checked_journal
from bayesdp.evaluation.papers.reproduction import Reproduction, Table, Value

SOURCE = (
    "Hu, J., Williams, M. R. and Savitsky, T. D. (2025), Mechanisms for Global Differential "
    "Privacy under Bayesian Data Synthesis, supplementary materials"
)
PRINTED = {
    ("Weighted-e", 1.0): (0, 130, 219, 195, 272, 364, 103.48),
    ("Censor_w", 1.0): (0, 404, 425, 408, 440, 549, 92.56),
    ("Weighted-e", DOWNSCALED[1]): (0, 0, 93, 91, 165, 269, 86.49),
    ("Censor_w", DOWNSCALED[1]): (0, 0, 0, 144, 328, 413, 165.66),
}
"""Table 1: min, quartile, median, mean, quartile, max, sd, at epsilon = 4."""

CHOICES = (
    ("weights, map of the risk", "linear with c = 1 and g = 0, then re-weighting",
     "the authors' R package LipschitzWeights does so unless told otherwise"),
    ("weights, target of re-weighting", "a Lipschitz bound of ε/2 for every record",
     "the counts of Table 1 show bounds on both sides of ε/2"),
    ("downscaling", f"target {DOWNSCALED[1]:g} ε/2, so all weights below 1 by that factor",
     "not printed; of 0.9, 0.95, 0.96, 0.965, 0.97 and 0.975 it brings the mean of Weighted-e's "
     "counts nearest to the printed 91 (0.95, the package's, to about 30)"),
    ("Weighted-e", "the riskiest quarter of the records above ε/2 gets weight 0, and so on until "
     "none is above", "the rule is not printed; all of them at once would remove about twice as "
     "many as printed"),
    ("posterior draws", "1000, exact on a grid; a bound is the largest over them",
     "the supplement samples by MCMC and doesn't say how long"),
    ("count of censored records", "those clipped at one of the 1000 draws at least",
     "the same rule as for the Lipschitz bound"),
    ("synthetic records", "2000 from one draw, in each replicate",
     "more draws would cost more privacy"),
    ("bins of PH", "√n = 45 of equal width", "S1 names ln n and √n"),
    ("noise of PH", "discrete Laplace of scale 2/ε", "as S1's, but exact; floats leak"),
    ("max-ECDF", "largest distance between the empirical distribution functions of synthetic and "
     "confidential records", "not defined in the supplement"),
)  # fmt: skip
"""What is left open, what was taken, and why."""

PROMISES = (
    ("Unweighted", "add/remove-one", "twice its Lipschitz bound, on these data", "false"),
    ("Weighted", "add/remove-one", "twice its Lipschitz bound, asymptotically", "false"),
    ("Weighted-e", "add/remove-one", "ε, asymptotically", "false"),
    ("Censor_w", "add/remove-one", "ε", "false: not differentially private"),
    ("Censor_uw", "add/remove-one", "ε (Figure 1's legend: asymptotically)", "true, proved"),
    ("PH", "replace-one", "ε", "true, proved; n is public"),
)


def reproduce(
    out: Path,
    *,
    replicates: int = 100,
    seed: int = 2025,
    records: int = 2000,
    workers: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Simulate, compute Table 1 and draw Figures 1 to 10, and write them to a folder.

    Each replicate is kept, as soon as it is done, in a file beside the folder whose name is
    the folder's and ``.replicates.jsonl``. If the run is stopped, the next one for the same folder
    continues from there; when the folder is written, the file is removed.

    Parameters
    ----------
    out : Path
        Folder to write: index.html, table1.csv and others, figure1 to figure10 as .csv, .svg and
        .png. Whole or not at all.
    replicates : int
        At least 2.
    seed : int
        Everything is the same for the same seed.
    records : int
        Confidential records in each replicate, at least 100.
    workers : int, optional
        Processes, by default one a core. With more than 1, a script needs
        ``if __name__ == "__main__":``.
    force : bool
        Whether to replace such a folder.
    progress : callable, optional
        Called with what is being done and the fraction done before it.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or the file beside the folder is of another study.
    ReleaseExists
        If `out` exists, unless `force` and it is a folder of this kind.
    """
    out = Path(out)
    numbers = {"replicates": (replicates, 2), "records": (records, 100)}
    journal = checked_journal(out, "replicates", numbers, seed=seed, workers=workers, force=force)
    tell = progress or (lambda what, done: None)
    study = run_study(
        journal,
        replicates=replicates,
        seed=seed,
        records=records,
        workers=workers,
        tell=lambda what, done: tell(what, 0.93 * done),
    )
    tell("draw and write", 0.93)
    counts, averages = count_table(study), average_table(study)
    reproduction = Reproduction(
        title="Censored pseudo-posteriors: Hu, Williams and Savitsky (2025) computed again",
        source=SOURCE,
        findings=_findings(counts, averages, study),
        tables=(counts, averages, _promise_table(), _choice_table()),
        figures=tuple(figure(study, plan, _caption(plan, study)) for plan in PLANS),
        settings={"replicates": replicates, "seed": seed, "records": records},
        folder=out,
    )
    reproduction.write(out, force=force)
    journal.unlink()
    return reproduction


def _summary(counts: Sequence[float]) -> tuple[float, ...]:
    low, first, middle, third, high = (float(q) for q in np.quantile(counts, np.arange(5) / 4))
    return low, first, middle, float(np.mean(counts)), third, high, float(np.std(counts, ddof=1))


def count_table(study: Study) -> Table:
    """Table 1, each printed row above ours, with Censor_uw's counts too."""
    rows: list[tuple[Value, ...]] = []
    for synthesizer, factor in (*PRINTED, ("Censor_uw", 1.0)):
        what = "removed" if synthesizer == "Weighted-e" else "censored"
        counts = [
            getattr(o, what)
            for outcomes in study
            for o in outcomes
            if (o.synthesizer, o.epsilon, o.factor) == (synthesizer, DOWNSCALED[0], factor)
        ]
        label = (factor, synthesizer)
        if (synthesizer, factor) in PRINTED:
            rows.append((*label, "printed", *PRINTED[synthesizer, factor]))
        rows.append((*label, "ours", *_summary(counts)))
    return Table(
        name="table1",
        title="Table 1: records with weight set to 0 (Weighted-e) or censored, at ε = 4",
        columns=(*("factor", "synthesizer", "numbers"),
                 *("min", "Q1", "median", "mean", "Q3", "max", "sd")),
        values=tuple(rows),
        formats=("g", "", "", "g", ".0f", ".0f", ".0f", ".0f", "g", ".1f"),
        note=(
            "Factor below 1: with downscaling. Ours are of the printed size, but for Censor_w with "
            "downscaling, where they are about half, and vary less: the length of the paper's "
            "chains and its rules are not printed. The last row is not in the paper: Censor_uw's "
            "quartiles come nearer to those printed for Censor_w without downscaling (404, 425, "
            "440) than Censor_w's own do. Beside what the paper labels DP: Censor_w is not "
            "differentially private, as its weights are fitted to the confidential data."
        ),
    )  # fmt: skip


def average_table(study: Study) -> Table:
    """Averages over the replicates of everything the figures show."""
    cells = list(dict.fromkeys((o.synthesizer, o.epsilon, o.factor) for o in study[0]))
    rows: list[tuple[Value, ...]] = [("Beta(0.5, 3)", None, None, None, *_truth_row())]
    for cell in cells:
        found = [o for k in study for o in k if (o.synthesizer, o.epsilon, o.factor) == cell]
        bounds = [o.lipschitz for o in found if o.lipschitz is not None]
        rest = [float(np.mean([getattr(o, name) for o in found])) for name in list(WORDS)[1:]]
        rows.append((*cell, float(np.mean(bounds)) if bounds else None, *rest))
    return Table(
        name="averages",
        title="Averages over the replicates",
        columns=("synthesizer", "ε", "factor", *WORDS.values()),
        values=tuple(rows),
        formats=("", "g", "g", ".3f", *[".4f"] * 5),
        note="Unweighted doesn't depend on ε: its rows differ by the draw of synthetic records.",
    )


def _truth_row() -> tuple[Value, ...]:
    return tuple(TRUTHS.get(name) for name in list(WORDS)[1:])


def _promise_table() -> Table:
    return Table(
        name="promises",
        title="What each ε is a promise of",
        columns=("synthesizer", "neighbours", "claimed", "truth"),
        values=PROMISES,
        formats=("",) * 4,
        note=(
            "Replacing a record is removing one and adding one, so at the same ε Censor_uw's "
            "promise under replace-one is 2ε, and PH's ε: they aren't compared at equal privacy. "
            "Twice the largest Lipschitz bound seen on one data set bounds nothing on another, "
            "and weights fitted to the data change with each record: on 2000 records, where "
            "Censor_w claims 4, one record more moved the log density by hundreds."
        ),
    )


def _choice_table() -> Table:
    return Table(
        name="choices",
        title="What the supplement leaves open, and what was taken",
        columns=("open", "taken", "why"),
        values=CHOICES,
        formats=("",) * 3,
    )


def _mean(study: Study, plan: Plan, panel: tuple[float, float], synthesizer: str) -> float:
    return float(np.mean(values(study, plan, panel, synthesizer)))


def _caption(plan: Plan, study: Study) -> str:
    """What the figure shows, from its numbers."""
    line = {"lipschitz": "Dashed: ε/2. ", "max_ecdf": ""}.get(
        plan.quantity, f"Dashed: {plan.words} of Beta(0.5, 3), {TRUTHS.get(plan.quantity, 0):.4f}. "
    )
    shown = []
    for panel in plan.panels:
        names = ", ".join(
            f"{name} {_mean(study, plan, panel, name):.4g}" for name in plan.synthesizers
        )
        scaled = f" and factor {panel[1]:g}" if panel[1] < 1 else ""
        shown.append(f"at ε = {panel[0]:g}{scaled} {names}")
    return (
        f"{line}Means over replicates: {'; '.join(shown)}. Violins: densities over replicates, "
        "with quartiles and median. Orange: no promise holds. Blue: a promise is proved."
    )


def _findings(counts: Table, averages: Table, study: Study) -> tuple[str, ...]:
    def count(what: str, synthesizer: str, factor: float) -> float:
        return counts.numbers(what, synthesizer=synthesizer, factor=factor, numbers="ours")[0]

    def average(column: str, synthesizer: str, epsilon: float = EPSILONS[0]) -> float:
        where: dict[str, Any] = {"synthesizer": synthesizer, "ε": epsilon, "factor": 1.0}
        return averages.numbers(column, **where)[0]

    above = [
        float(np.mean(np.array(values(study, PLANS[0], (epsilon, 1.0), "Weighted")) > epsilon / 2))
        for epsilon in EPSILONS
    ]
    distance = {
        name: average("max-ECDF distance", name) for name in ("Weighted", "Censor_uw", "PH")
    }
    return (
        f"Table 1: Weighted-e removes {count('mean', 'Weighted-e', 1.0):.0f} records on average "
        f"(printed: 195), {count('mean', 'Weighted-e', DOWNSCALED[1]):.0f} with downscaling (91, "
        "to which the factor was chosen); Censor_w censors "
        f"{count('mean', 'Censor_w', 1.0):.0f} (408), "
        f"{count('mean', 'Censor_w', DOWNSCALED[1]):.0f} with downscaling (144).",
        f"Figure 1: Weighted exceeds ε/2 in {above[0]:.0%}, {above[1]:.0%} and {above[2]:.0%} of "
        "the replicates at ε = 5, 4 and 3; Weighted-e, Censor_w and Censor_uw never do. For "
        "Censor_w that proves nothing: it is not differentially private.",
        f"Utility at ε = 5: Weighted's synthetic records are {distance['Weighted']:.3f} from the "
        f"confidential ones in max-ECDF, Censor_uw's, whose promise holds, "
        f"{distance['Censor_uw']:.3f}. PH's, under the stronger of the two promises that hold, are "
        f"{distance['PH']:.3f}, and hardly move with ε: its bins cost more than its noise.",
        "The synthesizers of one figure make different promises at one ε: PH's is under "
        "replace-one, Censor_uw's under add/remove-one, and the others' are false.",
    )
