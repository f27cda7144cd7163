"""The report in a real browser: it renders, fits a phone, and can be read."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.report.html import render, write_report
from bayesdp.report.summary import summarize
from tests.report.browsing import BOXES, TEXTS, VIEWS, Browser, contrast, fits, luminance

pytestmark = pytest.mark.slow

METHODS = ("posterior", "naive", "liu", "reiter_positive")
DOTS = """
return [...document.querySelectorAll('svg.chart')].map(chart => {
  const frame = chart.getBoundingClientRect();
  const dots = {};
  for (const mark of chart.querySelectorAll('[data-method]')) {
    const dot = (mark.querySelector('.dot') || mark).getBoundingClientRect();
    dots[mark.dataset.method] = [(dot.left + dot.right) / 2 - frame.left, dot.width, dot.height];
  }
  return {group: chart.dataset.group, width: frame.width, dots: dots};
});
"""


@pytest.fixture(scope="module")
def release() -> bdp.Release:
    outputs = {1: (60, [33, 29, 31]), 2: (90, [44, 49, 40]), 3: (120, [50, 41, 47])}
    parts = {
        label: (
            bdp.mechanisms.BetaBinomialMechanism.calibrate(n=n, size=n, epsilon=2.0, copies=3),
            ones,
        )
        for label, (n, ones) in outputs.items()
    }
    return bdp.Release.of_groups(parts, by="rating", variable="affairs")


@pytest.fixture(scope="module")
def idata(release):
    return bdp.BinomialModel().fit(release, draws=1000, seed=1)


@pytest.fixture(scope="module")
def page(release, idata, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("browser") / "report"
    return write_report(idata, release, folder, reference={1: 0.6, 2: 0.5, 3: 0.3})


@pytest.fixture(params=VIEWS)
def view(request, browser, page) -> Browser:
    browser.open(page, *request.param)
    return browser


def test_figures_and_tables_render_inside_the_viewport(view):
    assert fits(view)
    for selector, count in {
        "h1": 1,
        "section": 7,
        "svg.chart": 3,
        "svg.density": 3,
        ".scroll": 2,
        ".legend li": 6,
    }.items():
        boxes = view.run(BOXES, selector)
        assert len(boxes) == count, selector
        for left, right, wide, high in boxes:
            assert wide > 100, selector
            assert high > 15, selector
            assert left >= 0, selector
            assert right <= view.width, selector
    for _, _, wide, high in view.run(BOXES, "table"):
        assert wide > 300
        assert high > 100


def test_axis_text_stays_inside_the_viewport(view):
    boxes = view.run(BOXES, "svg text")
    assert len(boxes) >= 8
    assert all(left >= 0 and right <= view.width for left, right, _, _ in boxes)


def test_ticks_of_an_axis_do_not_collide(view):
    for selector in (".row.axis svg", ".panel:nth-child(1) svg.density"):
        boxes = view.run(BOXES, f"{selector} text")
        assert all(a[1] < b[0] for a, b in pairwise(boxes))


def test_a_mark_for_each_group_and_method_at_its_place(view, release, idata):
    summary = summarize(idata, release)
    charts = view.run(DOTS)
    assert [chart["group"] for chart in charts] == ["1", "2", "3"]
    shares, places = [], []
    for chart, group in zip(charts, summary.groups, strict=True):
        assert set(chart["dots"]) == {*METHODS, "copies"}
        for method in METHODS:
            x, wide, high = chart["dots"][method]
            assert wide > 5
            assert high > 5
            shares.append(group.by(method).estimate)
            places.append(x / chart["width"])
        assert chart["dots"]["copies"][1] > 3
    # places are a straight line in the estimates, the same for all charts, to half a pixel
    line = np.polynomial.Polynomial.fit(shares, places, 1)
    assert np.allclose(line(np.array(shares)), places, atol=2e-3)
    assert line.convert().coef[1] > 0


def test_density_curves_are_drawn(view):
    for selector in (".curve.naive", ".curve:not(.naive)", ".area"):
        boxes = view.run(BOXES, selector)
        assert len(boxes) == 3
        assert all(wide > 5 and 60 < high < 130 for _, _, wide, high in boxes)


def test_text_stands_out_from_its_background(view):
    texts = view.run(TEXTS)
    assert len(texts) > 100
    assert {text: contrast(a, b) for text, a, b in texts if contrast(a, b) < 4.5} == {}


def test_marks_stand_out_from_the_paper(view):
    """Graphics need 3 to 1."""
    colours = view.run(
        "return [...document.querySelectorAll('svg.chart [data-method], svg.chart .reference line,"
        " svg.chart .copies line, .curve')].map(e => getComputedStyle(e).stroke)"
    )
    paper = view.run("return getComputedStyle(document.body).backgroundColor")
    colours = {colour for colour in colours if colour != "none"}
    assert len(colours) >= 5
    assert min(contrast(colour, paper) for colour in colours) >= 3


def test_colour_scheme_is_followed(browser, page):
    papers = []
    for scheme in ("light", "dark"):
        browser.open(page, 1280, 900, scheme)
        papers.append(
            luminance(browser.run("return getComputedStyle(document.body).backgroundColor"))
        )
    assert papers[0] > 0.9
    assert papers[1] < 0.05


def test_no_errors_and_no_requests(view, page):
    assert view.driver.get_log("browser") == []
    asked = view.requests()
    assert page.as_uri() in asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_figures_have_names(view):
    labels = view.run("return [...document.querySelectorAll('[role=img]')].map(e => e.ariaLabel)")
    assert len(labels) == 6
    assert all("%" in label for label in labels)
    assert view.run("return document.documentElement.lang") == "en"
    assert view.run("return document.title").startswith("affairs by rating")


def test_long_hostile_labels(browser, tmp_path):
    evil = "<script>document.title = 'broken'</script>"
    counts = {"x" * 200: bdp.Count(3, 20), "word " * 60: bdp.Count(4, 20), evil: bdp.Count(5, 20)}
    with bdp.reproducible(3):
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(counts, variable="y" * 150)
    idata = bdp.BinomialModel().fit(release, draws=200, seed=1)
    for width in (360, 1280):
        browser.open(write_report(idata, release, tmp_path / str(width)), width, 800, "light")
        assert fits(browser)
        assert "broken" not in browser.run("return document.title").split(":")[0]
        assert browser.run("return document.querySelectorAll('script').length") == 0
        texts = browser.run("return [...document.querySelectorAll('.label')].map(e => e.innerText)")
        assert evil in texts
        assert browser.driver.get_log("browser") == []


def test_tables_of_many_groups_open(browser, tmp_path):
    counts = {k: bdp.Count(k, 40) for k in range(30)}
    release = bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=2).release(counts)
    idata = bdp.BinomialModel().fit(release, draws=200, seed=1)
    (tmp_path / "page.html").write_text(render(summarize(idata, release)), encoding="utf-8")
    browser.open(tmp_path / "page.html", 390, 844, "light")
    assert len(browser.run(BOXES, "svg.chart")) == 30
    assert browser.run("return document.querySelector('#mechanisms').checkVisibility()") is False
    browser.run("document.querySelector('summary').click()")
    assert browser.run("return document.querySelector('#mechanisms').checkVisibility()") is True
    assert fits(browser)


@pytest.fixture(scope="module")
def normal_page(tmp_path_factory) -> Path:
    """Of another family, with two variables and 30 groups, one with a long hostile name."""
    noise = bdp.mechanisms.LaplaceMechanism(0.5, 0.1, neighbours="replace_one", n=400, dimension=2)
    labels = ["<b>bold</b> " + "x" * 150, *(f"site {k}" for k in range(29))]
    release = bdp.Release.of_groups(
        {label: (noise, [(k - 4.0, 4.0 + k / 8)]) for k, label in enumerate(labels)},
        variable="height",
    )
    idata = bdp.GaussianModel(prior=(0, 0.01, 2, 4)).fit(release, draws=100, seed=1)
    return write_report(idata, release, tmp_path_factory.mktemp("normal") / "report")


@pytest.mark.parametrize("shape", VIEWS)
def test_the_page_on_any_family(browser, normal_page, shape):
    browser.open(normal_page, *shape)
    assert fits(browser)
    charts = browser.run(BOXES, "svg.chart")
    assert len(charts) == 60
    assert all(wide > 100 and 0 <= left < right <= browser.width for left, right, wide, _ in charts)
    for variable in (1, 2):
        boxes = browser.run(BOXES, f"figure:nth-of-type({variable}) .row.axis text")
        assert len(boxes) >= 2
        assert all(a[1] < b[0] for a, b in pairwise(boxes))
        assert all(left >= 0 and right <= browser.width for left, right, _, _ in boxes)
    texts = browser.run(TEXTS)
    assert {text: contrast(a, b) for text, a, b in texts if contrast(a, b) < 4.5} == {}
    assert browser.run("return document.querySelectorAll('b, script').length") == 0
    assert browser.driver.get_log("browser") == []
