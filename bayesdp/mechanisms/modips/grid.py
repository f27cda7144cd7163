r"""Sanitization of a discretized posterior: SDD, SDD.MC and SPHC of Liu's modips procedures.

theta's range is cut into public cells (`bayesdp.mechanisms.families.grids`), a cell is chosen
privately given the posterior at their middles, theta is uniform in it, and a copy follows:

    c ~ mechanism(log posterior),    theta ~ Uniform(cell c),    y_1, ..., y_size ~ p(y | theta).

Only the choice of c depends on the records (Liu 2016, section 3.3, Algorithms 2 to 4).

calibration="corrected"
-----------------------
`bayesdp.mechanisms.selection.posterior_cells` proves what SDD and SPHC cost. SDD needs R, the
largest range over cells of one record's log-likelihood ratio, which `GridModel.furthest` has
exactly. In the code log posteriors are rounded to whole multiples of 2^-bits after exact rational
arithmetic. So d is an integer within 1 of 2^bits times its own, and its range at most
r = floor(2^bits R) + 2; the cell is drawn exactly, with power min(1, epsilon / (2^-bits r)). So the
promise is of the code's own law. SDD.MC has no corrected form.

Where n is public, neighbours replace a record; where it is confidential, they add or remove one,
and replacing one costs at most power times the R of replace-one.

calibration="published"
-----------------------
n is public. A = sup |log f|, over data and cells, f the posterior density at a middle; G = sup f,
and V a cell's width. Draws are of the cells, with probabilities in proportion to f.

=======  ==================================================  =====================================
method   as printed                                          what holds
=======  ==================================================  =====================================
sdd      Pr[c] in proportion to (f_c V)^(epsilon / (4 A))    epsilon, as A is finite on a public
                                                             grid; less power than corrected
sdd.mc   log(N_c / N) + Laplace(2 A / epsilon), each c       nothing: an empty cell stays empty
sphc     N_c + Laplace(N G V / epsilon), each c              more than epsilon: N G V bounds the
                                                             mean of one count, not what all
                                                             counts, which are random, can move
=======  ==================================================  =====================================

With pi_c(v) the posterior probability of cell c given a statistic v, one number,

    log pi_c(v) = R_c + A_c (v - o) - log sum_j exp(R_j + A_j (v - o))

is concave in v. So its least value is at an end of v's range, and its largest where its derivative
A_c - E[A | v] is 0, E[A | v] the mean under pi(v), which increases in v; of an integer v, at one of
the two next to that. The density is f = pi_c / V, and

    A = sup over v and c of |log f|,    G V = sup over v and c of pi_c(v).

Neither needs to be rounded up: their uses aren't proved to keep the claim, except SDD, where the
bound in use is the larger one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import (
    check_at_least_one,
    check_flag,
    check_one_of,
    check_one_statistic,
)
from bayesdp.core.fields import later
from bayesdp.core.outputs import OutputSpace
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.draws.integer_noise import LARGEST_SCALE
from bayesdp.mechanisms.families import Family, check_family
from bayesdp.mechanisms.families.grid_model import GridModel, OnGrid
from bayesdp.mechanisms.families.grids import grid_model, on_grid
from bayesdp.mechanisms.noise.fields import BOUNDING
from bayesdp.mechanisms.noise.pure import up
from bayesdp.mechanisms.randomness import generator
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.mechanisms.selection.posterior_cells import (
    noise_of,
    perturbed_cells,
    published_cell,
)
from bayesdp.privacy.guarantee import Strength, check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours
from bayesdp.privacy.profile import Profile, pure_profile

Floats = NDArray[np.float64]

METHODS = ("sdd", "sdd.mc", "sphc")
CALIBRATIONS = ("corrected", "published")
MOST_RECORDS = 2**29  # where their number is confidential: so log posteriors fit 64 bits
_MOST_SAMPLES = 10_000_000

_FAULTS = {
    "sdd.mc": (
        "False in general: every cell is perturbed with all of epsilon, as if cells depended on "
        "different records, but each depends on all of them.",
        "False in general: log(N_i / N) of an empty cell is minus infinity, with any noise.",
    ),
    "sphc": (
        "False in general: every cell is perturbed with all of epsilon, as if cells depended on "
        "different records, but each depends on all of them.",
        "False in general: N G V bounds the expected count of a cell; the counts themselves are "
        "random given the records, and any may move by N.",
    ),
}
_WITHIN = "All records are within the family's bounds: others are refused."
_HOLDS = (
    "As printed, with Delta_u = 2 A: A is finite on a public grid, so Proposition 3 holds there.",
)
_FINEST, _LEAST, _BITS = 40, 10, 60
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class ModipsGridMechanism(Mechanism):
    """Synthetic records given a parameter chosen privately from cells of its posterior.

    Parameters
    ----------
    family : Family
        `Bernoulli`, `Gaussian` with a known sd, or `Categorical` with k = 3.
    size : int
        Number of synthetic records in a copy.
    epsilon : float
        Largest epsilon of one copy.
    grid : tuple of two floats
        Ends of the parameter's range; for three categories, low and 1 - 2 low of each probability.
        Public.
    method : {"sdd", "sdd.mc", "sphc"}
    calibration : {"corrected", "published"}
    bins : int
        Number of cells of equal width, from 2 to 1000; for three categories, from 2 to 100 along
        each side of the triangle of their probabilities, which then has bins^2 cells.
    samples : int
        N, the number of posterior draws in a histogram; for "sdd.mc" and "sphc".
    n : int, optional
        Number of confidential records, where it is public.
    bounding : {"inflated", "truncated"}
        How synthetic records are kept within the family's bounds, if it has them.
    clip : bool
        Whether records outside the family's bounds were moved to the nearest bound, each by itself.
    scale : float, optional
        Scale of the noise of a count, for "sphc" as corrected. Default: 2 samples / epsilon, at
        which all counts together keep epsilon. One cell keeps it at less
        (`bayesdp.mechanisms.selection.histogram_cost`), which `bdp.ModipsSynthesizer` takes.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or there is no finite sensitivity.

    Notes
    -----
    The power that SDD draws from shrinks with the grid's reach: for Bernoulli records and 20 cells
    from 0 to 1 it is epsilon / 7.3, and from 0.2 to 0.8 epsilon / 2.6. SPHC's noise, at its default
    scale, hides the posterior unless epsilon is well above 2.
    """

    family: Family
    size: int
    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    grid: tuple[float, float]
    method: str = "sdd"
    calibration: str = "corrected"
    bins: int = 20
    samples: int = 1000
    n: int | None = None
    bounding: str = "inflated"
    clip: bool = False
    scale: float | None = later(None)

    name: ClassVar[str] = "modips_grid"
    pure: ClassVar[bool] = True
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_method(self.method, self.calibration)
        family = check_family(self.family)
        checked: dict[str, Any] = {
            "family": family,
            "size": check_at_least_one("size", self.size),
            "epsilon": check_epsilon(self.epsilon),
            "grid": on_grid(family).check_ends(self.grid),
            "bins": check_at_least_one("bins", self.bins),
            "samples": check_at_least_one("samples", self.samples),
            "n": None,
        }
        cells = on_grid(family)
        if self.n is not None:
            checked["n"] = check_at_least_one("n", self.n, "or None if confidential")
        elif self.calibration == "published":
            raise InvalidInput(
                "n is None, but A and G of the published calibration are infinite or 1 where the "
                "number of records has no bound; give n, if it is public, or take "
                "calibration='corrected'"
            )
        if not 2 <= checked["bins"] <= cells.most:
            raise InvalidInput(f"bins is {self.bins}; it must be from 2 to {cells.most}")
        if not cells.published and self.calibration == "published":
            raise InvalidInput(
                "calibration is 'published', which is offered for one parameter alone; take "
                "calibration='corrected'"
            )
        if checked["samples"] > _MOST_SAMPLES:
            raise InvalidInput(f"samples is {self.samples}; it must be at most {_MOST_SAMPLES:,}")
        if self.method == "sphc" and 2 * checked["samples"] / checked["epsilon"] > LARGEST_SCALE:
            raise InvalidInput(
                f"epsilon is {self.epsilon}, with samples {self.samples}: their noise exceeds 64 "
                "bits; take a larger epsilon"
            )
        check_one_of("bounding", self.bounding, BOUNDING)
        check_flag("clip", self.clip)
        grid_model(family, checked["grid"], checked["bins"], checked["n"])
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_scale()
        if self.bits < _LEAST:
            raise InvalidInput(
                "log-likelihoods differ by too much over the grid for a choice in 64 bits; take a "
                "narrower grid"
            )

    def _check_scale(self) -> None:
        """Raise InvalidInput if a scale is given that isn't used, or at which a cell costs more."""
        if self.scale is None:
            return
        if (self.method, self.calibration) != ("sphc", "corrected"):
            raise InvalidInput(
                f"scale is {quoted(self.scale)}, but it is for method='sphc' with "
                "calibration='corrected' alone; leave it out"
            )
        from bayesdp.mechanisms.selection.histogram_cost import check_scale

        cells = len(self.model.public)
        scale = check_scale("scale", self.scale, self.samples, cells, self.epsilon)
        object.__setattr__(self, "scale", scale)

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return Neighbours.ADD_REMOVE if self.n is None else Neighbours.REPLACE_ONE

    @property
    def on_grid(self) -> OnGrid:
        """The family on its cells: their log posterior, and copies given a cell."""
        return on_grid(self.family)

    @property
    def model(self) -> GridModel:
        """Log posterior on the cells, as a function of the statistic."""
        return grid_model(self.family, self.grid, self.bins, self.n)

    @property
    def bits(self) -> int:
        """Number of bits: log posteriors are whole multiples of 2^-bits; public."""
        records = MOST_RECORDS if self.n is None else self.n
        levels = self.model.public
        size = float(max(levels) - min(levels)) + records * self._range()
        return min(_FINEST, _BITS - math.frexp(size)[1])

    @property
    def cost(self) -> float:
        """Epsilon of one copy: `epsilon`, or less where the posterior itself has less."""
        if (self.method, self.calibration) != ("sdd", "corrected"):
            return self.epsilon
        return min(self.epsilon, up(Fraction(self._units(), 2**self.bits)))

    @property
    def power(self) -> float:
        """The power of prior and likelihood that cells are drawn from.

        That of SDD is at most 1 if corrected; histograms are of draws from the posterior itself.
        """
        return float(self._choice().rate * 2**self.bits) if self.method == "sdd" else 1.0

    def moved(self, relation: Neighbours) -> float:
        """The largest log ratio of SDD's cells under a relation, rounded up."""
        exact = self._choice().rate * self._units(relation)
        return up(exact)

    def _range(self) -> float:
        return up(self.model.furthest(self.neighbours))

    def _units(self, relation: Neighbours | None = None) -> int:
        """Bound on the range over cells of what one record moves, in units of 2^-bits."""
        furthest = self.model.furthest(self.neighbours if relation is None else relation)
        whole: int = math.floor(furthest * 2**self.bits)
        return whole + 2

    def _choice(self) -> ExponentialMechanism:
        sensitivity = Fraction(self._units(), 2)
        if self.calibration == "published":
            printed = Fraction(2 * extremes(self.model, self.family, self.n or 0)[0])
            sensitivity = max(sensitivity, printed * 2**self.bits)
        return ExponentialMechanism(self.cost, up(sensitivity), len(self.model.public))

    @property
    def _noise(self) -> Fraction:
        """Scale of the discrete Laplace noise of a count, for SPHC as corrected."""
        return noise_of(self.samples, self.epsilon) if self.scale is None else Fraction(self.scale)

    # What is promised.

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` copies, as their pure epsilon implies it.

        Raises
        ------
        InvalidInput
            If `neighbours` is a relation under which nothing is promised.
        """
        copies, relation = check_at_least_one("copies", copies), self.relation(neighbours)
        own = self.method != "sdd" or relation is self.neighbours
        return pure_profile(self.cost if own else self.moved(relation), copies)

    @property
    def strength(self) -> Strength:
        """The promise's strength: proved, or as published where a published claim doesn't hold."""
        published = self.calibration == "published" and self.method != "sdd"
        return Strength.AS_PUBLISHED if published else Strength.PROVED

    @property
    def source(self) -> str:
        """The proof or publication that the promise rests on."""
        printed = "Liu (2016), Algorithms 2 to 4; " if self.calibration == "published" else ""
        return f"{printed}bayesdp.mechanisms.modips.grid"

    def assumptions(self, relation: Neighbours) -> tuple[str, ...]:
        """Assumptions of the promise; first, the faults of a published calibration."""
        published = self.calibration == "published"
        return (
            *(_FAULTS.get(self.method, _HOLDS) if published else ()),
            "The model, its prior, bounds and grid, and all parameters were chosen without data.",
            *(() if self.n is None else (PUBLIC_N,)),
            *(() if self.clip else (_WITHIN,)),
        )

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""
        vector = self.family.vector(statistic, self.n)
        check_one_statistic(vector.shape, (len(self.model.origin),))
        if self.n is None:
            check_few(self.on_grid.number_of_records(vector))
        return statistic

    def draw(self, statistic: Any, copies: int) -> NDArray[Any]:
        """Draw copies from the secure generator, each from a cell of its own.

        They have shape (copies,), and then that of an output.
        """
        made = self.on_grid
        theta = made.parameters(self.model.edges, self.cells(statistic, copies))
        return made.copies(self, theta)

    def cells(self, statistic: Any, copies: int) -> NDArray[np.int64]:
        """Choose cells privately, shape (copies,); a copy's parameter is uniform in its cell."""
        units = self.model.units(self.family.vector(statistic, self.n), self.bits)
        top = max(units)
        u = np.array([each - top for each in units], dtype=np.int64)
        if self.method == "sdd":
            return self._choice().release(u, copies)
        log_weights = np.ldexp(u.astype(np.float64), -self.bits)
        if self.calibration == "corrected":
            return perturbed_cells(log_weights, self.samples, self._noise, copies)
        return published_cells(self, log_weights, copies)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log-probability, or density, of a copy given the statistic, vectorised over both.

        Exact but for the rounding of log posteriors to 2^-bits, in any cell's probability.

        Raises
        ------
        InvalidInput
            If the law is intractable, as that of "sdd.mc" is.
        """
        if not self.tractable:
            raise InvalidInput(
                f"method is {quoted(self.method)}, whose law is intractable: a sum over all "
                "histograms and their noise; analyse each copy as data and combine the results "
                "with bdp.combine, whose caveats then hold, or take method='sdd' or 'sphc'"
            )
        chosen = self.log_cells(statistic)
        given = self.on_grid.log_given_cell(self, output, self.model.edges)
        logs = np.full(np.broadcast_shapes(chosen.shape[:-1], given.shape[:-1]), -np.inf)
        for c in range(chosen.shape[-1]):
            logs = np.logaddexp(logs, chosen[..., c] + given[..., c])
        return logs

    @property
    def tractable(self) -> bool:
        """True but for "sdd.mc", whose law is a sum over all histograms and their noise."""
        return self.method != "sdd.mc"

    def log_cells(self, statistic: Any) -> NDArray[np.float64]:
        """Log-probabilities of the chosen cell; the statistic's axes, then the cells.

        Those of SPHC are by `bayesdp.mechanisms.selection.histogram_law`.
        """
        u = self.power * self.model.log_weights(self.family.vector(statistic, self.n))
        if self.method == "sphc":
            from bayesdp.mechanisms.selection.histogram_law import log_probabilities

            proved = self.calibration == "corrected"
            scale = self._noise if proved else noise_scale(self)
            return log_probabilities(u, self.samples, float(scale), whole=proved)
        u -= u.max(axis=-1, keepdims=True)
        return np.asarray(u - np.log(np.exp(u).sum(axis=-1, keepdims=True)))

    # What is written down, and what an audit tries.

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records, and of their law given the family's statistic, where tractable."""
        return (*self.on_grid.views(self), RecordsView())

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible, for an audit."""
        return self.family.pairs(self.n)

    @property
    def space(self) -> OutputSpace:
        """Copies of synthetic records, in the family's output space."""
        return self.family.space(self.size)


def check_method(method: Any, calibration: Any) -> None:
    """Raise InvalidInput unless there is this method with this calibration."""
    check_one_of("method", method, list(METHODS))
    check_one_of("calibration", calibration, CALIBRATIONS)
    if (method, calibration) == ("sdd.mc", "corrected"):
        raise InvalidInput(
            "method is 'sdd.mc', which has no corrected calibration: log(N_i / N) of an empty cell "
            "is minus infinity, so that no noise is enough; use 'sdd', which it approximates, or "
            "'sphc', whose counts have a finite sensitivity"
        )


def check_few(records: Any) -> None:
    """Raise InvalidInput for more records than are allowed where their number is confidential."""
    if np.any(records > MOST_RECORDS):
        raise InvalidInput(
            f"data has more than {MOST_RECORDS} records, the most that n=None allows"
        )


@lru_cache(maxsize=16)
def extremes(model: GridModel, family: Family, n: int) -> tuple[float, float]:
    """Constants A and G V of the propositions."""
    (number,) = family.numbers(n)
    low, high = float(number.low or 0), float(number.high or 0)
    slopes = np.array([float(cell[0]) for cell in model.coefficients])
    below, above = np.full(slopes.size, low), np.full(slopes.size, high)
    for _ in range(_HALVINGS):
        middle = below + (above - below) / 2
        rising = np.exp(_log_probabilities(model, middle)) @ slopes < slopes
        below, above = np.where(rising, middle, below), np.where(rising, above, middle)
    places = np.concatenate([below, above])
    if number.whole:
        places = np.concatenate([np.floor(places), np.ceil(places)])
    at_most = _log_probabilities(model, np.clip(places, low, high)).max()
    at_least = _log_probabilities(model, np.array([low, high])).min()
    log_width = math.log(model.width)
    return max(abs(at_most - log_width), abs(at_least - log_width)), math.exp(at_most)


def noise_scale(made: ModipsGridMechanism) -> float:
    """Scale of the Laplace noise of a count, or of log(N_c / N)."""
    bound, largest = extremes(made.model, made.family, made.n or 0)
    return (2 * bound if made.method == "sdd.mc" else made.samples * largest) / made.epsilon


def published_cells(
    made: ModipsGridMechanism, log_weights: Floats, copies: int
) -> NDArray[np.int64]:
    """Choose cells by SDD.MC or SPHC, each from its own histogram, shape (copies,)."""
    weights, scale = np.exp(log_weights - log_weights.max()), noise_scale(made)
    counts = generator().multinomial(made.samples, weights / weights.sum(), size=copies)
    logarithms = made.method == "sdd.mc"
    return np.array([published_cell(h, made.samples, scale, logarithms=logarithms) for h in counts])


def _log_probabilities(model: GridModel, v: Floats) -> Floats:
    """Log-probabilities log pi of the cells, shape (values, cells)."""
    u = model.log_weights(v[:, None])
    u -= u.max(axis=-1, keepdims=True)
    return np.asarray(u - np.log(np.exp(u).sum(axis=-1, keepdims=True)))
