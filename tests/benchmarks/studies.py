"""Studies: two worker processes against one, and what the machinery costs a replicate."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import bayesdp as bdp
from tests.benchmarks.measure import line


def work(release: bdp.Release) -> dict[str, float]:
    """Some 10 ms of an exact posterior's own work."""
    posterior = bdp.BinomialModel().posterior(release)
    below = posterior.cdf(np.linspace(0.01, 0.99, 400))
    return {"mean": posterior.mean(), "below": float(below[200])}


def studies(replicates: int = 1000) -> None:
    """Wall time of a study without its start, in each case on this machine's local cluster."""

    def declared(count: int) -> bdp.Study:
        return bdp.Study(
            data=bernoulli,
            synthesizers=[bdp.BetaBinomialSynthesizer],
            analyses=[work],
            grid={"epsilon": [1.0], "n": [200]},
            replicates=count,
            seed=1,
        )

    def took(**where: Any) -> float:
        """From the first replicate to the last: workers have then imported what they need."""
        begun: list[tuple[int, float]] = []
        with tempfile.TemporaryDirectory() as folder:
            declared(replicates).run(
                Path(folder) / "s",
                **where,
                progress=lambda done, whole: begun.append((done, time.perf_counter())),
            )
        # Batches are of one replicate first, so that the start is over after some dozens.
        first = next(each for each in begun if each[0] >= 30)
        return (begun[-1][1] - first[1]) / (replicates - first[0])

    here = took(client=None)
    one, two = (took(client="local", workers=k) for k in (1, 2))
    line(f"a study's replicate of {1e3 * here:.1f} ms, two workers", f"{1e3 * two:.1f} ms",
         "faster than one worker", one / two, "1.8")  # fmt: skip
    line("the same with one worker", f"{1e3 * one:.1f} ms",
         "the time in this process, without workers", one / here, "1.1")  # fmt: skip


def bernoulli(generator: np.random.Generator, n: int) -> Any:
    """Records of 0 and 1."""
    return generator.binomial(1, 0.3, n)
