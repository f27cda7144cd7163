"""Shares from noisy weighted counts: against enumeration and known laws, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.weighted_sums import Sums, draw_shares, draw_sums
from bayesdp.errors import InvalidInput
from bayesdp.inference.counts import weighted_share

MANY = 5.0  # standard errors, of a false alarm of 6e-7
Model = bdp.models.WeightedShareModel
ONE = [{"name": "y", "categories": ("a",)}]
THREE = [{"name": "y", "categories": ("a", "b", "c")}]


def made(axes=THREE, max_weight=5.0, scale=2.0, **fields) -> bdp.mechanisms.WeightedCountsMechanism:
    return bdp.mechanisms.WeightedCountsMechanism(axes, max_weight, scale, **fields)


def exact_release(sums, by=None, **fields) -> bdp.Release:
    """A release with hardly any noise, of sums in steps."""
    mechanism = made(scale=2.0**-18, **fields)
    if by is None:
        return bdp.Release.of(mechanism, [tuple(sums)])
    return bdp.Release.of_groups(
        {g: (mechanism, [tuple(s)]) for g, s in zip(by, sums, strict=True)}
    )


@pytest.mark.parametrize(
    ("outputs", "fields"),
    [
        ([(5, 3)], {"steps": 4}),
        ([(-4, 6), (1, 2)], {"steps": 4}),
        ([(-4, 6)], {"steps": 4, "noise": "gaussian", "n": 3}),
        ([(9, -2), (4, 0)], {"steps": 4, "n": 2}),
    ],
)
def test_the_sums_are_as_enumerated(outputs, fields):
    """Where the grid is the lattice: means and products of u and v, given what weights can have."""
    mechanism = made(ONE, scale=1.0, **fields)
    most = math.inf if mechanism.n is None else mechanism.n * 4
    pairs = [
        (u, v) for u, v in itertools.product(range(60), repeat=2)
        if u <= most and v <= u - u * u / most
    ]  # fmt: skip
    u, v = np.array(pairs).T.astype(float)
    with pytest.MonkeyPatch.context() as patch:  # the rounding up of squares isn't in these sums
        patch.setattr(type(mechanism), "check_statistics", lambda self, given: np.asarray(given))
        law = sum(mechanism.logp(z, np.array(pairs)) for z in outputs)
    weights = special.softmax(law)
    view = mechanism.views[0]
    total, rest = view.sums(outputs)
    drawn = draw_sums(total, rest, view.scale, most, 40_000, np.random.default_rng(1))
    for f in (lambda u, v: u, lambda u, v: v, lambda u, v: u * v, lambda u, v: (v == u) + 0.0):
        mean = float(weights @ f(u, v))
        found = f(*drawn)
        assert abs(found.mean() - mean) < MANY * found.std() / 200 + 1e-9


def test_on_a_fine_lattice_draws_are_as_continuous_noise():
    """Of a weight far from its limits, both sums: Laplace noise around what was released."""
    view = made(ONE, scale=1.5).views[0]
    outputs = [(60 * 2**20, 20 * 2**20)]
    drawn = draw_sums(*view.sums(outputs), view.scale, math.inf, 50_000, np.random.default_rng(1))
    for values, centre in zip(drawn, outputs[0], strict=True):
        steps = (values - centre) / view.scale
        assert stats.kstest(steps, stats.laplace.cdf).pvalue > 1e-6
        assert stats.kstest(steps * 1.15, stats.laplace.cdf).pvalue < 1e-6


def test_shares_are_dirichlet_where_all_weights_are_equal():
    counts, weight = np.array([30, 8, 2]), 0.4
    sums = Sums(np.tile(counts * weight, (40_000, 1)), np.tile(counts * weight**2, (40_000, 1)))
    share = draw_shares(sums, np.array([1.0, 0.5, 2.0]), np.random.default_rng(1))
    posterior = stats.dirichlet(counts + np.array([1.0, 0.5, 2.0]))
    for c, marginal in enumerate(share.T):
        a = posterior.alpha[c]
        law = stats.beta(a, posterior.alpha.sum() - a)
        assert stats.kstest(marginal, law.cdf).pvalue > 1e-6


def test_shares_have_the_linearised_variance_of_the_design():
    rng = np.random.default_rng(1)
    n = 2000
    cell, w = rng.integers(0, 3, n), rng.gamma(2.0, size=n) / 10
    sums = Sums(np.bincount(cell, w)[None], np.bincount(cell, w**2)[None])
    many = Sums(*(np.repeat(values, 40_000, axis=0) for values in sums))
    share = draw_shares(many, np.full(3, 1e-3), rng)
    p = sums.weights[0] / w.sum()
    design = [((w * ((cell == c) - p[c])) ** 2).sum() / w.sum() ** 2 for c in range(3)]
    assert share.mean(0) == pytest.approx(p, abs=2e-3)
    assert share.var(0) == pytest.approx(design, rel=0.06)
    together = np.sum(w**2 * ((cell == 0) - p[0]) * ((cell == 1) - p[1])) / w.sum() ** 2
    assert np.cov(share.T)[0, 1] == pytest.approx(together, rel=0.1)


def test_strata_add_up_and_data_have_no_sampling_error():
    """Two strata of 40 and 10 largest weights, with squares as of weights of a half."""
    of = {"a": ((30, 10, 0), (15, 5, 0)), "b": ((0, 5, 5), (0, 2.5, 2.5))}
    sums = [[int(x * 2**20) for x in (*u, *v)] for u, v in of.values()]
    release = exact_release(sums, by=[*of])
    idata = Model().fit(release, draws=1000, seed=1, target="data")
    found = {
        name: values.mean(("chain", "draw")).to_numpy() for name, values in idata.posterior.items()
    }
    assert found["share"] == pytest.approx(np.array([[0.75, 0.25, 0], [0, 0.5, 0.5]]), abs=1e-4)
    assert found["total"] == pytest.approx(5 * np.array([[30, 10, 0], [0, 5, 5]]), abs=1e-3)
    assert found["overall"] == pytest.approx([0.6, 0.3, 0.1], abs=1e-4)
    assert found["effective_size"] == pytest.approx([80, 20], rel=1e-3)
    assert idata.attrs["engine"] == "exact"
    people = Model().fit(release, draws=1000, seed=1)
    assert people.attrs["engine"] == "design"
    assert people.posterior["overall"].dims == ("chain", "draw", "category")
    share, total = (people.posterior[name] for name in ("share", "total"))
    assert total.sum("category").mean().item() == pytest.approx(125, rel=1e-3)
    expected = (0.8 * share.isel(group=0) + 0.2 * share.isel(group=1)).to_numpy()
    assert people.posterior["overall"].to_numpy() == pytest.approx(expected, abs=1e-4)
    census = bdp.evaluate.poststratify(people, {"a": 1000, "b": 3000}).posterior["share"]
    expected = (0.25 * share.isel(group=0) + 0.75 * share.isel(group=1)).to_numpy()
    assert census.to_numpy() == pytest.approx(expected)


def test_categories_of_several_columns_are_cells():
    axes = [THREE[0], {"name": "sex", "categories": ("f", "m")}]
    release = bdp.Release.of(made(axes), [(9, 8, 7, 6, 5, 4, 0, 0, 0, 0, 0, 0)])
    labels = Model().fit(release, draws=10, seed=1).posterior["category"].to_numpy().tolist()
    assert labels == ["a, f", "a, m", "b, f", "b, m", "c, f", "c, m"]


@pytest.mark.parametrize("target", ["population", "data"])
def test_several_releases_are_as_one_of_several_copies(target):
    mechanism = made(scale=3.0)
    outputs = [tuple(2**20 * np.array(z)) for z in ((30, 20, 9, 20, 12, 3), (38, 25, 5, 24, 9, 4))]
    apart = [bdp.Release.of(mechanism, [z]) for z in outputs]
    both = bdp.Release.of(mechanism, outputs)
    found, expected = (
        Model().fit(release, draws=50, seed=1, target=target).posterior for release in (apart, both)
    )
    for name in ("share", "total", "effective_size"):
        assert found[name].to_numpy() == pytest.approx(expected[name].to_numpy())


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_releases_of_other_records_are_noticed(noise):
    mechanism = made(scale=3.0, noise=noise)
    alike, other = (
        bdp.Release.of(mechanism, [tuple(2**20 * np.array((z, 20, 9, z // 2, 12, 3)))])
        for z in (30, 190)
    )
    idata = Model().fit([alike, alike], draws=50, seed=1)
    assert idata.attrs["verdict"].startswith("independent")
    with pytest.warns(UserWarning, match="noise hardly explains"):
        Model().fit([alike, other], draws=50, seed=1)


def test_a_release_with_less_noise_tells_more():
    """A number's law given two releases is as computed on its lattice."""
    outputs = {8.0: 30, 2.0: 12}
    releases = [
        bdp.Release.of(made(ONE, scale=scale, steps=4), [(4 * z, 4 * z)])
        for scale, z in outputs.items()
    ]
    idata = Model().fit(releases, draws=10_000, seed=1, target="data")
    u = np.arange(800) / 4
    law = sum(-abs(u - z) / scale for scale, z in outputs.items())
    p = special.softmax(law + np.logaddexp.accumulate(law))  # of the second sum, which is smaller
    total = idata.posterior["total"].to_numpy().ravel() / 5
    assert total.mean() == pytest.approx(p @ u, abs=0.05)
    assert total.std() == pytest.approx(math.sqrt(p @ (u - p @ u) ** 2), rel=0.03)


def test_the_naive_answer_believes_what_was_released():
    mechanism = made(scale=3.0)
    steps = 2**20
    release = bdp.Release.of(
        mechanism, [(30 * steps, 20 * steps, -4 * steps, 70 * steps, 0, 3 * steps)]
    )
    naive = Model().fit_naive(release, draws=10, seed=1, target="data").posterior
    assert naive["share"].to_numpy()[0, 0] == pytest.approx([0.6, 0.4, 0.0])
    assert naive["effective_size"].to_numpy()[0, 0] == pytest.approx(50**2 / 20)
    fitted = Model().fit(release, draws=1000, seed=1).posterior["share"]
    shorter = Model().fit_naive(release, draws=1000, seed=1).posterior["share"]
    assert fitted.std(("chain", "draw"))[1] > 1.2 * shorter.std(("chain", "draw"))[1]


def test_no_weight_at_all_leaves_the_prior():
    nothing = Sums(np.zeros((20_000, 2)), np.zeros((20_000, 2)))
    share = draw_shares(nothing, np.array([1.0, 3.0]), np.random.default_rng(1))
    assert stats.kstest(share[:, 0], stats.beta(1, 3).cdf).pvalue > 1e-6
    assert weighted_share._shares_of(nothing)[0].tolist() == [0.5, 0.5]


@pytest.mark.parametrize("target", ["population", "data"])
def test_groups_without_weight_count_alike_in_the_overall_shares(target):
    release = exact_release([(-9, -9, -9, 0, 0, 0), (-5, -5, -5, 0, 0, 0)], by=["north", "south"])
    naive = Model().fit_naive(release, draws=50, seed=1, target=target).posterior
    assert np.all(naive["total"] == 0.0)
    assert naive["overall"].to_numpy() == pytest.approx(naive["share"].mean("group").to_numpy())


@pytest.mark.parametrize("prior", [(1.0, 0.0), (1.0, math.inf), (), 2.0, ("a",)])
def test_bad_priors_are_named(prior):
    with pytest.raises(InvalidInput, match="prior is"):
        Model(prior)


def different_axes() -> bdp.Release:
    return bdp.Release.of_groups({"a": (made(ONE), [(5, 1)]), "b": (made(), [(5, 5, 5, 1, 1, 1)])})


@pytest.mark.parametrize(
    ("model", "release", "message"),
    [
        (Model((1.0, 1.0)), lambda: exact_release((4, 4, 4, 0, 0, 0)), "prior has 2 numbers"),
        (
            Model(),
            lambda: [exact_release((4, 4, 4, 0, 0, 0)), exact_release((4, 1), axes=ONE)],
            "different columns, categories, largest weights",
        ),
        (
            Model(),
            lambda: [exact_release((4, 4, 4, 0, 0, 0), n=n) for n in (5, 6)],
            "the releases say n = 5 and n = 6",
        ),
        (Model(), different_axes, "different categories"),
        (
            Model(),
            lambda: bdp.BetaBinomialSynthesizer(1.0).release(bdp.Count(3, 9)),
            "BinomialModel",
        ),
        (
            Model(),
            lambda: exact_release((4 * 2**20, 0, 0, 3 * 2**20, 0, 0), n=5),
            "further than noise reaches",
        ),
    ],
)
def test_what_it_cannot_read_is_refused(model, release, message):
    with pytest.raises(InvalidInput, match=message):
        model.fit(release())


def test_the_target_is_one_of_two():
    with pytest.raises(InvalidInput, match="target is 'sample'"):
        Model().fit(exact_release((4, 4, 4, 0, 0, 0)), target="sample")


def test_records_of_one_household_may_be_alike_and_a_fit_says_so():
    """As where all 3 of each of 100 households are: its share has sqrt(3) times the deviation."""
    work = 2**20 * np.array((150, 150, 0, 0))
    axes = [{"name": "y", "categories": ("a", "b")}]
    release = exact_release(work, axes=axes, max_weight=1.0, most=3)
    with pytest.warns(UserWarning, match=r"a protected unit has up to 3 .* 1\.7 times.*#persons"):
        found = Model().fit(release, draws=2000, seed=1)
    assert "a protected unit has up to 3 records" in found.attrs["verdict"]
    right = math.sqrt(0.25 / 100)
    assert found.posterior["share"].std(("chain", "draw"))[0] < right / 1.6
    exact = Model().fit(release, draws=50, seed=1, target="data")
    assert exact.attrs["verdict"].startswith("independent")
    by_home = [{"name": "home", "categories": tuple(range(40))}, *axes]
    both = np.tile([3, 0, 0, 3], 20)
    cells = exact_release([*2**20 * both, *0 * both], axes=by_home, max_weight=1.0, most=3)
    found = Model(clusters="home").fit(cells, draws=50, seed=1)
    assert found.attrs["verdict"].startswith("independent")
