r"""Moves of coefficients that carry the hidden graph along.

The joint law of coefficients and hidden graph is pi(c, x) = prior(c) f_c(x) / Z(c), with
f_c(x) = g_c(x) L(x), g_c(x) = exp(c . s(x)), and Z(c) the sum of g_c over all graphs. A move from
(a, x) to (b, x') draws b from q(. | a), and walks K levels c_k = a + (k / K) (b - a):

    x = x_0 -> x_1 -> ... -> x_{K-1} = x',     x_k from x_{k-1} by moves reversible under f_{c_k}.

It is accepted with probability min(1, R); otherwise nothing changes. With d = (b - a) / K,

    R  =  prior(b) q(a | b) / (prior(a) q(b | a))  exp( sum_k d . s(x_k) )  Z(a) / Z(b).

Detailed balance, of all that is drawn. The move back proposes a from b and walks x_{K-1}, ..., x_0,
whose level c_k again lies between x_{k-1} and x_k. By reversibility, P_c(u, v) / P_c(v, u) =
f_c(v) / f_c(u), the ratio of the probabilities of the walks of x is prod_{k=1}^{K-1}
f_{c_k}(x_{k-1}) / f_{c_k}(x_k), back over there, and so

    f_b(x_{K-1}) / f_a(x_0)  *  back / there  =  prod_{k=0}^{K-1} f_{c_{k+1}}(x_k) / f_{c_k}(x_k),

whose factors are exp(d . s(x_k)): L cancels. So R is the Metropolis-Hastings ratio of the extended
law, and pi is invariant, whatever K.

Where Z isn't known, an auxiliary graph walks back along the same levels,

    y_0 -> y_1 -> ... -> y_{K-1},              y_0 from the model at b, that is g_b / Z(b);
                                               y_k from y_{k-1}, reversible under g_{c_{K-k}},

and exp(-sum_k d . s(y_k)) takes the place of Z(a) / Z(b). The move back walks y_{K-1}, ..., y_0
from y_{K-1} ~ g_a / Z(a), and back over there for y is in the same way

    g_a(y_{K-1}) Z(b) / (g_b(y_0) Z(a)) * prod_{k=1}^{K-1} g_{c_{K-k}}(y_{k-1}) / g_{c_{K-k}}(y_k)
        =  Z(b) / Z(a)  prod_{k=0}^{K-1} exp(-d . s(y_k)),

whose constants cancel those of pi(b, .) / pi(a, .). With K = 1 this is the exchange algorithm given
x; as K grows R tends to the ratio of the marginal posterior of c, in which x is summed over. (Neal
2001; Murray, Ghahramani and MacKay 2006, section 4; Karagiannis and Andrieu 2013.) Where y_0 comes
from a chain of finite length instead, the answer is biased, by little towards the prior, or by much
where that chain stays in the phase that x is in.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayesdp.kernels.compiling import kernel
from bayesdp.kernels.graphs.exchange import log_normal
from bayesdp.kernels.graphs.graph import duplicate
from bayesdp.kernels.graphs.markov import Model, number_of_dyads, run
from bayesdp.kernels.graphs.normalizer import Points, log_constant
from bayesdp.kernels.graphs.offset import Offset
from bayesdp.kernels.hidden.graph import copied
from bayesdp.kernels.hidden.guide import log_mixture
from bayesdp.kernels.hidden.moves import run_hidden
from bayesdp.kernels.hidden.pace import PARTS, levels_between
from bayesdp.kernels.hidden.seen import Seen
from bayesdp.kernels.randomness import uniform


class Target(NamedTuple):
    """Target density of the sampler, as kernels read it.

    Attributes
    ----------
    model : Model
        The formula's statistics, then others that were seen.
    seen : Seen
    offset : Offset
        Offset of auxiliary graphs, which is none.
    points : Points
        Points of Z; none where auxiliary graphs are drawn.
    mean, precision : ndarray of float, shapes (terms,), (terms, terms)
        Mean and precision of the prior.
    """

    model: Model
    seen: Seen
    offset: Offset
    points: Points
    mean: NDArray[np.float64]
    precision: NDArray[np.float64]


class Effort(NamedTuple):
    """Numbers of proposals of each part of a move.

    Attributes
    ----------
    levels : int
        Largest number of levels between two coefficients; 1 for the plain exchange.
    hidden, between : int
        Proposals of the hidden and of the auxiliary graph, at each level in between.
    auxiliary : int
        Proposals for the auxiliary graph, from the hidden one; not read where Z is known.
    refresh : int
        Proposals of the hidden graph after each move.
    """

    levels: int
    hidden: int
    between: int
    auxiliary: int
    refresh: int


@kernel
def anneal(
    hidden: Any, target: Any, random: Any, statistics: Any, theta: Any, guide: Any, pull: Any,
    noise: Any, fresh: Any, mixture: Any, effort: Any, pace: Any, kept: Any,
) -> Any:  # fmt: skip
    """Make a move for each row of `noise`, then refresh the hidden graph; fill `kept`.

    A move proposes b = c + pull (a - c) + noise, and `guide` is the law q, as in `exchange`; or,
    where it is `fresh`, b = noise, drawn from the `mixture` (`networks.hidden.guide`).
    Changes `theta` and `statistics`; returns the hidden graph.
    """
    terms = len(theta)
    prior = target.mean, target.precision
    dyads = number_of_dyads(hidden.graph)
    proposed, level = np.empty(terms), np.empty(terms)
    length, times = np.empty(PARTS + 1), np.empty(max(effort.levels, 2) + 1)
    carried, other = np.empty(len(statistics)), np.zeros(terms)
    room = np.empty(len(target.points.log_weight))
    known = len(room) > 0
    constant = log_constant(target.points, theta, room) if known else 0.0
    for d in range(len(noise)):
        for t in range(terms):
            proposed[t] = guide[0][t] + pull[d] * (theta[t] - guide[0][t]) + noise[d, t]
            if fresh[d]:
                proposed[t] = noise[d, t]
        log_ratio = log_normal(proposed, prior) - log_normal(theta, prior)
        if fresh[d]:
            log_ratio += log_mixture(theta, mixture) - log_mixture(proposed, mixture)
        elif pull[d] < 1.0:
            log_ratio += log_normal(theta, guide) - log_normal(proposed, guide)
        drawn, ahead = hidden.graph, 0.0
        kept.density[d, 1] = np.nan
        if known:
            ahead = log_constant(target.points, proposed, room)
            log_ratio += constant - ahead
        else:
            other[:] = statistics[:terms]
            drawn = run(
                duplicate(hidden.graph), target.model, proposed, target.offset, random, other,
                effort.auxiliary,
            )  # fmt: skip
            kept.density[d, 1] = drawn.sizes[0] / dyads
        moved = copied(hidden)
        carried[:] = statistics
        levels = 1
        times[0], times[1] = 0.0, 1.0
        if effort.levels > 1:
            levels = levels_between(theta, proposed, pace, effort.levels, length, times)
        for k in range(levels):
            if k > 0:
                level[:] = theta + times[k] * (proposed - theta)
                moved = run_hidden(
                    moved, target.model, target.seen, level, random, carried, effort.hidden
                )
                if not known:
                    level[:] = theta + times[levels - k] * (proposed - theta)
                    drawn = run(
                        drawn, target.model, level, target.offset, random, other, effort.between
                    )
            there = times[k + 1] - times[k]
            back = 0.0 if known else times[levels - k] - times[levels - k - 1]
            for t in range(terms):
                log_ratio += (proposed[t] - theta[t]) * (there * carried[t] - back * other[t])
        kept.accepted[d] = uniform(random) < math.exp(min(log_ratio, 0.0))
        if kept.accepted[d]:
            hidden, constant = moved, ahead
            theta[:] = proposed
            statistics[:] = carried
        kept.variance[d] = statistics[:terms]
        hidden = run_hidden(
            hidden, target.model, target.seen, theta, random, statistics, effort.refresh
        )
        kept.variance[d] = (statistics[:terms] - kept.variance[d]) ** 2 / 2.0
        kept.statistics[d] = statistics
        kept.density[d, 0] = hidden.graph.sizes[0] / dyads
        kept.draws[d] = theta
    return hidden
