"""Modips: release from files, posteriors, the papers' tables."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from tests.benchmarks.measure import line, seconds

MODIPS_WORKER = """
import json, sys, time
from pathlib import Path
import pyarrow.parquet as pq
import bayesdp as bdp

x = bdp.families.Gaussian((-4, 4))
bdp.ModipsSynthesizer(x, copies=1).release([0.0, 1.0])
start = time.perf_counter()
file = pq.ParquetFile(sys.argv[1], pre_buffer=False)
batches = (batch.column(0).to_numpy() for batch in file.iter_batches(batch_size=1 << 17))
bdp.ModipsSynthesizer(x, epsilon=1.0, copies=10, size=10_000).release(batches)
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
    declared = bdp.ModipsSynthesizer(bdp.families.Bernoulli(), epsilon=1.0, copies=10)
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
            release = bdp.ModipsSynthesizer(family=family, epsilon=20.0, copies=10).release(x)
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
