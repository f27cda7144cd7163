r"""Definitions over finite spaces by brute force: the oracle that every theorem is tested by.

A class of laws is a list of finite laws of (X, Z), the data and what the adversary knows. A secret
is a pair (alt, priv) of functions of the data: what is scrubbed of it, and what is private. A
mechanism F maps data to a law of outputs. A context is a law of the class, a secret, and values
(v, z) of (priv(X), Z) that have positive probability. Coupled-worlds privacy (Groce 2014,
Definition 5.5) says that one simulator S has, in every context,

    F(X) | priv(X) = v, Z = z    and    S(alt(X)) | priv(X) = v, Z = z

within (epsilon, delta) of each other. For a given epsilon the best delta over all simulators is
the value of a linear programme: the law of S(alt(X)) in a context is linear in S, and the two
hockey-stick divergences are largest values of linear functions of it. What is returned is
attained by a simulator that is returned too, and so is too small by rounding at most; `lower` is
the programme's own value, which no simulator beats by more than the solver's tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import as_float, check_called
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.distributional.secret import Secret

Data = Hashable
Output = Hashable
FiniteLaw = Mapping[tuple[Any, Any], float]
"""The probability of each pair (data, what the adversary knows)."""
Mechanism = Callable[[Any], Any]
"""A function of the data: an output, or a mapping of outputs to their probabilities."""


@dataclass(frozen=True)
class Best:
    """A promise and the simulator that attains it.

    Attributes
    ----------
    epsilon, delta : float
        The promise that `simulator` keeps in every context.
    lower : float
        No simulator's delta (from `smallest_epsilon`: epsilon) is below this, up to the solver's
        tolerance of about 1e-9; for a given simulator, its own.
    simulator : dict
        A law of outputs, as a dict, for each value of alt.
    """

    epsilon: float
    delta: float
    lower: float
    simulator: dict[Hashable, dict[Output, float]]


@dataclass(frozen=True)
class Contexts:
    """Contexts of a class of laws, row by row.

    Attributes
    ----------
    outputs : list
        Outputs of the mechanism, or of the simulator.
    alts : list
        Values of alt.
    keys : list
        (number of the law, number of the secret, v, z) of each context.
    real : ndarray, shape (contexts, outputs)
        The law of the mechanism's output.
    scrubbed : ndarray, shape (contexts, alts)
        The law of alt(X).
    weight : ndarray, shape (contexts,)
        Each context's probability under its law.
    """

    outputs: list[Output]
    alts: list[Hashable]
    keys: list[tuple[int, int, Hashable, Hashable]]
    real: NDArray[np.float64]
    scrubbed: NDArray[np.float64]
    weight: NDArray[np.float64]


def law_of(mechanism: Mechanism, data: Any, name: str = "mechanism") -> Mapping[Output, float]:
    """The law of a mechanism's output; an output alone has probability 1."""
    check_called(name, mechanism)
    output = mechanism(data)
    if not isinstance(output, Mapping | Hashable):
        raise InvalidInput(
            f"{name} returns {quoted(output)}, which can't be looked up; make it a number, a "
            "text or a tuple, or a mapping of outputs to probabilities"
        )
    if not isinstance(output, Mapping):
        return {output: 1.0}
    if not _is_law(output.values()):
        raise InvalidInput(f"{name} returns probabilities below 0, or that don't sum to 1")
    return output


def _is_law(probabilities: Iterable[Any]) -> bool:
    each = [as_float(p) for p in probabilities]
    return all(p >= 0 for p in each) and math.isclose(math.fsum(each), 1, abs_tol=1e-9)


def check_laws(laws: Iterable[FiniteLaw]) -> list[FiniteLaw]:
    """Return the class if it is one of finite laws, else raise InvalidInput."""
    checked = list(laws)
    if not checked:
        raise InvalidInput("laws is empty; give at least one law of (data, knowledge)")
    for k, law in enumerate(checked):
        if not isinstance(law, Mapping) or not all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in law
        ):
            raise InvalidInput(f"laws[{k}] must map pairs (data, knowledge) to probabilities")
        if not _is_law(law.values()):
            raise InvalidInput(f"laws[{k}] has probabilities below 0, or that don't sum to 1")
    return checked


def contexts(
    mechanism: Mechanism, laws: Iterable[FiniteLaw], secrets: Sequence[Secret]
) -> Contexts:
    """Every context of a class, and the laws of the output and of the scrubbed data in it."""
    if not isinstance(secrets, Sequence) or not all(isinstance(s, Secret) for s in secrets):
        raise InvalidInput(
            f"secrets is {quoted(secrets)}; it must be a list of Secret, as those of records(n)"
        )
    if not secrets:
        raise InvalidInput("secrets is empty; give at least one, as those of records(n)")
    outputs: dict[Output, int] = {}
    alts: dict[Hashable, int] = {}
    real: dict[Any, dict[int, float]] = {}
    scrubbed: dict[Any, dict[int, float]] = {}
    for k, law in enumerate(check_laws(laws)):
        for (x, z), probability in law.items():
            if probability == 0:
                continue
            released = law_of(mechanism, x)
            for s, secret in enumerate(secrets):
                key = (k, s, secret.priv(x), z)
                cells = real.setdefault(key, {})
                for t, p in released.items():
                    at = outputs.setdefault(t, len(outputs))
                    cells[at] = cells.get(at, 0.0) + probability * p
                at = alts.setdefault(secret.alt(x), len(alts))
                cells = scrubbed.setdefault(key, {})
                cells[at] = cells.get(at, 0.0) + probability
    keys = list(real)
    f, a = np.zeros((len(keys), len(outputs))), np.zeros((len(keys), len(alts)))
    for c, key in enumerate(keys):
        f[c, list(real[key])] = list(real[key].values())
        a[c, list(scrubbed[key])] = list(scrubbed[key].values())
    weight = a.sum(axis=1)
    return Contexts(
        list(outputs), list(alts), keys, f / weight[:, None], a / weight[:, None], weight
    )


def hockey_sticks(
    one: NDArray[np.float64], other: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """The larger of the two hockey-stick divergences of rows of probabilities."""
    bound = math.exp(epsilon)
    both = [np.maximum(p - bound * q, 0.0).sum(axis=-1) for p, q in ((one, other), (other, one))]
    return np.asarray(np.maximum(*both))


def delta_of(worlds: Contexts, kernel: NDArray[np.float64], epsilon: float) -> float:
    """The delta that a simulator keeps; `kernel` has a row for each value of alt."""
    return float(hockey_sticks(worlds.real, worlds.scrubbed @ kernel, epsilon).max())


def epsilon_of(worlds: Contexts, kernel: NDArray[np.float64], delta: float) -> float:
    """The smallest epsilon that a simulator keeps at delta; inf where there is none."""
    return smallest_common(worlds.real, worlds.scrubbed @ kernel, delta)


def smallest_common(one: NDArray[np.float64], other: NDArray[np.float64], delta: float) -> float:
    """The smallest epsilon at which all rows are within (epsilon, delta) of each other.

    The divergence of a row is piecewise linear in exp(epsilon), with corners at the ratios of its
    probabilities; between the two corners around the answer it is solved exactly.
    """
    worst = 1.0
    for p, q in ((one, other), (other, one)):
        for a, b in zip(p, q, strict=True):
            worst = max(worst, _row_ratio(a, b, delta))
    return math.log(worst) if math.isfinite(worst) else math.inf


def _row_ratio(p: NDArray[np.float64], q: NDArray[np.float64], delta: float) -> float:
    """The smallest r >= 1 with the sum of max(0, p - r q) at most delta."""
    with np.errstate(divide="ignore"):
        ratio = np.where(p > 0, p / np.where(q > 0, q, 1.0), 0.0)
    ratio = np.where((q == 0) & (p > 0), np.inf, ratio)
    order = np.argsort(-ratio, kind="stable")
    above, below = np.cumsum(p[order]), np.cumsum(q[order])
    ratio = ratio[order]
    for k in range(ratio.size):  # r below ratio[k]: cells 0..k count
        after = ratio[k + 1] if k + 1 < ratio.size else 0.0
        if math.isinf(after):
            continue
        least = max(after, 1.0)
        if above[k] - least * below[k] > delta:
            if below[k] == 0:
                return math.inf
            return float(max(1.0, (above[k] - delta) / below[k]))
        if after <= 1:
            break
    return 1.0


def kernel_of(
    worlds: Contexts, simulator: Callable[[Any], Any]
) -> tuple[Contexts, NDArray[np.float64]]:
    """A given simulator as rows of probabilities, and the contexts with its own outputs too."""
    laws = [law_of(simulator, alt, "simulator") for alt in worlds.alts]
    outputs = dict.fromkeys(worlds.outputs) | dict.fromkeys(t for law in laws for t in law)
    column = {t: k for k, t in enumerate(outputs)}
    kernel = np.zeros((len(worlds.alts), len(column)))
    for row, law in zip(kernel, laws, strict=True):
        for t, p in law.items():
            row[column[t]] = p
    real = np.zeros((len(worlds.keys), len(column)))
    real[:, : len(worlds.outputs)] = worlds.real
    wider = Contexts(list(outputs), worlds.alts, worlds.keys, real, worlds.scrubbed, worlds.weight)
    return wider, kernel
