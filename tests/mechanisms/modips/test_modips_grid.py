"""Cells of a posterior chosen privately: exact epsilon by enumeration, laws, published faults."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf
from scipy import stats
from scipy.special import betainc, logsumexp

import bayesdp as bdp
from bayesdp.mechanisms.families.grids import grid_model
from bayesdp.mechanisms.families.triangles import log_given_triangle, points_in, triangles
from bayesdp.mechanisms.modips.grid import extremes, noise_scale
from bayesdp.mechanisms.selection.posterior_cells import published_cell

Bernoulli, Categorical, Gaussian = (
    bdp.families.Bernoulli,
    bdp.families.Categorical,
    bdp.families.Gaussian,
)
ADD_REMOVE, REPLACE_ONE = bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.REPLACE_ONE


def exact_law(made: bdp.mechanisms.ModipsGridMechanism, statistic) -> np.ndarray:
    """log probabilities of the cells, from the integers and the rate that the code draws by."""
    units = made.model.units(made.family.vector(statistic, made.n), made.bits)
    rate = made._choice().rate
    with mp.workdps(40):
        weights = [mp.exp(mpf(rate.numerator) / rate.denominator * (u - max(units))) for u in units]
        return np.array([float(mp.log(w / mp.fsum(weights))) for w in weights])


def exact_loss(made: bdp.mechanisms.ModipsGridMechanism, pairs) -> float:
    laws = {}
    for each in itertools.chain(*pairs):
        laws[pickle.dumps(each)] = exact_law(made, each)
    return max(
        np.abs(laws[pickle.dumps(one)] - laws[pickle.dumps(other)]).max() for one, other in pairs
    )


@pytest.mark.parametrize("calibration", ["corrected", "published"])
@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.3, 4.0)])
@pytest.mark.parametrize("grid", [(0.0, 1.0), (0.1, 0.4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 100.0])
def test_the_exact_epsilon_of_a_public_number_of_binary_records(epsilon, grid, prior, calibration):
    made = bdp.mechanisms.ModipsGridMechanism(
        Bernoulli(prior), 3, epsilon, grid, calibration=calibration, bins=6, n=5
    )
    pairs = [(bdp.Count(x, 5), bdp.Count(x + 1, 5)) for x in range(5)]
    claim = made.guarantee()
    assert claim.strength is bdp.Strength.PROVED
    assert claim.epsilon <= epsilon
    loss = exact_loss(made, pairs)
    assert loss <= claim.epsilon
    if calibration == "corrected":
        assert loss > 0.4 * claim.epsilon


@pytest.mark.parametrize("epsilon", [0.5, 100.0])
def test_many_records_come_near_the_whole_epsilon(epsilon):
    """Where the posterior is sharp at one end, its neighbours' ratio at the other is all of it."""
    n = 2000
    made = bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 3, epsilon, (0.2, 0.8), bins=4, n=n)
    loss = exact_loss(made, [(bdp.Count(0, n), bdp.Count(1, n))])
    assert made.guarantee().epsilon * (1 - 1e-6) < loss <= made.guarantee().epsilon


@pytest.mark.parametrize("grid", [(0.0, 1.0), (0.3, 0.9)])
def test_the_exact_epsilon_of_a_confidential_number_of_records(grid):
    made = bdp.mechanisms.ModipsGridMechanism(Bernoulli((1.0, 2.0)), 3, 0.7, grid, bins=5)
    counts = list(itertools.product(range(7), repeat=2))
    added = [(bdp.Count(x, x + y), bdp.Count(x + i, x + y + 1)) for x, y in counts for i in (0, 1)]
    replaced = [(bdp.Count(x, x + y + 1), bdp.Count(x + 1, x + y + 1)) for x, y in counts]
    assert 0.3 < exact_loss(made, added) <= made.guarantee().epsilon == 0.7
    twice = made.guarantee(neighbours="replace_one").epsilon
    assert 0.3 < exact_loss(made, replaced) <= twice <= 1.4 * (1 + 1e-9)
    assert made.removal_guarantee().epsilon == 0.7


@pytest.mark.parametrize("n", [4, None])
@pytest.mark.parametrize(("prior", "grid"), [(None, (-1.0, 2.0)), ((0.5, 0.7), (-3.0, 0.2))])
def test_the_exact_epsilon_of_normal_records(n, prior, grid):
    family = Gaussian((-1.0, 2.0), 0.8, prior)
    made = bdp.mechanisms.ModipsGridMechanism(family, 3, 1.5, grid, bins=6, n=n)
    rng = np.random.default_rng(1)
    pairs = list(family.pairs(n))
    for _ in range(30):
        x = rng.choice([-1.0, 2.0, 0.1, rng.uniform(-1, 2)], 4)
        other = np.append(x, rng.choice([-1.0, 2.0])) if n is None else x.copy()
        if n:
            other[0] = rng.choice([-1.0, 2.0])
        pairs.append(
            tuple(family.statistic(family.sums(v), public_n=n is not None) for v in (x, other))
        )
    assert 0.3 < exact_loss(made, pairs) <= made.guarantee().epsilon <= 1.5


@pytest.mark.parametrize("grid", [(-1.0, 2.0), (-3.0, 0.2), (5.0, 6.0)])
def test_no_record_moves_a_normal_log_likelihood_by_more(grid):
    """A search over records; and the largest range is attained."""
    family, n = Gaussian((-1.0, 2.0), 0.8), 7
    edges = np.linspace(*grid, 10)
    middles = (edges[1:] + edges[:-1]) / 2
    records = np.concatenate([np.linspace(-1, 2, 61), np.random.default_rng(2).uniform(-1, 2, 99)])
    each = stats.norm.logpdf(records[:, None], middles, 0.8)
    added = np.ptp(each, axis=1).max()
    replaced = np.ptp(each[:, None] - each[None], axis=2).max()
    public, hidden = (grid_model(family, grid, 9, size) for size in (n, None))
    assert float(public.furthest(REPLACE_ONE)) == pytest.approx(replaced, rel=1e-6)
    assert float(hidden.furthest(ADD_REMOVE)) == pytest.approx(added, rel=1e-6)
    assert float(hidden.furthest(REPLACE_ONE)) == pytest.approx(replaced, rel=1e-6)
    binary = grid_model(Bernoulli(), (0.0, 0.5), 9, None)
    theta = (np.arange(9) + 0.5) / 18
    assert float(binary.furthest(ADD_REMOVE)) == pytest.approx(
        max(np.ptp(np.log(theta)), np.ptp(np.log1p(-theta))), rel=1e-12
    )
    assert float(binary.furthest(REPLACE_ONE)) == pytest.approx(
        np.ptp(np.log(theta / (1 - theta))), rel=1e-12
    )


@pytest.mark.parametrize(
    ("family", "n", "statistic"),
    [
        (Bernoulli((0.5, 2.0)), 40, bdp.Count(13, 40)),
        (Bernoulli((0.5, 2.0)), None, bdp.Count(13, 40)),
        (Gaussian((90.0, 99.0), 1.5), 40, (93.125,)),
        (Gaussian((90.0, 99.0), 1.5, (95.0, 2.0)), None, (40, 3.5)),
    ],
)
def test_log_posteriors_are_those_of_the_model(family, n, statistic):
    grid = (0.05, 0.9) if isinstance(family, Bernoulli) else (90.0, 99.0)
    made = bdp.mechanisms.ModipsGridMechanism(family, 3, 1.0, grid, bins=8, n=n)
    edges = np.linspace(*grid, 9)
    theta = (edges[1:] + edges[:-1]) / 2
    if isinstance(family, Bernoulli):
        expected = stats.beta.logpdf(theta, 0.5 + 13, 2 + 27)
    else:
        mean = 93.125 if n else family.middle + 3.5 / 40
        expected = stats.norm.logpdf(mean, theta, 1.5 / math.sqrt(40))
        if family.prior:
            expected = expected + stats.norm.logpdf(theta, *family.prior)
    expected -= expected.max()
    v = family.vector(statistic, n)
    units = np.array(made.model.units(v, made.bits), dtype=float)
    assert np.ldexp(units - units.max(), -made.bits) == pytest.approx(expected, abs=1e-7)
    found = made.model.log_weights(v)
    assert found - found.max() == pytest.approx(expected, abs=1e-9)
    assert made.log_cells(statistic) == pytest.approx(exact_law(made, statistic), abs=1e-7)
    assert logsumexp(made.log_cells(statistic)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("size", [1, 7, 300])
@pytest.mark.parametrize("edges", [(0.0, 0.5, 1.0), (0.001, 0.002, 0.003), (0.6, 0.8, 1.0)])
def test_the_law_of_a_count_given_its_cell(edges, size):
    made = bdp.mechanisms.ModipsGridMechanism(
        Bernoulli(), size, 1.0, (edges[0], edges[-1]), bins=2, n=3
    )
    for z in {0, 1, size // 3, size}:
        found = made.on_grid.log_given_cell(made, z, np.array(edges))
        for c in (0, 1):
            with mp.workdps(300):
                area = mp.betainc(z + 1, size - z + 1, edges[c], edges[c + 1], regularized=True)
                exact = area / (size + 1) / (mpf(edges[c + 1]) - edges[c])
                if exact > mpf(10) ** -250:
                    assert found[c] == pytest.approx(float(mp.log(exact)), abs=1e-8)


def test_the_law_of_a_large_count_given_its_cell():
    size, edges = 100_000, np.array([0.0, 0.25, 0.5])
    made = bdp.mechanisms.ModipsGridMechanism(Bernoulli(), size, 1.0, (0.0, 0.5), bins=2, n=3)
    for z, c in ((2, 0), (12_000, 0), (25_000, 0), (25_000, 1), (40_000, 1), (50_000, 1)):
        area = np.diff(betainc(z + 1, size - z + 1, edges[c : c + 2]))[0]
        expected = math.log(area / (size + 1) / 0.25)
        assert made.on_grid.log_given_cell(made, z, edges)[c] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("bounding", ["inflated", "truncated"])
def test_the_law_of_normal_records(bounding):
    """One record's density integrates to 1, and its draws follow it."""
    family = Gaussian((-1.0, 1.0), 0.4)
    made = bdp.mechanisms.ModipsGridMechanism(
        family, 1, 3.0, (-1, 1), bins=5, n=4, bounding=bounding
    )
    nodes, weights = np.polynomial.legendre.leggauss(40)
    statistic = (0.25,)
    inside = np.exp(made.logp(nodes[:, None], statistic)) @ weights
    ends = np.exp(made.logp(np.array([[-1.0], [1.0]]), statistic))
    whole = inside + ends.sum() if bounding == "inflated" else inside
    assert whole == pytest.approx(1, abs=1e-9)
    with bdp.reproducible(1):
        drawn = made.release(statistic, 40_000)[:, 0]
    for cut in (-0.5, 0.0, 0.3, 0.8):
        half = (cut + 1) / 2
        points = -1 + half * (1 + nodes)
        below = half * np.exp(made.logp(points[:, None], statistic)) @ weights
        below += ends[0] if bounding == "inflated" else 0
        error = math.sqrt(below * (1 - below) / drawn.size)
        assert abs(np.mean(drawn <= cut) - below) < 5.5 * error


class Histogram:
    """The noisy histogram that SPHC makes on the way, of which all of epsilon is claimed."""

    def __init__(self, made: bdp.mechanisms.ModipsGridMechanism, scale: float):
        self.made, self.scale = made, scale
        self.rng = np.random.default_rng(7)
        every = itertools.product(range(made.samples + 1), repeat=made.bins)
        self.counts = np.array([c for c in every if sum(c) == made.samples])

    def guarantee(self):
        return self.made.guarantee()

    def pairs(self):
        n = self.made.n
        return [(bdp.Count(x, n), bdp.Count(x + 1, n)) for x in range(n)]

    def outputs(self):
        """From 0 to N: beyond, a count's noise changes all probabilities by one factor."""
        return np.array(list(itertools.product(range(self.made.samples + 1), repeat=3)))

    def weights(self, statistic):
        u = self.made.model.log_weights(self.made.family.vector(statistic, self.made.n))
        return np.exp(u - logsumexp(u))

    def release(self, statistic, copies=1):
        counts = self.rng.multinomial(self.made.samples, self.weights(statistic), size=copies)
        noise = self.rng.laplace(0, self.scale, counts.shape)
        return counts + np.rint(noise * 2**20) / 2**20  # or its last bits show the counts

    def logp(self, output, statistic):
        """log density, vectorised over outputs."""
        z = np.asarray(output, dtype=float)
        chance = stats.multinomial.logpmf(self.counts, self.made.samples, self.weights(statistic))
        away = np.abs(z[..., None, :] - self.counts).sum(axis=-1) / self.scale
        return logsumexp(chance - away, axis=-1)


def histogram_audit(calibration: str) -> bdp.privacy.Audit:
    made = bdp.mechanisms.ModipsGridMechanism(
        Bernoulli(), 3, 0.5, (0.0, 1.0), "sphc", calibration, bins=3, samples=8, n=1
    )
    scale = noise_scale(made) if calibration == "published" else 2 * made.samples / made.epsilon
    return bdp.audit(Histogram(made, scale), trials=200_000)


@pytest.mark.slow
def test_the_audit_convicts_the_published_budget_and_acquits_the_corrected_one():
    published, corrected = histogram_audit("published"), histogram_audit("corrected")
    assert published.claim.strength is bdp.Strength.AS_PUBLISHED
    assert published.claim.epsilon == corrected.claim.epsilon == 0.5
    assert published.convicted
    assert published.epsilon_exact > 1.6 * 0.5  # with three cells; it grows with their number
    assert corrected.claim.strength is bdp.Strength.PROVED
    assert not corrected.convicted
    assert 0 < corrected.epsilon_exact < 0.5


@pytest.mark.slow
def test_draws_alone_convict_the_published_budget():
    assert histogram_audit("published").epsilon_lower > 0.5


@pytest.mark.parametrize(
    ("family", "grid", "n"),
    [
        (Bernoulli((0.5, 3.0)), (0.0, 1.0), 30),
        (Bernoulli(), (0.2, 0.5), 7),
        (Gaussian((-1.0, 2.0), 0.5), (-1.5, 2.0), 9),
        (Gaussian((-1.0, 2.0), 0.5, (0.0, 0.1)), (0.0, 1.0), 3),
    ],
)
def test_the_published_bounds_are_the_suprema(family, grid, n):
    made = bdp.mechanisms.ModipsGridMechanism(
        family, 3, 1.0, grid, "sphc", "published", bins=11, samples=24, n=n
    )
    v = np.arange(n + 1) if isinstance(family, Bernoulli) else np.linspace(-1, 2, 3001)
    u = made.model.log_weights(v[:, None])
    log_pi = u - logsumexp(u, axis=1, keepdims=True)
    width = (grid[1] - grid[0]) / 11
    bound, largest = extremes(made.model, family, n)
    assert bound == pytest.approx(np.abs(log_pi - math.log(width)).max(), rel=1e-5)
    assert largest == pytest.approx(np.exp(log_pi.max()), rel=1e-5)
    assert noise_scale(made) == pytest.approx(24 * largest)
    logs = bdp.mechanisms.ModipsGridMechanism(
        family, 3, 0.5, grid, "sdd.mc", "published", bins=11, n=n
    )
    assert noise_scale(logs) == pytest.approx(2 * bound / 0.5)
    sdd = bdp.mechanisms.ModipsGridMechanism(family, 3, 0.5, grid, "sdd", "published", bins=11, n=n)
    assert sdd.power == pytest.approx(0.5 / (4 * bound))
    corrected = bdp.mechanisms.ModipsGridMechanism(family, 3, 0.5, grid, "sdd", bins=11, n=n)
    assert corrected.power > sdd.power


def test_an_empty_cell_stays_empty():
    counts = np.array([0, 3, 0, 5])
    with bdp.reproducible(1):
        logs = {published_cell(counts, 8, 1e6, logarithms=True) for _ in range(200)}
        plain = {published_cell(counts, 8, 1e6, logarithms=False) for _ in range(200)}
        none = {published_cell(0 * counts, 8, 1.0, logarithms=True) for _ in range(200)}
    assert logs == {1, 3}
    assert plain == none == {0, 1, 2, 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "calibration"),
    [("sphc", "corrected"), ("sphc", "published"), ("sdd.mc", "published")],
)
def test_where_epsilon_is_large_cells_are_the_posteriors(method, calibration):
    made = bdp.mechanisms.ModipsGridMechanism(
        Bernoulli(), 3, 1e6, (0.0, 1.0), method, calibration, bins=4, samples=2000, n=10
    )
    u = made.model.log_weights(made.family.vector(bdp.Count(3, 10), 10))
    with bdp.reproducible(5):
        cells = made.cells(bdp.Count(3, 10), 4000)
    expected = 4000 * np.exp(u - logsumexp(u))
    assert stats.chisquare(np.bincount(cells, minlength=4), expected).pvalue > 1e-6


def test_sphc_promises_the_same_under_any_relation_and_published_claims_say_what_is_false():
    made = bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 3, 0.5, (0.0, 1.0), "sphc")
    for relation in ("add_remove", "replace_one"):
        assert made.guarantee(copies=3, neighbours=relation).epsilon == 1.5
    for method in ("sdd.mc", "sphc"):
        found = bdp.mechanisms.ModipsGridMechanism(
            Bernoulli(), 3, 0.5, (0.0, 1.0), method, "published", n=9
        ).guarantee(copies=2)
        assert (found.epsilon, found.strength) == (1.0, bdp.Strength.AS_PUBLISHED)
        said = " ".join(found.assumptions)
        assert "every cell" in said
        assert ("empty cell" in said) == (method == "sdd.mc")
    with pytest.raises(bdp.errors.InvalidInput, match="as n is public"):
        bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 3, 0.5, (0, 1), n=9).guarantee(
            neighbours="add_remove"
        )
    assert made.power == 1.0


WRONG = [
    ({"family": Categorical(4)}, "bounded on a grid of one parameter"),
    ({"family": Categorical(3), "grid": (0.0, 0.9)}, "for three categories"),
    ({"family": Categorical(3), "grid": (1 / 3, 1 / 3)}, "for three categories"),
    ({"family": Categorical(3), "bins": 101}, "it must be from 2 to 100"),
    ({"family": Categorical(3), "calibration": "published", "n": 3}, "one parameter alone"),
    ({"family": Gaussian((0, 1))}, "with a known sd"),
    ({"method": "sbs"}, "method is 'sbs'"),
    ({"calibration": "exact"}, "calibration is 'exact'"),
    ({"method": "sdd.mc"}, "no corrected calibration"),
    ({"calibration": "published"}, "give n, if it is public"),
    ({"grid": (0.5, 0.5)}, "grid is"),
    ({"grid": (-0.1, 0.5)}, "from 0 to 1"),
    ({"grid": 0.5}, "grid is 0.5"),
    ({"grid": (0.5, math.nextafter(0.5, 1))}, "too narrow"),
    ({"bins": 1}, "bins is 1"),
    ({"bins": 1001}, "bins is 1001"),
    ({"samples": 0}, "samples is 0"),
    ({"samples": 10**8}, "samples is 100000000"),
    ({"method": "sphc", "epsilon": 1e-12, "samples": 10**6}, "exceeds 64 bits"),
    ({"size": 0}, "size is 0"),
    ({"n": 0}, "n is 0"),
    ({"epsilon": -1.0}, "epsilon is -1"),
    ({"bounding": "none"}, "bounding is 'none'"),
    ({"clip": 1}, "clip is 1"),
    ({"family": Gaussian((0, 1), 1e-9), "grid": (0, 1), "n": 10**9}, "differ by too much"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_wrong_parameters_are_named(wrong, message):
    good = {"family": Bernoulli(), "size": 5, "epsilon": 1.0, "grid": (0.0, 1.0)}
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.mechanisms.ModipsGridMechanism(**{**good, **wrong})


def test_more_records_than_a_confidential_number_may_be_are_refused():
    made = bdp.mechanisms.ModipsGridMechanism(Bernoulli(), 5, 1.0, (0.0, 1.0))
    with pytest.raises(bdp.errors.InvalidInput, match="more than 536870912 records"):
        made.check_statistic(bdp.Count(0, 2**29 + 1))
    most = made.release(bdp.Count(2**28, 2**29), 3)
    assert most.shape == (3,)
    assert Fraction(made.cost) == 1


# Three categories.


def tables(n: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(n + 1), repeat=3) if sum(c) == n]


@pytest.mark.parametrize(("low", "bins"), [(0.0, 2), (0.0, 7), (0.1, 5)])
def test_triangles_are_equal_and_cover_all_probabilities_once(low, bins):
    corners = triangles(low, bins)
    assert corners.shape == (bins**2, 3, 3)
    assert corners.sum(axis=2) == pytest.approx(np.ones((bins**2, 3)))
    volume = np.abs(np.linalg.det(corners))  # with the origin; in proportion to the area
    assert volume == pytest.approx(np.full(bins**2, (1 - 3 * low) ** 2 / bins**2))
    theta = low + (1 - 3 * low) * np.random.default_rng(1).dirichlet(np.ones(3), 500)
    weights = np.linalg.solve(np.swapaxes(corners, 1, 2)[None], theta[:, None, :, None])[..., 0]
    assert np.all((weights >= 0).all(axis=2).sum(axis=1) == 1)


@pytest.mark.parametrize("low", [0.0, 0.15])
@pytest.mark.parametrize(("n", "bins"), [(3, 2), (4, 5)])
@pytest.mark.parametrize("epsilon", [0.5, 50.0])
def test_the_exact_epsilon_of_categorical_records(low, n, bins, epsilon):
    """All counts of n records, and all replacements; all counts of up to n, and all additions."""
    family, grid = Categorical(3, (1.0, 0.5, 2.0)), (low, 1 - 2 * low)
    made = bdp.mechanisms.ModipsGridMechanism(family, 3, epsilon, grid, bins=bins, n=n)
    replaced = [
        (one, other)
        for one, other in itertools.combinations(tables(n), 2)
        if np.abs(np.subtract(one, other)).sum() == 2
    ]
    claim = made.guarantee().epsilon
    assert 0.4 * claim < exact_loss(made, replaced) <= claim <= epsilon
    hidden = bdp.mechanisms.ModipsGridMechanism(family, 3, epsilon, grid, bins=bins)
    added = [
        (one, tuple(np.add(one, more).tolist()))
        for k in range(n)
        for one in tables(k)
        for more in np.eye(3, dtype=int)
    ]
    claim = hidden.guarantee().epsilon
    assert 0.4 * claim < exact_loss(hidden, added) <= claim <= epsilon
    twice = hidden.guarantee(neighbours="replace_one").epsilon
    assert exact_loss(hidden, replaced) <= twice <= 2 * claim * (1 + 1e-9)


@pytest.mark.parametrize("bins", [2, 9])
def test_no_categorical_record_moves_more(bins):
    """The ranges of the module's docstring, from all cells' middles."""
    theta = triangles(0.0, bins).mean(axis=1)
    model = grid_model(Categorical(3), (0.0, 1.0), bins, None)
    added, replaced = math.log(3 * bins - 2), 2 * math.log(3 * bins - 2)
    assert max(np.ptp(np.log(theta[:, i])) for i in range(3)) == pytest.approx(added)
    assert float(model.furthest(ADD_REMOVE)) == pytest.approx(added, rel=1e-12)
    assert float(model.furthest(REPLACE_ONE)) == pytest.approx(replaced, rel=1e-12)
    public = grid_model(Categorical(3), (0.0, 1.0), bins, 5)
    assert float(public.furthest(REPLACE_ONE)) == pytest.approx(replaced, rel=1e-12)


@pytest.mark.parametrize("n", [40, None])
def test_log_posteriors_of_probabilities_are_dirichlet(n):
    family, counts = Categorical(3, (0.5, 2.0, 1.5)), (7, 13, 20)
    made = bdp.mechanisms.ModipsGridMechanism(family, 3, 1.0, (0.05, 0.9), bins=6, n=n)
    theta = triangles(0.05, 6).mean(axis=1)
    theta /= theta.sum(axis=1, keepdims=True)
    expected = stats.dirichlet.logpdf(theta.T, np.array(family.prior) + counts)
    units = np.array(made.model.units(family.vector(counts, n), made.bits), dtype=float)
    found = np.ldexp(units - units.max(), -made.bits)
    assert found == pytest.approx(expected - expected.max(), abs=1e-6)
    assert made.log_cells(counts) == pytest.approx(exact_law(made, counts), abs=1e-6)


@pytest.mark.parametrize("size", [1, 4, 7, 40])
@pytest.mark.parametrize("bins", [2, 5])
def test_copies_given_a_triangle_average_to_those_of_a_uniform_prior(size, bins):
    """Over all cells: Dirichlet-multinomial counts with alpha = 1, which are equally likely."""
    corners = triangles(0.0, bins)
    outputs = Categorical(3).space(size).every()
    law = np.exp(log_given_triangle(outputs, size, corners))
    assert law.sum(axis=0) == pytest.approx(np.ones(bins**2), abs=1e-11)
    assert law.mean(axis=1) == pytest.approx(np.full(len(outputs), 1 / len(outputs)), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("cell", [0, 3, 8])
def test_the_law_given_one_triangle_is_the_integral(cell):
    corners, z = triangles(0.1, 3)[cell], (3, 0, 2)
    with mp.workdps(30):
        p, q, r = (mp.matrix(corner.tolist()) for corner in corners)

        def density(s, t):
            theta = p + s * (q - p) + s * t * (r - q)
            return 2 * s * mp.fprod(x**k for x, k in zip(theta, z, strict=True))

        exact = 10 * mp.quad(density, [0, 1], [0, 1])
    found = log_given_triangle(z, 5, corners[None])
    assert float(np.exp(found[0])) == pytest.approx(float(exact), rel=1e-12)


def test_parameters_are_uniform_in_their_triangles():
    corners = np.repeat(triangles(0.05, 4)[[3]], 20_000, axis=0)
    with bdp.reproducible(1):
        theta = points_in(corners)
    weights = np.linalg.solve(corners[0].T, theta.T)
    for each in weights:
        assert stats.kstest(each, stats.beta(1, 2).cdf).pvalue > 1e-6


def test_what_a_law_of_categorical_copies_refuses():
    made = bdp.mechanisms.ModipsGridMechanism(Categorical(3), 1001, 1.0, (0, 1), bins=3, n=4)
    with pytest.raises(bdp.errors.InvalidInput, match="computed up to 1000"):
        made.logp((1, 0, 1000), (1, 2, 1))
    made = bdp.mechanisms.ModipsGridMechanism(Categorical(3), 5, 1.0, (0, 1), bins=3, n=4)
    with pytest.raises(bdp.errors.InvalidInput, match="it must be"):
        made.logp((1, 4), (1, 2, 1))
    assert np.all(made.logp([(1, 1, 1), (6, -1, 0)], (1, 2, 1)) == -np.inf)
    hidden = bdp.mechanisms.ModipsGridMechanism(Categorical(3), 5, 1.0, (0, 1), bins=3)
    with pytest.raises(bdp.errors.InvalidInput, match="more than 536870912 records"):
        hidden.check_statistic((2**29, 1, 0))


@pytest.mark.parametrize(
    ("family", "grid", "law"),
    [
        (Bernoulli(), (0.0, 1.0), "CountView"),
        (Categorical(3), (0.0, 1.0), "TableView"),
        (Gaussian((-1.0, 1.0), 0.4), (-1.0, 1.0), "NormalView"),
    ],
)
def test_a_family_says_how_its_copies_are_read(family, grid, law):
    for method in ("sdd", "sphc"):
        made = bdp.mechanisms.ModipsGridMechanism(family, 3, 1.0, grid, method, bins=4, n=9)
        assert [type(view).__name__ for view in made.views] == [law, "RecordsView"]


def test_a_histogram_of_logarithms_has_no_law():
    made = bdp.mechanisms.ModipsGridMechanism(
        Gaussian((-1.0, 1.0), 0.4), 3, 1.0, (-1.0, 1.0), "sdd.mc", "published", bins=4, n=9
    )
    assert [type(view).__name__ for view in made.views] == ["IntractableView", "RecordsView"]
    with pytest.raises(bdp.errors.InvalidInput, match="take method='sdd' or 'sphc'"):
        made.logp(np.zeros(3), (0.0,))
