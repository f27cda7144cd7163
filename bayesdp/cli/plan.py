"""Command `bayesdp plan`: which epsilon is needed. Heavy imports wait until it runs."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayesdp.cli import options
from bayesdp.cli.completion import model_names
from bayesdp.cli.printed import print_json, print_next, rows_of
from bayesdp.cli.tables import print_table, progress_bar
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import MODELS

if TYPE_CHECKING:
    from bayesdp.evaluation.planning.result import Plan

TABLE, PICTURE = "plan.csv", "plan.png"
_PLANNED = ("binomial", "gamma", "gaussian", "linear_regression", "multinomial", "poisson")
"""Families whose data `evaluation.planning.expected` makes up, which takes a while to load."""


def plan(
    width: Annotated[
        float, typer.Option("--width", "--target", help="Largest length of the interval.")
    ],
    family: Annotated[
        str,
        typer.Option(
            help=f"Model family: {', '.join(_PLANNED)}; bdp.plan(simulate=...) plans any other.",
            autocompletion=model_names,
        ),
    ] = "binomial",
    prior: Annotated[
        str | None, typer.Option(help="Numbers of the prior, such as 1,1 for a beta prior.")
    ] = None,
    n: Annotated[
        str | None,
        typer.Option(help="Number of records, or a range if it is confidential: 500:1500."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the model, as TOML: 'sd = 1.5'."),
    ] = None,
    mechanisms: Annotated[
        str | None,
        typer.Option(help="Mechanisms by name: beta_binomial,discrete_laplace; default: all."),
    ] = None,
    synthesizer: Annotated[
        list[str] | None,
        typer.Option(help="One more, as TOML: 'name = \"modips\", family = {kind = ...}'."),
    ] = None,
    copies: Annotated[
        str | None, typer.Option(help="Numbers of copies; default: 1,5,20, or a synthesizer's own.")
    ] = None,
    epsilon_range: Annotated[
        str, typer.Option(help="Smallest and largest epsilon to consider.")
    ] = "0.05,10",
    delta: Annotated[float, typer.Option(help="Delta at which promises are stated.")] = 0.0,
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    assurance: Annotated[
        float | None,
        typer.Option(help="Share of releases whose intervals must be short; default: the mean is."),
    ] = None,
    design_prior: Annotated[
        str | None,
        typer.Option(help="Prior of the data, if not the model's: 20,80, or one proportion."),
    ] = None,
    estimand: Annotated[
        str | None,
        typer.Option(help="Estimand: a category, mu, sigma, or one of several as beta:age."),
    ] = None,
    attacker_prior: Annotated[
        float, typer.Option(help="An attacker's prior probability of a record's value.")
    ] = 0.5,
    replicates: Annotated[int | None, typer.Option(help="Simulations for each number.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the table (CSV) and the map (PNG).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an earlier plan there.")] = False,
    as_json: options.Json = False,
) -> None:
    """Find the smallest epsilon that makes an interval short enough, before there are data."""
    from bayesdp.evaluation.declarations import model_of
    from bayesdp.evaluation.planning.plan import plan as planned
    from bayesdp.storage import check_target, whole_folder

    if out is not None:
        check_target(out, TABLE, force=force)
    if family in set(MODELS) - {*_PLANNED}:
        raise InvalidInput(
            f"family is {quoted(family)}, whose data this command doesn't make up; it does for "
            f"{', '.join(_PLANNED)}. For any other write in Python bdp.plan(model, n, "
            "mechanisms=[...], simulate=...), a function that makes up data and the true value"
        )
    declared = options.parameters(parameters or [])
    if prior is not None:
        declared["prior"] = options.prior(prior)
    size = None if n is None else options.sizes(n)
    if isinstance(size, range):
        declared.setdefault("n", size)
    model = model_of(family, declared)
    expected = None if design_prior is None else options.prior(design_prior, "design_prior")
    among = _mechanisms(mechanisms, synthesizer or [])
    question: dict[str, Any] = {
        "mechanisms": among,
        "epsilon": options.pair("epsilon_range", epsilon_range, "0.05,10"),
        "copies": None if copies is None else _whole(copies),
        "design_prior": expected,
        "estimand": _estimand(estimand),
    }
    with options.said_as("width", "target"), progress_bar() as step:
        planned_release = planned(
            model,
            size,
            target=width,
            **question,
            level=level,
            assurance=assurance,
            delta=delta,
            attacker_prior=attacker_prior,
            replicates=replicates,
            seed=seed,
            progress=step,
        )
    if not as_json:
        _print(planned_release)
        typer.echo(planned_release.why())
    with nullcontext() if out is None else whole_folder(out, TABLE, force=force) as work:
        if work is not None:
            planned_release.table.to_csv(work / TABLE, index=False)
            figure: Any = planned_release.plot().figure
            figure.savefig(work / PICTURE, dpi=200)
    if as_json:
        print_json(_told(planned_release))
        return
    if out is not None:
        typer.echo(f"table and map written to {out}")
    print_next(_synthesize_line(planned_release))


def _told(plan: Plan) -> dict[str, Any]:
    said = ("mechanism", "copies", "epsilon", "target", "level", "assurance", "n", "attacker_prior")
    told = {name: getattr(plan, name) for name in said}
    told["n"] = [min(plan.n), max(plan.n)] if isinstance(plan.n, range) else plan.n
    best = [
        {"mechanism": mechanism, "copies": copies, "epsilon": epsilon}
        for (mechanism, copies), epsilon in plan.best.items()
    ]
    why = {"why": plan.why(), "next": _synthesize_line(plan)}
    return told | {"best": best, "table": rows_of(plan.table)} | why


def _synthesize_line(plan: Plan) -> str | None:
    """The command that releases a column as planned, where its mechanism has a synthesizer."""
    from bayesdp.evaluation.declarations import SYNTHESIZERS

    if plan.mechanism not in SYNTHESIZERS:
        return None
    copies = f" --copies {plan.copies}" if plan.copies > 1 else ""
    return (
        f"bayesdp synthesize DATA --synthesizer {plan.mechanism} --column NAME "
        f"--epsilon {plan.epsilon:g}{copies} --out release/"
    )


def _mechanisms(names: str | None, declared: list[str]) -> Any:
    """Names and synthesizers, or None where neither is given."""
    import tomllib

    from bayesdp.evaluation.declarations import synthesizer_of

    if names is None and not declared:
        return None
    designs: dict[str, Any] = {name: name for name in (names or "").split(",") if name}
    for text in declared:
        try:
            table = tomllib.loads("it = {" + text + "}")["it"]
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(
                f'synthesizer is {quoted(text)}; it must be TOML, as \'name = "modips", family = '
                f'{{kind = "gaussian", bounds = [100, 240]}}\': {error}'
            ) from error
        name = table.pop("name", None)
        if not isinstance(name, str):
            raise InvalidInput(f"synthesizer is {quoted(text)}; it must have a name")
        label = name if name not in designs else f"{name} {len(designs) + 1}"
        designs[label] = synthesizer_of(name, {"epsilon": 1.0, **table})
    return designs


def _whole(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(
            f"copies is {quoted(text)}; it must be whole numbers, as 1,5,20"
        ) from None


def _estimand(text: str | None) -> Any:
    if text is None:
        return None
    if text.isdecimal():
        return int(text)
    name, colon, label = text.partition(":")
    return (name, label) if colon else text


def _print(plan: Plan) -> None:
    """Print each design at the smallest epsilon that meets the target, or else at the largest."""
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    title = f"The smallest epsilon for a {100 * plan.level:g}% interval"
    table = Table(title=title, box=SIMPLE, pad_edge=False)
    for heading in ("mechanism", "copies", "epsilon", "length", "ratio", "coverage", "attacker"):
        table.add_column(
            heading, justify="left" if heading == "mechanism" else "right", no_wrap=True
        )
    for (name, copies), epsilon in plan.best.items():
        rows = plan.table[(plan.table["mechanism"] == name) & (plan.table["copies"] == copies)]
        at = rows["epsilon"].max() if epsilon is None else epsilon
        row = rows[rows["epsilon"] == at].iloc[0]
        table.add_row(
            escape(name),
            str(copies),
            f"> {at:g}" if epsilon is None else f"{at:g}",
            f"{row[plan.criterion]:.4g}",
            f"{row['ratio']:.3g}" if row["ratio"] == row["ratio"] else "-",
            f"{row['coverage']:.3f}",
            f"{row['attacker']:.5g}",
        )
    print_table(table)
