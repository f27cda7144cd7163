"""Reading of releases of a whole table: noisy counts of its marginals, or copies drawn by them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.drawn_table import DrawnColumns, DrawnTableView
from bayesdp.core.shared_sums import Counted
from bayesdp.core.views import MeasuredTableView, view_of
from bayesdp.engines.drawn_copies import Drawn
from bayesdp.engines.latent_classes import Copied, Noisy
from bayesdp.engines.latent_records import ABSENT, Problem
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import instead
from bayesdp.inference.several import Releases, releases_of
from bayesdp.inference.sizes import check_said_once
from bayesdp.release import Part

TableView = MeasuredTableView | DrawnTableView
Floats = NDArray[np.float64]

_A_COLUMN, _LEAST, _MOST = 4, 12, 60
"""Classes for each column, and the least and the most of them, where none are asked for."""


def problem_of(
    release: Releases,
    classes: int | None,
    n: int | None,
    *,
    rake: bool,
    concentration: tuple[float, float],
) -> Problem:
    """Read what was released of a table, and what the schema says of its columns.

    Parameters
    ----------
    release : Release, or several in a list
    classes : int or None
        Number of latent classes, if one is asked for.
    n : int or None
        Number of records, as far as the analyst knows it.
    rake : bool
        Whether latent tables are raked, where all noisy counts were released.
    concentration : tuple of two floats
        The least and the largest value that a concentration of the prior may have.

    Raises
    ------
    InvalidInput
        If a release has groups or isn't of a table, several aren't of one table, or nothing says
        how many records there are.
    """
    each, views = releases_of(release), views_of(release)
    schema, known = views[0].schema, {one.parts[0].mechanism.n for one in each} - {None}
    if any(view.schema != schema for view in views[1:]):
        raise InvalidInput("the releases have different schemas; fit those of one schema")
    pool = _pool(views)
    if len(known) > 1:
        raise InvalidInput("the releases have different public n; they aren't of one table")
    public = next(iter(known), None)
    check_said_once(n, public)
    n = public if n is None else n
    if large := [name for name, cells in schema.cells.items() if cells > ABSENT]:
        raise InvalidInput(
            f"column {quoted(large[0])} has {schema.cells[large[0]]:,} cells; a TableModel's "
            f"records hold {ABSENT:,} a column at most: give it bins, or group its labels"
        )
    parts = [(view, one.parts[0]) for view, one in zip(views, each, strict=True)]
    measured = [one for view, part in parts for one in _measured(view, part)]
    if n is None and not measured:
        raise InvalidInput(
            "n isn't in this release, and synthetic copies of a size that doesn't depend on it say "
            "next to nothing of it; give the model the number of records, as TableModel(n=1000)"
        )
    chosen = [
        view.choice(output)
        for view, part in parts
        if isinstance(view, MeasuredTableView) and view.choice is not None
        for output in part.outputs
    ]
    places = {name: k for k, name in enumerate(schema.cells)}
    rules = [{places[name]: mask for name, mask in rule.items()} for rule in schema.excluding]
    levels = tuple(schema.cells.values())
    classes = classes or min(max(_A_COLUMN * len(levels), _LEAST), _MOST)
    problem = Problem(levels, measured, n, rules, classes, rake, pool, chosen, concentration)
    copied = [one for view, part in parts for one in _copied(view, part, problem)]
    drawn = [one for view, part in parts for one in _drawn(view, part)]
    if not copied and not drawn:
        return problem
    return dataclasses.replace(problem, noisy=[*measured, *copied], drawn=drawn, rake=False)


def counted(problem: Problem, names: Sequence[str]) -> list[Counted]:
    """List the noisy counts that were released, by pool, and the number of records if known."""
    found = []
    for one in problem.released:
        columns = tuple(names[k] for k in one.columns)
        counts: Floats = one.counts
        noises: Floats = np.ones(counts.shape)
        if len(columns) == 1 and one.columns[0] in problem.pool:
            pool = problem.pool[one.columns[0]]
            counts, noises = (np.bincount(pool, each).astype(float) for each in (counts, noises))
        found.append(Counted(columns, counts, one.scale, one.gaussian, noises))
    if problem.n is not None:
        found.append(Counted((), np.array(float(problem.n)), 0.0, True))
    return found


def views_of(release: Releases) -> list[TableView]:
    """Return each release's view, or raise InvalidInput."""
    return [table_view(one.parts, one.by) for one in releases_of(release)]


def left_out(release: Releases) -> list[str]:
    """List the columns of releases that their views leave out, each once."""
    views = [view for view in views_of(release) if isinstance(view, DrawnTableView)]
    return list(dict.fromkeys(name for view in views for name in view.left_out))


def budget_share(release: Releases) -> float:
    """Share of the first release's budget that was spent on what its view has."""
    view = views_of(release)[0]
    return view.share() if isinstance(view, DrawnTableView) else 1.0


def table_view(parts: Sequence[Part], by: str | None) -> TableView:
    """Return the view of a release's part, of which there must be one, or raise InvalidInput."""
    if by is not None:
        raise InvalidInput("the release has groups; a TableModel reads releases of one table")
    mechanism = parts[0].mechanism
    view = view_of(mechanism, MeasuredTableView) or view_of(mechanism, DrawnTableView)
    if view is None:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't measure a table by a "
            "schema; a TableModel takes releases of bdp.TableSynthesizer, or copies that have "
            "categorical columns by bdp.synthesizers.SequentialModipsSynthesizer or "
            "SequentialDirichletMultinomialSynthesizer; "
            f"{instead(mechanism)}"
        )
    return view


def _measured(view: TableView, part: Part) -> Iterator[Noisy]:
    """Yield noisy counts that were released, output by output."""
    if not isinstance(view, MeasuredTableView):
        return
    for output in part.outputs:
        for one in view.measured:
            counts = np.array(output[one.slice], dtype=np.float64).reshape(one.shape)
            yield Noisy(one.columns, counts, one.cell.scale, not one.cell.noise.laplace)


def _copied(view: TableView, part: Part, problem: Problem) -> Iterator[Noisy]:
    """Yield copies' counts, output by output, with noisy counts in proportion to start from."""
    if not isinstance(view, DrawnTableView):
        return
    for step, seen in _steps(view, part):
        if step.cell is None:
            continue
        counts = np.rint(seen * (problem.size() / seen.sum()))
        low, high = step.cell.bounds or (None, None)
        ends = -math.inf if low is None else low, math.inf if high is None else high
        copied = Copied(seen, step.given, step.prior, ends)
        law = step.cell.scale, not step.cell.noise.laplace
        yield Noisy(step.columns, counts, *law, copied)


def _drawn(view: TableView, part: Part) -> Iterator[Drawn]:
    """Yield copies' counts where they were drawn by the table's own, output by output."""
    if not isinstance(view, DrawnTableView):
        return
    for step, seen in _steps(view, part):
        if step.cell is None:
            yield Drawn(step.columns, seen, step.given, step.prior, step.cost)


def _steps(view: DrawnTableView, part: Part) -> Iterator[tuple[DrawnColumns, Floats]]:
    """Yield each step of each output, and the copy's counts of its cells."""
    for output in part.outputs:
        codes = view.codes(output)
        for step in view.drawn:
            place = np.ravel_multi_index(tuple(codes[:, list(step.columns)].T), step.shape)
            seen = np.bincount(place, minlength=math.prod(step.shape)).reshape(step.shape)
            yield step, seen.astype(np.float64)


def _pool(views: Sequence[TableView]) -> dict[int, Any]:
    """The pool of each cell, by the columns' places, the same in all releases."""
    each = [view.pool if isinstance(view, MeasuredTableView) else {} for view in views]
    for pool in each[1:]:
        if set(pool) != set(each[0]) or not all(
            np.array_equal(pool[name], own) for name, own in each[0].items()
        ):
            raise InvalidInput(
                "the releases pool cells differently; fit them one by one, or draw the second with "
                "the first's cut points"
            )
    names = list(views[0].schema.cells)
    return {names.index(name): own for name, own in each[0].items()}
