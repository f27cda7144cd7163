"""The tables of Groce (2014) on exact sums, each beside its theorem's value and our own bound."""

from __future__ import annotations

from functools import partial

from bayesdp.papers.errata import errata_table
from bayesdp.papers.groce.tables import means_table, products_table, top_coded_table, uniform_table
from bayesdp.papers.reproduction import Table, compute_tables

SOURCE = (
    "Groce, A. (2014), New Notions and Mechanisms for Statistical Privacy, sections 6.3 and 6.4; "
    "promises are distributional: they hold for records of the stated law, none of them known"
)


def _findings(tables: dict[str, Table]) -> tuple[str, ...]:
    def gain(name: str) -> str:
        theirs = tables[name].numbers("epsilon, printed")
        ours = tables[name].numbers("ours")
        ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
        return f"{min(ratios):.2f} to {max(ratios):.2f}"

    wrong = tables["table_6_3"].numbers("Corollary 6.2", n=1000)[0]
    factor = tables["table_6_2"].numbers("Corollary 6.2", t=1.0)[0]
    return (
        "Table 6.1 reproduces. Assumption 6.1, on which Theorem 6.6 rests, is a theorem: the "
        "density of a sum of uniform numbers is log-concave.",
        "Table 6.2: every delta lacks the factor 1 + e^epsilon of Corollary 6.2 (first row: "
        f"{factor:.3g} with it). The values hold all the same, by a proof that needs no factor. "
        "The corollary's exponent has nu for n, a misprint.",
        "Tables 6.3 and 6.4: every delta takes F(a - w/2) for F(a + w/2). By the corollary that "
        f"of the first row is {wrong:.3g}, not 2.05e-08. As statements they hold too, as the "
        "sum's own profile is far below.",
        "The proof of Theorem 6.7 doesn't hold as printed: what it discloses of a record shows "
        "whether it failed, and its simulator's middle (w_2 - w_1)/2 must be (w_1 + w_2)/2. The "
        "theorem is true.",
        "Corollary 6.3 is false for classes of laws with different supports: one simulator must "
        "serve them all. Its classes need common bounds, and w is their width.",
        "Section 6.4's formula of least squares holds for one predictor alone: with several, "
        "(sum |g|^2)^-1 sum gh isn't least squares.",
        "Our own bound, from the sum's privacy profile, has at the printed delta an epsilon "
        f"smaller than the printed one by a factor of {gain('table_6_1')} (uniform), "
        f"{gain('table_6_2')} (top-coded normal), {gain('table_6_3')} (two means) and "
        f"{gain('table_6_4')} (g^2 and gh).",
    )


def errata() -> Table:
    """Tabulate the errata of Groce (2014)."""
    return errata_table("groce")


reproduce = partial(
    compute_tables,
    title="Exact sums without noise: Groce's tables beside exact values",
    source=SOURCE,
    parts=(uniform_table, top_coded_table, means_table, products_table, errata),
    findings=_findings,
)
