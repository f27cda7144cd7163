"""Maximum pseudo-likelihood: each dyad given all others, by logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from bayesdp.errors import InvalidInput
from bayesdp.kernels.graphs.markov import all_changes
from bayesdp.networks.formula import BoundFormula, bind
from bayesdp.networks.network import Network, as_network
from bayesdp.networks.offset import offset_from

if TYPE_CHECKING:
    import pandas as pd

_MOST_NUMBERS = 100_000_000
_ITERATIONS = 100
_FAR = 25.0  # log-odds whose probability is 1e-11: a fit this sure is suspect
_NEAR = 0.5  # log-odds by one statistic: near enough to zero for chains to move


@dataclass(frozen=True)
class Fit:
    """Estimated coefficients of a model, with their covariance and Monte Carlo error.

    Attributes
    ----------
    terms : tuple of str
    coef : ndarray of float, shape (terms,)
    covariance : ndarray of float, shape (terms, terms)
        Inverse of the information matrix. For a pseudo-likelihood of dyads that depend on each
        other it is too small, and only a start.
    method : str
        "maximum likelihood", "maximum pseudo-likelihood" or "Monte Carlo maximum likelihood".
    monte_carlo_error : ndarray of float, shape (terms,)
        Standard error of `coef` that is due to simulation; zero where nothing is simulated.
    """

    terms: tuple[str, ...]
    coef: NDArray[np.float64]
    covariance: NDArray[np.float64]
    method: str
    monte_carlo_error: NDArray[np.float64]

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """Square roots of the covariance's diagonal, shape (terms,)."""
        return np.sqrt(np.diag(self.covariance))

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the fit, one row for each term: estimate, standard_error, monte_carlo_error."""
        import pandas as pd

        return pd.DataFrame(
            {
                "estimate": self.coef,
                "standard_error": self.standard_error,
                "monte_carlo_error": self.monte_carlo_error,
            },
            index=pd.Index(self.terms, name="term"),
        )


@dataclass(frozen=True)
class Dyads:
    """Dyads for a pseudo-likelihood: change statistics and ties, one row for each dyad.

    Attributes
    ----------
    changes : ndarray of float, shape (dyads, terms)
    tied : ndarray of bool, shape (dyads,)
    shift : ndarray of float, shape (dyads,)
        Offsets.
    """

    changes: NDArray[np.float64]
    tied: NDArray[np.bool_]
    shift: NDArray[np.float64]


def dyads_of(bound: BoundFormula, network: Network, offset: Any = None) -> Dyads:
    """Compute the change statistics of all dyads of a network."""
    size = network.dyads * len(bound.names)
    if size > _MOST_NUMBERS:
        raise InvalidInput(
            f"the network has {network.dyads:,} dyads and the formula {len(bound.names)} "
            f"statistics; a pseudo-likelihood of more than {_MOST_NUMBERS:,} numbers isn't offered"
        )
    dyads = Dyads(
        np.empty((network.dyads, len(bound.names))),
        np.empty(network.dyads, dtype=np.bool_),
        np.empty(network.dyads),
    )
    given = offset_from(offset, network.n, network.directed, network.nodes)
    graph, _ = bound.graph(network)
    all_changes(graph, bound.model, given, dyads.changes, dyads.tied, dyads.shift)
    return dyads


def fit_mple(network: Any, formula: str, *, offset: Any = None) -> Fit:
    """Fit by maximum pseudo-likelihood, the product of Pr[tie | all other dyads] over dyads.

    Where no term makes dyads depend on each other this is the likelihood itself (Strauss and Ikeda
    1990).

    Parameters
    ----------
    network : Network or networkx graph
    formula : str
    offset : array_like of shape (n, n), or (pairs, values, constant), or None
        Fixed numbers added to the log-odds of the dyads.

    Raises
    ------
    InvalidInput
        If the network is empty or complete, a statistic is a combination of others, or a
        combination of them separates ties from other dyads, so that no maximum exists.

    Examples
    --------
    >>> import bayesdp as bdp, networkx as nx
    >>> club = bdp.networks.Network.from_networkx(nx.karate_club_graph())
    >>> bdp.networks.fit_mple(club, "edges + gwesp(0.5)").coef.round(2)
    array([-2.65,  0.47])
    """
    network = as_network(network)
    bound = bind(formula, network)
    dyads = _checked_dyads(bound, network, offset)
    theta, information, sure = _maximum(dyads)
    if sure:
        check_not_separated(bound, dyads)
    exact = bound.dyad_independent
    return Fit(
        bound.names,
        theta,
        inverse(information),
        "maximum likelihood" if exact else "maximum pseudo-likelihood",
        np.zeros(len(theta)),
    )


def likely_start(bound: BoundFormula, network: Network, offset: Any = None) -> NDArray[np.float64]:
    """Compute the pseudo-likelihood's maximum or, where it is infinite or extreme, a mode near it.

    The likelihood may have a maximum where the pseudo-likelihood has none. The mode is that under a
    normal prior by which no tie's log-odds is far from zero.
    """
    dyads = _checked_dyads(bound, network, offset)
    theta, _, sure = _maximum(dyads)
    if not sure:
        return theta
    largest = np.abs(dyads.changes).max(axis=0)
    return climb(dyads, np.zeros(len(theta)), (largest / _NEAR) ** 2)[0]


def _checked_dyads(bound: BoundFormula, network: Network, offset: Any) -> Dyads:
    check_not_degenerate(network)
    dyads = dyads_of(bound, network, offset)
    check_rank(bound, dyads)
    return dyads


def _maximum(dyads: Dyads) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Maximise the log pseudo-likelihood; also its information, and whether it is suspect."""
    none = np.zeros(dyads.changes.shape[1])
    theta, information = climb(dyads, none, none)
    sure = np.abs(dyads.changes @ theta + dyads.shift).max() > _FAR
    return theta, information, bool(sure or not np.isfinite(theta).all())


def climb(
    dyads: Dyads, mean: NDArray[np.float64], precision: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Maximise log pseudo-likelihood minus sum precision (theta - mean)**2 / 2, by Newton.

    It stops without an error where there is no maximum, and then returns extreme coefficients.
    """

    def objective(theta: NDArray[np.float64]) -> float:
        odds = x @ theta + dyads.shift
        penalty = precision @ (theta - mean) ** 2 / 2
        return float(odds[dyads.tied].sum() - np.logaddexp(0.0, odds).sum() - penalty)

    x = dyads.changes
    theta = mean.copy()
    value = objective(theta)
    information = np.eye(len(theta))
    for _ in range(_ITERATIONS):
        p = special.expit(x @ theta + dyads.shift)
        gradient = x.T @ (dyads.tied - p) - precision * (theta - mean)
        information = (x * (p * (1 - p))[:, None]).T @ x + np.diag(precision)
        step = np.linalg.lstsq(information, gradient, rcond=None)[0]
        while objective(theta + step) < value - 1e-9 * abs(value):
            step = step / 2
        theta = theta + step
        value = objective(theta)
        if abs(gradient @ step) < 1e-14 * max(abs(value), 1.0):
            break
    return theta, information


def inverse(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Invert a matrix, in the same type."""
    return np.asarray(np.linalg.inv(matrix), dtype=np.float64)


def check_not_degenerate(network: Network) -> None:
    """Raise InvalidInput if the network is empty or complete."""
    if len(network.edges) in (0, network.dyads):
        which = "no tie" if len(network.edges) == 0 else "every tie"
        raise InvalidInput(
            f"the network has {which}: its likelihood has no maximum at finite coefficients; "
            "a Bayesian fit with a proper prior exists"
        )


def check_rank(bound: BoundFormula, dyads: Dyads) -> None:
    """Raise InvalidInput if a change statistic is a combination of others over all dyads."""
    gram = dyads.changes.T @ dyads.changes
    size = np.sqrt(np.diag(gram))
    if (size == 0).any():
        name = bound.names[int(np.argmin(size))]
        raise InvalidInput(f"{name} never changes with any tie of this network; leave it out")
    values, vectors = np.linalg.eigh(gram / np.outer(size, size))
    if values[0] < 1e-10:
        involved = [n for n, v in zip(bound.names, vectors[:, 0], strict=True) if abs(v) > 1e-4]
        raise InvalidInput(
            f"{', '.join(involved)} can't be told apart on this network: one is a combination "
            "of the others; leave one out"
        )


def check_not_separated(bound: BoundFormula, dyads: Dyads) -> None:
    """Raise InvalidInput if a combination of statistics separates ties from other dyads.

    One exists if the linear program, maximise sum s x . b over |b| <= 1 with s x . b >= 0 for
    every dyad (s = 1 if tied, else -1), is above zero (Albert and Anderson 1984; Konis 2007).
    """
    scale = np.abs(dyads.changes).max(axis=0)
    rows = np.column_stack([dyads.changes / scale, np.where(dyads.tied, 1.0, -1.0)])
    rows = np.unique(rows, axis=0)
    signed = rows[:, :-1] * rows[:, -1:]
    solution = optimize.linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1)
    )
    if solution.x is not None and signed.sum(axis=0) @ solution.x > 1e-7:
        involved = [n for n, b in zip(bound.names, solution.x, strict=True) if abs(b) > 1e-7]
        estimate = "estimate" if bound.dyad_independent else "pseudo-likelihood's estimate"
        raise InvalidInput(
            f"{', '.join(involved)} separate{'s' if len(involved) == 1 else ''} ties from other "
            f"dyads, so the {estimate} is infinite; leave a term out, or fit with a prior "
            "(BayesianERGM)"
        )
