"""Noisy marginals that contradict each other in the columns that they share are found."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

import bayesdp as bdp
from bayesdp.core.shared_sums import Counted, _difference, contradiction

WARNS = "noise hardly explains what was released: age x sex and age x income contradict each other"
RATE = 1e-9
AXES = {"age": 5, "sex": 2, "income": 4}
FEW = {"draws": 20, "warmup": 30, "chains": 1, "seed": 1}


def frame_of(counts, *names):
    """A table of counts, in the rows of their cells."""
    rows = itertools.product(*(range(AXES[name]) for name in names))
    return pd.DataFrame(rows, columns=names).assign(count=counts.ravel())


def frames(first, second, noise="laplace", seed=1):
    """Age by sex of some records, and age by income of others, both with noise of scale 2."""
    rng = np.random.default_rng(seed)
    draw = {"laplace": rng.laplace, "gaussian": rng.normal}[noise]
    return [
        frame_of(np.rint(cells + draw(0, 2.0, cells.shape)).astype(int), "age", name)
        for name, cells in (("sex", first), ("income", second))
    ]


def read(tables, noise="laplace", **more):
    return bdp.Release.from_noisy_tables(tables, noise=noise, scale=2.0, delta=1e-6, **more)


ONE = np.full((5, 2), 100)
SAME, TWICE = np.full((5, 4), 50), np.full((5, 4), 100)
OTHER_AGES = np.array([[20], [80], [50], [50], [50]]) * np.ones((5, 4), int)  # of as many records


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("second", [TWICE, OTHER_AGES])
def test_a_contradiction_is_said_when_read_and_when_fitted(noise, second):
    with pytest.warns(UserWarning, match=WARNS):
        release = read(frames(ONE, second, noise), noise)
    model = bdp.models.LogLinearModel("age + sex + income")
    with pytest.warns(UserWarning, match=WARNS):
        assert WARNS in model.fit(release, **FEW).attrs["verdict"]
    good = read(frames(ONE, SAME, noise), noise)  # a warning would be an error
    assert "contradict" not in model.fit(good, **FEW).attrs["verdict"]


def test_a_known_number_of_records_counts_too():
    relation = {"neighbours": "replace_one"}
    with pytest.warns(UserWarning, match="the number of records and age x sex contradict"):
        read([frame_of(ONE, "age", "sex")], exact=1300, **relation)
    read([frame_of(ONE, "age", "sex")], exact=1000, **relation)


def test_a_contradiction_within_a_group_names_it():
    groups = pd.DataFrame({"state": ["A", "B"], "count": [1000, 1000]})
    tables = [
        pd.concat([a.assign(state="A"), b.assign(state="B")])
        for a, b in zip(frames(ONE, SAME), frames(ONE, OTHER_AGES, seed=2), strict=True)
    ]
    with pytest.warns(UserWarning, match=r"\(in the group 'B'\)") as told:
        read(tables, exact=groups, neighbours="replace_one")
    assert len(told) == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the chains of this fit:UserWarning")
@pytest.mark.filterwarnings("ignore:the chains differ:UserWarning")
def test_a_model_of_whole_tables_says_so():
    """Of two releases of one schema, of the same records and of others."""
    labels = {"type": "category", "labels": ["u", "v"]}
    schema = bdp.Schema(dict.fromkeys(("a", "b", "c"), labels))
    few = pd.DataFrame({"a": ["u"] * 400, "b": ["u", "v"] * 200, "c": ["v"] * 400})
    with bdp.reproducible(1):
        same, other = (
            bdp.TableSynthesizer(schema, epsilon=5.0).release(few if k else few.assign(a="v"))
            for k in (1, 0)
        )
    options = FEW | {"tables": 5}
    with pytest.warns(UserWarning, match="contradict each other"):
        bdp.TableModel(classes=2).fit([same, other], **options)
    verdict = bdp.TableModel(classes=2).fit(same, **options).attrs["verdict"]
    assert "contradict" not in verdict


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_bound_holds_for_the_noise_itself(gaussian):
    """The share of differences beyond any chance is below it: exact, for sums of discrete noise."""
    scale, k = np.arange(-400, 401), 0
    for spread, (first, second) in itertools.product((0.4, 3.0), ((1, 1), (1, 3), (4, 4))):
        law = np.exp(-np.abs(scale) / spread if not gaussian else -(scale**2) / 2 / spread**2)
        law /= law.sum()
        whole = law
        for _ in range(first + second - 1):
            whole = np.convolve(whole, law)
        away = np.abs(np.arange(whole.size) - whole.size // 2)
        for far in range(1, 60):
            chance = math.fsum(whole[away >= far])
            tables = [
                Counted((), np.array(0.0), spread, gaussian, float(first)),
                Counted((), np.array(float(far)), spread, gaussian, float(second)),
            ]
            log_bound, cells, _ = _difference(*tables, ())
            assert cells == 1
            assert chance <= 2 * math.exp(log_bound) * (1 + 1e-9)
            assert (contradiction(tables) is not None) == (2 * math.exp(log_bound) < RATE)
            k += chance > 1e-300
    assert k > 50


@pytest.mark.parametrize("gaussian", [True, False])
def test_true_marginals_are_hardly_ever_said_to_contradict(gaussian):
    """At a rate of 1e-9 not one of 500, whatever is shared; a far smaller shift is found."""
    rng = np.random.default_rng(3)
    draw = rng.normal if gaussian else rng.laplace
    names = list(itertools.combinations("abcd", 2))

    def tables(shift=0.0):
        cells = rng.poisson(5.0, (3, 3, 3, 3)).astype(float)
        found = []
        for pair in names:
            counts = cells.sum(axis=tuple(k for k in range(4) if "abcd"[k] not in pair))
            found.append(Counted(pair, counts + draw(0, 2.0, (3, 3)), 2.0, gaussian))
        found[0].counts[0, 0] += shift
        return found

    assert not any(contradiction(tables()) for _ in range(500))
    assert all(contradiction(tables(100.0)) for _ in range(50))
