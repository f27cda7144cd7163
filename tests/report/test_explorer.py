"""The explorer's page as a file: what it holds, what it refuses, and its command."""

import base64
import hashlib
import json
import math
import re
import webbrowser

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput, InvalidRelease, ReleaseExists
from bayesdp.report.explorer import SCRIPTS, render_explorer
from bayesdp.report.html import shipped_text


def answers(ones: int, n: int) -> list:
    return [np.repeat([1, 0], [ones, n - ones])]


def content_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page)[1])


@pytest.fixture
def noisy() -> bdp.Release:
    mechanism = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(
        epsilon=0.5, sensitivity=1, copies=2
    )
    return bdp.Release.of(mechanism, [141, 132], variable="voted")


def test_the_release_and_nothing_else_is_in_the_page(charest_release):
    page = render_explorer(charest_release)
    content = content_of(page)
    assert set(content) == {"variable", "by", "level", "prior", "published", "groups"}
    (group,) = content["groups"]
    computed = group.pop("computed")
    posterior = bdp.BinomialModel().posterior(charest_release)
    assert computed["posterior"] == [posterior.mean(), *posterior.interval()]
    assert computed["posterior"][0] == pytest.approx(0.350865, abs=1e-6)  # REFERENCE.md
    assert computed["combined"] is None
    assert group == {
        "label": "all records",
        "kind": "beta_binomial",
        "n": 100,
        "size": 100,
        "prior": [15.65, 15.65],
        "outputs": [38],
        "epsilon": charest_release.guarantee.epsilon,
        "neighbours": "replace_one",
    }


def test_numbers_to_check_by_are_those_of_the_models(noisy):
    (group,) = content_of(render_explorer(noisy, model=bdp.BinomialModel(n=range(400, 401))))[
        "groups"
    ]
    model = bdp.BinomialModel(n=400)
    low, high = model.posterior(noisy).interval()
    assert group["computed"]["posterior"][1:] == [low, high]
    assert group["computed"]["naive"][0] == model.naive_posterior(noisy).mean()
    q = np.array([141, 132]) / 400
    liu = bdp.combine(q, q * (1 - q) / 400)
    assert group["computed"]["combined"] == [liu.estimate, *liu.interval()]
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, 300)
    release = bdp.Release.of(mechanism, answers(120, 300))
    (group,) = content_of(render_explorer(release, model=bdp.BinomialModel((2, 5)), level=0.8))[
        "groups"
    ]
    posterior = bdp.MultinomialModel(prior=(5, 2)).posterior(release, 1)
    assert group["computed"]["posterior"] == [posterior.mean(), *posterior.interval(0.8)]


def test_more_answers_than_can_be_listed_are_left_to_the_page():
    mechanism = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, 20_000)
    page = render_explorer(bdp.Release.of(mechanism, answers(9000, 20_000)))
    computed = content_of(page)["groups"][0]["computed"]
    assert computed["posterior"] is None
    assert computed["naive"][0] == pytest.approx(9001 / 20_002)


def test_only_the_page_s_own_script_may_run(grouped_release):
    page = render_explorer(grouped_release)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert policy.split("; ") == [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "img-src data:",
        f"script-src 'sha256-{digest}'",
    ]
    assert page.count("<script") == 2
    assert not re.search(r"(src|href)=\"(?!#|data:)", page)
    assert "Drawn from a seeded generator" not in script
    assert "promises nothing" in page  # of a seeded release


def test_files_stay_small_and_nothing_moves_by_itself():
    for name in (*SCRIPTS, "explorer.html", "explorer.css"):
        assert len(shipped_text(name).splitlines()) <= 300, name
    for name in ("style.css", "explorer.css"):
        assert not re.search("transition|animation", shipped_text(name)), name


def test_labels_cannot_end_the_block_of_data():
    evil = "</script><script>document.title='broken'</script><!--"
    counts = {evil: bdp.Count(3, 20), "b": bdp.Count(4, 20)}
    with bdp.reproducible(1):
        release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(counts, variable=evil)
    page = render_explorer(release)
    assert page.count("<script") == 2
    assert content_of(page)["groups"][0]["label"] == evil


def test_a_release_is_known_by_its_views():
    """A conjugate draw's records are beta-binomial copies, under another name."""
    other = bdp.mechanisms.ConjugateMechanism("bernoulli", "synthetic_one", 50, (9, 9), size=40)
    made = bdp.mechanisms.BetaBinomialMechanism(50, 40, (9.0, 9.0))
    one, two = (
        content_of(render_explorer(bdp.Release.of(m, [18, 21])))["groups"][0] for m in (made, other)
    )
    assert one.pop("epsilon") == pytest.approx(two.pop("epsilon"), rel=1e-12)
    assert one == two


def releases_refused() -> dict:
    copies = bdp.mechanisms.BetaBinomialMechanism(n=None, size=100, prior=(10, 10))
    public = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(10, 10))
    noise = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, bounds=(0, 50), bounding="inflated")
    three = bdp.mechanisms.RandomizedResponseMechanism.kary(1.0, 3, 10)
    certain = bdp.mechanisms.RandomizedResponseMechanism.of([[0.5, 0.5], [0, 1]], n=4)
    two = bdp.mechanisms.RandomizedResponseMechanism.binary(1.0, 4)
    vector = bdp.mechanisms.DiscreteLaplaceMechanism(2.0, dimension=2)
    of, known = bdp.Release.of, bdp.BinomialModel(n=range(50, 51))
    mixed = {"a": (public, [3]), "b": (two, answers(1, 4))}
    return {
        "another mechanism": (
            of(bdp.mechanisms.LaplaceMechanism(1.0, 1.0), [3.0]),
            known,
            "'laplace'",
        ),
        "three categories": (of(three, [[0] * 10]), None, "3 categories"),
        "two answers": (of(two, answers(1, 4) * 2), None, "2 copies of answers"),
        "no pure epsilon": (of(certain, answers(1, 4)), None, "epsilon = inf"),
        "bounds": (of(noise, [3]), known, "within bounds"),
        "a vector": (of(vector, [(3, 4)]), known, "a vector"),
        "n missing": (of(copies, [38]), None, "n is confidential"),
        "a range of n": (of(copies, [38]), bdp.BinomialModel(n=range(9, 99)), "a single one"),
        "n twice": (of(public, [38]), known, "the release says n = 100"),
        "too many": (of(copies, [38]), bdp.BinomialModel(n=range(2**21, 2**21 + 1)), "1 to 1,000"),
        "none at all": (of(copies, [38]), bdp.BinomialModel(n=range(1)), "n is 0"),
        "weights": (of(public, [38]), bdp.BinomialModel(weights={1.0: 100}), "has weights"),
        "two kinds": (bdp.Release.of_groups(mixed), None, "different kinds"),
    }


@pytest.mark.parametrize("name", releases_refused())
def test_other_releases_are_refused(name, tmp_path):
    release, model, message = releases_refused()[name]
    with pytest.raises(InvalidInput, match=re.escape(message)):
        bdp.evaluate.write_explorer(release, tmp_path / "page.html", model=model)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("level", [0, 1, -0.5, math.nan, None, "0.9", True])
def test_levels_are_checked(charest_release, level):
    with pytest.raises(InvalidInput, match="level"):
        render_explorer(charest_release, level=level)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"release": "release/"}, "release is a str; it must be a Release"),
        ({"model": bdp.GaussianModel(prior=(0, 1), sd=1)}, "model is a GaussianModel; it must"),
        ({"out": None}, "out is None; it must be a path"),
    ],
)
def test_arguments_of_other_types(charest_release, tmp_path, given, message):
    arguments = {"release": charest_release, "out": tmp_path / "page.html", **given}
    with pytest.raises(InvalidInput, match=message):
        bdp.evaluate.write_explorer(arguments.pop("release"), arguments.pop("out"), **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_with_force_alone(charest_release, tmp_path):
    page = bdp.evaluate.write_explorer(charest_release, tmp_path / "page.html")
    with pytest.raises(ReleaseExists, match="nothing was written"):
        bdp.evaluate.write_explorer(charest_release, page, title="new")
    bdp.evaluate.write_explorer(charest_release, page, title="new", force=True)
    assert "<h1>new</h1>" in page.read_text()
    with pytest.raises(ReleaseExists, match="is a folder"):
        bdp.evaluate.write_explorer(charest_release, tmp_path, force=True)
    with pytest.raises(InvalidInput, match="doesn't exist"):
        bdp.evaluate.write_explorer(charest_release, tmp_path / "no" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


class TestCommand:
    def test_writes_and_opens_the_page(self, run_cli, grouped_release, tmp_path, monkeypatch):
        opened = []
        monkeypatch.setattr(webbrowser, "open", opened.append)
        grouped_release.save(tmp_path / "release")
        out = tmp_path / "page.html"
        line = f"explore {tmp_path}/release --out {out} --level 0.9 --prior 0.5,0.5"
        assert run_cli(f"{line} --open") == (0, f"explorer written to {out}\n", "")
        assert opened == [out.as_uri()]
        content = content_of(out.read_text())
        assert (content["level"], content["prior"]) == (0.9, [0.5, 0.5])
        assert [group["label"] for group in content["groups"]] == ["a", "b", "c"]
        status, _, error = run_cli(line)
        assert status == 2
        assert "exists already" in error
        status, _, _ = run_cli(f"{line} --force --group b")
        assert status == 0
        assert "<h1>value, group b</h1>" in out.read_text()
        assert content_of(out.read_text())["groups"][0]["label"] == "all records"
        assert len(opened) == 1

    def test_n_may_be_given(self, run_cli, noisy, tmp_path):
        noisy.save(tmp_path / "release")
        line = f"explore {tmp_path}/release --out {tmp_path}/page.html"
        status, _, error = run_cli(line)
        assert status == 2
        assert "--n 500" in error
        assert run_cli(f"{line} --n 400")[0] == 0
        assert content_of((tmp_path / "page.html").read_text())["groups"][0]["n"] == 400

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ("--group d", "group is 'd'"),
            ("--prior 1", "prior is '1'"),
            ("--prior 0,1", "prior is a tuple; it must be two positive"),
            ("--level 2", "level is 2.0"),
            ("--n 50", "the release says n = 50"),
        ],
    )
    def test_wrong_options(self, run_cli, grouped_release, tmp_path, options, message):
        grouped_release.save(tmp_path / "release")
        line = f"explore {tmp_path}/release --out {tmp_path}/page.html {options}"
        status, _, error = run_cli(line)
        assert status == 2
        assert message in error
        assert not (tmp_path / "page.html").exists()

    def test_no_such_folder(self, run_cli, tmp_path):
        status, _, error = run_cli(f"explore {tmp_path}/none --out {tmp_path}/page.html")
        assert status == 2
        assert "none" in error
        with pytest.raises(InvalidRelease):
            bdp.Release.load(tmp_path / "none")
