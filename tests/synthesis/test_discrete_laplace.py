"""The noisy count: what is released and promised, and that no compared mechanism tells more."""

import math
from collections import Counter

import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from bayesdp.evaluation.planning.designs import designs_of
from bayesdp.evaluation.planning.engines import engine_of
from bayesdp.evaluation.planning.expected import expected_of
from bayesdp.evaluation.planning.question import Question

Synthesizer = bdp.synthesizers.DiscreteLaplaceSynthesizer


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_the_law_and_the_promise(epsilon, copies):
    release = Synthesizer(epsilon, copies).release([0, 1, 1, 0])
    assert (release.copies, release.mechanism.n) == (copies, 4)
    assert release.guarantee.neighbours is bdp.Neighbours.REPLACE_ONE
    assert epsilon * (1 - 1e-12) <= release.guarantee.epsilon <= epsilon
    q = math.exp(-epsilon / copies)
    law = math.log((1 - q) / (1 + q)) + abs(7 - 2) * math.log(q)
    assert release.mechanism.logp(7, 2) == pytest.approx(law, rel=1e-12)


def test_it_adds_noise_to_the_number_of_ones():
    """At epsilon = 3 the noise is 0 with probability .905: 2000 copies within 6 deviations."""
    drawn = Counter(Synthesizer(6000.0, copies=2000).release(bdp.Count(38, 100)).outputs)
    q = math.exp(-3.0)
    share = (1 - q) / (1 + q)
    assert abs(drawn[38] / 2000 - share) < 6 * math.sqrt(share * (1 - share) / 2000)
    assert drawn.most_common(1)[0][0] == 38


def test_groups():
    frame = pd.DataFrame({"answer": [1, 0, 1, 1, 0, 0], "region": ["b", "a", "b", "a", "b", "b"]})
    release = Synthesizer(1.0).release(frame["answer"], by=frame["region"])
    assert release.groups == ("a", "b")
    assert [part.mechanism.n for part in release.parts] == [2, 4]
    assert release.guarantee.epsilon <= 1.0
    assert "public and not protected" in release.guarantee.assumptions[0]
    counts = {"x": bdp.Count(3, 10), "y": bdp.Count(30, 200)}
    assert Synthesizer(1.0, groups=["y", "x"]).release(counts).groups == ("y", "x")
    assert Synthesizer(1.0).guarantee(n=9).epsilon <= 1.0


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"epsilon": 0.0}, [0, 1], "epsilon is 0"),
        ({"epsilon": 1.0, "copies": 0}, [0, 1], "copies is 0"),
        ({"epsilon": 1.0}, [0, 2], "other than 0 and 1"),
        ({"epsilon": 1.0}, [0, None], "missing values"),
        ({"epsilon": 1.0}, [], "data is empty"),
        ({"epsilon": 1.0}, {"a": 3}, "it must be a Count"),
        ({"epsilon": 1.0, "groups": ["a"]}, [0, 1], "by is not"),
    ],
)
def test_what_is_wrong_is_refused(options, data, message):
    with pytest.raises(InvalidInput, match=message):
        Synthesizer(**options).release(data)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 0.5), (2.0, 8.0)])
@pytest.mark.parametrize("n", [1, 2, 10, 100])
def test_no_mechanism_that_plan_compares_gives_a_shorter_interval(n, prior):
    """Why the command line chooses it: at n = 1 all are alike, and beyond it is the shortest."""
    model = bdp.BinomialModel(prior=prior)
    question = Question(
        model, n, expected_of(model).design(None), 0.95, None, None, None, None, None, {}, 0
    )
    designs = {design.name: design for design in designs_of(model, n, None, 1, 0.0)}
    assert set(designs) == {"beta_binomial", "discrete_laplace", "randomized_response"}
    for epsilon in (0.05, 0.5, 2.0, 10.0):
        widths = {name: engine_of(question, each)(epsilon).width for name, each in designs.items()}
        assert widths["discrete_laplace"] <= min(widths.values()) * (1 + 1e-6)
        if n > 1:
            assert widths["discrete_laplace"] < widths["beta_binomial"] * (1 - 1e-5)
