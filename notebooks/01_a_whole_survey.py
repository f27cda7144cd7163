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
# # A whole survey
#
# This page is for whoever holds a table of many columns to publish, or has been given one.
#
# A survey is rarely one question. Whoever holds its records wants to publish the table, and whoever
# reads it wants to run analyses that nobody thought of when it was published. This page does both,
# from the codebook to a regression: the **curator** releases noisy counts of pairs of columns,
# once; the **analyst** draws the tables that may be behind them, and asks these anything.
#
# The data are those of *From curator to analyst*: in 1974, 6,366 married women told a magazine
# about their marriages and their affairs (Fair 1978). They are our population here. The survey is a
# random sample of 2,000 of them, so that an estimate can be held against two truths: what the
# confidential records say, and what is true of everybody.

# %%
import itertools
import os
import tempfile
import warnings
from pathlib import Path

warnings.filterwarnings("ignore", r"\s*ArviZ", FutureWarning)  # it announces its next version

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import statsmodels.api as sm
import statsmodels.formula.api as smf

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, ink = (COLOURS[role][0] for role in ("posterior", "naive", "ink"))
os.chdir(tempfile.mkdtemp())  # the curator's office

fair = sm.datasets.fair.load_pandas().data
population = pd.DataFrame(
    {
        "rating": fair["rate_marriage"].astype(int),
        "age": fair["age"],
        "children": fair["children"],
        "religious": fair["religious"].astype(int),
        "affair": fair["affairs"] > 0,
    }
)
survey = population.sample(2000, random_state=1)  # confidential
survey.head(3)

# %% [markdown]
# ## From the codebook
#
# A schema says what each column may hold. It is public, so it has to come from the questionnaire
# and not from the answers: from looking at the records one would learn, and publish, that nobody in
# them is over 42. `bdp.Schema.template` (`bayesdp schema template survey.csv --out survey.toml`)
# writes a file to be filled in; it reads the names of the columns and no record. Filled in, it is

# %%
codebook = """
[columns.rating]                 # of the marriage, from 1, very poor, to 5, very good
type = "integer"
bounds = [1, 5]

[columns.age]                    # asked in bands; the data have their middles
type = "real"
bounds = [15, 45]
bins = [15, 20, 25, 30, 35, 40, 45]

[columns.children]               # 5.5 is "five or more"
type = "real"
bounds = [0, 6]
bins = [0, 0.5, 1.5, 2.5, 3.5, 6]

[columns.religious]              # from 1, not at all, to 4, strongly
type = "ordered"
labels = [1, 2, 3, 4]

[columns.affair]
type = "boolean"
"""
Path("survey.toml").write_text(codebook)
schema = bdp.Schema.load("survey.toml")
print(schema.cells, "-", f"{np.prod([*schema.cells.values()]):,} cells in all")

# %% [markdown]
# A number is cut into intervals, and will be known up to its interval. Fine bins blur less, but
# spread the same records over more counts, each of which gets noise: a dozen bins are plenty. A
# value that the schema doesn't hold is refused, or moved where the schema says, but never dropped
# in silence. Missing values can be a value of their own (`missing = true`), combinations that can't
# occur are listed as `zeros`, and where a person has several records,
# `unit = { person = "id", most = 3 }` protects the person.
#
# ## The release
#
# The synthesizer measures all pairs of columns if it isn't told otherwise. With fifty columns there
# are 1,225 pairs, and the budget is spread thin; then name those that the planned analyses relate
# to one another, by their formulas (`workload`): where these have interactions, three columns are
# counted together too. Here one of the ten pairs is left out, to see at the end what becomes of it.
#
# The curator decides on a promise before any record is looked at, and pays for it from the survey's
# account (see *A ledger in a team*). Under `add_remove`, the default, even the number of women is
# confidential.

# %%
ledger = bdp.Ledger.open("sqlite:///budget.db")
account = ledger.create("fair-1974", epsilon=2.0, delta=1e-5, neighbours="add_remove")
pairs = [
    pair for pair in itertools.combinations(schema.columns, 2) if pair != ("children", "religious")
]
synthesizer = bdp.TableSynthesizer(schema, epsilon=1.0, delta=1e-6, marginals=pairs)
print(synthesizer.guarantee())

release = synthesizer.release(survey, ledger=account)
release.save("release")
print(account.remaining(), "is left")
counts = release.to_frames()[0]
print(f"{len(counts)} counts of {counts['marginal'].nunique()} marginals:")
counts.head(4)

# %% [markdown]
# This is all that leaves the office: for each pair of columns the counts of its cells, each plus
# discrete Gaussian noise, and a manifest that says how much. The noise has the same standard
# deviation for every count, large or small, so small cells suffer most:

# %%
noise = release.mechanism.rounds[0].scale
smallest = counts["count"].min()
print(f"the noise's standard deviation: {noise:.1f} women; the smallest noisy count: {smallest}")

# %% [markdown]
# ## The posterior
#
# The analyst has the folder and nothing else. The marginals contradict one another, as each has
# noise of its own, and some counts are negative. `TableModel` draws whole tables of women that may
# be behind them, each as often as its probability given the counts says. They are the posterior.

# %%
released = bdp.Release.load("release")
posterior = bdp.TableModel().fit(
    released, draws=250, warmup=150, thin=2, tables=100, chains=2, seed=1
)
print(posterior.attrs["verdict"])

# %% [markdown]
# Chains over whole tables move slowly, and this page can't wait for them. Where the verdict
# complains of R-hat or of effective sample sizes, draw more: the defaults of `draws`, `warmup` and
# `chains` are larger, and `draws=4000` is no luxury for a paper. Until then the ends of intervals
# are rough.
#
# ## Tables, of the data and of the population
#
# What does the table say about affairs? There are two questions in this. What did the *confidential
# records* say, which only the noise hides (`target="data"`)? And what is true of the *population*
# that the women are a sample of, which would be uncertain without any noise (the default)? The
# latter's interval is longer. Whoever audits a survey asks the former; whoever wants to know about
# people, the latter.

# %%
data = posterior.table(["rating", "affair"], target="data", seed=1)
people = posterior.table(["rating", "affair"], seed=1)


def by_rating(estimates):
    """Share with an affair by the rating, 1 and 2 taken together, draw by draw."""
    draws = estimates.draws.reshape(len(estimates.draws), 5, 2)
    draws = np.concatenate([draws[:, :2].sum(axis=1, keepdims=True), draws[:, 2:]], axis=1)
    return draws[..., 1] / draws.sum(axis=-1)


ratings = ["1 or 2, poor", "3", "4", "5, very good"]
rows = {
    f"in the {name}": frame.groupby(frame["rating"].clip(lower=2))["affair"].mean().to_numpy()
    for name, frame in (("survey", survey), ("population", population))
}
for name, estimates in (("data", data), ("population", people)):
    low, high = np.quantile(by_rating(estimates), [0.025, 0.975], axis=0)
    rows[f"{name}, 95%"] = [f"{a:.2f} to {b:.2f}" for a, b in zip(low, high, strict=True)]
pd.DataFrame(rows, index=pd.Index(ratings, name="rating")).round(3)

# %% tags=["drawing"]
figure, axis = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for shift, estimates, colour, name, true in (
    (0, data, blue, "confidential records", rows["in the survey"]),
    (0.3, people, orange, "population", rows["in the population"]),
):
    low, high = np.quantile(by_rating(estimates), [0.025, 0.975], axis=0)
    at = np.arange(len(ratings)) + shift
    axis.hlines(at, low, high, color=colour, lw=2.5, label=f"{name}, 95%")
    axis.plot(true, at, "|", color=ink, ms=11, mew=1.8, label="true" if shift else None)
axis.set(
    yticks=np.arange(len(ratings)) + 0.15,
    yticklabels=ratings,
    xlabel="share with an affair",
    ylabel="rating of the marriage",
    xlim=(0, 1),
)
axis.invert_yaxis()
axis.legend(frameon=False, loc="lower right")
plt.show()

# %% [markdown]
# Each interval has its own truth, the survey's or the population's. Noise has one size, so that it
# matters most where few women are. Hardly any rate their marriage 1, and with this much noise a
# release can hardly say whether there are any at all: so 1 and 2 are taken together.
#
# ## A regression
#
# All pairs of these columns were released, and so `regression` takes the coefficients from the
# released counts themselves, less noise that is drawn anew for every draw; only how three
# predictors go together is by the tables. Of columns that weren't all measured in pairs it would
# fit statsmodels' regression to each table, where noise draws slopes to 0. The naive answer, beside
# it, is what one of the tables says if somebody takes it for the survey.

# %%
formula = "affair ~ rating + age + C(religious)"
logit = posterior.regression(formula, family="logit", draws=100, seed=1)
as_numbers = {"affair": float}
true = smf.logit(formula, population.astype(as_numbers)).fit(disp=False)
there = smf.logit(formula, survey.astype(as_numbers)).fit(disp=False)
found = logit.interval(0.95)
print("by", logit.by)
compared = found.assign(population=true.params.to_numpy(), survey=there.params.to_numpy())
compared = compared[
    ["population", "survey", "mean", "lower", "upper", "naive_lower", "naive_upper"]
]
compared.round(3)

# %% tags=["drawing"]
figure, axes = plt.subplots(1, 3, figsize=(7, 1.9), layout="constrained", sharey=True)
shown = ("rating", "age", "C(religious)[T.4]")
for axis, name in zip(axes, shown, strict=True):
    row = compared.loc[name]
    place = list(found.index).index(name)
    for k, (low, high, colour) in enumerate(
        (
            (row["lower"], row["upper"], blue),
            (row["naive_lower"], row["naive_upper"], orange),
            (*there.conf_int().iloc[place], ink),
        )
    ):
        axis.plot([low, high], [k, k], color=colour, lw=2.5)
    axis.axvline(row["population"], color=ink, lw=0.9, ls=":")
    axis.set(
        yticks=range(3),
        yticklabels=["posterior", "naive", "without privacy"],
        ylim=(2.5, -0.5),
        title=name,
    )
figure.suptitle("log odds of an affair, 95% intervals; dotted: the population", fontsize=9)
plt.show()

# %% [markdown]
# How long are they, relative to the intervals that the survey itself would give?

# %%
own = np.ptp(there.conf_int().to_numpy(), axis=1)
costs = {
    "posterior": (found["upper"] - found["lower"]) / own,
    "naive": (found["naive_upper"] - found["naive_lower"]) / own,
}
pd.DataFrame(costs).round(2)

# %% [markdown]
# The posterior's are longer, by what the noise costs. The naive ones aren't: one table knows
# nothing of the noise. They look as good as the survey's own, but lie wherever that one draw
# happened to fall.
#
# Odds ratios, medians, differences of groups: `estimate` takes any function of a DataFrame that
# looks like the survey.


# %%
def gap(table):
    """Share with an affair among those without children, less that among all others."""
    none = table["children"] < 0.5
    return {"gap": table.loc[none, "affair"].mean() - table.loc[~none, "affair"].mean()}


estimated = posterior.estimate(gap, draws=100, seed=1)
print(f"in the population: {gap(population)['gap']:.3f}")
estimated.interval(0.95).round(3)

# %% [markdown]
# ## Synthetic copies
#
# Others want files. `synthetic` hands out some of the tables as DataFrames with the survey's
# columns and types; they are post-processing of the release, so they cost nothing and need no
# ledger. Each is analysed as if it were real, and Rubin's rule puts the analyses together: the
# records are missing, and the copies impute them. `bdp.evaluate.SyntheticCopies` writes them as a
# folder of files that says so to whoever opens it.

# %%
copies = posterior.synthetic(copies=20, seed=1)
fits = [smf.logit("affair ~ rating", copy.astype(as_numbers)).fit(disp=False) for copy in copies]
combined = bdp.combine(
    [fit.params["rating"] for fit in fits],
    [fit.cov_params().loc["rating", "rating"] for fit in fits],
    rule="rubin",
)
direct = posterior.regression("affair ~ rating", family="logit", draws=100, seed=1).interval(0.95)
answers = {
    "20 copies, combined": combined.interval(0.95),
    "posterior.regression": direct.loc["rating", ["lower", "upper"]],
    "the first copy, taken for real": fits[0].conf_int().loc["rating"],
}
truth = smf.logit("affair ~ rating", population.astype(as_numbers)).fit(disp=False)
print(f"in the population: {truth.params['rating']:.3f}")
table = pd.DataFrame({name: np.asarray(ends, dtype=float) for name, ends in answers.items()}).T
table.set_axis(["lower", "upper"], axis=1).round(3)

# %% [markdown]
# Which to use when:
#
# | you have | and want | use |
# |---|---|---|
# | the posterior | shares or counts of some columns | `posterior.table` |
# | the posterior | a linear, logistic, Poisson or ordinal regression | `posterior.regression` |
# | the posterior | anything else that a function of a table returns | `posterior.estimate` |
# | files alone | shares, or a regression | `bdp.evaluate.SyntheticCopies.load(folder)` |
# | files alone | other estimates, and variances | each copy, `bdp.combine(..., rule="rubin")` |
# | a single file | to write and try out code | one copy, and no conclusion |
#
# The first three need no variances and use more draws than twenty, and `table` and `regression`
# warn where they rest on the model alone, as `SyntheticCopies` does. Files say nothing.
#
# ## What rests on the model
#
# Nine pairs of columns were measured. How three go together was not, nor where in its interval a
# number lies. There the latent class model fills in: records are of a few kinds, within which
# columns are independent, and which kinds there are the pairs must say. How well that works can be
# seen here, as the truth is known. First a table of three columns, whose forty cells no marginal
# has:


# %%
def held(names):
    """Say how many cells of a table have the survey's own count in their interval."""
    found = posterior.table(names, target="data").interval(0.95)
    own = schema.coded(survey).groupby(names).size()
    every = pd.MultiIndex.from_product([range(schema.cells[name]) for name in names])
    own = own.reindex(every, fill_value=0).to_numpy()
    inside = (found["lower"] <= own) & (own <= found["upper"])
    return f"{inside.sum()} of {len(found)} intervals hold the survey's count"


print(held(["rating", "religious", "affair"]))

# %% [markdown]
# Pairs determine triples well unless three columns conspire. If affairs went with poor marriages
# among the religious, and with good ones among all others, pairs would hardly show it, and the
# model would smooth it away. So measure the triple that you care about. Next, the pair that was
# left out, of which the posterior warns before it answers:

# %%
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print(held(["children", "religious"]))
print(caught[-1].message)

# %% [markdown]
# The report shows all of this on one page, without network or other files: every column with its
# released shares and intervals, the pairs that depend on each other most and those that are known
# least well, the budget by measurement, and what rests on the model. On the command line, the whole
# way is
#
# ```sh
# bayesdp schema template survey.csv --out survey.toml      # and fill it in
# bayesdp synthesize survey.csv --schema survey.toml --epsilon 1 --delta 1e-6 --out release/
# bayesdp fit release/ --out posterior.nc
# bayesdp report posterior.nc release/ --out report/
# bayesdp estimate posterior.nc "affair ~ rating + age" --family logit
# ```

# %%
page = bdp.evaluate.write_report(posterior, released, "report", title="Marriages and affairs")
print(f"{page}: {page.stat().st_size:,} bytes")

# %% [markdown]
# ## What to take away
#
# * Write the schema from the codebook, before anybody looks at the records.
# * One release of well-chosen marginals answers many questions. Ask the posterior, not a copy.
# * Say which truth you want: the population's, or that of the records.
# * What wasn't measured rests on a model. Measure what the main conclusion hangs on.
#
# Read on: [Which mechanism, which model?](choosing.md) has the widths of single questions, and
# [What goes wrong](what_goes_wrong.md) what each warning of a fit means.
