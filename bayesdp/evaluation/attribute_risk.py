"""Attribute disclosure: what an intruder who knows everything else learns of a record's value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.compared_frames import Floats

if TYPE_CHECKING:
    import pandas as pd


def attribute_risk(
    log_likelihood: ArrayLike,
    synthetic_log_likelihood: ArrayLike,
    truth: ArrayLike,
    *,
    prior: ArrayLike | None = None,
) -> pd.DataFrame:
    """Compute posterior probabilities of records' true values, for an intruder who knows the rest.

    The intruder knows the copies Z = (Z_1, ..., Z_m), the model that made them, the record's
    other columns x_i and all other records, y_-i, and guesses y_i among G values g:

        Pr(y_i = g | Z, x_i, y_-i) proportional to Pr(y_i = g) prod_l p(Z_l | y_i = g, y_-i)
        p(Z_l | y_i = g, y_-i) = integral of p(Z_l | theta) p(theta | y_i = g, y_-i) d theta

    where each copy came from its own draw of theta from the posterior. With theta_1, ..., theta_H
    drawn once, given the true records, the integral is the weighted mean (importance sampling)

        sum_h p(Z_l | theta_h) q_h(g),
        q_h(g) = r_h(g) / sum_j r_j(g),   r_h(g) = f(g | x_i, theta_h) / f(y_i | x_i, theta_h).

    This is the attribute risk of Reiter, Wang and Zhang (2014), Hu, Reiter and Wang (2014) and
    Hu and Savitsky's R package AttributeRiskCalculation, which has one copy and a uniform prior; a
    prior is multiplied in here, not added to a logarithm.

    The result is computed from confidential records without any noise: it stays with the curator
    and may not be published. Nothing is spent. For copies with a pure epsilon under replace-one,
    one record's posterior odds are at most exp(epsilon) times its prior odds, whatever this finds.

    Parameters
    ----------
    log_likelihood : array_like, shape (H, records, G)
        log f(g | x_i, theta_h) of each guess for each record, at each draw. Minus infinity where
        a guess is impossible.
    synthetic_log_likelihood : array_like, shape (H,) or (m, H)
        log p(Z_l | theta_h) of all synthesized values in a copy, summed over its records.
    truth : array_like of int, shape (records,)
        Index of the true guess, from 0.
    prior : array_like, shape (G,) or (records, G), optional
        Probabilities of the guesses before the copies are seen; by default all equal. They need
        not sum to 1.

    Returns
    -------
    DataFrame
        One row for each record: prior and posterior, the probabilities of the true value; rank, 1
        where no guess is more probable than the truth; guess, the most probable one (the first of
        several); odds_ratio, posterior over prior odds of the true value, NaN where the prior is 1;
        effective_draws, 1 / sum_h w_h^2 with w_h the shares of p(Z_l | theta_h) q_h(g), the
        smallest over guesses and copies. Where that is small, say below 100, draw more: the
        probabilities are Monte Carlo estimates.

    Raises
    ------
    InvalidInput
        If shapes don't match, a number is NaN or plus infinity, a true value is impossible or isn't
        among the guesses, or a copy is impossible at every draw. No number is ever shown.

    Examples
    --------
    Ten answers, and a copy of them drawn with a p from their posterior; draws of p are a grid of
    its quantiles here. How probable is each true answer to somebody who knows the nine others?

    >>> import bayesdp as bdp, numpy as np
    >>> from scipy import stats
    >>> answers, copy = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1, 1]), np.array([0] * 6 + [1] * 4)
    >>> p = stats.beta(1 + 3, 1 + 7).ppf((np.arange(500) + 0.5) / 500)
    >>> density = np.log(np.column_stack([1 - p, p]))    # of an answer of 0, and of 1
    >>> found = bdp.evaluate.attribute_risk(
    ...     np.repeat(density[:, None], 10, axis=1), density[:, copy].sum(axis=1), answers
    ... )
    >>> found["posterior"].round(2).unique().tolist()    # from 0.5 each
    [0.48, 0.57]
    """
    import pandas as pd

    density = _array("log_likelihood", log_likelihood, "(draws, records, guesses)", 3)
    draws, records, guesses = density.shape
    copies = np.atleast_2d(
        _array("synthetic_log_likelihood", synthetic_log_likelihood, "(draws,) or (m, draws)", 1, 2)
    )
    if copies.shape[1] != draws:
        raise InvalidInput(
            f"synthetic_log_likelihood is of {copies.shape[1]} draws and log_likelihood of "
            f"{draws}; give both at the same draws"
        )
    if np.any(np.all(np.isneginf(copies), axis=1)):
        raise InvalidInput(
            "synthetic_log_likelihood is minus infinity at every draw of a copy; the copy can't "
            "have come from this model"
        )
    true = _truth(truth, records, guesses)
    weights = _prior(prior, records, guesses)
    at_truth = density[:, np.arange(records), true]
    if np.any(np.isneginf(at_truth)) or np.any(weights[np.arange(records), true] == 0):
        raise InvalidInput(
            "log_likelihood is minus infinity, or prior 0, at a true value; the true values must "
            "be possible"
        )
    with np.errstate(divide="ignore"):
        log_posterior = np.log(weights)
    effective = np.full(records, np.inf)
    # Records one by one: (H, G) numbers at a time, beside those given.
    for i in range(records):
        ratio = density[:, i, :] - at_truth[:, i, None]
        possible = ~np.all(np.isneginf(ratio), axis=0)
        log_posterior[i, ~possible] = -np.inf
        share = ratio[:, possible] - logsumexp(ratio[:, possible], axis=0)
        for copy in copies:
            terms = copy[:, None] + share
            log_mean = logsumexp(terms, axis=0)
            log_posterior[i, possible] += log_mean
            seen = ~np.isneginf(log_mean)
            squares = logsumexp(2 * (terms[:, seen] - log_mean[seen]), axis=0)
            if seen.any():
                effective[i] = min(effective[i], float(np.exp(-np.max(squares))))
    # Finite: the true value is possible, and so is each copy at some draw.
    total = logsumexp(log_posterior, axis=1)
    posterior = np.exp(log_posterior - total[:, None])
    own = np.arange(records), true
    others = np.where(np.arange(guesses) == true[:, None], 0.0, posterior).sum(axis=1)
    before = np.where(np.arange(guesses) == true[:, None], 0.0, weights).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = (posterior[own] / others) / (weights[own] / before)
    return pd.DataFrame(
        {
            "prior": weights[own],
            "posterior": posterior[own],
            "rank": 1 + (posterior > posterior[own][:, None]).sum(axis=1),
            "guess": posterior.argmax(axis=1),
            "odds_ratio": odds,
            "effective_draws": effective,
        },
        index=pd.RangeIndex(records, name="record"),
    )


def _array(name: str, values: Any, form: str, *dimensions: int) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must be an array of numbers of shape {form}") from None
    if array.ndim not in dimensions or array.size == 0:
        raise InvalidInput(f"{name} has shape {array.shape}; it must be {form}, none of them 0")
    if np.any(np.isnan(array) | np.isposinf(array)):
        raise InvalidInput(f"{name} has elements that are NaN or plus infinity; give logarithms")
    return array


def _truth(truth: Any, records: int, guesses: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    array = np.asarray(truth)
    if array.shape != (records,) or array.dtype.kind not in "iu":
        raise InvalidInput(f"truth must be {records} whole numbers, one for each record")
    if np.any((array < 0) | (array >= guesses)):
        raise InvalidInput(f"truth has elements that aren't among the guesses 0 to {guesses - 1}")
    return array.astype(np.int64)


def _prior(prior: Any, records: int, guesses: int) -> Floats:
    if prior is None:
        return np.full((records, guesses), 1 / guesses)
    form = f"({guesses},) or ({records}, {guesses})"
    array = _array("prior", prior, form, 1, 2)
    if array.shape not in ((guesses,), (records, guesses)) or np.any(array < 0):
        raise InvalidInput(
            f"prior has shape {array.shape}; give probabilities of shape {form}, none negative"
        )
    sums = array.sum(axis=-1, keepdims=True)
    if np.any(sums == 0) or np.any(np.isinf(array)):
        raise InvalidInput("prior must leave at least one guess possible")
    return np.array(np.broadcast_to(array / sums, (records, guesses)))
