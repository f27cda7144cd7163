"""Data of users' Stan programs: the tables that `bdp.observe` sums over, in Stan's shape."""

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.errors import InvalidInput

M = bdp.mechanisms
REPLACE = bdp.Neighbours.REPLACE_ONE


def log_lik(made, logs) -> np.ndarray:
    """Log likelihood of each integer, given a function of one's number and possible values."""
    ends = zip(made["first"] - 1, made["last"], strict=True)
    each = [
        special.logsumexp(made["log_law"][a:b] + logs(e, made["x"][a:b]))
        for e, (a, b) in enumerate(ends)
    ]
    return made["weight"] * np.array(each)


def test_a_count_of_two_releases():
    copies = M.BetaBinomialMechanism(n=30, size=20, prior=(4.0, 4.0))
    noisy = M.DiscreteLaplaceMechanism(2.0, 1.0)
    releases = [bdp.Release.of(copies, outputs=[7, 12]), bdp.Release.of(noisy, outputs=[11])]
    made = bdp.stan.data(releases)
    x = np.arange(31)
    law = copies.logp(7, bdp.Count(x, 30)) + copies.logp(12, bdp.Count(x, 30)) + noisy.logp(11, x)
    found = log_lik(made, lambda e, x: stats.binom.logpmf(x, 30, 0.3))
    assert found == pytest.approx(special.logsumexp(law + stats.binom.logpmf(x, 30, 0.3)), abs=1e-9)
    assert made["E"] == 1
    assert made["K"] == made["x"].size == made["log_law"].size == made["last"][-1]


def test_groups_and_a_vector_are_in_their_order(grouped_release: bdp.Release):
    made = bdp.stan.data(grouped_release)
    sizes = [part.mechanism.n for part in grouped_release.parts]
    assert made["E"] == 3
    assert (made["last"] - made["first"] + 1).tolist() == [n + 1 for n in sizes]
    noisy = M.DiscreteLaplaceMechanism(1.0, 1.0, dimension=2)
    made = bdp.stan.data(bdp.Release.of(noisy, outputs=[[3, 50]]))
    modes = [
        made["x"][a - 1 : b][np.argmax(made["log_law"][a - 1 : b])]
        for a, b in zip(made["first"], made["last"], strict=True)
    ]
    assert modes == [3, 50]


def test_a_vector_and_groups_may_be_of_the_same_counts(grouped_release: bdp.Release):
    noisy = M.DiscreteLaplaceMechanism(1.0, 1.0, dimension=3)
    vector = bdp.Release.of(noisy, outputs=[[20, 70, 0]])
    made = bdp.stan.data([vector, grouped_release])
    assert made["E"] == 3
    part = grouped_release.parts[1]
    x = made["x"][made["first"][1] - 1 : made["last"][1]]
    law = M.DiscreteLaplaceMechanism(1.0, 1.0).logp(70, x)
    for output in part.outputs:
        law = law + part.mechanism.logp(output, bdp.Count(x, 80))
    assert made["log_law"][made["first"][1] - 1 : made["last"][1]] == pytest.approx(law, abs=1e-9)


def test_answers_of_records_come_once_for_each_pattern_of_all_releases():
    law = M.RandomizedResponseMechanism.of((0.75, 0.9), n=8)
    outputs = [0, 1, 1, 0, 0, 0, 1, 1], [1, 1, 0, 0, 1, 0, 1, 0]
    releases = [bdp.Release.of(law, outputs=[each]) for each in outputs]
    theta = np.array([0.7, 0.3])
    for given in (releases[0], releases):
        made = bdp.stan.data(given)
        answers = outputs if given is releases else outputs[:1]
        found = log_lik(made, lambda e, x: np.log(theta[x])).sum()
        each = theta[:, None] * np.prod([law.matrix[:, z] for z in answers], axis=0)
        assert found == pytest.approx(np.log(each.sum(axis=0)).sum(), abs=1e-10)
        assert made["weight"].sum() == 8
        assert made["E"] == 2 * len(answers)


def test_real_numbers_are_the_arguments_of_their_noises_law():
    inflated = {"bounds": (0.0, 4.0), "bounding": "inflated"}
    mechanism = M.LaplaceMechanism(1.5, 1.0, dimension=2, **inflated)
    release = bdp.Release.of(mechanism, outputs=[[1.0, 2.5], [0.0, 4.0], [3.0, 4.0]])
    made = bdp.stan.data(release)
    assert (made["N"], made["K"], made["z"].tolist()) == (2, 3, [1.0, 3.0, 2.5])
    assert (made["first"].tolist(), made["last"].tolist()) == ([1, 3], [2, 3])
    assert (made["at_low"], made["at_high"]) == ([1, 0], [0, 2])
    assert (made["scale"], made["laplace"], made["truncated"]) == ([1.5] * 2, [1, 1], [0, 0])
    assert (made["low"], made["high"]) == ([0.0, 0.0], [4.0, 4.0])
    with pytest.raises(InvalidInput, match="2 releases of real numbers"):
        bdp.stan.data([release, release])


def test_integers_may_have_real_noise():
    noisy = M.LaplaceMechanism(1.5, 1.0)
    made = bdp.stan.data([bdp.Release.of(noisy, outputs=[10.25])] * 2, integers=True)
    law = np.array([2 * noisy.logp(10.25, x) for x in made["x"]])
    assert made["log_law"] == pytest.approx(law, abs=1e-9)
    assert made["x"][np.argmax(made["log_law"])] == 10
    with pytest.raises(InvalidInput, match="integers is 'no'"):
        bdp.stan.data(bdp.Release.of(noisy, outputs=[10.25]), integers="no")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        (M.DiscreteLaplaceMechanism(2.0, 1.0, REPLACE, n=20), [3]),
        (M.BetaBinomialMechanism(n=20, size=20, prior=(4.0, 4.0)), [3]),
    ],
)
@pytest.mark.parametrize("first", [0, 1])
def test_real_numbers_beside_integers_are_refused_in_a_line(other, first):
    """As real numbers, integers would have a density that they haven't."""
    real = (M.LaplaceMechanism(1.5, 1.0, REPLACE, n=20), [0.25])
    groups = {"a": real, "b": other} if first else {"b": other, "a": real}
    release = bdp.Release.of_groups(groups)
    for integers in (None, False):
        with pytest.raises(InvalidInput, match="1 of 2 parts of the release are real") as error:
            bdp.stan.data(release, integers=integers)
        assert "\n" not in str(error.value)
    assert bdp.stan.data(release, integers=True)["E"] == 2
    assert bdp.stan.data(release["a"])["N"] == 1
    with pytest.raises(InvalidInput, match="1 of 2 parts"):
        bdp.stan.data([release["a"], release["b"]])


def test_what_has_no_integers_is_refused():
    made = bdp.mechanisms.DPERGMMechanism  # whose graphs have a law by their statistics alone
    network = bdp.networks.Network(nodes=4, edges=[(0, 1)])
    graphs = bdp.synthesizers.DPERGMSynthesizer("edges", 1.0, centre=(-1.0,), scale=(1.0,))
    with bdp.reproducible(1):
        release = graphs.release(network)
    assert isinstance(release.mechanism, made)
    for wrong in (release, "release"):
        with pytest.raises(InvalidInput):
            bdp.stan.data(wrong)


def test_dyads_of_a_graph_are_integers():
    flips = M.EdgeFlipMechanism(4, 0.8, 0.1)
    release = bdp.Release.of(flips, [bdp.networks.Network(4, [(0, 1), (1, 3)])])
    made = bdp.stan.data(release)
    assert (made["E"], made["K"]) == (6, 12)
    assert made["x"].tolist() == [0, 1] * 6
    odds = np.diff(made["log_law"].reshape(6, 2), axis=1)[:, 0]  # of (0, 1), (0, 2), ..., (2, 3)
    seen, unseen = np.log(0.8 / 0.1), np.log(0.2 / 0.9)
    assert odds == pytest.approx([seen, unseen, unseen, unseen, seen, unseen])


def test_releases_of_different_integers_are_refused():
    one = bdp.Release.of(M.DiscreteLaplaceMechanism(1.0, 1.0, dimension=2), outputs=[[3, 5]])
    two = bdp.Release.of(M.DiscreteLaplaceMechanism(1.0, 1.0, dimension=3), outputs=[[3, 5, 6]])
    answers = bdp.Release.of(M.RandomizedResponseMechanism.of((0.75, 0.9), n=2), outputs=[[0, 1]])
    with pytest.raises(InvalidInput, match=r"the releases are of \(2,\), \(3,\) integers"):
        bdp.stan.data([one, two])
    with pytest.raises(InvalidInput, match="another hasn't"):
        bdp.stan.data([answers, one])
