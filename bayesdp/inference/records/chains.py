"""Chains of a record model: which kernel of data augmentation runs, and what its status means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines import augmentation_counts, augmentation_records
from bayesdp.engines.generators import generators
from bayesdp.errors import EngineFailed, InvalidInput
from bayesdp.inference.counts.multinomial_response import Responses
from bayesdp.inference.records.functions import call
from bayesdp.inference.records.release import AdditiveLaw
from bayesdp.progress import Step, no_step

Floats = NDArray[np.float64]
Sizes = Sequence[tuple[int, float]]
Run = Callable[[Floats, int, int, np.random.Generator], Any]
Start = Callable[[np.random.Generator], Floats]


@dataclass(frozen=True)
class Chains:
    """Chains of a record model: draws, acceptance rates and log laws.

    Attributes
    ----------
    theta : ndarray, shape (chains, draws, numbers)
    n : ndarray of int, shape (chains, draws)
    acceptance_rate, log_law : ndarray, shape (chains, draws)
        Share of a sweep's proposals that were accepted, and log Pr[outputs | records].
    """

    theta: Floats
    n: NDArray[np.int64]
    acceptance_rate: Floats
    log_law: Floats


def of_records(
    functions: tuple[Any, Any, Any],
    law: AdditiveLaw | Responses,
    sizes: Sizes,
    width: int,
) -> Run:
    """Run chains over all records; `functions` are posterior, record and statistic."""
    posterior, record, statistic = functions
    n, log_n = _arrays(sizes)
    if isinstance(law, Responses):
        columns = np.ascontiguousarray(law.columns.T)

        def respond(theta: Floats, warmup: int, draws: int, rng: np.random.Generator) -> Any:
            return augmentation_records.run_responses(
                posterior,
                record,
                statistic,
                columns,
                law.where,
                width,
                theta,
                warmup,
                draws,
                rng,
            )

        return respond

    def add(theta: Floats, warmup: int, draws: int, rng: np.random.Generator) -> Any:
        shape = (width, law.size)
        return augmentation_records.run_additive(
            posterior,
            record,
            statistic,
            law.function,
            law.parameters,
            n,
            log_n,
            shape,
            theta,
            warmup,
            draws,
            rng,
        )

    return add


def of_counts(
    functions: tuple[Any, Any],
    table: Floats,
    law: AdditiveLaw | Responses,
    sizes: Sizes,
) -> Run:
    """Run chains over counts of k values, whose statistics are the table's rows.

    `functions` are posterior and probabilities.
    """
    posterior, probabilities = functions
    n, log_n = _arrays(sizes)
    if isinstance(law, Responses):
        category = table[:, 0].astype(np.int64)
        if np.any((category != table[:, 0]) | (category < 0) | (category >= len(law.columns))):
            raise _failure(augmentation_records.BAD_CATEGORY, len(law.columns))
        columns = np.ascontiguousarray(law.columns[category].T)

        def respond(theta: Floats, warmup: int, draws: int, rng: np.random.Generator) -> Any:
            return augmentation_counts.run_response_counts(
                posterior, probabilities, columns, law.counts, theta, warmup, draws, rng
            )

        return respond

    def add(theta: Floats, warmup: int, draws: int, rng: np.random.Generator) -> Any:
        return augmentation_counts.run_counts(
            posterior, probabilities, law.function, law.parameters, table, n, log_n, theta,
            warmup, draws, rng,
        )  # fmt: skip

    return add


def sample(
    run: Run,
    start: Start,
    *,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
    step: Step = no_step,
) -> Chains:
    """Run independent chains, each from its own start; `step` is called after each.

    Raises
    ------
    InvalidInput
        If the functions don't compile together.
    EngineFailed
        If a chain stopped, because of NaN or infinite numbers or impossible outputs.
    """
    runs = []
    for rng in generators(seed, chains):
        *kept, status = call("the model", run, start(rng), warmup, draws, rng)
        if status != augmentation_records.GOOD:
            raise _failure(status)
        runs.append(kept)
        step(1)
    theta, n, rate, log_law = (np.stack(each) for each in zip(*runs, strict=True))
    return Chains(theta, n, rate, log_law)


def _failure(status: int, categories: int | None = None) -> EngineFailed | InvalidInput:
    if status == augmentation_records.BAD_STATISTIC:
        return EngineFailed(
            "statistic gave what the mechanism can't take: NaN or infinity, or not a whole number "
            "(or below 0) where it counts; check what it does with every record that `record` draws"
        )
    if status == augmentation_records.BAD_PARAMETER:
        return EngineFailed(
            "posterior or start gave NaN or infinity, or probabilities that are negative or don't "
            "sum to 1; check what they do with no records and with equal ones"
        )
    if status == augmentation_records.BAD_CATEGORY:
        last = "k - 1" if categories is None else categories - 1
        return InvalidInput(
            "statistic gave what is no category of the randomized response; of one, a record's "
            f"statistic is its category, a whole number from 0 to {last}"
        )
    return EngineFailed(
        "no records that the model drew can have led to the outputs: the statistic stayed beyond "
        "the mechanism's bounds, or an answer is impossible; check statistic, or draw more warmup"
    )


def _arrays(sizes: Sizes) -> tuple[NDArray[np.int64], Floats]:
    n, weights = zip(*sizes, strict=True)
    return np.array(n, dtype=np.int64), np.log(np.array(weights, dtype=np.float64))
