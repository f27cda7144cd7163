"""An explorer of a release: a page that recomputes its posterior as sliders change its settings."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bayesdp.checks import check_path
from bayesdp.core.views import AnswersView, CountView, DrawnCountsView, NoiseView, view_of
from bayesdp.engines.mixture import BetaMixture, check_level
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.combining import combine, proportions
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.inference.counts.multinomial import MultinomialModel
from bayesdp.inference.sizes import check_said_once, said_of
from bayesdp.release import Part, Release
from bayesdp.report.html import render_page, shipped_text
from bayesdp.report.inputs import label_of
from bayesdp.report.promise import promise_of
from bayesdp.storage import check_file, whole_file

SCRIPTS = (
    "explorer_special.js",
    "explorer_posteriors.js",
    "explorer_release.js",
    "explorer_words.js",
    "explorer_chart.js",
    "explorer_page.js",
)
TAKES = (
    "an explorer takes releases of a proportion: beta-binomial copies of a count "
    "(BetaBinomialSynthesizer), one randomized response of two categories, and a count with "
    "DiscreteLaplaceMechanism's noise, without bounds"
)
MOST_RECORDS = 1_000_000
_MOST_LISTED = 5000  # answers that MultinomialModel has an exact posterior for


def write_explorer(
    release: Release,
    out: str | Path,
    *,
    model: BinomialModel | None = None,
    level: float = 0.95,
    title: str | None = None,
    force: bool = False,
) -> Path:
    """Write a page with sliders for epsilon, copies, n and the released proportion.

    It is one HTML file, which needs no server, no network and no other file. It shows the exact
    posterior of the proportion, the one that treats the copies as real data, and the interval of
    Liu's combining rule: first for the release as it is, then for one like it under other settings,
    computed in the browser by the formulas of `BinomialModel` to about 10 digits. The page computes
    the release's own numbers too, and says whether they agree with those computed here.

    Parameters
    ----------
    release : Release
        A release of a proportion, or of one in each group: copies by `BetaBinomialMechanism`, one
        `RandomizedResponseMechanism` of two categories, or a count with noise by
        `DiscreteLaplaceMechanism`, without bounds.
    out : path
        The file to write. It must not exist, unless `force` is true.
    model : BinomialModel, optional
        The prior and, where the release doesn't say it, the number of records: a single n, such as
        ``BinomialModel(n=500)``, where the slider starts. Default: a uniform prior.
    level : float
        Level of all intervals, in (0, 1).
    title : str, optional
        Heading of the page. Default: made from the release's names.
    force : bool
        Whether to replace a file there.

    Returns
    -------
    Path
        The page's path.

    Raises
    ------
    InvalidInput
        If the release is of another kind, n is missing or superfluous, or an argument is out of its
        range.
    ReleaseExists
        If `out` exists; with `force`, if it is a folder.
    """
    target = check_path("out", out)
    check_file(target, force=force)
    page = render_explorer(release, model=model, level=level, title=title)
    with whole_file(target) as work:
        work.write_text(page, encoding="utf-8")
    return target


def render_explorer(
    release: Release,
    *,
    model: BinomialModel | None = None,
    level: float = 0.95,
    title: str | None = None,
) -> str:
    """Render the page of `write_explorer` as text."""
    level = check_level(level)
    model = BinomialModel() if model is None else model
    for name, given, kind in (("release", release, Release), ("model", model, BinomialModel)):
        if not isinstance(given, kind):
            raise InvalidInput(
                f"{name} is a {type(given).__name__}; it must be a {kind.__name__}, of a proportion"
            )
    if len({_reader_of(part.mechanism) for part in release.parts}) > 1:
        raise InvalidInput("groups are released by mechanisms of different kinds; explore each")
    groups = [_group(part, release, model, level) for part in release.parts]
    content = {
        "variable": release.variable,
        "by": release.by,
        "level": level,
        "prior": model.prior,
        "published": release.parts[0].mechanism.n is not None,
        "groups": groups,
    }
    script = "\n".join(["'use strict';", *map(shipped_text, SCRIPTS)])
    digest = hashlib.sha256(script.encode()).digest()
    return render_page(
        "explorer.html",
        title=title or (f"{release.variable} by {release.by}" if release.by else release.variable),
        release=release,
        s={"promise": promise_of(release), "groups": groups, "level": level, "prior": model.prior},
        kind=groups[0]["kind"],
        # No "</script>" may end the block early, and no "<!--" change how it is read.
        content=json.dumps(content, allow_nan=False).replace("<", "\\u003c"),
        script=script,
        script_hash=base64.b64encode(digest).decode(),
    )


def _group(part: Part, release: Release, model: BinomialModel, level: float) -> dict[str, Any]:
    """Describe a group for the page: public parameters, outputs, and numbers for its check."""
    reader = _reader_of(part.mechanism)
    if reader is None:
        raise InvalidInput(f"the release's mechanism is {quoted(part.mechanism.name)}; {TAKES}")
    alone = release if release.by is None else release[part.group]
    n = _records(part, model)
    described, posterior, naive = reader(alone, n, model.prior)
    promise: Any = part.mechanism.guarantee(copies=release.copies)
    epsilon = promise.epsilon
    if not 0 < epsilon < math.inf:
        raise InvalidInput(
            f"the release promises epsilon = {epsilon} at delta = 0, from which no slider starts; "
            + TAKES
        )
    ones, size = described["outputs"], described["size"]
    return {
        "label": label_of(part),
        "n": n,
        "epsilon": epsilon,
        "neighbours": promise.neighbours.value,
        **described,
        "computed": {
            "posterior": None if posterior is None else _numbers(posterior, level),
            "naive": None if naive is None else _numbers(naive, level),
            "combined": _combined(ones, size, level),
        },
    }


def _records(part: Part, model: BinomialModel) -> int:
    """The number of records: the release's, or the model's where the release doesn't say."""
    if model.weights is not None:
        raise InvalidInput("the model has weights, which an explorer doesn't take; give it n alone")
    n, said = part.mechanism.n, said_of(model.n, [part])
    check_said_once(said, n)
    if n is None:
        if said is None or len(said) != 1:
            raise InvalidInput(
                "n is confidential in this release, and an explorer slides one number from a "
                "start; give the model a single one, for example BinomialModel(n=500) (--n 500)"
            )
        n = said[0][0]
    if not 1 <= n <= MOST_RECORDS:
        raise InvalidInput(f"n is {n}; an explorer takes 1 to {MOST_RECORDS:,} records")
    return n


Prior = tuple[float, float]
Read = tuple[dict[str, Any], BetaMixture | None, BetaMixture | None]


def _model_of(release: Release, n: int, prior: Prior) -> BinomialModel:
    public = release.mechanism.n is not None
    return BinomialModel(prior, n=None if public else n)


def _read_copies(release: Release, n: int, prior: Prior) -> Read:
    made: Any = release.mechanism
    model = _model_of(release, n, prior)
    described = {
        "kind": "beta_binomial",
        "size": made.size,
        "prior": made.prior,
        "outputs": list(release.outputs),
    }
    return described, model.posterior(release), model.naive_posterior(release)


def _read_answers(release: Release, n: int, prior: Prior) -> Read:
    made: Any = release.mechanism
    if made.k != 2 or release.copies != 1:
        raise InvalidInput(
            f"the release has {release.copies} copies of answers of {made.k} categories; {TAKES}"
        )
    ones = int(np.sum(release.outputs[0]))
    described = {
        "kind": "randomized_response",
        "size": n,
        "matrix": made.matrix.tolist(),
        "outputs": [ones],
    }
    posterior = None
    if n <= _MOST_LISTED:
        posterior = MultinomialModel(prior=prior[::-1]).posterior(release, 1)
    naive = BetaMixture(np.ones(1), np.array([prior[0] + ones]), np.array([prior[1] + n - ones]))
    return described, posterior, naive


def _read_noise(release: Release, n: int, prior: Prior) -> Read:
    made: Any = release.mechanism
    if made.dimension is not None or made.bounds is not None:
        what = "a vector" if made.dimension is not None else "within bounds"
        raise InvalidInput(f"the release's noisy count is {what}; {TAKES}")
    model = _model_of(release, n, prior)
    described = {
        "kind": "discrete_laplace",
        "size": n,
        "scale": made.scale,
        "moved": made.moved(),
        "outputs": list(release.outputs),
    }
    naive = None
    if 0 <= float(np.mean(release.outputs)) <= n:
        naive = model.naive_posterior(release)
    return described, model.posterior(release), naive


def _reader_of(mechanism: Any) -> Callable[[Release, int, Prior], Read] | None:
    """Return the reader of a mechanism's releases for the page, or None if it lacks the law."""
    noise, drawn = view_of(mechanism, NoiseView), view_of(mechanism, DrawnCountsView)
    if noise is not None:
        laplace = noise.cell.whole and noise.cell.noise.laplace
        return _read_noise if laplace and hasattr(mechanism, "moved") else None
    if view_of(mechanism, AnswersView) is not None:
        return _read_answers
    if drawn is not None and view_of(mechanism, CountView) is not None:
        return _read_copies
    return None


def _numbers(posterior: BetaMixture, level: float) -> list[float]:
    return [posterior.mean(), *map(float, posterior.interval(level))]


def _combined(ones: list[int], size: int, level: float) -> list[float] | None:
    """Liu's estimate and interval, for two copies or more of proportions."""
    if len(ones) < 2 or min(ones) < 0 or max(ones) > size:
        return None
    combined: Any = combine(*proportions(ones, size))
    return [float(combined.estimate), *map(float, combined.interval(level))]
