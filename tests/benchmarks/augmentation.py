"""Data augmentation against R's dapper (REFERENCE.md: its times and effective draws).

CPU time of one thread, which is what dapper's figures are, and which other work on the machine
doesn't stretch. What the first call compiles has rows of its own.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.engines.response_marginal import sample_probabilities
from bayesdp.inference.records import chains as record_chains
from bayesdp.inference.records.families import dirichlet
from bayesdp.inference.records.release import law_of
from tests.benchmarks.measure import line
from tests.inference import record_functions as f

SWEEPS = 6000
DAPPER, DAPPER_ESS = 25.5, 152  # seconds for 6,000 sweeps, and its largest effective sample size
DAPPER_NORMAL, DAPPER_NORMAL_ESS = 14.9, 4  # 2,000 sweeps
ANSWERS = (74, 102, 104, 120)
REPLACE = bdp.Neighbours.REPLACE_ONE


def cpu_seconds(call: Callable[[], Any], repeats: int = 7) -> float:
    """Median CPU time of a call, after one to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return statistics.median(times)


def generator() -> np.random.Generator:
    return np.random.Generator(np.random.SFC64(1))


def first_call(run: Any, theta: Any, what: str) -> None:
    start = time.process_time()
    run(theta, 1, 1, generator())
    took = time.process_time() - start
    line(
        f"the first call compiles: {what}",
        f"{took:.1f} s",
        "of dapper's 25.5 s",
        DAPPER / took,
        "-",
    )


def answers(n: int) -> bdp.Release:
    """A 2 x 2 table: two bits a record, each kept with probability 3/4."""
    mechanism = bdp.mechanisms.RandomizedResponseMechanism(
        np.kron(((3, 1), (1, 3)), ((3, 1), (1, 3))), n=n
    )
    return bdp.Release.of(mechanism, [np.repeat(np.arange(4), np.array(ANSWERS) * (n // 400))])


@numba.njit
def given(rng: Any, records: Any, theta: Any) -> None:
    a, b, c = 1.0, 1.0, 1.0
    for i in range(len(records)):
        category = records[i, 0]
        a += category == 0
        b += category == 1
        c += category == 2
    theta[0], theta[1], theta[2] = a, b, c
    theta[3] = 4.0 + len(records) - a - b - c
    f.weigh(rng, theta)


@numba.njit
def category(rng: Any, theta: Any, out: Any) -> None:
    u = rng.random()
    two = theta[0] + theta[1]
    out[0] = (u > theta[0]) + (u > two) + (u > two + theta[2])


def records_one_by_one() -> None:
    release = answers(400)
    law = law_of(release.mechanism, np.array(release.outputs))
    run = record_chains.of_records((given, category, f.itself), law, [(400, 1.0)], 1)
    first_call(run, np.full(4, 0.25), "2 x 2 answers")
    took = cpu_seconds(lambda: run(np.full(4, 0.25), 0, SWEEPS, generator()))
    what = "6,000 sweeps record by record, 2 x 2, n = 400"
    line(what, f"{1e3 * took:.1f} ms", "faster than dapper's 25.5 s", DAPPER / took, "500 x")


def marginal_chain() -> None:
    """Of the cell that is sampled worst."""
    release = answers(400)
    law: Any = law_of(release.mechanism, np.array(release.outputs))

    def draw() -> Any:
        seed = np.random.SeedSequence(1)
        options = {"draws": 20_000, "chains": 4, "warmup": 200, "seed": seed}
        return sample_probabilities(law.counts, law.columns, np.ones(4), **options)

    ess = float(import_arviz().ess({"theta": draw()[0]})["theta"].min())
    rate, theirs = ess / cpu_seconds(draw), DAPPER_ESS / DAPPER
    what = "effective draws per second, records summed out"
    line(what, f"{rate:,.0f} /s", f"dapper's {theirs:.1f} /s", rate / theirs, "10,000 x")


def counted_records() -> None:
    theta, times = np.full(4, 0.25), {}
    for n in (400, 4_000_000):
        release = answers(400)
        law: Any = law_of(release.mechanism, np.array(release.outputs))
        # The same answers n / 400 times over.
        law = type(law)(law.counts * (n // 400), law.columns, law.where)
        table = np.arange(4.0)[:, None]
        cells = bdp.mechanisms.DiscreteLaplaceMechanism(5.0, 2.0, REPLACE, 4, n=n)
        noisy = law_of(cells, np.array([ANSWERS]) * (n // 400))
        for what, one, values in (("answers", law, table), ("noisy cells", noisy, np.eye(4))):
            run = record_chains.of_counts(dirichlet((1.0,) * 4), values, one, [(n, 1.0)])
            if n == 400:
                first_call(run, theta, f"counted {what}")
            times[what, n] = cpu_seconds(lambda run=run: run(theta, 0, SWEEPS, generator()))
    for what in ("answers", "noisy cells"):
        small, large = times[what, 400], times[what, 4_000_000]
        line(f"6,000 sweeps of counted {what}, n = 4,000,000", f"{1e3 * large:.1f} ms",
             f"the time at n = 400, {1e3 * small:.1f} ms", large / small, "under 2 x")  # fmt: skip


@numba.njit
def share(record: Any, out: Any) -> None:
    out[0] = min(max(record[0], -3.0), 3.0) / 1000


def normal_mean() -> None:
    """n = 1000, 2,000 sweeps; epsilon = 1 with records clamped to [-3, 3]."""
    mechanism = bdp.mechanisms.LaplaceMechanism(0.006, 0.006, REPLACE, n=1000)
    law = law_of(mechanism, np.array([0.3125]))
    run = record_chains.of_records((f.normal_given, f.normal, share), law, [(1000, 1.0)], 1)
    first_call(run, np.zeros(1), "a normal mean")

    def draw() -> Any:
        return run(np.zeros(1), 200, 2000, generator())

    took = cpu_seconds(draw)
    what = "2,000 sweeps, normal mean, n = 1,000"
    line(what, f"{1e3 * took:.1f} ms", "faster than dapper's 14.9 s", DAPPER_NORMAL / took, "-")
    ess = float(import_arviz().ess({"mu": draw()[0][None, :, 0]})["mu"])
    theirs = DAPPER_NORMAL_ESS / DAPPER_NORMAL
    line("the same, effective draws per second", f"{ess / took:,.0f} /s",
         f"dapper's {theirs:.2f} /s, at its own noise", ess / took / theirs, "-")  # fmt: skip
