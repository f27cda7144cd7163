r"""Exact draws from a model's censored posterior on a public grid of its parameters.

The parameters theta, at most three numbers, are cut into cells by public bounds. A cell c, of
centre theta_c, is drawn with probability proportional to exp(2^-bits (P_c + sum_i k_i(c))), where

* P_c is the log prior density at theta_c, times 2^bits, rounded; cells are equally large, so
  their volume cancels. A function of public numbers.
* k_i(c) is record i's clipped log-likelihood at theta_c, times 2^bits, rounded to an integer in
  [2^bits lower, 2^bits upper].

Then theta is uniform in the cell, and the synthetic records follow it.

Privacy
-------
The law above is the code's own: P and k are the integers that the code computes, their sums are
exact, and the cell is drawn exactly, by rejection in integer arithmetic
(`bayesdp.mechanisms.selection.exponential`). So all that is needed for epsilon = upper - lower
under add/remove-one, and twice that under replace-one (`bayesdp.synthesis.censor`), is that P is
public and that k_i is a function of record i alone with values in the interval. It is in it by
construction, after all rounding. That it is record i's alone, to the last bit, is why each record
is evaluated on its own:

* The function that is evaluated has no data in it. Its inputs are one record's values, as arrays
  with one record along the records' axis, and the cells' centres. So its shapes, and hence the
  instructions that run, don't depend on how many records there are or on which is evaluated. A
  vectorised evaluation of all records at once would not do: the last few of an array may take
  another path, with other rounding.
* What remains is that a computer's arithmetic is a function: the same operations on the same
  numbers, in arrays of the same shapes and types, give the same numbers. If rounding depended on
  something else, such as where arrays are in memory, but not on the data, then the law would be a
  mixture of laws, each with that promise, and keep it. A column's type is an assumption: were it
  one of integers or of floats by what all records are, a term would depend on the others.

Nothing is left to delta, to convergence, or to the prior's being proper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytensor.tensor as pt
from numpy.typing import NDArray
from pymc.logprob.basic import logp
from pytensor.graph.basic import Variable

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.censored.posterior import GridAxis, check_grid
from bayesdp.mechanisms.randomness import random_words
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.synthesis.censor.graph import Tracer, contents
from bayesdp.synthesis.posterior_grid_graph import (
    not_alone,
    of_one_record,
    over_cells,
    rebuilt,
    without_checks,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_MOST_PARAMETERS = 3
_DEFAULT_CELLS = {1: 1000, 2: 100, 3: 40}  # along each axis
_CHUNK = 1 << 15  # cells evaluated at once
_TERM_BITS, _RECORD_BITS = 37, 24  # so that a sum of terms is below 2^61


def grid_of(model: Any, bounds: Any, size: Any) -> tuple[GridAxis, ...]:
    """Make the public grid over a model's free variables, in their own space.

    Raises
    ------
    InvalidInput
        If the free variables aren't one to three continuous numbers, or the bounds or the size
        don't fit them.
    """
    free = model.free_RVs
    shapes = [variable.name for variable in free if variable.type.ndim]
    discrete = [v.name for v in free if np.dtype(v.type.dtype).kind != "f"]
    if shapes or discrete or not 1 <= len(free) <= _MOST_PARAMETERS:
        raise InvalidInput(
            f"model has free variables {[variable.name for variable in free]}"
            + (f", of which {shapes} are arrays" if shapes else "")
            + (f", of which {discrete} are discrete" if discrete else "")
            + f"; engine='grid' is for one to {_MOST_PARAMETERS} continuous numbers: use "
            "engine='pymc', or write or sum out variables so that these are left"
        )
    names = [variable.name for variable in free]
    if not isinstance(bounds, Mapping) or set(bounds) != set(names):
        raise InvalidInput(
            f"grid_bounds is {quoted(bounds)}; give (low, high) for each of the free variables "
            f"{names}, chosen without the data: grid_bounds={{'theta': (-5.0, 5.0)}}"
        )
    sizes = _DEFAULT_CELLS[len(free)] if size is None else size
    if not isinstance(sizes, Mapping):
        sizes = dict.fromkeys(names, sizes)
    if set(sizes) != set(names):
        raise InvalidInput(
            f"grid_size is {quoted(size)}; give a number of cells, or one for each of {names}"
        )
    made = []
    for name in names:
        pair = bounds[name]
        if not isinstance(pair, Sequence | np.ndarray) or len(pair) != 2:
            raise InvalidInput(
                f"grid_bounds of {quoted(name)} is {quoted(pair)}; it must be (low, high)"
            )
        made.append((name, *pair, sizes[name]))
    return check_grid(made)


@dataclass(frozen=True, eq=False)
class PosteriorGrid:
    """Censored posterior on a grid; everything except its draws is for the curator alone.

    Parameters
    ----------
    tracer, terms
        As returned by `bayesdp.synthesis.censor.model.traced`, with a confidential n.
    lower, upper : float
        The interval that every record's log-likelihood is clipped to.
    weights : ndarray, shape (n,), optional
        Each record's weight.
    grid : tuple
        As returned by `grid_of`.

    Raises
    ------
    InvalidInput
        If the interval is too narrow for the lattice that terms are rounded to, the prior can't be
        evaluated on the grid, or a record's term needs the other records.
    """

    tracer: Tracer
    terms: Variable
    lower: float
    upper: float
    weights: Floats | None
    grid: tuple[GridAxis, ...]

    def __post_init__(self) -> None:
        if self.tracer.axes.n > 1 << _RECORD_BITS:
            raise InvalidInput(
                f"model has more than 2^{_RECORD_BITS} records, the most that engine='grid' takes; "
                "use engine='pymc'"
            )
        if self._ends[0] >= self._ends[1]:
            raise InvalidInput(
                f"epsilon gives an interval {(self.lower, self.upper)}, too narrow for terms that "
                f"are multiples of 2^-{self.bits}; enlarge it, or choose center nearer to 0"
            )
        if self.possible.size < 2:
            raise InvalidInput(
                "grid_bounds leave fewer than two cells where the prior is positive; choose bounds "
                "within its range"
            )
        self.record_terms(0, self._centres(slice(0, _CHUNK)))  # refused before anything is spent

    @property
    def bits(self) -> int:
        """Number of bits: terms are multiples of 2^-bits; public, from the interval alone."""
        return _TERM_BITS - max(0, math.frexp(max(abs(self.lower), abs(self.upper)))[1])

    @property
    def _ends(self) -> tuple[int, int]:
        low, high = (math.ldexp(v, self.bits) for v in (self.lower, self.upper))
        return math.ceil(low), math.floor(high)

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of cells along each axis."""
        return tuple(axis[3] for axis in self.grid)

    @cached_property
    def centres(self) -> list[Floats]:
        """Values of each parameter at every cell's centre, shape (cells,)."""
        along = [low + (high - low) * (np.arange(k) + 0.5) / k for _, low, high, k in self.grid]
        return [each.ravel() for each in np.meshgrid(*along, indexing="ij")]

    def _centres(self, cells: Any) -> list[Floats]:
        return [each[cells] for each in self.centres]

    def _named(self) -> dict[Variable, Variable]:
        return {rv: rv.type(name=rv.name) for rv in self.tracer.model.free_RVs}

    @cached_property
    def _log_prior(self) -> Any:
        """Compile the log prior density in the parameters' own space; -inf where not allowed."""
        model, theta = self.tracer.model, self._named()
        densities = [logp(rv, each, warn_rvs=False) for rv, each in theta.items()]
        densities += [potential.sum() for potential in model.potentials]
        density, conditions = without_checks(sum(densities[1:], start=densities[0]), theta)
        back = {self.tracer.parameters[rv]: each for rv, each in theta.items()}
        for condition in [*conditions, *rebuilt(self.tracer.conditions, back)]:
            density = pt.switch(pt.all(condition), density, -np.inf)
        return over_cells(density, list(theta.values()), [])

    def log_prior(self, parameters: Sequence[Floats]) -> Floats:
        """Log prior density at points, given as one array for each parameter; public."""
        with np.errstate(all="ignore"):
            density = np.asarray(self._log_prior(*parameters), dtype=np.float64)
        if np.any(np.isnan(density) | (density == np.inf)):
            raise InvalidInput(
                "the prior's density is infinite or no number somewhere on the grid; choose other "
                "grid_bounds or another prior"
            )
        return np.broadcast_to(density, parameters[0].shape)

    @cached_property
    def prior(self) -> Floats:
        """Log prior density at the centres, the largest taken as 0."""
        density = self.log_prior(self.centres)
        return np.subtract(density, max(float(density.max()), -1e300))

    @cached_property
    def possible(self) -> Integers:
        """Cells that may be drawn: where the prior is positive. Public."""
        return np.flatnonzero(self.prior > -math.ldexp(1.0, 61 - self.bits))

    @cached_property
    def _one_record(self) -> Any:
        """Compile the log-likelihood of one record at many parameters; no data are in it."""
        theta = self._named()
        term, records = of_one_record(self.tracer, self.terms, theta)
        return over_cells(term, list(theta.values()), records)

    def record_terms(self, i: int, parameters: Sequence[Floats]) -> Integers:
        """Clipped terms of record i at some parameters, as multiples of 2^-bits."""
        own = [
            np.take(np.asarray(contents(root)), [i], axis)
            for root, axis in self.tracer.roots.items()
        ]
        cells = parameters[0].size
        try:
            with np.errstate(all="ignore"):
                raw = np.asarray(self._one_record(*parameters, *own), dtype=np.float64)
        except (ValueError, TypeError, IndexError, NotImplementedError):
            raise not_alone("a shape in it is fixed") from None
        if raw.shape not in ((cells, 1), (1,)):
            raise not_alone("its shape is another")
        values = np.broadcast_to(raw[..., 0], (cells,))
        if self.weights is not None:
            weight = self.weights[i]
            with np.errstate(over="ignore"):
                values = weight * values if weight > 0 else np.zeros(cells)
        values = np.where(np.isnan(values), self.lower, np.clip(values, self.lower, self.upper))
        rounded = np.rint(np.ldexp(values, self.bits))
        terms: Integers = np.clip(rounded, *self._ends).astype(np.int64)
        return terms

    @cached_property
    def log_weights(self) -> Integers:
        """Log weights of the possible cells, as multiples of 2^-bits: exact."""
        total = np.rint(np.ldexp(self.prior[self.possible], self.bits)).astype(np.int64)
        for start in range(0, total.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            parameters = self._centres(self.possible[chunk])
            for i in range(self.tracer.axes.n):
                total[chunk] += self.record_terms(i, parameters)
        return total

    def draw(self, copies: int) -> list[dict[str, NDArray[Any]]]:
        """Draw the parameters independently and exactly, jittered in their cells."""
        # Its rate is epsilon / 2 for a sensitivity of 1: 2^-bits.
        rate = math.ldexp(1.0, 1 - self.bits)
        choice = ExponentialMechanism(rate, 1.0, self.possible.size)
        cells = self.possible[choice.release(self.log_weights, copies)]
        middle = self._centres(cells)
        words = random_words(copies * len(self.grid)).reshape(len(self.grid), copies)
        inside = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53 - 0.5
        moved = [
            np.clip(centre + u * ((high - low) / k), low, high)
            for centre, u, (_, low, high, k) in zip(middle, inside, self.grid, strict=True)
        ]
        with np.errstate(all="ignore"):
            kept = np.isfinite(np.asarray(self._log_prior(*moved)))  # in the prior's range
        points = [np.where(kept, one, other) for one, other in zip(moved, middle, strict=True)]
        names = [axis[0] for axis in self.grid]
        return [
            {name: np.asarray(each[k]) for name, each in zip(names, points, strict=True)}
            for k in range(copies)
        ]
