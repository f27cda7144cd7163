"""No move of a triangle writes beyond the graph's arrays, which kernels don't look at."""

import os
import subprocess
import sys

import pytest

# Python's own arrays look at bounds, and compiling the kernels to do so is most of the time.
SCRIPT = """
import itertools
import numpy as np
from bayesdp.kernels import bits
bits.count_ones = lambda word: int(word).bit_count()
bits.lowest_one = lambda word: (int(word) & -int(word)).bit_length() - 1
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
def test_moves_near_the_end_of_the_room():
    interpreted = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT], env=interpreted, check=True, timeout=1800
    )
