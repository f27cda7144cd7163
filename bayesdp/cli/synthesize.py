"""Command `bayesdp synthesize`: private copies of a column. Heavy imports wait until it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bayesdp.cli import options
from bayesdp.cli.ledger import cost_text, open_account
from bayesdp.errors import InvalidInput


def synthesize(
    data: Annotated[Path, typer.Argument(help="Confidential records: a CSV or Parquet file.")],
    column: Annotated[str, typer.Option(help="Column of answers: 0 and 1, or true and false.")],
    out: Annotated[Path, typer.Option(help="Release folder to write.")],
    epsilon: Annotated[float | None, typer.Option(help="Total privacy cost.")] = None,
    copies: Annotated[int, typer.Option(help="Number of synthetic copies.")] = 5,
    by: Annotated[str | None, typer.Option(help="Column of groups.")] = None,
    size: Annotated[int | None, typer.Option(help="Records per copy; default: n.")] = None,
    prior: Annotated[
        str | None, typer.Option(help="The mechanism's prior a,b, instead of epsilon.")
    ] = None,
    confidential_n: Annotated[
        bool, typer.Option("--confidential-n", help="Keep n confidential, and each record's group.")
    ] = False,
    groups: Annotated[
        str | None, typer.Option(help="All groups that may occur: a,b,c; their labels are public.")
    ] = None,
    all_groups: Annotated[
        bool,
        typer.Option(
            "--all-groups",
            help="Publish every label that occurs, even if most belong to one record.",
        ),
    ] = False,
    equals: Annotated[
        str | None, typer.Option(help="Value that counts as 1, as it is written; with --values.")
    ] = None,
    values: Annotated[
        str | None, typer.Option(help="All values that may occur: yes,no; public.")
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="Threshold: numbers above it count as 1.")
    ] = None,
    ledger: Annotated[str | None, typer.Option(help="URL of the ledger to spend from.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Dataset whose budget is charged, with --ledger.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier result there.")
    ] = False,
) -> None:
    """Release private copies of a yes/no column, and what they promise."""
    from bayesdp.release import MANIFEST
    from bayesdp.storage import check_target
    from bayesdp.synthesis.beta_binomial import BetaBinomialSynthesizer
    from bayesdp.synthesis.groups import sorted_labels
    from bayesdp.synthesis.tables import answers, check_values, group_labels, read_table

    check_target(out, MANIFEST, force=force)  # before anything is spent or drawn
    account = open_account(ledger, dataset)
    listed = options.groups(groups) if groups else None
    if all_groups and (listed or not by or confidential_n):
        raise InvalidInput(
            "all-groups publishes the labels that occur in --by; it goes with neither --groups nor "
            "--confidential-n"
        )
    possible = None if values is None else values.split(",")
    check_values(equals, possible, above)  # before the records are looked at
    text = [name for name, given in ((column, equals), (by, listed)) if name and given is not None]
    frame = read_table(data, [column, *([by] if by else [])], text=text)
    labels = group_labels(frame[by], listed) if by else None
    shown = list(listed.values()) if listed else None
    if all_groups and labels is not None:
        shown = sorted_labels(set(labels.dropna().tolist()))
    synthesizer = BetaBinomialSynthesizer(
        epsilon=epsilon,
        copies=copies,
        size=size,
        prior=options.pair("prior", prior) if prior else None,
        public_n=not confidential_n,
        groups=shown,
    )
    records = answers(frame[column], equals=equals, values=possible, above=above)
    release = synthesizer.release(records, by=labels, variable=column, ledger=account)
    release.save(out, force=force)
    typer.echo(f"released {release.copies} copies to {out}: {release.guarantee}")
    for assumption in release.guarantee.assumptions:
        typer.echo(f"  {assumption}")
    if account is not None:
        typer.echo(f"  left of {account.name}: {cost_text(account.remaining())}")
