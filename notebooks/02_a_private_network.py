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
# # A private network, from the ties to the posterior
#
# This page is for whoever has a network whose ties are confidential, or a release of one.
#
# Zachary (1977) saw who met whom outside a karate club. Who is a friend of whom is the kind of
# thing that people tell in confidence. We play both parts:
#
# * the **curator** holds the ties and publishes a graph in which every dyad was flipped at random;
# * the **analyst** sees that graph alone, and wants the coefficients of a model of the true one.
#
# The ties are public today, so that we can compare with the truth at the end.

# %%
import warnings

warnings.filterwarnings("ignore", r"\s*ArviZ", FutureWarning)  # its next version

import arviz as az
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE
from bayesdp.networks import BayesianERGM, Network, goodness_of_fit, statistics

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, ink = (COLOURS[role][0] for role in ("posterior", "naive", "ink"))

club = Network.from_networkx(nx.karate_club_graph())
formula = "edges + gwesp(0.5)"
club, statistics(club, formula)

# %% [markdown]
# ## The curator
#
# With `epsilon=4`, whoever sees the released graph can change their odds about one friendship by a
# factor of at most $e^4$, whatever else they know. Hiding all of a member's friendships at once is
# another promise, 33 times as dear; it is stated too.

# %%
release = bdp.synthesizers.EdgeFlipSynthesizer(epsilon=4.0, attributes=("club",)).release(club)
print(release.guarantee)
print(release.mechanism.guarantee(neighbours="node"))
release.to_frames()[0].head()

# %% [markdown]
# ## The analyst who takes the graph for real
#
# A flip is rare, but most dyads are empty, so a good part of the released ties are noise. They are
# spread evenly, and so there are fewer triangles than ties would make one expect.

# %%
released = release.outputs[0]
gaps = 34 * 33 // 2 - len(club.edges)
for epsilon in (2.0, 4.0):
    print(
        f"epsilon = {epsilon:g}: {gaps / (1 + np.exp(epsilon)):.0f} false ties are to be expected"
    )
print("true ties", len(club.edges), " released", len(released.edges))
statistics(released, formula)

# %% [markdown]
# ## The analyst who reads the manifest
#
# The manifest names the law of the released graph given the true one. The sampler draws the
# coefficients and the hidden graph together.

# %%
model = bdp.models.ERGMModel(formula, prior=bdp.networks.NormalPrior(0, [5, 3]))
idata = model.fit(release, draws=2000, warmup=500, seed=1)
print(idata.attrs["engine"], "-", idata.attrs["engine_reason"])
print(idata.attrs["verdict"])
az.summary(idata, var_names=["theta"], kind="stats")

# %% [markdown]
# Beside it: the analyst who takes the released graph for real, and what the true graph itself would
# say.

# %%
naive = model.fit_naive(release, draws=2000, seed=2)
known = BayesianERGM(formula, prior=bdp.networks.NormalPrior(0, [5, 3])).fit(
    club, draws=1000, tune=500, seed=3
)

# %% tags=["drawing"]
fits = {
    "given the mechanism": (idata, blue),
    "taken for real": (naive, orange),
    "the true graph": (known, ink),
}
figure, axes = plt.subplots(1, 2, figsize=(7, 2.2), layout="constrained", sharey=True)
for axis, term in zip(axes, idata.posterior["term"].to_numpy(), strict=True):
    for row, (fit, colour) in enumerate(fits.values()):
        draws = fit.posterior["theta"].sel(term=term).to_numpy().ravel()
        low, middle, high = np.quantile(draws, (0.025, 0.5, 0.975))
        axis.plot([low, high], [row, row], color=colour, lw=2)
        axis.plot(middle, row, "o", color=colour)
    axis.set(yticks=range(3), yticklabels=list(fits), xlabel=f"coefficient of {term}")
    axis.set_ylim(2.5, -0.5)
plt.show()

# %% [markdown]
# Medians and 95% intervals. The interval given the mechanism is the longer one, as some of what
# the graph says was lost with the flips. At this `epsilon` the naive one need not be far off; at a
# smaller one it is, as more and more of the released ties are false.
#
# The posterior of the hidden graph's statistics comes with it: how many friendships there are, and
# how they cluster.

# %%
az.summary(idata, var_names=["statistics"], kind="stats")

# %% [markdown]
# ## Where no dyad depends on another
#
# Then the hidden graph sums out, and NUTS samples the exact posterior: in PyMC, or in Stan with
# `engine="stan"`. It is chosen without being asked for.

# %%
homophily = bdp.models.ERGMModel("edges + nodematch('club')", prior=bdp.networks.NormalPrior(0, 3))
fit = homophily.fit(release, draws=1000, seed=4)
print(fit.attrs["engine"], "-", fit.attrs["engine_reason"])
az.summary(fit, kind="stats")

# %% [markdown]
# Then a tie has a probability of its own: here within either half of the club, and between them.

# %%
az.summary(homophily.edge_probabilities(fit, release, by="club"), kind="stats")

# %% [markdown]
# ## Numbers instead of a graph
#
# Statistics with noise cost less where few are wanted. Each gets noise for how far one tie can
# move it: by one, for the numbers of ties and of ties within a half of the club. The same model
# reads them. Of what they count they tell no less than the graph does at twice their `epsilon`, and
# of all else nothing. The graph is sampled with the coefficients again, which takes longer chains.

# %%
numbers = bdp.synthesizers.NoisyStatisticsSynthesizer(
    homophily.formula, epsilon=2.0, attributes=("club",)
).release(club)
print(numbers.guarantee)
print(numbers.to_frames()[0])
fit = homophily.fit(numbers, draws=4000, seed=5)
print(fit.attrs["verdict"])
az.summary(fit, var_names=["theta"], kind="stats")

# %% [markdown]
# Degrees can be released too, and synthetic graphs made from them at no further cost.

# %%
degrees = bdp.synthesizers.NoisyDegreesSynthesizer(epsilon=2.0).release(club)
synthetic = bdp.synthesizers.NoisyDegreesSynthesizer.networks(
    degrees, size=1, prior=bdp.networks.NormalPrior(0, 3), seed=1
)[0]
print(degrees.guarantee, " synthetic graph:", synthetic)

# %% [markdown]
# ## Does the model fit?
#
# Goodness of fit compares graphs simulated from the model with one that is known; here with the
# true one, which the analyst doesn't have. Boxes are of the simulated graphs, the line is the club.
# Two members, the instructor and the president, are tied to half of the others, which these two
# terms don't expect: the model lacks something, and no privacy is to blame.

# %%
centre = idata.posterior["theta"].mean(("chain", "draw")).to_numpy()
figure = goodness_of_fit(club, formula, centre, seed=6).plot()
figure.set_size_inches(9.5, 2.8)
figure

# %% [markdown]
# ## What to take away
#
# * A promise about a network is about ties or about nodes. They differ by a factor of up to
#   $n - 1$: say which one is meant.
# * A graph with flipped dyads has too many ties and too few triangles. A model that knows the flips
#   finds what is left of the true graph; one that doesn't finds the noise.
# * Where few numbers are wanted, release these with noise instead of a graph.
# * Sampling a hidden graph is hard. Read the verdict, and run longer chains where it asks for them.
#
# Read on: [The page on networks](mechanisms/networks.md) has the other ways to release one, and
# [Which mechanism, which model?](choosing.md#density) their widths.
