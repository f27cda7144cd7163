r"""Poststratification: known totals of the population, to which a sample's posterior is weighed.

With theta_g the proportion, mean or rate of group g, and N_g the population's members in it, the
population's is, draw by draw,

    theta = sum over g of N_g theta_g / sum over g of N_g.

Groups of a hierarchical model are pooled first, which makes this multilevel regression with
poststratification (Gelman and Little 1997). A whole table has no groups, but records: these are
weighed to the totals (`bayesdp.inference.table.margins`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import is_missing, listed_labels
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import MODELS
from bayesdp.inference.result import coordinate_of
from bayesdp.inference.totals import TOTAL, indexed, places_of, totals_from

if TYPE_CHECKING:
    import arviz as az
    import pandas as pd

    from bayesdp.inference.table.posterior import TablePosterior

Floats = NDArray[np.float64]
FAMILY = "poststratified"
_STRATA = ("group", "area")
"""Dimensions whose labels totals are of."""
_TAKEN = ("chain", "draw", "category", TOTAL)
"""Names that the result has for something else."""
_TABLES = "tables"
"""Group of a whole table's fit."""


def poststratify(posterior: az.InferenceData, totals: Any, *, by: str | None = None) -> Any:
    """Weigh a posterior to known totals of the population, by groups or margins of a whole table.

    A sample in which some groups are too many says too much of these. Where the population's
    numbers of members are known, from a census or a register, they tell how much each group is to
    weigh: theta = sum_g N_g theta_g / sum_g N_g, computed at every draw, so that the posterior's
    intervals carry over, and with them the noise. Of a whole table each record is weighed, so that
    the columns of `totals` have these totals: by poststratification for one margin, by raking for
    several.

    Totals are public, and nothing is spent. What is assumed is that, within a group, or within a
    cell of all columns of a single margin, whoever is in the sample is like who isn't (selection
    is ignorable given the groups); and for several margins, that the odds of being selected are a
    product of one factor for each margin.

    Parameters
    ----------
    posterior : arviz.InferenceData or TablePosterior
        The fit of a release with groups by `BinomialModel`, `HierarchicalBinomialModel`,
        `MultinomialModel`, `GaussianModel`, `MultivariateGaussianModel`, `GammaModel` (means),
        `HierarchicalGaussianModel` or `WeightedShareModel`, whose weighted shares are averaged; one
        by `PoissonModel`, whose totals are of areas, and are what rates are relative to: expected
        events, or persons at risk; or one of a whole table by `TableModel`.
    totals : mapping, Series or DataFrame, or for a whole table a list of them
        The population's members by group: a mapping or Series of label to number, or a DataFrame
        with the labels in a column "group" ("area" for rates) and the numbers in a column
        "total", where a group may have several rows. Groups need all to be there. Of a whole
        table: for each margin a Series with columns' names as those of its index, or a DataFrame
        of labels and "total"; or a mapping of columns to their totals, as
        {"sex": {"f": 5100, "m": 4900}}, also within a list. Labels are those that
        `TablePosterior.table` shows. Only the proportions of totals matter.
    by : str, optional
        Column of a DataFrame of totals: its labels are coarser groups, each of which gets an answer
        of its own. Default: one answer for the whole population.

    Returns
    -------
    arviz.InferenceData or TablePosterior
        The same variables, of the population in place of groups: "p" with the dimensions chain and
        draw, and `by` where it is given. Or, of a whole table, a TablePosterior whose `table`,
        `estimate`, `regression` and `synthetic` are of the population with these margins; its
        answers about the confidential table (target="data") are what they were.

    Raises
    ------
    InvalidInput
        If the posterior has no groups, or isn't of means; if a group of the posterior has no total,
        or a total's group isn't in the posterior; if a total is negative; or if margins contradict
        one another, or have members in a cell where a latent table has no record.

    Notes
    -----
    The answer is that of the law which members of the population are draws from. In a population of
    N, the proportion differs from it by sqrt(p (1 - p) / N), which is next to nothing where the
    sample is a small part of it.

    A latent table's records get Rubin's Bayesian bootstrap weights, which are sampling error, and
    then are scaled to the margins: a known margin has no error. `table` adds the weights up;
    functions of tables get records without weights, each as often as its weight says, from a table
    four times as large, so that rounding adds at most 2% to the variance.

    References
    ----------
    Gelman and Little (1997), Poststratification into many categories using hierarchical logistic
    regression. Deming and Stephan (1940). Little and Wu (1991), Models for contingency tables with
    known margins when target and sampled populations differ.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> counts = {"town": bdp.Count(160, 400), "country": bdp.Count(10, 100)}
    >>> synthesizer = bdp.synthesizers.DiscreteLaplaceSynthesizer(epsilon=1.0)
    >>> idata = bdp.BinomialModel().fit(synthesizer.release(counts), draws=1000, seed=1)
    >>> whole = bdp.evaluate.poststratify(idata, {"town": 3000, "country": 7000})
    >>> whole.posterior["p"].dims
    ('chain', 'draw')
    >>> bool(0.1 < whole.posterior["p"].mean() < 0.3)  # the sample has a third
    True
    """
    family = str(getattr(posterior, "attrs", {}).get("family"))
    model = MODELS.find(family, InvalidInput)
    groups = posterior.groups() if hasattr(posterior, "groups") and model else ()
    if _TABLES in groups:
        return _of_table(posterior, totals, by)
    if "posterior" not in groups:
        raise InvalidInput(
            f"posterior is {quoted(posterior)} that isn't a model's fit of what was released; give "
            "what fit returned, and not what is poststratified already"
        )
    names = [name for name in posterior.posterior.data_vars if name in model.means]
    strata = [name for name in _STRATA if name in posterior.posterior.dims]
    if not names or not strata:
        raise InvalidInput(
            f"posterior is a fit of the family {quoted(family)} that has no mean, proportion or "
            "rate of each group or area; fit a release with groups (by=) by one of "
            f"{', '.join(name for name, model in sorted(MODELS.items()) if model.means)}"
        )
    if by in names:
        raise InvalidInput(f"by is {quoted(by)}, a variable of the posterior; rename the column")
    weights, parts = _weights(posterior.posterior, strata, totals, by)
    return _averaged(posterior, [str(name) for name in names], strata, weights, parts)


def _of_table(posterior: Any, totals: Any, by: str | None) -> TablePosterior:
    """Rake a whole table's posterior."""
    from bayesdp.inference.table.posterior import TablePosterior

    if by is not None:
        raise InvalidInput(
            f"by is {quoted(by)}, which is for groups; of a whole table, ask the result itself: by "
            "table, or by estimate with a groupby"
        )
    return TablePosterior.of(posterior).poststratified(totals)


def _weights(
    fitted: Any, strata: Sequence[str], totals: Any, by: str | None
) -> tuple[Floats, dict[str, list[Any]]]:
    """Total of each stratum in each part of the population, shape (parts, strata), and the parts.

    Parts have the name of `by` and its labels; the whole has none.
    """
    frame, members = totals_from(totals, strata)
    absent = [name for name in strata if name not in frame.columns]
    if absent:
        raise InvalidInput(
            f"totals has no column {quoted(absent[0])}; name the column of the posterior's "
            f"{absent[0]}s so"
        )
    known = [fitted[name].to_numpy().tolist() for name in strata]
    codes = [
        places_of(name, frame[name], labels) for name, labels in zip(strata, known, strict=True)
    ]
    indexed(codes, members, known, strata, again=True)  # which finds those without a total
    cells = np.ravel_multi_index(codes, [*map(len, known)])
    parts, part = _parts(frame, by)
    weights: Floats = np.zeros((part.max() + 1, math.prod(map(len, known))))
    np.add.at(weights, (part, cells), members)
    empty = np.flatnonzero(weights.sum(axis=1) == 0)
    if empty.size:
        raise InvalidInput(
            f"totals adds up to 0 where {by} is {quoted(parts[str(by)][empty[0]])}; leave it out"
        )
    return weights, parts


def _parts(frame: pd.DataFrame, by: str | None) -> tuple[dict[str, list[Any]], NDArray[np.int64]]:
    """Labels of the population's parts, and the part of each row of totals."""
    if by is None:
        return {}, np.zeros(len(frame), dtype=np.int64)
    if not isinstance(by, str) or by not in frame.columns or by in _TAKEN:
        raise InvalidInput(
            f"by is {quoted(by)}; it must be one of the columns of totals: "
            f"{', '.join(str(name) for name in frame.columns if name not in _TAKEN)}"
        )
    given = listed_labels(f"column {quoted(by)} of totals", frame[by])
    if np.any(is_missing(frame[by])):
        raise InvalidInput(f"totals has a row without {by}; each needs one of its labels")
    shown = coordinate_of(given)
    labels = list(dict.fromkeys(shown))
    return {by: labels}, np.array([labels.index(label) for label in shown])


def _averaged(
    posterior: az.InferenceData,
    names: Sequence[str],
    strata: Sequence[str],
    weights: Floats,
    parts: dict[str, list[Any]],
) -> az.InferenceData:
    """Average variables over strata by weights, and keep what else is true of the fit."""
    import xarray as xr

    fitted, shares = posterior.posterior, weights / weights.sum(axis=1, keepdims=True)
    made: dict[str, Any] = {}
    for name in names:
        values = fitted[name].transpose("chain", "draw", *strata, ...)
        array = values.to_numpy()
        flat = array.reshape(*array.shape[:2], shares.shape[1], -1)
        found = np.einsum("cdsr,ps->cdpr", flat, shares)
        rest = array.shape[2 + len(strata) :]
        middle = (len(weights),) if parts else ()
        dims = ("chain", "draw", *parts, *values.dims[2 + len(strata) :])
        made[name] = (dims, found.reshape(*array.shape[:2], *middle, *rest))
    kept = {
        name: fitted[name].to_numpy()
        for name in ("chain", "draw", "category")
        if name in fitted.coords
    }
    attrs = {**posterior.attrs, "family": FAMILY, FAMILY: str(posterior.attrs["family"])}
    members: Any = ([*parts], weights.sum(axis=1)) if parts else weights.sum()
    groups: dict[str, xr.Dataset] = {
        "posterior": xr.Dataset(made, coords={**kept, **parts}, attrs=attrs),
        "constant_data": xr.Dataset({TOTAL: members}, coords=dict(parts)),
    }
    if "sample_stats" in posterior.groups():
        groups["sample_stats"] = posterior.sample_stats
    return import_arviz().InferenceData(attrs=attrs, **groups)
