"""No move of a triangle writes beyond the graph's arrays, which kernels don't look at."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import itertools
import numpy as np
from bayesdp.networks import Network
from bayesdp.networks.evidence import Evidence
from bayesdp.networks.hidden.evidence import seen_of
from bayesdp.kernels.hidden.graph import hidden_of
from bayesdp.kernels.hidden.triangles import flip_triangles
from bayesdp.networks.randomness import state_from

nodes, missing = Network(12), {(0, 2), (1, 2), (10, 11)}
ties = [pair for pair in itertools.combinations(range(12), 2) if pair not in missing]
evidence = Evidence(nodes, np.array([(0, 1), (0, 2), (1, 2)]), np.ones(3), constant=0.5)
seen, bound, _ = seen_of(evidence, "edges + triangle", nodes)
for seed in range(100):
    graph, statistics = bound.graph(nodes.with_edges(ties))
    assert graph.sizes[0] + 1 == len(graph.edges)  # one more tie, and it must grow
    random = state_from(np.random.default_rng(seed))
    change = np.empty_like(statistics)
    flip_triangles(
        hidden_of(graph, seen), bound.model, seen, np.zeros(2), random, change, statistics, 1
    )
"""


@pytest.mark.slow
def test_moves_near_the_end_of_the_room(tmp_path):
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    checked["NUMBA_OPT"] = "0"  # the bounds are looked at all the same, and compiling is most of it
    subprocess.run([sys.executable, "-c", SCRIPT], env=checked, check=True, timeout=1800)
