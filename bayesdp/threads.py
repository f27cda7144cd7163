"""Work in threads that an interrupt ends: kernels run without the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from bayesdp.progress import Step

T = TypeVar("T")


class Halting:
    """Step of progress that, once halted, ends the work of whatever thread takes it next.

    Parameters
    ----------
    step : callable
        What is told of the parts done.
    """

    def __init__(self, step: Step) -> None:
        self._step, self._halted = step, threading.Event()

    def __call__(self, done: int) -> None:
        if self._halted.is_set():
            raise Halted
        self._step(done)

    def halt(self) -> None:
        """End all work that steps here, at its next step."""
        self._halted.set()


class Halted(Exception):
    """End of work whose results nobody waits for."""


def in_threads(
    work: Callable[[Any], T], each: Sequence[Any], halting: Halting | None = None
) -> list[T]:
    """Map work over items in threads, at most one a core, results in order.

    Parameters
    ----------
    work : callable
        Called with an item.
    each : sequence
    halting : Halting, optional
        The step that the work takes: where a thread fails, or the user interrupts, the others end
        there, instead of running to their end while the user waits.
    """
    if len(each) == 1:
        return [work(each[0])]
    with ThreadPoolExecutor(min(len(each), os.cpu_count() or 1) or 1) as pool:
        futures = [pool.submit(work, item) for item in each]
        try:
            ended = wait(futures, return_when=FIRST_EXCEPTION).done
            for future in ended:
                future.result()  # which raises what the first to fail did
            return [future.result() for future in futures]
        except BaseException:
            if halting is not None:
                halting.halt()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
