"""A mechanism that offers a view is read by the models that ask for it, wherever it is defined."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
from scipy import special

import bayesdp as bdp
from bayesdp.core.views import CountView, MeanLaw, NormalView, View, check_tractable, view_of
from bayesdp.engines.enumeration import enumerate_cells
from bayesdp.inference.gaussian.mean import posterior_of_mean
from bayesdp.inference.gaussian.release import seen_mean
from bayesdp.inference.readers import MODELS, models_of
from bayesdp.mechanisms.counts.count import Count, count_view
from bayesdp.mechanisms.registry import REGISTRY
from bayesdp.release import Part
from tests.contracts.examples import EXAMPLES

KINDS = set(View.__subclasses__()) | {
    kind for direct in View.__subclasses__() for kind in direct.__subclasses__()
}


@dataclasses.dataclass(frozen=True)
class Thinned:
    """Release how many of the ones are left if each is kept with a public chance."""

    chance: float
    n: int

    name: ClassVar[str] = "thinned"
    log_concave: ClassVar[bool] = False

    @property
    def views(self):
        return (count_view(self),)

    def check_statistic(self, statistic):
        if not isinstance(statistic, Count) or np.any(np.asarray(statistic.n) != self.n):
            raise bdp.errors.InvalidInput("the statistic isn't a Count of n records")
        return statistic

    def logp(self, output, statistic):
        z, x = np.asarray(output), np.asarray(statistic.successes)
        with np.errstate(divide="ignore"):
            ways = (
                special.gammaln(x + 1)
                - special.gammaln(z + 1)
                - special.gammaln(np.maximum(x - z, 0) + 1)
            )
            law = ways + z * math.log(self.chance) + (x - z) * math.log1p(-self.chance)
        return np.where(z <= x, law, -np.inf)


def examples():
    return [getattr(e, "values", (e,))[0].mechanism for e in EXAMPLES]


def test_every_mechanism_has_views_of_known_kinds():
    seen = set()
    for mechanism in examples():
        seen.add(mechanism.name)
        for view in getattr(mechanism, "views", ()):
            assert type(view) in KINDS
            assert view_of(mechanism, type(view)) is not None
    assert seen == set(REGISTRY)


def test_a_mechanism_from_elsewhere_is_read():
    made, prior, z = Thinned(0.4, 7), (1.5, 2.0), 2
    named = models_of(made)
    assert named == ("BinomialModel", "HierarchicalBinomialModel")
    cells = enumerate_cells([Part(None, made, (z,))], prior, [(7, 1.0)])
    wanted = 0.0
    for records in itertools.product((0, 1), repeat=7):
        x = sum(records)
        chance = math.comb(x, z) * 0.4**z * 0.6 ** (x - z) if x >= z else 0.0
        wanted += chance * special.beta(prior[0] + x, prior[1] + 7 - x) / special.beta(*prior)
    assert cells.log_evidence == pytest.approx(math.log(wanted), abs=1e-12)


def test_a_law_of_a_mean_is_read_wherever_it_is_from():
    """Against the posterior of a normal mean with normal noise, in closed form."""
    size, sd, noise, z = 40, 2.0, 0.3, np.array([0.7, 1.1])

    def law(outputs, n):
        def logp(means):
            away = (np.asarray(outputs)[:, None] - means) / noise
            return -(away**2).sum(axis=0) / 2

        return MeanLaw(noise, logp)

    class Elsewhere:
        name: ClassVar[str] = "elsewhere"
        n: ClassVar[int] = size
        views = (NormalView(size, (-50.0, 50.0), sd, lambda n, mean, _: mean, law),)

    made = Elsewhere()
    assert models_of(made) == ("GaussianModel", "HierarchicalGaussianModel")
    posterior = posterior_of_mean(seen_mean(Part(None, made, tuple(z)), None, "mean"), sd, None)
    assert posterior.mixture.mean() == pytest.approx(z.mean(), abs=1e-9)
    assert posterior.mixture.sd() ** 2 == pytest.approx(sd**2 / size + noise**2 / 2, rel=1e-8)


def test_an_intractable_law_is_read_by_no_model_and_says_why():
    family = bdp.families.Gaussian((-4.0, 4.0), sd=1.0)
    made = bdp.mechanisms.ModipsGridMechanism(
        family, 5, 1.0, (-3.0, 3.0), "sdd.mc", "published", n=9
    )
    assert models_of(made) == ()
    assert view_of(made, NormalView) is None
    with pytest.raises(bdp.errors.InvalidInput, match=r"'sdd\.mc', whose law is intractable"):
        check_tractable(made, NormalView)
    check_tractable(made, CountView)  # of which it says nothing


def test_a_view_taken_away_takes_the_reader_away(monkeypatch):
    made = bdp.mechanisms.BetaBinomialMechanism(5, 4, (2.0, 2.0))
    assert view_of(made, CountView) is not None
    assert "BinomialModel" in models_of(made)
    monkeypatch.setattr(type(made), "views", ())
    assert models_of(made) == ()
    with pytest.raises(bdp.errors.InvalidInput, match="doesn't randomise a count of ones"):
        bdp.BinomialModel().posterior(bdp.Release.of(made, [2]))


def test_every_model_says_what_it_reads():
    read = {name for mechanism in examples() for name in models_of(mechanism)}
    own = {"PyMCModel"}  # which reads what its user makes it read
    assert read == {model.__name__ for model in MODELS.values()} - own
