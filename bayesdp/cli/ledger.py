"""Commands `bayesdp ledger`: budgets on the command line. Heavy imports wait till needed."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli.options import Json
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
        print_json({"dataset": dataset, "budget": _cost(made.budget), "conversion_delta": kept})
        return
    typer.echo(
        f"dataset {dataset} may spend epsilon = {epsilon}, delta = {delta} ({neighbours})"
        + (f"; delta = {kept} of it is kept for concentrated composition" if kept else "")
    )
    print_next(f"bayesdp synthesize DATA ... --ledger URL --dataset {shlex.quote(dataset)}")


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
    url: Url,
    head: Annotated[
        list[str] | None,
        typer.Option(help="DATASET=HASH as printed earlier; must still be in the history."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every row, and print each dataset's last hash, to keep elsewhere."""
    from bayesdp.privacy.ledger import Ledger

    heads = dict(_head(text) for text in head or [])
    found = Ledger.open(url).verify(heads)
    if as_json:
        print_json({"heads": found, "sound": True})
        return
    for name, last in found.items():
        typer.echo(f"{name}={last}")
    typer.echo("the ledger is sound")


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
