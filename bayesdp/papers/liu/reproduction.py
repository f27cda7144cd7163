"""The tables and figures of Liu (2016), section 5, recomputed beside the printed ones.

What the paper's text leaves open is listed in `CHOICES`, and on the page.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bayesdp.papers.errata import errata_table
from bayesdp.papers.journal import Progress, checked_journal
from bayesdp.papers.liu.cells import POSTERIOR, Cell, Numbers, run_cells
from bayesdp.papers.liu.claims import claim_table
from bayesdp.papers.liu.figures import figures
from bayesdp.papers.liu.posterior_tables import posterior_findings, posterior_tables
from bayesdp.papers.liu.study import Design
from bayesdp.papers.liu.tables import UNLIKELY, agreement_table, cost_table, coverage_tables
from bayesdp.papers.reproduction import Reproduction, Table

SOURCE = (
    "Liu, F. (2016), Model-based Differentially Private Data Synthesis and Statistical Inference "
    "in Multiply Synthetic Differentially Private Data, sections 5.1 to 5.3"
)

CHOICES = (
    ("v of normal copies, sd known", "s²/n of each copy's own records",
     "the text doesn't say; with 1/n the column (1+2/m)v of Table 1(b) would be 0.49 and 0.47 "
     "in its last rows of n = 10, where 0.392 and 0.334 are printed"),
    ("v of the original and of a single copy, sd known", "1/n",
     "with s²/n a single copy of n = 10 would cover 0.71 at ε = 100, where 0.743 is printed"),
    ("quantiles", "normal for (1+2/m)v, (1+1/m)b-v and the single copy; t for the others, "
     "with each rule's own degrees of freedom",
     "the text says so of (1+1/m)b-v and Theorem 7. For (1+1/m)b+v the printed binary "
     "coverages are up to 0.004 larger, as with t on m - 1 degrees"),
    ("negative (1+1/m)b-v", "covers nothing", "so the printed column reproduces"),
    ("b", "divided by m - 1", "as the proof of Theorem 7; its statement prints m"),
    ("single copy", "one copy with all of ε", "so the printed column reproduces"),
    ("noise of a count of ones", "discrete Laplace",
     "as bdp.mechanisms.ModipsSBSMechanism; hers is continuous, which at "
     "these scales can't be told from it"),
    ("largest variance, sd unknown", "that of floor(n/2) records at one end",
     "the paper has a quarter of the squared distance of the bounds, which is too small for the "
     "divisor n - 1 that its posterior needs"),
    ("posterior draws out of the bounds", "kept", "the text bounds statistics and records only"),
    ("means of 100 normal records and more", "drawn from their exact first moments",
     "30 billion records otherwise; the distribution functions agree within 0.002"),
)  # fmt: skip
"""What is left open, what was taken, and why."""


def reproduce(
    out: Path,
    *,
    replicates: int = 5000,
    seed: int = 2016,
    workers: int | None = None,
    quick: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> Reproduction:
    """Simulate Table 1 and Figures 6, 7 and 8, check the text's claims, and write a folder.

    Each simulated cell is kept, as soon as it is done, in a file beside the folder whose name is
    the folder's and ``.cells.jsonl``. If the run is stopped, the next one for the same folder
    continues from there; when the folder is written, the file is removed.

    Parameters
    ----------
    out : Path
        Folder to write: index.html, a CSV a table, and each figure as .csv, .svg and .png. Whole
        or not at all.
    replicates : int
        Replicates of each cell, at least 20; where exact posteriors are computed, at most 500.
    seed : int
        Everything is the same for the same seed.
    workers : int, optional
        Processes, by default one a core. With more than 1, a script needs
        ``if __name__ == "__main__":``.
    quick : bool
        Whether to leave out the exact posteriors, which take most of the time of a run with few
        replicates. All other numbers are the same.
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
    numbers = {"replicates": (replicates, 20)}
    journal = checked_journal(out, "cells", numbers, seed=seed, workers=workers, force=force)
    tell = progress or (lambda what, done: None)
    cells = run_cells(
        journal,
        replicates=replicates,
        seed=seed,
        workers=workers,
        leave_out={POSTERIOR} if quick else set(),
        tell=lambda what, done: tell(what, 0.95 * done),
    )
    tell("draw and write", 0.95)
    claims, agreement = claim_table(cells, replicates), agreement_table(cells, replicates)
    posterior = () if quick else posterior_tables(cells)
    cost = cost_table()
    choices = Table(
        name="choices",
        title="What the paper leaves open, and what was taken",
        columns=("open", "taken", "why"),
        values=CHOICES,
        formats=("",) * 3,
    )
    reproduction = Reproduction(
        title="Model-based private synthesis: Liu's experiments computed again",
        source=SOURCE,
        findings=_findings(cells, claims, agreement, posterior, cost),
        tables=(
            *coverage_tables(cells),
            *(agreement, *posterior, cost, claims),
            *(errata_table("liu", "liu-eugenio-jin-bowen"), choices),
        ),
        figures=figures(cells),
        settings={"replicates": replicates, "seed": seed, **({"quick": "yes"} if quick else {})},
        folder=out,
    )
    reproduction.write(out, force=force)
    journal.unlink()
    return reproduction


_LEFT_OUT = (
    "The exact posterior that knows the noise was left out, as this is a quick run: its tables "
    "beside Theorem 7 are in a full one."
)


def _findings(
    cells: Mapping[Cell, Numbers],
    claims: Table,
    agreement: Table,
    posterior: tuple[Table, ...],
    cost: Table,
) -> tuple[str, ...]:
    beyond = sum(agreement.numbers(agreement.columns[-1]))
    rows = sum(agreement.numbers("rows"))
    bias = cells[Cell("table1", Design(100, 10, 1.0, p=0.1))]["bias"]
    verdicts = [str(row[-1]) for row in claims.values]
    elsewhere = sum("true at" in verdict for verdict in verdicts)
    return (
        f"Table 1: {rows - beyond:.0f} of its {rows:.0f} coverages are within {UNLIKELY:g} "
        "standard errors of ours, with n of its binary part 10 times the printed one.",
        f"Figure 6(a): {elsewhere} claims of its text are false at the printed n = 100 and 1000, "
        "and true at 10,000 and 100,000. It has a bias of about 0.01 for m > 200 alone, where "
        f"n = 100 and p = 0.1; that design, which is in Table 1 too, has {bias:.3f} at m = 10.",
        "Truncated noise of the published scale is not ε = 1 but up to "
        f"{max(cost.numbers('true ε of all copies')):.3f}: its curves can't be compared with the "
        "inflated ones at equal privacy.",
        *(posterior_findings(cells, *posterior) if posterior else (_LEFT_OUT,)),
        f"Of the {len(verdicts)} claims of the text that its figures and tables show, "
        f"{verdicts.count('true')} are true as printed.",
    )
