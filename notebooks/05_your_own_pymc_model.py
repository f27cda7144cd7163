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
# # Releases in your own PyMC model
#
# This page is for analysts with PyMC, who have a model and were sent a release.
#
# The models of this package cover what is asked most often. Everything else is yours to write, and
# `bdp.observe` adds a release to it: where a PyMC model of the records would say `observed=`, it
# adds the law of what was released given what was counted. It reads that law off the release, and
# sums over all counts that there may have been.
#
# The answers are those of Fair (1978): whether a woman had an affair, by occupation (six) and
# religiousness (one to four), 24 groups of 6 to 1,053 women whose sizes are public. The groups
# could as well be areas or hospitals. All draws on this page are seeded, as the data are public,
# so that its numbers are those of the text; a release of confidential data takes no seed.

# %%
import warnings

warnings.filterwarnings("ignore", r"\s*ArviZ", FutureWarning)  # its next version
warnings.filterwarnings("ignore", "PyTensor could not link to a BLAS", UserWarning)

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import statsmodels.api as sm
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, ink, rule = (COLOURS[role][0] for role in ("posterior", "naive", "ink", "rule"))

survey = sm.datasets.fair.load_pandas().data.astype({"occupation": int, "religious": int})
answer = (survey["affairs"] > 0).rename("any affair")
group = ("job " + survey["occupation"].astype(str) + ", " + survey["religious"].astype(str)).rename(
    "group"
)
table = answer.groupby(group).agg(["size", "sum"])
religious = np.array([int(label[-1]) for label in table.index])
sizes, counts = table["size"].to_numpy(), table["sum"].to_numpy()

# %% [markdown]
# ## Two releases of the same counts
#
# One office publishes the 24 counts with integer noise, at `epsilon=0.5`: an answer moves one count
# by one. Another publishes a synthetic copy of each group at `epsilon=1`. Together they cost 1.5,
# and say more than either.

# %%
mechanism = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=0.5, sensitivity=1, neighbours="replace_one", dimension=24
)
synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0)
with bdp.reproducible(1):
    noisy = bdp.publish(mechanism, counts, variable="affairs")
    copies = synthesizer.release(answer, by=group)
seen = pd.DataFrame(
    {
        "size": sizes,
        "noisy count": noisy.outputs[0],
        "ones in the copy": [copies[label].outputs[0] for label in table.index],
    },
    index=table.index,
)
seen.head(8).T

# %% [markdown]
# A noisy count may be negative, and the mechanism's prior draws every copy towards one half.
# Neither needs repair: the law of both is known, and the model has it.
#
# ## The model
#
# Log odds fall or rise with religiousness, and groups differ beside that, by a `spread` that is
# learned: small groups borrow from large ones. The two releases were made from the *same* counts,
# so they go into one `observe`, as a list. Two calls would say that the women were asked twice.


# %%
def sampled(model, draws=700):
    options = {"draws": draws, "tune": 400, "chains": 2, "cores": 2, "random_seed": 1}
    return pm.sample(model=model, nuts_sampler="nutpie", progressbar=False, **options)


with pm.Model(coords={"group": list(table.index)}) as model:
    slope, spread = pm.Normal("slope", 0, 0.5), pm.HalfNormal("spread", 0.5)
    log_odds = pm.Normal("base", -1, 1) + slope * (religious - 2.5)
    away = pm.Normal("away", dims="group")
    p = pm.Deterministic("p", pm.math.invlogit(log_odds + spread * away), dims="group")
    bdp.observe([noisy, copies], pm.Binomial.dist(n=sizes, p=p))
idata = sampled(model)
az.summary(idata, var_names=["base", "slope", "spread"]).drop(columns=["mcse_mean", "mcse_sd"])

# %% [markdown]
# `idata` is PyMC's own, and everything made for it works. R-hat near 1 and some hundreds of
# effective draws say that the chains found the same law; that it is the right one is for the check
# at the end. The slope is what the model was for: religious women report fewer affairs.

# %%
draws = idata.posterior["p"].stack(draw_of_all=("chain", "draw")).to_numpy()
low, high = np.quantile(draws, (0.025, 0.975), axis=1)
inside = (low <= counts / sizes) & (counts / sizes <= high)
print(f"{inside.sum()} of the survey's 24 proportions are inside")

# %% tags=["drawing"]
order = np.argsort(sizes)
rows = np.arange(24)
figure, axis = plt.subplots(figsize=(6.5, 4.6), layout="constrained")
axis.hlines(rows, low[order], high[order], color=blue, lw=2.5, label="95% interval, hierarchical")
naive = np.array(noisy.outputs[0]) / sizes
axis.plot(naive[order], rows, "D", color=orange, ms=3.5, label="noisy count / size")
axis.plot((counts / sizes)[order], rows, "|", color=ink, ms=10, mew=1.5, label="in the survey")
axis.set_yticks(rows, [f"{table.index[k]}  ({sizes[k]:,})" for k in order], fontsize=7)
axis.set(
    xlabel="proportion with any affair", ylabel="occupation, religiousness (women)", xlim=(-0.2, 1)
)
axis.axvline(0, color=rule, lw=0.8, zorder=0)
axis.legend(frameon=False, loc="upper right")
plt.show()

# %% [markdown]
# The intervals are about the proportions behind the survey, not the survey's own: in a group of six
# women those may differ a lot. Where a group is large, the noise hardly matters; where it's
# small, the interval comes from the other groups, and says mostly what the model does.
#
# ## Does the model fit? Predict the release
#
# The analyst can't check against counts that nobody may see, but can against the release: draw
# counts from the model, send them through the same mechanism, and compare with what came out. Here:
# how much the groups' noisy proportions differ, under the model above, and if all groups had one
# proportion, the overall one.


# %%
def spread_between(outputs):
    shares = np.asarray(outputs) / sizes
    centre = np.sum(outputs, axis=-1, keepdims=True) / sizes.sum()
    return np.sqrt(np.sum(sizes * (shares - centre) ** 2, axis=-1) / sizes.sum())


rng = np.random.default_rng(2)
replicates = 600
fitted = draws.T[:: draws.shape[1] // replicates][:replicates]
overall = np.full((replicates, 24), np.sum(noisy.outputs[0]) / sizes.sum())
replicated = {}
for label, p in {"all groups alike": overall, "the model above": fitted}.items():
    with bdp.reproducible(3):  # simulated counts
        outputs = [mechanism.release(tuple(map(int, x)))[0] for x in rng.binomial(sizes, p)]
    replicated[label] = spread_between(np.array(outputs))
    above = np.mean(replicated[label] >= spread_between(noisy.outputs[0]))
    print(f"{label}: Pr[a replicated release varies at least as much] = {above:.3f}")

# %% tags=["drawing"]
figure, axis = plt.subplots(figsize=(6.5, 2.2), layout="constrained")
for (label, found), colour, hatch in zip(
    replicated.items(), (orange, blue), ("//////", None), strict=True
):
    axis.hist(
        found, bins=np.linspace(0, 0.14, 71), histtype="stepfilled", lw=1, ec=colour,
        fc=colour if hatch is None else "none", hatch=hatch, alpha=0.8, label=label,
    )  # fmt: skip
axis.axvline(spread_between(noisy.outputs[0]), color=ink, lw=1.5)
axis.text(spread_between(noisy.outputs[0]), axis.get_ylim()[1], " released", va="top", fontsize=8)
axis.set(xlabel="standard deviation between groups' noisy proportions", ylabel="releases")
axis.legend(frameon=False, loc="upper left")
plt.show()

# %% [markdown]
# If all groups were alike, a release hardly ever varied as much as this one did: that model is
# out, however private the data. The other one predicts it.
#
# ## Which model? Compare evidences
#
# `bdp.compare` weighs models of the package by the probability that each gave the release before it
# was seen. Here: a proportion for each group on its own, or groups pooled in part.

# %%
models = {
    "each on its own": bdp.BinomialModel(),
    "pooled in part": bdp.models.HierarchicalBinomialModel(),
}
weighed = bdp.compare(models, copies, draws=1000, warmup=500, seed=1)
weighed[["log_evidence", "standard_error", "probability"]].round(3)

# %% [markdown]
# A model of your own has an evidence too: `pm.sample_smc` estimates it, as what `observe` adds
# counts as its likelihood. That is right up to a constant which depends on the release alone, so
# differences between models of one release are right.
#
# ## Is the interval right? Simulate
#
# A model with a mistake in it, or a chain that doesn't mix, gives intervals too. The test for both
# at once: draw parameters from the prior, counts given them, and releases given the counts; then
# the posterior's 80% intervals must hold the parameters in 80% of the cases, and their ranks among
# the draws are uniform. Forty small experiments, of eight areas with 60 people each, fit into one
# PyMC model with one more dimension, so that they compile and run once.

# %%
experiments, areas, people = 40, 8, 60
rng = np.random.default_rng(5)
grade = np.linspace(-1, 1, areas)
base, slope = rng.normal(-1, 1, experiments), rng.normal(0, 0.5, experiments)
chance = 1 / (1 + np.exp(-(base[:, None] + slope[:, None] * grade)))
simulated = {
    f"{i}-{j}": bdp.Count(int(rng.binomial(people, chance[i, j])), people)
    for i in range(experiments)
    for j in range(areas)
}
with bdp.reproducible(6):
    many = bdp.BetaBinomialSynthesizer(epsilon=2.0).release(simulated)
with pm.Model() as forty:
    a, b = (
        pm.Normal("base", -1, 1, shape=experiments),
        pm.Normal("slope", 0, 0.5, shape=experiments),
    )
    p = pm.math.invlogit(a[:, None] + b[:, None] * grade)
    bdp.observe(many, pm.Binomial.dist(n=people, p=p.flatten()))
checked = sampled(forty, draws=400)

for name, true in {"base": base, "slope": slope}.items():
    low, high = np.quantile(checked.posterior[name], (0.1, 0.9), axis=(0, 1))
    inside = int(np.sum((low <= true) & (true <= high)))
    print(f"{name}: {inside} of {experiments} in their 80% interval; 27 to 37 in 97% of checks")

# %% tags=["drawing"]
expected = (np.arange(experiments) + 0.5) / experiments
chance_low, chance_high = stats.beta.ppf(
    [[0.025], [0.975]], np.arange(1, experiments + 1), np.arange(experiments, 0, -1)
)
figure, axes = plt.subplots(1, 2, figsize=(5.6, 2.7), layout="constrained", sharey=True)
for axis, name, true in zip(axes, ("base", "slope"), (base, slope), strict=True):
    drawn = checked.posterior[name].stack(draw_of_all=("chain", "draw")).to_numpy()
    rank = np.sort(np.mean(drawn < true[:, None], axis=1))
    axis.fill_betweenx(expected, chance_low, chance_high, color=rule, lw=0, alpha=0.7)
    axis.plot(rank, expected, ".", color=blue, ms=5)
    axis.set(title=name, xlabel="rank of the true value", aspect="equal")
axes[0].set(ylabel="share of experiments")
plt.show()

# %% [markdown]
# Shaded: where each point lies with probability 95% if all is right. Forty experiments see a gross
# mistake, not a small one; for a model that matters run hundreds, as the package's tests do for its
# engines.
#
# ## What to take away
#
# * Write the model of the records as you would without privacy, and replace `observed=` by
#   `bdp.observe(release, ...)`. Don't round, clip or correct what was released.
# * Releases of the same records go into one `observe`.
# * Check the model against the release, by predicting it, and the computation by simulating it.
#
# Read on: [What goes wrong](what_goes_wrong.md) explains verdicts and warnings, and
# [Your own data](your_own_data.md#analyse) has the lines to start from.
