r"""Moves of coefficients that carry the hidden graph along.

The joint law of coefficients and hidden graph is pi(c, x) = prior(c) f_c(x) / Z(c), with
f_c(x) = g_c(x) L(x), g_c(x) = exp(c . s(x)), and Z(c) the sum of g_c over all graphs. A move from
(a, x) to (b, x') draws b from q(. | a), and walks K levels c_k = a + (k / K) (b - a):

    x = x_0 -> x_1 -> ... -> x_{K-1} = x',     x_k from x_{k-1} by moves reversible under f_{c_k};
    y_0 -> y_1 -> ... -> y_{K-1},              y_0 from the model at b, that is g_b / Z(b);
                                               y_k from y_{k-1}, reversible under g_{c_{K-k}}.

It is accepted with probability min(1, R); otherwise nothing changes. With d = (b - a) / K,

    R  =  prior(b) q(a | b) / (prior(a) q(b | a))  exp( sum_k d . s(x_k)  -  sum_k d . s(y_k) ).

Detailed balance, of all that is drawn. The move back proposes a from b, walks x_{K-1}, ..., x_0,
whose level c_k again lies between x_{k-1} and x_k, and y_{K-1}, ..., y_0 from y_{K-1} ~ g_a / Z(a).
By reversibility, P_c(u, v) / P_c(v, u) = f_c(v) / f_c(u), the ratio of the probabilities of the
walks of x is prod_{k=1}^{K-1} f_{c_k}(x_{k-1}) / f_{c_k}(x_k), back over there, and so

    f_b(x_{K-1}) / f_a(x_0)  *  back / there  =  prod_{k=0}^{K-1} f_{c_{k+1}}(x_k) / f_{c_k}(x_k),

whose factors are exp(d . s(x_k)): L cancels. In the same way, back over there for y is

    g_a(y_{K-1}) Z(b) / (g_b(y_0) Z(a)) * prod_{k=1}^{K-1} g_{c_{K-k}}(y_{k-1}) / g_{c_{K-k}}(y_k)
        =  Z(b) / Z(a)  prod_{k=0}^{K-1} exp(-d . s(y_k)),

whose constants cancel those of pi(b, .) / pi(a, .). So R is the Metropolis-Hastings ratio of the
extended law, and pi is invariant, whatever K: with K = 1 this is the exchange algorithm given x;
as K grows R tends to the ratio of the marginal posterior of c, in which x is summed over. (Neal
2001; Murray, Ghahramani and MacKay 2006, section 4; Karagiannis and Andrieu 2013.) Where y_0
comes from a chain of finite length instead, the answer is biased towards the prior.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from bayesdp.networks.compiling import kernel
from bayesdp.networks.exchange import log_normal
from bayesdp.networks.graph import duplicate
from bayesdp.networks.hidden_exact import draw_exactly
from bayesdp.networks.hidden_moves import copied, run_hidden
from bayesdp.networks.markov import number_of_dyads, run
from bayesdp.networks.randomness import uniform


class Effort(NamedTuple):
    """Proposals of each part of a move.

    Attributes
    ----------
    levels : int
        K.
    hidden, between : int
        Of the hidden and of the auxiliary graph, at each level between.
    auxiliary : int
        That the auxiliary graph is drawn by, from the hidden one; not read where all are listed.
    refresh : int
        Of the hidden graph after each move.
    """

    levels: int
    hidden: int
    between: int
    auxiliary: int
    refresh: int


@kernel
def anneal(
    hidden: Any, empty: Any, model: Any, seen: Any, offset: Any, everything: Any, random: Any,
    statistics: Any, theta: Any, prior: Any, guide: Any, pull: Any, noise: Any, effort: Any,
    draws: Any, accepted: Any, trace: Any, density: Any,
) -> Any:  # fmt: skip
    """One move a row of `noise`; fills the last four; changes `theta` and `statistics`.

    A move proposes b = c + pull (a - c) + noise as in `exchange`. `prior` and `guide` are pairs
    of a mean and a precision matrix; `trace` gets the statistics of the hidden graph; `density`,
    shape (moves, 2), its share of dyads tied and that of the auxiliary graph as first drawn.
    Returns the hidden graph.
    """
    terms = len(theta)
    dyads = number_of_dyads(hidden.graph)
    proposed, level, step = np.empty(terms), np.empty(terms), np.empty(terms)
    moved_statistics, other = np.empty(len(statistics)), np.empty(terms)
    for d in range(len(noise)):
        for t in range(terms):
            centre = guide[0][t]
            proposed[t] = centre + pull[d] * (theta[t] - centre) + noise[d, t]
            step[t] = (proposed[t] - theta[t]) / effort.levels
            other[t] = statistics[t]
        log_ratio = log_normal(proposed, prior) - log_normal(theta, prior)
        if pull[d] < 1.0:
            log_ratio += log_normal(theta, guide) - log_normal(proposed, guide)
        moved = copied(hidden)
        moved_statistics[:] = statistics
        if len(everything.graphs):
            drawn = draw_exactly(everything, proposed, random, duplicate(empty), other)
        else:
            graph = duplicate(hidden.graph)
            drawn = run(graph, model, proposed, offset, random, other, effort.auxiliary)
        density[d, 1] = drawn.sizes[0] / dyads
        for k in range(effort.levels):
            if k > 0:
                for t in range(terms):
                    level[t] = theta[t] + k * step[t]
                moved = run_hidden(
                    moved, model, seen, level, random, moved_statistics, effort.hidden
                )
                for t in range(terms):
                    level[t] = proposed[t] - k * step[t]
                drawn = run(drawn, model, level, offset, random, other, effort.between)
            for t in range(terms):
                log_ratio += step[t] * (moved_statistics[t] - other[t])
        accepted[d] = uniform(random) < math.exp(min(log_ratio, 0.0))
        if accepted[d]:
            hidden = moved
            theta[:] = proposed
            statistics[:] = moved_statistics
        hidden = run_hidden(hidden, model, seen, theta, random, statistics, effort.refresh)
        density[d, 0] = hidden.graph.sizes[0] / dyads
        draws[d] = theta
        trace[d] = statistics[:terms]
    return hidden
