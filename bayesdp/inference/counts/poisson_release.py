"""Releases as a Poisson model reads them: laws of events by area, and draws of their rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from bayesdp.core.views import FixedTotalView, Integer, IntegersView, view_of
from bayesdp.engines.count_vectors import holds
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.observed_integers import tabled
from bayesdp.inference.readers import instead
from bayesdp.inference.several import agreed_size
from bayesdp.mechanisms.counts.poisson_gamma import events_before
from bayesdp.mechanisms.draws.negative_binomial import log_negative_binomial
from bayesdp.mechanisms.noise.reach import range_of
from bayesdp.release import Part

Floats = NDArray[np.float64]
Fixed = tuple[Floats, Floats, float, float]

_NEGLIGIBLE = 700.0  # below the log of the largest
_UNLIKELY = 50.0  # below the log of a count's largest posterior probability: in no draw


@dataclass(frozen=True)
class Known:
    """Laws of one group's counts, as the releases and the prior give them.

    Attributes
    ----------
    areas : tuple
        Names of the areas, or their numbers.
    laws : list of ndarray
        Log of each count's own law, up to a constant.
    firsts : ndarray of int
        The count at which each law begins.
    total : int or None
        The sum of the counts, where it is known.
    fixed : list of (a, p, T, copies)
        One for each release with a fixed total; see `bayesdp.kernels.area_counts`.
    shapes, rates : ndarray
        Parameters of the rates' gamma laws; the counts are added to the shapes.
    expected : ndarray
        e_i, the expected numbers.
    """

    areas: tuple[Any, ...]
    laws: list[Floats]
    firsts: NDArray[np.int64]
    total: int | None
    fixed: list[Fixed]
    shapes: Floats
    rates: Floats
    expected: Floats

    @property
    def tied(self) -> bool:
        """True if the counts are dependent."""
        return self.total is not None or bool(self.fixed)


def read(parts: Sequence[Part], prior: tuple[float, float], expected: Any, n: int | None) -> Known:
    """Read the laws of one group's counts from all its releases.

    Raises
    ------
    InvalidInput
        If a release isn't of counts, or the releases and the model don't fit one another.
    """
    total = total_of(parts, n)
    around = expected_of(parts, expected, len(np.ravel(parts[0].outputs[0])))
    guess = float(prior[0] / prior[1] * around.sum()) if total is None else float(total)
    elements = [_elements(part, guess) for part in parts]
    if any(len(each) != len(around) for each in elements):
        raise InvalidInput(
            f"the releases are of {', '.join(str(len(each)) for each in elements)} counts, and "
            f"{len(around)} are expected; they must be of the same areas"
        )
    (a, b), chances = prior, around / (prior[1] + around)
    elements.append([events_before(a, float(chance), _NEGLIGIBLE) for chance in chances])
    rows = list(zip(*elements, strict=True))
    ends = [_ends(parts, i, a, float(chance), total) for i, chance in enumerate(chances)]
    free = not any(_fixed_total(part) for part in parts)
    values, table = _tied_tables(rows, ends, total, free)
    laws, firsts = [], []
    for x, whole in zip(values.T, table.T, strict=True):
        # A known sum may ask for counts that one by one are as unlikely as can be.
        least = -math.inf if total is not None else whole.max() - _NEGLIGIBLE
        likely = np.flatnonzero(whole > max(least, -1e300))
        if not likely.size:
            raise InvalidInput("the outputs have probability zero under the model")
        laws.append(whole[likely[0] : likely[-1] + 1])
        firsts.append(int(x[likely[0]]))
    if total is not None and len(laws) == 1:
        ahead = total - firsts[0]
        if not 0 <= ahead < laws[0].size:
            raise InvalidInput(f"the outputs have probability zero if there are {total} events")
        laws, firsts, total = [laws[0][ahead : ahead + 1]], [total], None
    fixed = [
        _fixed(part, view, guess) for part in parts if (view := _fixed_total(part)) is not None
    ]
    return Known(
        _areas(parts, len(laws)), laws, np.array(firsts), total, fixed,
        np.full(len(laws), a), b + around, around,
    )  # fmt: skip


def _tied_tables(
    rows: Sequence[Any], ends: Sequence[tuple[float, float]], total: int | None, free: bool
) -> tuple[NDArray[np.int64], Floats]:
    """Tabulate counts and their laws, up to a known sum if nothing else bounds them."""
    for times in 8.0 ** np.arange(40):
        values, table = tabled(rows, ends, times)
        if total is None or len(rows) == 1 or not free:
            break
        firsts, lasts = values[0], values[-1]
        if all(f <= e[0] and t >= e[1] for f, t, e in zip(firsts, lasts, ends, strict=True)):
            break
        laws = [law[:size] for law, size in zip(table.T, lasts - firsts + 1, strict=True)]
        if holds(firsts.tolist(), laws, np.array([total]), np.zeros(1), ends):
            break
    return values, table


def taken_for_real(part: Part, prior: tuple[float, float], expected: Any) -> Known:
    """Read a part as if its copies, pooled, were the counts."""
    size = len(_elements(part, 1.0))
    around, outputs = expected_of([part], expected, size), np.array(part.outputs, dtype=np.float64)
    shapes = prior[0] + outputs.reshape(len(outputs), -1).sum(axis=0)
    if not np.all(shapes > 0):
        raise InvalidInput(
            "noisy counts are so far below 0 that there is no naive posterior: none of the rates "
            "could be positive; fit the model to the release"
        )
    laws = [np.zeros(1)] * size
    none = np.zeros(size, dtype=np.int64)
    rates = prior[1] + len(outputs) * around
    return Known(_areas([part], size), laws, none, None, [], shapes, rates, around)


def cells_of(known: Known) -> list[tuple[Floats, Floats]]:
    """Likely counts of each area, and log Pr[outputs | count] e^count / count!, for the programs.

    The laws hold the counts' negative binomial probabilities, by which what is likely is judged.
    """
    cells = []
    each = zip(known.laws, known.firsts, known.shapes, known.rates, known.expected, strict=True)
    for law, first, a, rate, e in each:
        likely = np.flatnonzero(law > law.max() - _UNLIKELY)
        x = likely + first
        before = np.asarray(log_negative_binomial(x, a, e / rate)) if e > 0 else 0.0
        log_weight = law[likely] - before + special.xlogy(x, e) - special.gammaln(x + 1)
        cells.append((x.astype(np.float64), log_weight))
    return cells


def drawn(
    known: Known, engine: str, *, draws: int, chains: int, warmup: int, seed: np.random.SeedSequence
) -> tuple[Floats, dict[str, Floats]]:
    """Draw rates, shape (chains, draws, areas), and statistics of the chains."""
    from bayesdp.kernels import area_counts

    laws = np.concatenate(known.laws)
    starts = np.cumsum([0, *(law.size for law in known.laws)])
    rates, lps, accepted = [], [], []
    for child in seed.spawn(chains):
        rng = np.random.default_rng(child)
        counts = area_counts.independent(
            laws, starts, known.firsts, 1 if engine == "gibbs" else draws, rng
        )
        if engine == "gibbs":
            start = _moved(known, counts[0], rng)
            counts, _, kept = area_counts.chain(
                start, laws, starts, known.firsts, known.total is not None, _stacked(known),
                warmup, draws, rng,
            )  # fmt: skip
            accepted.append(kept)
        rate = rng.standard_gamma(known.shapes + counts) / known.rates
        own = laws[starts[:-1] + counts - known.firsts]
        given = stats.gamma.logpdf(rate, known.shapes + counts, scale=1 / known.rates)
        rates.append(rate)
        lps.append(np.sum(own + given, axis=1))
    statistics = {"lp": np.stack(lps)}
    if accepted:
        statistics["acceptance_rate"] = np.stack(accepted)
    return np.stack(rates), statistics


def _elements(part: Part, guess: float) -> list[Integer]:
    if (fixed := _fixed_total(part)) is not None:
        tilt = math.exp(_log_tilt(part, fixed, guess))
        return fixed.each(part.outputs, tilt, _NEGLIGIBLE)
    if (view := view_of(part.mechanism, IntegersView)) is not None:
        return view.each(part.outputs)
    raise InvalidInput(
        f"the release's mechanism {quoted(part.mechanism.name)} doesn't randomise counts of events "
        "by area; a PoissonModel takes Poisson-gamma copies, exact counts, and noise on a vector "
        "of counts (LaplaceMechanism, GaussianMechanism and their discrete forms, "
        f"PerturbedHistogramMechanism); {instead(part.mechanism)}"
    )


def is_of_events(mechanism: Any) -> bool:
    """Return True if it randomises whole numbers, each by itself or with a fixed total."""
    each = view_of(mechanism, IntegersView)
    return each is not None or view_of(mechanism, FixedTotalView) is not None


def expected_of(parts: Sequence[Part], given: Any, size: int) -> Floats:
    """Return the expected counts of the model, or else of the release, or else 1."""
    told = {tuple(e) for part in parts if (e := getattr(part.mechanism, "expected", None))}
    if given is None and len(told) > 1:
        raise InvalidInput(
            "the releases differ in what was expected; say it: PoissonModel(expected=...)"
        )
    around = np.array(given if given is not None else told.pop() if told else (1.0,) * size)
    if around.size != size:
        raise InvalidInput(
            f"expected has {around.size} numbers, but the release is of {size} counts; give one "
            "for each"
        )
    return around.astype(np.float64)


def _ends(
    parts: Sequence[Part], i: int, a: float, chance: float, total: int | None
) -> tuple[float, float]:
    """Ends of a count; where noise leaves one open, as far as the prior reaches."""
    if chance == 0:
        return 0.0, 0.0
    if total is not None:
        return 0.0, float(total)
    for part in parts:
        mechanism: Any = part.mechanism
        if getattr(mechanism, "bounding", None) == "inflated":
            high = range_of(mechanism)[1]
            if any(np.ravel(z)[i] == high for z in part.outputs):
                mean, sd = a * chance / (1 - chance), math.sqrt(a * chance) / (1 - chance)
                return 0.0, math.ceil(high + mean + 12 * sd - 60 / math.log(chance))
    return 0.0, math.inf


def total_of(parts: Sequence[Part], n: int | None) -> int | None:
    """The number of events, where the counts are of all of them."""
    return agreed_size([part for part in parts if _is_complete(part)], n)


def _fixed_total(part: Part) -> FixedTotalView | None:
    return view_of(part.mechanism, FixedTotalView)


def _is_complete(part: Part) -> bool:
    """Return True if its counts are of all events."""
    view = view_of(part.mechanism, IntegersView)
    return _fixed_total(part) is not None if view is None else view.complete


def _log_tilt(part: Part, view: FixedTotalView, guess: float) -> float:
    """Find the tilt at which copies of about `guess` events have the fixed total on average."""
    from bayesdp.kernels.fixed_total import tilted

    possible = view.chances > 0
    z = np.sum(part.outputs, axis=0)[possible] + 1.0
    weights = view.shapes[possible] + guess * z / z.sum()
    return float(tilted(weights, view.chances[possible], float(view.total), 0.0))


def _fixed(part: Part, view: FixedTotalView, guess: float) -> Fixed:
    """Describe a release with a fixed total, with 0 for a and p where no event can occur."""
    chances = math.exp(_log_tilt(part, view, guess)) * view.chances
    return view.shapes, chances, float(view.total), float(len(part.outputs))


def _stacked(known: Known) -> tuple[Floats, Floats, Floats, Floats]:
    shape = len(known.fixed), len(known.laws)
    a, p, total, copies = (np.array([each[k] for each in known.fixed]) for k in range(4))
    return a.reshape(shape), p.reshape(shape), total.astype(float), copies.astype(float)


def _moved(known: Known, counts: NDArray[np.int64], rng: np.random.Generator) -> Any:
    """Shift counts, if needed, so that they have their known sum."""
    if known.total is None or (gap := known.total - int(counts.sum())) == 0:
        return counts
    lasts = known.firsts + np.array([law.size for law in known.laws]) - 1
    room = lasts - counts if gap > 0 else counts - known.firsts
    if room.sum() < abs(gap):
        raise InvalidInput(
            f"the outputs have probability zero under the model if there are {known.total} events"
        )
    steps = np.asarray(rng.multivariate_hypergeometric(room, abs(gap), method="marginals"))
    return counts + np.sign(gap) * steps


def _areas(parts: Sequence[Part], size: int) -> tuple[Any, ...]:
    """Names of the areas, where a release has them."""
    for part in parts:
        mechanism: Any = part.mechanism
        if getattr(mechanism, "areas", None) is not None:
            return tuple(mechanism.areas)
        axes: Any = getattr(mechanism, "axes", None) or ()
        if len(axes) == 1 and axes[0].categories is not None:
            return tuple(axes[0].categories)
    return tuple(range(size))
