"""Weighted terms: exact sums, bounds, the exact epsilon by enumeration, and weights that leak."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import bayesdp as bdp
from bayesdp.mechanisms.censored import sums as censored_sums
from bayesdp.mechanisms.censored.beta import CensoredBetaMechanism
from bayesdp.mechanisms.censored.grid import ClippedPosterior, Grid
from bayesdp.mechanisms.censored.sums import WeightedRecords
from bayesdp.mechanisms.censored.weights import unit_scale

TOP = 1 - 2.0**-53
EXTREMES = [5e-324, 1e-300, 1e-9, 0.03, 0.3, 0.5, 0.97, 1 - 1e-9, TOP]
SHAPES = [(0.3, 6.0), (0.5, 0.8), (0.9, 1.5), (0.1, 1.5), (0.5, 2.0), (2.0**-31, 0.1), (0.5, 999.0),
          (1 - 2.0**-31, 1000.0), (0.001, 1000.0), (0.25, 4.0)]  # fmt: skip
BOX = bdp.synthesizers.PublicWeights(2.0, phi=(0.05, 0.5), lam=(0.5, 20.0))


def columns(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Records, some at the ends of the floats, and weights, some 0 and some large."""
    rng = np.random.default_rng(seed)
    y = rng.beta(0.4, 1.2, size=n).clip(1e-300, TOP)
    y[: n // 5] = rng.choice(EXTREMES, size=n // 5)
    w = rng.random(n)
    w[rng.random(n) < 0.2] = 0.0
    w[rng.random(n) < 0.1] *= 100
    return y, w


def terms(y, w, phi: float, lam: float, low: float, high: float) -> np.ndarray:
    a, b = lam * phi, lam * (1 - phi)
    density = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
    return np.clip(w * density, low, high)


@pytest.mark.parametrize("interval", [(-2.0, 2.0), (-0.01, 0.02), (1.0, 40.0), (-900.0, -3.0)])
def test_the_weighted_sum_is_that_over_every_record(interval):
    rng = np.random.default_rng(3)
    random = zip(rng.beta(0.5, 0.5, 60), np.exp(rng.uniform(-2, 6.9, 60)), strict=True)
    points = [*SHAPES, *random]
    for seed, n in ((1, 1), (2, 7), (3, 1500)):
        y, w = columns(seed, n)
        made = WeightedRecords(y, w, *interval)
        rounded, clipped = made.rounded(*np.array(points).T)
        for k, (phi, lam) in enumerate(points):
            each = terms(y, w, phi, lam, *interval)
            size = max(1.0, lam / 10, sum(map(abs, interval))) * max(1.0, w.max())
            assert float(made.exact(phi, lam)) == pytest.approx(math.fsum(each), abs=1e-9 * size)
            assert rounded[k] == pytest.approx(math.fsum(each), abs=1e-9 * size)
            if phi > 1e-6 and lam < 500:
                unsure = np.minimum(np.abs(each - interval[0]), np.abs(each - interval[1]))
                unsure = np.sum((unsure > 0) & (unsure < 1e-9))
                strictly = np.sum((each == interval[0]) | (each == interval[1]))
                assert abs(clipped[k] - strictly) <= unsure


def test_weights_of_one_give_the_unweighted_sum():
    y = np.sort(columns(5, 300)[0])
    grid = Grid((30, 30), (1.0, 1.0), (0.1, 1.5), 1000.0)
    plain = ClippedPosterior(grid, -2.0, 2.0, y)
    weighted = ClippedPosterior(grid, -2.0, 2.0, y, np.ones(y.size))
    for phi, lam in SHAPES:
        room = y.size * 2.0**-39 * (lam + 2)
        difference = plain.likelihood.exact(phi, lam) - weighted.likelihood.exact(phi, lam)
        assert abs(difference) < room


def test_a_sum_is_that_of_its_records_one_by_one():
    """No rounding: f is a function of the record and its weight, whatever the others are."""
    y, w = columns(6, 60)
    together = WeightedRecords(y, w, -2.0, 2.0)
    alone = [WeightedRecords(y[k : k + 1], w[k : k + 1], -2.0, 2.0) for k in range(y.size)]
    for phi, lam in SHAPES:
        assert together.exact(phi, lam) == sum(one.exact(phi, lam) for one in alone)


def test_sums_are_the_same_however_many_records_are_read_together(monkeypatch):
    """To the last bit: rounded sums are added in the records' order."""
    y, w = columns(7, 5000)
    at_once = WeightedRecords(y, w, -2.0, 2.0)
    phi, lam = np.array(SHAPES).T
    right = at_once.rounded(phi, lam), at_once.exact(0.3, 6.0)
    monkeypatch.setattr(censored_sums, "_PIECE", 1024)
    in_parts = WeightedRecords(y, w, -2.0, 2.0)
    found = in_parts.rounded(phi, lam), in_parts.exact(0.3, 6.0)
    assert np.array_equal(found[0], right[0])
    assert found[1] == right[1]
    box = tuple((v, 1.5 * v) for v in (np.array([0.2, 0.4]), np.array([3.0, 40.0])))
    prior = np.zeros((2, 4))
    bounds, guesses = in_parts.bounds(*box, prior)
    assert np.array_equal(guesses, at_once.bounds(*box, prior)[1])
    assert bounds == pytest.approx(at_once.bounds(*box, prior)[0], rel=1e-13)


records = st.floats(5e-324, TOP)
some_weights = st.one_of(st.just(0.0), st.floats(0, 1), st.floats(0, 1000))


@settings(max_examples=200, deadline=None)
@given(
    phi=st.floats(2.0**-33, 1 - 2.0**-33),
    log_lam=st.floats(math.log(0.1), math.log(1000)),
    y=records,
    w=some_weights,
    low=st.one_of(st.floats(-50, 50), st.floats(-1e-300, 1e-300)),
    width=st.floats(1e-6, 10),
)
def test_no_term_leaves_the_interval_by_more_than_the_unit(phi, log_lam, y, w, low, width):
    interval = (low, low + width)
    eta = 1 / Fraction(unit_scale(*interval))
    assert eta <= Fraction(max(map(abs, interval))) / 2**50
    value = WeightedRecords(np.array([y]), np.array([w]), *interval).exact(phi, math.exp(log_lam))
    assert Fraction(interval[0]) - eta <= value <= Fraction(interval[1]) + eta


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), depth=st.floats(0, 5))
def test_a_block_holds_nothing_above_its_bound(seed, depth):
    rng = np.random.default_rng(seed)
    y, w = columns(seed % 50, int(rng.integers(1, 300)))
    low = rng.uniform(-6, 3)
    interval = (low, low + rng.exponential(3) + 1e-3)
    grid = Grid((30, 30), tuple(rng.uniform(0.3, 4, 2)), (0.1, rng.uniform(0.5, 3)), 1000.0)
    law = ClippedPosterior(grid, *interval, y, w)
    bits = np.maximum(30 - (depth * rng.uniform(0.5, 3, 2)).astype(int), 0)
    i, j = (int(rng.integers(0, 1 << (30 - b))) << int(b) for b in bits)
    if seed % 3 == 0:
        i = 0  # shapes near 0, where psi is steep
    block = law._bounded(*(np.array([v]) for v in (i, j, *bits.tolist())))
    inside = rng.integers(0, 1 << bits, size=(30, 2)).tolist()
    corners = [(p, q) for p in (0, (1 << int(bits[0])) - 1) for q in (0, (1 << int(bits[1])) - 1)]
    for p, q in [*inside, *corners]:
        assert law.log_weight(i + p, j + q) <= block.bound[0]


def by_brute_force(law: ClippedPosterior) -> np.ndarray:
    """Probabilities of all cells from every record, the textbook way."""
    grid = law.grid
    i, j = np.arange(1 << grid.bits[0]) + 0.5, np.arange(1 << grid.bits[1]) + 0.5
    phi = i[:, None, None] / (1 << grid.bits[0])
    start, end = math.log(grid.prior_lambda[0]), math.log(grid.largest)
    lam = np.exp(start + (end - start) * j[:, None] / (1 << grid.bits[1]))
    density = stats.beta(lam * phi, lam * (1 - phi)).logpdf(law.records)
    total = np.clip(law.weights * density, law.low, law.high).sum(axis=2)
    prior = stats.beta(*grid.prior_phi).logpdf(phi[:, :, 0])
    return special.softmax(total + prior - grid.prior_lambda[1] * np.log(lam[:, 0]))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "interval"), [(1, (-2.0, 2.0)), (60, (-0.1, 0.3)), (900, (-5, 5))])
def test_the_weights_of_cells_and_draws_are_those_of_brute_force(n, interval):
    """Exact weights to 1e-9; draws by chi-square, false alarm below 1e-6."""
    y, w = columns(n, n)
    y = y.clip(1e-5, 1 - 1e-5)
    law = ClippedPosterior(Grid((4, 4), (2.0, 0.7), (0.1, 1.5), 1000.0), *interval, y, w)
    truth = by_brute_force(law)
    cells = [[law.log_weight(i, j) for j in range(16)] for i in range(16)]
    top = max(map(max, cells))
    ours = special.softmax(np.array([[float(v - top) for v in row] for row in cells]))
    assert ours == pytest.approx(truth, rel=1e-9, abs=1e-300)
    with bdp.reproducible(1):
        drawn = law.draw(3000)
    seen = np.bincount(drawn[:, 0] * 16 + drawn[:, 1], minlength=256)
    expected = truth.ravel() * 3000
    often = expected >= 5
    rest = max(expected[~often].sum(), 1.0)
    distance = np.sum((seen[often] - expected[often]) ** 2 / expected[often])
    distance += (seen[~often].sum() - expected[~often].sum()) ** 2 / rest
    assert stats.chi2.sf(distance, max(often.sum(), 1)) > 1e-6


def made(relation: str = "add_remove", **options) -> CensoredBetaMechanism:
    defaults = {"interval": (-2.0, 2.0), "size": 3, "grid": (4, 4), "weights": "attached"}
    return CensoredBetaMechanism(neighbours=relation, **(defaults | options))


def log_law(mechanism: CensoredBetaMechanism, statistic) -> np.ndarray:
    """log probabilities of all cells: exact weights, normalised in floating point."""
    law = mechanism.posterior(statistic)
    cells = itertools.product(*(range(1 << bits) for bits in mechanism.grid))
    weights = [law.log_weight(i, j) for i, j in cells]
    top = max(weights)
    relative = np.array([float(w - top) for w in weights])
    return relative - special.logsumexp(relative)


def found(mechanism: CensoredBetaMechanism, one, other) -> float:
    return float(np.abs(log_law(mechanism, one) - log_law(mechanism, other)).max())


@pytest.mark.slow
@pytest.mark.parametrize("interval", [(-2.0, 2.0), (-0.5, 0.0), (1.0, 1.25)])
@pytest.mark.parametrize("relation", ["add_remove", "replace_one"])
def test_the_epsilon_is_approached_and_kept_with_attached_weights(relation, interval):
    mechanism = made(relation, interval=interval)
    usual, ones = [0.3] * 400, np.full(400, 0.9)
    pairs = [
        (([*usual, y], [*ones, w]), ([*usual, z], [*ones, v]))
        for (y, w), (z, v) in itertools.combinations(
            itertools.product([5e-324, 0.03, 0.3, 0.97, TOP], [0.0, 0.5, 3.0]), 2
        )
    ]
    if relation == "add_remove":
        pairs = [((usual, ones), with_it) for with_it, _ in pairs[::3]]
    worst = max(found(mechanism, *pair) for pair in pairs)
    assert 0.99 * mechanism.epsilon() < worst <= mechanism.epsilon() + 1e-12


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    data=st.lists(st.tuples(records, some_weights), min_size=1, max_size=6),
    new=st.tuples(records, some_weights),
    low=st.floats(-5, 5),
    width=st.floats(1e-3, 8),
)
def test_no_neighbour_costs_more_than_the_claim(data, new, low, width):
    options = {"interval": (low, low + width), "grid": (3, 3)}
    added, replaced = made(**options), made("replace_one", **options)
    pairs = [tuple(np.array(d).T) for d in (data, [*data, new], [new, *data[1:]])]
    assert found(added, pairs[0], pairs[1]) <= added.epsilon() + 1e-12
    assert found(replaced, pairs[0], pairs[2]) <= replaced.epsilon() + 1e-12
    public, public_replaced = (
        made(relation, weights=BOX, **options) for relation in ("add_remove", "replace_one")
    )
    assert found(public, pairs[0][0], pairs[1][0]) <= public.epsilon() + 1e-12
    assert found(public_replaced, pairs[0][0], pairs[2][0]) <= public_replaced.epsilon() + 1e-12


def fitted_weights(mechanism: CensoredBetaMechanism, y: np.ndarray) -> np.ndarray:
    """The papers' Censor_w: 1 less each record's Lipschitz bound, mapped to [0, 1] over the data.

    The bounds are taken over the 100 likeliest cells of the unweighted, unclipped posterior.
    """
    grid = Grid(mechanism.grid, (1.0, 1.0), (0.1, 1.5), 1000.0)
    cells = np.array(list(itertools.product(*(range(1 << bits) for bits in grid.bits))))
    phi, lam = grid.points(*(cells + 0.5).T)
    a, b = (lam * phi)[:, None], (lam * (1 - phi))[:, None]
    density = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
    likeliest = np.argsort(density.sum(axis=1))[-100:]
    lipschitz = np.abs(density[likeliest]).max(axis=0)
    return 1 - (lipschitz - lipschitz.min()) / (lipschitz.max() - lipschitz.min())


@pytest.mark.slow
def test_weights_fitted_to_the_data_are_convicted_and_attached_ones_are_not():
    """ERRATA: n = 2000, M = 2, one record near 0 more moves the log ratio by hundreds."""
    y = stats.beta(0.5, 3).ppf((np.arange(1, 2001) - 0.5) / 2000)
    more = np.append(y, 1e-100)
    weighted, unweighted = made(grid=(6, 6)), made(grid=(6, 6), weights=None)
    claim = weighted.epsilon()
    assert claim == pytest.approx(4.0, abs=1e-9)
    fitted = [(d, fitted_weights(weighted, d)) for d in (y, more)]
    assert found(weighted, *fitted) > 50 * claim
    # The same weights, each kept by its record, and no weights.
    kept = fitted[0][1]
    assert found(weighted, (y, kept), (more, np.append(kept, 0.7))) <= claim
    assert found(unweighted, y, more) <= unweighted.epsilon()


@pytest.mark.slow
def test_public_weights_keep_log_densities_inside_and_not_needlessly():
    rng = np.random.default_rng(4)
    y = np.array([*EXTREMES, *rng.random(40), *rng.beta(0.2, 3, 40).clip(1e-300)])
    for box in [
        BOX,
        bdp.synthesizers.PublicWeights(0.5, (0.2, 0.3), (3.0, 3.0)),
        bdp.synthesizers.PublicWeights(5.0, (0.9, 0.9), (0.2, 500.0)),
        bdp.synthesizers.PublicWeights(1.0, (1e-6, 1 - 1e-6), (0.1, 1000.0)),
    ]:
        phi = np.linspace(*box.phi, 201)[:, None, None]
        lam = np.geomspace(*box.lam, 201)[:, None]
        a, b = lam * phi, lam * (1 - phi)
        density = (a - 1) * np.log(y) + (b - 1) * np.log1p(-y) - special.betaln(a, b)
        most = np.abs(density).max(axis=(0, 1))
        delta = box.largest(y)
        assert np.all(delta >= most * (1 - 1e-12))
        fine = most > 0.05  # else the lattice itself is too coarse to see the largest
        assert np.all(delta[fine] <= most[fine] * 1.02)
        assert box(y) == pytest.approx(np.minimum(1, box.bound / delta), rel=1e-12)
        assert np.array_equal(box(y), [box(y[k : k + 1])[0] for k in range(y.size)])


def test_a_box_where_all_log_densities_are_zero_has_weights_of_one():
    assert np.all(bdp.synthesizers.PublicWeights(1.0, (0.5, 0.5), (2.0, 2.0))([0.1, 0.9]) == 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bound": 0.0}, "bound"),
        ({"bound": math.inf}, "bound"),
        ({"bound": "2"}, "bound"),
        ({"phi": (0.0, 0.5)}, "phi"),
        ({"phi": (0.5, 0.4)}, "phi"),
        ({"phi": (0.5, 1.0)}, "phi"),
        ({"phi": 0.5}, "phi"),
        ({"lam": (1.0, math.inf)}, "lam"),
        ({"lam": (math.nan, 2.0)}, "lam"),
    ],
)
def test_bad_public_weights_are_refused(options, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.synthesizers.PublicWeights(
            **({"bound": 2.0, "phi": (0.1, 0.5), "lam": (1.0, 9.0)} | options)
        )


@pytest.mark.parametrize("weights", ["fitted", [0.5], {"bound": 1.0}, 1.0])
def test_a_mechanism_takes_no_vector(weights):
    with pytest.raises(bdp.errors.InvalidInput, match="attached"):
        made(weights=weights)


@pytest.mark.parametrize(
    "statistic",
    [
        [0.5],
        ([0.5],),
        ([0.5], [1.0, 1.0]),
        ([0.5], [-1.0]),
        ([0.5], [math.nan]),
        ([0.5], [2000.0]),
        ([0.5], ["a"]),
        ([0.5], None),
        ([1.5], [1.0]),
    ],
)
def test_bad_statistics_are_refused(statistic):
    with pytest.raises(bdp.errors.InvalidInput, match=r"pair|weights must|outside"):
        made().release(statistic)
