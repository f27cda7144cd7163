"""An explorer that is open in a browser, and the numbers that Python has for what it shows."""

import json
import math
from pathlib import Path

import numpy as np
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import bayesdp as bdp
from bayesdp.engines.mixture import BetaMixture
from bayesdp.evaluation.combining import proportions

COPIES, ANSWERS, NOISE = "beta_binomial", "randomized_response", "discrete_laplace"


def beta(a: float, b: float) -> BetaMixture:
    return BetaMixture(np.ones(1), np.array([float(a)]), np.array([float(b)]))


def computed(kind, mechanism, outputs, n, prior=(1.0, 1.0), level=0.95) -> dict:
    """Estimate and bounds of each method, as a Python user gets them."""
    size = mechanism.size if kind == COPIES else n
    if kind == ANSWERS:
        (ones,) = outputs
        release = bdp.Release.of(mechanism, [np.repeat([1, 0], [ones, n - ones])])
        posterior = bdp.MultinomialModel(prior=prior[::-1]).posterior(release, 1)
        naive = beta(prior[0] + ones, prior[1] + n - ones)
    else:
        release = bdp.Release.of(mechanism, outputs)
        weights = {1.0: n} if kind == NOISE else None
        model = bdp.BinomialModel(prior, weights=weights)
        posterior = model.posterior(release)
        inside = 0 <= np.mean(outputs) <= size
        naive = model.naive_posterior(release) if inside else None
    found = {"posterior": posterior, "naive": naive}
    found = {k: v and (v.mean(), *v.interval(level)) for k, v in found.items()}
    found["combined"] = None
    if len(outputs) > 1 and min(outputs) >= 0 and max(outputs) <= size:
        liu = bdp.combine(*proportions(outputs, size))
        found["combined"] = (liu.estimate, *liu.interval(level))
    return found


def made(kind, n, epsilon, copies, sized=True):
    """The mechanism that the page says it has, by the package's own calibration."""
    if kind == COPIES:
        size = n if sized else 40
        return bdp.mechanisms.BetaBinomialMechanism.calibrate(
            n=n, size=size, epsilon=epsilon, copies=copies
        )
    if kind == ANSWERS:
        return bdp.mechanisms.RandomizedResponseMechanism.binary(epsilon, n)
    return bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
        epsilon=epsilon, sensitivity=1, copies=copies
    )


def alike(share: float, copies: int, size: int) -> list[int]:
    """Outputs of one proportion, as whole numbers with the right total."""
    total = math.floor(share * copies * size + 0.5)
    each, more = divmod(total, copies)
    return [each + (k < more) for k in range(copies)]


def largest_difference(shown, expected) -> float:
    worst = 0.0
    for method, numbers in expected.items():
        assert (shown[method] is None) == (numbers is None), method
        for a, b in zip(shown[method] or (), numbers or (), strict=True):
            worst = max(worst, abs(a - b))
    return worst


class Page:
    """An explorer that is open in the browser."""

    def __init__(self, browser, release, folder, *, model=None, level=0.95, view=(1280, 900)):
        self.browser = browser
        path = Path(folder) / f"{len(list(Path(folder).iterdir()))}.html"
        self.path = bdp.evaluate.write_explorer(release, path, model=model, level=level)
        browser.open(self.path, *view, "light")

    def find(self, name: str):
        return self.browser.driver.find_element(By.ID, name)

    def press(self, name: str, *keys: str) -> None:
        """Press keys on a slider, and wait until the page has drawn what they do."""
        self.find(name).send_keys(*keys)
        self.drawn()

    def type(self, name: str, text: str) -> None:
        self.find(f"{name}-number").send_keys(Keys.CONTROL, "a")
        self.find(f"{name}-number").send_keys(Keys.BACKSPACE, text, Keys.ENTER)
        self.drawn()

    def drawn(self) -> None:
        self.browser.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"
        )

    def choose(self, label: str) -> None:
        self.find("group").send_keys(label)
        self.drawn()

    @property
    def settings(self) -> dict:
        return json.loads(self.browser.run("return document.body.dataset.settings"))

    @property
    def shown(self) -> dict:
        """Estimate and bounds of each method in the table, all digits."""
        rows = self.browser.run(
            "return [...document.querySelectorAll('#numbers tbody tr')].map(row => ["
            "row.dataset.method, [...row.querySelectorAll('td')].map(td => td.dataset.value)])"
        )
        found = {"posterior": None, "naive": None, "combined": None}
        return found | {
            method: None if values[0] is None else [float(x) for x in values[:3]]
            for method, values in rows
        }
