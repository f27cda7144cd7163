"""Modips that chooses its family: the exact joint law, what it costs, and what it tells."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp

FALSE_ALARM = 1e-6
Bernoulli, Categorical = bdp.families.Bernoulli, bdp.families.Categorical
TWO = [Bernoulli((1.0, 1.0)), Bernoulli((0.5, 6.0))]
Selection = bdp.synthesizers.FamilySelection
E0, E = 0.6, 1.1


def chosen_law(priors: Any, x: int, n: int, rate: float) -> np.ndarray:
    """log Pr of each binary family, from scipy's beta-binomial probabilities."""
    u = np.array([stats.betabinom.logpmf(x, n, *prior) for prior in priors])
    return rate * u - special.logsumexp(rate * u)


def copy_law(z: Any, x: int, n: int, size: int, prior: Any, scale: float) -> np.ndarray:
    """Pr of numbers of ones z, n public: the noisy count summed out, moved to the nearest end."""
    noisy = np.arange(-200, 201)
    weight = stats.dlaplace.pmf(noisy, 1 / scale)
    s = np.clip(x + noisy, 0, n)
    each = stats.betabinom.pmf(np.asarray(z)[..., None], size, prior[0] + s, prior[1] + n - s)
    return np.asarray((each * weight).sum(axis=-1))


@pytest.mark.parametrize("each_copy", [True, False])
def test_the_joint_law_of_choice_and_copies_and_its_promise(each_copy):
    """Three records, two families and two copies: all outputs, by independent formulas."""
    n, size = 3, 2
    declared = bdp.ModipsSynthesizer(
        TWO, epsilon=E, copies=2, size=size, selection=Selection(E0, each_copy=each_copy)
    )
    mechanism = declared.release([0, 1, 1]).mechanism
    promise = declared.guarantee(n)
    assert promise.epsilon == pytest.approx(E0 + E, rel=1e-5)
    assert promise.epsilon <= E0 + E
    priors = [family.prior for family in TWO]
    # A choice costs what its candidates can be apart: R of the families' module, by hand.
    apart = math.log(1 / 0.5) + math.log(6 / 1)
    rate = (E0 / 2 if each_copy else E0) / (apart + 2e-5)
    z = np.arange(size + 1)
    laws = []
    for x in range(n + 1):
        choice = np.exp(chosen_law(priors, x, n, rate))
        of_copy = np.array([copy_law(z, x, n, size, p, mechanism.modips.scales[0]) for p in priors])
        if each_copy:
            one = choice[:, None] * of_copy
            laws.append(np.multiply.outer(one, one).ravel())
            expected = [mechanism.logp([i, k], bdp.Count(x, n)) for i in (0, 1) for k in z]
            assert np.exp(expected) == pytest.approx(one.ravel(), rel=1e-9)
        else:
            joint = choice[:, None, None] * of_copy[:, :, None] * of_copy[:, None, :]
            laws.append(joint.ravel())
            found = np.exp(mechanism.logp(mechanism.outputs(), bdp.Count(x, n)))
            assert found == pytest.approx(joint.ravel(), rel=1e-9)
        assert laws[-1].sum() == pytest.approx(1)
    worst = max(np.abs(np.log(a / b)).max() for a, b in itertools.pairwise(laws))
    assert 0.4 * promise.epsilon < worst <= promise.epsilon


def noisy_law(mechanism: Any, x: int, n: int, points: np.ndarray) -> np.ndarray:
    """log Pr of (choice, noisy numbers), of which the copies are post-processing."""
    sbs, count = mechanism.modips, bdp.Count(x, n)
    vector = sbs.family.vector(count, sbs.n)
    parts = [part.logp(points, v) for part, v in zip(sbs.parts, vector, strict=True)]
    noise = np.ravel(sum(np.meshgrid(*parts, indexing="ij"), np.zeros(())))
    choice = chosen_law([f.prior for f in TWO], x, n, float(mechanism.choice.rate))
    return (choice[:, None] + noise).ravel()


@pytest.mark.parametrize("public", [True, False])
def test_the_promise_of_choice_and_noise_under_every_relation(public):
    """All data sets of up to three records; and the promise isn't idle."""
    declared = bdp.ModipsSynthesizer(
        TWO, epsilon=E, copies=1, size=2, public_n=public, selection=Selection(E0)
    )
    mechanism = declared.release([0, 1, 1]).mechanism
    points = np.arange(4) if public else np.arange(60)
    sizes = [3] if public else [1, 2, 3, 4]
    laws = {(x, n): noisy_law(mechanism, x, n, points) for n in sizes for x in range(n + 1)}

    def worst(moves: list[tuple[int, int]]) -> float:
        return max(
            np.abs(law - laws[x + i, n + j]).max()
            for (x, n), law in laws.items()
            for i, j in moves
            if (x + i, n + j) in laws
        )

    replaced = worst([(1, 0)])
    promise = mechanism.guarantee(neighbours="replace_one").epsilon
    assert replaced <= promise
    if public:
        assert promise == pytest.approx(E0 + E, rel=1e-5)
        assert replaced > 0.7 * promise
        with pytest.raises(bdp.errors.InvalidInput, match=r"as n is public"):
            mechanism.guarantee(neighbours="add_remove")
        return
    assert promise == pytest.approx(2 * (E0 + E), rel=1e-5)
    added = worst([(0, 1), (1, 1)])
    promise = mechanism.guarantee().epsilon
    assert promise == pytest.approx(E0 + E, rel=1e-5)
    assert 0.7 * promise < added <= promise


@pytest.mark.parametrize("each_copy", [True, False])
def test_gaussian_noise_adds_its_delta_alone(each_copy):
    known: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-5, "copies": 4, "noise": "gaussian"}
    plain = bdp.ModipsSynthesizer(TWO[0], **known).guarantee(50)
    chosen = bdp.ModipsSynthesizer(TWO, **known, selection=Selection(0.5, each_copy)).guarantee(50)
    assert chosen.delta == plain.delta == 1e-5
    assert plain.epsilon + 0.3 < chosen.epsilon < plain.epsilon + 0.5  # as the losses' laws add up
    assert chosen.rho is not None
    assert plain.rho is not None
    assert chosen.rho > plain.rho


def test_dic_chooses_within_its_promise_too(tmp_path):
    declared = bdp.ModipsSynthesizer(
        TWO, epsilon=E, copies=1, selection=Selection(E0, criterion="dic")
    )
    release = declared.release([0, 1, 1])
    release.save(tmp_path / "release")
    mechanism = bdp.Release.load(tmp_path / "release").mechanism
    assert mechanism.criterion == "dic"
    outputs = mechanism.outputs()
    laws = [mechanism.logp(outputs, bdp.Count(x, 3)) for x in range(4)]
    worst = max(np.abs(a - b).max() for a, b in itertools.pairwise(laws))
    assert 0.4 * (E0 + E) < worst <= release.guarantee.epsilon <= E0 + E


@pytest.mark.parametrize("each_copy", [True, False])
@pytest.mark.parametrize("method", ["sbs", "sdd", "sphc"])
def test_all_is_spent_at_once_before_anything_is_drawn(each_copy, method, tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=2.0, neighbours="replace_one")
    declared = bdp.ModipsSynthesizer(
        TWO, method, epsilon=1.0, copies=3, selection=Selection(0.5, each_copy=each_copy)
    )
    release = declared.release([0, 1, 1, 0, 1], ledger=budget)
    spent = budget.spent().epsilon
    assert spent == release.guarantee.epsilon == declared.guarantee(5).epsilon
    assert 1.49 < spent <= 1.5
    with pytest.raises(bdp.errors.BudgetExceeded):
        declared.release([0, 1, 1, 0, 1], ledger=budget)
    assert budget.spent().epsilon == spent
    assert release.guarantee.strength is bdp.Strength.PROVED
    release.save(tmp_path / "release")
    assert bdp.Release.load(tmp_path / "release") == release
    made = [release.mechanism.split(output) for output in release.outputs]
    assert len(made) == (3 if each_copy else 1)
    assert sum(len(copies) for _, copies in made) == 3
    for (chosen, copies), frame in zip(made, release.to_frames(), strict=True):
        assert set(frame["family"]) == {chosen}
        assert len(frame) == 5 * len(copies)
        assert frame["value"].sum() == sum(copies)
        assert ("copy" in frame) != each_copy


def test_each_copy_has_a_choice_of_its_own():
    data = bdp.Count(30, 60)  # of which both families are likely
    families = [Bernoulli((2.0, 2.0)), Bernoulli((2.1, 2.0))]
    with bdp.reproducible(1):
        declared = bdp.ModipsSynthesizer(
            families, copies=40, selection=Selection(0.1, each_copy=True)
        )
        inside = [output[0] for output in declared.release(data).outputs]
        once = bdp.ModipsSynthesizer(families, copies=40, selection=Selection(0.1)).release(data)
    assert set(inside) == {0, 1}
    assert len(once.outputs[0]) == 41


def test_a_likely_family_is_chosen_and_shapes_the_copies():
    """All records of category 2, and families that all but exclude each other."""
    families = [Categorical(3, (900.0, 1.0, 1.0)), Categorical(3, (1.0, 1.0, 900.0))]
    declared = bdp.ModipsSynthesizer(
        families, epsilon=4.0, copies=3, size=30, draws=2, selection=Selection(9.0, True)
    )
    with bdp.reproducible(2):
        release = declared.release(np.full(200, 2))
    for output in release.outputs:
        chosen, copies = release.mechanism.split(output)
        assert chosen == 1
        assert np.shape(copies) == (1, 2, 3)
        assert np.asarray(copies)[..., 2].min() > 20
    assert set(release.to_frames()[0].columns) == {"family", "draw", "value"}


# Inference.


@pytest.mark.parametrize("each_copy", [True, False])
def test_the_exact_posterior_knows_of_the_choice(each_copy):
    """Against a sum over all counts; a family taken for fixed gives another."""
    n, families = 12, [Bernoulli((1.0, 1.0)), Bernoulli((0.5, 30.0))]
    declared = bdp.ModipsSynthesizer(
        families, epsilon=3.0, copies=3, selection=Selection(6.0, each_copy=each_copy)
    )
    with bdp.reproducible(3):
        release = declared.release(bdp.Count(2, n))
    mechanism, priors = release.mechanism, [family.prior for family in families]
    weight, copies_alone = np.ones(n + 1), np.ones(n + 1)
    for x in range(n + 1):
        choice = chosen_law(priors, x, n, float(mechanism.choice.rate))
        for output in release.outputs:
            chosen, copies = mechanism.split(output)
            law = copy_law(copies, x, n, n, priors[chosen], mechanism.modips.scales[0]).prod()
            weight[x] *= math.exp(choice[chosen]) * law
            copies_alone[x] *= law
    x = np.arange(n + 1)
    mean = (weight * (1 + x) / (n + 2)).sum() / weight.sum()
    ignorant = (copies_alone * (1 + x) / (n + 2)).sum() / copies_alone.sum()
    found = bdp.BinomialModel().posterior(release).mean()
    assert found == pytest.approx(mean, rel=1e-8)
    assert abs(found - ignorant) > 0.005
    naive = bdp.BinomialModel().naive_posterior(release).mean()
    ones = sum(sum(mechanism.split(output)[1]) for output in release.outputs)
    assert naive == pytest.approx((1 + ones) / (2 + 3 * n))


@pytest.mark.parametrize("each_copy", [True, False])
def test_the_posterior_is_calibrated(each_copy):
    rng, pit, model = np.random.default_rng(9), [], bdp.BinomialModel()
    families = [Bernoulli((1.0, 1.0)), Bernoulli((0.5, 30.0))]
    declared = bdp.ModipsSynthesizer(
        families, copies=2, selection=Selection(3.0, each_copy=each_copy)
    )
    for i in range(120):
        p = rng.beta(1, 1)
        with bdp.reproducible(i):
            release = declared.release(bdp.Count(int(rng.binomial(30, p)), 30))
        pit.append(model.posterior(release).cdf(p))
    assert stats.kstest(pit, "uniform").pvalue > FALSE_ALARM


def test_a_fit_is_what_arviz_takes(tmp_path):
    release = bdp.ModipsSynthesizer(TWO, copies=3, selection=Selection(0.5)).release([0, 1] * 20)
    idata = bdp.BinomialModel().fit(release, draws=50, seed=1)
    idata.to_netcdf(str(tmp_path / "posterior.nc"))
    assert "bernoulli" in str(idata.constant_data["mechanism_families"].item())
    assert idata.observed_data["outputs"].shape == (1, 4)


def test_a_confidential_n_is_summed_out():
    declared = bdp.ModipsSynthesizer(
        TWO, copies=2, size=9, public_n=False, selection=Selection(0.5)
    )
    with bdp.reproducible(4):
        release = declared.release([0, 1, 1, 0])
    cells = bdp.BinomialModel(n=range(3, 7)).posterior(release)
    law = [
        (math.exp(release.mechanism.logp(release.outputs[0], bdp.Count(x, n))) / 4, x, n)
        for n in range(3, 7)
        for x in range(n + 1)
    ]
    law = [(w / (n + 1), x, n) for w, x, n in law]  # the prior probability of x is uniform
    mean = sum(w * (1 + x) / (2 + n) for w, x, n in law) / sum(w for w, _, _ in law)
    assert cells.mean() == pytest.approx(mean, rel=1e-9)


def test_a_choice_among_categorical_families_has_no_multinomial_model_yet_a_law():
    families = [Categorical(3), Categorical(3, (0.5, 4.0, 1.0))]
    release = bdp.ModipsSynthesizer(families, copies=2, selection=Selection(0.5, True)).release(
        [0, 2, 2]
    )
    with pytest.raises(bdp.errors.InvalidInput, match="modips_selected"):
        bdp.MultinomialModel((1, 1, 1)).fit(release)


# What is refused.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"selection": None}, r"selection=bdp\.synthesizers\.FamilySelection"),
        ({"family": TWO[0]}, "give a list of families"),
        ({"selection": 0.5}, "selection is 0.5"),
        ({"family": TWO[:1]}, "two or more"),
        ({"family": []}, "two or more"),
        ({"family": [TWO[0], Categorical(2)]}, "all bdp.families.Bernoulli, or all"),
        ({"family": [Categorical(2), Categorical(3)]}, "with one k"),
        ({"family": [bdp.families.Gaussian((0, 1), 1.0)] * 2}, "no bound"),
        ({"family": [TWO[0], "bernoulli"]}, "family is a str; it must be one of"),
        ({"family": [TWO[0], Bernoulli((1, 2e9))]}, "sum above"),
        ({"family": [Categorical(4)] * 2, "method": "sdd"}, "has no cells"),
    ],
)
def test_wrong_declarations_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        bdp.ModipsSynthesizer(**{"family": TWO, "selection": Selection(0.5), **wrong})


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0"),
        ({"epsilon": 1.0, "each_copy": 2}, "each_copy is 2"),
        ({"epsilon": 1.0, "criterion": "aic"}, "log_marginal"),
    ],
)
def test_wrong_selections_are_named(wrong, message):
    with pytest.raises(bdp.errors.InvalidInput, match=message):
        Selection(**wrong)


def test_wrong_mechanisms_and_outputs_are_named():
    sbs = bdp.mechanisms.ModipsSBSMechanism(TWO[0], 5, (1.0,), 7)
    made = bdp.mechanisms.SelectedModipsMechanism(sbs, TWO, 0.5, 2)
    for attempt, message in (
        (
            lambda: bdp.mechanisms.SelectedModipsMechanism(sbs, TWO[::-1], 0.5),
            "the first of the families",
        ),
        (
            lambda: bdp.mechanisms.SelectedModipsMechanism(made, TWO, 0.5),
            "modips is a SelectedModipsMechanism",
        ),
        (
            lambda: bdp.mechanisms.SelectedModipsMechanism({"family": TWO[0]}, TWO, 0.5),
            "modips is a dict",
        ),
        (lambda: bdp.mechanisms.SelectedModipsMechanism(sbs, 3, 0.5), "families is 3"),
        (lambda: bdp.mechanisms.SelectedModipsMechanism(sbs, TWO, -1), "epsilon is -1"),
        (lambda: bdp.mechanisms.SelectedModipsMechanism(sbs, TWO, 0.5, 0), "each is 0"),
        (lambda: made.check_output((0, 1)), "releases 3 integers"),
        (lambda: made.check_output((2, 1, 1)), "position of a candidate"),
        (lambda: made.check_output((0, 1, 6)), "from 0 to size"),
        (
            lambda: made.decode(
                {"copy": [0, 0], "component": [0, 1], "value": [1, 1], "family": [0, 1]}
            ),
            "family differs",
        ),
        (lambda: made.release(bdp.Count(0, 8)), "another number of records"),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=message):
            attempt()


def test_too_many_records_cost_nothing(tmp_path):
    ledger = bdp.Ledger.open(f"sqlite:///{tmp_path}/ledger.db")
    budget = ledger.create("survey", epsilon=9.0, neighbours="replace_one")
    declared = bdp.ModipsSynthesizer(TWO, size=5, copies=1, selection=Selection(0.5))
    with pytest.raises(bdp.errors.InvalidInput, match="more than 1048576 records"):
        declared.release(bdp.Count(0, 2**21), ledger=budget)
    assert budget.spent().epsilon == 0


def test_the_promise_at_a_delta_is_no_larger_than_the_profile_proves():
    for noise, delta in (("laplace", 1e-3), ("gaussian", 1e-6)):
        modips = bdp.mechanisms.ModipsSBSMechanism(TWO[0], 50, (2.0,), 20, noise=noise)
        made = bdp.mechanisms.SelectedModipsMechanism(modips, TWO, 0.1)
        for copies in (1, 3):
            proved = made.profile(copies=copies).epsilon(delta)
            assert made.guarantee(copies=copies, delta=delta).epsilon == proved
