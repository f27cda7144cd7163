"""A mechanism, a synthesizer and a model of another package: all that it has to write."""

import math
from dataclasses import dataclass

import numpy as np
import pymc
import pytensor.tensor as pt
from scipy import special

import bayesdp as bdp
from bayesdp import extending as ext


@dataclass(frozen=True, slots=True)
class NoisyCountMechanism(ext.Mechanism):
    """Release the count with weight w, and any other number from 0 to n with weight 1.

    Pr[z | x] = (w if z = x else 1) / (n + w), so that no output is more than w times as probable
    under one count as under another: epsilon = log w, for any two counts.
    """

    n: int = ext.declared(ext.check_at_least_one)
    weight: int = ext.declared(ext.check_at_least_one)

    name = "own_noisy_count"
    neighbours = bdp.Neighbours.REPLACE_ONE
    source = "NoisyCountMechanism's docstring"

    def pure_epsilon(self):
        return math.nextafter(math.log(self.weight), math.inf)

    def check_statistic(self, statistic):
        if not isinstance(statistic, bdp.Count) or np.any(statistic.n != self.n):
            raise bdp.errors.InvalidInput(f"statistic must be a bdp.Count of n = {self.n} records")
        return statistic

    def draw(self, statistic, copies):
        u = ext.uniform_below(np.full(copies, self.n + self.weight, dtype=np.uint64))
        return np.where(u <= self.n, u, statistic.successes).astype(np.int64)

    def logp(self, output, statistic):
        weights = np.where(np.equal(output, statistic.successes), self.weight, 1)
        return np.log(weights / (self.n + self.weight))

    @property
    def views(self):
        return (ext.count_view(self),)

    @property
    def space(self):
        return ext.WholeNumbers(0, self.n)

    def pairs(self):
        return [(bdp.Count(0, self.n), bdp.Count(1, self.n))]


@dataclass(frozen=True)
class NoisyCountSynthesizer(ext.RecordSynthesizer):
    """Release a noisy count of 0/1 records, or of those of each group, a few times."""

    epsilon: float
    copies: int = ext.declared(ext.check_at_least_one, default=1)

    def tally(self, records):
        return bdp.Count.of(records)

    def mechanism(self, n, epsilon):
        return NoisyCountMechanism(n, math.floor(math.exp(epsilon / self.copies)))


@dataclass(frozen=True)
class RareModel(ext.Model):
    """Inference about a proportion p ~ Uniform(0, 1/2)."""

    family = "own_rare"
    views = (ext.CountView,)
    engines = ("exact", "pymc")
    reason = "the latent count can be summed out"
    variables = ("p",)
    told = ()

    def read(self, release):  # of each group, log Pr[outputs | x] at x = 0..n
        each = [(parts, parts[0].mechanism.n) for parts in ext.parts_of(release)]
        return [ext.log_law_of_counts(parts, n, np.arange(n + 1)) for parts, n in each]

    def posteriors(self, laws):  # log Pr[outputs, x, p <= 1/2] / Pr[p <= 1/2], and Beta(a, b) of p
        for law in laws:
            a, b = np.arange(law.size) + 1.0, law.size - np.arange(law.size)
            yield law + np.log(2 * special.betainc(a, b, 0.5) / law.size), a, b

    def log_evidence(self, release):
        joint = [joint for joint, *_ in self.posteriors(self.read(release))]
        return float(sum(map(special.logsumexp, joint)))

    def sample(self, run):
        if run.engine == "pymc":
            return super().sample(run)
        rng, shape, drawn = np.random.default_rng(run.seed), (run.chains, run.draws), []
        for joint, a, b in self.posteriors(run.read):
            x = rng.choice(joint.size, shape, p=special.softmax(joint))
            below = rng.random(shape) * special.betainc(a[x], b[x], 0.5)
            drawn.append(special.betaincinv(a[x], b[x], below))
        return ext.Draws({"p": np.stack(drawn, -1)}, {"lp": np.zeros(shape)}, "exact")

    def pymc_model(self, release):
        laws = self.read(release)
        with pymc.Model() as model:
            p = pymc.Uniform("p", 0, 0.5, shape=len(laws))
            for g, law in enumerate(laws):
                x, n = np.arange(law.size), law.size - 1
                given = law + np.log(special.binom(n, x))
                like = pt.logsumexp(given + x * pt.log(p[g]) + (n - x) * pt.log1p(-p[g]))
                pymc.Potential(f"release_{g}", like)
        return model

    def predicted(self, release, part):
        n = part.mechanism.n
        return lambda theta, rng: bdp.Count(int(rng.binomial(n, theta["p"])), n)
