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
# # A ledger in a team
#
# This page is for teams who release from the same data, and must keep the sum.
#
# Every release about the same people costs, and the costs add up, whoever made them. A promise
# that is true of each release on its own says little if nobody keeps the sum. A `Ledger` keeps it,
# in a database: each release is paid before it's drawn, and one that costs more than is left is
# refused. This page follows a team of three through a year.

# %%
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

import bayesdp as bdp
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

plt.rcParams.update(STYLE | {"figure.dpi": 150})
blue, orange, purple = (COLOURS[role][0] for role in ("posterior", "naive", "reiter"))

os.chdir(tempfile.mkdtemp())  # the team's folder
url = "sqlite:///budget.db"
ledger = bdp.Ledger.open(url)
account = ledger.create("voters-2026", epsilon=3.0, delta=1e-6, neighbours="replace_one")
account.budget

# %% [markdown]
# ## The budget
#
# A budget is set once and can't be raised. It names the relation that all is counted under, here
# replacing one voter's record. What does `epsilon=3` mean? Whoever sees *everything* that is ever
# released about the voters can multiply their odds about one of them by $e^3 \approx 20$ at most,
# but for an event of probability `delta`. That is a decision about people, not a technical
# setting; it's made before the first release, and by those who answer for it.
#
# ## Spending
#
# Give a synthesizer the dataset's account. The order is fixed: the data are checked, the cost is
# written and synced to disk, then the release is drawn. A crash in between loses budget, never
# privacy.

# %%
voted = np.random.default_rng(1).random(5000) < 0.62  # stands for confidential answers
bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=1).release(voted, ledger=account)
turnout = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=0.5, sensitivity=1, neighbours="replace_one"
)
bdp.publish(turnout, int(voted.sum()), ledger=account)


def statement(account):
    rows = [
        {
            "what": e.released["mechanisms"][0]["name"] if e.released else "",
            "promised": str(e.guarantee),
            "charged": e.epsilon,
        }
        for e in account.history()
    ]
    return pd.DataFrame(rows, index=pd.RangeIndex(1, len(rows) + 1, name="entry"))


print(account.remaining(), "is left")
statement(account)

# %% [markdown]
# An entry has the mechanism and its public parameters, what it promises, and how sure that is. No
# data, no statistic and no output are in a ledger, so it may be shown to whoever asks. (Half of
# `delta` is kept aside. What for is below.)
#
# ## Refusals
#
# Nothing is spent or drawn by a release that's refused. Five attempts:

# %%
published = bdp.Guarantee(
    epsilon=0.1,
    delta=0.0,
    neighbours=bdp.Neighbours.REPLACE_ONE,
    strength=bdp.Strength.AS_PUBLISHED,
    assumptions=(),
    source="a theorem that nobody has checked",
)
friends = nx.path_graph(5)


def seeded():
    with bdp.reproducible(3):
        bdp.publish(turnout, 3100, ledger=account)


attempts = {
    "too dear": lambda: bdp.BetaBinomialSynthesizer(epsilon=2.0).release(voted, ledger=account),
    "seeded": seeded,
    "unproved": lambda: account.spend(published),
    "about something else": lambda: bdp.synthesizers.EdgeFlipSynthesizer(epsilon=0.1).release(
        friends, ledger=account
    ),
    "a second budget": lambda: ledger.create("voters-2026", epsilon=9, neighbours="replace_one"),
}
for reason, attempt in attempts.items():
    try:
        attempt()
    except bdp.errors.BayesDPError as error:
        print(f"{reason} ({type(error).__name__}): {error}\n")

# %% [markdown]
# A seeded release promises nothing, as its seed can be guessed. A claim that is only published may
# be charged by whoever insists, with `accept_unproved=True`; from then on the whole account is no
# surer than that. The tie of a friendship isn't the record of a voter, so an epsilon about one says
# nothing of the other. Where a theorem converts, the ledger does: what costs 0.25 if a record is
# added or removed costs twice that if one is replaced.

# %%
other = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=0.25, sensitivity=1)
bdp.publish(other, int(voted.sum()), ledger=account)
statement(account)

# %% [markdown]
# ## Two people at once
#
# About 1 is left. Ann and Bob each ask for 0.8, at the same moment, from processes of their own.
# Who comes first is up to the database; that both are served is impossible.

# %%
program = f"""
import bayesdp as bdp
account = bdp.Ledger.open({url!r}).dataset("voters-2026")
try:
    bdp.BetaBinomialSynthesizer(epsilon=0.8, copies=1).release([1, 0] * 2500, ledger=account)
    print("served")
except bdp.errors.BudgetExceeded:
    print("refused")
"""
asked = [
    subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    for _ in ("Ann", "Bob")
]
answers = [process.communicate()[0].strip() for process in asked]
print(sorted(answers), "-", account.remaining(), "is left")

# %% [markdown]
# With SQLite the team shares a file, which may lie on a network disk that locks. With PostgreSQL it
# shares a server: the URL is then `postgresql+psycopg://ann@db.office/ledgers`, after `pip install
# "bayesdp[postgres]"`, and nothing else changes. A server that doesn't sync its commits is refused,
# as a power cut would give budget back. On the command line:
#
# ```sh
# bayesdp ledger create postgresql+psycopg://ann@db.office/ledgers voters-2026 \
#     --epsilon 3 --delta 1e-6 --neighbours replace_one
# bayesdp synthesize voters.csv --column voted --epsilon 1 --out release/ \
#     --ledger postgresql+psycopg://ann@db.office/ledgers --dataset voters-2026
# bayesdp ledger show postgresql+psycopg://ann@db.office/ledgers voters-2026
# bayesdp ledger verify postgresql+psycopg://ann@db.office/ledgers
# ```
#
# ## Has anybody touched it?
#
# Each entry has a hash of itself and of the one before. `verify` follows the chain and returns its
# last hash. Carol writes that down elsewhere, on paper if she likes. Then one person edits an
# entry, and another brings back an old copy of the file, from before the last release:

# %%
shutil.copy("budget.db", "old.db")
little = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=0.1, sensitivity=1, neighbours="replace_one"
)
bdp.publish(little, int(voted.sum()), ledger=account)
note = ledger.verify()
print("Carol's note:", note["voters-2026"][:16], "...\n")

shutil.copy("budget.db", "edited.db")
with closing(sqlite3.connect("edited.db")) as connection, connection:
    change = "update bayesdp_entry set body = replace(body, '0.5', '0.1') where position = 2"
    connection.execute(change)
for file in ("budget.db", "edited.db", "old.db"):
    try:
        bdp.Ledger.open(f"sqlite:///{file}").verify(heads=note)
        print(f"{file}: as it was")
    except bdp.errors.LedgerCorrupted as error:
        print(f"{file}: {error}\n")

# %% [markdown]
# Without the note the old copy would pass, as it was right once. The chain proves that nobody
# changed the past without rewriting all that came after; a note kept elsewhere proves that nobody
# did that either. `bayesdp ledger export` writes the whole history as text, signed if there is a
# key: see [A team's budget](how_to.md#a-teams-budget), with roles for auditors and spenders, and
# backup and restore.
#
# ## Many small releases
#
# A table every month costs more each month, but not as much as the sum. Losses of independent
# releases rarely all point the same way: for a small probability `delta` that they do, the total is
# closer to the square root of their number. `bdp.compose` computes it for mechanisms known
# beforehand.

# %%
monthly = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
    epsilon=0.05, sensitivity=1, neighbours="replace_one"
)
months = np.unique(np.geomspace(1, 240, 30).astype(int))
added = [bdp.compose([(monthly, int(k))]).epsilon for k in months]
composed = [bdp.compose([(monthly, int(k))], delta=1e-6).epsilon for k in months]
rates = np.geomspace(0.001, 1, 30)
whole = {e: bdp.compose([(monthly, round(20 * e))]) for e in (0.5, 1.0, 2.0)}

# %% tags=["drawing"]
figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.7), layout="constrained")
left.plot(months, added, color=orange, lw=2, ls=(0, (4, 2)), label="sum, $\\delta = 0$")
left.plot(months, composed, color=blue, lw=2, label="composed, $\\delta = 10^{-6}$")
left.set(xlabel="monthly releases at $\\epsilon = 0.05$", ylabel="total $\\epsilon$", ylim=(0, 12))
left.legend(frameon=False, loc="upper left")
lines = ((blue, (0, (1, 1))), (purple, (0, (4, 2))), (orange, "-"))
for (epsilon, promise), (colour, dashes) in zip(whole.items(), lines, strict=True):
    promised = [
        bdp.privacy.subsampled(promise, rate=rate, scheme="without_replacement").epsilon
        for rate in rates
    ]
    right.loglog(rates, promised, color=colour, lw=2, ls=dashes, label=f"$\\epsilon = {epsilon:g}$")
right.set(xlabel="share of the records in a secret sample", ylabel="$\\epsilon$ for all records")
right.legend(frameon=False, title="for the sample", loc="lower right")
plt.show()

# %% [markdown]
# A ledger can't use that formula as it is: the next release may depend on what the last one showed,
# and composition of a sequence fixed beforehand isn't proved for one that is chosen on the way. Its
# rule is. It keeps a part of `delta` aside, half unless told otherwise, and takes a release if the
# sums of `epsilon` *or* what concentrated composition makes of them stays in the budget. The same
# budget, with and without:

# %%
for name, kept in (("sums alone", 0.0), ("sums or concentrated", None)):
    tables = ledger.create(
        f"tables, {name}", epsilon=3.0, delta=1e-6, neighbours="replace_one", conversion_delta=kept
    )
    try:
        while True:
            tables.spend(monthly.guarantee())
    except bdp.errors.BudgetExceeded:
        print(f"{name}: {len(tables.history())} months")
print("charged, added up:     ", tables.spent())
print("as a fixed sequence:   ", tables.spent(delta=1e-6))
print("whatever came to pass: ", f"epsilon = {tables.budget.epsilon:g}, delta = 1e-06")

# %% [markdown]
# ## A secret sample
#
# A release from a random sample that nobody sees costs less for each record, as most aren't in it:
# the right panel above. `bdp.privacy.subsampled` gives the promise. The sample must be drawn afresh
# and with a secure generator, for this release alone, and who is in it must stay secret for good.
# The release itself is then paid by hand, before it's drawn.

# %%
records = np.random.default_rng(2).random(40_000) < 0.3  # another confidential file
survey = ledger.create("letters-2026", epsilon=0.2, neighbours="replace_one")
synthesizer = bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=1)
chosen = random.SystemRandom().sample(range(records.size), 4000)
promise = bdp.privacy.subsampled(
    synthesizer.guarantee(n=len(chosen)),
    rate=len(chosen) / records.size,
    scheme="without_replacement",
)
survey.spend(promise, {"what": "a synthetic copy of a secret tenth"})
release = synthesizer.release(records[chosen])
print(promise, "of", synthesizer.guarantee(n=len(chosen)))

# %% [markdown]
# Whoever reads such a release must know that it is about a sample: the analyst's model takes the
# 4,000 as the records, which is right for a proportion in the population that both come from.
#
# ## What isn't covered
#
# * **Releases that nobody pays for.** A table sent by mail, a chart on a slide, a debug print. The
#   ledger sees what goes through it.
# * **One body of data under two names.** Each name has its own budget. Two files about the same
#   people are one body of data.
# * **What the computation takes.** How long a release took, or that it failed, may depend on the
#   data; `epsilon` is about outputs.
# * **What the curator sees.** Comparing ten releases with the confidential data and publishing the
#   best is a release of its own, whose price nobody has computed.
# * **The disk.** The confidential file lies there, and so do copies and backups of it.
# * **What is true of people in general.** If a release shows that smokers fall ill, that's a fact
#   about smokers; it is learned whether or not any one of them answered.
#
# ## What to take away
#
# * One body of data, one name, one budget, set once and for all by those who answer for it.
# * Everything that leaves goes through the ledger: `ledger=account`, or `spend` before it is drawn.
# * Write the last hash down where nobody can change it.
#
# Read on: [Choosing epsilon](08_choosing_epsilon.md) before the budget is set, and
# [Your own data](your_own_data.md#publish) to spend it.
