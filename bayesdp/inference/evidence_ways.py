"""Ways to compute each family's log evidence: exactly, or by bridge sampling from chains.

Every function takes a model, a release or several, and draws, chains, warmup and seed of chains,
and returns an `Integral`, how it was had, and which of the released numbers it is of. The
mechanism's law counts as it is in `logp`, a probability on its lattice, with its constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.bridge import Integral, average_of_logs, log_integral
from bayesdp.engines.count_vectors import Factored
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.several import Releases, parts_of, releases_of
from bayesdp.mechanisms.counts.noisy_marginals import NoisyMarginalsMechanism

Floats = NDArray[np.float64]
Answer = tuple[Integral, str, str]

EXACT = "exact: the latent data are summed out"
ALL = "all released numbers"
_BRIDGE = "bridge sampling: {}"
_FEW = 2000  # draws that a costly density is averaged over


def exact(model: Any, release: Releases, **_: Any) -> Answer:
    """Log evidence of a model with an exact `log_evidence`."""
    return Integral(float(model.log_evidence(release)), 0.0), EXACT, ALL


def pooled(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence by a bridge over the two numbers of the groups' population."""
    from bayesdp.engines.partial_pooling import log_targets, sample

    means = model.family == "hierarchical_gaussian"
    if means and model.sd is None:
        raise InvalidInput(
            "sd is unknown, and then a HierarchicalGaussianModel has no log evidence here; give it "
            "sd, or compare GaussianModels of each group"
        )
    known = model.known(release)
    given = model.given(known)
    options: Any = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
    found, _ = sample(means, given, **options)
    integral = log_integral(
        lambda points: log_targets(points, means, given),
        found[..., :2],
        generator=_proposals(seed),
    )
    if means:
        constant = -math.log(math.pi * model.prior[1] * model.spread)
    else:
        constant = math.log(model.concentration) - float(special.betaln(*model.prior))
    how = _BRIDGE.format("what was counted or averaged sums out, the rest is two numbers")
    return _moved(integral, constant), how, ALL


def multinomial(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence exactly; or by a bridge over theta; or, of modips copies, by Chib's identity."""
    from bayesdp.inference.counts import multinomial_engines as engines
    from bayesdp.inference.counts import multinomial_release as law

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
            how = _BRIDGE.format("the latent counts are summed out, the rest is theta")
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
    from bayesdp.inference.counts.multinomial_response import responses

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
    found = log_integral(
        log_density,
        logs[..., :-1] - logs[..., -1:],
        generator=np.random.default_rng(for_bridge),
    )
    return _moved(found, normaliser)


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
    step = max(1, counts.shape[0] * counts.shape[1] // _FEW)
    counts = counts[:, ::step]
    flat = counts.reshape(-1, counts.shape[-1])
    joint = mixture.log_joint(flat)
    best = int(np.argmax(joint))
    rng, categories = np.random.default_rng(for_points), range(flat.shape[1])
    found = np.empty(len(flat))
    for t, x in enumerate(flat):
        tables = [table.copy() for table in base.tables]
        for copy in mixture.tables:
            weights = special.softmax(np.sum([copy[i][x[i]] for i in categories], axis=0))
            point = int(rng.choice(weights.size, p=weights))
            for i in categories:
                tables[i] += copy[i][: tables[i].size, point]
        given = Factored(base.firsts, tables, base.sizes, base.log_sizes)
        found[t] = float(given.log_probability(flat[best]))
    average = average_of_logs(found.reshape(counts.shape[:2]))
    return Integral(
        float(joint[best]) - average.log_value, average.standard_error, average.problems
    )


def linear_regression(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence by a bridge over the latent moments, and n where it is confidential."""
    from bayesdp.inference.regression.evidence import log_evidence_of_moments

    given = model.read(release)
    if given.hidden.seen[3] > 0:
        raise InvalidInput(
            "the release is of coefficients, of which there is no log evidence here; release "
            "bdp.synthesizers.NoisyMomentsSynthesizer, which have one"
        )
    found = log_evidence_of_moments(
        given.hidden, draws=draws, chains=chains, warmup=warmup, seed=seed
    )
    read = ", ".join(sorted([*given.names[1:], model.response]))
    how = _BRIDGE.format("the parameters are integrated out, the rest is the latent moments")
    return _moved(found, given.log_constant), how, f"the moments of {read}"


def log_linear(
    model: Any, release: Releases, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Answer:
    """Log evidence by a bridge over the effects, where the latent table sums out."""
    from bayesdp.engines.log_linear.chains import sample
    from bayesdp.engines.log_linear.evidence import log_prior_density, summed_likelihood
    from bayesdp.inference.log_linear import fit as fits

    setting = fits.setting_of(model, release)
    if not setting.noisy.independent:
        raise InvalidInput(
            "the released counts overlap, or their noise's law isn't log-concave, so that the "
            "latent table doesn't sum out and the evidence is intractable; compare such models by "
            "bdp.posterior_predictive, or release the cells of one table"
        )
    problem = setting.problem
    poisson = problem.sizes is None
    options: Any = {"draws": draws, "chains": chains, "warmup": warmup, "thin": 2, "seed": seed}
    u = sample(problem, summed=poisson, **options).posterior["u"]
    if not poisson:  # whose likelihood is a convolution over the cells
        u = u[:, :: max(1, u.shape[0] * u.shape[1] // _FEW)]
    kernels = problem.model(summed=True)
    likelihood = summed_likelihood(kernels, problem.released)

    def log_density(points: Floats) -> Floats:
        points = np.ascontiguousarray(points)
        return np.asarray(likelihood(points) + log_prior_density(kernels, points))

    found = log_integral(log_density, u, generator=_proposals(seed))
    how = _BRIDGE.format("the latent table is summed out, the rest is the effects")
    return _moved(found, log_constant_of_table(setting, release)), how, ALL


def log_constant_of_table(setting: Any, release: Any) -> float:
    """Log ratio of the mechanism's law to the chains' law of the outputs, whatever the table.

    Both are taken at one table, near the released one.
    """
    from bayesdp.engines.log_linear.evidence import log_law_at

    released, possible = setting.noisy.released, setting.noisy.possible
    near = np.rint(setting.noisy.centre)[released.places[:, 0]]
    table = np.maximum(near, 0).astype(np.int64)
    if released.table.shape[1]:
        table = (released.first + released.table.argmax(axis=1))[released.places[:, 0]]
    whole = np.zeros(possible.size, dtype=np.int64)
    whole[possible.ravel()] = table
    exact = 0.0
    for each in releases_of(release):
        made: Any = each.mechanism
        statistic = made.statistic(whole) if isinstance(made, NoisyMarginalsMechanism) else whole
        exact += float(np.sum(made.logp(np.array(each.outputs), statistic)))
    return exact - log_law_at(released, table)


def _proposals(seed: int | None) -> np.random.Generator:
    return np.random.default_rng(None if seed is None else [seed, 2])


def _moved(found: Integral, constant: float) -> Integral:
    return Integral(found.log_value + constant, found.standard_error, found.problems)


def _sum(each: Sequence[Integral]) -> Integral:
    """Add up the log evidences of independent groups."""
    return Integral(
        sum(one.log_value for one in each),
        math.sqrt(sum(one.standard_error**2 for one in each)),
        tuple(dict.fromkeys(problem for one in each for problem in one.problems)),
    )


WAYS: dict[str, Callable[..., Answer]] = {
    "binomial": exact,
    "gaussian": exact,
    "hierarchical_binomial": pooled,
    "hierarchical_gaussian": pooled,
    "linear_regression": linear_regression,
    "log_linear": log_linear,
    "multinomial": multinomial,
    "poisson": exact,
}

REFUSED = {
    "beta_model": "its likelihood of a hidden graph is kept up to a constant that depends on the "
    "mechanism; compare graphs that its posterior predicts with what was released",
    "ergm": "an exponential-family graph model's likelihood has a constant of its own that depends "
    "on the coefficients and is intractable; compare networks that its posterior predicts with "
    "what was released (bdp.networks)",
    "logistic_regression": "there is no bridge over its latent tables here; where a table was "
    "released with noise, compare log-linear models of it, which hold the same regressions",
    "records": "its records' law is given by functions that draw, which have no density to "
    "integrate; write the model as one of the other families",
}
"""Why a family has none, and the way out."""
