"""How a figure is measured and written down."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

results: list[dict[str, Any]] = []


def seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """Median time of a call, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def line(what: str, measured: str, against: str, ratio: float, target: str) -> None:
    results.append(
        {"what": what, "measured": measured, "against": against, "ratio": ratio, "target": target}
    )
    print(
        f"{what:<46} {measured:>16}   {ratio:>9.1f} x  {against:<44} (goal: {target})", flush=True
    )
