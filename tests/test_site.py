"""The site builds without a broken link, holds every public name once, and needs no network."""

import importlib.util
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from enum import Enum
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType

import pytest
from filelock import FileLock

from tests.conftest import missing, session_folder

ROOT = Path(__file__).parents[1]


def part_of_the_site(name: str) -> ModuleType:
    path = ROOT / "notebooks" / "_site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"site_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


reference = part_of_the_site("reference")


def mkdocs(config: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build strictly: whatever mkdocs warns of fails. The notebooks aren't run."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    environment = os.environ | {
        "BAYESDP_SITE_FAST": "1",
        "NO_MKDOCS_2_WARNING": "1",
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [*command, "--config-file", config, "--site-dir", out],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


class Page(HTMLParser):
    """A page's anchors, and what it loads without being asked."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if "id" in found:
            self.anchors.append(found["id"])
        if "src" in found:
            self.loads.append(found["src"])
        if tag == "link" and found.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for all workers: whoever comes first builds it, and the others wait."""
    out = session_folder(tmp_path_factory) / "site"
    with FileLock(f"{out}.lock"):
        if not out.exists():
            built = mkdocs(ROOT / ".mkdocs.yml", out.with_name("site-unfinished"))
            assert built.returncode == 0, built.stderr
            out.with_name("site-unfinished").rename(out)
    return out


@pytest.mark.slow
def test_every_page_is_there(site: Path):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    notebooks = {f"{path.stem}.html" for path in (ROOT / "notebooks").glob("*.py")}
    mechanisms = {
        f"mechanisms/{path.stem}.html" for path in (ROOT / "notebooks/mechanisms").glob("*.md")
    }
    names = {
        f"reference/{section}/{name}.html"
        for section, found in reference.pages().items()
        for name in ("index", *found)
    } | {"reference/proofs.html"}
    project = {"index.html", "contributing.html", "changelog.html", "404.html"}
    project |= {f"{path.stem}.html" for path in (ROOT / "notebooks").glob("*.md")}
    assert pages == notebooks | mechanisms | names | project
    assert 'src="_site/survey.svg"' in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "_site" / "survey.svg").is_file()


@pytest.mark.slow
def test_every_public_name_has_its_heading_once(site: Path):
    anchors = [
        anchor for path in (site / "reference").rglob("*.html") for anchor in Page(path).anchors
    ]
    for names in reference.public_names().values():
        for name in names:
            assert anchors.count(name) == 1, name
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    locations = {entry["location"] for entry in index["docs"]}
    assert "reference/bayesdp/BinomialModel.html#bayesdp.BinomialModel.fit" in locations
    assert "mechanisms/noise.html#laplace" in locations


@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path):
    for path in site.rglob("*.html"):
        for address in Page(path).loads:
            assert not re.match(r"(https?:)?//", address), (path.name, address)
            where = site if address.startswith("/") else path.parent
            local = where / address.lstrip("/").partition("?")[0].partition("#")[0]
            assert local.exists(), (path.name, address)


@pytest.mark.slow
def test_search_works_from_a_folder(site: Path):
    """In a browser without a server: results come, and every request is to a file."""
    chromedriver = shutil.which("chromedriver")
    if chromedriver is None or shutil.which("chromium") is None:
        missing("Chromium", "apt-get install chromium chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.wait import WebDriverWait

    from tests.report.browsing import service

    options = webdriver.ChromeOptions()
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    browser = webdriver.Chrome(options, service(chromedriver))
    try:
        browser.get((site / "index.html").as_uri())
        field = browser.find_element(By.CSS_SELECTOR, "input.md-search__input")
        field.click()
        field.send_keys("permute and flip")
        results = WebDriverWait(browser, 120).until(
            lambda b: b.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
        )
        assert any("mechanisms/choices.html" in str(r.get_attribute("href")) for r in results)
        messages = [
            json.loads(entry["message"])["message"] for entry in browser.get_log("performance")
        ]
        asked = [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]
        assert len(asked) > 5
        assert all(url.startswith(("file:", "data:")) for url in asked)
        assert not browser.get_log("browser")
    finally:
        browser.quit()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[x](other.md#nowhere)", "nowhere"),
        ("[x](missing.md)", "missing.md"),
        ("[x](other.md#here)", None),
    ],
)
def test_a_broken_link_or_anchor_fails(tmp_path: Path, text: str, message: str | None):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(text)
    (tmp_path / "docs" / "other.md").write_text("# Other\n\n## Here")
    config = tmp_path / "mkdocs.yml"
    config.write_text(
        f"INHERIT: {ROOT / '.mkdocs.yml'}\n"
        "docs_dir: docs\nhooks: []\nplugins: []\nnav: []\ntheme: {name: mkdocs}\n"
    )
    built = mkdocs(config, tmp_path / "site")
    if message is None:
        assert built.returncode == 0, built.stderr
    else:
        assert built.returncode != 0
        assert message in built.stderr


def test_the_reference_has_every_public_name_once():
    listed = [name for names in reference.public_names().values() for name in names]
    assert len(listed) == len(set(listed))
    objects = [reference.thing_of(name) for name in listed]
    for section, module in reference.namespaces().items():
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, ModuleType):
                assert name in reference.SECTIONS, name
            elif name != "__version__":
                times = sum(thing is each for each in objects)
                assert times == 1, f"{section}.{name}"


@pytest.mark.parametrize("dotted", [name for name, _ in reference.callables()])
def test_its_docstring_is_whole(dotted: str):
    """Parameters where it takes any, Raises where it raises; what it returns is annotated."""
    thing = reference.thing_of(dotted)
    doc = inspect.getdoc(thing) or ""
    assert doc
    if inspect.isclass(thing):
        special = getattr(thing, "_is_protocol", False) or issubclass(thing, Exception | Enum)
        if not special and inspect.signature(thing).parameters:
            assert re.search(r"^(Parameters|Attributes)\n-", doc, re.MULTILINE)
        return
    assert "return" in thing.__annotations__
    if inspect.signature(thing).parameters:
        assert "Parameters\n-" in doc
    if re.search(r"\braise \b", textwrap.dedent(inspect.getsource(thing))):
        assert "Raises\n-" in doc


def test_a_formula_is_drawn_without_a_script():
    mathematics = part_of_the_site("mathematics")
    page = r'<span class="arithmatex">\(z \sim \mathrm{Beta}(a &lt; b)\)</span>'
    drawn = mathematics.rendered(page)
    assert "<math" in drawn
    assert "Beta</mtext>" in drawn
    assert "&#x0223C;" in drawn
    assert "\\" not in drawn


@pytest.mark.parametrize("latex", [r"\frac{1}{", r"\nosuchcommand x"])
def test_a_formula_that_cannot_be_read_fails(latex: str):
    mathematics = part_of_the_site("mathematics")
    with pytest.raises(ValueError, match="formula"):
        mathematics.rendered(rf'<div class="arithmatex">\[{latex}\]</div>')


def test_a_tutorial_shows_its_outputs(tmp_path: Path):
    from nbformat.v4 import new_output

    tutorials = part_of_the_site("tutorials")
    made = tutorials.Tutorial("title", "")
    picture = new_output("display_data", {"image/png": "aGk=", "text/plain": "figure"})
    table = new_output("execute_result", {"text/html": "<style>a</style>\n<table>\n</table>"})
    shown = [
        tutorials._shown(output, "page_1", "Its <section>", made)
        for output in (
            picture,
            table,
            new_output("stream", text="\x1b[31ma < b\x1b[0m\n"),
            new_output("stream", name="stderr", text="a warning"),
        )
    ]
    assert made.pictures == {"page_1.png": b"hi"}
    assert 'alt="Figure: Its &lt;section&gt;"' in shown[0]
    assert shown[1:] == [
        '<div class="output"><table></table></div>',
        '<div class="output"><pre><code>a &lt; b</code></pre></div>',
        "",
    ]


def test_a_card_keeps_its_style():
    from nbformat.v4 import new_output

    from bayesdp.display.card import card

    tutorials = part_of_the_site("tutorials")
    output = new_output("execute_result", {"text/html": card("A", {"b": 1})})
    shown = tutorials._shown(output, "page_1", "", tutorials.Tutorial("title", ""))
    assert shown == f'<div class="output">{card("A", {"b": 1})}</div>'


def test_code_that_draws_is_folded():
    from nbformat.v4 import new_code_cell

    tutorials = part_of_the_site("tutorials")
    shown = "```python\nplt.plot(x)\n```"
    assert tutorials._code(new_code_cell("plt.plot(x)")) == shown
    folded = tutorials._code(new_code_cell("plt.plot(x)", metadata={"tags": ["drawing"]}))
    assert folded.startswith("<details")
    assert f"</summary>\n\n{shown}\n\n</details>" in folded


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of the kernel's machinery, not of ours
def test_a_tutorial_is_run_and_stops_the_build_where_it_fails(tmp_path: Path):
    from nbclient.exceptions import CellExecutionError

    tutorials = part_of_the_site("tutorials")
    path = tmp_path / "sum.py"
    path.write_text("# %% [markdown]\n# # A sum: two\n\n# %%\nprint(6 * 7)\nprint(43)\n")
    made = tutorials.tutorial(path, run=True)
    assert made.title == "A sum: two"
    assert "<code>42\n43</code>" in made.page
    assert "42" not in tutorials.tutorial(path, run=False).page
    path.write_text("# %%\n1 / 0\n")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        tutorials.tutorial(path, run=True)
