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
# # Releases in your own Stan program
#
# This page is for analysts with Stan, who have a program and were sent a release.
#
# What [`bdp.observe`](05_your_own_pymc_model.md) is to a PyMC model, a library of functions and a
# table are to a Stan program. Stan has no discrete parameters, so a confidential count must be
# summed out of the likelihood: over all counts that there may have been, each weighted by the
# probability that its release looked as it does. `bdp.stan.data` makes that table by the
# mechanism's own law; `#include bayesdp.stanfunctions` has the sums.
#
# The data are those of Fair (1978), as in the tutorial on PyMC: whether a woman had an affair, by
# occupation and religiousness, in 24 groups whose sizes are public. All draws on this page are
# seeded, as the data are public; a release of confidential data takes no seed.

# %%
import warnings

warnings.filterwarnings("ignore", r"\s*ArviZ", FutureWarning)  # its next version

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm

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
# One office publishes the 24 counts with integer noise, another a synthetic copy of each group.

# %%
mechanism = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=0.5, sensitivity=1, neighbours="replace_one", dimension=24
)
with bdp.reproducible(1):
    noisy = bdp.publish(mechanism, counts, variable="affairs")
    copies = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(answer, by=group)

# %% [markdown]
# ## The table of what the counts may have been
#
# `E` integers are confidential, and integer `e` may have had the values `x[first[e]:last[e]]`.
# Beside each value is the log of the probability of *both* releases, given that value.

# %%
tables = bdp.stan.data([noisy, copies])
for name, value in tables.items():
    print(f"{name:8}", value if np.ndim(value) == 0 else f"{np.shape(value)}, {value[:4]} ...")

# %% [markdown]
# ## The program
#
# A regression of log odds on religiousness, with groups that differ beside it. What would be
# `count ~ binomial_logit(size, eta)` if the counts were known is a line with
# `latent_binomial_logit_log_lik`. For a law that the library lacks, write
# `log_sum_exp(log_law[a:b] + ...)` with the log probability of each value instead of the dots.
#
# `y_rep` is what the first office might have released of other women: a new count in each group,
# and new noise on it. Every law of the library has such a draw beside it, as `discrete_laplace_rng`
# is beside `discrete_laplace_lpmf`. They check a model, and release nothing: in floating point, by
# a generator with a seed, they keep no privacy promise.

# %%
program = """
functions {
  #include bayesdp.stanfunctions
}
data {
  int<lower=1> E;                             // as bdp.stan.data names them
  int<lower=1> K;
  array[E] int<lower=1, upper=K> first;
  array[E] int<lower=1, upper=K> last;
  vector[K] x;
  vector[K] log_law;
  array[E] int<lower=1> size;                 // and the rest of the model's data
  vector[E] grade;
  real<lower=0> scale;                        // of the first office's noise
}
parameters {
  real base;
  real slope;
  real<lower=0> spread;
  vector[E] away;
}
transformed parameters {
  vector[E] log_odds = base + slope * grade + spread * away;
}
model {
  base ~ normal(-1, 1);
  slope ~ normal(0, 0.5);
  spread ~ normal(0, 0.5);
  away ~ std_normal();
  for (e in 1:E) {
    target += latent_binomial_logit_log_lik(x[first[e]:last[e]], log_law[first[e]:last[e]],
                                            size[e], log_odds[e]);
  }
}
generated quantities {
  vector[E] p = inv_logit(log_odds);
  array[E] int y_rep = discrete_laplace_rng(binomial_rng(size, p), scale);
}
"""
idata = bdp.stan.sample(
    program,
    {**tables, "size": sizes, "grade": religious - 2.5, "scale": float(mechanism.scale)},
    variables=["base", "slope", "spread", "p", "y_rep"],
    draws=600,
    warmup=400,
    seed=1,
    coords={"group": list(table.index)},
    dims={"p": ["group"], "y_rep": ["group"]},
)
print(idata.attrs["verdict"])
az.summary(idata, var_names=["base", "slope", "spread"]).drop(columns=["mcse_mean", "mcse_sd"])

# %% [markdown]
# These are the numbers that PyMC gives for the same model in the other tutorial, up to the chains'
# error. `bdp.stan.sample` compiles a program once, by CmdStan or else by PyStan, and leaves neither
# data nor draws on the disk.

# %% tags=["drawing"]
draws = idata.posterior["p"].stack(draw_of_all=("chain", "draw")).to_numpy()
low, high = np.quantile(draws, (0.025, 0.975), axis=1)
order, rows = np.argsort(sizes), np.arange(24)
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
# ## Does the model expect what was released?
#
# Noise is part of the replicates, so that they compare with the noisy counts as they are. In each
# group, a share of the replicates is below what was released (of those that equal it, half count).
# Where the model holds, few of these shares are near 0 or 1. How much groups differ is what a model
# of one population may miss, so the spread of the noisy proportions is compared, too.

# %%
released = np.array(noisy.outputs[0])
y_rep = idata.posterior["y_rep"].stack(draw_of_all=("chain", "draw")).to_numpy().T
share = (y_rep < released).mean(axis=0) + (y_rep == released).mean(axis=0) / 2
spread = np.std(y_rep / sizes, axis=1)
print("shares of the groups:", np.sort(share.round(2)))
print(f"spread of noisy proportions: {np.std(released / sizes):.3f} released, replicates ", end="")
print("between {:.3f} and {:.3f} (95%)".format(*np.quantile(spread, (0.025, 0.975))))

# %% [markdown]
# ## In your own tool chain
#
# With CmdStanPy of your own, tell stanc where the functions are; with PyStan, put them in:
#
# ```python
# cmdstanpy.CmdStanModel(
#     stan_file="mine.stan", stanc_options={"include-paths": [str(bdp.stan.include_path())]}
# )
# stan.build(bdp.stan.with_includes(program), data=...)
# ```
#
# CmdStanPy keeps its files in a temporary folder until Python ends, and PyStan keeps draws in its
# cache: that is fine for what was released, and not for confidential data.
#
# The library also has the mechanisms' laws as `_lpmf` functions, for programs in which what was
# randomised is known or generated: `discrete_laplace_lpmf`, `discrete_gaussian_lpmf` (both with
# tails, truncated and inflated), `synthetic_count_lpmf`, `synthetic_table_lpmf`,
# `synthetic_events_lpmf`, `randomized_response_lpmf`. Each agrees with the law in Python to ten
# digits, and each has a draw, `..._rng`. Your own model for a release by `bdp.models` is there too:
# `model.stan_code()` and `model.stan_data(release)` are its program and its data, and with
# `"replicates": 1` among these it draws `y_rep`, where Stan has the mechanism's law.
#
# Read on: [What goes wrong](what_goes_wrong.md) explains verdicts and warnings, and
# [Releases in your own PyMC model](05_your_own_pymc_model.md) does the same in PyMC.
