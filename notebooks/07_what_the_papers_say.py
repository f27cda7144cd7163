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
# # What the papers say, and what is true
#
# This page is for methodologists, and whoever is about to use a published bound.
#
# This package is built on the work of others, and every bound that it uses was computed again. Most
# hold. Some are false, some are loose, and some tables are mislabelled; none of that is unusual,
# and the ideas behind them stand. But a false bound promises people a privacy that they don't have,
# and a loose one costs accuracy for nothing. Here is each, with a computation of a few lines.
#
# A claim of $\epsilon$-privacy says that between *neighbours*, data that differ in one record, no
# outcome's probability differs by more than a factor of $e^\epsilon$. One pair of neighbours and
# one outcome whose probabilities differ by more refute it. No number of examples proves it: what is
# called true below is proved in the docstring of the module that uses it.

# %%
import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML
from scipy import stats
from scipy.special import logsumexp

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, purple, ink, rule = (
    COLOURS[role][0] for role in ("posterior", "naive", "reiter", "ink", "rule")
)

# %% [markdown]
# ## Synthetic records from a beta posterior: a prior too many
#
# Zheng (2015, *The Differential Privacy of Bayesian Inference*, chapter 6) asks how large a
# symmetric prior Beta(a, a) must be so that $m$ synthetic binary records, made from $n$
# confidential ones, are $\epsilon$-private. His conditions say "if and only if". They are enough,
# and one more than is needed: the largest ratio is taken at a data set without a one, compared with
# a neighbour that would have one fewer. The epsilon of `ConjugateMechanism` is that of the worst
# neighbours, exactly.

# %%
n = m = 100
thresholds = {
    "synthetic_one": m / math.expm1(1.0),
    "synthetic_many": 1 / math.expm1(1.0 / m),
    "synthetic_map": 1 + 1 / math.expm1(1.0 / m),
}
rows = []
for method, exact in thresholds.items():
    for which, prior in (("printed", exact + 1), ("true", exact)):
        made = bdp.mechanisms.ConjugateMechanism("bernoulli", method, n, (prior, prior), size=m)
        rows.append({"method": method, "threshold": which, "a": prior, "epsilon": made.epsilon(0)})
pd.DataFrame(rows).pivot(index="method", columns="threshold", values=["a", "epsilon"]).round(5)

# %% [markdown]
# *For a decision*: nothing is lost but a little accuracy. The form given by Machanavajjhala, Kifer,
# Abowd, Gehrke and Vilhuber (2008, *Privacy: Theory meets Practice on the Map*) and by Charest
# (2010) is the exact one.
#
# ## A posterior draw of a normal mean: a delta 184 times as large
#
# Chapter 7 has records in $[-R, R]$ with known standard deviation $\sigma$, and releases a draw
# from the posterior of their mean. It says that the mean moves by $R/n$ if one record is replaced.
# But that record can go from $-R$ to $R$: it's $2R/n$. Theorem 7.8 then allows an $R/\sigma$ that
# is too large.

# %%
epsilon, delta = 1.0, 1e-5
printed = epsilon * math.sqrt(n) / math.sqrt(2 * math.log(1 / delta))


def draw(ratio):
    return bdp.mechanisms.ConjugateMechanism(
        "gaussian", "parameter_draw", n, (0.0, 1e8), R=ratio, sigma=1.0
    )


ratios = np.linspace(1.0, 2.6, 60)
true = [draw(float(ratio)).delta(epsilon) for ratio in ratios]
allowed = ratios[np.searchsorted(true, delta) - 1]
print(f"printed: R/sigma = {printed:.3f}, where delta is {draw(printed).delta(epsilon):.3g}")
print(f"true: delta = 1e-05 up to R/sigma = {allowed:.2f}")

# %% tags=["drawing"]
figure, axis = plt.subplots(figsize=(6, 2.6), layout="constrained")
axis.semilogy(ratios, true, color=blue, lw=2)
axis.axhline(delta, color=ink, lw=0.8, ls=(0, (4, 3)))
axis.text(2.6, delta, "claimed: $\\delta = 10^{-5}$", va="bottom", ha="right", fontsize=8)
axis.plot(printed, draw(printed).delta(epsilon), "o", color=orange)
axis.annotate(
    "Theorem 7.8", (printed, draw(printed).delta(epsilon)), (-6, 6), textcoords="offset points",
    ha="right", fontsize=8,
)  # fmt: skip
axis.set(xlabel="$R/\\sigma$, at $n = 100$", ylabel="$\\delta$ at $\\epsilon = 1$")
plt.show()

# %% [markdown]
# *For a decision*: the promise that a curator makes by this theorem has a delta of 1 in 540, not of
# 1 in 100,000. The same slip is in 7.12 to 7.16, and in the noise for the posterior mode
# (`bdp.mechanisms.noisy_mode` has the right one). `bayesdp reproduce zheng` goes through chapters 5
# to 7.
#
# ## A budget that is spent in every bin
#
# Liu (2016, *Model-based Differentially Private Data Synthesis and Statistical Inference in
# Multiply Synthetic Differentially Private Data*) draws from a posterior privately through a
# histogram of $N$ of its draws (SPHC): each of $B$ counts gets Laplace noise, at the scale that one
# count needs for all of $\epsilon$. That would be right if each record were in one bin. But every
# bin depends on all records, by way of the posterior, and so the losses of all bins add up.
#
# `bdp.audit` takes anything that has a claim, draws and a law, and tries to refute the claim, from
# the law where outcomes can be listed and from the draws alone. One record, three bins, $N = 8$:

# %%
from bayesdp.mechanisms.modips.grid import noise_scale


class NoisyHistogram:
    """Counts of posterior draws in B cells, plus Laplace noise."""

    def __init__(self, calibration, cells, draws=8, epsilon=0.5):
        family = bdp.families.Bernoulli()
        self.made = bdp.mechanisms.ModipsGridMechanism(
            family, 3, epsilon, (0.0, 1.0), "sphc", calibration, bins=cells, samples=draws, n=1
        )
        published = calibration == "published"
        self.scale = noise_scale(self.made) if published else 2 * draws / epsilon
        points = itertools.product(range(draws + 1), repeat=cells)
        self.grid = np.array(list(points))
        self.counts = self.grid[self.grid.sum(axis=1) == draws]

    def guarantee(self):
        return self.made.guarantee()

    def pairs(self):
        return [(bdp.Count(0, 1), bdp.Count(1, 1))]

    def outputs(self):
        return self.grid  # further out, the noise changes all probabilities by one factor

    def chances(self, statistic):
        log_weights = self.made.model.log_weights(self.made.family.vector(statistic, 1))
        return np.exp(log_weights - logsumexp(log_weights))

    def release(self, statistic, copies=1):
        rng = np.random.default_rng(7)
        counts = rng.multinomial(self.made.samples, self.chances(statistic), size=copies)
        return counts + rng.laplace(0, self.scale, counts.shape)

    def logp(self, output, statistic):
        chance = stats.multinomial.logpmf(self.counts, self.made.samples, self.chances(statistic))
        away = np.abs(np.asarray(output)[..., None, :] - self.counts).sum(axis=-1)
        return logsumexp(chance - away / self.scale, axis=-1)


for calibration in ("published", "corrected"):
    print(f"{calibration}: {bdp.audit(NoisyHistogram(calibration, 3), trials=100_000)}\n")

# %% [markdown]
# The published claim is refuted twice: by the law, and by draws alone, with a chance of one in a
# million that this is an accident. The corrected scale is $2N/\epsilon$, since two histograms of
# $N$ draws are apart by at most $2N$, whatever they depend on. What the published one costs grows
# with the number of bins (left, below).
#
# ## Weights fitted to the data
#
# Hu, Williams and Savitsky (2025, *Mechanisms for Global Differential Privacy under Bayesian Data
# Synthesis*) clip each record's log-likelihood to an interval of width $\epsilon$, and draw from
# what that gives. That is private, and exact: *The censored synthesizer* is about it. Their
# Censor_w first multiplies each log-likelihood by a weight, small for records that a posterior is
# sensitive to. The weights are fitted to all records. One more record changes the weights of all
# others, and so every term of the sum. The claim is proved for weights that stay the same.
#
# 2,000 records, weights as in the paper's first step: 1 less the record's largest absolute
# log-likelihood under the posterior, rescaled to [0, 1] over the records. In place of a Markov
# chain's draws we take all points of a fine grid where the log posterior is within 6 of its
# largest, about as far as 1,000 draws reach. Then one more record, near 0:

# %%
records = stats.beta.ppf((np.arange(2000) + 0.5) / 2000, 0.5, 3)


def points(phi, lam):
    return [each.ravel()[:, None] for each in np.meshgrid(phi, lam)]


def log_density(y, at):
    phi, lam = at
    return stats.beta.logpdf(y, lam * phi, lam * (1 - phi))


near = points(np.linspace(0.08, 0.2, 50), np.geomspace(2, 5, 50))
wide = points(np.linspace(0.005, 0.995, 50), np.geomspace(0.1, 1000, 50))


def log_prior(at):
    return -1.5 * np.log(at[1][:, 0])  # of log lambda, Pareto; phi is uniform


def fitted_weights(terms):
    height = log_prior(near) + terms.sum(axis=1)
    largest = np.abs(terms[height > height.max() - 6]).max(axis=0)
    return 1 - (largest - largest.min()) / (largest.max() - largest.min())


def law(terms, weights, half=2.0):  # epsilon = 4
    total = log_prior(wide) + np.clip(weights * terms, -half, half).sum(axis=1)
    return total - logsumexp(total)


terms, terms_near = log_density(records, wide), log_density(records, near)
before = {"weights fitted": law(terms, fitted_weights(terms_near)), "no weights": law(terms, 1.0)}
added = 10.0 ** -np.arange(1.0, 61, 3)
loss = {name: [] for name in before}
for y in added:
    after = np.hstack([terms, log_density(y, wide)])
    weights = fitted_weights(np.hstack([terms_near, log_density(y, near)]))
    for name, weigh in (("weights fitted", weights), ("no weights", 1.0)):
        ratio = law(after, weigh) - before[name]
        loss[name].append(np.abs(ratio).max())
        if y == 1e-13:
            mean = np.exp(law(after, weigh)) @ ratio
            print(f"{name}: with 1e-13 added, the mean log ratio of a draw is {max(mean, 0):.1f}")

# %% tags=["drawing"]
cells = (2, 3, 4)
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.7), layout="constrained")
for calibration, colour, mark in (("published", orange, "o-"), ("corrected", blue, "s--")):
    found = []
    for b in cells:
        histogram = NoisyHistogram(calibration, b, draws=6)
        one, other = (histogram.logp(histogram.outputs(), x) for x in histogram.pairs()[0])
        found.append(np.abs(one - other).max())
    left.plot(cells, found, mark, color=colour, lw=1.5, ms=4, label=f"scale as {calibration}")
left.axhline(0.5, color=ink, lw=0.8, ls=(0, (4, 3)))
left.text(4, 0.5, "claimed", va="bottom", ha="right", fontsize=8)
left.set(xlabel="cells of the histogram", ylabel="exact $\\epsilon$", ylim=(0, 1.5), xticks=cells)
left.legend(frameon=False, loc="upper left")
for (name, found), colour, mark in zip(loss.items(), (orange, blue), ("o-", "s--"), strict=True):
    right.loglog(added, found, mark, color=colour, lw=1.5, ms=3, label=name)
right.axhline(4, color=ink, lw=0.8, ls=(0, (4, 3)))
right.text(1e-60, 3.6, "claimed", va="top", fontsize=8)
right.set(xlabel="the added record", ylabel="largest log ratio", ylim=(1, 9000))
right.set_xticks([1e-60, 1e-40, 1e-20, 1])
right.minorticks_off()
right.legend(frameon=False, loc="upper right")
plt.show()

# %% [markdown]
# *For a decision*: clipping without weights keeps its 4 whatever is added. With fitted weights it
# is lost as soon as the new record is smaller than all others: then not only the worst but the
# average draw tells an intruder whether it's there. Weights that are a public function of the
# record alone are safe, `bdp.synthesizers.PublicWeights`.
#
# The paper also compares its clipping with a perturbed histogram at one and the same $\epsilon$.
# But the first promise is about a record added or removed, the second about one replaced, which is
# the stronger of the two:

# %%
clipped = bdp.mechanisms.CensoredBetaMechanism.calibrate(epsilon=4.0, size=2000)
print("clipping:", clipped.guarantee(), "=", clipped.guarantee(neighbours="replace_one"))
perturbed = bdp.mechanisms.PerturbedHistogramMechanism.calibrate(
    epsilon=4.0, cells=45, neighbours="replace_one"
)
print("histogram:", perturbed.guarantee())

# %% [markdown]
# ## Noise that is cut off
#
# A count between 0 and $n$ shouldn't come out at $-3$, and Liu (2016) offers two ways: move what is
# outside to the nearest end, or draw the noise given that it stays inside ("truncated"), with the
# scale unchanged. The first changes nothing. The second divides by a normalising constant that
# depends on the confidential count, and that costs:

# %%
rows = []
for scale in (0.5, 1.0, 2.0, 10.0):
    row = {"scale": scale, "claimed": 1 / scale}
    for bounding in ("inflated", "truncated"):
        made = bdp.mechanisms.LaplaceMechanism(scale, 1.0, bounds=(0, 100), bounding=bounding)
        row[bounding] = made.guarantee().epsilon
    rows.append(row)
pd.DataFrame(rows).set_index("scale").round(4)

# %% [markdown]
# ## A sensitivity that no record attains
#
# Regressions from noisy moments add noise to sums of columns, of their squares and of products. How
# far does one replaced record move all of them together? With $p$ predictors and columns in
# $[-1, 1]$, Ju, Awan, Gong and Rao (2022, *Data Augmentation MCMC for Bayesian Inference from
# Privatized Data*) add up how far each can move: $p^2 + 4p + 3$. That is safe, and too much: no
# record moves all at once. The truth is $(p + 1)(p + 3)^2 / (2(p + 2))$, attained between a corner
# and a point near the middle. A search over random pairs:


# %%
def moments(z):
    products = [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i + 1)]
    return np.column_stack([z, *products])


rng = np.random.default_rng(1)
rows = []
for p in (1, 2, 3, 5):
    one, other = (rng.uniform(-1, 1, (100_000, p + 1)) for _ in range(2))
    one = np.where(rng.random(one.shape) < 0.8, np.sign(one), one)
    corner = np.ones((1, p + 1))
    attained = np.abs(moments(corner) - moments(-corner / (p + 2))).sum()
    rows.append(
        {
            "p": p,
            "in use": p**2 + 4 * p + 3,
            "true": (p + 1) * (p + 3) ** 2 / (2 * (p + 2)),
            "attained": attained,
            "largest of 100,000": np.abs(moments(one) - moments(other)).sum(axis=1).max(),
        }
    )
pd.DataFrame(rows).set_index("p").round(3)

# %% [markdown]
# *For a decision*: the same promise with two thirds of the noise or less, at no cost.
# `NoisyMomentsSynthesizer` uses it; its docstring has the proof.
#
# ## Charest's tables
#
# Charest (2010, *Creation and Analysis of Differentially-Private Synthetic Datasets*) had the idea
# that this package started from: the analyst's model should know the mechanism. Its Table 1 gives
# the "relative bias (in %)" of an analysis that doesn't. The numbers are right as 100 times the
# *absolute* bias; relative to $p = 0.25$ it's four times as bad:

# %%
from bayesdp.papers.charest.study import (
    Design,
    covered_by_posterior,
    covered_by_rule,
    posterior_moments,
    simulate,
)
from bayesdp.papers.charest.study import moments as exact_moments
from bayesdp.papers.charest.tables import PRINTED_BIAS

rows = [
    {"M": copies, "printed": shown, "100 x bias": 100 * bias, "relative bias, %": 400 * bias}
    for copies, shown in PRINTED_BIAS[2.0, 0.25].items()
    if copies != "real"
    for bias in [exact_moments(Design(2.0, copies), 0.25).bias]
]
pd.DataFrame(rows).set_index("M").round(2)

# %% [markdown]
# Its Figure 1 shows how badly the usual combining rule covers, and that reproduces. Its second
# figure suggests that more copies are better for the model that knows the mechanism. They are if
# each gets the whole $\epsilon$, so that ten cost ten times as much. At one price, one copy is
# best:

# %% tags=["drawing"]
epsilons = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
figure, axes = plt.subplots(1, 3, figsize=(7, 2.4), layout="constrained", sharey=True)
for axis, copies in zip(axes, (2, 5, 10), strict=True):
    covered = {"combining rule": [], "posterior": []}
    for e in epsilons:
        design = Design(e, copies)
        outputs = simulate(design, 0.25, 2000, 1)
        covered["combining rule"].append(covered_by_rule(outputs).mean())
        covered["posterior"].append(covered_by_posterior(design.law(), outputs).mean())
    axis.axhline(0.95, color=ink, lw=0.8, ls=(0, (4, 3)))
    for (name, found), colour, mark in zip(
        covered.items(), (purple, blue), ("s--", "o-"), strict=True
    ):
        axis.plot(epsilons, found, mark, color=colour, lw=1.5, ms=3, label=name)
    axis.set(title=f"{copies} copies", xlabel="$\\epsilon$ in all", ylim=(0.4, 1.01))
axes[0].set(ylabel="coverage of 95% intervals")
axes[0].legend(frameon=False, loc="lower right")
plt.show()

# %%
for copies in (1, 2, 5, 10):
    design = Design(2.0, copies)
    with bdp.reproducible(copies):
        drawn = design.mechanism.release(bdp.Count(np.full(2000, 25), 100), copies)
    _, sd = posterior_moments(design.law(), drawn)
    print(f"{copies:>2} copies at epsilon = 2 in all: mean posterior sd {sd.mean():.4f}")

# %% [markdown]
# ## Exact sums
#
# Groce (2014, *New Notions and Mechanisms for Statistical Privacy*) asks when a sum may be
# published without noise. The deltas of its Table 6.2 lack the factor $1 + e^\epsilon$ of its own
# Corollary 6.2. They hold all the same, by a proof that needs no factor. At the printed deltas, the
# sum's own privacy profile has a far smaller epsilon, in the last column:

# %%
from bayesdp.papers.groce.tables import top_coded_table

table = top_coded_table()
shown = {
    "n": "d",
    "t": "g",
    "delta, printed": ".3g",
    "Corollary 6.2": ".3g",
    "as proved": ".3g",
    "epsilon, printed": ".3g",
    "ours": ".3g",
}
groce = pd.DataFrame(table.values, columns=table.columns)[list(shown)]
for name, form in shown.items():
    groce[name] = [format(value, form) for value in groce[name]]
groce.rename(columns={"ours": "epsilon, ours"}).set_index("n")

# %% [markdown]
# *An exact number* has more of that promise, and of what it rests on.
#
# ## All of it
#
# One list, from which the pages of `bayesdp reproduce` have theirs. The last column's command
# computes a case that what is printed isn't true of, and what is said to be true is; the package's
# tests run them all. A *proof* that doesn't hold leaves its statement true, or open; what is
# *loose* asks for more than is needed.

# %%
from bayesdp.papers.errata import errata_table

table = errata_table()
pd.set_option("display.max_colwidth", None)
rows = pd.DataFrame(table.values, columns=table.columns)
HTML(rows.to_html(index=False, border=0, classes="words"))

# %% [markdown]
# One of them here: Theorem 7.12 of Zheng (2015), which takes $R/n$ for $2R/n$ as 7.8 does.

# %%
from bayesdp.papers.errata import evidence, find_errata

for erratum in find_errata("zheng-theorem-7.12"):
    print(f"{erratum.place}: {erratum.printed}")
    for case in evidence(erratum):
        print(f"- {case}")

# %% [markdown]
# `bayesdp reproduce NAME` computes each paper's tables and figures again, with what was found, for
# charest, groce, hu, liu and zheng. If you find a mistake in this list, or in a bound of ours, we'd
# like to know: the audit above is a good place to start.
#
# Read on: [Choosing epsilon](08_choosing_epsilon.md), and
# [a study of your own](your_own_data.md#test).
