"""Commands `bayesdp ledger`: budgets on the command line. Heavy imports wait till needed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Force, Json
from bayesdp.cli.printed import print_json, print_next
from bayesdp.errors import InvalidInput, quoted

if TYPE_CHECKING:
    from bayesdp.privacy.ledger import DatasetLedger

app = typer.Typer(
    help="Privacy budgets of datasets, and what was spent of them.", no_args_is_help=True
)

Url = Annotated[
    str, typer.Argument(help="sqlite:///budget.db or postgresql+psycopg://user@host/database")
]
Name = Annotated[str, typer.Argument(help="The dataset's name.")]
Key = Annotated[
    str | None, typer.Option(help="File of the key of signed heads, made by `ledger key`.")
]
Extends = Annotated[
    Path | None,
    typer.Option(help="An export or a head that was kept; the history must begin with it."),
]
Relation = Annotated[
    str, typer.Option(help="Neighbouring relation: add_remove, replace_one, edge or node.")
]


@app.command()
def create(
    url: Url,
    dataset: Name,
    epsilon: Annotated[float, typer.Option(help="The total epsilon that may ever be spent.")],
    neighbours: Relation,
    delta: Annotated[float, typer.Option(help="The total delta that may ever be spent.")] = 0.0,
    conversion_delta: Annotated[
        float | None,
        typer.Option(help="Part of delta set aside for concentrated composition; default: half."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Set the privacy budget of a dataset, once and for all."""
    from bayesdp.privacy.ledger import Ledger

    made = Ledger.open(url).create(
        dataset,
        epsilon=epsilon,
        delta=delta,
        conversion_delta=conversion_delta,
        neighbours=neighbours,
    )
    kept = made.budget.conversion_delta
    if as_json:
        print_json({"dataset": made.name, "budget": _cost(made.budget), "conversion_delta": kept})
        return
    typer.echo(
        f"dataset {made.name} may spend epsilon = {epsilon}, delta = {delta} ({neighbours})"
        + (f"; delta = {kept} of it is kept for concentrated composition" if kept else "")
    )
    print_next(f"bayesdp synthesize DATA ... --ledger URL --dataset {shlex.quote(made.name)}")


@app.command()
def show(
    url: Url,
    dataset: Annotated[
        str | None, typer.Argument(help="A dataset, to show its history; default: all datasets.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what was spent and what is left."""
    from bayesdp.privacy.ledger import Ledger
    from bayesdp.privacy.ledger_filter import cost, largest_rho

    ledger = Ledger.open(url)
    names = ledger.datasets() if dataset is None else [dataset]
    if not names:
        raise InvalidInput(
            f"the ledger {quoted(url)} is empty; give a dataset its budget with `create`"
        )
    if as_json:
        print_json([_told(ledger.dataset(name), history=dataset is not None) for name in names])
        return
    budgets: list[tuple[Any, ...]] = []
    for name in names:
        of = ledger.dataset(name)
        budget, spent, rest = of.budget, of.spent(), of.remaining()
        limit = largest_rho(budget)
        budgets.append(
            (
                name,
                budget.neighbours.value,
                len(of.history()),
                cost_text(budget),
                cost_text(spent),
                f"{cost(of.history()).rho:.6g} of {limit:.6g}" if limit else "-",
                cost_text(rest),
                spent.strength.value,
            )
        )
    _print(
        "Budgets (epsilon, delta)",
        ("dataset", "neighbours", "spends", "budget", "spent", "rho", "left", "strength"),
        budgets,
    )
    if dataset is not None:
        _print(
            "History",
            ("entry", "time (UTC)", "charged", "strength", "released"),
            [
                (
                    entry.position,
                    entry.at,
                    cost_text(entry),
                    entry.guarantee.strength.value,
                    json.dumps(entry.released),
                )
                for entry in of.history()
            ],
        )


@app.command()
def spend(
    url: Url,
    dataset: Name,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the release's promise.")],
    neighbours: Relation,
    mechanism: Annotated[str, typer.Option(help="The mechanism's name.")],
    source: Annotated[str, typer.Option(help="Where the promise is proved: paper and theorem.")],
    delta: Annotated[float, typer.Option(help="Delta of the release's promise.")] = 0.0,
    strength: Annotated[
        str, typer.Option(help="Strength of the promise: proved, conditional or as_published.")
    ] = "conditional",
    parameters: Annotated[
        str, typer.Option(help="The mechanism's public parameters, as a JSON object.")
    ] = "{}",
    accept_unproved: Annotated[
        bool, typer.Option("--accept-unproved", help="Charge a promise that isn't proved.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Record the cost of a release that another program is about to make."""
    from bayesdp.privacy.guarantee import Guarantee, check_strength
    from bayesdp.privacy.ledger import Ledger
    from bayesdp.privacy.neighbours import check_neighbours

    promise = Guarantee(
        epsilon=epsilon,
        delta=delta,
        neighbours=check_neighbours(neighbours),
        strength=check_strength(strength),
        assumptions=(),
        source=source,
    )
    released = {"mechanisms": [{"name": mechanism, "parameters": _object(parameters)}]}
    budget = Ledger.open(url).dataset(dataset)
    entry = budget.spend(promise, released, accept_unproved=accept_unproved)
    if as_json:
        print_json({"entry": entry.position, "left": _cost(budget.remaining())})
        return
    typer.echo(f"recorded as entry {entry.position}; left: {cost_text(budget.remaining())}")


@app.command()
def verify(
    ledger: Annotated[str, typer.Argument(help="URL of a ledger, or the file of an export.")],
    head: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=HASH as printed earlier; must still be in the history."),
    ] = None,
    extends: Extends = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Check every row, and print each dataset's last hash, to keep elsewhere."""
    from bayesdp.privacy.ledger import Ledger

    heads = dict(_head(text) for text in head or [])
    is_file = "://" not in ledger
    if is_file:
        found = Ledger.verify_export(ledger, heads, extends=extends, key=key)
    else:
        found = Ledger.open(ledger).verify(heads, extends=extends, key=key)
    if as_json:
        print_json({"heads": found, "sound": True})
        return
    _print_heads(found)
    signed = "and signed with this key" if key else "and no signature was checked"
    typer.echo(f"the export is sound, {signed}" if is_file else "the ledger is sound")


@app.command()
def export(
    url: Url,
    out: Annotated[Path | None, typer.Option(help="File to write; default: print it.")] = None,
    key: Key = None,
    extends: Extends = None,
    head_only: Annotated[
        bool, typer.Option("--head-only", help="Write budgets, counts and last hashes alone.")
    ] = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write all budgets and entries as text, to verify and restore; signed with --key."""
    from bayesdp.display.words import count_of
    from bayesdp.privacy.ledger import Ledger

    if as_json and out is None:
        raise InvalidInput(
            "json is for what is said of a file, and none is named: give --out; an export is lines "
            "of JSON itself"
        )
    ledger = Ledger.open(url)
    text = ledger.export(out, key=key, extends=extends, head_only=head_only, force=force)
    if out is None:
        typer.echo(text, nl=False)
        return
    lines = text.count("\n")
    if as_json:
        print_json({"out": str(out), "lines": lines, "signed": key is not None})
        return
    typer.echo(f"{out}: {count_of(lines, 'line')}{', signed' if key else ''}")
    print_next(
        f"bayesdp ledger verify {'URL --extends ' if head_only else ''}{shlex.quote(str(out))}"
        + (f" --key {shlex.quote(key)}" if key else "")
    )


@app.command()
def restore(
    url: Url,
    file: Annotated[Path, typer.Argument(help="An export.")],
    extends: Extends = None,
    key: Key = None,
    as_json: Json = False,
) -> None:
    """Write an export's budgets and entries into a ledger that has none."""
    from bayesdp.privacy.ledger import Ledger

    heads = Ledger.open(url).restore(file, extends=extends, key=key)
    if as_json:
        print_json({"heads": heads})
        return
    _print_heads(heads)
    typer.echo("restored; what was spent after that export is forgotten: never use the old ledger")


@app.command()
def key(
    file: Annotated[Path, typer.Argument(help="File to write, which only you can read.")],
    as_json: Json = False,
) -> None:
    """Make a key to sign heads of ledgers with."""
    from bayesdp.privacy.ledger_key import make_key

    make_key(file)
    if as_json:
        print_json({"out": str(file)})
        return
    typer.echo(f"{file}: a new key; keep it where nobody who writes to the ledger can read it")


@app.command()
def roles(
    auditor: Annotated[
        str, typer.Option(help="Role that may verify and export.")
    ] = "ledger_auditor",
    spender: Annotated[str, typer.Option(help="Role that may spend, too.")] = "ledger_spender",
    as_json: Json = False,
) -> None:
    """Print PostgreSQL's SQL for who may only read a ledger, and who may only add to it."""
    from bayesdp.privacy.ledger_store import roles

    sql = roles(auditor, spender)
    if as_json:
        print_json({"sql": sql})
        return
    typer.echo(sql, nl=False)


def open_account(url: str | None, dataset: str | None) -> DatasetLedger | None:
    """Return the budget that the two options name, or None where neither is given."""
    if (url is None) != (dataset is None):
        raise InvalidInput("ledger and dataset go together: --ledger URL --dataset NAME")
    if url is None or dataset is None:
        return None
    from bayesdp.privacy.ledger import Ledger

    return Ledger.open(url).dataset(dataset)


def _told(dataset: DatasetLedger, *, history: bool) -> dict[str, Any]:
    """A dataset's budget and what is left of it, and each entry of its history."""
    from bayesdp.privacy.ledger_filter import cost, largest_rho

    budget, spent, entries = dataset.budget, dataset.spent(), dataset.history()
    told: dict[str, Any] = {
        "dataset": dataset.name,
        "neighbours": budget.neighbours,
        "spends": len(entries),
        "budget": _cost(budget),
        "conversion_delta": budget.conversion_delta,
        "spent": _cost(spent) | {"rho": cost(entries).rho},
        "largest_rho": largest_rho(budget),
        "left": _cost(dataset.remaining()),
        "strength": spent.strength,
    }
    if history:
        told["history"] = [
            {"entry": each.position, "at": str(each.at), "charged": _cost(each)}
            | {"strength": each.guarantee.strength, "released": each.released}
            for each in entries
        ]
    return told


def _cost(cost: Any) -> dict[str, float]:
    return {"epsilon": cost.epsilon, "delta": cost.delta}


def _print(title: str, headings: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console().print(table)


def cost_text(cost: Any) -> str:
    """Epsilon, and delta unless it is zero, with all their digits."""
    return f"{cost.epsilon}" if cost.delta == 0 else f"{cost.epsilon}, {cost.delta}"


def _print_heads(heads: dict[str, str]) -> None:
    for name, last in heads.items():
        typer.echo(f"{name}={last}")


def _head(text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (name and equals and value):
        raise InvalidInput(f"head is {quoted(text)}; it must be DATASET=HASH")
    return name, value


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"parameters is {quoted(text)}; it must be a JSON object") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"parameters is {quoted(text)}; it must be a JSON object")
    return value
