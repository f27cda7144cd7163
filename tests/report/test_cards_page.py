"""Cards in a real browser: they fit, can be read in both themes, and fetch nothing."""

import pytest

from tests.display.test_cards import SHOWN
from tests.report.browsing import BOXES, TEXTS, contrast, fits

pytestmark = pytest.mark.slow
CARDS = ("release", "guarantee", "ledger", "dataset", "plan", "study", "beta", "ModipsSynthesizer")
PAPER = """
return [...document.querySelectorAll('.bayesdp-card')].map(e => getComputedStyle(e).backgroundColor)
"""
HEAD = "<!doctype html><meta charset=utf-8><meta name=viewport content=width=device-width>"
JUPYTERLAB = """
.jp-RenderedHTMLCommon dl dt { float: left; width: 20%; display: inline-block; font-weight: bold; }
.jp-RenderedHTMLCommon dl { display: block; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5; }
"""
"""Its rules that cards meet there."""
BELOW = """
return [...document.querySelectorAll('.bayesdp-card dt')].map(
  e => e.getBoundingClientRect().bottom <= e.nextElementSibling.getBoundingClientRect().top + 1)
"""
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 26)"


@pytest.mark.parametrize(
    ("width", "scheme", "theme", "paper"),
    [
        (390, "light", "", LIGHT),
        (1280, "dark", "", DARK),
        (390, "light", 'data-jp-theme-light="false"', DARK),
        (1280, "dark", 'data-jp-theme-light="true"', LIGHT),
    ],
)
def test_cards_fit_and_can_be_read(browser, tmp_path, width, scheme, theme, paper):
    cards = "".join(SHOWN[name]()._repr_html_() for name in CARDS)
    page = tmp_path / "cards.html"
    body = f'<body {theme}><div class="jp-RenderedHTMLCommon">{cards}</div>'
    page.write_text(f"{HEAD}<style>{JUPYTERLAB}</style>{body}", encoding="utf-8")
    browser.open(page, width, 900, scheme)
    assert fits(browser)
    assert browser.run(PAPER) == [paper] * len(CARDS)
    assert all(right <= width for _, right, *_ in browser.run(BOXES, ".bayesdp-card"))
    assert [text for text, ink, behind in browser.run(TEXTS) if contrast(ink, behind) < 4.5] == []
    assert all(browser.run(BELOW))
    assert browser.requests() == [page.as_uri()]
    assert browser.run("return document.scripts.length") == 0
