"""Exponential random graph models from released graphs, degrees and statistics."""

import json
import warnings

import arviz as az
import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import bayesdp as bdp
from bayesdp.networks import Network, statistics

PRIOR = bdp.networks.NormalPrior(0, 2)


@pytest.fixture(scope="module")
def florentine() -> Network:
    graph = nx.florentine_families_graph()
    graph.add_node("Pucci")
    wealth = {
        "Acciaiuoli": 10,
        "Albizzi": 36,
        "Barbadori": 55,
        "Bischeri": 44,
        "Castellani": 20,
        "Ginori": 32,
        "Guadagni": 8,
        "Lamberteschi": 42,
        "Medici": 103,
        "Pazzi": 48,
        "Peruzzi": 49,
        "Pucci": 3,
        "Ridolfi": 27,
        "Salviati": 10,
        "Strozzi": 146,
        "Tornabuoni": 48,
    }  # REFERENCE, Networks
    nx.set_node_attributes(graph, wealth, "wealth")
    return Network.from_networkx(graph)


@pytest.fixture(scope="module")
def release(florentine) -> bdp.Release:
    with bdp.reproducible(1):
        return bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0, attributes=("wealth",)).release(
            florentine
        )


def quickly(model, release, **options):
    """A short fit, whose chains may not have mixed: the warning is another test's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(release, **{"draws": 60, "chains": 2, "warmup": 100, "seed": 4} | options)


class TestAFit:
    @pytest.mark.slow
    def test_its_shape_by_the_joint_sampler(self, release):
        idata = quickly(bdp.models.ERGMModel("edges + gwesp(0.5)", prior=PRIOR), release)
        for name in ("theta", "statistics"):
            assert idata.posterior[name].dims == ("chain", "draw", "term")
            assert idata.posterior[name].shape == (2, 60, 2)
        assert idata.posterior["term"].to_numpy().tolist() == ["edges", "gwesp.0.5"]
        for name in ("acceptance_rate", "hidden_density"):
            assert idata.sample_stats[name].dims == ("chain", "draw")
        assert idata.attrs["auxiliary"] == "tempered"
        ties = idata.posterior["statistics"].sel(term="edges") / 120
        assert np.allclose(ties, idata.sample_stats["hidden_density"])
        assert idata.constant_data["mechanism_tie"] == release.mechanism.tie

    @pytest.mark.slow
    def test_it_says_how_it_was_made(self, release):
        attrs = quickly(bdp.models.ERGMModel("edges + gwesp(0.5)", prior=PRIOR), release).attrs
        assert (attrs["engine"], attrs["family"]) == ("exchange", "ergm")
        assert "depend on each other" in attrs["engine_reason"]
        assert attrs["release"] == release.fingerprint
        assert attrs["guarantee"] == str(release.guarantee)
        assert attrs["formula"] == "edges + gwesp(0.5)"
        assert json.loads(attrs["prior"]) == [[0, 0], [2, 2]]
        assert json.loads(attrs["engine_versions"])
        assert attrs["verdict"]

    @pytest.mark.slow
    def test_what_was_released_is_observed(self, release):
        observed = quickly(bdp.models.ERGMModel("edges", prior=PRIOR), release).observed_data
        ties = observed["output_target"].to_numpy() >= 0
        seen = np.column_stack([observed["output_source"], observed["output_target"]])[ties]
        assert np.array_equal(seen, release.outputs[0].edges)

    @pytest.mark.slow
    def test_a_seed_fixes_the_draws(self, release):
        model = bdp.models.ERGMModel("edges + triangle", prior=PRIOR)
        one, same, other = (
            quickly(model, release, seed=seed).posterior["theta"].to_numpy() for seed in (7, 7, 8)
        )
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)

    @pytest.mark.slow
    def test_arviz_takes_it_as_it_is(self, release, tmp_path):
        idata = quickly(bdp.models.ERGMModel("edges + kstar(2)", prior=PRIOR), release)
        assert len(az.summary(idata, var_names=["theta"])) == 2
        idata.to_netcdf(str(tmp_path / "posterior.nc"))
        again = az.from_netcdf(str(tmp_path / "posterior.nc"))
        assert again.attrs["verdict"] == idata.attrs["verdict"]
        assert np.array_equal(again.posterior["theta"], idata.posterior["theta"])

    @pytest.mark.slow
    def test_chains_that_did_not_mix_are_never_silent(self, release):
        model = bdp.models.ERGMModel("edges + gwesp(0.5)", prior=PRIOR)
        with pytest.warns(UserWarning, match="can't be relied on: R-hat"):
            idata = model.fit(release, draws=10, chains=4, warmup=5, seed=1)
        assert "R-hat is above" in idata.attrs["verdict"]


class TestTheEngine:
    @pytest.mark.slow
    def test_independent_dyads_need_no_hidden_graph(self, release):
        idata = quickly(bdp.models.ERGMModel("edges + nodecov('wealth')", prior=PRIOR), release)
        assert idata.attrs["engine"] == "pymc"
        assert "sums out" in idata.attrs["engine_reason"]
        assert "statistics" not in idata.posterior

    @pytest.mark.slow
    def test_both_engines_have_the_same_posterior(self, release):
        """Within 5 Monte Carlo standard errors: 6e-7 each, of two means and two sds."""
        model = bdp.models.ERGMModel(
            "edges + nodecov('wealth')", prior=bdp.networks.NormalPrior(0, [3, 0.05])
        )
        fits = [
            quickly(model, release, engine=engine, draws=3000, warmup=600, chains=4).posterior
            for engine in ("pymc", "exchange")
        ]
        for term in range(2):
            one, other = (fit["theta"].isel(term=term).to_numpy() for fit in fits)
            for power in (1, 2):  # about the first's mean, so that the second is the variance
                moments = [(x - one.mean()) ** power for x in (one, other)]
                error = np.hypot(*(float(az.mcse({"x": x})["x"]) for x in moments))
                assert abs(moments[0].mean() - moments[1].mean()) < 5 * error

    @pytest.mark.parametrize("engine", ["pymc", "stan"])
    def test_a_closed_form_is_not_made_up(self, release, engine):
        with pytest.raises(bdp.errors.InvalidInput, match="doesn't sum out; use engine='exchange'"):
            bdp.models.ERGMModel("edges + triangle").fit(release, engine=engine)
        with pytest.raises(bdp.errors.InvalidInput):
            bdp.models.ERGMModel("edges + triangle").log_likelihood(release, [0.0, 0.0])

    def test_the_exact_likelihood(self, release):
        model = bdp.models.ERGMModel("edges")
        found = model.log_likelihood(release, [[0.0], [-1.0]])
        graph, flip = release.outputs[0], release.mechanism.gap
        p = 1 / (1 + np.exp([0.0, 1.0]))
        seen = p * (1 - flip) + (1 - p) * flip
        ties = len(graph.edges)
        whole = ties * np.log(seen) + (graph.dyads - ties) * np.log1p(-seen)
        assert np.diff(found) == pytest.approx(np.diff(whole), rel=1e-12)


class TestOtherReleases:
    @pytest.mark.slow
    def test_noisy_statistics(self, florentine):
        """The hidden graph's statistics stay near what was seen, in units of the noise."""
        with bdp.reproducible(2):
            release = bdp.synthesizers.NoisyStatisticsSynthesizer(
                "edges + kstar(2)", epsilon=6.0
            ).release(florentine)
        known = np.array([*statistics(florentine, "edges + kstar(2)").values()])
        idata = quickly(bdp.models.ERGMModel("edges + kstar(2)", prior=PRIOR), release, draws=400)
        hidden = idata.posterior["statistics"].mean(("chain", "draw")).to_numpy()
        assert np.all(np.abs(hidden - known) < 4 * np.array(release.mechanism.scales))
        assert idata.observed_data["output_value"].size == 2

    @pytest.mark.slow
    def test_noisy_degrees(self, florentine):
        with bdp.reproducible(2):
            release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=30.0).release(florentine)
        idata = quickly(
            bdp.models.ERGMModel("edges + gwdegree(0.5)", prior=PRIOR), release, draws=400
        )
        ties = idata.posterior["statistics"].sel(term="edges")
        assert abs(float(ties.mean()) - len(florentine.edges)) < 1.5

    @pytest.mark.slow
    def test_copies_are_used_together(self, florentine):
        """More answers about each dyad: a posterior of the hidden graph that is surer."""
        spread = []
        for copies in (1, 6):
            with bdp.reproducible(3):
                release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=1.5).release(
                    florentine, copies=copies
                )
            fit = quickly(
                bdp.models.ERGMModel("edges + gwesp(0.5)", prior=PRIOR), release, draws=500
            )
            spread.append(float(fit.posterior["statistics"].sel(term="edges").std()))
        assert spread[1] < 0.5 * spread[0]

    @pytest.mark.slow
    def test_of_a_graph_released_elsewhere(self):
        graph = nx.karate_club_graph()
        release = bdp.Release.of(
            bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes=("club",)), outputs=[graph]
        )
        assert release.outputs[0] == Network.from_networkx(graph)
        assert release.guarantee.epsilon == pytest.approx(2.0)
        assert (
            quickly(bdp.models.ERGMModel("edges"), release).attrs["release"] == release.fingerprint
        )

    @pytest.mark.slow
    def test_what_the_analyst_knows_is_used(self, release, florentine):
        known = {"rich": release.outputs[0].attributes["wealth"] > 40}
        idata = quickly(
            bdp.models.ERGMModel("edges + nodematch('rich')", attributes=known), release
        )
        assert idata.posterior.sizes["term"] == 2
        near = {"near": np.abs(np.subtract.outer(np.arange(16), np.arange(16))) * 1.0}
        model = bdp.models.ERGMModel("edges + edgecov('near')", dyad_attributes=near)
        assert quickly(model, release).posterior.sizes["term"] == 2

    def test_what_the_release_says_otherwise_is_refused(self):
        """The model's own values replaced the release's in silence."""
        network = Network(4, [[0, 1]], attributes={"x": [1.0, 2.0, 3.0, None]})
        by = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes=("x",))
        release = bdp.Release.of(by, outputs=[network])

        def fitted(*values):
            model = bdp.models.ERGMModel("edges + nodecov('x')", attributes={"x": values})
            return model.log_likelihood(release, [-1.0, 0.4])

        for wrong, nodes in (((4, 3, 3, 1), 2), ((1, None, 3, 4), 1), ((1, "2", 3, 4), 1)):
            message = f"'x' differs from the release's own of that name, at {nodes} of 4 nodes; lea"
            with pytest.raises(bdp.errors.InvalidInput, match=message):
                fitted(*wrong)
        whole = bdp.Release.of(by, outputs=[Network(4, [[0, 1]], attributes={"x": [1, 2, 3, 4]})])
        model = bdp.models.ERGMModel("edges + nodecov('x')")
        assert fitted(1, 2, 3, 4) == model.log_likelihood(whole, [-1.0, 0.4])

    def test_coefficients_with_labels_are_read_by_name(self):
        """In another order they gave another point's likelihood in silence."""
        network = Network(4, [[0, 1], [1, 2]], attributes={"x": [1, 2, 3, 4]})
        by = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0, attributes=("x",))
        release = bdp.Release.of(by, outputs=[network])
        model = bdp.models.ERGMModel("edges + nodecov('x')")
        own = pd.Series({"edges": -1.0, "nodecov.x": 0.4})
        expected = model.log_likelihood(release, [-1.0, 0.4])
        table = xr.DataArray([own, own], {"term": [*own.index]}, ("draw", "term"))
        for given in (own, own[::-1]):
            assert model.log_likelihood(release, given) == expected
        for given in (table, table[:, ::-1], table.T):
            found = model.log_likelihood(release, given)
            np.testing.assert_allclose(found, [expected] * 2, rtol=1e-12)
        for wrong, said in (
            ([1.0], r"theta has shape \(1,\); it must be \(\.\.\., 2\)"),
            ("a", "theta is 'a'; it must be numbers"),
            (own.rename({"edges": "mutual"}), "theta has other labels"),
        ):
            with pytest.raises(bdp.errors.InvalidInput, match=said):
                model.log_likelihood(release, wrong)
        with pytest.raises(bdp.errors.InvalidInput, match="mean has labels, which a prior"):
            bdp.networks.NormalPrior(own)

    @pytest.mark.slow
    def test_an_empty_and_a_complete_graph_have_a_posterior(self):
        """Degenerate for a maximum; a proper prior leaves a posterior, and a short one may warn."""
        every = [(i, j) for i in range(5) for j in range(i)]
        for ties, sign in (([], -1), (every, 1)):
            release = bdp.Release.of(
                bdp.synthesizers.EdgeFlipSynthesizer(epsilon=4.0), outputs=[Network(5, ties)]
            )
            idata = quickly(bdp.models.ERGMModel("edges", prior=PRIOR), release, draws=300)
            assert sign * float(idata.posterior["theta"].mean()) > 0.5


MIXING = "nodemix('g', levels2=True)"


@pytest.fixture(scope="module")
def mixing() -> bdp.Release:
    network = Network(5, [[0, 1], [2, 3], [1, 4]], False, {"g": list("aabbb")})
    with bdp.reproducible(3):
        return bdp.synthesizers.NoisyStatisticsSynthesizer(
            MIXING, epsilon=1.0, attributes=("g",)
        ).release(network)


@pytest.fixture(scope="module")
def fitted(mixing):
    return quickly(bdp.models.ERGMModel(MIXING, prior=PRIOR), mixing, draws=2000, warmup=500)


class TestEdgeProbabilities:
    @pytest.mark.slow
    def test_of_noisy_counts_they_are_those_of_all_counts(self, mixing, fitted):
        """Each pair by itself, its count summed out and p on a grid: within 5.5 standard errors.

        There are 1, 6 and 3 dyads; false alarm 4e-8 for each of three means and variances.
        """
        model = bdp.models.ERGMModel(MIXING, prior=PRIOR)
        found = model.edge_probabilities(fitted, mixing, by="g")
        assert (found.name, found.dims) == ("edge_probability", ("chain", "draw", "pair"))
        assert found["pair"].to_numpy().tolist() == ["a.a", "a.b", "b.b"]
        assert mixing.mechanism.scales == (1.0, 1.0, 1.0)  # one tie is in one pair: epsilon 1
        theta = np.linspace(-16, 16, 4001)
        p = 1 / (1 + np.exp(-theta))
        for pair, dyads, seen in zip(found["pair"], (1, 6, 3), mixing.outputs[0], strict=True):
            counts = np.arange(dyads + 1)
            law = stats.binom.pmf(counts, dyads, p[:, None]) @ np.exp(-np.abs(seen - counts))
            weight = law * stats.norm.pdf(theta, 0, 2)
            mean = np.average(p, weights=weight)
            drawn = found.sel(pair=pair).to_numpy()
            for moment, exact in (
                (drawn, mean),
                ((drawn - mean) ** 2, np.average((p - mean) ** 2, weights=weight)),
            ):
                assert abs(moment.mean() - exact) < 5.5 * float(az.mcse({"x": moment})["x"])

    @pytest.mark.slow
    def test_what_has_none(self, mixing, fitted, release):
        def refused(match, formula=MIXING, release=mixing, idata=fitted, by="g", **known):
            model = bdp.models.ERGMModel(formula, prior=PRIOR, **known)
            with pytest.raises(bdp.errors.InvalidInput, match=match):
                model.edge_probabilities(idata, release, by)

        refused("ties depend on each other", "edges + gwesp(0.5)")
        refused("no attribute 'age'", by="age")
        refused(
            "another formula's coefficients; they must be edges, mix.g.a.b", "edges + nodemix('g')"
        )
        refused("isn't this model's posterior given this release", release=release)
        known = {"one": list("aaaaa")}
        refused("'one' is the same for all nodes", by="one", attributes=known)
        bounded = bdp.Release.of(
            bdp.mechanisms.NoisyStatisticsMechanism(
                "edges", (1.0,), 5, attributes=[("g", tuple("aabbb"))], max_degree=2
            ),
            outputs=[(3,)],
        )
        other = fitted.copy()
        other.attrs = {**fitted.attrs, "release": bounded.fingerprint}
        refused("bound on degrees", release=bounded, idata=other)
        model = bdp.models.ERGMModel(MIXING, prior=PRIOR, constraint="none")
        assert model.edge_probabilities(other, bounded, "g").shape == (2, 2000, 3)


class TestTheNaiveFit:
    @pytest.mark.slow
    def test_it_shows_the_bias(self):
        """Of 30 nodes at a density of 4%, a flip of 12% leaves a graph three times as dense."""
        sparse = nx.gnp_random_graph(30, 0.04, seed=5)
        with bdp.reproducible(5):
            release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=2.0).release(sparse)
        model = bdp.models.ERGMModel("edges", prior=bdp.networks.NormalPrior(0, 3))
        aware = quickly(model, release, draws=1000).posterior["theta"].to_numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            naive = model.fit_naive(release, draws=300, chains=2, warmup=100, seed=1)
        truth = np.log(0.04 / 0.96)
        assert np.quantile(aware, 0.025) < truth < np.quantile(aware, 0.975)
        assert np.quantile(naive.posterior["theta"], 0.001) > truth
        assert "naive" in naive.attrs["engine_reason"]

    def test_there_is_none_without_a_graph(self, florentine):
        release = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=3.0).release(florentine)
        with pytest.raises(bdp.errors.InvalidInput, match="no naive posterior"):
            bdp.models.ERGMModel("edges").fit_naive(release)
        graphs = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0).release(florentine)
        with pytest.raises(bdp.errors.InvalidInput, match="copy is 1; the release has 1"):
            bdp.models.ERGMModel("edges").fit_naive(graphs, copy=1)
        for wrong in ("0", True, -1):
            with pytest.raises(bdp.errors.InvalidInput, match=r"copy is .* whole number, at least"):
                bdp.models.ERGMModel("edges").fit_naive(graphs, copy=wrong)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draws": 0}, "draws is 0"),
        ({"chains": 0}, "chains is 0"),
        ({"warmup": 0}, "warmup is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"engine": "jags"}, "engine is 'jags'"),
        ({"auxiliary": 0, "engine": "exchange"}, "auxiliary is 0"),
        ({"auxiliary": 500}, "auxiliary is for engine='exchange'.* engine is 'pymc'"),
        ({"tempering": 500, "engine": "stan"}, "tempering is for engine='exchange'"),
    ],
)
def test_bad_arguments_are_named(release, arguments, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.ERGMModel("edges").fit(release, **arguments)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("edges + quadrangle", "the term 'quadrangle', which doesn't exist"),
        ("edges + mutual", "isn't defined for undirected"),
        ("edges + nodematch('club')", "no attribute 'club'"),
    ],
)
def test_formulas_that_do_not_fit(release, formula, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.models.ERGMModel(formula).fit(release)


def test_a_release_of_something_else_is_refused():
    release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release([0, 1] * 20)
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise a graph"):
        bdp.models.ERGMModel("edges").fit(release)
    with pytest.raises(bdp.errors.InvalidInput, match="must be a Normal"):
        bdp.models.ERGMModel("edges", prior=(0, 1))
    for name in ("attributes", "dyad_attributes"):
        with pytest.raises(bdp.errors.InvalidInput, match=f"{name} is None; it must be a mapping"):
            bdp.models.ERGMModel("edges", **{name: None})
