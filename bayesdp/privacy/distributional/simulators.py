r"""The best simulator over finite spaces, and the definitions that have none; see `worlds`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_below, check_delta
from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.privacy.distributional.secret import Secret
from bayesdp.privacy.distributional.worlds import (
    Best,
    Contexts,
    FiniteLaw,
    Mechanism,
    contexts,
    delta_of,
    epsilon_of,
    hockey_sticks,
    kernel_of,
    smallest_common,
)

_TINY = 1e-11  # of a simulator's probability: below the solver's tolerance
_NEAR = 1e-9  # beside delta, the solver's tolerance
_LARGEST = 16.0  # epsilon: exp(16) is as large a coefficient as the solver takes
_MOST = 2_000_000  # cells of a programme


def smallest_delta(
    mechanism: Mechanism,
    laws: Iterable[FiniteLaw],
    secrets: Sequence[Secret],
    epsilon: float,
    *,
    simulator: Callable[[Any], Any] | None = None,
) -> Best:
    """The smallest delta of coupled-worlds privacy at `epsilon` (Groce 2014, Definition 5.5).

    Parameters
    ----------
    mechanism : callable
        A function of the data that returns an output, or a mapping of outputs to probabilities.
    laws : iterable of mappings
        Each law's probabilities of pairs (data, what the adversary knows).
    secrets : sequence of Secret
        For example `records(n)`, for distributional privacy.
    epsilon : float
        At least 0.
    simulator : callable, optional
        A function of the values of a secret's `alt`, like `mechanism`; None for the best one.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or the spaces are too large.
    EngineFailed
        If the linear programme isn't solved.
    """
    given, epsilon = epsilon, as_float(epsilon)
    if not 0 <= epsilon <= _LARGEST:
        raise InvalidInput(f"epsilon is {quoted(given)}; it must be a number from 0 to {_LARGEST}")
    worlds = contexts(mechanism, laws, secrets)
    if simulator is not None:
        worlds, kernel = kernel_of(worlds, simulator)
        delta = delta_of(worlds, kernel, epsilon)
        return Best(float(epsilon), delta, delta, _as_dict(worlds, kernel))
    kernel, lower = _best_kernel(worlds, epsilon)
    return Best(float(epsilon), delta_of(worlds, kernel, epsilon), lower, _as_dict(worlds, kernel))


def smallest_epsilon(
    mechanism: Mechanism,
    laws: Iterable[FiniteLaw],
    secrets: Sequence[Secret],
    delta: float = 0.0,
    *,
    simulator: Callable[[Any], Any] | None = None,
    within: float = 1e-6,
) -> Best:
    """The smallest epsilon of coupled-worlds privacy at `delta` (Groce 2014, Definition 5.5).

    The result's `lower` is the largest epsilon that was found too small. Epsilon is inf where
    every simulator fails at epsilon = 16.

    Parameters
    ----------
    mechanism, laws, secrets, delta, simulator
        As for `smallest_delta`.
    within : float
        Tolerance of the search for the smallest epsilon, positive; neighbouring floats at best.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or the spaces are too large.
    EngineFailed
        If the linear programme isn't solved.
    """
    given, within = within, as_float(within)
    if not 0 < within < math.inf:
        raise InvalidInput(f"within is {quoted(given)}; it must be a positive finite number")
    delta, worlds = check_delta(delta), contexts(mechanism, laws, secrets)
    if simulator is not None:
        worlds, kernel = kernel_of(worlds, simulator)
        epsilon = epsilon_of(worlds, kernel, delta)
        return Best(epsilon, delta, epsilon, _as_dict(worlds, kernel))
    low, high = 0.0, 0.0
    kernel, best = _best_kernel(worlds, high)
    while best > delta + _NEAR:
        if high == _LARGEST:
            return Best(math.inf, delta, high, _as_dict(worlds, kernel))
        low, high = high, min(2 * high + 0.5, _LARGEST)
        kernel, best = _best_kernel(worlds, high)
    while high - low > within and low < (middle := (low + high) / 2) < high:
        tried, best = _best_kernel(worlds, middle)
        if best <= delta + _NEAR:
            kernel, high = tried, middle
        else:
            low = middle
    return Best(epsilon_of(worlds, kernel, delta), delta, low, _as_dict(worlds, kernel))


def inference_delta(
    mechanism: Mechanism,
    laws: Iterable[FiniteLaw],
    secrets: Sequence[Secret],
    epsilon: float,
    simulator: Callable[[Any], Any],
) -> float:
    """The smallest delta of inference-based privacy with a given simulator (Definition 5.4).

    The smallest delta such that, for every law, with probability at least 1 - delta over
    (t, z) = (F(X), Z), for every secret the posteriors of priv(X) given F(X) = t and given
    S(alt(X)) = t are within (epsilon, delta) of each other. Where S never outputs t the second
    isn't defined, which counts as a failure. Another simulator may do better, so that this is an
    upper bound.

    Parameters
    ----------
    mechanism, laws, secrets, epsilon, simulator
        As for `smallest_delta`; the simulator must be given.
    """
    epsilon, laws = check_below("epsilon", epsilon, 700), list(laws)
    worlds, kernel = kernel_of(contexts(mechanism, laws, secrets), simulator)
    joint = worlds.weight[:, None] * worlds.real
    other = worlds.weight[:, None] * (worlds.scrubbed @ kernel)
    worst = 0.0
    for k in range(len(laws)):
        needed: dict[Any, float] = {}
        mass: dict[Any, float] = {}
        for s in range(len(secrets)):
            rows: dict[Any, list[int]] = {}
            for c, (law, secret, _, z) in enumerate(worlds.keys):
                if (law, secret) == (k, s):
                    rows.setdefault(z, []).append(c)
            for z, some in rows.items():
                p, q = joint[some], other[some]
                for t in range(len(worlds.outputs)):
                    if p[:, t].sum() == 0:
                        continue
                    mass[t, z] = float(p[:, t].sum())
                    apart = 2.0
                    if q[:, t].sum() > 0:
                        posteriors = p[:, t] / p[:, t].sum(), q[:, t] / q[:, t].sum()
                        apart = float(hockey_sticks(*posteriors, epsilon))
                    needed[t, z] = max(needed.get((t, z), 0.0), apart)
        worst = max(worst, _least_for(needed, mass))
    return worst


def _least_for(needed: dict[Any, float], mass: dict[Any, float]) -> float:
    """The smallest d with Pr[needed > d] <= d."""
    failing, least = 0.0, 1.0
    for key in sorted(needed, key=needed.__getitem__, reverse=True):
        least = min(least, max(needed[key], failing))
        failing += mass[key]
    return min(least, max(failing, 0.0))


def noiseless_epsilon(
    mechanism: Mechanism, laws: Iterable[FiniteLaw], secrets: Sequence[Secret], delta: float = 0.0
) -> float:
    """The smallest epsilon of noiseless privacy at `delta` (Definition 5.7).

    It compares the release given any value of a secret's `priv` with that given any other, over
    all values that are possible together with what the adversary knows.

    Parameters
    ----------
    mechanism, laws, secrets, delta
        As for `smallest_delta`.
    """
    delta, worlds = check_delta(delta), contexts(mechanism, laws, secrets)
    return _between(worlds, list(range(len(worlds.keys))), delta)


def pufferfish_epsilon(
    mechanism: Mechanism,
    laws: Iterable[FiniteLaw],
    secrets: Sequence[Callable[[Any], bool | None]],
    delta: float = 0.0,
) -> float:
    """The smallest epsilon of Pufferfish privacy at `delta` (Definition 5.8).

    Parameters
    ----------
    mechanism, laws, delta
        As for `smallest_delta`.
    secrets : sequence of callable
        Functions of the data: True, False, or None where the secret is neither.
    """
    pairs = [Secret(lambda x: (), secret) for secret in secrets]
    delta, worlds = check_delta(delta), contexts(mechanism, laws, pairs)
    decided = [c for c, key in enumerate(worlds.keys) if key[2] is not None]
    return _between(worlds, decided, delta)


def _between(worlds: Contexts, rows: Sequence[int], delta: float) -> float:
    by: dict[Any, list[int]] = {}
    for c in rows:
        law, secret, _, z = worlds.keys[c]
        by.setdefault((law, secret, z), []).append(c)
    pairs = [pair for some in by.values() for pair in combinations(some, 2)]
    if not pairs:
        return 0.0
    one, other = np.array(pairs).T
    return smallest_common(worlds.real[one], worlds.real[other], delta)


def _best_kernel(worlds: Contexts, epsilon: float) -> tuple[NDArray[np.float64], float]:
    """The simulator with the smallest delta, and the linear programme's value."""
    import scipy.optimize
    import scipy.sparse

    sparse: Any = scipy.sparse
    linprog: Any = scipy.optimize.linprog

    c, t = worlds.real.shape
    a = len(worlds.alts)
    if 2 * c * t * (a + 1) > _MOST:
        raise InvalidInput(
            f"the spaces are too large for brute force: {c} contexts, {t} outputs and {a} scrubbed "
            "data; take fewer records or values"
        )
    # Variables: S (a t), what F exceeds exp(epsilon) S by (c t), the reverse (c t), delta.
    bound = math.exp(epsilon)
    image = sparse.kron(worlds.scrubbed, sparse.identity(t))
    one = sparse.identity(c * t)
    none = sparse.csr_matrix((c * t, c * t))
    column = sparse.csr_matrix((c * t, 1))
    sums = sparse.kron(sparse.identity(c), np.ones((1, t)))
    free, last = sparse.csr_matrix((c, a * t)), -np.ones((c, 1))
    blank = sparse.csr_matrix((c, c * t))
    upper = sparse.bmat(
        [
            [-bound * image, -one, none, column],
            [image, none, -one, column],
            [free, sums, blank, last],
            [free, blank, sums, last],
        ],
        format="csr",
    )
    whole = sparse.hstack(
        [
            sparse.kron(sparse.identity(a), np.ones((1, t))),
            sparse.csr_matrix((a, 2 * c * t + 1)),
        ]
    )
    flat = worlds.real.ravel()
    solved = linprog(
        np.r_[np.zeros(a * t + 2 * c * t), 1.0],
        A_ub=upper,
        b_ub=np.r_[-flat, bound * flat, np.zeros(2 * c)],
        A_eq=whole,
        b_eq=np.ones(a),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solved.status != 0:
        raise EngineFailed(f"the linear programme for a simulator wasn't solved: {solved.message}")
    kernel = solved.x[: a * t].reshape(a, t)
    kernel = np.where(kernel < _TINY, 0.0, kernel)
    return kernel / kernel.sum(axis=1, keepdims=True), float(solved.fun)


def _as_dict(worlds: Contexts, kernel: NDArray[np.float64]) -> dict[Any, dict[Any, float]]:
    return {
        alt: {t: float(p) for t, p in zip(worlds.outputs, row, strict=True) if p > 0}
        for alt, row in zip(worlds.alts, kernel, strict=True)
    }
