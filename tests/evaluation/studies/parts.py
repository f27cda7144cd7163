"""What the tests' studies are made of; light to import, since worker processes do."""

import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import bayesdp as bdp


def bernoulli(generator, n, p=0.3):
    """Records, and the truth behind them."""
    return bdp.evaluate.Simulated(generator.binomial(1, p, n), p)


def share(release):
    """The copies' share of ones: an analyst's naive estimate."""
    return {"mean": np.mean(release.outputs) / release.mechanism.size}


def compared(release, data, generator):
    """What the release did to the share, and a random number of the analysis's own."""
    return {"difference": share(release)["mean"] - np.mean(data), "luck": generator.random()}


def fails_at_times(release, data):
    """Fails where the data have few ones, in words that show them."""
    if np.sum(data) < 28:
        raise ValueError(f"the data are {np.sum(data)}")
    return share(release)


def refuses(release):
    raise bdp.errors.InvalidInput("this release is refused")


def deadly(release, data):
    """Ends its process for some data."""
    if np.sum(data) < 22:
        os._exit(1)
    return share(release)


def slow(release, seconds):
    time.sleep(seconds)
    return share(release)


def study(replicates=5, **others):
    """Two synthesizers over a grid, two analyses: three cells, if nothing else is asked for."""
    declared = {
        "data": bernoulli,
        "synthesizers": {
            "copies": bdp.BetaBinomialSynthesizer,
            "fixed": partial(bdp.BetaBinomialSynthesizer, epsilon=1.0, copies=1),
        },
        "analyses": [share, compared],
        "grid": {"epsilon": [0.5, 2.0], "n": [100]},
        "replicates": replicates,
        "seed": 7,
    }
    return bdp.Study(**(declared | others))


def short(replicates=500, seconds=0.0):
    """Four cells of short replicates, that take at least so many seconds."""
    return bdp.Study(
        data=bernoulli,
        synthesizers=[bdp.BetaBinomialSynthesizer],
        analyses={"share": partial(slow, seconds=seconds)},
        grid={"epsilon": [0.5, 1.0, 2.0, 4.0], "n": [50]},
        replicates=replicates,
        seed=11,
    )


def until_killed(folder, client, began):
    """Runs `short` in a folder, says when it begins to compute, and never ends."""

    def tell(done, whole):
        Path(began).touch()
        if done > 1500:
            time.sleep(600)

    short(seconds=0.001).run(folder, client=client, progress=tell)


if __name__ == "__main__":
    until_killed(sys.argv[1], sys.argv[2], sys.argv[3])
