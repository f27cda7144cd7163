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
# # From curator to analyst
#
# This page is for curators and analysts who start: one question, released, analysed and held
# against the truth.
#
# In 1974 a magazine asked its readers how they rate their marriage and how much time they had
# spent in extramarital affairs; 6,366 women answered (Fair 1978, *A Theory of Extramarital
# Affairs*). The second answer is not one that people want attached to their name. We play both
# parts:
#
# * the **curator** holds the answers and publishes randomised versions of them, with a promise;
# * the **analyst** sees what was published, and wants the proportions in the population.
#
# The question is how the proportion with an affair falls as the marriage is rated better. The data
# are public today, so that we can compare the answer with the truth. Releases are drawn from the
# operating system's secure generator and take no seed: run this page again, and its numbers
# change.

# %%
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", r"\s*ArviZ", FutureWarning)  # it announces its next version

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm

import bayesdp as bdp

survey = sm.datasets.fair.load_pandas().data
answer = (survey["affairs"] > 0).rename("any affair")
rating = survey["rate_marriage"].astype(int).rename("rating of the marriage")
answer.groupby(rating).agg(["size", "sum", "mean"]).round(3)

# %% tags=["drawing"]
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, ink = (COLOURS[role][0] for role in ("posterior", "naive", "ink"))

# %% [markdown]
# ## What the curator decides first
#
# Three things, before any answer is looked at.
#
# * **What is hidden.** Here: each woman's answer. Two data sets that differ in one answer are
#   *neighbours* (`replace_one`), and a release must look nearly the same from either.
# * **How well.** That is `epsilon`: no set of outputs may be more than $e^\epsilon$ times as
#   probable from one neighbour as from the other. So whoever sees the release, whatever else they
#   know, can multiply their odds about one answer by $e^\epsilon$ at most.
# * **What is public all the same.** Here: how each woman rates her marriage, and so the sizes of
#   the groups.
#
# Somebody thinks that a certain woman had an affair with probability 10% or 50%. This is the
# largest probability that any release can bring them to:

# %%
epsilons = np.array([0.1, 0.5, 1.0, 2.0, 3.0, 5.0])
before = np.array([0.1, 0.5])
odds = before / (1 - before) * np.exp(epsilons)[:, None]
pd.DataFrame(
    (odds / (1 + odds)).round(3),
    index=pd.Index(epsilons, name="epsilon"),
    columns=[f"from {p:.0%}" for p in before],
)

# %% [markdown]
# ## The first release: counts
#
# The synthesizer draws copies of each group's count from a beta-binomial law: a posterior
# predictive under a prior that is chosen for privacy. `epsilon=2` pays for all five copies
# together. The promise can be read beforehand, and comes with what it takes for granted.

# %%
synthesizer = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=5)
release = synthesizer.release(answer, by=rating)
print(release.guarantee)
for assumption in release.guarantee.assumptions:
    print("-", assumption)

# %% [markdown]
# The release is a folder with a table of the copies and a manifest that says how they were made.
# This is all that leaves the curator's office. There is no answer in it, no true count, no seed.

# %%
office = Path(tempfile.mkdtemp())
release.save(office / "affairs")
for file in sorted((office / "affairs").iterdir()):
    print(f"{file.name}: {file.stat().st_size:,} bytes")
print((office / "affairs" / "manifest.json").read_text()[:560], "...")

# %% [markdown]
# ## The analyst who takes the copies for real
#
# Each copy looks like the survey. But privacy has a price: the mechanism's prior, which grows with
# the group, has drawn each copy towards one half. Copies that are taken for real give narrow
# intervals around the wrong place.

# %%
released = bdp.Release.load(office / "affairs")
copy = released.to_frames()[0].groupby("rating of the marriage")["any affair"].mean()
true = answer.groupby(rating).mean()
prior, n = released[5].mechanism.prior, released[5].mechanism.n
print(f"in group 5 the prior weighs {sum(prior):,.0f} records, the survey {n:,}:")
print(f"copies are drawn {sum(prior) / (sum(prior) + n):.0%} of the way to one half")
pd.DataFrame({"in the survey": true, "in the first copy": copy}).round(3)

# %% [markdown]
# ## The analyst who reads the manifest
#
# The manifest names the law of the copies given the true count $x$. Summing over every $x$ that
# the survey may have had gives the posterior of $p$ exactly, as a mixture of beta distributions.

# %%
model = bdp.BinomialModel(prior=(1, 1))
idata = model.fit(released, seed=1)
print(idata.attrs["engine"], "-", idata.attrs["engine_reason"])
az.summary(idata, kind="stats")

# %% [markdown]
# The engine was chosen for us, and the result says which it was and why. PyMC and Stan run the
# same model (`engine="pymc"`, `engine="stan"`), slower, for checks and for larger models, and take
# their usual settings: `model.fit(released, engine="pymc", target_accept=0.95)`.
#
# Both analysts beside the truth:

# %% tags=["drawing"]
figure, axis = plt.subplots(figsize=(6.5, 3), layout="constrained")
for row, group in enumerate(released.groups):
    for shift, colour, marker, label, posterior in (
        (0, blue, "o", "given the mechanism", model.posterior(released[group])),
        (0.25, orange, "s", "taken for real", model.naive_posterior(released[group])),
    ):
        at = [row + shift] * 2
        axis.plot(posterior.interval(0.95), at, color=colour, lw=2)
        axis.plot(posterior.mean(), at[0], marker, color=colour, ms=4.5, label=label)
    axis.plot(true[group], row + 0.12, "|", color=ink, ms=16, mew=1.5, label="in the survey")
axis.set(
    yticks=range(len(released.groups)),
    yticklabels=["1, very poor", "2", "3", "4", "5, very good"],
    xlabel="proportion with any affair, mean and 95% interval",
    ylabel="rating of the marriage",
    xlim=(0, 1),
)
axis.invert_yaxis()
handles, labels = axis.get_legend_handles_labels()
axis.legend(handles[:3], labels[:3], frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# The upper interval of each pair says what the copies tell, and no more. In the smallest group, 99
# women, that is little: a decision about that group needs more than this release. The lower one is
# short and misses. Where a question is about two groups, ask the draws:

# %%
p = idata.posterior["p"].stack(draws=("chain", "draw")).to_numpy()
print(f"Pr[rated 4 has a larger proportion than rated 5] = {np.mean(p[3] > p[4]):.3f}")
print(f"Pr[rated 1 has a larger proportion than rated 2] = {np.mean(p[0] > p[1]):.3f}")

# %% [markdown]
# Rules for multiple imputation take the spread between copies for the only extra uncertainty. They
# know nothing of the mechanism's prior, so their intervals are centred where the copies are.
# `bayesdp reproduce charest` shows how often they cover.

# %%
from bayesdp.evaluation.combining import proportions

very_good = released[5]
estimates, variances = proportions(very_good.outputs, very_good.mechanism.size)
for rule in ("liu", "rubin", "raab"):
    low, high = bdp.combine(estimates, variances, rule=rule).interval(0.95)
    print(f"{rule:>15}: [{low:.3f}, {high:.3f}]")
low, high = model.posterior(very_good).interval(0.95)
print(f"exact posterior: [{low:.3f}, {high:.3f}]    in the survey: {true[5]:.3f}")

# %% [markdown]
# ## A report
#
# One page, without network or other files, that states the promise, the posterior, how it was
# computed, and the naive analysis beside it. `reference` draws the truth, which only public
# benchmark data have. The command line does all of this page so far: `bayesdp synthesize`,
# `bayesdp fit` and `bayesdp report`, or `bayesdp fit fair` in one go.

# %%
page = bdp.evaluate.write_report(
    idata, released, office / "report", title="Extramarital affairs", reference=true.to_dict()
)
print(f"{page.relative_to(office)}: {page.stat().st_size:,} bytes")

# %% [markdown]
# ## The second release: a regression
#
# Now somebody wants to know what goes with a good marriage. A linear regression needs sums, sums of
# squares and sums of products alone: these get noise, for how far one woman's row can move them all
# together. Bounds come from the questionnaire, never from the data.

# %%
bounds = {"yrs_married": (0, 25), "religious": (1, 4), "educ": (9, 20), "rate_marriage": (1, 5)}
moments = bdp.synthesizers.NoisyMomentsSynthesizer(bounds, epsilon=1.0).release(
    survey[list(bounds)]
)
print(moments.guarantee)
moments.to_frames()[0].head(4)

# %% [markdown]
# `LinearRegressionModel` draws the coefficients together with the true moments that the noise
# hides. The naive analysis solves the normal equations with the noisy ones.

# %%
regression = bdp.LinearRegressionModel("rate_marriage")
fits = {
    "given the mechanism": regression.fit(moments, seed=2),
    "taken for real": regression.fit_naive(moments, seed=3),
}
print(fits["given the mechanism"].attrs["verdict"])
names = list(bounds)[:3]
real = sm.OLS(survey["rate_marriage"], sm.add_constant(survey[names])).fit()
lengths = {"without privacy": np.ptp(real.conf_int().loc[names], axis=1)}
for name, fit in fits.items():
    slopes = fit.posterior["beta"].sel(coefficient=names).stack(draw_of_all=("chain", "draw"))
    lengths[name] = np.ptp(np.quantile(slopes, (0.025, 0.975), axis=1), axis=0)
lengths = pd.DataFrame(lengths, index=names)
lengths.div(lengths["without privacy"], axis=0).round(2)

# %% [markdown]
# The table has the lengths of the 95% intervals of the slopes, relative to those without privacy.
# With fewer women "given the mechanism" would be more, as the noise has one size whatever their
# number. The naive analyst's intervals are as short as if there were no noise, and so too short.

# %% tags=["drawing"]
figure, axes = plt.subplots(1, 3, figsize=(7, 1.9), layout="constrained", sharey=True)
units = ("per year married", "per step of religiousness", "per year of schooling")
for axis, name, unit in zip(axes, names, units, strict=True):
    for row, (fit, colour) in enumerate(zip(fits.values(), (blue, orange), strict=True)):
        slope = fit.posterior["beta"].sel(coefficient=name).to_numpy()
        low, middle, high = np.quantile(slope, (0.025, 0.5, 0.975))
        axis.plot([low, high], [row, row], color=colour, lw=2.5)
        axis.plot(middle, row, "o", color=colour, ms=5)
    axis.plot(real.conf_int().loc[name], [2, 2], color=ink, lw=2.5)
    axis.plot(real.params[name], 2, "o", color=ink, ms=5)
    axis.axvline(0, color=COLOURS["rule"][0], lw=0.8, zorder=0)
    axis.set(yticks=range(3), yticklabels=[*fits, "without privacy"], xlabel=unit, ylim=(2.5, -0.5))
figure.suptitle("change of the rating of the marriage (1 to 5), 95% interval", fontsize=9)
plt.show()

# %% [markdown]
# ## What both cost together
#
# The same women are in both releases, so the promises add up. `compose` does the sum, keeps every
# assumption of every part, and is no surer than the least sure part.

# %%
total = bdp.compose([release.guarantee, moments.guarantee])
print(total)
for assumption in total.assumptions:
    print("-", assumption)

# %% [markdown]
# Read the first assumption again. The second release hides the rating of the marriage, but the
# first took it for public; so the whole does. If the rating is to be hidden throughout, the first
# release must hide it too: `BetaBinomialSynthesizer(..., public_n=False)`, with all groups there
# may be, protects the number of records, and each record's group.
#
# A sum that is kept in somebody's head is soon wrong. A ledger keeps it, refuses a release that
# costs more than is left, and does so before the release is drawn: see *A ledger in a team*.
#
# ## More copies, or better ones?
#
# The budget is shared: five copies at `epsilon=2` get 0.4 each. What the choice does to the
# interval can be known before any data are touched, by simulation. One copy is best for an analyst
# who reads the manifest; more are for those who only have combining rules.

# %%
rng = np.random.default_rng(7)
widths = {}
for copies in (1, 2, 5, 20):
    found = []
    with bdp.reproducible(copies):  # simulated data: a seed is fine
        for _ in range(60):
            count = bdp.Count(int(rng.binomial(1000, 0.2)), 1000)
            trial = bdp.BetaBinomialSynthesizer(2.0, copies=copies).release(count)
            found.append(np.ptp(model.posterior(trial).interval(0.95)))
    widths[copies] = round(float(np.mean(found)), 3)
pd.Series(widths, name="average width of the 95% interval").rename_axis("copies").to_frame()

# %% [markdown]
# ## What to take away
#
# * Decide before the data what is hidden, how well, and what is public all the same.
# * A release is a sample from a known law. Analyse it by that law: `model.fit(release)` reads it
#   off the manifest. Copies that are taken for real are wrong, and look precise.
# * Where the interval is too long for the question, that is the finding: ask for another release,
#   of fewer copies, of coarser groups or at a larger `epsilon`.
# * Promises about the same people add up. Let a ledger do the sum.
# * For a whole table, and analyses that nobody has planned yet, see *A whole survey*.
#
# Read on: [Which mechanism, which model?](choosing.md) has the mechanisms for other questions, with
# what each costs, and [A whole survey](01_a_whole_survey.md) is about a whole table.
