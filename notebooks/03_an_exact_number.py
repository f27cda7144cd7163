# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # An exact number: when it may be published
#
# This page is for whoever must publish a number without noise, and wants to know what that
# promises.
#
# Differential privacy needs noise: no deterministic release but a constant one has it, at any
# epsilon. Yet agencies publish exact totals every day, and few people feel exposed by them. This
# page says in which sense that can be right, and computes it. It follows Groce's dissertation
# (2014); where a bound printed there is false, ours is another, and the docstrings say why.
#
# ## Three promises
#
# | | against whom | what it needs |
# |---|---|---|
# | differential privacy | anyone, whatever they know | true randomness |
# | computational | anyone who can't break a cipher | a cryptographic generator |
# | distributional privacy | anyone to whom the data look random | a law of the data |
#
# **Computational.** A proof of differential privacy speaks of random bits, and a computer has
# none: it has a generator. What runs is private by simulation (SIM-CDP): there is an
# $(\epsilon, \delta)$-private mechanism, the same one with true random bits, whose releases no
# efficient test tells from ours, as long as none tells the generator's bits from random ones.
# Every guarantee of this package says so. Groce shows that there is little else to gain: for
# answers made of a few real numbers a computational mechanism is no more accurate than a
# statistical one that is about as fast. So there is nothing more of it here.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
D = bdp.distributional
noisy = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=1.0, sensitivity=1)
print(noisy.guarantee().assumptions[-1])

# %% [markdown]
# **Distributional.** Let the data $X$ and what the adversary knows, $Z$, come from any law of a
# declared class. The release $F(X)$ is compared with what a *simulator* says, who has never seen
# record $i$: given any value of the record and any knowledge $z$, the two laws are within
# $(\epsilon, \delta)$ of each other. So the release tells of the record hardly more than the other
# records do. The other records are the noise.
#
# Such a promise is about its class. An adversary who knows more than the class says, or sees
# another release about the same records, is outside it.
#
# ## By brute force
#
# With five fair bits, everything can be enumerated, the best simulator included.

# %%
bits = list(np.ndindex(2, 2, 2, 2, 2))
uncertain = {(x, ()): 1 / 32 for x in bits}
informed = {(x, x[1:]): 1 / 32 for x in bits}  # knows all records but the first
for name, law in (("knows nothing", uncertain), ("knows all but one", informed)):
    best = D.smallest_delta(sum, [law], D.records(5)[:1], 1.0)
    print(f"{name}: at epsilon = 1 the sum has delta = {best.delta:.4f}")

# %% [markdown]
# And two sums, each harmless, that together show a record: distributional promises don't add up.

# %%
for name, release in (
    ("sum of all", sum),
    ("sum of all but the first", lambda x: sum(x[1:])),
    ("both", lambda x: (sum(x), sum(x[1:]))),
):
    best = D.smallest_delta(release, [uncertain], D.records(5)[:1], 1.0)
    print(f"{name}: delta = {best.delta:.4f}")

# %% [markdown]
# `compose_guarantees` therefore asks for a proof that each promise holds against an adversary who
# has seen the other release, `split_samples` for disjoint parts, and a ledger refuses both.

# %%
promise = D.DistributionalGuarantee(1.0, 0.01, "five fair bits", D.LawClass.of("bits", n=5))
try:
    bdp.compose([promise, noisy.guarantee()])
except bdp.errors.InvalidInput as error:
    print(error)

# %% [markdown]
# ## A histogram of a sample
#
# Who is in a random sample is a secret, and the counts of a histogram keep it, where they are
# large. How large? A sample in which each of 100,000 people is with probability 1%:

# %%
size = D.BinomialSize(population=100_000, rate=0.01)
histogram = D.TruncatedHistogram.calibrate(size, epsilon=0.5, delta=1e-6)
print(histogram.threshold, histogram.guarantee(0.5))

# %% [markdown]
# The threshold falls as more is allowed. Twice the `epsilon` lowers it by more than a `delta` that
# is 100 times as large:

# %% tags=["drawing"]
epsilons = np.linspace(0.25, 1.5, 6)
plt.figure(figsize=(6, 2.8), layout="constrained")
for delta, role, marker in (
    (1e-9, "reiter", "^"),
    (1e-6, "posterior", "o"),
    (1e-4, "naive", "s"),
):
    found = [
        D.TruncatedHistogram.calibrate(size, epsilon=e, delta=delta).threshold for e in epsilons
    ]
    plt.plot(
        epsilons,
        found,
        f"{marker}-",
        ms=4,
        color=COLOURS[role][0],
        label=f"$\\delta = 10^{{{round(np.log10(delta))}}}$",
    )
plt.yscale("log")
plt.xlabel("$\\epsilon$")
plt.ylabel("smallest count that is shown")
plt.legend(frameon=False)
plt.show()

# %% [markdown]
# The counts are a release like any other: a folder with a manifest, read by the analyst's models.
# A count that is shown is known; of one that isn't, the model sums over all that it may be.

# %%
counts = np.array([412, 388, 151, 9])
mechanism = D.ExactStatisticMechanism(
    histogram.guarantee(0.5), dimension=4, whole=True, threshold=histogram.threshold
)
release = bdp.publish(mechanism, counts, variable="region")
print(release.outputs[0], "|", release.guarantee)
fit = bdp.MultinomialModel((1, 1, 1, 1), n=range(930, 991)).fit(release, seed=1)
print(
    "mean of the regions' shares:",
    fit.posterior["theta"].mean(("chain", "draw")).to_numpy().round(3),
)

# %% [markdown]
# ## An estimate that hardly depends on anybody
#
# Which of a few laws do the records come from? The answer is nearly always the same with a record
# as without it. If the adversary knows some records, these still vote: Groce's corollary on known
# records forgets that, and its bound is false.

# %%
estimator = D.MAPEstimator([stats.bernoulli(0.3), stats.bernoulli(0.5), stats.bernoulli(0.7)])
for n in (200, 500, 1000):
    for known in (0, 20):
        says = estimator.guarantee(n, known_records=known)
        print(f"n = {n}, {known} known: delta = {says.delta:.2g}")

# %% [markdown]
# ## Sums
#
# A sum of many real numbers hides each of them in the others'. A thousand people between 0 and 1,
# fifty of whom the adversary may know:

# %%
values = np.random.default_rng(7).random(1000)
release = D.exact_sum(values, law=D.Uniform(0, 1), known_records=50, delta=1e-6)
print(f"sum {release.outputs[0]:.3f}: {release.guarantee}")

# %% [markdown]
# The law is the assumption. A normal law without bounds has no promise, as one record far out
# shows in the sum; top-coded, it has one. The published bounds, corrected, are larger than what
# the sum's own law gives.

# %%
laws = {
    "uniform": D.Uniform(0, 1),
    "normal, top-coded at 2.5": D.TopCodedNormal(0.0, 1.0, -2.5, 2.5),
}
sizes = (1_000, 10_000, 100_000)
for name, law in laws.items():
    found = [D.sum_guarantee(n, law, known_records=50, delta=1e-6).epsilon for n in sizes]
    published = [
        D.best_bound(n, law, delta=1e-6, known_records=50, as_published=True).epsilon for n in sizes
    ]
    print(name)
    print("  ours:     ", "  ".join(f"{e:.3f}" for e in found))
    print("  published:", "  ".join(f"{e:.3f}" for e in published))

# %% [markdown]
# ## What an adversary sees
#
# The adversary knows that 9,000 people are of one bin, and wonders whether somebody else who is of
# it was in the sample too. Draws from both worlds, and the posteriors after each count:

# %%
claim = histogram.guarantee(0.5)
k = histogram.threshold


def shown(counts):
    return np.where(counts < k, 0, counts)


def real(generator, value, draws):
    return shown(generator.binomial(9_000, size.rate, size=draws) + value)


def simulated(generator, value, draws):
    return shown(generator.binomial(9_000, size.rate, size=draws))


seen = D.attack(claim, real, simulated, values=(0, 1), seed=1)
least = max(seen.delta_lower, 0.0)
print(f"delta is at least {least:.2g}; the claim, {claim.delta:.2g}, stands: {not seen.refuted}")
print(f"the two worlds' posteriors differ by {seen.shift:.3f} on average")

# %% [markdown]
# ## When is it right?
#
# 1. Write down the class: which laws may the data have, and how many records may anybody know?
#    It is a statement about the world, and no test of the data proves it.
# 2. Compute the promise for it, from public parameters alone.
# 3. Count the releases about the same records. One is what the promise is about.
# 4. If any of that is in doubt, add noise, and let a ledger keep the account.
#
# Read on: [The mechanism's page](mechanisms/exact.md), and
# [What the papers say](07_what_the_papers_say.md#exact-sums) of its bounds.
