"""Prior on the number of confidential records, as far as an analyst knows it.

A model takes it as its field n: a number, a range of equally likely ones, an array whose element k
is Pr[n = k], or a mapping of group labels to these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesdp.checks import as_mapping, check_at_least_one, is_number
from bayesdp.engines.enumeration import count_of, is_noisy_count
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.counts.binomial_weights import check_noise
from bayesdp.inference.readers import instead
from bayesdp.inference.several import agreed_size
from bayesdp.release import Part

Sizes = list[tuple[int, float]]
"""Possible numbers of records, and their probabilities."""


def sizes_of_prior(n: Any, least: int = 0, name: str = "n") -> Sizes:
    """Return the sizes with positive probability, increasing, and it; of a number it is 1.

    Parameters
    ----------
    n : int, range or array_like of float
    least : int
        The smallest size that a prior may have.
    name : str
        Name of the argument, for messages.

    Raises
    ------
    InvalidInput
        If `n` is none of these, or isn't a probability distribution.
    """
    if is_number(n):
        return [(check_at_least_one(name, n, "or None if the release says it"), 1.0)]
    if isinstance(n, range):
        if len(n) == 0 or min(n) < least:
            raise InvalidInput(
                f"{name} is {quoted(n)}; a range of sizes must be non-empty and start at {least} "
                "or more"
            )
        return [(size, 1.0 / len(n)) for size in sorted(n)]
    if _by_label(n) is not None:
        raise InvalidInput(
            f"{name} is {quoted(n)} whose labels aren't 0, 1, 2 and so on, of which probabilities "
            "are; give an array whose element k is Pr[n = k]"
        )
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
            f"{name} must be a number, a range of sizes, as range(500, 1501), or an array of "
            "probabilities whose element k is Pr[n = k], non-negative and with sum 1"
        )
    sizes = [(int(k), float(probabilities[k])) for k in np.flatnonzero(probabilities)]
    if sizes[0][0] < least:
        raise InvalidInput(
            f"{name} has probability {quoted(sizes[0][1])} of being {sizes[0][0]}, but it must be "
            f"{least} or more; give the smaller ones probability 0"
        )
    return sizes


class ByGroup(dict[Any, Any]):
    """Mapping of group labels to numbers of records, or priors on them; it hashes, as models do."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def kept_sizes(n: Any, least: int = 0) -> int | range | tuple[float, ...] | ByGroup | None:
    """Return a number of records, or a prior on it, in a form that compares and hashes.

    Raises
    ------
    InvalidInput
        As `sizes_of_prior` does; or if `n` is of groups, but of none.
    """
    if n is None:
        return None
    n = n if (labelled := _by_label(n)) is None else labelled
    if isinstance(n, Mapping):
        if not n:
            raise InvalidInput(
                "n is an empty mapping; give the number of records of each group, or a prior on "
                "it, by the group's label, as {'north': 400, 'south': range(50, 71)}"
            )
        return ByGroup(
            {label: _kept(one, least, f"n[{quoted(label)}]") for label, one in n.items()}
        )
    return _kept(n, least, "n")


def _by_label(n: Any) -> Any:
    """Return a Series as a mapping, where its labels aren't the numbers from 0 on; else None."""
    if not (hasattr(n, "index") and hasattr(n, "to_dict")):
        return None
    return None if list(n.index) == list(range(len(n))) else as_mapping("n", n)


def _kept(n: Any, least: int, name: str) -> int | range | tuple[float, ...]:
    sizes = sizes_of_prior(n, least, name)
    if is_number(n):
        return sizes[0][0]
    return n if isinstance(n, range) else tuple(map(float, n))


def kept_numbers(n: Any, model: str) -> Any:
    """Return the number of records, of all groups or by group, as `kept_sizes` does; no prior.

    Raises
    ------
    InvalidInput
        As `kept_sizes` does; or if `n` is a prior.
    """
    kept = kept_sizes(n, 1)
    for each in kept.values() if isinstance(kept, Mapping) else [kept]:
        if not isinstance(each, int | None):
            raise InvalidInput(
                f"n is a prior, but a {model} takes numbers: one for all groups, or each group's, "
                "as {'north': 400, 'south': 60}"
            )
    return kept


def number_of(n: Any, parts: Sequence[Part]) -> int | None:
    """Return the number of records in one group that `kept_numbers` kept; see `said_of`."""
    said = said_of(n, parts)
    return None if said is None else said[0][0]


def said_of(n: Any, parts: Sequence[Part]) -> Sizes | None:
    """Return what a model says of the number of records in one group; None if it says nothing.

    Parameters
    ----------
    n : as returned by `kept_sizes`, or None
        The model's field.
    parts : sequence of Part
        Parts of the group, whose label may be a text in `n`, as files have no other keys.

    Raises
    ------
    InvalidInput
        If `n` is of other groups.
    """
    if n is None:
        return None
    if isinstance(n, Mapping):
        group = parts[0].group
        own = of_label(n, group)
        if own is None:
            first = f"n is of groups, the first {quoted(next(iter(n)))}, but the release has"
            if group is None:
                raise InvalidInput(f"{first} no groups; give the number of its records alone")
            raise InvalidInput(
                f"{first} the group {quoted(group)} too; give each group's number of records, or "
                "a prior on it, by its label; or one for all, without a label"
            )
        n = own
    return sizes_of_prior(n)


def largest_said(n: Any, parts: Sequence[Part]) -> int | None:
    """Return the largest number of records that a group may have by the model; see `said_of`."""
    said = said_of(n, parts)
    return None if said is None else max(size for size, _ in said)


def of_label(values: Mapping[Any, Any], label: Any) -> Any:
    """Return the value for a group, whose label may be a text in files; None if there is none."""
    return values.get(label, values.get(str(label)))


def told_size(n: Any) -> str:
    """Return a number of records as JSON for attrs; of a prior on it the ends, and its mean.

    Parameters
    ----------
    n : as returned by `kept_sizes`
    """
    if isinstance(n, Mapping):
        return json.dumps({str(label): _told(one) for label, one in n.items()})
    return json.dumps(_told(n))


def _told(n: Any) -> int | dict[str, float]:
    sizes, chances = np.array(sizes_of_prior(n)).T
    least, most = int(sizes.min()), int(sizes.max())
    if least == most:
        return least
    return {"least": least, "most": most, "mean": float(sizes @ chances)}


def check_said_once(n: Any, public: int | None) -> None:
    """Raise InvalidInput if both the model, in `n`, and the release say the number of records."""
    if public is not None and n is not None:
        raise InvalidInput(
            f"the model has n, but the release says n = {public}; leave n out of the model"
        )


def sizes_of_records(n: Any, parts: Sequence[Part], model: str) -> Sizes:
    """Return what the number of records may be in one group, as the releases or the model say.

    Parameters
    ----------
    n : as returned by `kept_sizes`, or None
        The model's field.
    parts : sequence of Part
        One for each release of the same records.
    model : str
        Name of the model, for messages.

    Raises
    ------
    InvalidInput
        If both say it, or neither does.
    """
    said, public = said_of(n, parts), agreed_size(parts, None)
    check_said_once(said, public)
    if public is not None:
        return [(public, 1.0)]
    if said is None:
        group = parts[0].group
        by_group = (
            "" if group is None else f"; or each group's, as n={{{quoted(group)}: 1000, ...}}"
        )
        raise InvalidInput(
            "n isn't in this release; give the model the number of records, as "
            f"{model}(n=1000), or a prior on it, as {model}(n=range(500, 1501)){by_group}"
        )
    return said


def sizes_of_parts(n: Any, parts: Sequence[Part], model: str) -> Sizes:
    """Return what `sizes_of_records` does; a number in the model may be the releases' too."""
    said = said_of(n, parts)
    if said is None or len(said) > 1:
        return sizes_of_records(n, parts, model)
    agreed_size(parts, said[0][0])
    return said


def known_sizes(sizes: Sequence[Sizes]) -> dict[str, Any]:
    """Mark the groups whose numbers of records are known, beside others', as `Draws.known`."""
    known = np.array([len(each) == 1 for each in sizes])
    return {"n": known} if known.any() and not known.all() else {}


def alone(sizes: Sizes, engine: str, way_out: str) -> int:
    """Return the number of records, for an engine that needs one.

    Parameters
    ----------
    sizes : list of tuples
    engine : str
        The engine.
    way_out : str
        What to do where n has a prior, for the message.

    Raises
    ------
    InvalidInput
        If there are several.
    """
    if len(sizes) > 1:
        raise InvalidInput(
            f"engine is {quoted(engine)}, which takes one number of records, but n has a prior; "
            f"{way_out}"
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


def sizes_of_counts(n: Any, parts: Sequence[Part], model: str) -> Sizes:
    """Return what `sizes_of_records` does, of releases of a count of ones.

    Raises
    ------
    InvalidInput
        If a release isn't of such a count, or as `sizes_of_records` does.
    """
    said, public = said_of(n, parts), agreed_size(parts, None)
    known = said if public is None else [(public, 1.0)]
    largest = 1 if known is None else max(size for size, _ in known)
    for part in parts:
        check_counts(part.mechanism, largest)
    return sizes_of_records(n, parts, model)
