"""Conjugate releases as mechanisms: what they take, what copies cost, and how they are kept."""

import math
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesdp as bdp
from bayesdp.mechanisms.conjugate import categorical_outputs as categories
from bayesdp.mechanisms.conjugate import gaussian_outputs as normal
from bayesdp.mechanisms.conjugate.release import composed_profile
from bayesdp.privacy.profile import gaussian_divergence, hockey_stick

TWO = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 3, (1, 1))
SYNTHETIC = ("synthetic_map", "synthetic_one", "synthetic_many")
METHODS = ("parameter_map", "parameter_draw", *SYNTHETIC)


def binary(
    method: str, n: int = 6, prior=(1.5, 2.25), size: int = 4
) -> bdp.mechanisms.ConjugateMechanism:
    size = size if method in SYNTHETIC else None
    return bdp.mechanisms.ConjugateMechanism("bernoulli", method, n, prior, size=size)


def real(method: str, n: int = 5, prior=(0.3, 1.0), size: int = 3, R: float = 2.0):
    size = size if method in SYNTHETIC else None
    return bdp.mechanisms.ConjugateMechanism(
        "gaussian", method, n, prior, size=size, R=R, sigma=1.0
    )


def categorical(method: str, n: int = 6, prior=(1.5, 2.25, 4.0), size: int = 4):
    """A stand-in, so that laws are tested for every method whatever profiles there are."""
    size = size if method in SYNTHETIC else None
    return SimpleNamespace(method=method, n=n, prior=prior, size=size, synthetic_size=size or 0)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize("prior", [(1.5, 2.25), (1.0, 1.0), (0.5, 3.0), (4.0, 0.75)])
def test_the_divergence_of_its_law_is_its_profile(method, prior):
    """Enumerated over all pairs and outputs: sampler, law and profile are one mechanism."""
    made = binary(method, prior=prior, size=5)
    laws = [made.logp(made.outputs(), bdp.Count(x, 6)) for x in range(7)]
    for epsilon in (0.0, 0.2, 0.9, 2.5):
        truth = max(
            hockey_stick(p, q, epsilon)
            for one, other in pairwise(laws)
            for p, q in ((one, other), (other, one))
        )
        assert made.delta(epsilon) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_the_divergence_of_a_draw_is_its_profile(epsilon):
    """The hockey-stick divergence of the two densities, integrated over the probability."""
    made = binary("parameter_draw")
    s, step = np.linspace(0, 1, 400_001, retstep=True)
    s = s[:-1] + step / 2
    p, slope = s * s * (3 - 2 * s), 6 * s * (1 - s)  # smooth at the ends, as p^0.5 isn't
    found = 0.0
    for one, other in made.pairs():
        log_p, log_q = made.logp(p, one), made.logp(p, other)
        for first, second in ((log_p, log_q), (log_q, log_p)):
            excess = np.exp(first) - math.exp(epsilon) * np.exp(second)
            found = max(found, float((np.maximum(excess, 0) * slope).sum() * step))
    assert made.delta(epsilon) == pytest.approx(found, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_the_divergence_of_a_draw_of_three_probabilities_is_its_profile(epsilon):
    made = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 4, (2.5, 4.0, 3.0))
    x, step = np.linspace(0, 1, 1201, retstep=True)
    middle = x[:-1] + step / 2
    p, q = np.meshgrid(middle, middle)
    inside = p + q < 1 - 1e-9
    theta = np.stack([p[inside], q[inside], 1 - p[inside] - q[inside]], axis=-1)
    one, other = made.pairs()[0]
    log_p, log_q = made.logp(theta, one), made.logp(theta, other)
    found = max(
        float(np.maximum(np.exp(a) - math.exp(epsilon) * np.exp(b), 0).sum()) * step**2
        for a, b in ((log_p, log_q), (log_q, log_p))
    )
    assert made.delta(epsilon) == pytest.approx(found, rel=1e-4)


@pytest.mark.parametrize("method", SYNTHETIC)
@pytest.mark.parametrize("prior", [(1.5, 2.25, 4.0), (1.0, 1.0, 3.0), (2.0, 1.25)])
def test_the_divergence_of_counts_of_categories_is_their_profile(method, prior):
    """Enumerated over all neighbouring counts and all outputs."""
    made = bdp.mechanisms.ConjugateMechanism("categorical", method, 3, prior, size=4)
    every = [c for c in product(range(4), repeat=len(prior)) if sum(c) == 3]
    laws = {c: made.logp(made.outputs(), c) for c in every}
    for epsilon in (0.0, 0.2, 0.9, 2.5):
        truth = max(
            hockey_stick(laws[one], laws[other], epsilon)
            for one, other in product(every, repeat=2)
            if np.abs(np.subtract(one, other)).sum() == 2
        )
        assert made.delta(epsilon) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
def test_the_divergence_of_conditioned_laws_keeps_their_profile(method):
    """All sums on a grid, integrated; equal but for `synthetic_one`, whose profile is a bound."""
    size = 1 if method in SYNTHETIC else None
    known = {"R": 1.5, "sigma": 0.8, "bounded": True}
    made = bdp.mechanisms.ConjugateMechanism("gaussian", method, 4, (0.4, 1.2), size=size, **known)
    y, step = np.linspace(-1.5, 1.5, 401 if method == "synthetic_one" else 2001, retstep=True)
    points = (y[:-1] + step / 2)[:, None] if size else y[:-1] + step / 2
    sums = np.linspace(-6, 3, 19)
    table = made.logp(points[:, None], sums)
    moved = made.logp(points[:, None], sums + 3)
    for epsilon in (0.0, 0.5, 1.0):
        truth = max(
            (np.maximum(np.exp(p) - math.exp(epsilon) * np.exp(q), 0).sum(axis=0) * step).max()
            for p, q in ((table, moved), (moved, table))
        )
        claim = made.delta(epsilon)
        assert truth <= claim * (1 + 1e-6)
        if method != "synthetic_one":
            assert truth == pytest.approx(claim, rel=1e-3)  # the grid of sums misses the worst
    worst = np.abs(table[[0, -1]] - moved[[0, -1]]).max()
    assert worst <= made.epsilon(0)


def test_synthetic_one_is_the_beta_binomial_mechanism():
    made, same = binary("synthetic_one"), bdp.mechanisms.BetaBinomialMechanism(6, 4, (1.5, 2.25))
    statistic = bdp.Count(np.arange(7), 6)
    assert np.array_equal(made.logp(3, statistic), same.logp(3, statistic))
    with bdp.reproducible(4):
        drawn = made.release(bdp.Count(2, 6), copies=100)
    with bdp.reproducible(4):
        assert np.array_equal(drawn, same.release(bdp.Count(2, 6), copies=100))
    for copies in (1, 3):
        promised = made.guarantee(copies=copies)
        assert promised.epsilon == pytest.approx(same.epsilon(copies=copies), rel=1e-15)
        assert promised.strength is bdp.Strength.PROVED
    model = bdp.BinomialModel()
    posteriors = [model.posterior(bdp.Release.of(m, [1, 3])) for m in (made, same)]
    assert posteriors[0].mean() == posteriors[1].mean()


@pytest.mark.parametrize("family", ["bernoulli", "categorical"])
@pytest.mark.parametrize("method", ["synthetic_many", "synthetic_map"])
def test_copies_of_independent_records_are_more_records(family, method):
    """The law of two copies, enumerated, has the divergence that is claimed of both together."""
    if family == "categorical":
        made = categorical(method, n=2, size=2)
        outputs, pairs = categories.space(made).every(), categories.pairs(made)
        longer = categorical(method, n=2, size=4)
        sums = categories.space(longer).every()
        for statistic in [np.array(s) for pair in pairs for s in pair]:
            law = np.exp(categories.logp(made, outputs, statistic))
            both = dict.fromkeys(map(tuple, sums.tolist()), 0.0)
            for (i, p), (j, q) in product(enumerate(law), repeat=2):
                both[tuple((outputs[i] + outputs[j]).tolist())] += p * q
            expected = np.exp(categories.logp(longer, sums, statistic))
            assert list(both.values()) == pytest.approx(expected, abs=1e-13)
        return
    made, delta = binary(method, n=2, size=2), 0.01
    claim = made.guarantee(copies=2, delta=delta)
    laws = [made.logp(np.arange(3), bdp.Count(x, 2)) for x in range(3)]
    both = [np.add.outer(law, law).ravel() for law in laws]
    truth = max(
        hockey_stick(p, q, claim.epsilon)
        for one, other in pairwise(both)
        for p, q in ((one, other), (other, one))
    )
    assert claim.delta == delta
    assert delta * (1 - 1e-8) < truth <= delta


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(("synthetic_one", "synthetic_many", "synthetic_map")),
    st.integers(1, 4),
    st.tuples(st.floats(1.0, 9), st.floats(1.0, 9)),
    st.floats(0.001, 0.5),
    st.integers(1, 3),
)
def test_no_two_or_three_copies_exceed_their_promise(method, n, prior, delta, copies):
    made = binary(method, n=n, prior=prior, size=2)
    claim = made.guarantee(copies=copies, delta=delta)
    laws = []
    for x in range(n + 1):
        law = joint = made.logp(np.arange(3), bdp.Count(x, n))
        for _ in range(copies - 1):
            joint = np.add.outer(joint, law).ravel()
        laws.append(joint)
    for one, other in pairwise(laws):
        for p, q in ((one, other), (other, one)):
            epsilon = claim.epsilon if math.isfinite(claim.epsilon) else 1e3
            assert hockey_stick(p, q, epsilon) <= claim.delta * (1 + 1e-12)


@pytest.mark.parametrize("method", ["parameter_draw", *SYNTHETIC])
def test_copies_of_a_normal_release_compose_exactly(method):
    """M copies are one whose mean moves sqrt(M) times as far: a normal log ratio, summed."""
    made = real(method)
    one, other = made.pairs()[0]
    centre = float(normal.posterior(made, np.array(one))[0])
    at = np.full(3, centre) if method in SYNTHETIC else centre
    # Under `one` the log ratio is normal with mean shift^2 / 2, its value at the centre.
    shift = math.sqrt(2 * float(made.logp(at, one) - made.logp(at, other)))
    together = composed_profile(made, 4)
    assert together is not None
    for epsilon in (0.0, 0.7, 3.0):
        truth = gaussian_divergence(2 * shift, epsilon)
        assert together.delta(epsilon) == pytest.approx(truth, rel=1e-9)
    exact = made.guarantee(copies=4, delta=1e-5).epsilon
    assert together.delta(exact) <= 1e-5
    assert exact < 4 * made.epsilon(1e-5 / 4)


def test_other_copies_compose_by_the_basic_rule():
    made = binary("parameter_draw", prior=(30, 30))
    claim = made.guarantee(copies=5, delta=1e-4)
    assert claim.epsilon == pytest.approx(5 * made.epsilon(1e-4 / 5), rel=1e-9)
    assert claim.epsilon >= 5 * made.epsilon(1e-4 / 5)
    assert made.guarantee(copies=5).epsilon == math.inf
    pure = binary("synthetic_one")
    assert pure.guarantee(copies=5).epsilon == pytest.approx(5 * pure.epsilon(0), rel=1e-14)


def test_copies_whose_mode_is_on_the_boundary_leave_more_delta():
    made = binary("synthetic_map", prior=(1.0, 3.0), size=2)
    one, two = made.guarantee(), made.guarantee(copies=2)
    assert one.epsilon == two.epsilon == math.inf
    assert two.delta == pytest.approx(1 - (1 - one.delta) ** 2, rel=1e-9)


@pytest.mark.parametrize("made", [binary("parameter_map"), real("parameter_map")], ids=str)
def test_a_mode_is_drawn_without_noise_and_promises_nothing(made, tmp_path):
    data = [1, 0, 1, 1, 0, 0] if made.family == "bernoulli" else [0.5, -2, 1, 0, 0.25]
    statistic = made.statistic(data)
    drawn = made.release(statistic, copies=3)
    assert len(set(drawn.tolist())) == 1
    assert made.logp(drawn[0], statistic) == 0
    assert made.logp(np.nextafter(drawn[0], 9), statistic) == -math.inf
    release = bdp.Release.of(made, drawn, delta=1e-6)
    assert (release.guarantee.epsilon, release.guarantee.delta) == (math.inf, 1)
    assert any("told apart" in assumption for assumption in release.guarantee.assumptions)
    release.save(tmp_path / "mode")
    assert bdp.Release.load(tmp_path / "mode") == release
    with pytest.raises(bdp.errors.InvalidInput, match="claims nothing"):
        bdp.audit(made, delta=1e-6)


def test_a_mode_of_categories():
    made = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_map", 5, (0.5, 1.0, 3.0))
    drawn = made.release((0, 1, 4), copies=2)
    assert drawn.tolist() == [[0.0, 1 / 7, 6 / 7]] * 2  # 0.5 - 1 < 0; 1 + 1 - 1; 3 + 4 - 1
    table = made.logp(drawn[0], [[0, 1, 4], [1, 0, 4], [0, 0, 5]])
    assert table.tolist() == [0.0, -math.inf, -math.inf]
    assert bdp.Release.of(made, drawn).outputs == ((0.0, 1 / 7, 6 / 7),) * 2


@pytest.mark.parametrize("x", range(5))
@pytest.mark.parametrize("prior", [(1e-300, 0.5), (1.0, 1.0), (0.3, 2.5)])
def test_modes_at_the_boundary_are_those_of_the_profile(prior, x):
    """0 where a + x <= 1, 1 where b + n - x <= 1, else (a + x - 1) / (a + b + n - 2)."""
    (a, b), n = prior, 4
    mode = 0 if a + x <= 1 else 1 if b + n - x <= 1 else (a + x - 1) / (a + b + n - 2)
    if x == 1 and a < 1e-20:  # a float can't add them up
        mode = a / (a + b + n - 2)
    made = binary("parameter_map", n=n, prior=prior)
    assert made.release(bdp.Count(x, n))[0] == pytest.approx(mode, rel=1e-14)


def test_statistics_come_from_records():
    assert binary("synthetic_one", n=4).statistic(pd.Series([True, False, True, True])) == (
        bdp.Count(3, 4)
    )
    made = bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 5, (1, 1, 1, 1))
    assert made.statistic(np.array([2, 0, 2, 2, 3.0])) == (1, 0, 3, 1)
    assert real("parameter_draw", n=10, R=0.1).statistic([0.1] * 10) == 1.0
    assert real("parameter_draw", n=3, R=1e9).statistic([1e9, 1.0, -1e9]) == 1.0


@pytest.mark.parametrize(
    ("made", "several"),
    [
        (binary("synthetic_one"), bdp.Count(np.arange(3), 6)),
        (TWO, [[1, 2], [0, 3]]),
        (real("parameter_draw"), [0.5, 0.25]),
    ],
)
def test_several_statistics_are_drawn_but_not_published_at_once(made, several):
    assert len(np.asarray(made.release(several))[0]) == len(np.asarray(made.logp(0.5, several)))
    with pytest.raises(bdp.errors.InvalidInput, match="several"):
        made.check_statistic(several)


SECRET = 7351


@pytest.mark.parametrize(
    ("made", "data", "message"),
    [
        (binary("synthetic_one"), [0, 1, SECRET], "other than 0 and 1"),
        (binary("synthetic_one"), [0, 1, 1], "another number of records"),
        (binary("synthetic_one"), [0, None], "missing"),
        (
            bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 3, (1, 1)),
            [0, 1, SECRET],
            "labels",
        ),
        (TWO, [0, 1, 0.5], "labels"),
        (
            bdp.mechanisms.ConjugateMechanism("categorical", "parameter_draw", 3, (1, 1)),
            ["a", "b", "a"],
            "label",
        ),
        (TWO, [0, 1], "n = 3"),
        (real("parameter_draw", n=2), [0.5, SECRET], "aren't numbers in"),
        (real("parameter_draw", n=2), [0.5, "x"], "aren't numbers in"),
        (real("parameter_draw", n=2), [0.5, math.nan], "missing"),
        (real("parameter_draw", n=2), [0.5], "another number of records"),
        (real("parameter_draw", n=2), [[0.5, 0.5]], "2 dimensions"),
    ],
)
def test_bad_records_are_refused_and_never_shown(made, data, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
        made.statistic(data)
    assert str(SECRET) not in str(error.value)


@pytest.mark.parametrize(
    ("made", "statistic", "message"),
    [
        (binary("synthetic_many"), 3, "must be a Count"),
        (binary("synthetic_many"), bdp.Count(SECRET, SECRET), "another number of records"),
        (TWO, (1, 1, 1), "shape"),
        (TWO, (1.0, 2.0), "integers"),
        (TWO, (-1, 4), "at least 0"),
        (TWO, (SECRET, 1), "n = 3"),
        (TWO, bdp.Count(1, 3), "type"),
        (real("parameter_draw", n=2), float(SECRET), "not the mean"),
        (real("parameter_draw", n=2), math.nan, "not the mean"),
        (real("parameter_draw", n=2), "one", "must be the sum"),
    ],
)
def test_bad_statistics_are_refused_and_never_shown(made, statistic, message):
    for use in (made.release, made.check_statistic, lambda value: made.logp(0.5, value)):
        with pytest.raises(bdp.errors.InvalidInput, match=message) as error:
            use(statistic)
        assert str(SECRET) not in str(error.value)


@pytest.mark.parametrize(
    ("made", "output", "message"),
    [
        (binary("parameter_draw"), 1.5, "from 0 to 1"),
        (binary("parameter_draw"), "x", "from 0 to 1"),
        (binary("parameter_draw"), math.nan, "from 0 to 1"),
        (binary("synthetic_many"), 5, "size = 4"),
        (binary("synthetic_many"), 0.5, "size = 4"),
        (TWO, (0.5, 0.6), "sum is 1"),
        (TWO, 0.5, "sum is 1"),
        (TWO, (1.5, -0.5), "sum is 1"),
        (TWO, (1, "x"), "sum is 1"),
        (real("parameter_draw"), math.inf, "finite numbers"),
        (real("parameter_draw"), (1.0,), "finite numbers"),
        (real("synthetic_one"), (1.0, 2.0), "tuples of 3"),
        (real("synthetic_one"), 1.0, "tuples of 3"),
        (real("synthetic_one"), (1.0, 2.0, "x"), "tuples of 3"),
    ],
)
def test_outputs_it_cannot_release_are_refused(made, output, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.Release.of(made, [output])


@pytest.mark.parametrize(
    "output", [(1, 2, 3), (4, 0), (1.0, 3.0, 0.0), (5, -1, 0), 4, (True, 3, 0)]
)
def test_counts_of_categories_are_checked(output):
    made = categorical("synthetic_one")
    assert categories.space(made).check(np.array([1, 3, 0])) == (1, 3, 0)
    with pytest.raises(bdp.errors.InvalidInput, match="size = 4"):
        categories.space(made).check(output)


def test_the_records_of_a_copy():
    made = categorical("synthetic_one")
    assert categories.space(made).records((1, 0, 3)).tolist() == [0, 2, 2, 2]
    assert real("synthetic_one").records((0.5, -0.25, 3.0)).tolist() == [0.5, -0.25, 3.0]
    assert binary("synthetic_many").records(1).tolist() == [1, 0, 0, 0]
    assert binary("parameter_draw").records(0.25).tolist() == [0.25]


def test_all_counts_are_listed_where_they_are_few():
    listed = categories.space(categorical("synthetic_one", size=5)).every()
    expected = [c for c in product(range(6), repeat=3) if sum(c) == 5]
    assert sorted(map(tuple, listed.tolist())) == expected
    assert categories.space(categorical("synthetic_one", size=10_000)).every() is None
    assert categories.space(categorical("parameter_draw")).every() is None


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("n", [1, 4])
def test_proposed_neighbours_exchange_one_record(k, n):
    made = categorical("synthetic_one", n=n, prior=tuple(np.linspace(3, 1, k)))
    for one, other in categories.pairs(made):
        assert sum(one) == sum(other) == n
        assert sorted(np.subtract(one, other)) == [-1] + [0] * (k - 2) + [1]
    assert len(categories.pairs(made)) == (1 if n == 1 else 2)


@pytest.mark.parametrize("relation", [bdp.Neighbours.ADD_REMOVE, bdp.Neighbours.EDGE])
def test_other_relations_are_refused(relation):
    made = binary("synthetic_one")
    with pytest.raises(bdp.errors.InvalidInput, match=relation.value):
        made.guarantee(neighbours=relation)
    with pytest.raises(bdp.errors.InvalidInput, match="n is public"):
        made.removal_guarantee()
    with pytest.raises(bdp.errors.InvalidInput, match="copies is 0"):
        made.guarantee(copies=0)
    with pytest.raises(bdp.errors.InvalidInput, match="copies is 0"):
        made.release(bdp.Count(1, 6), copies=0)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_drawn_in_integers_is_proved_and_the_rest_conditional(method):
    exact = method != "parameter_draw"
    strength = bdp.Strength.PROVED if exact else bdp.Strength.CONDITIONAL
    promised = binary(method).guarantee(delta=1e-3)
    assert promised.strength is strength
    assert any("floating-point" in text for text in promised.assumptions) == (not exact)
    if method != "parameter_map":
        assert real(method).guarantee(delta=1e-3).strength is bdp.Strength.CONDITIONAL


@pytest.mark.parametrize(
    "columns",
    [
        {"copy": [0, 0, 0], "component": [0, 1, 1], "value": [1.0, 2.0, 3.0]},
        {"copy": [0, 0, 0, 1], "component": [0, 1, 2, 0], "value": [1.0, 2.0, 3.0, 4.0]},
        {"copy": [0, 0], "component": [0, 1], "value": [1.0, 2.0]},
        {"copy": [0], "value": [1.0]},
    ],
)
def test_a_damaged_table_is_refused(columns):
    with pytest.raises(bdp.errors.InvalidInput):
        real("synthetic_one").decode(columns)


@pytest.mark.parametrize("method", METHODS)
def test_a_release_of_groups_survives_the_disk(method, tmp_path):
    """Every digit of a float, and two sizes of group."""
    first, second = real(method), real(method, n=9)
    with bdp.reproducible(5):
        drawn = first.release(1.0 / 3, copies=2), second.release(2.0, copies=2)
    release = bdp.Release.of_groups({"a": (first, drawn[0]), "b": (second, drawn[1])}, delta=1e-6)
    release.save(tmp_path / "groups")
    loaded = bdp.Release.load(tmp_path / "groups")
    assert loaded == release
    assert loaded["a"].outputs[1] == first.check_output(drawn[0][1])
    frame = loaded.to_frames()[0]
    assert frame["group"].tolist() == ["a"] * (first.size or 1) + ["b"] * (first.size or 1)
    if method != "parameter_map":
        worst = max(made.guarantee(copies=2, delta=1e-6).epsilon for made in (first, second))
        assert loaded.guarantee.epsilon == worst
        assert loaded.guarantee.delta == 1e-6


def test_a_draw_of_the_posterior_is_fitted_exactly():
    """p given theta drawn from Beta(a + x, b + n - x): all x summed out, by another formula."""
    from scipy import stats

    made = binary("parameter_draw", n=8, prior=(3.0, 2.0))
    fitted = bdp.BinomialModel(prior=(1.0, 1.0)).posterior(bdp.Release.of(made, [0.4], delta=1e-6))
    x = np.arange(9)
    weight = stats.beta.pdf(0.4, 3 + x, 2 + 8 - x)  # times a uniform law of x
    mean = np.sum(weight * (1 + x) / 10) / weight.sum()
    assert fitted.mean() == pytest.approx(mean, rel=1e-12)
    idata = bdp.BinomialModel().fit(bdp.Release.of(made, [0.4], delta=1e-6), draws=20, seed=1)
    assert idata.observed_data["outputs"].to_numpy().ravel().tolist() == [0.4]
    with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
        bdp.BinomialModel().naive_posterior(bdp.Release.of(made, [0.4], delta=1e-6))


def test_a_model_of_a_count_refuses_other_statistics():
    release = bdp.Release.of(real("parameter_draw"), [0.4], delta=1e-6)
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise a count"):
        bdp.BinomialModel().posterior(release)


@pytest.mark.parametrize(
    "method", ["parameter_draw", "synthetic_map", "synthetic_one", "synthetic_many"]
)
@pytest.mark.parametrize("family", ["gaussian", "bounded", "multivariate_gaussian"])
def test_the_last_bits_of_normal_outputs_tell_no_neighbours_apart(family, method):
    """A mean plus noise lands on floats that depend on the mean, unless it is rounded."""
    size = None if method == "parameter_draw" else 3
    if family == "multivariate_gaussian":
        prior, covariance = ((0.0, 0.0), ((4.0, 0.0), (0.0, 4.0))), ((1.44, 0.3), (0.3, 1.44))
        made = bdp.mechanisms.ConjugateMechanism(
            family, method, 6, prior, size=size, R=(1.5, 1.5), covariance=covariance
        )
    else:
        made = bdp.mechanisms.ConjugateMechanism(
            "gaussian",
            method,
            6,
            (0.5, 2.0),
            size=size,
            R=1.5,
            sigma=1.2,
            bounded=family != "gaussian",
        )
    for pair in made.pairs():
        for statistic in pair:
            with bdp.reproducible(1):
                drawn = np.asarray(made.release(statistic, 2000))
            inside = drawn[np.abs(drawn) < 1.5]  # what is at a bound is the bound itself
            assert np.array_equal(np.rint(inside * 2.0**34), inside * 2.0**34)
