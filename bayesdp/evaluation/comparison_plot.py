"""Plot of a posterior beside the naive answer and, where it is known, the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.display.intervals import Method, Row, plot_intervals
from bayesdp.engines.mixture import check_level
from bayesdp.errors import InvalidInput, kind_of, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ONE = ""  # the label of a single quantity


def plot_comparison(
    *,
    posterior: Any,
    naive: Any = None,
    truth: Any = None,
    variable: str | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Plot intervals given the mechanism beside the naive ones and, if it is known, the truth.

    Parameters
    ----------
    posterior : exact posterior, InferenceData, Estimates, array, or mapping of labels to these
        The posterior given the mechanism: what a model's `posterior` or `fit` returns, what a
        `TablePosterior` estimates, or draws of one number. A mapping has a row for each label, such
        as each group's exact posterior.
    naive : the same, optional
        The answer that takes the released data for real, as `naive_posterior` and `fit_naive`
        return it. `Estimates` bring it along.
    truth : float, or mapping of labels to floats, optional
        True values, which only public or simulated data have; an array or a Series for an
        InferenceData's variable, in its order.
    variable : str, optional
        The variable of an InferenceData; not needed where there is one alone.
    level : float
        Probability of the intervals, in (0, 1). They are equal-tailed.
    ax : matplotlib Axes, optional
        Where to draw; by default the axes of a new figure.

    Returns
    -------
    matplotlib Axes
        A row for each quantity: mean and interval of both answers, and a bar at the true value.

    Raises
    ------
    InvalidInput
        If an argument is none of these, `truth` doesn't fit the rows, or there are more than 40.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(16, 16))
    >>> model, release = bdp.BinomialModel(), bdp.Release.of(made, [38])
    >>> axes = bdp.plot_comparison(
    ...     truth=0.31, posterior=model.posterior(release), naive=model.naive_posterior(release)
    ... )
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['given the mechanism', 'taken for real', 'truth']
    """
    right = _rows("posterior", posterior, check_level(level), variable)
    wrong = None if naive is None else _rows("naive", naive, level, variable)
    if naive is None and hasattr(posterior, "methods"):
        wrong = posterior.methods(level)[1].rows
    methods = [Method("given the mechanism", "posterior", right)]
    if wrong is not None:
        if set(wrong) != set(right):
            raise InvalidInput(
                f"naive has other rows than posterior: {_some(wrong)}, not {_some(right)}; give "
                "both for the same quantities"
            )
        methods.append(Method("taken for real", "naive", wrong))
    about = f"mean and {100 * level:g}% interval"
    known = {} if truth is None else _truth(truth, list(right))
    return plot_intervals(ax, methods, known, xlabel=f"{variable}, {about}" if variable else about)


def _rows(name: str, given: Any, level: float, variable: str | None) -> Mapping[Any, Row]:
    """Each quantity's estimate and interval, by its label."""
    if hasattr(given, "methods"):
        return given.methods(level)[0].rows  # type: ignore[no-any-return]
    if hasattr(given, "groups") and "posterior" in given.groups():
        return dict(_rows_of_draws(name, given["posterior"], level, variable))
    if isinstance(given, Mapping):
        return {label: _row(name, each, level) for label, each in given.items()}
    return {_ONE: _row(name, given, level)}


def _row(name: str, given: Any, level: float) -> Row:
    """One quantity's estimate and interval, of an exact posterior or of draws."""
    if callable(getattr(given, "interval", None)):
        return (float(given.mean()), *given.interval(level))
    try:
        draws = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        draws = np.empty(0)
    if not draws.ndim or draws.size < 2 or not np.all(np.isfinite(draws)):
        raise InvalidInput(
            f"{name} is {kind_of(given)}; give an exact posterior of one number, an "
            "arviz.InferenceData, Estimates, draws, or a mapping of labels to these"
        )
    tail = (1 - level) / 2
    low, high = np.quantile(draws, (tail, 1 - tail))
    return float(draws.mean()), float(low), float(high)


def _rows_of_draws(
    name: str, posterior: Any, level: float, variable: str | None
) -> Iterator[tuple[Any, Row]]:
    """Each number's row, of a variable of an InferenceData."""
    known = list(posterior.data_vars)
    if variable is None and len(known) == 1:
        variable = known[0]
    if variable not in known:
        raise InvalidInput(
            f"variable is {quoted(variable)}; {name} has {', '.join(map(str, known))}: give one"
        )
    draws = posterior[variable]
    others = [dim for dim in draws.dims if dim not in ("chain", "draw")]
    for place in np.ndindex(*(draws.sizes[dim] for dim in others)):
        at = draws.isel(dict(zip(others, place, strict=True)))
        label = ", ".join(str(at.coords[dim].item() if dim in at.coords else k)
                          for dim, k in zip(others, place, strict=True))  # fmt: skip
        yield label, _row(name, at.to_numpy().ravel(), level)


def _truth(truth: Any, labels: list[Any]) -> dict[Any, float]:
    """True values by the rows' labels."""
    pairs = dict(truth.items()) if hasattr(truth, "items") else None
    try:
        if pairs is None:
            values = np.atleast_1d(np.asarray(truth, dtype=np.float64)).ravel()
            pairs = dict(zip(labels, values, strict=True))
        named = {str(label): label for label in labels}
        return {named[str(label)]: float(value) for label, value in pairs.items()}
    except (KeyError, TypeError, ValueError):
        raise InvalidInput(
            f"truth is {kind_of(truth)} that doesn't fit the rows {_some(labels)}; give a number "
            "for each, or a mapping of labels to numbers"
        ) from None


def _some(labels: Any) -> str:
    named = [quoted(label) for label in labels]
    return ", ".join(named[:4]) + (" and others" if len(named) > 4 else "")
