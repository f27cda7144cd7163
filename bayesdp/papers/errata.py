"""Errata of the papers that this package is built on: wrong, loose or mislabelled statements.

The notebook, the pages of `bayesdp reproduce` and `bayesdp errata` show these rows, and a test runs
each row's evidence: it must refute the printed statement and agree with the corrected one.
"""

from __future__ import annotations

from functools import cache

from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.papers.charest import errata as charest
from bayesdp.papers.erratum import Erratum, Shown
from bayesdp.papers.groce import errata as groce
from bayesdp.papers.hu import errata as hu
from bayesdp.papers.ju import errata as ju
from bayesdp.papers.liu import errata as liu
from bayesdp.papers.reproduction import Table
from bayesdp.papers.zheng import errata as zheng

ERRATA: tuple[Erratum, ...] = (
    *zheng.ROWS,
    *groce.ROWS,
    *liu.ROWS,
    *hu.ROWS,
    *charest.ROWS,
    *ju.ROWS,
)
"""In the order of papers and of their pages."""

SOURCES = {
    "zheng": "Zheng (2015)",
    "groce": "Groce (2014)",
    "liu": "Liu (2016)",
    "liu-eugenio-jin-bowen": "Liu, Eugenio, Jin and Bowen (2020)",
    "hu": "Hu, Williams and Savitsky (2025)",
    "charest": "Charest (2010)",
    "ju": "Ju, Awan, Gong and Rao (2022)",
}
"""Each paper's authors and year."""


def find_errata(name: str = "") -> tuple[Erratum, ...]:
    """Return the errata of a paper, or the one of a name; all of them by default.

    Raises
    ------
    InvalidInput
        If there is no paper or erratum of this name.
    """
    chosen = tuple(each for each in ERRATA if name in ("", each.paper, each.key))
    if not chosen:
        raise InvalidInput(
            f"name is {quoted(name)}; it must be one of {', '.join(SOURCES)}, or of an erratum, as "
            f"{quoted(ERRATA[0].key)}; `bayesdp errata` lists them"
        )
    return chosen


@cache
def evidence(erratum: Erratum) -> tuple[Shown, ...]:
    """Compute an erratum's cases.

    Raises
    ------
    EngineFailed
        If they don't refute the printed statement, or don't agree with the corrected one.
    """
    cases = erratum.evidence()
    for case in cases:
        if not (case.refuted and case.mended):
            raise EngineFailed(f"{erratum.key} isn't shown by its evidence: {case}")
    return cases


def errata_table(*papers: str) -> Table:
    """Tabulate the errata of some papers, or of all, with the evidence of each; computes nothing.

    Parameters
    ----------
    *papers : str
        Names among `SOURCES`; all by default.

    Raises
    ------
    InvalidInput
        If there is no paper of a name.
    """
    rows = [each for paper in papers or ("",) for each in find_errata(paper)]
    return Table(
        name="errata",
        title="Where the paper is wrong, loose or mislabelled"
        if papers
        else "Where the papers are wrong, loose or mislabelled",
        columns=("source", "flaw", "printed", "true", "shown by"),
        values=tuple(
            (f"{SOURCES[e.paper]}, {e.place}", e.flaw.value, e.printed, e.true, e.command)
            for e in rows
        ),
        formats=("",) * 5,
        note="Each command computes a case that what is printed isn't true of, and what is said to "
        "be true is.",
    )
