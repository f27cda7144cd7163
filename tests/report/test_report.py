"""The report's numbers, words and refusals; how it looks is tested in a browser."""

import math
import re
from html.parser import HTMLParser
from pathlib import Path

import arviz as az
import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.evaluation.combining import combine, proportions
from bayesdp.report.html import percent, render, write_report
from bayesdp.report.summary import RULES, summarize
from tests.report.conftest import SIZES, fit


def words(page: str) -> str:
    """The page's text as a reader sees it, white space folded."""

    class Text(HTMLParser):
        hidden = 0

        def handle_starttag(self, tag, attrs):
            self.hidden += tag in ("style", "script")

        def handle_endtag(self, tag):
            self.hidden -= tag in ("style", "script")

        def handle_data(self, data):
            if not self.hidden:
                seen.append(data)

    seen: list[str] = []
    Text().feed(page)
    return re.sub(r"\s+", " ", "".join(seen))


def rows(page: str, table: str) -> list[list[str]]:
    """The cells of a table's body."""
    body = re.search(rf'<table id="{table}">.*?<tbody>(.*?)</tbody>', page, re.S)
    assert body is not None
    found = re.findall(r"<tr>(.*?)</tr>", body[1], re.S)
    return [[words(c) for c in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", r, re.S)] for r in found]


class TestNumbers:
    def test_posterior_and_naive_are_those_of_the_model(self, release, idata):
        summary = summarize(idata, release, level=0.9)
        model = bdp.BinomialModel((0.5, 0.5))
        for group in summary.groups:
            draws = idata.posterior["p"].sel(group=group.label).to_numpy().ravel()
            posterior, naive = group.by("posterior"), group.by("naive")
            assert posterior.estimate == pytest.approx(draws.mean(), rel=1e-12)
            assert (posterior.low, posterior.high) == pytest.approx(
                np.quantile(draws, [0.05, 0.95])
            )
            exact = model.naive_posterior(release[group.label])
            assert naive.estimate == exact.mean()
            assert (naive.low, naive.high) == exact.interval(0.9)

    def test_posterior_agrees_with_the_exact_one(self, release, idata):
        for group in summarize(idata, release).groups:
            exact = bdp.BinomialModel((0.5, 0.5)).posterior(release[group.label])
            # 5 standard errors, three groups: false alarm rate 2e-6
            assert abs(group.by("posterior").estimate - exact.mean()) < 5 * group.sampling.error
            assert group.sampling.error == pytest.approx(exact.sd() / math.sqrt(8000), rel=0.1)

    @pytest.mark.parametrize("rule", RULES)
    def test_combining_rules(self, release, idata, rule):
        for group, part in zip(summarize(idata, release).groups, release, strict=True):
            size = part.mechanism.size
            ratio = size / part.mechanism.n
            expected = combine(*proportions(part.outputs, size), rule, size_ratio=ratio)
            found = group.by(rule)
            assert found.estimate == expected.estimate
            assert (found.low, found.high) == expected.interval(0.95)

    def test_what_was_released(self, release, idata):
        for group, part in zip(summarize(idata, release).groups, release, strict=True):
            assert group.n == SIZES[part.group] == group.size
            assert group.prior == part.mechanism.prior
            assert group.copies == pytest.approx([z / group.size for z in part.outputs])
            assert group.epsilon == pytest.approx(3.0)

    def test_promise(self, release, idata):
        promise = summarize(idata, release).promise
        assert promise is not None
        assert promise.guarantee == release.guarantee
        assert promise.odds == pytest.approx(math.exp(3))
        assert promise.belief == pytest.approx(math.exp(3) / (1 + math.exp(3)))

    def test_one_copy_has_no_combining_rules(self, charest_release):
        summary = summarize(fit(charest_release), charest_release)
        assert [e.method for e in summary.groups[0].estimates] == ["posterior", "naive"]
        assert "takes at least two" in words(render(summary))

    def test_widening_is_the_median_ratio_of_widths(self, release, idata):
        summary = summarize(idata, release)
        ratios = [
            (g.by("posterior").high - g.by("posterior").low)
            / (g.by("naive").high - g.by("naive").low)
            for g in summary.groups
        ]
        assert summary.widening == pytest.approx(sorted(ratios)[1])

    def test_density_integrates_to_one(self, release, idata):
        for group in summarize(idata, release).groups:
            assert group.density is not None
            grid = group.density.grid
            assert np.trapezoid(group.density.posterior, grid) == pytest.approx(1, abs=0.02)
            # Jeffreys' prior and few ones: a steep naive density, still nearly all of it there
            assert np.trapezoid(group.density.naive, grid) == pytest.approx(1, abs=0.02)

    def test_few_draws_have_no_density(self, charest_release):
        summary = summarize(fit(charest_release, draws=5, chains=1), charest_release)
        assert summary.groups[0].density is None
        assert "Too few distinct draws" in render(summary)


class TestDiagnostics:
    def test_exact_draws_need_none(self, release, idata):
        computation = summarize(idata, release).computation
        assert computation.independent
        assert computation.problems == ()
        assert "no Markov chain to diagnose" in words(render(summarize(idata, release)))

    def test_good_chains_pass(self, release, markov_chains):
        summary = summarize(markov_chains, release)
        assert summary.computation.problems == ()
        sampling = summary.groups[1].sampling
        p = markov_chains.posterior["p"].isel(group=1)
        assert sampling.rhat == pytest.approx(float(az.rhat(p)["p"]))
        assert sampling.ess_bulk == pytest.approx(float(az.ess(p)["p"]))
        assert sampling.ess_tail == pytest.approx(float(az.ess(p, method="tail")["p"]))
        assert sampling.error == pytest.approx(float(az.mcse(p)["p"]))
        page = render(summary)
        assert "Converged by every check." in words(page)
        assert [row[0] for row in rows(page, "diagnostics")] == ["a", "b", "c"]

    def test_a_stuck_chain_fails(self, release, markov_chains):
        markov_chains.posterior["p"][0, :, 2] = 0.99
        summary = summarize(markov_chains, release)
        assert "R-hat is above 1.01 in 1 of 3 groups" in summary.computation.problems
        assert "Do not use this posterior" in words(render(summary))

    def test_draws_that_never_move_fail(self, release, markov_chains):
        markov_chains.posterior["p"][:, :, 0] = 0.5
        problems = summarize(markov_chains, release).computation.problems
        assert [problem.split(" is ")[0] for problem in problems] == [
            "R-hat",
            "bulk ESS",
            "tail ESS",
        ]

    def test_divergences_fail(self, release, markov_chains):
        markov_chains.sample_stats["diverging"][1, 7] = True
        summary = summarize(markov_chains, release)
        assert summary.computation.problems == ("1 divergent transition",)
        assert "Do not use: 1 divergent transition." in words(render(summary))

    def test_few_draws_fail(self, release, markov_chains):
        problems = summarize(markov_chains.isel(draw=slice(50)), release).computation.problems
        assert "bulk ESS is under 400 in 3 of 3 groups" in problems

    def test_one_chain_fails(self, release, markov_chains):
        summary = summarize(markov_chains.isel(chain=[0]), release)
        assert summary.computation.problems == ("R-hat compares chains, and only one was run",)
        render(summary)

    def test_missing_record_of_divergences_fails(self, release, markov_chains):
        del markov_chains.sample_stats["diverging"]
        problems = summarize(markov_chains, release).computation.problems
        assert problems == ("divergent transitions weren't recorded",)

    @pytest.mark.slow
    def test_pymc(self, release):
        idata = fit(release, engine="pymc", draws=1000)
        summary = summarize(idata, release)
        assert summary.computation.problems == ()
        assert summary.computation.divergences == 0
        assert [name for name, _ in summary.computation.versions] == ["bayesdp", "pymc", "nutpie"]


class TestPage:
    def test_tables_show_the_numbers(self, release, idata):
        summary = summarize(idata, release, reference={"a": 0.4, "b": 0.875})
        page = render(summary)
        for group, cells in zip(summary.groups, rows(page, "estimates"), strict=True):
            assert cells[0] == group.label
            for estimate, cell in zip(group.estimates, cells[1:], strict=False):
                assert cell.startswith(percent(estimate.estimate))
            assert cells[5] == {"a": "40.0%", "b": "87.5%", "c": "\N{EN DASH}"}[group.label]
        for group, cells in zip(summary.groups, rows(page, "mechanisms"), strict=True):
            assert cells[:3] == [group.label, str(group.n), str(group.size)]
            assert cells[4] == "3"
        assert "public benchmark data" in words(page)

    def test_promise_in_plain_words(self, release, idata):
        text = words(render(summarize(idata, release)))
        assert "The release promises ε = 3." in text
        assert "by at most eε = 20.09" in text  # rounded up from 20.0855
        assert "95.26%" in text  # from 95.2574
        assert "at least 4.74%" in text
        assert "replace-one" in text
        assert "Proved" in text
        assert "Each record's group and the group sizes are public" in text

    def test_sources_and_fingerprint(self, release, idata):
        text = words(render(summarize(idata, release)))
        assert "Charest, A.-S. (2010)" in text
        assert "Abowd, J. M. and Vilhuber, L. (2008)" in text
        assert f"bayesdp, version {bdp.__version__}" in text
        assert release.fingerprint[:16] in text

    def test_title(self, release, idata):
        summary = summarize(idata, release)
        assert "<h1>owns by group</h1>" in render(summary)
        assert "<h1>Car owners &amp; others</h1>" in render(summary, title="Car owners & others")

    def test_reproducible_release_promises_nothing(self, grouped_release):
        summary = summarize(fit(grouped_release), grouped_release)
        assert summary.promise is None
        assert summary.groups[0].epsilon is None
        text = words(render(summary))
        assert "This release promises nothing." in text
        assert "odds" not in text
        assert "The release promises" not in text

    def test_conditional_promise_says_so(self, charest_release):
        text = words(render(summarize(fit(charest_release), charest_release)))
        assert "on conditions" in text
        assert "This promise is conditional." in text
        assert "The outputs were drawn elsewhere, exactly as the mechanism says." in text
        assert "elsewhere, as declared" in text

    def test_confidential_n(self):
        mechanism = bdp.mechanisms.BetaBinomialMechanism(None, 100, (30, 30))
        release = bdp.Release.of(mechanism, [38, 41])
        idata = bdp.BinomialModel(n=range(80, 121)).fit(release, seed=1)
        text = words(render(summarize(idata, release, reference=0.3)))
        assert "Confidential records, nconfidential" in text
        assert "averages over a prior on it" in text
        assert "Reiter\N{RIGHT SINGLE QUOTATION MARK}s rule takes the size of a copy for n" in text
        assert "30.0%" in text

    def test_many_groups_fold_their_tables(self):
        counts = {k: bdp.Count(k, 40) for k in range(13)}
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0, copies=2).release(counts)
        page = render(summarize(fit(release, draws=500), release))
        assert len(rows(page, "mechanisms")) == len(rows(page, "estimates")) == 13
        assert page.index("<details>") < page.index('<table id="mechanisms">')
        assert page.count("data-density=") == 12
        assert "The first 12 of 13 groups" in words(page)

    def test_names_are_escaped(self):
        evil = '<script>alert("1")</script>'
        counts = {evil: bdp.Count(3, 9), "</style><b>": bdp.Count(4, 9)}
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(counts, variable="<i>x</i>")
        idata = fit(release, draws=500)
        page = render(summarize(idata, release), title="<img src=x onerror=alert(1)>")
        for raw in ("<script", "<i>", "<b>", "<img"):
            assert raw not in page
        assert page.count("</style>") == 1
        assert evil in words(page)

    def test_degenerate_copies(self):
        release = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(20, 20, (2, 2)), [0, 0, 0])
        summary = summarize(fit(release, prior=(0.5, 0.5)), release)
        assert summary.groups[0].by("liu").high == 0
        render(summary)

    def test_self_contained(self, release, idata):
        page = render(summarize(idata, release))
        assert "default-src 'none'" in page
        assert re.findall(r"\ssrc\s*=|url\(|@import|<script|http:", page) == []
        assert {link[0] for link in re.findall(r'href="([^"]*)"', page)} <= {"#", "d"}
        assert '<html lang="en">' in page
        assert "<title>" in page


class TestWriting:
    def test_writes_the_page(self, release, idata, tmp_path):
        page = write_report(idata, release, tmp_path / "report", title="Owners")
        assert page == tmp_path / "report" / "index.html"
        assert "<h1>Owners</h1>" in page.read_text(encoding="utf-8")
        assert [p.name for p in tmp_path.iterdir()] == ["report"]

    def test_replaces_only_a_report_and_only_with_force(self, release, idata, tmp_path):
        write_report(idata, release, tmp_path / "report")
        with pytest.raises(bdp.errors.ReleaseExists, match="force=True"):
            write_report(idata, release, tmp_path / "report")
        write_report(idata, release, tmp_path / "report", force=True)
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.tex").write_text("years of work")
        with pytest.raises(bdp.errors.ReleaseExists, match="not even with force"):
            write_report(idata, release, tmp_path / "thesis", force=True)

    def test_from_netcdf_and_loaded_release(self, release, idata, tmp_path):
        release.save(tmp_path / "release")
        idata.to_netcdf(str(tmp_path / "fit.nc"))
        loaded = az.from_netcdf(str(tmp_path / "fit.nc"))
        try:
            page = write_report(loaded, bdp.Release.load(tmp_path / "release"), tmp_path / "report")
        finally:
            loaded.close()
        assert page.read_text(encoding="utf-8") == render(summarize(idata, release))

    def test_nothing_is_written_when_refused(self, release, idata, tmp_path):
        with pytest.raises(bdp.errors.InvalidInput):
            write_report(idata, release, tmp_path / "report", level=1.0)
        assert list(Path(tmp_path).iterdir()) == []
