"""The explorer's numbers in a real browser: Python's, wherever its sliders are."""

import itertools

import numpy as np
import pytest
from scipy import special, stats
from selenium.webdriver.common.keys import Keys

import bayesdp as bdp
from tests.report.exploring import (
    ANSWERS,
    COPIES,
    NOISE,
    Page,
    alike,
    computed,
    largest_difference,
    made,
)


@pytest.fixture
def grouped() -> bdp.Release:
    outputs = {1: (60, [33, 29, 31]), 2: (90, [44, 49, 40]), 3: (120, [50, 41, 47])}
    parts = {label: (made(COPIES, n, 2.0, 3), ones) for label, (n, ones) in outputs.items()}
    return bdp.Release.of_groups(parts, by="rating", variable="affairs")


@pytest.fixture(scope="module")
def run(browser, tmp_path_factory):
    release = bdp.Release.of(made(COPIES, 10, 1.0, 1), [4])
    Page(browser, release, tmp_path_factory.mktemp("numerics"))
    return browser.run


class TestNumerics:
    """Of the scripts alone, over wide grids."""

    @pytest.mark.slow
    def test_incomplete_beta(self, run):
        rng = np.random.default_rng(1)
        a, b = 10 ** rng.uniform(-2, 6, size=(2, 2000))
        p = np.where(rng.random(2000) < 0.8, rng.beta(a, b), rng.random(2000))
        found = run(
            "return arguments[0].map(([p, a, b]) => betaCumulative(p, 1 - p, a, b))",
            np.stack([p, a, b], axis=1).tolist(),
        )
        assert np.abs(np.array(found) - special.betainc(a, b, p)).max() < 1e-10

    def test_quantiles(self, run):
        rng = np.random.default_rng(2)
        share = rng.choice([0.0005, 0.025, 0.5, 0.975, 0.9995], 1000)
        a, b = 10 ** rng.uniform(-1, 6, size=(2, 1000))
        found = run(
            "return arguments[0].map(([s, a, b]) => betaQuantile(s, a, b))",
            np.stack([share, a, b], axis=1).tolist(),
        )
        assert np.abs(np.array(found) - special.betaincinv(a, b, share)).max() < 1e-12
        df = np.append(10 ** np.random.default_rng(3).uniform(-0.3, 14, 300), [1, 4, 1e60])
        level = rng.choice([0.5, 0.9, 0.95, 0.999], df.size)
        found = run(
            "return arguments[0].map(([df, level]) => studentHalfWidth(df, level))",
            np.stack([df, level], axis=1).tolist(),
        )
        assert np.abs(np.array(found) / stats.t.ppf(0.5 + level / 2, df) - 1).max() < 1e-9

    def compare(self, run, cases):
        """The largest difference over (kind, mechanism, outputs, n, prior) cases."""
        groups = [self.group(kind, *rest) for kind, *rest, _ in cases]
        found = run(
            """return arguments[0].map(([group, prior]) => {
              const found = inferred(group, settingsOf(group), prior, 0.95);
              const numbers = (x) => x && [x.mean, x.low, x.high];
              return {posterior: numbers(found.posterior), naive: numbers(found.naive),
                      combined: numbers(found.combined)};
            })""",
            [[group, case[-1]] for group, case in zip(groups, cases, strict=True)],
        )
        return max(
            largest_difference(shown, computed(*case))
            for shown, case in zip(found, cases, strict=True)
        )

    @staticmethod
    def group(kind, mechanism, outputs, n) -> dict:
        about = {"kind": kind, "n": n, "size": n, "epsilon": 1.0, "outputs": outputs}
        if kind == COPIES:
            return about | {"size": mechanism.size, "prior": mechanism.prior}
        if kind == ANSWERS:
            return about | {"matrix": mechanism.matrix.tolist()}
        return about | {"scale": mechanism.scale, "moved": 1}

    @pytest.mark.slow
    @pytest.mark.parametrize("n", [1, 10, 1000, 100_000])
    def test_copies(self, run, n):
        rng = np.random.default_rng(n)
        priors = [(1.0, 1.0), (0.5, 0.5), (2.0, 7.0), (0.01, 0.02)][: 4 if n < 5000 else 1]
        cases = [
            (COPIES, made(COPIES, n, epsilon, m), outputs, n, prior)
            for epsilon, m, prior in itertools.product((0.01, 1.0, 20.0), (1, 30), priors)
            for outputs in ([0] * m, [n] * m, [n // 4] * m, rng.binomial(n, 0.5, m).tolist())
        ]
        assert self.compare(run, cases) < 1e-9

    @pytest.mark.slow
    def test_answers(self, run):
        cases = [
            (ANSWERS, made(ANSWERS, n, epsilon, 1), [ones], n, prior)
            for n, epsilon in itertools.product((1, 10, 400, 2500), (0.01, 1.0, 20.0))
            for ones in (0, n // 3, n)
            for prior in ((1.0, 1.0), (0.5, 3.0), (0.01, 0.01), (0.002, 3.0))
        ]
        assert self.compare(run, cases) < 1e-9

    def test_noisy_counts(self, run):
        cases = [
            (NOISE, made(NOISE, n, epsilon, m), [c + k % 3 for k in range(m)], n, (1.0, 1.0))
            for n, epsilon, m in itertools.product((1, 10, 1000), (0.01, 1.0, 20.0), (1, 3, 20))
            for c in (-2 * n - 20, n // 3, n + 30)
        ]
        assert self.compare(run, cases) < 1e-9

    @pytest.mark.slow
    def test_whatever_can_be_typed_has_numbers(self, run):
        """Intervals in order, within [0, 1], at the ends of what the controls allow."""
        groups = [
            self.group(COPIES, made(COPIES, 60, 2.0, 3), [33, 29, 31], 60),
            self.group(COPIES, bdp.mechanisms.BetaBinomialMechanism(None, 40, (1, 3)), [0, 7], 500),
            self.group(ANSWERS, made(ANSWERS, 500, 1.0, 1), [10], 500),
            self.group(NOISE, made(NOISE, 0, 1.0, 2), [-7, 600], 500),
        ]
        wrong = run(
            """const wrong = [];
            for (const group of arguments[0]) for (const epsilon of [1e-4, 20, 1000])
              for (const copies of group.outputs.length > 1 ? [1, 1000] : [1])
                for (const n of [1, 1e5]) for (const share of [0, 0.001, 1])
                  for (const prior of [[1, 1], [0.01, 0.01], [0.5, 500], [0.001, 3]]) {
                    const settings = { epsilon, copies, n, share };
                    const found = inferred(group, settings, prior, 0.95);
                    for (const each of [found.posterior, found.naive, found.combined]) {
                      if (each === null) continue;
                      const whole = each === found.combined ? each.low > -2 && each.high < 3
                        : each.low >= 0 && each.high <= 1;
                      if (!(whole && each.low <= each.high && Number.isFinite(each.mean)))
                        wrong.push([group.kind, settings, prior, each]);
                    }
                  }
            return wrong;""",
            groups,
        )
        assert wrong == []

    def test_calibration_is_the_mechanism_s(self, run):
        cases = [
            (size, epsilon, copies)
            for size, epsilon, copies in itertools.product((1, 100, 10**5), (1e-3, 1, 30), (1, 7))
        ]
        found = run("return arguments[0].map((each) => priorFor(...each))", cases)
        for prior, (size, epsilon, copies) in zip(found, cases, strict=True):
            mechanism = bdp.mechanisms.BetaBinomialMechanism(n=9, size=size, prior=(prior, prior))
            assert mechanism.epsilon(copies=copies) <= epsilon
            assert prior == pytest.approx(made(COPIES, size, epsilon, copies).prior[0], rel=1e-14)


class TestSliders:
    """The page's numbers, at the release and wherever keys take the sliders."""

    def agrees(self, page, kind, *, outputs=None, mechanism=None, **options) -> None:
        set_to = page.settings
        n, copies = set_to["n"], set_to["copies"]
        mechanism = mechanism or made(kind, n, set_to["epsilon"], copies)
        size = getattr(mechanism, "size", n)
        outputs = outputs or alike(set_to["share"], copies, size)
        expected = computed(kind, mechanism, outputs, n, **options)
        if kind == ANSWERS:
            expected["combined"] = None
        assert largest_difference(page.shown, expected) < 1e-6

    def test_copies_by_keyboard(self, browser, grouped, tmp_path):
        page = Page(browser, grouped, tmp_path)
        first = page.settings
        self.agrees(page, COPIES, outputs=[33, 29, 31], mechanism=grouped[1].mechanism)
        page.press("epsilon", Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
        assert page.settings["epsilon"] < first["epsilon"]
        self.agrees(page, COPIES, outputs=[33, 29, 31])  # released copies, another mechanism
        page.press("copies", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        assert page.settings["copies"] == 5
        self.agrees(page, COPIES)
        page.press("n", Keys.ARROW_RIGHT)
        assert page.settings["n"] > 60
        self.agrees(page, COPIES)
        page.press("share", Keys.HOME)
        assert page.settings["share"] == 0
        self.agrees(page, COPIES)
        page.press("copies", Keys.HOME)
        assert page.shown["combined"] is None
        self.agrees(page, COPIES)
        page.press("n", Keys.END)
        assert page.settings["n"] == 100_000
        self.agrees(page, COPIES)
        page.find("back").send_keys(Keys.ENTER)
        page.drawn()
        assert page.settings == first
        self.agrees(page, COPIES, outputs=[33, 29, 31], mechanism=grouped[1].mechanism)
        assert browser.driver.get_log("browser") == []

    def test_groups(self, browser, grouped, tmp_path):
        page = Page(browser, grouped, tmp_path, model=bdp.BinomialModel((0.5, 2)), level=0.8)
        options = {"prior": (0.5, 2.0), "level": 0.8}
        page.choose("3")
        assert page.settings["n"] == 120
        self.agrees(page, COPIES, outputs=[50, 41, 47], mechanism=grouped[3].mechanism, **options)
        page.press("epsilon", Keys.PAGE_UP)
        self.agrees(page, COPIES, outputs=[50, 41, 47], **options)
        assert float(page.find("checked").get_attribute("data-difference")) < 1e-9

    def test_another_size_and_prior(self, browser, tmp_path):
        """Copies smaller than n keep their size; a prior keeps its proportions."""
        mechanism = bdp.mechanisms.BetaBinomialMechanism(n=None, size=40, prior=(10.0, 30.0))
        release = bdp.Release.of(mechanism, [12, 9])
        page = Page(browser, release, tmp_path, model=bdp.BinomialModel(n=range(200, 201)))
        public = bdp.mechanisms.BetaBinomialMechanism(n=200, size=40, prior=(10.0, 30.0))
        self.agrees(page, COPIES, outputs=[12, 9], mechanism=public)
        page.press("n", Keys.ARROW_RIGHT)
        n = page.settings["n"]
        assert n > 200
        same = bdp.mechanisms.BetaBinomialMechanism(n=n, size=40, prior=(10.0, 30.0))
        self.agrees(page, COPIES, mechanism=same)
        page.press("epsilon", Keys.ARROW_RIGHT)
        a = made(COPIES, n, page.settings["epsilon"], 2, sized=False).prior[0]
        stretched = bdp.mechanisms.BetaBinomialMechanism(n=n, size=40, prior=(a, 3 * a))
        self.agrees(page, COPIES, mechanism=stretched)

    def test_answers(self, browser, tmp_path):
        ones = np.repeat([1, 0], [210, 290])
        release = bdp.Release.of(
            bdp.mechanisms.RandomizedResponseMechanism.of((0.7, 0.8), n=500), [ones]
        )
        page = Page(browser, release, tmp_path)
        self.agrees(page, ANSWERS, outputs=[210], mechanism=release.mechanism)
        page.press("epsilon", Keys.ARROW_RIGHT)
        self.agrees(page, ANSWERS)
        page.press("n", Keys.PAGE_UP)
        page.press("share", Keys.ARROW_RIGHT)
        assert page.settings["n"] > 500
        self.agrees(page, ANSWERS)

    def test_noisy_counts(self, browser, tmp_path):
        release = bdp.Release.of(made(NOISE, 0, 0.5, 2), [-3, 1])
        page = Page(browser, release, tmp_path, model=bdp.BinomialModel(n=range(400, 401)))
        assert page.settings["share"] < 0
        assert page.shown["naive"] is None
        self.agrees(page, NOISE, outputs=[-3, 1])
        page.press("epsilon", Keys.ARROW_LEFT)
        self.agrees(page, NOISE, outputs=[-3, 1])
        page.press("share", Keys.PAGE_UP)
        page.press("copies", Keys.ARROW_RIGHT)
        assert page.shown["combined"] is not None
        self.agrees(page, NOISE)

    @pytest.mark.slow
    def test_typed_numbers(self, browser, grouped, tmp_path):
        page = Page(browser, grouped, tmp_path)
        page.type("epsilon", "0.73")
        page.type("n", "1,234")
        page.type("share", "21.5")
        assert page.settings == {"epsilon": 0.73, "copies": 3, "n": 1234, "share": 0.215}
        self.agrees(page, COPIES)
        before = page.settings
        for name, wrong in [("n", "12.5"), ("epsilon", "-1"), ("share", "101"), ("copies", "x")]:
            page.type(name, wrong)
            number, hint = page.find(f"{name}-number"), page.find(f"{name}-released")
            assert number.get_attribute("aria-invalid") == "true"
            assert hint.text.startswith("enter a number from")
            assert page.settings == before
            page.press(name, Keys.ARROW_RIGHT)
            assert number.get_attribute("aria-invalid") == "false"
            assert hint.text.startswith("in the release")
            before = page.settings
        page.type("epsilon", "2")  # as the release's own epsilon reads
        assert page.settings["epsilon"] == grouped[1].guarantee.epsilon != 2
        page.type("copies", "")
        assert page.find("copies-number").get_attribute("aria-invalid") == "true"
        self.agrees(page, COPIES)

    @pytest.mark.slow
    def test_what_is_held_is_said_where_it_slides(self, browser, grouped, tmp_path):
        """Copies that stay as they are while epsilon slides are not what the records would give."""
        page = Page(browser, grouped, tmp_path)
        assert "held" not in browser.run("return document.querySelector('form').innerText")
        assert "same records" not in page.find("answer").text
        page.type("epsilon", "20")
        held = "held: 51.7% ones in the copies"
        assert page.find("epsilon-released").text.endswith(held)
        assert "held" not in page.find("copies-released").text
        answer = page.find("answer").text
        assert answer.startswith("If copies made with these settings had the same 51.7% ones,")
        assert "The same records would have given other copies" in answer
        page.type("copies", "100")
        page.type("share", "20")
        for name in ("epsilon", "copies"):
            assert page.find(f"{name}-released").text.endswith("held: 20.0% ones in the copies")
        page.find("back").click()
        page.drawn()
        page.type("share", "20")  # alone, it is what is asked
        assert "same records" not in page.find("answer").text

    @pytest.mark.slow
    def test_numbers_that_differ_are_said_so(self, browser, grouped, tmp_path):
        page = Page(browser, grouped, tmp_path)
        text = page.path.read_text()
        low = computed(COPIES, grouped[1].mechanism, [33, 29, 31], 60)["posterior"][1]
        assert text.count(repr(low)) == 1
        wrong = tmp_path / "wrong.html"
        wrong.write_text(text.replace(repr(low), repr(low + 1e-5)))
        assert not page.find("failed").is_displayed()
        browser.open(wrong, 1280, 900, "light")
        assert page.find("failed").is_displayed()
        assert "use this page" in page.find("failed").text
