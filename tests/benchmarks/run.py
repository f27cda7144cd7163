"""`make bench`: each figure as a ratio to a peer or a naive version, measured in this run.

Absolute times depend on the machine and on what else runs there, so every line has its
comparison beside it. Writes bench.json.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz

DRAWS = 4000
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


def release_of(n: int, copies: int) -> bdp.Release:
    mechanism = bdp.BetaBinomialMechanism.calibrate(n=n, size=n, epsilon=2.0, copies=copies)
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
        mechanism = bdp.BetaBinomialMechanism.calibrate(n=n, size=n, epsilon=2.0, copies=5)
        count = bdp.Count(n // 3, n)
        rng = np.random.default_rng(1)

        def floating(n: int = n, mechanism: Any = mechanism, rng: Any = rng) -> Any:
            a = mechanism.prior[0]
            return rng.binomial(n, rng.beta(a + n // 3, a + n - n // 3, size=5))

        ours = seconds(lambda m=mechanism, c=count: m.release(c, 5), repeats=3)
        line(f"exact release of 5 copies, n = size = {n:,}", f"{1e3 * ours:.1f} ms",
             "the time of floating-point draws", ours / seconds(floating), "-")  # fmt: skip


def tables(cells: int = 10**6, records: int = 10**8) -> None:
    """An exact table of 10^8 records against gamma and multinomial draws in floating point."""
    rng = np.random.default_rng(1)
    counts = rng.multinomial(records, rng.dirichlet(np.full(cells, 0.3)))
    synthesizer = bdp.DirichletMultinomialSynthesizer(epsilon=1.0, copies=1)
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
        (bdp.LaplaceMechanism(1.0, 1.0), rng.laplace),
        (bdp.DiscreteLaplaceMechanism(3.0), rng.laplace),
        (bdp.GaussianMechanism(1.0, 1.0), rng.normal),
        (bdp.DiscreteGaussianMechanism(3.0, 1.0), rng.normal),
    ):
        ours = seconds(lambda m=mechanism: m.release(zeros), repeats=3)
        theirs = seconds(lambda f=floating: f(size=count), repeats=3)
        line(f"exact draws, {mechanism.name}", f"{count / ours / 1e6:.1f} million /s",
             "the time of floating-point draws", ours / theirs, "1 million /s")  # fmt: skip


def start_up() -> None:
    bare = seconds(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    for what, command in (
        ("import bayesdp", [sys.executable, "-c", "import bayesdp"]),
        ("bayesdp --help", [sys.executable, "-m", "bayesdp", "--help"]),
    ):
        took = seconds(lambda c=command: subprocess.run(c, check=True, capture_output=True))
        line(what, f"{took:.3f} s", "the time of a bare Python", took / bare, "0.5 s")


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


def privacy() -> None:
    """Profiles against all pairs of neighbours in turn."""
    n, prior, epsilon = 10**6, (500.0, 500.0), 0.05
    draw = bdp.ConjugateRelease("bernoulli", "parameter_draw", n, prior)

    def every_pair() -> float:
        u, v = prior[0] + np.arange(n), prior[1] + np.arange(n)[::-1]
        p = special.expit(epsilon + np.log(u) - np.log(v))
        above = special.betaincc(u + 1, v, p) - np.exp(epsilon) * special.betaincc(u, v + 1, p)
        return float(above.max())

    ours = seconds(lambda: draw.delta(epsilon))
    line("delta(epsilon) of a draw, n = 10^6", f"{1e3 * ours:.2f} ms",
         "faster than all pairs", seconds(every_pair, repeats=1) / ours, "50 ms")  # fmt: skip
    one = bdp.ConjugateRelease("bernoulli", "synthetic_one", 10**4, (500.0, 500.0), size=10**4)
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
    promise = bdp.BetaBinomialMechanism(10, 10, (5.0, 5.0)).guarantee()
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
    mechanism, trials = bdp.RandomizedResponse.binary(1.0), 10**7
    ((one, other),) = mechanism.pairs()

    def sorting() -> Any:
        draws = [mechanism.release(statistic, trials) for statistic in (one, other)]
        ratios = [np.sort(mechanism.logp(z, one) - mechanism.logp(z, other)) for z in draws]
        level = ratios[0][:: trials // 400]
        return [trials - np.searchsorted(r, level) for r in ratios]

    ours = seconds(lambda: bdp.audit(mechanism, trials=trials), repeats=3)
    line("audit, 10^7 trials", f"{ours:.2f} s", "faster than sorting all log ratios",
         seconds(sorting, repeats=1) / ours, "20 s")  # fmt: skip


CENSORED = """
import resource, sys, time
import numpy as np
import bayesdp as bdp

start = time.perf_counter()
made = bdp.CensoredBetaSynthesizer(epsilon=4.0)
made.release([0.1, 0.2])
first = time.perf_counter() - start
y = np.random.default_rng(1).beta(0.5, 3, int(sys.argv[1])).clip(1e-300, 1 - 2.0**-53)
start = time.perf_counter()
made.release(y)
took = time.perf_counter() - start
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
start = time.perf_counter()
for phi, lam in np.random.default_rng(2).uniform((0.1, 5.0), (0.2, 7.0), (3, 2)):
    a, b = lam * phi, lam * (1 - phi)
    np.clip((a - 1) * np.log(y) + (b - 1) * np.log1p(-y), -2, 2).sum()
print(first, took, (time.perf_counter() - start) / 3, memory)
"""


def censored() -> None:
    """A release, in a process of its own, against one clipped sum over every record by numpy."""
    for n, goal in ((2000, "80 ms"), (10**6, "5 s"), (10**7, "40 s, 2 GiB")):
        done = subprocess.run(
            [sys.executable, "-c", CENSORED, str(n)], capture_output=True, text=True, check=True
        )
        first, took, one, memory = map(float, done.stdout.split())
        line(f"censored beta release, n = {n:,}", f"{took:.3f} s",
             "the time of one sum over all records", took / one, goal)  # fmt: skip
        print(f"{'':<46} {memory:>11.2f} GiB   {first:.1f} s before, for a process's first release")


def plain_chain(n: int, theta: list[float], proposals: int) -> None:
    """The same chain on networkx's graph: edges, and gwesp(0.5) if it has a coefficient."""
    import random

    import networkx as nx

    graph, ties, dyads = nx.empty_graph(n), [], n * (n - 1) / 2
    share, draw = 1 - math.exp(-0.5), random.Random(1)

    def partners(i: int, j: int) -> set[int]:
        return graph.adj[i].keys() & graph.adj[j].keys()

    for _ in range(proposals):
        m = len(ties)
        present = bool(ties) and draw.random() < 0.5
        if not present:
            i, j = draw.sample(range(n), 2)
            present = graph.has_edge(i, j)
        if present:
            e = draw.randrange(m)
            i, j = ties[e]
        gain = theta[0]
        if len(theta) > 1:
            common = partners(i, j)
            change = math.exp(0.5) * (1 - share ** len(common))
            for k in common:
                change += share ** (len(partners(i, k)) - present)
                change += share ** (len(partners(j, k)) - present)
            gain += theta[1] * change
        if present:
            ratio = math.exp(-gain) * (m / (m + dyads) if m > 1 else 2 / (1 + dyads))
        else:
            ratio = math.exp(gain) * (1 + dyads / (m + 1) if m else (1 + dyads) / 2)
        if draw.random() < ratio:
            if present:
                graph.remove_edge(i, j)
                ties[e] = ties[-1]
                ties.pop()
            else:
                graph.add_edge(i, j)
                ties.append((i, j))


def networks() -> None:
    """Proposals a second on 205 nodes, one core; a Bayesian fit of the Florentine marriages."""
    from bayesdp import networks as nets

    n, proposals, plain = 205, 3_000_000, 100_000
    rng = np.random.default_rng(1)
    attributes = {"grade": rng.integers(7, 13, n), "sex": rng.integers(0, 2, n)}
    start = nets.Network(n, attributes=attributes)
    five = "edges + gwesp(0.5) + nodematch('grade') + nodematch('sex') + gwdegree(0.5)"
    models: list[tuple[str, str, list[float], str]] = [
        ("edges", "edges", [-4.62], "15 M/s; R's ergm 4.0"),
        ("edges + gwesp(0.5)", "edges + gwesp(0.5)", [-4.9, 0.8], "8 M/s; R's ergm 2.3"),
        ("five terms", five, [-6.0, 1.0, 1.5, 0.3, 0.2], "4 M/s; R's ergm 0.88"),
    ]
    for name, formula, coef, goal in models:

        def chain(formula: str = formula, coef: Any = coef) -> Any:
            return nets.simulate(start, formula, coef, burn_in=proposals, interval=1, seed=1)

        theirs = seconds(lambda c=coef: plain_chain(n, c[:2], plain), repeats=1) / plain
        ours = seconds(chain, repeats=3) / proposals
        against = "networkx's" if len(coef) < 3 else "networkx's, two terms"
        line(f"proposals, 205 nodes, {name}", f"{1e-6 / ours:.1f} M/s",
             f"{against} {1e-6 / theirs:.3f} M/s", theirs / ours, goal)  # fmt: skip

    import networkx as nx

    families = nets.Network.from_networkx(nx.florentine_families_graph())
    model = nets.BayesianERGM("edges + gwesp(0.5)", nets.Normal(0, [5, 3]))
    az = import_arviz()
    fits: list[Any] = []
    took = seconds(lambda: fits.append(model.fit(families, auxiliary=1_000, seed=1)), repeats=3)
    ess = float(az.ess(fits[-1].posterior["theta"])["theta"].min())
    moves = 20_000 * 1_000 * theirs  # what the plain chain would need for the auxiliary graphs
    line("Florentine edges + gwesp, 4 x 4,000 draws", f"{took:.1f} s, {ess:,.0f} eff.",
         "faster than networkx's auxiliary graphs", moves / took, "3 s, 1,500")  # fmt: skip


def flipping(n: int = 100_000, ties: int = 500_000, epsilon: float = 10.0) -> None:
    """Randomized response of a sparse graph against a number drawn for every dyad.

    The naive version draws a row of dyads at a time, in floating point; one row in 500 is timed.
    """
    from bayesdp.networks import Network

    rng = np.random.default_rng(1)
    pairs = np.unique(np.sort(rng.integers(0, n, (ties, 2)), axis=1), axis=0)
    graph = Network(n, pairs[pairs[:, 0] < pairs[:, 1]])
    flip, every = 1 / (1 + math.exp(epsilon)), 500
    start = np.searchsorted(graph.edges[:, 0], np.arange(n + 1))

    def by_row() -> int:
        found = 0
        for i in range(0, n - 1, every):
            tied = np.zeros(n - 1 - i, dtype=bool)
            tied[graph.edges[start[i] : start[i + 1], 1] - i - 1] = True
            found += len(np.flatnonzero(tied ^ (rng.random(n - 1 - i) < flip)))
        return found

    took = seconds(lambda: bdp.EdgeFlip(epsilon=epsilon).release(graph), repeats=3)
    naive = seconds(by_row, repeats=3) * every
    line(f"edge flips, {n:,} nodes, {ties:,} ties", f"{took:.2f} s",
         "faster than a draw for every dyad", naive / took, "10 s")  # fmt: skip


def hidden_networks() -> None:
    """Coefficients of a 205-node network from flips of its dyads, against the plain exchange."""
    from bayesdp import networks as nets
    from bayesdp.networks.evidence import Evidence
    from bayesdp.networks.hidden import sample_hidden
    from bayesdp.networks.hidden_evidence import seen_of
    from bayesdp.networks.hidden_graph import copied, hidden_of
    from bayesdp.networks.hidden_moves import run_hidden
    from bayesdp.networks.randomness import state_from

    az, n, formula, theta = import_arviz(), 205, "edges + gwesp(0.5)", (-4.8, 1.0)
    truth = nets.simulate(n, formula, theta, burn_in=2_000_000, seed=3).networks[0][0]
    rng = np.random.default_rng(1)

    def flipped(epsilon: float) -> Evidence:
        flips = np.triu(rng.random((n, n)) < special.expit(-epsilon), 1)
        ties = np.argwhere(np.triu(truth.to_adjacency()).astype(bool) ^ flips)
        return Evidence(truth.with_edges(()), ties, np.full(len(ties), epsilon), -epsilon)

    evidence, proposals, plain = flipped(3.0), 3_000_000, 100_000
    seen, bound, _ = seen_of(evidence, formula, truth)
    graph, statistic = bound.graph(truth)
    hidden, random = hidden_of(graph, seen), state_from(rng)

    def move() -> None:
        run_hidden(copied(hidden), bound.model, seen, np.array(theta), random, statistic.copy(),
                   proposals)  # fmt: skip

    took = seconds(move, repeats=3) / proposals
    theirs = seconds(lambda: plain_chain(n, list(theta), plain), repeats=1) / plain
    line("proposals, 205 nodes, a hidden graph", f"{1e-6 / took:.1f} M/s",
         f"networkx's {1e-6 / theirs:.3f} M/s", theirs / took, "8 M/s")  # fmt: skip

    def rate(evidence: Evidence, **options: Any) -> tuple[float, float, float]:
        start = time.perf_counter()
        drawn = sample_hidden(formula, truth, evidence, prior=prior, seed=1, **options).theta
        took = time.perf_counter() - start
        each = [drawn[..., k] for k in (0, 1)]
        worst = min(float(az.ess(x)) for x in each) / len(drawn)
        return worst, took, max(float(az.rhat(x)) for x in each)

    prior = nets.Normal(0, [5, 3])
    rate(evidence, draws=50, tune=50)
    for epsilon, goal in ((3.0, "400 in 120 s"), (2.0, "mixes, or says so")):
        evidence = flipped(epsilon)
        ess, took, rhat = rate(evidence, draws=5_000)
        slow, long, _ = rate(evidence, draws=10_000, levels=1)
        line(f"205 nodes, epsilon = {epsilon:g}: eff. draws a chain", f"{ess:,.0f} in {took:.0f} s",
             f"plain exchange's {slow:,.0f} in {long:.0f} s", ess / took / (slow / long),
             f"{goal}; R-hat {rhat:.3f}")  # fmt: skip


SUPPLEMENT = """
functions {
  real betawt_lpdf(vector outcome, real beta1, real beta2, vector alpha, int n, real M) {
    real check_term;
    real update_term;
    check_term = 0.0;
    for (i in 1:n) {
      update_term = alpha[i] * beta_lpdf(outcome[i] | beta1, beta2);
      check_term = check_term + fmax(fmin(update_term, M), -M);
    }
    return check_term;
  }
  real betawt_i_lpdf(real outcome_i, real beta1, real beta2, real alpha_i, real M) {
    real update_term = alpha_i * beta_lpdf(outcome_i | beta1, beta2);
    return fmax(fmin(update_term, M), -M);
  }
  real betawt_i_noM_lpdf(real outcome_i, real beta1, real beta2, real alpha_i) {
    return alpha_i * beta_lpdf(outcome_i | beta1, beta2);
  }
}
data {
  int<lower=1> n;
  vector[n] outcome;
  vector<lower=0>[n] alpha;
  real<lower=0> M;
}
parameters {
  real<lower=0, upper=1> phi;
  real<lower=0.1> lambda;
}
transformed parameters {
  real<lower=0> beta1 = lambda * phi;
  real<lower=0> beta2 = lambda * (1 - phi);
}
model {
  phi ~ beta(1, 1);
  lambda ~ pareto(0.1, 1.5);
  target += betawt_lpdf(outcome | beta1, beta2, alpha, n, M);
}
generated quantities {
  vector[n] log_lik;
  vector[n] log_lik_noM;
  for (i in 1:n) {
    log_lik[i] = betawt_i_lpdf(outcome[i] | beta1, beta2, alpha[i], M);
    log_lik_noM[i] = betawt_i_noM_lpdf(outcome[i] | beta1, beta2, alpha[i]);
  }
}
"""

PYSTAN = """
import json, sys, time
import numpy as np
import stan

request = json.load(open(sys.argv[1]))
model = stan.build(request["code"], request["data"], random_seed=1)
start = time.perf_counter()
fit = model.sample(num_chains=2, num_samples=1000, num_warmup=1000)
took = time.perf_counter() - start
draws = {v: fit[v].reshape(-1, 2).T for v in ("phi", "lambda")}
np.savez(sys.argv[2], took=took, **draws)
"""


def by_pystan(code: str, data: dict[str, Any], cache: str) -> tuple[float, float]:
    """Time that PyStan's sample takes, without compilation, and the smaller effective size."""
    az = import_arviz()
    with tempfile.TemporaryDirectory() as folder:
        request, draws = Path(folder) / "request.json", Path(folder) / "draws.npz"
        request.write_text(json.dumps({"code": code, "data": data}))
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        command = [sys.executable, "-P", "-c", PYSTAN, str(request), str(draws)]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        found = np.load(draws)
        ess = az.ess(az.convert_to_dataset({v: found[v] for v in ("phi", "lambda")}))
        return float(found["took"]), min(float(ess[v]) for v in ("phi", "lambda"))


def beta_model() -> None:
    """The beta-model's fit against the fixed point of Chatterjee, Diaconis and Sly (2011)."""
    from bayesdp.networks import fit_beta_model, project_to_graphical

    random = np.random.default_rng(1)
    noisy = random.negative_binomial(2, 0.1, 2_000) + random.integers(-3, 4, 2_000)
    d = project_to_graphical(np.maximum(noisy, 1))
    took = seconds(lambda: fit_beta_model(d))
    fit = fit_beta_model(d).coef

    def fixed_point() -> None:
        beta = np.log(d) - np.log(d.sum()) / 2
        while np.abs(beta - fit).max() > 1e-8:
            others = 1 / (np.exp(-beta) + np.exp(beta)[:, None])
            np.fill_diagonal(others, 0.0)
            beta = np.log(d) - np.log(others.sum(axis=1))

    line("beta-model, 2,000 nodes", f"{1e3 * took:.1f} ms", "faster than the fixed point",
         seconds(fixed_point, 1) / took, "100 x")  # fmt: skip


def censored_engines() -> None:
    """Engines of the censored beta posterior against the supplement's Stan program, S2.

    n = 2000, 2 chains of 1000 + 1000 draws by PyStan, its parsing of draws included.
    """
    from bayesdp.engines.stan_programs import read_program
    from bayesdp.synthesis.censored_chains import Chains

    if importlib.util.find_spec("stan") is None:
        print("PyStan isn't installed: the censored beta posterior's engines left out")
        return
    y = special.betaincinv(0.5, 3, (np.arange(2000) + 0.5) / 2000)
    ones = [1.0] * y.size
    chains = Chains("stan", 4.0, 1, "add_remove", 0.0, (1.0, 1.0), (0.1, 1.5), 1000.0)
    code = read_program("censored_beta").code
    with tempfile.TemporaryDirectory() as cache:
        theirs = {"n": y.size, "outcome": y.tolist(), "alpha": ones, "M": 2.0}
        supplement, size = by_pystan(SUPPLEMENT, theirs, cache)
        for what, weights in (("", None), (", weighted", np.array(ones))):
            data = {k: np.asarray(v).tolist() for k, v in chains.stan_data(y, weights).items()}
            took, ess = by_pystan(code, data, cache)
            line(f"Stan, censored beta{what}", f"{ess / took:,.0f} ess/s",
                 f"the supplement's program's {size / supplement:,.1f} ess/s",
                 (ess / took) / (size / supplement), "3 x")  # fmt: skip
            made = bdp.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
            ours = seconds(lambda made=made: made.release(y))
            line(f"grid release, n = 2,000{what}", f"{1e3 * ours:.0f} ms",
                 f"faster than the supplement's {supplement:.1f} s", supplement / ours,
                 "200 x")  # fmt: skip
            line(f"grid release, n = 2,000{what}", f"{1e3 * ours:.0f} ms",
                 f"faster than this program's {took:.1f} s", took / ours, "-")  # fmt: skip


MODIPS_WORKER = """
import json, sys, time
from pathlib import Path
import pyarrow.parquet as pq
import bayesdp as bdp

x = bdp.families.Gaussian((-4, 4))
bdp.Modips(x, copies=1).release([0.0, 1.0])
start = time.perf_counter()
file = pq.ParquetFile(sys.argv[1], pre_buffer=False)
batches = (batch.column(0).to_numpy() for batch in file.iter_batches(batch_size=1 << 17))
bdp.Modips(x, epsilon=1.0, copies=10, size=10_000).release(batches)
took = time.perf_counter() - start
status = dict(row.split(":", 1) for row in Path("/proc/self/status").read_text().splitlines())
print(json.dumps([took, int(status["VmHWM"].split()[0])]))
"""


def modips() -> None:
    """SBS of normal records with unknown variance, 10^8 of them from a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n, rows = 10**8, 10**6
    rng, schema = np.random.default_rng(1), pa.schema([("x", pa.float64())])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.parquet"
        with pq.ParquetWriter(path, schema, use_dictionary=False, compression="none") as writer:
            block = np.clip(rng.normal(size=rows), -4, 4)
            for _ in range(n // rows):
                writer.write_table(pa.table({"x": np.roll(block, 1)}, schema))

        def naive() -> None:
            total = squares = 0.0
            for batch in pq.ParquetFile(path).iter_batches(batch_size=1 << 17):
                x = batch.column(0).to_numpy()
                total, squares = total + x.sum(), squares + (x * x).sum()

        worker = [sys.executable, "-c", MODIPS_WORKER, str(path)]
        out = subprocess.run(worker, check=True, capture_output=True, text=True).stdout
        took, most = json.loads(out)
        theirs = seconds(naive, repeats=1)
    line("modips SBS, 10^8 records from Parquet", f"{took:.1f} s",
         f"the time of plain float sums, {theirs:.1f} s", took / theirs, "60 s")  # fmt: skip
    line("its memory", f"{most / 2**20:.2f} GiB", "of 1 GiB", most / 2**20, "1")
    declared = bdp.Modips(bdp.families.Bernoulli(), epsilon=1.0, copies=10)
    release = declared.release(bdp.Count(300, 1000))
    table, x = release.mechanism, np.arange(1001)
    z = np.array(release.outputs)[:, None]

    def textbook() -> Any:
        s = x[:, None]
        noise = table.parts[0].logp(s, x)
        for each in z[:, 0]:
            law = special.betaln(1 + s + each, 2001 - s - each) - special.betaln(1 + s, 1001 - s)
            special.logsumexp(law + noise, axis=0)

    model = bdp.BinomialModel()
    caches = families_caches()

    def ours() -> Any:
        for cache in caches:
            cache.cache_clear()
        return model.posterior(release)

    measured, against = seconds(ours), seconds(textbook, repeats=1)
    line("posterior from modips SBS, n = 1,000, 10 copies", f"{1e3 * measured:.1f} ms",
         "faster than sums over all noisy counts", against / measured, "-")  # fmt: skip


def normal_copies() -> None:
    """Posteriors from modips copies of normal records, sd known and unknown."""
    with bdp.reproducible(1):
        x = np.clip(np.random.default_rng(1).normal(size=100), -4, 4)
        for sd in (1.0, None):
            family = bdp.families.Gaussian(bounds=(-4, 4), sd=sd)
            release = bdp.Modips(family=family, epsilon=20.0, copies=10).release(x)
            model = bdp.GaussianModel(sd=1.0) if sd else bdp.GaussianModel((0, 0.01, 0.5, 0.5))
            took = seconds(lambda m=model, r=release: m.posterior(r), repeats=3)
            if sd:
                y, means = np.array(release.outputs)[:, None, :], np.linspace(-0.5, 0.5, 320)
                law = release.mechanism.logp
                theirs = seconds(lambda f=law, y=y, s=means: f(y, s[:, None]), repeats=3)
                what = "faster than the law at 320 means"
            else:
                theirs = seconds(
                    lambda m=model, r=release: m.fit(r, engine="pymc", draws=1000, seed=1), 1
                )
                what = "faster than 4,000 draws by NUTS"
            name = f"posterior of 10 normal copies, sd {'known' if sd else 'unknown'}"
            line(name, f"{1e3 * took:.0f} ms", what, theirs / took, "-")


def reproducing() -> None:
    """All of `bayesdp reproduce liu`, at 5,000 repetitions."""
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", str(Path(folder) / "liu")]
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "bayesdp", "reproduce", "liu", *out],
            check=True,
            capture_output=True,
        )
        took = time.perf_counter() - start
    line("bayesdp reproduce liu, all of it", f"{took:.0f} s",
         "of the 300 s that it may take", took / 300, "1")  # fmt: skip


def families_caches() -> list[Any]:
    """What remembers laws, to be emptied before they are timed."""
    from bayesdp.mechanisms.families import count_laws

    return [count_laws._bernoulli_table, count_laws._table]


PARTS = (
    exact_engine,
    effective_draws_per_second,
    releasing,
    tables,
    noise,
    start_up,
    accuracy,
    privacy,
    composing,
    spending,
    auditing,
    censored,
    modips,
    normal_copies,
    reproducing,
    networks,
    beta_model,
    flipping,
    hidden_networks,
    censored_engines,
)

if __name__ == "__main__":
    for part in PARTS:
        part()
    Path("bench.json").write_text(json.dumps(results, indent=2) + "\n")
