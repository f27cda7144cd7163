"""`make bench`: each figure as a ratio to a peer or a naive version, measured in this run.

Absolute times depend on the machine and on what else runs there, so every line has its
comparison beside it. Writes bench.json.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.benchmarks.augmentation import (
    counted_records,
    marginal_chain,
    normal_mean,
    records_one_by_one,
)
from tests.benchmarks.binomial import (
    accuracy,
    effective_draws_per_second,
    exact_engine,
    releasing,
    start_up,
)
from tests.benchmarks.censored import censored, censored_engines
from tests.benchmarks.engines import engines
from tests.benchmarks.exact_sums import exact_sums
from tests.benchmarks.log_linear import log_linear
from tests.benchmarks.measure import results
from tests.benchmarks.modips import modips, normal_copies, reproducing
from tests.benchmarks.networks import beta_model, flipping, hidden_networks, networks
from tests.benchmarks.privacy import auditing, composing, noise, privacy, spending, tables
from tests.benchmarks.regression import coverage, logistic, logistic_coverage, regression
from tests.benchmarks.studies import studies
from tests.benchmarks.tables import whole_tables

PARTS = (
    exact_engine,
    effective_draws_per_second,
    engines,
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
    records_one_by_one,
    marginal_chain,
    counted_records,
    normal_mean,
    regression,
    coverage,
    logistic,
    logistic_coverage,
    log_linear,
    exact_sums,
    studies,
    whole_tables,
)

if __name__ == "__main__":
    for part in PARTS:
        part()
    Path("bench.json").write_text(json.dumps(results, indent=2) + "\n")
