"""Graphs: simulation, flips, hidden graphs, the beta-model."""

from __future__ import annotations

import math
import time
import warnings
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from tests.benchmarks.measure import line, seconds


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

    for name, graph, formula in (
        ("Florentine edges + gwesp", nx.florentine_families_graph(), "edges + gwesp(0.5)"),
        ("karate edges + gwesp", nx.karate_club_graph(), "edges + gwesp(0.5)"),
        ("karate edges + triangle", nx.karate_club_graph(), "edges + triangle"),
    ):
        _fitted(nets.Network.from_networkx(graph), name, formula)


def _fitted(network: Any, name: str, formula: str) -> None:
    """4 x 4,000 draws under tempered constants, against auxiliary graphs in the same run."""
    from bayesdp import networks as nets

    az, model = import_arviz(), nets.BayesianERGM(formula, nets.NormalPrior(0, [5, 3]))
    found = {}
    for auxiliary in (None, max(1_000, 2 * network.dyads)):
        fits: list[Any] = []

        def fit(auxiliary: Any = auxiliary, fits: list[Any] = fits) -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # short ones are convicted, as is due
                fits.append(model.fit(network, auxiliary=auxiliary, seed=1))

        took, theta = seconds(fit, repeats=2), fits[-1].posterior["theta"]
        mean = float(theta.mean(("chain", "draw"))[1])
        found[auxiliary] = took, float(az.ess(theta)["theta"].min()), mean
    (took, ess, mean), (slow, less, other) = found.values()
    line(f"{name}, 4 x 4,000 draws", f"{took:.1f} s, {ess:,.0f} eff., mean {mean:.3f}",
         f"auxiliary graphs' {slow:.1f} s, {less:,.0f}, {other:.3f}", ess / took / (less / slow),
         "as many eff. a second")  # fmt: skip


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

    took = seconds(
        lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=epsilon).release(graph), repeats=3
    )
    naive = seconds(by_row, repeats=3) * every
    line(f"edge flips, {n:,} nodes, {ties:,} ties", f"{took:.2f} s",
         "faster than a draw for every dyad", naive / took, "10 s")  # fmt: skip


def hidden_networks() -> None:
    """Coefficients of a 205-node network from flips of its dyads, against the plain exchange."""
    from bayesdp import networks as nets
    from bayesdp.kernels.hidden.graph import copied, hidden_of
    from bayesdp.kernels.hidden.moves import run_hidden
    from bayesdp.networks.evidence import Evidence
    from bayesdp.networks.hidden.evidence import seen_of
    from bayesdp.networks.hidden.sampling import sample_hidden
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

    prior = nets.NormalPrior(0, [5, 3])
    rate(evidence, draws=50, tune=50)
    for epsilon, goal in ((3.0, "400 in 120 s"), (2.0, "mixes, or says so")):
        evidence = flipped(epsilon)
        ess, took, rhat = rate(evidence, draws=5_000)
        slow, long, _ = rate(evidence, draws=10_000, levels=1)
        line(f"205 nodes, epsilon = {epsilon:g}: eff. draws a chain", f"{ess:,.0f} in {took:.0f} s",
             f"plain exchange's {slow:,.0f} in {long:.0f} s", ess / took / (slow / long),
             f"{goal}; R-hat {rhat:.3f}")  # fmt: skip


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
