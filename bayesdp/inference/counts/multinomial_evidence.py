"""Log evidence of a multinomial model.

It is exact; or by a bridge over theta; or, for modips copies, by Chib's identity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.bridge import Integral, average_of_logs, log_integral
from bayesdp.engines.count_vectors import Factored
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts import multinomial_engines as engines
from bayesdp.inference.counts import multinomial_release as law
from bayesdp.inference.counts.multinomial_response import responses
from bayesdp.inference.evidence_ways import ALL, BRIDGE, EXACT, FEW, Answer, moved
from bayesdp.inference.several import Releases, parts_of

Floats = NDArray[np.float64]


def multinomial(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence, exactly; or by a bridge over theta; or, for modips, by Chib's identity."""
    options = {"draws": draws, "chains": chains, "warmup": warmup}
    each, how = [], EXACT
    groups = parts_of(release)
    children = np.random.SeedSequence(seed).spawn(len(groups))
    for parts, child in zip(groups, children, strict=True):
        sizes = model.sizes_of(parts)
        counts = engines.exact_counts(parts, model.prior, sizes)
        if counts is not None:
            each.append(Integral(counts.log_evidence, 0.0))
        elif engines.are_responses(parts):
            how = BRIDGE.format("the latent counts are summed out, the rest is theta")
            each.append(_of_responses(parts, model.prior, child, options))
        elif any(law.is_mixture(part.mechanism) for part in parts):
            how = "Gibbs sampling of the latent counts, and Chib's identity at one of them"
            each.append(_of_mixture(law.mixed(parts, model.prior, sizes), child, options))
        else:
            raise InvalidInput(
                f"mechanism {quoted(parts[0].mechanism.name)} at this size has no law in products "
                "over the categories, so that its latent counts don't sum out; compare the models "
                "by bdp.posterior_predictive"
            )
    return _sum(each), how, ALL


def _of_responses(parts: Any, prior: Sequence[float], child: Any, options: Any) -> Integral:
    from bayesdp.engines.response_marginal import sample_probabilities

    seen, alpha = responses(parts, len(prior)), np.array(prior)
    for_chains, for_bridge = child.spawn(2)
    theta, _ = sample_probabilities(seen.counts, seen.columns, alpha, seed=for_chains, **options)
    normaliser = float(special.gammaln(alpha.sum()) - special.gammaln(alpha).sum())

    def log_density(eta: Floats) -> Floats:
        logs = np.pad(eta, ((0, 0), (0, 1)))
        logs = logs - special.logsumexp(logs, axis=1, keepdims=True)
        with np.errstate(divide="ignore"):
            answers = np.log(np.exp(logs) @ seen.columns) @ seen.counts
        return np.asarray(answers + logs @ alpha)

    logs = np.log(np.maximum(theta, 1e-300))
    integral = log_integral(
        log_density,
        logs[..., :-1] - logs[..., -1:],
        generator=np.random.default_rng(for_bridge),
    )
    return moved(integral, normaliser)


def _of_mixture(mixture: Any, child: Any, options: Any) -> Integral:
    """Log Pr[z, x] - log Pr[x | z] at one x, the latter an average over draws of the points.

    Given the points of every copy's mixture the counts' posterior is a product; so Pr[x | z] is the
    average of its exact probabilities (Chib 1995).
    """
    from bayesdp.engines.count_gibbs import sample_counts

    base: Factored = mixture.base
    for_chains, for_points = child.spawn(2)
    state = int(for_chains.generate_state(1)[0] >> 1)
    counts = sample_counts(base, mixture.tables, seed=state, **options)
    step = max(1, counts.shape[0] * counts.shape[1] // FEW)
    counts = counts[:, ::step]
    flat = counts.reshape(-1, counts.shape[-1])
    joint = mixture.log_joint(flat)
    best = int(np.argmax(joint))
    rng, categories = np.random.default_rng(for_points), range(flat.shape[1])
    log_chances = np.empty(len(flat))
    for t, x in enumerate(flat):
        tables = [table.copy() for table in base.tables]
        for copy in mixture.tables:
            weights = special.softmax(np.sum([copy[i][x[i]] for i in categories], axis=0))
            point = int(rng.choice(weights.size, p=weights))
            for i in categories:
                tables[i] += copy[i][: tables[i].size, point]
        given = Factored(base.firsts, tables, base.sizes, base.log_sizes)
        log_chances[t] = float(given.log_probability(flat[best]))
    average = average_of_logs(log_chances.reshape(counts.shape[:2]))
    return Integral(
        float(joint[best]) - average.log_value, average.standard_error, average.problems
    )


def _sum(each: Sequence[Integral]) -> Integral:
    """Add up the log evidences of independent groups."""
    return Integral(
        sum(one.log_value for one in each),
        math.sqrt(sum(one.standard_error**2 for one in each)),
        tuple(dict.fromkeys(problem for one in each for problem in one.problems)),
    )
