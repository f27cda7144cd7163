"""Tasks whose results are added to a file as they are done, so that a stopped run can resume."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bayesdp._version import __version__
from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.studies.runner import Function, Task, run_here_or_local
from bayesdp.mechanisms.randomness import reproducible
from bayesdp.papers.reproduction import MARKER
from bayesdp.storage import check_target

Progress = Callable[[str, float], None]


def checked_journal(
    out: Path,
    called: str,
    numbers: Mapping[str, tuple[int, int]],
    *,
    seed: int,
    workers: int | None,
    force: bool,
) -> Path:
    """Return the path of a reproduction's journal, beside its folder; check its parameters.

    Parameters
    ----------
    out : Path
    called : str
        Name of the tasks, in the plural.
    numbers : mapping of pairs
        Each parameter's value and smallest allowed value, by its name.
    seed, workers, force
        As for the reproduction.

    Raises
    ------
    InvalidInput, ReleaseExists
        As for the reproduction.
    """
    for name, (value, least) in numbers.items():
        if check_at_least_one(name, value) < least:
            raise InvalidInput(f"{name} is {value}; it must be at least {least}")
    if workers is not None:
        workers = check_at_least_one("workers", workers)
    with reproducible(seed):  # refuses a bad seed
        check_target(out, MARKER, force=force)
    return out.parent / f"{out.name}.{called}.jsonl"


def run_kept(
    journal: Path,
    study: Mapping[str, Any],
    function: Function,
    shared: Any,
    tasks: Sequence[Task],
    *,
    called: str,
    cost: Callable[[Task], float] | None = None,
    workers: int | None = None,
    tell: Progress = lambda what, done: None,
) -> list[Any]:
    """Run tasks and keep their results; those whose results are in the journal aren't run again.

    Parameters
    ----------
    journal : Path
        A file to which each result is added, and synced to disk, as soon as it is there.
    study : mapping
        Everything that results depend on besides their task's position.
    function : callable
        A function of `shared` and a task, whose result must survive a round trip through JSON.
    shared : object
        What all tasks share.
    tasks : sequence
        Tasks to run.
    called : str
        Name of the tasks, in the plural.
    cost : callable, optional
        Approximate time of a task, where it varies much: the longest start first.
    workers : int, optional
        Number of processes, by default one for each core; 1 runs in this process.
    tell : callable
        Called with the name of the current step and the fraction done.

    Raises
    ------
    InvalidInput
        If the journal is of another study.
    StudyStopped
        If a worker process ends.
    """
    results = {
        row["task"]: row["found"] for row in opened(journal, {"bayesdp": __version__, **study})
    }
    missing = [k for k in range(len(tasks)) if k not in results]
    done = len(tasks) - len(missing)
    longest = None
    if cost is not None:
        missing.sort(key=lambda k: -cost(tasks[k]))
        longest = 1  # a batch of several could end long after all others
    tell(f"{done} of {len(tasks)} {called}", done / len(tasks))
    running = run_here_or_local(
        _numbered, (function, shared), [(k, tasks[k]) for k in missing],
        workers=workers, longest=longest,
    )  # fmt: skip
    with closing(running):
        for (k, _), result in running:
            results[k] = result
            append(journal, {"task": k, "found": result})
            done += 1
            tell(f"{done} of {len(tasks)} {called}", done / len(tasks))
    return [results[k] for k in range(len(tasks))]


def _numbered(shared: tuple[Function, Any], task: tuple[int, Task]) -> Any:
    function, rest = shared
    return function(rest, task[1])


def opened(journal: Path, study: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Read the rows in a journal, made if there is none; a last line cut off is removed.

    Raises
    ------
    InvalidInput
        If the journal is of another study.
    """
    if journal.exists():
        whole, newline, _ = journal.read_bytes().rpartition(b"\n")
        lines = whole.split(b"\n") if newline else []
        if lines:
            if lines[0] != json.dumps(study).encode():
                raise InvalidInput(
                    f"{quoted(journal)} holds replicates of another study, "
                    f"{lines[0].decode()}; delete it, or choose another folder to write"
                )
            with journal.open("r+b") as file:
                file.truncate(len(whole) + 1)
                os.fsync(file.fileno())
            return [json.loads(line) for line in lines[1:]]
        journal.unlink()
    append(journal, study)
    return []


def append(journal: Path, row: Mapping[str, Any]) -> None:
    """Append a row, and sync it to the disk."""
    with journal.open("ab") as file:
        file.write(json.dumps(row).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
