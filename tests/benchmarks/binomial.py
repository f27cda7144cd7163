"""Counts: the exact posterior, its draws, and their release."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from tests.benchmarks.measure import line, seconds

DRAWS = 4000


def release_of(n: int, copies: int) -> bdp.Release:
    mechanism = bdp.mechanisms.BetaBinomialMechanism.calibrate(
        n=n, size=n, epsilon=2.0, copies=copies
    )
    with bdp.reproducible(1):
        drawn = mechanism.release(bdp.Count(int(0.3 * n), n), copies)
    return bdp.Release.of(mechanism, [int(z) for z in drawn])


def naive_enumeration(release: bdp.Release) -> np.ndarray:
    """The textbook: every x in 0..n, differences of log-gammas, then draws."""
    mechanism, x = release.mechanism, np.arange(release.mechanism.n + 1)
    a, n, m = mechanism.prior[0], mechanism.n, mechanism.size
    log_weight = -special.betaln(x + 1, n - x + 1) + special.betaln(1 + x, 1 + n - x)
    for z in release.outputs:
        log_weight = log_weight + special.betaln(a + x + z, a + n - x + m - z)
        log_weight = log_weight - special.betaln(a + x, a + n - x)
    rng = np.random.default_rng(1)
    chosen = rng.choice(x, size=DRAWS, p=special.softmax(log_weight))
    return rng.beta(1 + chosen, 1 + n - chosen)


def exact_engine() -> None:
    model = bdp.BinomialModel()
    for n, goal in ((100, "3 ms"), (1000, "-"), (10**6, "60 ms")):
        release = release_of(n, 5)
        ours = seconds(lambda r=release: model.posterior(r).sample(DRAWS, seed=1))
        theirs = seconds(lambda r=release: naive_enumeration(r), repeats=3)
        name = f"exact posterior, 4,000 draws, n = {n:,}"
        line(name, f"{1e3 * ours:.2f} ms", "faster than textbook enumeration", theirs / ours, goal)
    release = release_of(100, 5)
    whole = seconds(lambda: model.fit(release, draws=DRAWS // 4, chains=4, seed=1))
    bare = seconds(lambda: model.posterior(release).sample(DRAWS, seed=1))
    line("the same as an InferenceData, n = 100", f"{1e3 * whole:.1f} ms",
         "the time of the bare draws", whole / bare, "-")  # fmt: skip
    unknown = bdp.BinomialModel(n=range(500, 1501))
    noisy = bdp.Release.of(bdp.mechanisms.DiscreteLaplaceMechanism(2.0, 1.0), [300])
    ours = seconds(lambda: unknown.posterior(noisy).sample(DRAWS, seed=1))
    pairs = seconds(lambda: unknown.cells(noisy), repeats=3)
    line("the same, n from 500 to 1,500", f"{1e3 * ours:.0f} ms",
         "faster than its pairs of n and count", pairs / ours, "-")  # fmt: skip


def effective_draws_per_second() -> None:
    """Sampling time only: the compilation of PyMC and JAGS is not counted."""
    import nutpie

    az = import_arviz()
    model, release = bdp.BinomialModel(), release_of(100, 5)
    compiled = nutpie.compile_pymc_model(model.pymc_model(release))

    def sample() -> Any:
        return nutpie.sample(compiled, draws=4000, tune=1000, chains=4, seed=1, progress_bar=False)

    ess = float(az.ess(sample().posterior["p"])["p"])
    theirs = ess / seconds(sample, repeats=3)
    k = 16_000  # as many draws as PyMC's; our time includes the enumeration
    ours = k / seconds(lambda: model.posterior(release).sample(k, seed=1))
    what = "effective draws per second, n = 100"
    line(what, f"{ours:,.0f} /s", f"PyMC's {theirs:,.0f} /s", ours / theirs, "100 x")
    if shutil.which("jags") is None:
        print("jags isn't installed (Debian's package jags): comparison left out")
        return
    jags, kept = jags_seconds(release)
    rate = kept / jags  # as if all its draws were effective
    line(what, f"{ours:,.0f} /s", f"JAGS's {rate:,.0f} draws/s", ours / rate, "ahead")


JAGS_MODEL = """model {
  p ~ dbeta(1, 1)
  x ~ dbin(p, n)
  for (i in 1:copies) {
    q[i] ~ dbeta(a + x, a + n - x)
    z[i] ~ dbin(q[i], size)
  }
}
"""


def jags_seconds(release: bdp.Release, draws: int = 200_000) -> tuple[float, int]:
    """Time of the update step alone: a long run less a run of nothing."""

    def run(updates: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "model.bug").write_text(JAGS_MODEL)
            m = release.mechanism
            z = ", ".join(map(str, release.outputs))
            (place / "data.R").write_text(
                f"n <- {m.n}\nsize <- {m.size}\na <- {m.prior[0]}\ncopies <- {release.copies}\n"
                f"z <- c({z})\n"
            )
            (place / "run.cmd").write_text(
                "model in model.bug\ndata in data.R\ncompile\ninitialize\nupdate 1000\n"
                f"monitor p\nupdate {updates}\n"
            )
            start = time.perf_counter()
            subprocess.run(["jags", "run.cmd"], cwd=place, check=True, capture_output=True)
            return time.perf_counter() - start

    run(1)
    return max(run(draws) - run(1), 1e-3), draws


def releasing() -> None:
    """An exact urn against a draw in floating point, whose law is only nearly right."""
    for n in (1000, 10**6):
        mechanism = bdp.mechanisms.BetaBinomialMechanism.calibrate(
            n=n, size=n, epsilon=2.0, copies=5
        )
        count = bdp.Count(n // 3, n)
        rng = np.random.default_rng(1)

        def floating(n: int = n, mechanism: Any = mechanism, rng: Any = rng) -> Any:
            a = mechanism.prior[0]
            return rng.binomial(n, rng.beta(a + n // 3, a + n - n // 3, size=5))

        ours = seconds(lambda m=mechanism, c=count: m.release(c, 5), repeats=3)
        line(f"exact release of 5 copies, n = size = {n:,}", f"{1e3 * ours:.1f} ms",
             "the time of floating-point draws", ours / seconds(floating), "-")  # fmt: skip


def start_up() -> None:
    bare = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    for what, command in (
        ("import bayesdp", [sys.executable, "-c", "import bayesdp"]),
        ("bayesdp --help", [sys.executable, "-m", "bayesdp", "--help"]),
    ):
        took = seconds(lambda c=command: subprocess.run(c, check=True, capture_output=True))
        line(what, f"{took:.3f} s", "the time of a bare Python", took / bare, "0.5 s")
    peers = started("import pydantic, pandas, pyarrow.parquet")
    with tempfile.TemporaryDirectory() as folder:
        saved = release_of(100, 5).save(Path(folder) / "release")
        for what, code in (
            ("first use of bdp.Release", "bayesdp.Release"),
            ("a first release loaded", f"bayesdp.Release.load({str(saved)!r})"),
        ):
            took = started(f"import bayesdp; {code}")
            line(what, f"{took:.3f} s", "the time to import pydantic, pandas and pyarrow",
                 took / peers, "1")  # fmt: skip


def started(code: str) -> float:
    """Seconds of a fresh process that runs it."""
    return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True))


def accuracy() -> None:
    """Digits kept at n = 10^6, against differences of log-gammas."""
    import mpmath as mp

    n, a = 10**6, 2.03e6
    k = n // 2 + 300
    with mp.workdps(50):
        true = float(mp.log(mp.binomial(n, k) * mp.beta(a + k, mp.mpf(a) + n - k) / mp.beta(a, a)))
    from bayesdp.mechanisms.laws import beta_binomial_logpmf

    ours = max(abs(float(beta_binomial_logpmf(k, n, a, a)) - true), math.ulp(true))
    textbook = (
        -special.betaln(k + 1, n - k + 1) - math.log(n + 1)
        + special.betaln(a + k, a + n - k) - special.betaln(a, a)
    )  # fmt: skip
    line("error of a log probability, n = 10^6", f"{ours:.0e}", "smaller than log-gammas'",
         abs(textbook - true) / ours, "-")  # fmt: skip
