r"""The beta-model of undirected networks: each node has its own propensity to form ties.

Dyads are independent, log odds of a tie between i and j = beta_i + beta_j, and the degrees are
sufficient (Holland and Leinhardt 1981; Chatterjee, Diaconis and Sly 2011). At the maximum of the
likelihood every node's expected degree is its degree.

Existence. The likelihood has a maximum if and only if the degrees lie in the interior of the convex
hull of all degree sequences (Rinaldo, Petrovic and Fienberg 2013). The hull is where slack(S, T) >=
0 for all disjoint S, T, not both empty (Koren 1973; `degree_sequences` defines the slack), its
interior where all of them are positive. For each |S| >= 1 the smallest is looked at; those with S
empty are positive if every degree is. Where one is 0, every graph with these degrees has S tied to
itself and to all but T, and T tied to none but S.

Computation. Nodes of equal degree have equal estimates, as the likelihood is symmetric and strictly
concave, so there is one unknown for each of the K distinct degrees, and Newton's steps solve K
equations. A step is halved until it gains at least 10^-4 of what its slope says (Armijo): for a
strictly concave function whose level sets are bounded, as they are where a maximum exists, this
converges to it from anywhere, at last quadratically. The information matrix of all n nodes has, for
a group of m nodes, the eigenvalue s - w on the m - 1 dimensions where they differ from each other,
with w = p (1 - p) within the group and s the sum of p (1 - p) over a node's dyads; the rest of it
is the K equations' matrix. So the standard errors come from K equations too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayesdp.checks import check_at_least_one
from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.networks.degree_sequences import (
    Integers,
    check_degrees,
    check_graphical,
    erdos_gallai_slack,
    one_label_each,
)
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.networks.randomness import Seed, generators

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
_ITERATIONS = 1000
_CLOSE = 1e-8  # of fitted to given degrees, and of the last step but one
_NAMED = 5


@dataclass(frozen=True, eq=False)
class BetaModelFit:
    """A fitted beta-model: coefficients of the nodes and their standard errors.

    Attributes
    ----------
    nodes : sequence of hashable
        Labels of the nodes.
    degrees : ndarray of int64, shape (n,)
        The degrees that it was fitted to.
    coef : ndarray of float, shape (n,)
        beta.
    standard_error : ndarray of float, shape (n,)
        From the information matrix, including that of the prior. They are for graphs drawn from the
        model; for noisy degrees they ignore the noise, and are too small.
    method : str
        "maximum likelihood" or "posterior mode".
    """

    nodes: Sequence[Hashable]
    degrees: Integers
    coef: Floats
    standard_error: Floats
    method: str

    @property
    def expected_degrees(self) -> Floats:
        """Expected degree of each node under the fit, shape (n,)."""
        values, group, m = np.unique(self.coef, return_inverse=True, return_counts=True)
        tie = special.expit(values[:, None] + values)
        return (tie @ m - np.diag(tie))[group]

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the fit, one row for each node: degree, estimate, standard_error."""
        import pandas as pd

        columns = {
            "degree": self.degrees,
            "estimate": self.coef,
            "standard_error": self.standard_error,
        }
        return pd.DataFrame(columns, index=pd.Index(list(self.nodes), name="node"))

    def simulate(self, draws: int = 1, *, seed: Seed = None) -> tuple[Network, ...]:
        """Draw independent networks from the model.

        Parameters
        ----------
        draws : int
            Number of networks.
        seed : int, numpy Generator or None
            The same seed gives the same networks.
        """
        random = generators(seed, check_at_least_one("draws", draws))
        values, group = np.unique(self.coef, return_inverse=True)
        tie = special.expit(values[:, None] + values)
        return tuple(self._draw(tie, group, one) for one in random)

    def _draw(self, tie: Floats, group: Integers, random: np.random.Generator) -> Network:
        later = [
            i + 1 + np.flatnonzero(random.random(group.size - 1 - i) < tie[a][group[i + 1 :]])
            for i, a in enumerate(group)
        ]
        first = np.repeat(np.arange(group.size), [len(row) for row in later])
        return Network(self.nodes, np.column_stack([first, np.concatenate(later)]))


def fit_beta_model(
    degrees: ArrayLike,
    *,
    nodes: int | Sequence[Hashable] | None = None,
    prior: NormalPrior | None = None,
) -> BetaModelFit:
    """Fit the beta-model to the degrees of an undirected network.

    Parameters
    ----------
    degrees : array_like of int, shape (n,)
        Degrees of a graph; project noisy ones by `project_to_graphical` first.
    nodes : sequence of hashable, optional
        Labels of the nodes.
    prior : NormalPrior, optional
        Independent prior of each coefficient, with one mean and one sd for all. With it the fit is
        the posterior mode, which always exists; without it, the maximum likelihood estimate.

    Raises
    ------
    InvalidInput
        If no graph has such degrees, or no maximum likelihood estimate exists: the message names
        the nodes.

    Notes
    -----
    The module's docstring says when the estimate exists and how it is found.

    Examples
    --------
    >>> fit = fit_beta_model([2, 2, 1, 1, 2])
    >>> fit.expected_degrees.round(6).tolist()
    [2.0, 2.0, 1.0, 1.0, 2.0]
    """
    d = check_degrees(degrees)
    check_graphical(d)
    labels = one_label_each(nodes, d)
    values, group, m = np.unique(d, return_inverse=True, return_counts=True)
    if prior is None:
        _check_exists(d, labels)
        problem = _Groups(values, m, d.size, 0.0, 0.0)
    else:
        if not isinstance(prior, NormalPrior):
            raise InvalidInput(f"prior is {quoted(prior)}; it must be a NormalPrior(mean, sd)")
        if np.ndim(prior.mean) or np.ndim(prior.sd):
            raise InvalidInput("prior has arrays; give one mean and one sd, for all nodes")
        problem = _Groups(values, m, d.size, float(prior.mean), float(prior.sd) ** -2.0)
    beta = _maximum(problem)
    return BetaModelFit(
        labels,
        d,
        beta[group],
        problem.standard_error(beta)[group],
        "maximum likelihood" if prior is None else "posterior mode",
    )


@dataclass(frozen=True, eq=False)
class _Groups:
    """Log-likelihood in one beta for each distinct degree, less precision (beta - mean)^2 / 2.

    Attributes
    ----------
    values, m : ndarray of int64, shape (K,)
        The distinct degrees, and how many nodes have each.
    """

    values: Integers
    m: Integers
    n: int
    mean: float
    precision: float

    @property
    def pairs(self) -> Floats:
        """Numbers of ordered pairs of different nodes from group k and group l, shape (K, K)."""
        return np.asarray(np.outer(self.m, self.m) - np.diag(self.m), dtype=np.float64)

    def start(self) -> Floats:
        """Starting values: the beta that would fit each degree if all nodes had that degree."""
        return special.logit((self.values + 0.5) / self.n) / 2

    def objective(self, beta: Floats) -> float:
        """Penalised log-likelihood, to be maximised."""
        ties = float(self.m @ (self.values * beta))
        none = float((self.pairs * np.logaddexp(0.0, beta[:, None] + beta)).sum()) / 2
        return ties - none - self.precision * float(self.m @ (beta - self.mean) ** 2) / 2

    def slope(self, beta: Floats) -> tuple[Floats, Floats]:
        """Gradient, and minus the second derivatives, of the objective."""
        tie = special.expit(beta[:, None] + beta)
        weight = self.pairs * tie * special.expit(-beta[:, None] - beta)
        gradient = self.m * (self.values - self.precision * (beta - self.mean))
        gradient -= (self.pairs * tie).sum(axis=1)
        own = weight.sum(axis=1) + np.diag(weight) + self.precision * self.m
        curvature = weight.copy()
        np.fill_diagonal(curvature, own)
        return gradient, curvature

    def standard_error(self, beta: Floats) -> Floats:
        """Standard error of a node of each group; the module's docstring has the decomposition."""
        m = self.m
        _, curvature = self.slope(beta)
        within = np.diag(np.linalg.inv(curvature))  # of their mean
        w = special.expit(2 * beta) * special.expit(-2 * beta)
        apart = np.diag(curvature) / m - m * w  # s - w, as the diagonal has m (s + (m - 1) w)
        variance = within + np.where(m > 1, (1 - 1 / m) / np.where(m > 1, apart, 1.0), 0.0)
        return np.asarray(np.sqrt(variance))


def _maximum(problem: _Groups) -> Floats:
    """Maximise the objective by Newton's method with halved steps."""
    beta = problem.start()
    value = problem.objective(beta)
    for _ in range(_ITERATIONS):
        gradient, curvature = problem.slope(beta)
        step = np.linalg.solve(curvature, gradient)
        gain = float(gradient @ step)
        if max(np.abs(gradient / problem.m).max(), np.abs(step).max()) <= _CLOSE:
            return beta + step
        share, least = 1.0, value - 1e-13 * abs(value)  # rounding errors are no loss
        while (after := problem.objective(beta + share * step)) < least + 1e-4 * share * gain:
            share /= 2
        beta, value = beta + share * step, after
    raise EngineFailed(
        f"the beta-model's fit didn't converge in {_ITERATIONS} steps: the degrees are too close "
        "to where no estimate exists; give a prior, for example prior=bdp.networks.NormalPrior(0, "
        "3)"
    )


def _check_exists(d: Integers, labels: Sequence[Hashable]) -> None:
    """Raise InvalidInput if the degrees aren't in the interior of the hull of all."""
    slack, sizes = erdos_gallai_slack(d)
    if d.min() > 0 and (slack > 0).all():
        return
    if d.max() == 0 or d.min() == d.size - 1:
        fault = "no tie" if d.max() == 0 else "every tie"
    elif d.min() == 0:
        fault = f"{_named(np.flatnonzero(d == 0), labels)} tied to no node"
    elif d.max() == d.size - 1:
        fault = f"{_named(np.flatnonzero(d == d.size - 1), labels)} tied to every node"
    else:
        k = int(np.argmin(slack)) + 1
        ranked = np.argsort(-d, kind="stable")
        hubs = _named(ranked[:k], labels)
        rest = _named(ranked[d.size - int(sizes[k - 1]) :], labels)
        fault = f"{hubs} tied to each other and to all but {rest}, and the latter to no others"
    raise InvalidInput(
        f"no maximum likelihood estimate exists: every graph with these degrees has {fault}, so "
        "that coefficients would be infinite. Give a prior, for example "
        "prior=bdp.networks.NormalPrior(0, 2), and the fit is the posterior mode; or leave those "
        "nodes out"
    )


def _named(which: Integers, labels: Sequence[Hashable]) -> str:
    """List the first labels, and how many more there are."""
    names = ", ".join(repr(labels[int(i)]) for i in which[:_NAMED])
    return f"{names} and {which.size - _NAMED} others" if which.size > _NAMED else names
