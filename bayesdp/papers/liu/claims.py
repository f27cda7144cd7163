"""Claims of Liu (2016), section 5, on its figures and tables, each put to the test."""

from __future__ import annotations

from bayesdp.papers.liu.cells import BINARY_SIZES, SIZES
from bayesdp.papers.liu.claims_copies import BINARY_CLAIMS, NORMAL_CLAIMS
from bayesdp.papers.liu.claims_rules import RULE_CLAIMS, SHARE_CLAIMS, TABLE_CLAIMS
from bayesdp.papers.liu.reading import ALIKE, ALWAYS, AT_PEAK, NEAR, SEVERE, VISIBLE, Cells, Study
from bayesdp.papers.reproduction import Table, Value


def claim_table(cells: Cells, replicates: int) -> Table:
    """Tabulate each claim, what was found, and whether it is true."""
    study = Study(cells, replicates)
    values: list[tuple[Value, ...]] = []
    small, large = SIZES
    for claim, answer in BINARY_CLAIMS:
        shown_first, holds = answer(study, (small, large))
        found_too, holds_too = answer(study, (BINARY_SIZES[2], BINARY_SIZES[3]))
        verdict = _word(holds)
        if holds_too != holds:
            verdict += f"; {_word(holds_too)} at 100 times n"
        shown = f"{shown_first}. At 100 times n: {found_too}"
        values.append(("5.1, binary", claim, shown, verdict))
    for where, claims in (
        ("5.1, normal", NORMAL_CLAIMS),
        ("5.2, Table 1", TABLE_CLAIMS),
        ("5.2, Figure 7", RULE_CLAIMS),
        ("5.3, Figure 8", SHARE_CLAIMS),
    ):
        for claim, test in claims:
            shown_first, holds = test(study)
            values.append((where, claim, shown_first, _word(holds)))
    return Table(
        name="claims",
        title="What the text says of its figures and tables",
        columns=("where", "claim", "found", "verdict"),
        values=tuple(values),
        formats=("",) * 4,
        note=(
            f"Coverage counts as near nominal from {NEAR[0]:g} to {NEAR[1]:g}, as severely short "
            f"below {SEVERE:g}, as close to always from {ALWAYS:g} on; a bias as visible beyond "
            f"{VISIBLE:g} standard errors of the simulation; standard deviations as alike within "
            f"{ALIKE - 1:.0%}, and as at their peak within {1 - AT_PEAK:.0%} of it."
        ),
    )


def _word(holds: bool) -> str:
    return "true" if holds else "false"
