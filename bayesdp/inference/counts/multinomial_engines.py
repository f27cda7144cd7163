"""Engines for the posterior of probabilities: which one runs, and how each is called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.core.views import AnswersView, view_of
from bayesdp.engines.count_vectors import CountPosterior, Factored
from bayesdp.engines.draws import Draws
from bayesdp.engines.stan.rows import ends_of_rows
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts import multinomial_release as law
from bayesdp.inference.counts.multinomial_response import Responses, listed_binary, responses
from bayesdp.mechanisms.counts.category_laws import dirichlet_logpdf
from bayesdp.release import Part

Prior = tuple[float, ...]
Parts = Sequence[tuple[Sequence[Part], law.Sizes]]
"""For each group, its parts, one for each release, and its possible numbers of records."""

NAMES = ("exact", "gibbs", "marginal", "augmentation", "pymc", "stan")

_REASONS = {
    "exact": "the latent counts' exact posterior can be drawn from, so independent draws exist",
    "pymc": "the latent counts are summed out, and NUTS samples what is left",
    "gibbs": "the latent counts' law is a mixture of products, and they are too many to list",
    "augmentation": "the latent counts have too many values to sum over, so chains move records",
}


def reads(mechanism: Any) -> bool:
    """Return True if outputs have a law given counts of categories, or records' categories."""
    answers = view_of(mechanism, AnswersView)
    return answers is not None or law.table_of(mechanism) is not None


def check_fit(part: Part, k: int) -> None:
    """Raise InvalidInput unless the release is of k categories, by a mechanism with a known law."""
    if view_of(part.mechanism, AnswersView) is not None:
        responses([part], k)
    else:
        law.check_categories(part.mechanism, k)


def are_responses(parts: Sequence[Part]) -> bool:
    """Return True if the releases are answers of randomized responses, and not counts.

    Raises
    ------
    InvalidInput
        If some are and some aren't.
    """
    each = {view_of(part.mechanism, AnswersView) is not None for part in parts}
    if len(each) > 1:
        raise InvalidInput(
            "some of the releases are answers of each record, by randomized response, and some are "
            "counts; a MultinomialModel takes several of one kind or of the other, not both"
        )
    return each.pop()


def exact_counts(parts: Sequence[Part], prior: Prior, sizes: law.Sizes) -> CountPosterior | None:
    """Compute the latent counts' exact posterior, where there is one."""
    if are_responses(parts):
        return listed_binary(responses(parts, len(prior)), prior)
    return law.factored(parts, prior, sizes) or law.listed(parts, prior, sizes)


def chosen(engine: str, parts: Parts, prior: Prior) -> tuple[str, str]:
    """Choose the engine and say why, or raise InvalidInput if it can't sample this posterior."""
    responding = sum(are_responses(each) for each, _ in parts) == len(parts)
    if engine == "auto":
        if any(law.too_wide(each, len(prior), sizes) for each, sizes in parts):
            return "augmentation", _REASONS["augmentation"]
        exact = all(exact_counts(each, prior, sizes) is not None for each, sizes in parts)
        engine = "exact" if exact else "pymc" if responding else "gibbs"
        return engine, _REASONS[engine]
    if engine in ("marginal", "pymc", "stan") and not responding:
        raise InvalidInput(
            f"engine is {quoted(engine)}, but the latent counts of this release are whole numbers "
            "that don't sum out of its law; use engine='auto', 'exact', 'gibbs' or 'augmentation'"
        )
    return engine, "asked for"


def sample_exact(
    posteriors: Sequence[CountPosterior],
    prior: Prior,
    *,
    draws: int,
    chains: int,
    seed: int | None,
) -> Draws:
    """Draw "theta" independently, shape (chains, draws, groups, k), or without groups if one."""
    rng = np.random.default_rng(seed)
    counts = [posterior.sample(chains * draws, rng) for posterior in posteriors]
    log_p = sum(p.log_probability(x) for p, x in zip(posteriors, counts, strict=True))
    return _dirichlet(counts, prior, rng, (chains, draws), "exact", log_p)


def sample_dirichlet(
    counts: Sequence[NDArray[Any]], prior: Prior, *, draws: int, chains: int, seed: int | None
) -> Draws:
    """Draw independently given known counts, one row for each group."""
    rng = np.random.default_rng(seed)
    each = [np.broadcast_to(x, (chains * draws, x.shape[-1])) for x in counts]
    return _dirichlet(each, prior, rng, (chains, draws), "exact", 0.0)


def sample_gibbs(
    parts: Parts, prior: Prior, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Draws:
    """Run chains over the latent counts, and theta given them."""
    options = {"draws": draws, "chains": chains, "warmup": warmup}
    seeds = np.random.SeedSequence(seed).spawn(len(parts) + 1)
    rng = np.random.default_rng(seeds[-1])
    if are_responses(parts[0][0]):
        return _gibbs_of_responses(_responses(parts, prior), prior, rng, options)
    import numba

    from bayesdp.engines.count_gibbs import sample_counts

    drawn_counts, log_p = [], np.zeros(chains * draws)
    for (each, sizes), child in zip(parts, seeds, strict=False):
        base, mixture = _product(each, prior, sizes)
        tables = mixture.tables if mixture else ()
        one = int(child.generate_state(1)[0] >> 1)
        counts = sample_counts(base, tables, seed=one, **options)
        drawn_counts.append(counts.reshape(-1, len(prior)))
        log_p += (mixture.log_joint if mixture else base.log_probability)(drawn_counts[-1])
    drawn = _dirichlet(drawn_counts, prior, rng, (chains, draws), "gibbs", log_p)
    versions = {**drawn.versions, "numba": numba.__version__}
    return Draws(drawn.posterior, drawn.sample_stats, "gibbs", versions)


def _gibbs_of_responses(
    seen: Sequence[Responses], prior: Prior, rng: np.random.Generator, options: dict[str, int]
) -> Draws:
    from bayesdp.engines.response_gibbs import sample_probabilities

    theta = [
        sample_probabilities(s.counts, s.columns, np.array(prior), rng=rng, **options) for s in seen
    ]
    return Draws(
        {"theta": _grouped(theta)},
        {"lp": _log_posterior(theta, seen, prior)},
        "gibbs",
        {"numpy": np.__version__},
    )


def _grouped(theta: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    return theta[0] if len(theta) == 1 else np.stack(theta, axis=2)


def _log_posterior(
    theta: Sequence[NDArray[np.float64]], seen: Sequence[Responses], prior: Prior
) -> NDArray[np.float64]:
    """Log posterior of theta up to a constant, summed over groups."""
    lp = [
        np.log(t @ s.columns) @ s.counts + dirichlet_logpdf(t, prior)
        for t, s in zip(theta, seen, strict=True)
    ]
    return np.asarray(np.sum(lp, axis=0))


def sample_marginal(
    parts: Parts, prior: Prior, *, draws: int, chains: int, warmup: int, seed: int | None
) -> Draws:
    """Run chains over theta alone, from answers of a randomized response."""
    import numba

    from bayesdp.engines.response_marginal import sample_probabilities

    seen = _responses(parts, prior)
    seeds = np.random.SeedSequence(seed).spawn(len(parts))
    options = {"draws": draws, "chains": chains, "warmup": warmup}
    runs = [
        sample_probabilities(s.counts, s.columns, np.array(prior), seed=child, **options)
        for s, child in zip(seen, seeds, strict=True)
    ]
    theta = [each for each, _ in runs]
    accepted = np.mean([rate for _, rate in runs], axis=0)
    return Draws(
        {"theta": _grouped(theta)},
        {"lp": _log_posterior(theta, seen, prior), "acceptance_rate": accepted},
        "marginal",
        {"numba": numba.__version__},
    )


def sample_augmented(parts: Parts, prior: Prior, **options: Any) -> Draws:
    """Run chains over theta and the counts, which update batches of records."""
    from bayesdp.inference.records.families import draws_of, sample_categories

    if any(len(each) > 1 for each, _ in parts):
        raise InvalidInput(
            "data augmentation takes one release at a time; narrow the prior on n, so that the "
            "latent counts can be summed over, or fit one release"
        )
    one = [(each[0], sizes) for each, sizes in parts]
    return draws_of(sample_categories(one, prior, **options), "theta", None)


CHAINS = {
    "gibbs": sample_gibbs,
    "marginal": sample_marginal,
    "augmentation": sample_augmented,
}
"""Engines that take (parts, prior, draws, chains, warmup, seed)."""


def _product(
    parts: Sequence[Part], prior: Prior, sizes: law.Sizes
) -> tuple[Factored, law.Mixed | None]:
    base = law.factored(parts, prior, sizes)
    if base is not None:
        return base, None
    if not any(law.is_mixture(part.mechanism) for part in parts):
        name = parts[0].mechanism.name
        raise InvalidInput(
            f"mechanism {quoted(name)} has no law in products over the categories, which Gibbs "
            "sampling needs; take another method of release, or fewer records"
        )
    mixture = law.mixed(parts, prior, sizes)
    return mixture.base, mixture


def responses_summed_out(engine: str, parts: Parts, prior: Prior) -> list[Responses]:
    """Collect each group's patterns of answers; refuse other releases, as `chosen` does."""
    chosen(engine, parts, prior)
    return _responses(parts, prior)


def response_data(seen: Sequence[Responses], prior: Prior) -> dict[str, Any]:
    """Build the data of the Stan program `multinomial_response`."""
    ends = ends_of_rows([each.counts.size for each in seen])
    return {
        "G": len(seen),
        "k": len(prior),
        "P": int(ends["last"][-1]),
        **ends,
        "counts": np.concatenate([each.counts for each in seen]),
        "chances": np.concatenate([each.columns.T for each in seen]),
        "alpha": np.array(prior),
    }


def new_answers(groups: Sequence[Sequence[Part]]) -> dict[str, Any]:
    """Build the part of its data by which it draws new answers, where a group's have one law."""
    views: list[list[Any]] = [[view_of(p.mechanism, AnswersView) for p in ps] for ps in groups]
    laws, n = [each[0].matrix for each in views], [each[0].n for each in views]
    copies = [sum(len(part.outputs) for part in parts) for parts in groups]
    alike = all(np.array_equal(each[0].matrix, one.matrix) for each in views for one in each)
    if not alike or len({law.shape for law in laws}) > 1:
        laws, copies = [law[:, :0] for law in laws], [0] * len(laws)
    return {
        "replicates": 0,
        "R": int(np.dot(copies, n)),
        "copies": copies,
        "n": n,
        "J": laws[0].shape[1],
        "law": np.stack(laws),
    }


def _responses(parts: Parts, prior: Prior) -> list[Responses]:
    return [responses(each, len(prior)) for each, _ in parts]


def _dirichlet(
    counts: Sequence[NDArray[Any]],
    prior: Prior,
    rng: np.random.Generator,
    shape: tuple[int, int],
    engine: str,
    log_p: Any,
) -> Draws:
    """Draw theta given counts, shape (chains * draws, k) each."""
    thetas, lp = [], log_p
    for x in counts:
        # A gamma variable of a small shape may round to 0.
        gammas = np.maximum(rng.standard_gamma(np.array(prior) + x), 1e-300)
        thetas.append(gammas / gammas.sum(axis=-1, keepdims=True))
        lp = lp + dirichlet_logpdf(thetas[-1], np.array(prior) + x)
    theta = np.stack(thetas, axis=1) if len(thetas) > 1 else thetas[0]
    return Draws(
        {"theta": theta.reshape(*shape, *theta.shape[1:])},
        {"lp": np.asarray(lp).reshape(shape)},
        engine,
        {"numpy": np.__version__},
    )
