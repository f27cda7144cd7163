"""The explorer in a real browser: it can be read, and used without a mouse."""

import math
from itertools import pairwise

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import bayesdp as bdp
from tests.report.browsing import BOXES, TEXTS, VIEWS, contrast, fits
from tests.report.exploring import COPIES, made

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    outputs = {"x" * 90: (60, [33, 29, 31]), "<i>south</i>": (90, [44, 49, 40])}
    parts = {label: (made(COPIES, n, 2.0, 3), ones) for label, (n, ones) in outputs.items()}
    release = bdp.Release.of_groups(parts, by="region", variable="y" * 70)
    return bdp.evaluate.write_explorer(release, tmp_path_factory.mktemp("page") / "page.html")


@pytest.fixture(params=[*VIEWS, pytest.param((360, 640, "light"), id="360x640")])
def view(request, browser, path):
    browser.open(path, *request.param)
    browser.driver.find_element(By.ID, "epsilon").send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    WebDriverWait(browser.driver, 120).until(
        lambda _: browser.run("return !document.getElementById('back').disabled")
    )
    return browser


def test_fits_and_draws(view):
    assert fits(view)
    for left, right, wide, _ in view.run(BOXES, "#chart, input[type=range], #belief, .numbers"):
        assert wide > 150
        assert 0 <= left < right <= view.width
    assert len(view.run(BOXES, "#chart [data-method] .dot")) == 3
    assert len(view.run(BOXES, "#chart .ghost")) == 3  # the release's density and bounds
    ticks = view.run(BOXES, "#chart .tick")
    assert len(ticks) >= 2
    assert all(a[1] < b[0] for a, b in pairwise(ticks))
    assert all(left >= 0 and right <= view.width for left, right, _, _ in ticks)
    names = view.run(BOXES, "#chart [data-method] > text")
    assert all(right <= view.width for _, right, _, _ in names)


def test_intervals_are_drawn_where_the_table_says(view):
    drawn = view.run(
        "const inner = document.getElementById('chart').getBoundingClientRect();"
        "return [...document.querySelectorAll('#chart [data-method]')].map(group => {"
        "const box = group.querySelector('line').getBoundingClientRect();"
        "const row = document.querySelector(`tr[data-method=${group.dataset.method}]`);"
        "const value = n => Number(row.querySelector(`[data-number=${n}]`).dataset.value);"
        "return [box.left - inner.left, box.right - inner.left, value('low'), value('high')];})"
    )
    ends = np.array(drawn)
    places, values = ends[:, :2].ravel(), ends[:, 2:].ravel()
    line = np.polynomial.Polynomial.fit(values, places, 1)
    assert np.allclose(line(values), places, atol=1.0)  # pixels


def test_text_and_sliders_stand_out(view):
    texts = view.run(TEXTS)
    assert len(texts) > 50
    assert {text: contrast(a, b) for text, a, b in texts if contrast(a, b) < 4.5} == {}
    colours = view.run(
        "return [...document.querySelectorAll('#chart .curve, #chart .ghost, #chart line.dot,"
        " #chart [class^=m-], #chart .copies line')].map(e => getComputedStyle(e).stroke)"
    )
    paper = view.run("return getComputedStyle(document.body).backgroundColor")
    assert len(colours) > 6
    assert min(contrast(colour, paper) for colour in colours) >= 3


def test_no_errors_and_no_requests(view, path):
    assert view.driver.get_log("browser") == []
    asked = view.requests()
    assert path.as_uri() in asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_everything_has_a_name_and_a_place_in_the_order(view):
    unnamed = view.run(
        "return [...document.querySelectorAll('input, select, button, svg[role=img]')].filter("
        "e => !(e.ariaLabel || e.labels?.length || e.textContent.trim()"
        " || e.hasAttribute('aria-labelledby'))).map(e => e.outerHTML)"
    )
    assert unnamed == []
    body = view.driver.find_element(By.TAG_NAME, "body")
    view.run("document.activeElement.blur()")
    order = []
    for _ in range(11):
        body.send_keys(Keys.TAB)
        order.append(view.run("return document.activeElement.id"))
    controls = ["epsilon", "copies", "n", "share"]
    expected = ["group"]
    for name in controls:
        expected += [f"{name}-number", name]
    start = order.index("group")
    assert order[start : start + len(expected)] == expected[: len(order) - start]
    assert view.run("return document.querySelectorAll('b, i').length") == 0


def test_changes_are_spoken_once_they_end(view):
    status = view.driver.find_element(By.ID, "spoken")
    assert status.get_attribute("aria-live") == "polite"
    WebDriverWait(view.driver, 120).until(
        lambda _: "ε = 1.6" in status.get_attribute("textContent")
    )
    slider = view.driver.find_element(By.ID, "epsilon")
    assert slider.get_attribute("aria-valuetext") == "ε = 1.6"


def test_the_promise_is_said_in_odds(view):
    words = view.driver.find_element(By.ID, "promise-words").text
    assert f"{math.ceil(math.exp(1.6) * 1000) / 1000}" in words
    belief = view.driver.find_element(By.ID, "belief-words").text
    assert "at most 83.21%" in belief  # e^1.6 / (1 + e^1.6) = 0.83202
