"""Tables, noise, composition, ledgers and audits."""

from __future__ import annotations

import importlib.util
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from tests.benchmarks.measure import line, seconds


def tables(cells: int = 10**6, records: int = 10**8) -> None:
    """An exact table of 10^8 records against gamma and multinomial draws in floating point."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(records, rng.dirichlet(np.full(cells, 0.3)))
    synthesizer = bdp.synthesizers.DirichletMultinomialSynthesizer(epsilon=1.0, copies=1)
    alpha = records / math.expm1(1.0) + counts

    def floating() -> Any:
        gammas = rng.standard_gamma(alpha)
        return rng.multinomial(records, gammas / gammas.sum())

    ours = seconds(lambda: synthesizer.release(counts=counts), repeats=1)
    theirs = seconds(floating, repeats=3)
    line("Dirichlet-multinomial, 10^6 cells, 10^8 records", f"{ours:.1f} s",
         "the time of floating-point draws", ours / theirs, "20 s")  # fmt: skip


def noise(count: int = 1_000_000) -> None:
    """Exact integer noise against numpy's floating-point draws, which leak (Mironov 2012)."""
    rng = np.random.default_rng(1)
    zeros = np.zeros(count)
    for mechanism, floating in (
        (bdp.mechanisms.LaplaceMechanism(1.0, 1.0), rng.laplace),
        (bdp.mechanisms.DiscreteLaplaceMechanism(3.0), rng.laplace),
        (bdp.mechanisms.GaussianMechanism(1.0, 1.0), rng.normal),
        (bdp.mechanisms.DiscreteGaussianMechanism(3.0, 1.0), rng.normal),
    ):
        ours = seconds(lambda m=mechanism: m.release(zeros), repeats=3)
        theirs = seconds(lambda f=floating: f(size=count), repeats=3)
        line(f"exact draws, {mechanism.name}", f"{count / ours / 1e6:.1f} million /s",
             "the time of floating-point draws", ours / theirs, "1 million /s")  # fmt: skip


def privacy() -> None:
    """Profiles against all pairs of neighbours in turn."""
    n, prior, epsilon = 10**6, (500.0, 500.0), 0.05
    draw = bdp.mechanisms.ConjugateMechanism("bernoulli", "parameter_draw", n, prior)

    def every_pair() -> float:
        u, v = prior[0] + np.arange(n), prior[1] + np.arange(n)[::-1]
        p = special.expit(epsilon + np.log(u) - np.log(v))
        above = special.betaincc(u + 1, v, p) - np.exp(epsilon) * special.betaincc(u, v + 1, p)
        return float(above.max())

    ours = seconds(lambda: draw.delta(epsilon))
    line("delta(epsilon) of a draw, n = 10^6", f"{1e3 * ours:.2f} ms",
         "faster than all pairs", seconds(every_pair, repeats=1) / ours, "50 ms")  # fmt: skip
    one = bdp.mechanisms.ConjugateMechanism(
        "bernoulli", "synthetic_one", 10**4, (500.0, 500.0), size=10**4
    )
    took = seconds(lambda: one.delta(2.0), repeats=3)
    line("delta(epsilon), 10^4 records from one draw", f"{1e3 * took:.1f} ms",
         "the time of a draw's profile", took / ours, "1 s")  # fmt: skip


def composing() -> None:
    """1,000 different promises together, against dp-accounting one after another."""
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as plds

    epsilons = [float(e) for e in np.random.default_rng(1).uniform(0.005, 0.015, 1000)]
    promises = [
        bdp.Guarantee(e, 0.0, bdp.Neighbours.REPLACE_ONE, bdp.Strength.PROVED, (), "bench")
        for e in epsilons
    ]

    def naive() -> float:
        together = plds.identity(1e-5)  # of about the same accuracy: a few parts in 10,000
        for epsilon in epsilons:
            parameters = common.DifferentialPrivacyParameters(epsilon, 0)
            one = plds.from_privacy_parameters(parameters, value_discretization_interval=1e-5)
            together = together.compose(one)
        return float(together.get_epsilon_for_delta(1e-6))

    ours = seconds(lambda: bdp.compose(promises, delta=1e-6), repeats=3)
    start = time.perf_counter()
    peer = naive()
    took = time.perf_counter() - start
    line("1,000 entries composed tightly", f"{ours:.2f} s",
         "faster than dp-accounting, pairwise", took / ours, "1 s")  # fmt: skip
    tight = bdp.compose(promises, delta=1e-6).epsilon
    line("the epsilon of these entries", f"{tight:.5f}", "times smaller than their sum",
         math.fsum(epsilons) / tight, f"dp-accounting's {peer:.5f}")  # fmt: skip


def spending() -> None:
    """Durable spends with 1,000 entries recorded, against bare synced writes."""
    promise = bdp.mechanisms.BetaBinomialMechanism(10, 10, (5.0, 5.0)).guarantee()
    with tempfile.TemporaryDirectory() as folder:

        def bare() -> None:
            with (Path(folder) / "log").open("ab", buffering=0) as log:
                log.write(b"x" * 500)
                os.fsync(log.fileno())

        synced = seconds(bare, repeats=200)
        with postgresql() as server:
            for name, url in (("SQLite", f"sqlite:///{folder}/budget.db"), ("PostgreSQL", server)):
                if url is None:
                    print("PostgreSQL isn't installed: its durable spends left out")
                    continue
                ledger = bdp.Ledger.open(url)
                ledger.create("bench", epsilon=1e6, delta=1e-6, neighbours="replace_one")
                dataset = ledger.dataset("bench")
                for _ in range(1000):
                    dataset.spend(promise)
                spend = seconds(lambda d=dataset: [d.spend(promise) for _ in range(200)], repeats=3)
                line(f"durable spends after 1,000, on {name}", f"{200 / spend:,.0f} /s",
                     "the time of a synced write", spend / 200 / synced,
                     "300 /s" if name == "SQLite" else "-")  # fmt: skip


@contextmanager
def postgresql() -> Iterator[str | None]:
    """The address of an empty database on a server of its own; None where there is none."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    from tests.privacy.conftest import Cluster, find_program

    if find_program("initdb") is None or importlib.util.find_spec("psycopg") is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="bayesdp-pg-", dir="/tmp") as folder:
        server = Cluster(Path(folder))
        server.make()
        try:
            server.sql("CREATE DATABASE bench")
            yield server.url("bench")
        finally:
            server.stop("fast")


def auditing() -> None:
    """An audit in counted blocks against one that keeps and sorts every log ratio."""
    mechanism, trials = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0), 10**7
    ((one, other),) = mechanism.pairs()

    def sorting() -> Any:
        draws = [mechanism.release(statistic, trials) for statistic in (one, other)]
        ratios = [np.sort(mechanism.logp(z, one) - mechanism.logp(z, other)) for z in draws]
        level = ratios[0][:: trials // 400]
        return [trials - np.searchsorted(r, level) for r in ratios]

    ours = seconds(lambda: bdp.audit(mechanism, trials=trials), repeats=3)
    line("audit, 10^7 trials", f"{ours:.2f} s", "faster than sorting all log ratios",
         seconds(sorting, repeats=1) / ours, "20 s")  # fmt: skip
