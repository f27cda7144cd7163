"""Reference of a model's posterior: what public benchmark data say of its parameters themselves.

It is the estimate from the data as they are, without a release: what an analyst of a real release
doesn't have, and a report on public data may show. A model without a rule here has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayesdp.core.order_views import OrderStatisticsView
from bayesdp.core.views import view_of
from bayesdp.inference.counts.binomial import BinomialModel
from bayesdp.inference.counts.clusters import read_clusters
from bayesdp.inference.counts.hierarchical_binomial import HierarchicalBinomialModel
from bayesdp.inference.counts.multinomial import MultinomialModel
from bayesdp.inference.counts.poisson import PoissonModel
from bayesdp.inference.counts.weighted_share import WeightedShareModel
from bayesdp.inference.gamma.model import GammaModel
from bayesdp.inference.gaussian.hierarchical import HierarchicalGaussianModel
from bayesdp.inference.gaussian.model import GaussianModel
from bayesdp.inference.gaussian.multivariate import MultivariateGaussianModel
from bayesdp.inference.graphs.beta_model import NetworkBetaModel
from bayesdp.inference.graphs.ergm import ERGMModel
from bayesdp.inference.records.copies import CensoredCopiesModel
from bayesdp.inference.records.copies_regression import CopiesRegressionModel
from bayesdp.inference.records.quantile import QuantileModel
from bayesdp.inference.regression.linear import LinearRegressionModel
from bayesdp.inference.regression.logistic import LogisticRegressionModel
from bayesdp.inference.table.model import TableModel
from bayesdp.mechanisms.counts.cells import shape_of
from bayesdp.networks.beta_model import fit_beta_model
from bayesdp.networks.formula import statistics
from bayesdp.networks.maximum_likelihood import fit_mle
from bayesdp.networks.network import as_network

Numbers = dict[str, NDArray[np.float64]]


@singledispatch
def truth(model: Any, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    """Estimate a model's parameters from public data themselves.

    Parameters
    ----------
    model : Model
    data : Series, DataFrame or Network
        The data that were released, as `DataSection.read` returns them.
    by : Series or None
        Each record's group.
    release : Release
        What was released of them, whose mechanisms have the public parameters.
    posterior : xarray.Dataset
        The model's posterior, whose variables say which numbers are asked for.

    Returns
    -------
    mapping of str to array
        Estimates by the names of variables, in their shape without chain and draw; NaN, or no
        entry, where there is none.
    """
    return {}


@truth.register(BinomialModel)
@truth.register(HierarchicalBinomialModel)
def _proportions(model: Any, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    return {"p": _by_group([np.mean(each.astype(float)) for each in _groups(data, by, release)])}


@truth.register
def _shares(model: MultinomialModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    shares = []
    for each, part in zip(_groups(data, by, release), release.parts, strict=True):
        axes = getattr(part.mechanism, "axes", None)
        if axes is None or len(axes) != 1 or axes[0].categories is None:
            return {}
        column = each.iloc[:, 0] if hasattr(each, "columns") else each
        shares.append([float((column == label).mean()) for label in axes[0].categories])
    return {"theta": _by_group(shares)}


@truth.register
def _weighted(
    model: WeightedShareModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    totals, sizes = [], []
    for each, part in zip(_groups(data, by, release), release.parts, strict=True):
        name = part.mechanism.weights
        axes = read_clusters(part.mechanism.axes, model.clusters, model.strata).axes
        if not {name, *(axis.name for axis in axes)} <= {*each.columns}:
            return {}
        weights, shape = each[name].to_numpy(dtype=float), shape_of(axes)
        bins = [axis.bins(each[axis.name], clamp=False) for axis in axes]
        totals.append(np.bincount(np.ravel_multi_index(bins, shape), weights, int(np.prod(shape))))
        sizes.append(weights.sum() ** 2 / np.sum(weights**2) if weights.any() else 0.0)
    with np.errstate(invalid="ignore"):  # a stratum without weights has no shares
        shares = [each / each.sum() for each in totals]
        overall = np.sum(totals, axis=0) / np.sum(totals)
    found = {"share": shares, "total": totals, "effective_size": sizes}
    whole = {} if by is None else {"overall": overall}
    return {name: _by_group(numbers) for name, numbers in found.items()} | whole


@truth.register
def _rates(model: PoissonModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    rates = []
    for each, part in zip(_groups(data, by, release), release.parts, strict=True):
        mechanism: Any = part.mechanism
        areas, expected = getattr(mechanism, "areas", None), getattr(mechanism, "expected", None)
        if areas is None or expected is None or model.expected is not None:
            return {}
        events = np.array([np.count_nonzero(each == area) for area in areas])
        rates.append(events / np.asarray(expected))
    return {"rate": _by_group(rates)}


@truth.register
def _rate_and_mean(model: GammaModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    means = _by_group([np.mean(each) for each in _groups(data, by, release)])
    return {"rate": model.shape / means, "mean": means}


@truth.register
def _mean_and_sd(model: GaussianModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    groups = list(_groups(data, by, release))
    return {
        "mu": _by_group([np.mean(each) for each in groups]),
        "sigma": _by_group([np.std(each, ddof=1) for each in groups]),
    }


@truth.register
def _mean_vectors(
    model: MultivariateGaussianModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    columns = [str(name) for name in posterior["column"].to_numpy()]
    if not set(columns) <= {*getattr(data, "columns", ())}:
        return {}  # numbered, by their order
    return {"mu": _by_group([each[columns].mean() for each in _groups(data, by, release)])}


@truth.register
def _spread(
    model: CensoredCopiesModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    records = np.asarray(data, dtype=np.float64)
    return {
        "mean": np.asarray(np.mean(records)),
        "sd": np.asarray(np.std(records, ddof=1)),
        "quantile": np.quantile(records, model.quantiles),
    }


@truth.register
def _regressed_means(
    model: CopiesRegressionModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    import statsmodels.api as sm
    from statsmodels.othermod.betareg import BetaModel

    low, high = release.parts[0].mechanism.bounds
    groups = [np.asarray(each, dtype=np.float64) for each in _groups(data, by, release)]
    shares = (np.concatenate(groups) - low) / (high - low)
    rows = np.repeat(model.design(release.groups), [each.size for each in groups], axis=0)
    found = {"mean": _by_group([np.mean(each) if each.size else np.nan for each in groups])}
    if model.population == "logit_normal":
        fit = sm.OLS(np.log(shares / (1 - shares)), rows).fit()
        return found | {"beta": fit.params, "sigma": np.asarray(np.sqrt(fit.scale))}
    *beta, log_precision = BetaModel(shares, rows).fit(disp=0).params
    return found | {"beta": np.array(beta), "precision": np.asarray(np.exp(log_precision))}


@truth.register
def _quantiles(model: QuantileModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    groups = [np.asarray(each, np.float64) for each in _groups(data, by, release)]
    sizes = [part.mechanism.n for part in release.parts]
    if any(n not in (None, len(each)) for n, each in zip(sizes, groups, strict=True)):
        return {}  # the quantiles are of estimates on blocks of the records
    found = {"quantile": _by_group([np.quantile(each, model.quantiles) for each in groups])}
    if "trimmed_mean" in posterior:
        found["trimmed_mean"] = _by_group(_trimmed_means(groups, release))
    if model.population == "lognormal":
        if any(np.any(each <= 0) for each in groups):
            return found
        groups = [np.log(each) for each in groups]
    return found | {
        "location": _by_group([np.mean(each) for each in groups]),
        "scale": _by_group([np.std(each, ddof=1) for each in groups]),
    }


def _trimmed_means(groups: Any, release: Any) -> list[Any]:
    """Means of the records that the release's windows leave, of each group."""
    views = [view_of(part.mechanism, OrderStatisticsView) for part in release.parts]
    shares = [view.windows[0][0] for view in views if view is not None]
    return [stats.trim_mean(each, share) for each, share in zip(groups, shares, strict=True)]


@truth.register
def _means(
    model: HierarchicalGaussianModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    groups = list(_groups(data, by, release))
    centred = np.concatenate([each - np.mean(each) for each in groups])
    sigma = np.sqrt(np.sum(centred**2) / (centred.size - len(groups)))
    return {"mu": _by_group([np.mean(each) for each in groups]), "sigma": np.asarray(sigma)}


@truth.register
def _least_squares(
    model: LinearRegressionModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    import statsmodels.api as sm

    design = _design(data, posterior["beta"])
    if design is None:
        return {}
    found = sm.OLS(data[model.response].to_numpy(dtype=float), design).fit()
    return {"beta": found.params, "sigma": np.asarray(np.sqrt(found.scale))}


@truth.register
def _most_likely(
    model: LogisticRegressionModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    import statsmodels.api as sm

    response = data[model.formula.partition("~")[0].strip()]
    design = _design(data, posterior["beta"])
    if design is None or model.success is not None or set(response.unique()) != {0, 1}:
        return {}
    found = sm.GLM(response.to_numpy(dtype=float), design, family=sm.families.Binomial()).fit()
    return {"beta": found.params}


@truth.register
def _of_network(model: ERGMModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    network = as_network(data)
    found = {"theta": np.asarray(fit_mle(network, model.formula, seed=1).coef)}
    return found | {"statistics": np.array([*statistics(network, model.formula).values()])}


@truth.register
def _propensities(
    model: NetworkBetaModel, data: Any, by: Any, release: Any, posterior: Any
) -> Numbers:
    network = as_network(data).in_label_order()
    if network.directed or model.spread is not None:
        return {}
    degrees = np.bincount(network.edges.ravel(), minlength=network.n)
    return {"beta": np.asarray(fit_beta_model(degrees, prior=model.prior).coef)}


@truth.register
def _cells(model: TableModel, data: Any, by: Any, release: Any, posterior: Any) -> Numbers:
    schema = model.schema_of(release)
    codes = schema.coded(schema.limited(data))
    shares = [
        np.bincount(codes[name], minlength=cells) / len(codes)
        for name, cells in schema.cells.items()
    ]
    return {"share": np.concatenate(shares), "n": np.asarray(float(len(codes)))}


def _groups(data: Any, by: Any, release: Any) -> Iterator[Any]:
    """Yield the records of each part of the release."""
    for part in release.parts:
        yield data if by is None else data[(by == part.group).to_numpy()]


def _by_group(numbers: list[Any]) -> NDArray[np.float64]:
    """Return one number, or an array, for each group; without groups, that of all records."""
    array = np.asarray(numbers, dtype=np.float64)
    return array[0] if len(numbers) == 1 else array


def _design(data: Any, beta: Any) -> NDArray[np.float64] | None:
    """The columns of the coefficients, or None where one isn't a column of numbers."""
    (dim,) = beta.dims[2:]
    names = [str(name) for name in beta[dim].to_numpy()]
    if not set(names) <= {"intercept", *data.columns}:
        return None
    columns = [np.ones(len(data)) if n == "intercept" else data[n].to_numpy(float) for n in names]
    return np.column_stack(columns)
