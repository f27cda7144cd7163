"""The report as one HTML page: rendering and writing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import numpy as np

from bayesdp._version import __version__
from bayesdp.checks import check_path
from bayesdp.engines.convergence import LARGEST_K, LARGEST_RHAT, SMALLEST_ESS
from bayesdp.privacy.guarantee import Strength
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.report.any_family import PosteriorSummary, Variable, summarize_posterior
from bayesdp.report.axis import Axis, axis_over
from bayesdp.report.inputs import attribute, check_fit, check_reference
from bayesdp.report.summary import Density, Estimate, Group, Summary, summarize
from bayesdp.report.whole_table import OneWay, Share, TableSummary, summarize_table
from bayesdp.storage import check_target, whole_folder

if TYPE_CHECKING:
    import arviz as az

    from bayesdp.release import Release

PAGE = "index.html"
MANY_GROUPS = 12  # more are folded away in tables, and have no density curve
MANY_NUMBERS = 40  # more of a variable are in a folded table alone

METHODS = {
    "posterior": "Posterior given the release",
    "naive": "Copies taken for real data",
    "liu": "Combining rule of Liu",
    "reiter_positive": "Combining rule of Reiter, kept positive",
}
MECHANISMS = {"beta_binomial": "beta-binomial"}
_SUPERSCRIPTS = str.maketrans(
    "-0123456789",
    "\N{SUPERSCRIPT MINUS}\N{SUPERSCRIPT ZERO}\N{SUPERSCRIPT ONE}\N{SUPERSCRIPT TWO}"
    "\N{SUPERSCRIPT THREE}\N{SUPERSCRIPT FOUR}\N{SUPERSCRIPT FIVE}\N{SUPERSCRIPT SIX}"
    "\N{SUPERSCRIPT SEVEN}\N{SUPERSCRIPT EIGHT}\N{SUPERSCRIPT NINE}",
)
NEIGHBOURS = {
    Neighbours.REPLACE_ONE: "replace-one: two data sets of the same size that differ in one record",
    Neighbours.ADD_REMOVE: "add/remove-one: one record is there in one data set, not in the other",
}
STRENGTHS = {
    Strength.PROVED: "Proved: it holds for the program as it runs, floating-point arithmetic "
    "and sampler included.",
    Strength.CONDITIONAL: "Conditional: it holds if every assumption listed here does.",
    Strength.AS_PUBLISHED: "As published: a claim that is unproved or known to be false. "
    "Don't rely on it.",
}


def write_report(
    idata: az.InferenceData,
    release: Release,
    folder: str | Path,
    *,
    level: float = 0.95,
    title: str | None = None,
    reference: Mapping[Any, Any] | float | None = None,
    naive: az.InferenceData | None = None,
    force: bool = False,
) -> Path:
    """Write a report on a posterior as a self-contained page, `folder/index.html`.

    The page needs no network and no other file. The folder appears whole or not at all.

    Parameters
    ----------
    idata : arviz.InferenceData
        The result of a model's `fit` to `release`, or a copy read from netCDF.
    release : Release
        The release that was fitted.
    folder : path
        Folder to write. It must not exist, unless `force` is true.
    level : float
        Level of all intervals, in (0, 1).
    title : str, optional
        Heading of the page. Default: made from the release's names.
    reference : mapping of group label to float, or float, optional
        True proportions, for public benchmark data only: the report shows them as such. A float
        for a release without groups. Of another family than "binomial": a mapping of the name of a
        variable to numbers of its shape.
    naive : arviz.InferenceData, optional
        The result of the model's `fit_naive`, to show beside the posterior. A report on the copies
        of a proportion, of family "binomial", has it anyway.
    force : bool
        Whether to replace an older report there.

    Returns
    -------
    Path
        The page's path.

    Raises
    ------
    InvalidInput
        If `idata` isn't a posterior of this release, or another argument is out of its range.
    ReleaseExists
        If the folder exists; with `force`, if it isn't a report.
    """
    target = check_path("folder", folder)
    check_target(target, PAGE, force=force)
    check_fit(idata, release)
    page_of: Callable[..., str] = _PAGES.get(attribute(idata, "family"), _any_page)
    page = page_of(idata, release, title, level=level, naive=naive, reference=reference)
    with whole_folder(target, PAGE, force=force) as work:
        (work / PAGE).write_text(page, encoding="utf-8")
    return target / PAGE


def _any_page(idata: Any, release: Release, title: str | None, **given: Any) -> str:
    return render_posterior(summarize_posterior(idata, release, **given), title=title)


def _binomial_page(
    idata: Any, release: Release, title: str | None, *, naive: Any, reference: Any, **given: Any
) -> str:
    if all(part.mechanism.space.from_records is not None for part in release.parts):
        return render(summarize(idata, release, reference=reference, **given), title=title)
    # A noisy or an exact count is no copy, whose records a page could count and pool.
    truth = check_reference(reference, release)
    known = [truth.get(part.group, math.nan) for part in release.parts]
    numbers = {"p": known[0] if release.by is None else known} if truth else None
    return _any_page(idata, release, title, naive=naive, reference=numbers, **given)


def _table_page(
    idata: Any, release: Release, title: str | None, *, naive: Any, **given: Any
) -> str:
    return render_table(summarize_table(idata, release, **given), title=title)


_PAGES: Mapping[str, Callable[..., str]] = {"binomial": _binomial_page, "table": _table_page}
"""Pages of families that have one of their own."""


def render(summary: Summary, *, title: str | None = None) -> str:
    """Render the report as text.

    Parameters
    ----------
    summary : Summary
        The report's numbers.
    title : str, optional
        The report's heading.
    """
    return render_page(
        "binomial.html",
        s=summary,
        title=title or _title(summary),
        axis=axis_over(_drawn(summary)),
        methods={e.method: METHODS[e.method] for e in summary.groups[0].estimates},
        mechanisms=sorted({MECHANISMS.get(g.mechanism, g.mechanism) for g in summary.groups}),
        many=MANY_GROUPS,
        curve=_curve,
        prior_mean=_prior_mean(summary),
        referenced=any(g.reference is not None for g in summary.groups),
        axis_of=_axis_of,
    )


def render_posterior(summary: PosteriorSummary, *, title: str | None = None) -> str:
    """Render the report on a posterior of any family, as text."""
    return render_page(
        "posterior.html",
        s=summary,
        title=title or _title(summary),
        mechanisms=sorted({MECHANISMS.get(name, name) for name in summary.mechanisms}),
        many=MANY_NUMBERS,
        axis_of=_axis_of_variable,
    )


def render_table(summary: TableSummary, *, title: str | None = None) -> str:
    """Render the report on a whole table, as text."""
    return render_page(
        "whole_table.html",
        s=summary,
        title=title or _title(summary),
        axis_of=_axis_of_column,
        said=_said_of_share,
    )


def render_page(template: str, **content: Any) -> str:
    """Render a template of this folder as text."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(shipped_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {
            "pct": percent,
            "span": interval,
            "num": number,
            "up": rounded_up,
            "label": _label,
            "defined": _defined,
        }
    )
    return environment.get_template(template).render(
        version=__version__,
        neighbours=NEIGHBOURS,
        strengths=STRENGTHS,
        largest_rhat=LARGEST_RHAT,
        largest_k=LARGEST_K,
        smallest_ess=SMALLEST_ESS,
        **content,
    )


def percent(share: float) -> str:
    """A proportion as a percentage of three significant digits."""
    if math.isnan(share):
        return "undefined"
    if abs(share) > 2:  # an interval of a combining rule, far outside [0, 1]
        return "over 200%" if share > 0 else "under \N{MINUS SIGN}200%"
    text = "0" if abs(share) < 1e-7 else f"{100 * share:#.3g}".rstrip(".")
    return f"{text}%".replace("-", "\N{MINUS SIGN}")


def interval(estimate: Estimate) -> str:
    """The bounds of an interval, in words for a screen reader."""
    if math.isnan(estimate.low):
        return "interval undefined"
    if estimate.low < -2 and estimate.high > 2:
        return "beyond \N{PLUS-MINUS SIGN}200%"
    return f"{percent(estimate.low)} to {percent(estimate.high)}"


def number(value: float, digits: int = 3) -> str:
    """A number with a few significant digits, and a power of ten only if it is huge or tiny."""
    if math.isnan(value):
        return "undefined"
    if value == math.inf:
        return "infinity"
    if value != 0 and not 1e-4 <= abs(value) < 1e7:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa} \N{MULTIPLICATION SIGN} 10{str(int(exponent)).translate(_SUPERSCRIPTS)}"
    elif abs(value) >= 10 ** (digits - 1):
        text = f"{value:,.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "\N{MINUS SIGN}")


def rounded_up(value: float, digits: int = 4) -> str:
    """A privacy number, rounded so that it never reads better than it is."""
    if value in (0.0, math.inf):
        return number(value)
    scale = 10.0 ** (digits - 1 - math.floor(math.log10(value)))
    up = math.ceil(value * scale * (1 - 1e-12)) / scale
    return f"{up:.{digits}g}" if 1e-4 <= up < 10**digits else number(up, digits)


def shipped_text(name: str) -> str:
    """Read a text file that ships in this folder."""
    return resources.files("bayesdp.report").joinpath(name).read_text(encoding="utf-8")


def _defined(value: float, form: str = "") -> str:
    """A diagnostic of chains, which has no value of chains that never move."""
    if not math.isfinite(value):
        return number(value)
    return form % value if form else f"{value:,.0f}"


def _title(summary: Summary | PosteriorSummary | TableSummary) -> str:
    return f"{summary.variable} by {summary.by}" if summary.by else summary.variable


def _label(group: Group) -> str:
    """Write one sentence with all numbers of a group's chart, for readers who don't see it."""
    parts = [f"{METHODS[e.method]}: {percent(e.estimate)}, {interval(e)}" for e in group.estimates]
    if group.reference is not None:
        parts.append(f"Reference: {percent(group.reference)}")
    copies = ", ".join(percent(q) for q in group.copies)
    return f"{group.label}. {'. '.join(parts)}. Copies: {copies}."


def _drawn(summary: Summary) -> Iterator[float]:
    """List all proportions that the chart of intervals must show."""
    for group in summary.groups:
        yield from group.copies
        if group.reference is not None:
            yield group.reference
        for estimate in group.estimates:
            yield estimate.estimate
            if not math.isnan(estimate.low):
                yield from (estimate.low, estimate.high)


def _axis_of(density: Density) -> Axis:
    return axis_over([float(density.grid[0]), float(density.grid[-1])], steps=2, snap=False)


def _axis_of_variable(variable: Variable) -> Axis:
    shown = variable.rows[:MANY_NUMBERS]
    ends = [x for row in shown for x in (row.low, row.high, *(row.naive or ())[1:])]
    known = [row.reference for row in shown if row.reference is not None]
    return axis_over([*ends, *known], proportions=False)


def _axis_of_column(column: OneWay) -> Axis:
    ends = [x for one in column.shares for x in (one.high, one.outer[1])]
    others = [x for one in column.shares for x in (one.released, one.reference) if x is not None]
    return axis_over([0.0, *ends, *others])


def _said_of_share(share: Share, level: str) -> str:
    """Write one sentence with all numbers of a share's chart, for readers who don't see it."""
    low, high = share.outer
    parts = [
        f"{share.label}: {percent(share.mean)}",
        f"{level} from {percent(share.low)} to {percent(share.high)} in the table",
        f"from {percent(low)} to {percent(high)} in the population",
    ]
    if share.released is not None:
        parts.append(f"released: {percent(share.released)}")
    if share.reference is not None:
        parts.append(f"reference: {percent(share.reference)}")
    return "; ".join(parts)


def _curve(density: Density, which: str, axis: Axis) -> str:
    """Points of a density curve, its peak near the top of a box of 1000 by 100.

    A density that grows without bound towards an end of the range is cut at the top there,
    and the line is left out where it would run along the axis.
    """
    height = getattr(density, which)
    share = height / max(float(height[1:-1].max()), 1e-300)
    visible = np.flatnonzero(share > 0.003)
    drawn = slice(max(visible[0] - 1, 0), visible[-1] + 2)
    x = [10 * axis.position(float(p)) for p in density.grid[drawn]]
    y = 100 - 96 * np.minimum(share[drawn], 1.04)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _prior_mean(summary: Summary) -> float | None:
    """Prior mean of the mechanisms, towards which copies are drawn, if all groups share it."""
    priors = {group.prior for group in summary.groups}
    means = {None if prior is None else prior[0] / sum(prior) for prior in priors}
    return means.pop() if len(means) == 1 else None
