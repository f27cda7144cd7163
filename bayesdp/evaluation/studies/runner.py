"""Runner of many independent tasks, here or on Dask, for studies and reproductions.

Tasks go out in batches whose length adapts to the time that they take, so that scheduling costs
little and results come every half second or so. A task's result may depend on the task alone,
never on its batch or its worker: the function must draw from a seed in the task.
"""

from __future__ import annotations

import functools
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from bayesdp._version import __version__
from bayesdp.errors import InvalidInput, StudyStopped
from bayesdp.evaluation.studies.dask_clients import LOCAL, check_client, connected
from bayesdp.optional import is_installed

if TYPE_CHECKING:
    from distributed import Client, Future

_BATCH = 0.5  # seconds that a batch should take
_LOOK, _ABSENCE = 5.0, 60.0  # seconds between looks for workers, and without any
_SMALL = 1 << 20  # bytes that go along with each batch; more are sent to the workers once
_alone = threading.Lock()  # a worker with threads runs one batch at a time: not all code is safe

T = TypeVar("T")
Task = Any
Function = Callable[[Any, Task], Any]
"""A function of what all tasks share and of one task, which returns the task's result."""


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """Result of a task during which the worker process ended, over and over."""


def run_tasks(
    function: Function,
    shared: Any,
    tasks: Sequence[Task],
    *,
    client: Client | str | None,
    workers: int | None = None,
    longest: int | None = None,
) -> Generator[list[tuple[Task, Any]]]:
    """Run tasks on a client and yield each with its result, in the order of their completion.

    A caller that may stop before the end must close the generator (`contextlib.closing`), and with
    it the processes that it started.

    Parameters
    ----------
    function : callable
        A function of (shared, task). An exception that it raises ends the run.
    shared : object
        What all tasks share; sent once to each worker.
    tasks : sequence
        Tasks, in the order in which they start.
    client : Client, str or None
        A `distributed.Client`; a scheduler's address, such as "tcp://10.0.0.1:8786"; "local" for
        processes of this machine; None for this process.
    workers : int, optional
        Number of processes of "local"; by default one for each core.
    longest : int, optional
        Largest number of tasks in a batch: 1 for tasks that take seconds, and vary.

    Raises
    ------
    InvalidInput
        If `client` or `workers` isn't one of these, or the tasks can't be sent to a worker.
    MissingDependency
        If another process is needed and Dask isn't installed.
    StudyStopped
        If the scheduler can't be reached or has no workers, or either is lost on the way.
    """
    check_client(client, workers)
    if not tasks:
        return
    if client is None:
        yield from _here(function, shared, tasks)
        return
    payload = packed((function, shared))
    with connected(client, min(workers or os.cpu_count() or 1, len(tasks))) as there:
        yield from _there(there, payload, tasks, longest or len(tasks))


def run_here_or_local(
    function: Function,
    shared: Any,
    tasks: Sequence[Task],
    *,
    workers: int | None = None,
    longest: int | None = None,
) -> Generator[tuple[Task, Any]]:
    """Run tasks in processes of this machine, or in this one; yield each with its result.

    Parameters
    ----------
    function, shared, tasks, longest
        As for `run_tasks`.
    workers : int, optional
        Number of processes; by default one for each core, or this process where Dask isn't
        installed. A single worker, or a single task, runs in this process.

    Raises
    ------
    InvalidInput, MissingDependency, StudyStopped
        As for `run_tasks`; also if a task ends its process.
    """
    cores = (os.cpu_count() or 1) if is_installed("distributed") else 1
    several = min(workers or cores, len(tasks))
    where: dict[str, Any] = {"client": None}
    if several > 1:
        where = {"client": LOCAL, "workers": several}
    with closing(run_tasks(function, shared, tasks, longest=longest, **where)) as batches:
        for task, result in (pair for batch in batches for pair in batch):
            if isinstance(result, WorkerDied):
                raise StudyStopped(
                    "a worker process ended, perhaps out of memory; what was finished is kept: "
                    "run it again, with fewer processes, to go on"
                )
            yield task, result


def packed(thing: Any) -> bytes:
    """Pickle an object for a worker, or raise InvalidInput.

    Raises
    ------
    InvalidInput
        If it can't be pickled: it holds a lock, an open file or a connection.
    """
    import cloudpickle

    try:
        return bytes(cloudpickle.dumps(thing))
    except Exception as error:  # pickling runs the objects' own code, which may raise anything
        raise InvalidInput(
            f"the study can't be sent to another process ({type(error).__name__}); define its "
            "functions in a module, without locks, open files or connections, or run it in this "
            "process with client=None"
        ) from error


@lru_cache(maxsize=2)
def _unpacked(payload: bytes) -> tuple[Function, Any]:
    import cloudpickle

    try:
        function, shared = cloudpickle.loads(payload)
    except Exception as error:
        raise InvalidInput(
            f"a worker can't load the study ({type(error).__name__}); define its functions in a "
            "module that the workers have"
        ) from error
    return function, shared


def _batch(payload: bytes, version: str, tasks: list[Task]) -> tuple[list[Any], float]:
    """Run a batch of tasks on a worker; return their results and the seconds that they took."""
    if version != __version__:
        raise InvalidInput(
            f"a worker has bayesdp {__version__}, and this process {version}; install the same"
        )
    with _alone, _one_thread():
        function, shared = _unpacked(payload)
        start = time.perf_counter()
        return [function(shared, task) for task in tasks], time.perf_counter() - start


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread of linear algebra, so that sums have the same order everywhere."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _here(
    function: Function, shared: Any, tasks: Sequence[Task]
) -> Generator[list[tuple[Task, Any]]]:
    with _one_thread():
        for task in tasks:
            yield [(task, function(shared, task))]


def _there(
    client: Client, payload: bytes, tasks: Sequence[Task], longest: int
) -> Generator[list[tuple[Task, Any]]]:
    """Yield batches' results from workers, each with two batches at a time, so that none waits."""
    done: queue.SimpleQueue[Future] = queue.SimpleQueue()
    workers = max(len(client.nthreads()), 1)
    held = payload
    if len(payload) > _SMALL:
        held = client.scatter(payload, broadcast=True, hash=False)
    waiting: dict[Future, list[Task]] = {}
    again: list[list[Task]] = []
    start, length = 0, 1

    def submit() -> bool:
        nonlocal start
        if again:
            batch = again.pop()
        else:
            # Short ones near the end, so that all workers end together.
            fair = max(math.ceil((len(tasks) - start) / (2 * workers)), length // 8)
            batch = list(tasks[start : start + min(length, fair, longest)])
            start += len(batch)
        if batch:
            future = client.submit(_batch, held, __version__, batch, pure=False)
            waiting[future] = batch
            future.add_done_callback(done.put)
        return bool(batch)

    try:
        while waiting or again or start < len(tasks):
            while len(waiting) < 2 * workers and submit():
                pass
            future = _attended(client, functools.partial(done.get, timeout=_LOOK))
            batch = waiting.pop(future)
            outcome = _outcome(client, future)
            if outcome is None and len(batch) > 1:  # which of them ended the worker?
                again += [[task] for task in batch]
                continue
            results, took = outcome or ([WorkerDied()], 0.0)
            worth = _BATCH / max(took / len(batch), 1e-6)
            length = max(1, min(math.floor(worth), 4 * len(batch)))
            yield list(zip(batch, results, strict=True))
    finally:
        if client.status == "running":
            client.cancel(list(waiting))


def _outcome(client: Client, future: Future) -> tuple[list[Any], float] | None:
    """Return a batch's results and seconds; None if its workers ended while they ran it."""
    from distributed.client import FutureCancelledError
    from distributed.scheduler import KilledWorker

    def result() -> tuple[list[Any], float]:
        try:
            outcome: tuple[list[Any], float] = future.result(timeout=_LOOK)
        except TimeoutError as error:
            if future.status == "error":
                raise
            raise queue.Empty from error  # its worker ended before it was fetched
        return outcome

    try:
        return _attended(client, result)
    except KilledWorker:
        return None
    except (FutureCancelledError, TimeoutError) as error:
        raise StudyStopped(
            "the connection to the Dask scheduler is lost; what was finished is kept: run the "
            "study again when it is back, and it goes on"
        ) from error


def _attended(client: Client, step: Callable[[], T]) -> T:
    """Repeat a step that raises queue.Empty now and then, while there is a worker at all.

    Dask usually restarts a worker that ended, but not always, and otherwise waits forever.
    """
    seen = time.monotonic()
    while True:
        try:
            return step()
        except queue.Empty:
            now = time.monotonic()
            if client.status != "running" or client.nthreads():
                seen = now
            elif now - seen > _ABSENCE:
                raise StudyStopped(
                    f"all workers have ended, and none has come back in {_ABSENCE:g} seconds; what "
                    "was finished is kept: run the study again, and it goes on"
                ) from None
