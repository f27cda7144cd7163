"""The supplement's figures and table of Hu, Williams and Savitsky (2025), recomputed.

Choices that the supplement's text leaves open are listed in `CHOICES`, and on the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bayesdp.papers.errata import errata_table
from bayesdp.papers.hu.figures import PLANS, TRUTHS, Plan, Study, figure, values
from bayesdp.papers.hu.stan import stan_finding, stan_table
from bayesdp.papers.hu.study import DOWNSCALED, EPSILONS, run_study
from bayesdp.papers.hu.tables import (
    APART,
    ERROR,
    PRINTED,
    RATIO,
    average_table,
    count_table,
    standard_error,
)
from bayesdp.papers.journal import Progress, checked_journal
from bayesdp.papers.reproduction import Reproduction, Table

SOURCE = (
    "Hu, J., Williams, M. R. and Savitsky, T. D. (2025), Mechanisms for Global Differential "
    "Privacy under Bayesian Data Synthesis, supplementary materials"
)
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
    quick: bool = False,
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
    quick : bool
        Whether to leave out the fits by Stan, one for each figure, which take a minute, and another
        where its program isn't compiled yet. They are left out too where Stan isn't there; the page
        says so, and what to install.
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
        tell=lambda what, done: tell(what, 0.9 * done),
    )
    fits: tuple[Table, ...] = ()
    if not quick:
        fits = (stan_table(seed, records, lambda what, done: tell(what, 0.9 + 0.06 * done)),)
    tell("draw and write", 0.96)
    counts, averages = count_table(study), average_table(study)
    reproduction = Reproduction(
        title="Censored pseudo-posteriors: Hu, Williams and Savitsky (2025) computed again",
        source=SOURCE,
        findings=(*_findings(counts, averages, study), *map(stan_finding, fits)),
        tables=(
            *(counts, averages, *fits),
            *(_promise_table(), errata_table("hu"), _choice_table()),
        ),
        figures=tuple(figure(study, plan, _caption(plan, study)) for plan in PLANS),
        settings={
            "replicates": replicates,
            "seed": seed,
            "records": records,
            **({"quick": "yes"} if quick else {}),
        },
        folder=out,
    )
    reproduction.write(out, force=force)
    journal.unlink()
    return reproduction


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


def _mean(study: Study, plan: Plan, panel: tuple[float, float], synthesizer: str) -> str:
    """Mean over replicates with its standard error, as text."""
    numbers = values(study, plan, panel, synthesizer)
    return f"{np.mean(numbers):.4g} ± {standard_error(numbers):.1g}"


def _caption(plan: Plan, study: Study) -> str:
    """Write a figure's caption from its numbers."""
    line = {"lipschitz": "Dashed: ε/2. ", "max_ecdf": ""}.get(
        plan.quantity, f"Dashed: {plan.words} of Beta(0.5, 3), {TRUTHS.get(plan.quantity, 0):.4f}. "
    )
    shown = []
    for panel in plan.panels:
        names = ", ".join(f"{name} {_mean(study, plan, panel, name)}" for name in plan.synthesizers)
        scaled = f" and factor {panel[1]:g}" if panel[1] < 1 else ""
        shown.append(f"at ε = {panel[0]:g}{scaled} {names}")
    return (
        f"{line}Means over replicates, ± a standard error: {'; '.join(shown)}. Violins: densities "
        "over replicates, with quartiles and median. Orange: no promise holds. Blue: a promise is "
        "proved."
    )


def _findings(counts: Table, averages: Table, study: Study) -> tuple[str, ...]:
    def count(synthesizer: str, factor: float) -> str:
        where: dict[str, Any] = {"synthesizer": synthesizer, "factor": factor, "numbers": "ours"}
        mean, error, sd, apart, ratio = (
            counts.numbers(column, **where)[0] for column in ("mean", ERROR, "sd", APART, RATIO)
        )
        printed = PRINTED[synthesizer, factor]
        return (
            f"{mean:.0f} ± {error:.1f} (printed: {printed[3]}; {apart:+.1f} standard errors), with "
            f"a standard deviation of {sd:.1f} ({printed[-1]}; {ratio:.2f} times)"
        )

    def average(column: str, synthesizer: str, epsilon: float = EPSILONS[0]) -> float:
        where: dict[str, Any] = {"synthesizer": synthesizer, "ε": epsilon, "factor": 1.0}
        return averages.numbers(column, numbers="mean", **where)[0]

    above = [
        float(np.mean(np.array(values(study, PLANS[0], (epsilon, 1.0), "Weighted")) > epsilon / 2))
        for epsilon in EPSILONS
    ]
    distance = {
        name: average("max-ECDF distance", name) for name in ("Weighted", "Censor_uw", "PH")
    }
    return (
        f"Table 1, records on average: Weighted-e removes {count('Weighted-e', 1.0)}, and with "
        f"downscaling, whose factor was chosen to agree, {count('Weighted-e', DOWNSCALED[1])}.",
        f"Censor_w censors {count('Censor_w', 1.0)}, and with downscaling "
        f"{count('Censor_w', DOWNSCALED[1])}.",
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
