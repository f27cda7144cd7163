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
# # Choosing epsilon
#
# This page is for whoever must name an epsilon before there are data.
#
# An agency will ask 400 patients a yes-or-no question and publish the answers with differential
# privacy. Before anybody is asked, someone has to say at which epsilon. The question is two: how
# much may be learnt about one patient, and how much must be learnt about all of them? Both can be
# answered in advance. `bdp.plan` draws data from the prior, releases them in each way that it
# knows, and finds the interval that the analyst will get. No data are there yet, so nothing is
# spent.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

warnings.filterwarnings("ignore", category=FutureWarning, module="arviz")

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange = (COLOURS[role][0] for role in ("posterior", "naive"))

model = bdp.BinomialModel(prior=(1, 1))
plan = bdp.plan(model, n=400, target=0.12, copies=1)
print(plan.why())

# %% [markdown]
# The target is the length of the 95% interval for the proportion of yes, 0.12 here: from 34% to
# 46%, say. It is met in the mean over the prior. The answer names a mechanism too. A count with
# discrete Laplace noise needs by far the least. Randomized response, where patients hide their
# answers themselves and nobody has to be trusted, needs more. One synthetic copy of the 400 answers
# never gets there: the draw that makes it adds a sampling error of its own, at any epsilon.

# %%
axes = plan.plot()
axes.figure.set_size_inches(7, 3.8)

# %% [markdown]
# Each line is one way to release. To the left is less risk, down is more use. No line falls below
# the dotted one, the length that 400 answers give without any privacy: no epsilon buys more. If
# that is too long, `plan` says so, and how many patients would do.

# %%
try:
    bdp.plan(model, n=400, target=0.05, copies=1)
except bdp.errors.InvalidInput as refused:
    print(refused)

# %% [markdown]
# ## What it costs a patient
#
# Epsilon bounds how far a release can move anyone's odds about one patient: by a factor of
# $e^\varepsilon$, whatever else they know. For someone who gave yes a probability of one half, or
# of one in a hundred:

# %%
met = plan.table[plan.table["meets"]].sort_values("epsilon").groupby("mechanism").first()
met = met[["epsilon", "width", "coverage"]].sort_values("epsilon")
for before in (0.5, 0.01):
    odds = before / (1 - before) * np.exp(met["epsilon"])
    met[f"from {before:g} to at most"] = odds / (1 + odds)
met.round(3)

# %% [markdown]
# The rows are the mechanisms that meet the target, each at the smallest epsilon at which it does.
# That is how mechanisms are to be compared, at equal use; at equal epsilon they aren't alike.
#
# ## Short nearly always, rather than in the mean
#
# A mean of 0.12 leaves releases with longer intervals. Where one study is all there will be, ask
# for an assurance: that 90% of all releases meet the target.

# %%
assured = bdp.plan(model, n=400, target=0.12, copies=1, assurance=0.9)
print(assured.why())

# %% [markdown]
# ## A proportion that is known roughly
#
# The model's prior is the analyst's, and should be wide. What the agency expects of the data may be
# narrower: few patients will say yes, about one in twenty. Short intervals are easier there, and a
# smaller epsilon does.

# %%
expected = bdp.plan(model, n=400, target=0.12, copies=1, design_prior=(2, 38))
print(f"{plan.epsilon:.3g} over all proportions, {expected.epsilon:.3g} near 5%")

# %% [markdown]
# ## More patients or more epsilon
#
# Both make intervals shorter. With noise on a count the two trade steeply: noise has one size
# whatever the number of patients, so its share falls as $1 / n$.

# %%
sizes = [340, 400, 500, 700]
options = {"target": 0.12, "mechanisms": "discrete_laplace", "epsilon": (0.01, 1)}
needed = [bdp.plan(model, n, **options).epsilon for n in sizes]

# %% tags=["drawing"]
figure, axes = plt.subplots(figsize=(6, 2.8), layout="constrained")
axes.plot(sizes, needed, "o-", color=blue)
axes.set(xlabel="patients", ylabel="$\\epsilon$ needed", yscale="log", xscale="log")
axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
axes.minorticks_off()
axes.set_yticks([0.05, 0.1, 0.2], ["0.05", "0.1", "0.2"])
plt.show()

# %% [markdown]
# ## Does it come true?
#
# The plan is exact for counts of this size, and an experiment agrees: 300 surveys, each released at
# the planned epsilon and fitted.

# %%
rng = np.random.default_rng(2)
noise = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=plan.epsilon, sensitivity=1, neighbours="replace_one", n=400
)
lengths, covered = [], []
with bdp.reproducible(1):  # simulated data: no promise is made
    for _ in range(300):
        p = rng.uniform()
        release = bdp.publish(noise, int(rng.binomial(400, p)))
        low, high = model.posterior(release).interval(0.95)
        lengths.append(high - low)
        covered.append(low <= p <= high)
row = plan.chosen
pd.DataFrame(
    {
        "planned": [row["width"], row["coverage"]],
        "300 surveys": [np.mean(lengths), np.mean(covered)],
        "standard error": [np.std(lengths) / 300**0.5, np.std(covered) / 300**0.5],
    },
    index=["mean length", "coverage"],
).round(4)

# %% [markdown]
# ## Other models
#
# The same call plans categories, means, rates and regressions, there by simulated releases and
# fits, and any model of your own given a function that makes up data. Here a mean of normal
# records between 0 and 100 whose sd is known, from modips copies:

# %%
mean = bdp.GaussianModel(prior=(50, 10), sd=10)
family = bdp.families.Gaussian(bounds=(0, 100), sd=10)
copies = bdp.plan(
    mean, n=500, target=3.0, mechanisms=bdp.ModipsSynthesizer(family=family, epsilon=1.0, copies=5),
    epsilon=(0.5, 8.0), replicates=30,
)  # fmt: skip
print(copies.why())

# %% [markdown]
# A plan is about one interval of one estimand. Everything else that will be published about the
# same patients adds to what they can lose, so an epsilon is a share of a budget: see
# *A ledger in a team*.
#
# ## What to take away
#
# * Say first how long an interval the decision can bear, and then ask for the smallest `epsilon`.
# * Compare mechanisms at equal use. Their epsilons then say what each costs a patient.
# * If the target is out of reach at any `epsilon`, the survey is too small, private or not.
# * Read `epsilon` as odds. It is easier to answer for "from 50% to at most 54%" than for 0.15.
#
# Read on: [Which mechanism, which model?](choosing.md) compares more questions and mechanisms, and
# [Your own data](your_own_data.md) puts the choice to work.
