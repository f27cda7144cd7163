r"""Synthetic records from one draw of a censored posterior, for any model.

A copy is one draw of the parameters theta from a density proportional to

    prior(theta) exp(sum_i f_i(theta)),    lower <= f_i(theta) <= upper for each record i,

and then any number of synthetic records from theta and public inputs alone, which cost nothing
more. One exact draw has epsilon = upper - lower under add/remove-one and twice that under
replace-one (`bayesdp.synthesis.censor` has the proof), and k independent draws k times that. The
law of a copy given the confidential records is an integral over theta, and intractable.

On a grid
---------
With `grid`, theta is one of finitely many public cells' centres, jittered in its cell, and a
copy's law is that of the code (`bayesdp.synthesis.posterior_grid`), so the promise is proved.

By Markov chains
----------------
A draw within total variation gamma of an exact one: for neighbours D, D' and any set S,

    M(D)(S) <= exact(D)(S) + gamma <= e^epsilon exact(D')(S) + gamma
            <= e^epsilon (M(D')(S) + gamma) + gamma = e^epsilon M(D')(S) + (1 + e^epsilon) gamma,

where a refusal to release counts as one more outcome.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from bayesdp.checks import as_float, check_at_least_one, keep, plain
from bayesdp.core.censored_views import BetaCopiesView
from bayesdp.core.fields import later
from bayesdp.core.outputs.records import Column, Records
from bayesdp.core.views import IntractableView, RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.privacy import composition
from bayesdp.privacy.guarantee import Strength
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

_UNKNOWN = (
    "the copies' law is a function of the model that they were drawn with, which a release doesn't "
    "hold; analyse each copy as data and join the results by bdp.combine, or for records in (0, 1) "
    "release by CensoredBetaSynthesizer, which bdp.models.BetaModel reads"
)
_KINDS = {"integer": np.int64, "number": np.float64}
_RESERVED = ("copy", "part")  # columns of a release's file
_EXACT = (
    "The same operations on the same numbers, in arrays of the same shapes and types, give the "
    "same result: each record's term is computed from that record alone, but by floating-point "
    "arithmetic.",
    "The type of a column of data is public, integers or floats whatever the records are.",
)
_INEXACT = (
    "Each copy's draw of the parameters is exact: convergence diagnostics are no proof. If one is "
    "exact only within total variation gamma, its chance of being refused included, a copy of "
    "cost epsilon is (epsilon, (1 + e^epsilon) gamma).",
    "The prior is proper.",
)
_ASSUMPTIONS = (
    "The prior was chosen without the data; so was every number of the model that is no record's, "
    "the interval's centre, any grid, the inputs of the synthetic records, and whatever code of "
    "the model's own that draws them, a pm.CustomDist's random=, uses besides its arguments.",
    "A record is its entries of the observed variables and of all data as long as the records; "
    "its weight is public or a public function of that record alone.",
)
_SOME = (
    "There are at least two records: fewer may be refused, which would tell a data set of one from "
    "one of two."
)
_GENERATORS = {
    "pymc": "What the engine draws comes from its own generator, with a key of 64 bits from the "
    "operating system, which too can't be told from true randomness.",
    "stan": "What Stan draws comes from its own generator, which was not made to withstand attack, "
    "with a seed of 31 bits from the operating system: the promise does not hold against whoever "
    "runs Stan on guessed records with every seed.",
}

Row = tuple[float, ...]
GridAxis = tuple[str, float, float, int]
MOST_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class CensoredPosteriorMechanism(Mechanism):
    """Tables of synthetic records, each from its own draw of a censored posterior.

    Parameters
    ----------
    n : int or None
        Number of confidential records where it is public; neighbours then replace one. None where
        it is confidential; neighbours then add or remove one.
    size : int
        Number of synthetic records in a copy.
    lower, upper : float
        The interval that every record's log-likelihood is clipped to.
    columns : sequence of pairs
        Each column's name and kind, "integer" or "number".
    grid : sequence of tuples, optional
        Each parameter's name, bounds and number of cells, where it was drawn from a public grid.
    engine : {"pymc", "stan"}
        Engine that draws the parameters.
    axes : sequence of Axis
        Categories of the columns that have labels. Such a column's kind is "integer", and a
        record has the label's place among them, from 0.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    name: ClassVar[str] = "censored_posterior"
    pure: ClassVar[bool] = True
    views: ClassVar[tuple[View, ...]] = (IntractableView(BetaCopiesView, _UNKNOWN), RecordsView())
    log_concave: ClassVar[bool] = False

    n: int | None
    size: int
    lower: float
    upper: float
    columns: tuple[tuple[str, str], ...]
    grid: tuple[GridAxis, ...] | None = None
    engine: str = "pymc"
    axes: tuple[Axis, ...] = later(())

    def __post_init__(self) -> None:
        plain(self)
        if self.n is not None:
            keep(self, n=check_at_least_one("n", self.n, "(or None where it is confidential)"))
        keep(self, size=check_at_least_one("size", self.size))
        if not -math.inf < as_float(self.lower) < as_float(self.upper) < math.inf:
            raise InvalidInput("lower and upper must be finite numbers, the lower one first")
        columns = tuple(tuple(column) for column in self.columns)
        names = [column[0] for column in columns]
        good = all(len(c) == 2 and isinstance(c[0], str) and c[1] in _KINDS for c in columns)
        if not (good and columns and len(set(names)) == len(names) and "" not in names):
            raise InvalidInput(
                f"columns is {quoted(self.columns)}; give each column's name, once, and kind, one "
                f"of {list(_KINDS)}"
            )
        if set(names) & set(_RESERVED):
            raise InvalidInput(f"columns are {names}; {list(_RESERVED)} are taken: rename them")
        if self.engine not in _GENERATORS:
            raise InvalidInput(
                f"engine is {quoted(self.engine)}; it must be one of {list(_GENERATORS)}"
            )
        object.__setattr__(self, "columns", columns)
        if self.grid is not None:
            object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "axes", _check_labels(self.axes, columns))

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    def pure_epsilon(self) -> float:
        """Epsilon of a copy: the width of the interval, twice that under replace-one."""
        times = 1 if self.neighbours is Neighbours.ADD_REMOVE else 2
        return composition.total([self.upper, -self.lower] * times)

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it.

        Raises
        ------
        InvalidInput
            If nothing is promised under `neighbours`: replace-one is allowed and, where n is
            confidential, add/remove-one.
        """
        copies = check_at_least_one("copies", copies)
        times = 1 if self.relation(neighbours) is Neighbours.ADD_REMOVE else 2
        one = [self.upper, -self.lower] * times
        return pure_profile(composition.total(one), copies, composition.total(one * copies))

    @property
    def strength(self) -> Strength:
        """The promise's strength: proved on a grid, conditional where Markov chains draw."""
        return Strength.CONDITIONAL if self.grid is None else Strength.PROVED

    @property
    def source(self) -> str:
        """The proof or publication that the promise rests on."""
        room = "bayesdp.synthesis."
        return f"{room}censor" if self.grid is None else f"{room}posterior_grid"

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise, in words for the reader of a report."""
        drawn = (*_INEXACT, _GENERATORS[self.engine]) if self.grid is None else _EXACT
        return (*drawn, *_ASSUMPTIONS, PUBLIC_N if self.n else _SOME)

    def check_statistic(self, statistic: Any) -> NoReturn:
        """Raise InvalidInput: the mechanism alone doesn't have the model to draw from."""
        raise InvalidInput(
            "mechanism 'censored_posterior' draws with its model: use "
            "bdp.PosteriorSynthesizer(model, ...).release()"
        )

    def logp(self, output: Any, statistic: Any) -> NoReturn:
        """Raise InvalidInput: the law integrates over parameters of a model that isn't released."""
        raise InvalidInput(
            "the law of a censored posterior's synthetic records is intractable; analyse each copy "
            "as data and combine the results with bdp.combine, whose caveats then hold"
        )

    def pairs(self) -> NoReturn:
        """Raise InvalidInput: an audit would need a tractable law, or the model."""
        raise InvalidInput(
            "mechanism 'censored_posterior' can't be audited without its model; its guarantee is "
            "conditional on exact draws, unless these are from a grid, and its proof is in "
            "bayesdp.synthesis.censor"
        )

    @property
    def space(self) -> Records:
        """Tables of the synthetic records' columns."""
        labels = {axis.name: Column(axis.name, 0, axis.size - 1, axis=axis) for axis in self.axes}
        made = [
            labels.get(name, Column(name, whole=kind == "integer")) for name, kind in self.columns
        ]
        return Records(self.size, tuple(made))


def _check_labels(axes: Any, columns: Sequence[Any]) -> tuple[Axis, ...]:
    """Return the axes if each has the categories of a column of places, or raise InvalidInput."""
    made = tuple(Axis(**axis) if isinstance(axis, Mapping) else axis for axis in axes)
    places = [name for name, kind in columns if kind == "integer"]
    names = [getattr(axis, "name", None) for axis in made if getattr(axis, "categories", None)]
    if len(names) < len(made) or len(set(names)) < len(names) or not set(names) <= set(places):
        raise InvalidInput(
            f"axes is {quoted(axes)}; they must be the categories of columns, each once, whose "
            f"kind is 'integer', as {places} are"
        )
    return made


def check_grid(grid: Sequence[Any]) -> tuple[GridAxis, ...]:
    """Return a grid's axes, each parameter's name, bounds and cells, or raise InvalidInput."""
    given = tuple(tuple(axis) for axis in grid)
    if not given or any(len(axis) != 4 or not isinstance(axis[0], str) for axis in given):
        raise InvalidInput(
            f"grid is {quoted(grid)}; it must have a name, two bounds and a number of cells for "
            "each parameter"
        )
    made = []
    for name, *ends, number in given:
        low, high = map(as_float, ends)
        if not (low < high and math.isfinite(high - low)):
            raise InvalidInput(
                f"bounds of {quoted(name)} are {(low, high)}; they must be finite numbers, the "
                "lower first, chosen without the data"
            )
        cells = check_at_least_one(f"number of cells of {quoted(name)}", number)
        made.append((str(name), low, high, cells))
    if not 2 <= math.prod(axis[3] for axis in made) <= MOST_CELLS:
        raise InvalidInput(
            f"grid has {math.prod(axis[3] for axis in made):,} cells; it must have from 2 to "
            f"{MOST_CELLS:,}: choose another grid_size"
        )
    return tuple(made)
