"""Pseudo-posterior of (phi, lambda), clipped: for the curator to look at, never to release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.censored.disk_column import mapped
from bayesdp.mechanisms.censored.grid import ClippedPosterior
from bayesdp.mechanisms.randomness import reproducible

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd

Floats = NDArray[np.float64]
_POINTS = 400  # along each axis; more than 20 a standard deviation
_NEGLIGIBLE = 1e-16
_PIECE = 1 << 16  # records looked at together


@dataclass(frozen=True)
class _Lattice:
    """Grid coordinates, parameters and probabilities of points that carry the law."""

    i: Floats
    j: Floats
    phi: Floats
    lam: Floats
    probability: Floats


@dataclass(frozen=True, eq=False, repr=False)
class PseudoPosterior:
    """Confidential law from which a censored beta synthesizer draws (phi, lambda).

    Nothing here has a privacy guarantee: it depends on the records without any noise. Make one with
    `CensoredBetaSynthesizer.pseudo_posterior`.

    Moments and quantiles are sums over 400 x 400 evenly spaced points of the grid which carry
    all but about 1e-16 of the mass, or over all of the grid's points where they are fewer. Where a
    prior of phi with a parameter below 1 puts mass beside 0 or 1 that few records leave there, that
    is too coarse; `sample` is exact.

    Parameters
    ----------
    law : ClippedPosterior
        The law of the grid's cells, given the records.
    """

    law: ClippedPosterior

    def summary(self, quantiles: Sequence[float] = (0.025, 0.5, 0.975)) -> pd.DataFrame:
        """Summarise phi and lambda: mean, standard deviation and quantiles.

        Parameters
        ----------
        quantiles : sequence of float
            Probabilities in (0, 1).

        Returns
        -------
        DataFrame
            Rows phi and lambda; columns mean, sd and one for each quantile, named by its
            probability.
        """
        import pandas as pd

        given = np.asarray(quantiles, dtype=object)
        levels = np.array([as_float(level) for level in given.ravel()])
        if given.ndim != 1 or not np.all((levels > 0) & (levels < 1)):
            raise InvalidInput(
                f"quantiles is {quoted(quantiles)}; give probabilities between 0 and 1"
            )
        lattice = self._lattice
        rows = {}
        for name, axis in (("phi", 1), ("lambda", 0)):
            values = lattice.phi if name == "phi" else lattice.lam
            probability = lattice.probability.sum(axis=axis)
            mean = float(probability @ values)
            sd = float(np.sqrt(probability @ (values - mean) ** 2))
            below = np.cumsum(probability) - probability / 2
            rows[name] = [mean, sd, *np.interp(levels, below, values)]
        return pd.DataFrame.from_dict(
            rows, orient="index", columns=["mean", "sd", *(f"{level:g}" for level in levels)]
        )

    def sample(self, k: int, seed: int) -> pd.DataFrame:
        """Draw `k` exact independent pairs, columns phi and lambda, from a seeded generator."""
        import pandas as pd

        k = check_at_least_one("k", k)
        with reproducible(seed):
            return pd.DataFrame(self.law.drawn(k), columns=["phi", "lambda"])

    def to_inference_data(self, k: int, seed: int) -> az.InferenceData:
        """Draw `k` pairs as `sample` does, with each record's log density at each of them.

        Parameters
        ----------
        k, seed
            As for `sample`.

        Returns
        -------
        InferenceData
            As of `CensoredBetaSynthesizer.pseudo_posterior` by another engine, with one chain of
            independent draws; values are those of the sorted records, rescaled to (0, 1).
        """
        from bayesdp.engines.draws import Draws
        from bayesdp.synthesis.censored_beta_law import BetaLaw
        from bayesdp.synthesis.censored_chains import as_inference_data, check_densities

        grid, records, weights = self.law.grid, self.law.records, self.law.weights
        check_densities(check_at_least_one("k", k), records.size)
        drawn = self.sample(k, seed)
        posterior = {str(name): drawn[name].to_numpy()[None] for name in drawn}
        law = BetaLaw(grid.prior_phi, grid.prior_lambda, grid.largest)
        return as_inference_data(
            Draws(posterior, {}, "grid"),
            law,
            (self.law.low, self.law.high),
            records[:],
            None if weights is None else weights[:],
            log_lik=True,
        )

    @property
    def censored(self) -> int:
        """Count the records whose term is clipped at the mean of (phi, lambda)."""
        phi, lam = (np.array([v]) for v in self.summary()["mean"])
        return int(self.law.log_weights(phi, lam)[1][0, 0])

    @cached_property
    def lipschitz(self) -> float:
        """Find the largest absolute clipped term of a record, over records and 1000 draws.

        It is at most the larger of the interval's ends in absolute value, and equal to it where
        a record is clipped there.
        """
        from scipy import special

        phi, lam = self.sample(1000, seed=0).to_numpy().T
        shapes = lam * phi, lam * (1 - phi)
        curves = np.stack([*shapes, special.betaln(*shapes)], axis=1)
        largest = 0.0
        for y, w, some in self._risky(curves):
            t1, t2 = np.log(y), np.log1p(-y)
            for a, b, c in some:
                g = np.clip(w * ((a - 1) * t1 + (b - 1) * t2 - c), self.law.low, self.law.high)
                largest = max(largest, float(np.abs(g).max()))
        return largest

    def _risky(self, curves: Floats) -> Iterator[tuple[Floats, Any, Floats]]:
        """Yield records, weights and curves (a, b, log Beta) that attain the largest term."""
        weights, n = self.law.weights, self.law.records.size
        if n == 0:
            return
        if weights is not None:
            for start in range(0, n, _PIECE):
                some = slice(start, start + _PIECE)
                yield self.law.records[some], weights[some], curves
            return
        records = mapped(self.law.records)
        for curve in curves:
            # |g| is largest at an end of the records or beside the point where g turns.
            a, b = curve[:2] - 1
            place = np.searchsorted(records, a / (a + b) if a * b > 0 else 0.0)
            few = np.clip([0, place - 1, place, n - 1], 0, n - 1)
            yield records[few], 1.0, curve[None]

    def __repr__(self) -> str:
        return "PseudoPosterior(confidential)"

    @cached_property
    def _lattice(self) -> _Lattice:
        """Zoom in from the blocks of a draw until the box that carries the mass is stable."""
        blocks = self.law.blocks
        mass = blocks.mass(blocks.bound)
        real = mass > mass.max() + np.log(_NEGLIGIBLE)
        sides = ((blocks.i, blocks.wide), (blocks.j, blocks.high))
        box = [
            (int(start[real].min()), int((start + (1 << bits))[real].max()))
            for start, bits in sides
        ]
        while True:
            lattice = self._at(box)
            smaller = []
            for (first, last), axis in zip(box, (1, 0), strict=True):
                real = np.flatnonzero(lattice.probability.max(axis=axis) > _NEGLIGIBLE)
                width = (last - first) / lattice.probability.shape[1 - axis]
                start = int(first + width * max(real[0] - 1, 0))
                smaller.append((start, min(last, 1 + int(first + width * (real[-1] + 2)))))
            if all(b - a > 0.9 * (d - c) for (a, b), (c, d) in zip(smaller, box, strict=True)):
                return lattice
            box = smaller

    def _at(self, box: list[tuple[int, int]]) -> _Lattice:
        i, j = (_spread(*side) for side in box)
        phi, lam = self.law.grid.points(i, j)
        logs = self.law.log_weights(phi, lam)[0]
        weights = np.exp(logs - logs.max())
        return _Lattice(i, j, phi, lam, weights / weights.sum())


def _spread(first: int, last: int) -> Floats:
    """Space points evenly between two cells' edges; the cells' own centres where few."""
    points = min(_POINTS, last - first)
    return np.asarray(first + (np.arange(points) + 0.5) * ((last - first) / points))
