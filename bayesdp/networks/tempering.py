"""Levels of tempered chains for a formula, and log Z from the chains' draws."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.kernels.graphs.change_statistics import MUTUAL, WITHIN_PAIRS
from bayesdp.kernels.graphs.markov import Model
from bayesdp.kernels.graphs.normalizer import Points
from bayesdp.kernels.graphs.offset import Offset
from bayesdp.kernels.graphs.tempering import Ladder, at_root, temper
from bayesdp.networks.dyads import dyads_numbered
from bayesdp.networks.formula import BoundFormula, bind_together
from bayesdp.networks.graph import empty_graph
from bayesdp.networks.network import Network
from bayesdp.networks.normalizer import Floats, Normalizer, merged
from bayesdp.networks.offset import offset_from
from bayesdp.networks.pseudolikelihood import Dyads, dyads_of
from bayesdp.networks.randomness import state_from
from bayesdp.threads import in_threads

CHAINS = 8
"""That are averaged, and whose differences give the error."""
_FEWEST, _A_DYAD = 50, 0.25  # proposals between two draws of the level
_ROOTS = 24
_FARTHER = 3.0  # log-odds that roots reach beyond both ends of the paths
_CENTRES, _RUNGS = 5, 8  # where paths lead to, and the levels of each
_A_LEVEL = 40  # steps of learning a level, at least
_FLAT = 0.8  # power of the gain's fall while levels are far from learned
_CELL = 0.8  # in logarithms, at the farthest coefficients
_BEYOND = 1.5  # times as far as the farthest, cells are still fine enough
_GUESSES = 4  # graphs a root that first guesses of log Z are made from


@dataclass(frozen=True)
class Tempering:
    """Setup of tempering that the chains of a model share; made by `of`.

    Attributes
    ----------
    bound : BoundFormula
        The formula's statistics, and then the number of ties where that isn't one of them.
    terms : int
        Number of the formula's statistics.
    tie : int
        Position of the number of ties among the statistics.
    alone : ndarray of bool, shape (statistics,)
        Whether a statistic makes no dyad depend on another.
    offset : Offset
    at_empty, at_complete : Dyads
        Change statistics of all dyads in the empty graph, and in the complete graph.
    pairs : ndarray of int32, shape (dyads, 2)
    nodes : Network
    """

    bound: BoundFormula
    terms: int
    tie: int
    alone: NDArray[np.bool_]
    offset: Offset
    at_empty: Dyads
    at_complete: Dyads
    pairs: NDArray[np.int32]
    nodes: Network

    @classmethod
    def of(cls, formula: str, nodes: Network, offset: Any = None) -> Tempering:
        """Set up tempering for a formula on these nodes, whose own ties aren't read."""
        empty = nodes.with_edges(())
        bound, places = bind_together([formula, "edges"], empty)
        pairs = dyads_numbered(np.arange(nodes.dyads), nodes.n, nodes.directed)
        kinds = [kind for kind in WITHIN_PAIRS if kind != MUTUAL]
        return cls(
            bound=bound,
            terms=len(places[0]),
            tie=int(places[1][0]),
            alone=np.isin(bound.model.kind, kinds),
            offset=offset_from(offset, nodes.n, nodes.directed),
            at_empty=dyads_of(bound, empty, offset),
            at_complete=dyads_of(bound, empty.with_edges(pairs), offset),
            pairs=pairs.astype(np.int32),
            nodes=empty,
        )

    def normalizer(self, cloud: Floats, steps: int, generator: np.random.Generator) -> Normalizer:
        """Estimate the normalising constant around a cloud of coefficients.

        Parameters
        ----------
        cloud : ndarray of float, shape (coefficients, terms)
            Coefficients around which it will be evaluated.
        steps : int
            Steps of all chains together, each of a quarter as many proposals as there are dyads.
        generator : numpy Generator
        """
        ladder, zeta = self._ladder(cloud, generator)
        levels = len(zeta)
        proposals = max(_FEWEST, int(_A_DYAD * len(self.pairs)))
        learning = max(_A_LEVEL * levels, steps // 2)
        visits = np.zeros(levels)
        common = ladder, self.bound.model, self.offset, zeta
        temper(
            *common, 0, state_from(generator), proposals, _gains(learning, levels),
            *_room(learning, len(self.bound.names)), visits,
        )  # fmt: skip
        chain = functools.partial(_chain, common, proposals, -(-steps // CHAINS))
        drawn = in_threads(chain, generator.spawn(CHAINS))
        statistics, mixture = (np.array(part) for part in zip(*drawn, strict=True))
        roots = special.logsumexp(
            statistics @ ladder.coefficients[: ladder.roots].T - zeta[: ladder.roots], axis=-1
        )
        scale = special.logsumexp(roots - mixture) - math.log(ladder.roots)
        return self._in_cells(statistics, -mixture - scale, cloud)

    def _in_cells(self, statistics: Floats, log_weight: Floats, cloud: Floats) -> Normalizer:
        """Merge weighted draws, shapes (chains, draws, ...), into points at the means of cells.

        Cells are so small that at the cloud's farthest coefficients the exponents of the draws in a
        cell differ by `_CELL` in each term. Means are weighted as at the cloud's middle, so that
        log Z and its slope are those of the draws there; elsewhere log Z is at most `_CELL`**2 / 24
        too low.
        """
        chains, draws = log_weight.shape
        flat = statistics.reshape(chains * draws, -1)
        middle = np.median(cloud, axis=0)
        reach = np.maximum(np.abs(cloud - middle).max(axis=0), 1e-12)
        own = flat[:, : self.terms]
        cell = merged(np.floor(own * (reach / _CELL)))[1]
        power = log_weight.ravel() + own @ middle
        top = np.full(cell.max() + 1, -np.inf)
        np.maximum.at(top, cell, power)
        weight = np.exp(power - top[cell])
        total = np.bincount(cell, weight)
        ties, *mean = (
            np.bincount(cell, weight * column) / total for column in (flat[:, self.tie], *own.T)
        )
        each = np.bincount(np.repeat(np.arange(chains), draws) * len(top) + cell, weight,
                           chains * len(top)).reshape(chains, -1)  # fmt: skip
        there = top - middle @ np.array(mean)
        with np.errstate(divide="ignore"):
            parts = np.log(each) + there
        points = Points(np.array(mean), np.log(total) + there)
        count = np.bincount(cell).astype(np.float64)
        ends = middle - _BEYOND * reach, middle + _BEYOND * reach
        return Normalizer(points, ties, count, parts, *ends)

    def _ladder(self, cloud: Floats, generator: np.random.Generator) -> tuple[Ladder, Floats]:
        """Place levels around the cloud, with first guesses of their zeta, exact at roots."""
        whole = np.zeros((len(cloud), len(self.bound.names)))
        whole[:, : self.terms] = cloud
        centres = whole[_spread(cloud, _CENTRES)]
        paths = np.vstack([self._paths(centre) for centre in centres])
        roots = self._roots(centres)
        ladder = Ladder(
            np.vstack([roots, paths, whole]), len(roots), self.pairs,
            np.where(self.alone, self.at_empty.changes, 0.0), self.at_empty.shift,
            self.bound.at_empty, empty_graph(self.nodes.n, self.nodes.directed),
        )  # fmt: skip
        odds = ladder.alone @ roots.T + ladder.shift[:, None]
        known = np.logaddexp(0.0, odds).sum(axis=0) + roots @ self.bound.at_empty
        return ladder, self._first_guess(ladder, known, generator)

    def _ends(self, centre: Floats) -> Floats:
        """Log-odds that dependent terms add to a tie, in the empty and the complete graph."""
        apart = np.where(self.alone, 0.0, centre)
        low, high = (float((d.changes @ apart).mean()) for d in (self.at_empty, self.at_complete))
        return np.array([low, (low + high) / 2, high])

    def _paths(self, centre: Floats) -> Floats:
        """Place levels from a centre towards three roots, which aren't among them."""
        part = np.arange(1, _RUNGS + 1)[:, None] / (_RUNGS + 1)
        alone, apart = np.where(self.alone, centre, 0.0), np.where(self.alone, 0.0, centre)
        ties = np.eye(len(centre))[self.tie]
        return np.vstack(
            [alone + part * apart + (1 - part) * end * ties for end in self._ends(centre)]
        )

    def _roots(self, centres: Floats) -> Floats:
        """Place roots where the paths begin, and levels evenly between and a little beyond them."""
        ties = np.eye(centres.shape[1])[self.tie]
        alone = np.where(self.alone, centres, 0.0)
        starts = [a + end * ties for a, c in zip(alone, centres, strict=True) for end in
                  self._ends(c)]  # fmt: skip
        ends = np.array([self._ends(centre) for centre in centres])
        reach = np.linspace(ends.min() - _FARTHER, ends.max() + _FARTHER, _ROOTS)
        return np.vstack([*starts, alone.mean(axis=0) + reach[:, None] * ties])

    def _first_guess(self, ladder: Ladder, known: Floats, generator: np.random.Generator) -> Floats:
        """Guess log Z of each level: known at roots, elsewhere the largest bound from roots.

        log Z(c) >= log Z(r) + (c - r) . E_r[s], as log Z is convex; means are of a few graphs.
        """
        random, coordinates = state_from(generator), len(self.bound.names)
        mean, own = np.zeros((ladder.roots, coordinates)), np.empty(coordinates)
        for r in range(ladder.roots):
            for _ in range(_GUESSES):
                at_root(ladder, self.bound.model, r, random, own)
                mean[r] += own / _GUESSES
        base = known - (ladder.coefficients[: ladder.roots] * mean).sum(axis=1)
        zeta = (ladder.coefficients @ mean.T + base).max(axis=1)
        zeta[: ladder.roots] = known
        return np.asarray(zeta)


def _chain(
    common: tuple[Ladder, Model, Offset, Floats], proposals: int, steps: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:  # fmt: skip
    ladder, _, _, zeta = common
    kept, mixture = _room(steps, ladder.coefficients.shape[1])
    root = int(generator.integers(ladder.roots))
    temper(
        *common, root, state_from(generator), proposals, np.empty(0), kept, mixture,
        np.zeros(len(zeta)),
    )  # fmt: skip
    return kept, mixture


def _room(steps: int, coordinates: int) -> tuple[Floats, Floats]:
    return np.empty((steps, coordinates)), np.empty(steps)


def _gains(steps: int, levels: int) -> Floats:
    """Gains that fall slowly at first, so that far levels are filled up, and then as 1 / step."""
    step = np.arange(1.0, steps + 1)
    turn = steps // 3
    late = np.maximum(step - turn, 0.0) + max(turn, 1) ** _FLAT
    return np.minimum(1.0, levels / np.where(step <= turn, step**_FLAT, late))


def _spread(cloud: Floats, size: int) -> NDArray[np.int64]:
    """Choose indices of a few coefficients far from each other, the most central first."""
    scaled = (cloud - np.median(cloud, axis=0)) / np.maximum(cloud.std(axis=0), 1e-9)
    chosen = [int((scaled**2).sum(axis=1).argmin())]
    nearest = ((scaled - scaled[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(size, len(cloud)):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, ((scaled - scaled[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen)
