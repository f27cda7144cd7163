"""Chains of a log-linear model: start, tune, run and collect them."""

from __future__ import annotations

import dataclasses
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from bayesdp.engines.draws import APPROXIMATE, Draws
from bayesdp.engines.log_linear.flows import one_sided
from bayesdp.engines.log_linear.problem import Problem
from bayesdp.errors import EngineFailed
from bayesdp.kernels.log_linear.chain import chain
from bayesdp.kernels.log_linear.leap import leaps_from
from bayesdp.kernels.log_linear.likelihood import Model
from bayesdp.kernels.log_linear.moves import COEFFICIENTS, NUMBERS, Released
from bayesdp.progress import Step, bar
from bayesdp.threads import Halting, in_threads

Floats = NDArray[np.float64]

_STAGES = (0.2, 0.3, 0.5)  # of the warm-up: after each but the last, moves are scaled anew
_JOINTS = 2  # joint moves an iteration
_JOINTS_OF_COEFFICIENTS = 10  # which leave the table nearly free
_RARELY = 0.01  # joint moves accepted less often in a stage of the warm-up are left out
_FAR = 10  # times the rates about the mode are more than chains start with or leap to
_LEAPS, _LEAPS_OF_LARGE = 4, 1  # an iteration
_LARGE = 100  # cells, of which a plateau hardly ever has weight
_MOVING = True


def sample(
    problem: Problem,
    *,
    summed: bool,
    draws: int,
    chains: int,
    warmup: int,
    thin: int,
    seed: int | None,
    known: NDArray[np.int64] | None = None,
    progress: bool | None = False,
) -> Draws:
    """Draw "u", shape (chains, draws, coordinates), "tau" where one isn't fixed, and "n".

    With `known`, the table is given, and only u and tau are drawn.

    Raises
    ------
    EngineFailed
        If a chain reaches a point where the likelihood is NaN.
    """
    import numba

    model = problem.model(summed=summed)
    middle = problem.middle()
    children = np.random.SeedSequence(seed).spawn(chains)
    with bar(progress, chains * (warmup + draws * thin)) as step:
        halting = Halting(step)
        given = (draws, warmup, thin, known, halting)
        results = in_threads(lambda s: _one(problem, model, middle, s, *given), children, halting)
    u, tau, totals, lp, rates, leaps = (np.stack(each) for each in zip(*results, strict=True))
    if not np.all(np.isfinite(lp)):
        raise EngineFailed("a chain came to where the likelihood is no number; tighten the priors")
    posterior = {"u": u} | ({"tau": tau} if problem.scales.size else {})
    if problem.sizes is not None and len(problem.sizes) > 1:
        posterior["n"] = totals
    stats = {"lp": lp, "acceptance_rate": rates[..., 0], "diverging": rates[..., 2] > 0}
    if not summed:
        stats["acceptance_rate_joint"] = rates[..., 1]
    return Draws(
        posterior,
        stats,
        "hmc" if summed else "gibbs",
        {"numba": numba.__version__},
        tuple(one_sided(leaps, u, problem.mean, problem.sd)),
    )


def doubted(drawn: Draws, problem: Problem, seed: int | None) -> Draws:
    """Take "u" from another engine's draws, and doubt them where leaps from it aren't balanced.

    NUTS may miss a region far from where its chains started, all of them, as ours may.

    Parameters
    ----------
    drawn : Draws
        With "u", shape (chains, draws, coordinates), and "tau" where one isn't fixed.
    problem : Problem
        A problem whose table sums out.
    seed : int or None
    """
    posterior = dict(drawn.posterior)
    if drawn.engine in APPROXIMATE:  # of whose weighted draws some are there many times
        del posterior["u"]
        return dataclasses.replace(drawn, posterior=posterior)
    u, tau = np.ascontiguousarray(posterior.pop("u")), posterior.get("tau")
    sd = np.broadcast_to(problem.sd, u.shape).copy()
    if tau is not None:
        sd = np.where(problem.owners >= 0, tau[..., np.maximum(problem.owners, 0)], sd)
    middle, usual = np.median(u, axis=(0, 1)), np.median(sd, axis=(0, 1))
    tuning = _tuned(problem, middle, usual, _most(problem, middle))
    flat, child = u.reshape(-1, u.shape[-1]), np.random.SeedSequence(seed).generate_state(1)[0]
    model, run = problem.model(summed=True), cast(Any, leaps_from)
    leaps = run(model, problem.released, tuning, flat, sd.reshape(flat.shape), _LEAPS, child)
    doubts = one_sided(leaps.reshape(*u.shape[:2], _LEAPS, 4), u, problem.mean, problem.sd)
    return dataclasses.replace(drawn, posterior=posterior, doubts=(*drawn.doubts, *doubts))


def _one(
    problem: Problem,
    model: Model,
    middle: Floats,
    seed: np.random.SeedSequence,
    draws: int,
    warmup: int,
    thin: int,
    known: NDArray[np.int64] | None,
    step: Step,
) -> tuple[Any, ...]:
    """Run one chain, from a start that is roughly overdispersed relative to the posterior."""
    rng = np.random.default_rng(seed)
    often = _JOINTS_OF_COEFFICIENTS if problem.released.kind == COEFFICIENTS else _JOINTS
    joints = 0 if model.summed else often if known is None else -1
    tau = problem.scales * np.abs(rng.normal(0.5, 0.2, problem.scales.size))
    sd = np.where(problem.owners >= 0, np.append(tau, 0.0)[problem.owners], problem.sd)
    tuning = problem.tuning(middle)[0]
    factor = np.linalg.cholesky(tuning.seen + np.diag(1 / sd**2))
    away = 1.5 * linalg.solve_triangular(factor.T, rng.normal(size=middle.size))
    u, most = middle + away, _most(problem, middle)
    while not problem.rates(u).max() <= most:
        away /= 2
        u = middle + away
    rates = problem.rates(u)
    if problem.sizes is None:
        x = rng.poisson(rates)
    else:
        weights = np.array([p for _, p in problem.sizes])
        total = rng.choice([n for n, _ in problem.sizes], p=weights / weights.sum())
        x = rng.multinomial(total, rates / rates.sum())
    x = _possible(x.astype(np.int64), problem.released) if known is None else known.copy()
    log_steps = np.log([0.2, 0.2])
    leaps = _LEAPS if len(x) < _LARGE else _LEAPS_OF_LARGE
    run: Any = chain
    for k, share in enumerate(_STAGES):
        tuning, last = _tuned(problem, middle, sd, most), k == len(_STAGES) - 1
        early = max(1, round(share * warmup))
        plan = (early, draws, thin) if last else (early - early // 2, max(1, early // 2), 1)
        result: tuple[Any, ...] = run(
            model, problem.released, tuning, u, tau, x, log_steps, *plan, joints,
            leaps, _MOVING, int(rng.integers(2**31)),
        )  # fmt: skip
        step(early + (draws * thin if last else 0))
        middle = np.median(result[0], axis=0)
        if not last and joints > 0 and result[4][:, 1].mean() < _RARELY:
            joints = 0
    return result


def _most(problem: Problem, middle: Floats) -> float:
    """Largest rate that chains start with or leap to."""
    return float(_FAR * max(problem.rates(middle).max(), problem.noise**0.5, 1.0))


def _tuned(problem: Problem, centre: Floats, sd: Floats, most: float) -> Any:
    """Tune moves about a centre, where coordinates have these prior sds."""
    tuning = problem.tuning(centre)[0]
    spread = np.sqrt(np.diag(linalg.inv(tuning.seen + np.diag(1 / sd**2))))
    return tuning._replace(centre=centre, spread=spread, most=most)


def _possible(x: NDArray[np.int64], released: Released) -> NDArray[np.int64]:
    """Change a table so that its law isn't zero, with the same total if that is possible."""
    if released.kind != NUMBERS or not released.table.shape[1]:
        return x
    finite = released.table > -np.inf
    first = released.first + finite.argmax(axis=1)
    last = released.first + finite.shape[1] - 1 - finite[:, ::-1].argmax(axis=1)
    low, high = first[released.places].max(axis=1), last[released.places].min(axis=1)
    made = np.clip(x, low, high)
    for c in range(x.size):
        excess = int(made.sum() - x.sum())
        made[c] -= min(max(excess, made[c] - high[c]), made[c] - low[c])
    return np.asarray(made)
