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
# # The censored synthesizer
#
# This page is for curators who want synthetic records from a model of their own.
#
# A posterior draw is random, and hides its data a little. How much depends on the likelihood: one
# record far from the others can move the posterior as far as it likes. Hu, Williams and Savitsky
# (2025, *Mechanisms for Global Differential Privacy under Bayesian Data Synthesis*) therefore clip
# each record's log-likelihood to a public interval, draw the parameters from what that gives, the
# *censored posterior*, and synthesize records from the draw.
#
# Our records are those of Engel (1857): what 235 Belgian working-class households earned, and what
# they spent on food. We synthesize the share of food in income, a number in (0, 1). All seeds on
# this page are there because the data are public: a release of confidential records takes none.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy import stats

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, purple, ink, rule = (
    COLOURS[role][0] for role in ("posterior", "naive", "reiter", "ink", "rule")
)

engel = sm.datasets.engel.load_pandas().data
share = (engel["foodexp"] / engel["income"]).rename("share")
share.describe().round(3).to_frame().T

# %% [markdown]
# ## What clipping does
#
# The model is $y_i \sim \mathrm{Beta}(\lambda\phi, \lambda(1-\phi))$: $\phi$ is the mean, and
# $\lambda$ says how close to it the shares are. Record $i$ enters the posterior through its log
# density $\ell_i(\phi, \lambda)$, one term of a sum. Clipped to an interval $[a, b]$, a term can't
# differ between two parameters by more than $b - a$, whatever the record is.
#
# **What it buys.** One exact draw from $p(\phi, \lambda)\exp\sum_i [\ell_i]_a^b$ is
# $(b - a)$-private if a record is added or removed, and $2(b - a)$-private if one is replaced. Only
# the width counts, so the interval may lie anywhere that is chosen without the data. Any number of
# records synthesized from one draw costs nothing more; $k$ draws cost $k$ times as much.
#
# **What it costs.** A record whose log density is outside the interval doesn't pull any more: small
# changes of the parameters are all the same to it.

# %% tags=["drawing"]
fitted = (0.656, 24.4)  # without clipping
low, high = -0.5, 1.5
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
phi = np.linspace(0.4, 0.9, 400)
for y, colour in ((0.36, orange), (0.66, blue), (0.80, purple)):
    log_density = stats.beta.logpdf(y, fitted[1] * phi, fitted[1] * (1 - phi))
    left.plot(phi, log_density, color=colour, lw=0.9, ls=(0, (4, 3)))
    left.plot(phi, log_density.clip(low, high), color=colour, lw=2)
    top = max(phi[np.argmax(log_density)], 0.46)
    left.text(top, high + 0.12, f"share {y:.2f}", color=colour, fontsize=8, ha="center")
left.axhspan(low, high, color=rule, alpha=0.5, lw=0)
left.set(xlabel="$\\phi$, at $\\lambda = 24.4$", ylabel="log density of a record", ylim=(-6, 2.4))
terms = stats.beta.logpdf(share, fitted[0] * fitted[1], (1 - fitted[0]) * fitted[1])
right.hist(terms, bins=np.arange(-4, 1.75, 0.25), color=ink)
right.axvspan(low, high, color=rule, alpha=0.5, lw=0, zorder=0)
right.set(xlabel="log density at the best fit", ylabel="households")
plt.show()
outside = np.mean((terms < low) | (terms > high))
print(f"outside the interval, of width {high - low:g}: {outside:.0%} of the households")

# %% [markdown]
# Shaded: an interval that costs $\epsilon = 2$ (add/remove-one). Dashed: before clipping.
#
# ## Where to put the interval
#
# A log density depends on the unit of measurement, so there's no natural centre. The curator knows
# beforehand that shares of food spread by about 0.1, and the mean log density of a normal variable
# with that standard deviation is $-\log(0.1\sqrt{2\pi e}) \approx 0.9$; most terms will lie between
# -1 and 1.5. `pseudo_posterior` shows the law that will be drawn from. It depends on the records
# without any noise, so it's for the curator's eyes only; and choosing the centre by it would be a
# use of the data that `epsilon` doesn't cover.

# %% tags=["drawing"]
epsilons = [0.5, 1.0, 2.0, 4.0, 8.0]
centers = {0.0: (orange, "s"), 0.5: (blue, "o"), 1.0: (purple, "^")}
figure, axes = plt.subplots(1, 2, figsize=(7, 2.6), layout="constrained")
exact = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=200.0).pseudo_posterior(share).summary()
for k, (center, (colour, marker)) in enumerate(centers.items()):
    for epsilon in (0.5, 1.0, 2.0, 8.0):
        synthesizer = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=epsilon, center=center)
        summary = synthesizer.pseudo_posterior(share).summary()
        for axis, name in zip(axes, ("phi", "lambda"), strict=True):
            at = epsilon * 1.13 ** (k - 1)
            label = f"centre {center:g}" if epsilon == 0.5 else None
            axis.plot([at, at], summary.loc[name, ["0.025", "0.975"]], color=colour, lw=2)
            axis.plot(at, summary.loc[name, "0.5"], marker, color=colour, ms=4.5, label=label)
for axis, name in zip(axes, ("phi", "lambda"), strict=True):
    axis.axhspan(*exact.loc[name, ["0.025", "0.975"]], color=rule, alpha=0.6, lw=0, zorder=0)
    axis.set(xscale="log", xlabel="$\\epsilon$ (add/remove-one)", ylabel=f"$\\{name}$")
    axis.set_xticks(epsilons, [f"{e:g}" for e in epsilons], minor=False)
    axis.minorticks_off()
axes[1].set(yscale="log", yticks=[5, 10, 20, 50], yticklabels=["5", "10", "20", "50"])
axes[1].minorticks_off()
axes[1].legend(frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# Medians and 95% intervals of the censored posterior; shaded, the posterior without clipping. At 8
# little is clipped. Below, the bias depends on the centre. Where the interval lies too high, a
# record far from the mean counts as its lower end, however far it is: nothing speaks against a
# large $\lambda$, and the synthetic shares are too much alike. Where it lies too low, records near
# the mean count as its upper end, however well they fit, and $\lambda$ is too small. More records
# don't cure that: it's a bias of every term, not noise.
#
# ## The release
#
# The draw of $(\phi, \lambda)$ is made on a public grid of $2^{30} \times 2^{30}$ cells, exactly,
# from the operating system's secure generator. So the promise is *proved*, for the code as it runs.
# With a Markov chain it is *conditional*: on the chain's last state being an exact draw, which no
# diagnostic proves. The number of households is confidential under add/remove-one, so that of
# synthetic ones is chosen.

# %%
synthesizer = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, center=0.5)
print("grid: ", synthesizer.guarantee())
print(
    "chain:",
    bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, center=0.5, engine="pymc").guarantee(),
)
with bdp.reproducible(1):
    release = synthesizer.release(share, size=250, variable="share")
release.to_frames()[0].describe().round(3).T

# %% [markdown]
# ## Utility
#
# `bdp.evaluate.utility` compares the copies with the confidential records; its result is
# confidential as they are. With an `analysis` it also compares intervals: here for the mean share.


# %%
def mean_share(table):
    mean, error = table["share"].mean(), table["share"].sem()
    interval = {"estimate": [mean], "low": [mean - 1.96 * error], "high": [mean + 1.96 * error]}
    return pd.DataFrame(interval, index=["mean share"])


confidential = share.to_frame()
compared = bdp.evaluate.utility(confidential, release, analysis=mean_share)
compared.set_index("measure")[["column", "level", "value"]].round(3)

# %% [markdown]
# `ecdf_max` is the largest distance between the two distribution functions: up to that share of
# households is on the wrong side of some threshold. `pmse_ratio_independent` says how
# much better a classifier tells synthetic from real records than it could tell two samples of one
# law: about 1 is as good as a posterior draw can be, and far above 1 the copy is recognisable.
#
# One release is one draw. What to expect at each `epsilon` takes many:

# %%
rows = []
for epsilon in epsilons:
    made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=epsilon, center=0.5)
    tables = []
    for seed in range(30):
        with bdp.reproducible(seed):
            tables += made.release(share, size=250, variable="share").to_frames()
    sorted_share = np.sort(share)
    distances = [stats.ks_2samp(sorted_share, t["share"]).statistic for t in tables]
    overlap = bdp.evaluate.interval_overlap(
        mean_share(confidential), [mean_share(t) for t in tables]
    )
    mean = overlap.groupby("measure")["value"].mean()
    rows.append(
        {
            "epsilon": epsilon,
            "distance": np.mean(distances),
            "overlap": mean["interval_overlap"],
            "coverage": mean["coverage"],
        }
    )
sweep = pd.DataFrame(rows).set_index("epsilon")
sweep.round(2)

# %% tags=["drawing"]
chance = np.mean(
    [
        stats.ks_2samp(share, np.random.default_rng(k).choice(share, 250)).statistic
        for k in range(100)
    ]
)
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.4), layout="constrained")
left.plot(sweep.index, sweep["distance"], "o-", color=blue, lw=1.5, ms=4)
left.axhline(chance, color=ink, lw=0.8, ls=(0, (4, 3)))
left.text(0.5, chance - 0.012, "a resample of the records", va="top", fontsize=8)
left.set(ylabel="largest ECDF distance", ylim=(0, None))
right.plot(sweep.index, sweep["overlap"], "o-", color=blue, lw=1.5, ms=4, label="overlap")
right.plot(sweep.index, sweep["coverage"], "s-", color=orange, lw=1.5, ms=4, label="coverage")
right.set(ylabel="95% interval of the mean share", ylim=(0, 1))
right.legend(frameon=False, loc="upper left")
for axis in (left, right):
    axis.set(xscale="log", xlabel="$\\epsilon$ (add/remove-one)")
    axis.set_xticks(sweep.index, [f"{e:g}" for e in sweep.index])
    axis.minorticks_off()
plt.show()

# %% [markdown]
# Averages over 30 releases. Overlap is of the naive interval from a copy with that of the records;
# coverage is how often the naive one holds the mean share of the records. Even where nothing is
# clipped it covers less often than 95%: a copy has the sampling error of its own records, and that
# of the draw, and the interval knows of the first alone. The law of a copy is an integral over all
# draws, with a constant that depends on the records, which the mechanism says that it doesn't have.
# `bdp.models.BetaModel` and `bdp.models.LogitNormalModel` do without, and are exact for an analyst
# who takes shares to be as they say, and knows their number or has a prior on it: [the
# page](mechanisms/censored.md#censored_beta) shows how. For other models' copies, as below, there
# are the combining rules alone, for several copies, of which each gets its part of `epsilon`; they
# know nothing of clipping.

# %%
try:
    release.mechanism.logp(release.outputs[0], share.to_numpy())
except bdp.errors.InvalidInput as error:
    print(error)

# %% [markdown]
# ## A model of your own
#
# `bdp.censor` clips any PyMC model of independent records, and gives back a PyMC model. Engel's law
# says that the share of food falls as income grows. Suppose that incomes are public, from a tax
# roll, and so the number of households is; then neighbours replace a record, and the interval is
# half as wide for the same `epsilon`. The density of a share given income is a little higher:
# centre 1.

# %%
import pymc as pm

log_income = np.log(engel["income"].to_numpy() / 1000)
with pm.Model() as own:
    x = pm.Data("log_income", log_income)
    level, slope = pm.Normal("level", 0.6, 0.3), pm.Normal("slope", 0, 0.3)
    spread = pm.HalfNormal("spread", 0.3)
    pm.Normal("share", level + slope * x, spread, observed=share.to_numpy())
promise = {"epsilon": 6.0, "neighbours": "replace_one", "center": 1.0}

censored = bdp.censor(own, **promise)
options = {"draws": 500, "tune": 500, "chains": 2, "random_seed": 1, "progressbar": False}
draws = pm.sample(model=censored, nuts_sampler="nutpie", **options).posterior
draws[["level", "slope", "spread"]].to_dataframe().agg(["mean", "std"]).round(3)

# %% [markdown]
# That was for the curator: 1,000 draws would cost 1,000 times `epsilon`. `PosteriorSynthesizer`
# takes one, and with `engine="grid"`, for up to three parameters with public bounds, takes it
# exactly. Synthetic households are made at the public incomes, which are in the release.

# %%
grid = {"level": (0.3, 0.9), "slope": (-0.4, 0.4), "spread": (0.02, 0.4)}
synthesizer = bdp.PosteriorSynthesizer(
    own, **promise, engine="grid", grid_bounds=grid, covariates={"log_income": log_income}
)
with bdp.reproducible(2):
    release = synthesizer.release()
print(release.mechanism.guarantee())
copy = release.to_frames()[0].sort_values("log_income", ignore_index=True)
truth = pd.DataFrame({"share": share, "log_income": log_income})
truth = truth.sort_values("log_income", ignore_index=True)

# %% tags=["drawing"]
figure, axes = plt.subplots(1, 2, figsize=(7, 2.8), layout="constrained", sharex=True, sharey=True)
for axis, table, colour, title in (
    (axes[0], truth, ink, "confidential"),
    (axes[1], copy, blue, "synthetic"),
):
    axis.plot(1000 * np.exp(table["log_income"]), table["share"], ".", color=colour, ms=4)
    axis.set(title=title, xlabel="income, francs a year", xscale="log")
    axis.set_xticks([500, 1000, 2000, 5000], ["500", "1,000", "2,000", "5,000"])
    axis.minorticks_off()
axes[0].set(ylabel="share of food in income")
plt.show()

# %% [markdown]
# ## Risk
#
# Agencies also ask what an intruder could do. `bdp.evaluate.identification_risk` plays one who
# knows each household's income within 10% and its true share within 5%, and looks for it among the
# synthetic rows. As the incomes are public and released, row $i$ is known to be made at household
# $i$'s income. The confidential table itself, and one with shuffled shares, which says nothing of
# any household, stand beside it.

# %%
tables = {
    "the records themselves": truth,
    "synthetic": copy,
    "shuffled": truth.assign(share=np.random.default_rng(3).permutation(truth["share"])),
}
tables = {name: t.assign(income=1000 * np.exp(t["log_income"])) for name, t in tables.items()}
columns = {"known": ["income"], "synthetic": ["share"], "radius": {"income": 0.1, "share": 0.05}}
real = tables["the records themselves"]
risks = [bdp.evaluate.identification_risk(real, table, **columns) for table in tables.values()]
risk = pd.concat(risks).drop(columns="copy").set_index(pd.Index(tables))
risk.rename(columns=lambda name: name.replace("_", " ")).round(2)

# %% [markdown]
# The expected match risk counts the households that an intruder finds who picks one of the matching
# rows, of 235; the true match rate is the part of all that matches its own row alone, and the false
# match rate the part of such unique matches that is wrong. Such numbers describe one intruder and
# one table. They don't bound what another, who knows more, can do; `epsilon` does. They may be near
# the shuffled table's although `epsilon` is large, and if they weren't, that would be worth
# knowing. Both this table and `bdp.evaluate.utility`'s are computed from the records without noise,
# and stay in the office.
#
# ## Weights
#
# The paper also multiplies each log density by a weight fitted to the data, low for risky records,
# before clipping. As each weight then depends on all records, one more record moves every term,
# and the promise is lost: see *What the papers say*. Weights that are a public function of the
# record alone are fine: `bdp.synthesizers.PublicWeights`.
#
# ## What to take away
#
# * Clipping buys a promise for any record and any model of independent records. The draw must be
#   exact for it to be proved: on a grid it is; by a chain it is conditional.
# * The interval's place is a choice that matters, and it must be made without the data.
# * With a small `epsilon` the synthetic records are biased, and more records don't help. Look at
#   utility before releasing, in the office, and don't publish what you saw.
# * Intervals from copies that are taken for real are too short, and only copies of a beta law have
#   models here that know better. Where one number is wanted, a count or a mean with noise serves
#   better.
#
# Read on: [The page on censored posteriors](mechanisms/censored.md), and
# [Which mechanism, which model?](choosing.md#mean) for what a mean costs that way.
