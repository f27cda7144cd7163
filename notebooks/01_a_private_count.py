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
# # A private count, from the survey to the posterior
#
# A survey asked 6,366 women, in 1974, how they rate their marriage and how much time they had
# spent in extramarital affairs (Fair 1978). The second answer is not one that people want
# attached to their name. We play both parts:
#
# * the **curator** holds the answers and publishes synthetic copies of them, with a promise;
# * the **analyst** sees the copies alone, and wants the proportion in the population.
#
# The data are public today, so that we can compare with the truth at the end.

# %%
import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm

import bayesdp as bdp

survey = sm.datasets.fair.load_pandas().data
answer = (survey["affairs"] > 0).rename("any affair")
rating = survey["rate_marriage"].astype(int).rename("rating of the marriage")
answer.groupby(rating).agg(["size", "sum", "mean"])

# %% [markdown]
# ## The curator
#
# The synthesizer draws each copy of a group's count from a beta-binomial law: a posterior
# predictive under a prior that is chosen for privacy. With `epsilon=2` for all five copies
# together, whoever sees them can change their odds about one woman's answer by a factor of at
# most $e^2 \approx 7.4$, whatever else they know.

# %%
synthesizer = bdp.BetaBinomialSynthesizer(epsilon=2.0, copies=5)
release = synthesizer.release(answer, by=rating)
print(release.guarantee)
for assumption in release.guarantee.assumptions:
    print("-", assumption)

# %% [markdown]
# The release is a folder with a table of the copies and a manifest that says how they were made.
# This is all that leaves the curator's office.

# %%
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp()) / "release"
release.save(folder)
print((folder / "manifest.json").read_text()[:600], "...")

# %% [markdown]
# ## The analyst who takes the copies for real
#
# Each copy looks like the survey. Pooled and analysed as if they were, they give narrow intervals
# around the wrong place: the mechanism's prior has drawn every group towards one half.

# %%
released = bdp.Release.load(folder)
released.to_frames()[0].groupby("rating of the marriage")["any affair"].mean()

# %% [markdown]
# ## The analyst who reads the manifest
#
# The manifest names the law of the copies given the true count $x$. Summing over every $x$ that
# the survey may have had gives the posterior of $p$ exactly, as a mixture of beta distributions.

# %%
model = bdp.BinomialModel(prior=(1, 1))
idata = model.fit(released, seed=1)
az.summary(idata, kind="stats")

# %% [markdown]
# The engine was chosen for us, and the result says which it was and why. PyMC and Stan run the
# same model (`engine="pymc"`, `engine="stan"`), slower, for checks and for larger models.

# %%
print(idata.attrs["engine"], "-", idata.attrs["engine_reason"])

# %% [markdown]
# ## Both beside the truth

# %%
truth = answer.groupby(rating).mean()
figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
for row, group in enumerate(released.groups):
    alone = released[group]
    low, high = model.posterior(alone).interval(0.95)
    axis.plot([low, high], [row, row], color="#0072B2", lw=2, label="given the mechanism")
    low, high = model.naive_posterior(alone).interval(0.95)
    axis.plot([low, high], [row + 0.25] * 2, color="#D55E00", lw=2, label="taken for real")
    axis.plot(truth[group], row, "k|", ms=14, label="true proportion")
axis.set(
    yticks=range(len(released.groups)),
    yticklabels=[f"{g}" for g in released.groups],
    xlabel="proportion with any affair",
    ylabel="rating of the marriage",
    xlim=(0, 1),
)
axis.invert_yaxis()
handles, labels = axis.get_legend_handles_labels()
axis.legend(handles[:3], labels[:3], frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# ## Combining rules
#
# Rules made for multiple imputation treat the spread between copies as the only extra
# uncertainty. They know nothing of the mechanism's prior, so their intervals are centred where
# the copies are. `bayesdp reproduce charest` shows how often they cover.

# %%
from bayesdp.evaluation.combining import proportions

very_good = released[5]
estimates, variances = proportions(very_good.outputs, very_good.mechanism.size)
for rule in ("liu", "rubin", "reiter_positive", "raab"):
    low, high = bdp.combine(estimates, variances, rule=rule).interval(0.95)
    print(f"{rule:>16}: [{low:.3f}, {high:.3f}]   truth {truth[5]:.3f}")
low, high = model.posterior(very_good).interval(0.95)
print(f"{'exact posterior':>16}: [{low:.3f}, {high:.3f}]")

# %% [markdown]
# ## More copies, or better ones?
#
# The budget is shared: five copies at `epsilon=2` get 0.4 each. What the choice does to the width
# of the interval can be known before any data are touched, by simulation.

# %%
rng = np.random.default_rng(1)
for copies in (1, 2, 5, 20):
    widths = []
    with bdp.reproducible(copies):  # simulated data: a seed is fine
        for _ in range(100):
            count = bdp.Count(int(rng.binomial(1000, 0.2)), 1000)
            trial = bdp.BetaBinomialSynthesizer(2.0, copies=copies).release(count)
            widths.append(np.ptp(model.posterior(trial).interval(0.95)))
    print(f"{copies:>3} copies: average width {np.mean(widths):.3f}")
