"""Whole tables: releases of many records, the chain of latent records, and utility beside AIM."""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import bayesdp as bdp
from bayesdp.engines import latent_records
from bayesdp.engines.draws import import_arviz
from bayesdp.engines.latent_records import Problem, layout_of, start_of
from bayesdp.kernels.table.records import sweep
from bayesdp.privacy.conversions import zcdp_to_epsilon
from tests.benchmarks.measure import line

WIDE = {f"c{k}": {"type": "integer", "bounds": (0, 4 + k % 8)} for k in range(30)}
RECORDS, BATCH, NAIVE_PAIRS = 10**6, 100_000, 15
DELTA = 1e-6


def fair() -> tuple[bdp.Schema, pd.DataFrame]:
    """The codes of statsmodels' fair survey, but for the time spent in affairs."""
    import statsmodels.api as sm

    data = sm.datasets.fair.load_pandas().data.drop(columns="affairs")
    codes = data.apply(lambda column: pd.factorize(column, sort=True)[0].astype(np.int32))
    tops = codes.max()
    return bdp.Schema({c: {"type": "integer", "bounds": (0, int(tops[c]))} for c in codes}), codes


def whole_tables() -> None:
    """The utility is compared at epsilon 1, as AIM takes minutes; by hand, at others."""
    releasing_a_million()
    chain()
    utility(1.0)


def _batches() -> Iterator[pd.DataFrame]:
    rng = np.random.default_rng(1)
    for _ in range(RECORDS // BATCH):
        whole = {name: rng.integers(0, one["bounds"][1] + 1, BATCH) for name, one in WIDE.items()}
        yield pd.DataFrame(whole)


def _peak() -> float:
    """Peak memory in MB; a process's ru_maxrss would begin with that of the one that made it."""
    words = Path("/proc/self/status").read_text().split()
    return int(words[words.index("VmHWM:") + 1]) / 1024


def _released() -> tuple[float, float]:
    """CPU seconds without those of making records, and the process's peak memory in MB."""
    made = bdp.TableSynthesizer(bdp.Schema(WIDE), epsilon=1.0, delta=DELTA)
    next(_batches())
    start = time.process_time()
    sum(1 for _ in _batches())
    between = time.process_time()
    made.release(_batches())
    return time.process_time() - between - (between - start), _peak()


def _crosstabs() -> tuple[float, float]:
    """CPU seconds of all pairs' tables by pandas, from those of a few, and the peak memory."""
    frame = pd.concat(_batches())
    pairs = list(itertools.combinations(WIDE, 2))
    start = time.process_time()
    for one, other in pairs[:: len(pairs) // NAIVE_PAIRS]:
        pd.crosstab(frame[one], frame[other])
    done = len(pairs[:: len(pairs) // NAIVE_PAIRS])
    return (time.process_time() - start) * len(pairs) / done, _peak()


def releasing_a_million() -> None:
    """Each in a process of its own, whose memory nothing else was in."""

    def alone(run: Callable[[], tuple[float, float]]) -> tuple[float, float]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            return pool.submit(run).result()

    ours, naive = alone(_released), alone(_crosstabs)
    line("10^6 x 30 released in batches, all pairs", f"{ours[0]:.1f} s",
         "faster than pandas' crosstab of all pairs", naive[0] / ours[0], "120 s")  # fmt: skip
    line("the same, peak memory", f"{ours[1]:.0f} MB",
         "less than of pandas' crosstabs", naive[1] / ours[1], "-")  # fmt: skip


def _by_numpy(problem: Problem, records: Any, classes: Any, levels: int) -> float:
    """Seconds for so many levels, drawn by NumPy, a column of a record at a time."""
    rng, k = np.random.default_rng(1), problem.classes
    left = []
    for one in problem.noisy:
        left.append(one.counts.copy())
        np.subtract.at(left[-1], tuple(records[:, j].astype(int) for j in one.columns), 1)
    counts = [np.zeros((k, size)) for size in problem.levels]
    for j, count in enumerate(counts):
        np.add.at(count, (classes, records[:, j].astype(int)), 1)
    start = time.process_time()
    for t in range(levels):
        i, j = t // len(counts), t % len(counts)
        row, c = records[i], classes[i]
        own = [(m, one) for m, one in enumerate(problem.noisy) if j in one.columns]
        counts[j][c, row[j]] -= 1
        score = np.log(counts[j][c] + 0.5)
        for m, one in own:
            left[m][tuple(row[list(one.columns)])] += 1
            places = tuple(slice(None) if q == j else row[q] for q in one.columns)
            score += one.rate * (2 * left[m][places] - 1)
        weights = np.exp(score - score.max())
        row[j] = rng.choice(weights.size, p=weights / weights.sum())
        counts[j][c, row[j]] += 1
        for m, one in own:
            left[m][tuple(row[list(one.columns)])] -= 1
    return time.process_time() - start


def _released_fair(epsilon: float) -> tuple[pd.DataFrame, bdp.Schema, bdp.Release]:
    schema, codes = fair()
    with bdp.reproducible(1):
        made = bdp.TableSynthesizer(schema, epsilon=epsilon, delta=DELTA)
        return codes, schema, made.release(codes)


def chain(sweeps: int = 50) -> None:
    """Latent levels a second, and effective draws of the pairs' cells."""
    release = _released_fair(1.0)[2]
    problem, rng = bdp.TableModel().read(release), np.random.default_rng(1)
    layout = layout_of(problem)
    state = start_of(problem, layout, rng)
    sweep(layout, state, 0.0, 2, 0, rng)
    start, n, d = time.process_time(), int(state.n[0]), len(problem.levels)
    for _ in range(sweeps):
        sweep(layout, state, 0.0, 2, 0, rng)
    rate = sweeps * n * d / (time.process_time() - start)
    naive = 2000 / _by_numpy(problem, state.records[:n].copy(), state.classes[:n].copy(), 2000)
    line("latent levels a second, fair, 8 columns, 28 pairs", f"{rate / 1e6:.2f} million",
         "those that NumPy draws one by one", rate / naive, "-")  # fmt: skip
    problem = bdp.TableModel().read(_released_fair(0.1)[2])
    found = [_effective(problem, batches) for batches in (latent_records._BATCHES, 0.0)]
    line("effective draws a second, fewer in 5% of all pairs' cells", f"{found[0]:.2f}",
         "those without batches of records", found[0] / found[1], "2.7")  # fmt: skip


def _effective(problem: Problem, batches: float) -> float:
    """Bulk ESS of a cell, a CPU second of all chains, warm-up left out; 5% of cells have less.

    The worst cell of all has next to none, however records move, and its ESS is noise.
    """
    before, latent_records._BATCHES = latent_records._BATCHES, batches
    try:
        run: dict[str, Any] = {"chains": 2, "thin": 1, "tables": 1, "seed": 1}
        start = time.process_time()
        latent_records.sample(problem, draws=1, warmup=200, **run)
        between = time.process_time()
        drawn = latent_records.sample(problem, draws=400, warmup=200, **run)
        took = time.process_time() - between - (between - start)
    finally:
        latent_records._BATCHES = before
    az = import_arviz()
    ess = az.ess({"x": drawn.cells})["x"].to_numpy()
    return float(np.nanquantile(ess, 0.05) / took)


def _distances(codes: pd.DataFrame, shares: Callable[[list[str]], Any]) -> tuple[float, float]:
    """Mean total variation of all pairs and all triples."""
    tops = codes.max()
    found = []
    for size in (2, 3):
        each = []
        for part in map(list, itertools.combinations(codes, size)):
            edges = [np.arange(tops[c] + 2) - 0.5 for c in part]
            true = np.histogramdd(codes[part].to_numpy(), bins=edges)[0] / len(codes)
            each.append(0.5 * np.abs(shares(part) - true).sum())
        found.append(float(np.mean(each)))
    return found[0], found[1]


def _aim(codes: pd.DataFrame, epsilon: float) -> tuple[tuple[float, float], float]:
    """AIM of OpenDP at its defaults, with the rho of the same epsilon."""
    import opendp.prelude as dp
    import polars as pl
    from scipy import optimize

    dp.enable_features("contrib")
    rho = optimize.brentq(lambda rho: zcdp_to_epsilon(rho, DELTA) - epsilon, 1e-6, 10.0)
    keys = {name: list(range(int(column.max()) + 1)) for name, column in codes.items()}
    start = time.process_time()
    context = dp.Context.compositor(
        data=pl.from_pandas(codes).lazy(),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    query = context.query(rho=rho).select(*codes.columns)
    made = query.contingency_table(keys=keys, algorithm=dp.mbi.AIM()).release()

    def shares(part: list[str]) -> Any:  # a last cell is for values that aren't keys
        table = np.asarray(made.project(part))[tuple(slice(len(keys[name])) for name in part)]
        return table / table.sum()

    return _distances(codes, shares), time.process_time() - start


def utility(epsilon: float) -> None:
    """Distances of pairs and triples, and CPU time, of the posterior mean and of AIM."""
    start = time.process_time()
    codes, schema, release = _released_fair(epsilon)
    run: dict[str, Any] = {"draws": 100, "warmup": 200, "chains": 2, "thin": 2, "tables": 50}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        posterior = bdp.TableModel().fit(release, **run, seed=1)

        def shares(part: list[str]) -> Any:
            mean = posterior.table(part, target="data").mean.to_numpy()
            return mean.reshape([schema.cells[name] for name in part]) / mean.sum()

        ours = _distances(codes, shares)
    took = time.process_time() - start
    theirs, their_time = _aim(codes, epsilon)
    for k, what in enumerate(("pairs", "triples")):
        line(f"fair, epsilon {epsilon}, total variation of {what}", f"{ours[k]:.4f}",
             "less than AIM's at its defaults", theirs[k] / ours[k], "1")  # fmt: skip
    line(f"fair, epsilon {epsilon}, release and posterior", f"{took:.1f} s",
         "less CPU time than AIM's", their_time / took, "5")  # fmt: skip
