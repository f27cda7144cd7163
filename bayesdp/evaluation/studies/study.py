"""Replicated simulation: synthesizers and analyses over a grid, many times over."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.checks import (
    check_at_least,
    check_at_least_one,
    check_called,
    check_flag,
    check_path,
    keep,
)
from bayesdp.errors import InvalidInput, quoted, without_secrets
from bayesdp.evaluation.studies.addresses import is_address
from bayesdp.evaluation.studies.calls import named, taken
from bayesdp.evaluation.studies.cells import (
    Cell,
    Plan,
    Unit,
    cells,
    failed_row,
    is_synthesizer,
    run_unit,
    shown,
    unit_of,
)
from bayesdp.evaluation.studies.dask_clients import check_client
from bayesdp.evaluation.studies.grid import (
    check_analysis,
    check_cell,
    check_data,
    check_one_truth,
    checked_grid,
    checked_truth,
    kind_of,
)
from bayesdp.evaluation.studies.models import ModelAnalysis, is_model
from bayesdp.evaluation.studies.progress import Progress, told
from bayesdp.evaluation.studies.results import StudyResults, results_of
from bayesdp.evaluation.studies.runner import WorkerDied, packed, run_tasks
from bayesdp.evaluation.studies.store import Row, opened

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """Simulation study: release data repeatedly, by synthesizers over a grid, and analyse each.

    Functions are called with the arguments that they name, so that they name only what they need.

    Parameters
    ----------
    data : records, or function
        Records for the synthesizers: a DataFrame, an array, a `Count`. Or a function of a numpy
        Generator (its first argument) and any grid keys that it names, which draws them anew for
        each replicate; it may return ``bdp.evaluate.Simulated(data, truth)``.
    synthesizers : list, or mapping of names
        Classes, functools.partial objects or functions, called with the grid keys that they
        name, which return an object with ``release(data)``; or such objects, which take no keys.
    analyses : list, or mapping of names
        Models, such as ``bdp.BinomialModel()``, for which the posterior's mean, sd and 95% interval
        are kept (`ModelAnalysis` has options); or functions of a release (their first argument)
        and, if they name them, ``generator`` and the confidential ``data``. They return a mapping
        of names to numbers, or such a mapping for each estimand. The summary uses the names mean,
        low and high. Neither numbers nor keys of the grid may be called as columns that the results
        or the summary have anyway, as "coverage", or as each other.
    grid : mapping of str to list
        Values of each key: numbers, words, or tuples of them. A synthesizer runs only over the keys
        that it or the data depend on.
    replicates : int
        Number of replicates of each cell.
    seed : int
        Seed of the study. A replicate of a cell depends on it and on the names of synthesizer and
        analysis, not on the rest of the study or on where it runs.
    truth : number, mapping of str to number, or function, optional
        True value of the estimand, or of each estimand by its name; or a function of the data that
        returns one of these. Not beside that of `bdp.evaluate.Simulated`.
    public : bool, optional
        Whether the data are public or simulated, so that any error's message may be kept. By
        default true where `data` is a function; otherwise only bayesdp's own messages are kept,
        which show nothing confidential.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, nothing takes a grid key, or a synthesizer refuses the
        values of a cell.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> study = bdp.Study(data=[0, 1, 1, 0] * 25, synthesizers=[bdp.BetaBinomialSynthesizer],
    ...                   analyses=[bdp.BinomialModel()], grid={"epsilon": [0.5, 2.0]},
    ...                   replicates=20, seed=7, truth=0.5)
    >>> results = study.run(out="study", client=None)
    >>> list(results.summary()["epsilon"])
    [0.5, 2.0]
    """

    data: Any = field(repr=False)  # they may be confidential
    synthesizers: Any
    analyses: Any
    grid: Mapping[str, Any]
    replicates: int = 100
    seed: int
    truth: Any = None
    public: bool | None = None
    _plan: Plan = field(init=False, repr=False)
    _cells: tuple[Cell, ...] = field(init=False, repr=False)
    _grid: dict[str, list[Any]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        keep(self, replicates=check_at_least_one("replicates", self.replicates))
        check_data(self.data)
        if self.public is not None:
            check_flag("public", self.public)
        keep(self, seed=check_at_least("seed", self.seed, 0))
        grid = checked_grid(self.grid)
        synthesizers = named("synthesizers", self.synthesizers)
        analyses = {
            name: ModelAnalysis(each) if is_model(each) else each
            for name, each in named("analyses", self.analyses).items()
        }
        for name, analysis in analyses.items():
            check_analysis(name, analysis, grid)
            taken(f"analysis {quoted(name)}", analysis, 1, ["generator", "data"])
        simulated = callable(self.data)
        of_data = taken("data", self.data, 1, grid) if simulated else []
        concerned = {
            name: {*of_data, *_keys_of(name, maker, grid)} for name, maker in synthesizers.items()
        }
        idle = set(grid) - {key for keys in concerned.values() for key in keys}
        if idle:
            raise InvalidInput(
                f"grid has {sorted(idle)}, which no synthesizer and no data function takes; the "
                "synthesizers' arguments are the grid's keys"
            )
        plan = Plan(
            data=self.data,
            synthesizers=synthesizers,
            analyses=analyses,
            truth=checked_truth(self.truth),
            seed=int(self.seed),
            public=simulated if self.public is None else self.public,
            data_keys=tuple(of_data),
            keys=tuple(grid),
        )
        every = tuple(cells(concerned, grid))
        for cell in every:
            check_cell(plan, cell)
        for name, value in (("_plan", plan), ("_cells", every), ("_grid", grid)):
            object.__setattr__(self, name, value)

    def run(
        self,
        out: str | Path,
        *,
        client: Client | str | None = "local",
        workers: int | None = None,
        retry_failed: bool = False,
        progress: Progress | None = None,
    ) -> StudyResults:
        """Compute the results that the folder lacks, add them as they come, and return all.

        If it is killed at any time, the same call resumes where it stopped. A study of the same
        seed, data, synthesizers and analyses may also be extended in its folder: by more
        replicates, other values in the grid, other synthesizers or other analyses. A function is
        the same while its code is, and the global values, functions and classes of your own that
        it refers to.

        Parameters
        ----------
        out : path
            The study's folder on this machine, made if it doesn't exist; `StudyResults.save` writes
            to object stores. It carries no privacy promise, and results from confidential data must
            be kept as confidential as the data.
        client : "local", str, Client or None
            "local": processes of this machine, which end with this one. A scheduler's address, or a
            `distributed.Client`: a cluster whose workers have the same bayesdp and Python. None:
            this process. A script with "local" needs ``if __name__ == "__main__":``.
        workers : int, optional
            Number of processes of "local"; by default one for each core.
        retry_failed : bool
            Whether to compute failed replicates again.
        progress : callable, optional
            Called with the number of replicates of cells that are done, and the total. By default a
            bar with the time left is drawn on a terminal or in a notebook.

        Raises
        ------
        InvalidInput
            If an argument is wrong, the study can't be sent to another process, or the folder holds
            another study or something else; nothing there is changed then. Also if a worker has
            another bayesdp or Python, or `truth` is given beside that of the data's function.
        MissingDependency
            If `client` isn't None and Dask isn't installed.
        StudyStopped
            If the scheduler can't be reached or is lost, the disk is full, or another process is
            running the same study; what was finished is kept.
        """
        check_client(client, workers)
        check_called("progress", progress)
        if is_address(out):
            address = without_secrets(str(out)).rstrip("/")
            raise InvalidInput(
                f"out is {quoted(address)}; a study runs in a folder of this machine, which can be "
                "locked: give one, and save what it returns at an address, as "
                f"results.save({quoted(f'{address}.parquet')})"
            )
        folder, plan = check_path("out", out), self._plan
        check_one_truth(plan, self._cells[0])
        if client is not None:
            packed(self._plan)  # so that what can't be sent leaves no folder behind
        with opened(folder, self._identity(), self._public(), tuple(self._grid)) as store:
            units = self._missing(store.units(), retry_failed)
            whole = len(self._cells) * self.replicates
            done = whole - len(units)
            running = run_tasks(run_unit, plan, units, client=client, workers=workers)
            with told(progress) as tell, closing(running) as batches:
                tell(done, whole)
                for batch in batches:
                    for unit, rows in batch:
                        store.append(_died(unit) if isinstance(rows, WorkerDied) else rows)
                    done += len(batch)
                    tell(done, whole)
            store.merge()
        return results_of(folder, self._units())

    def _missing(self, there: Mapping[str, bool], retry_failed: bool) -> list[Unit]:
        """List the units to compute: replicate by replicate, so that all cells grow together."""

        def wanted(unit: str) -> bool:
            return unit not in there or (retry_failed and there[unit])

        units = []
        for replicate in range(self.replicates):
            for cell in self._cells:
                names = [n for n in self._plan.analyses if wanted(unit_of(cell, n, replicate))]
                if names:
                    units.append(Unit(cell, replicate, tuple(names)))
        return units

    def _units(self) -> set[str]:
        """List the units that this declaration asks for: its folder may hold more."""
        return {
            unit_of(cell, name, replicate)
            for cell in self._cells
            for name in self._plan.analyses
            for replicate in range(self.replicates)
        }

    def _identity(self) -> dict[str, Any]:
        """Parts of the declaration that rows depend on, by the names that an error gives them."""
        plan = self._plan
        kinds = {f"the kind of grid key {k!r}": kind_of(k, v) for k, v in self._grid.items()}
        return {
            "the seed": plan.seed,
            "the data": plan.data,
            "the truth": plan.truth,
            **{f"synthesizer {name!r}": each for name, each in plan.synthesizers.items()},
            **{f"analysis {name!r}": each for name, each in plan.analyses.items()},
            **kinds,
        }

    def _public(self) -> dict[str, Any]:
        return {
            "grid": {key: [shown(value) for value in of] for key, of in self._grid.items()},
            "replicates": self.replicates,
            "synthesizers": list(self._plan.synthesizers),
            "analyses": list(self._plan.analyses),
        }


def _keys_of(name: str, maker: Any, grid: Mapping[str, Any]) -> list[str]:
    return [] if is_synthesizer(maker) else taken(f"synthesizer {quoted(name)}", maker, 0, grid)


def _died(unit: Unit) -> list[Row]:
    """Make rows for a replicate that repeatedly ended its worker."""
    message = "the worker process ended while it ran, perhaps out of memory"
    return [
        failed_row(unit.cell, name, unit.replicate, "WorkerDied", message) for name in unit.analyses
    ]
