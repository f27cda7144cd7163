"""One browser for each file of tests, and a release to report on."""

import shutil
from collections.abc import Iterator

import numpy as np
import pytest
from selenium import webdriver

import bayesdp as bdp
from tests.conftest import missing
from tests.report.browsing import FLAGS, Browser, service

SIZES = {"a": 50, "b": 80, "c": 30}
OUTPUTS = {"a": [21, 26, 23, 25], "b": [45, 51, 44, 39], "c": [9, 13, 12, 15]}


def fit(release, **options):
    return bdp.BinomialModel(options.pop("prior", (1, 1))).fit(release, seed=1, **options)


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    chromium, chromedriver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        missing("Chromium or its driver", "apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=service(chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture(scope="module")
def release():
    """What a synthesizer drew once at epsilon = 3."""
    parts = {
        label: (
            bdp.mechanisms.BetaBinomialMechanism.calibrate(n=n, size=n, epsilon=3.0, copies=4),
            OUTPUTS[label],
        )
        for label, n in SIZES.items()
    }
    return bdp.Release.of_groups(parts, variable="owns", origin="bayesdp")


@pytest.fixture(scope="module")
def idata(release):
    return fit(release, prior=(0.5, 0.5), draws=2000)


@pytest.fixture
def markov_chains(release, idata):
    """The same draws, as a NUTS engine would hand them over."""
    chains = idata.copy()
    chains.attrs = {**idata.attrs, "engine": "pymc", "engine_reason": "asked for"}
    shape = chains.posterior["p"].shape[:2]
    chains.sample_stats["diverging"] = (("chain", "draw"), np.zeros(shape, dtype=bool))
    return chains
