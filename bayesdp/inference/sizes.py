"""Prior on the number of confidential records, as far as an analyst knows it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.engines.enumeration import count_of, is_noisy_count
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts.binomial_weights import check_noise
from bayesdp.inference.readers import instead
from bayesdp.inference.several import agreed_size
from bayesdp.release import Part

Sizes = list[tuple[int, float]]
"""Possible numbers of records, and their probabilities."""


def sizes_of_prior(n: Any, least: int = 0) -> Sizes:
    """Return the sizes with positive prior probability and these probabilities; a number has 1.

    Parameters
    ----------
    n : int, range or array_like of float
    least : int
        The smallest size that a prior may have.

    Raises
    ------
    InvalidInput
        If `n` is none of these, or isn't a probability distribution.
    """
    if is_number(n):
        return [(check_at_least_one("n", n, "or None if the release says it"), 1.0)]
    if isinstance(n, range):
        if len(n) == 0 or min(n) < least:
            raise InvalidInput(
                f"n is {quoted(n)}; a range of sizes must be non-empty and start at {least} or more"
            )
        return [(size, 1.0 / len(n)) for size in n]
    try:
        probabilities = np.asarray(n, dtype=np.float64)
    except (TypeError, ValueError):
        probabilities = np.array(np.nan)
    if (
        probabilities.ndim != 1
        or not np.all(probabilities >= 0)
        or not abs(probabilities.sum() - 1) <= 1e-9
    ):
        raise InvalidInput(
            "n must be a number, a range of sizes, as range(500, 1501), or an array of "
            "probabilities whose element k is Pr[n = k], non-negative and with sum 1"
        )
    sizes = [(int(k), float(probabilities[k])) for k in np.flatnonzero(probabilities)]
    if sizes[0][0] < least:
        raise InvalidInput(
            f"n has probability {quoted(sizes[0][1])} of being {sizes[0][0]}, but it must be "
            f"{least} or more; give the smaller ones probability 0"
        )
    return sizes


def kept_sizes(n: Any, least: int) -> int | range | tuple[float, ...]:
    """Return a number of records, or a prior on it, in a form that compares and hashes.

    Raises
    ------
    InvalidInput
        As `sizes_of_prior` does.
    """
    sizes = sizes_of_prior(n, least)
    if is_number(n):
        return sizes[0][0]
    return n if isinstance(n, range) else tuple(map(float, n))


def told_size(n: Any) -> str:
    """Return a number of records as JSON for attrs; of a prior on it the ends, and its mean.

    Parameters
    ----------
    n : as taken or returned by `sizes_of_prior`
    """
    given = isinstance(n, list) and isinstance(n[0], tuple)
    sizes, chances = np.array(n if given else sizes_of_prior(n)).T
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return json.dumps(least)
    return json.dumps({"least": least, "most": most, "mean": float(sizes @ chances)})


def check_said_once(n: Any, public: int | None) -> None:
    """Raise InvalidInput if both the model, in `n`, and the release say the number of records."""
    if public is not None and n is not None:
        raise InvalidInput(
            f"the model has n, but the release says n = {public}; leave n out of the model"
        )


def sizes_of_records(said: Sizes | None, public: int | None, model: str) -> Sizes:
    """Return what the number of records may be, as either the release or the model says.

    Parameters
    ----------
    said : as returned by `sizes_of_prior`, or None
        The model's prior on it.
    public : int or None
        The number in the release, where it is public.
    model : str
        Name of the model, for messages.

    Raises
    ------
    InvalidInput
        If both say it, or neither does.
    """
    check_said_once(said, public)
    if public is not None:
        return [(public, 1.0)]
    if said is None:
        raise InvalidInput(
            "n isn't in this release; give the model the number of records, as "
            f"{model}(n=1000), or a prior on it, as {model}(n=range(500, 1501))"
        )
    return said


def sizes_of_parts(parts: Sequence[Part], said: Sizes | None, model: str) -> Sizes:
    """Return what n may be, of releases of the same records; see `sizes_of_records`.

    A number in the model may be the release's too.
    """
    if said is None or len(said) > 1:
        return sizes_of_records(said, agreed_size(parts, None), model)
    agreed_size(parts, said[0][0])
    return said


def alone(sizes: Sizes, engine: str) -> int:
    """Return the number of records, for an engine that needs one.

    Raises
    ------
    InvalidInput
        If there are several.
    """
    if len(sizes) > 1:
        raise InvalidInput(
            f"engine is {quoted(engine)}, which takes one number of records, but n has a prior; "
            "use engine='exact', which sums it out"
        )
    return sizes[0][0]


def check_counts(mechanism: Any, n: int) -> None:
    """Raise InvalidInput unless a mechanism randomises a count of ones among n records.

    A noisy number is a count if its sensitivity says that a record may change it by 1.
    """
    if is_noisy_count(mechanism):
        check_noise(mechanism, ((1.0, n),), n)
        return
    try:
        count_of(mechanism).check(n)
    except InvalidInput as error:
        raise InvalidInput(
            f"the release's mechanism {quoted(mechanism.name)} doesn't randomise a count of ones "
            f"among n records, so a proportion has no law for it; {instead(mechanism)}"
        ) from error


def sizes_of_counts(parts: Sequence[Part], n: Sizes | None) -> Sizes:
    """Return what n may be, of releases of a count of ones.

    Parameters
    ----------
    parts : sequence of Part
        One for each release of the same records.
    n : as returned by `sizes_of_prior`, or None
        The model's prior on the number of records.

    Raises
    ------
    InvalidInput
        If a release isn't of such a count, or n is given by both or neither of release and model.
    """
    public = agreed_size(parts, None)
    known = n if public is None else [(public, 1.0)]
    largest = 1 if known is None else max(size for size, _ in known)
    for part in parts:
        check_counts(part.mechanism, largest)
    return sizes_of_records(n, public, "BinomialModel")
