"""The public parameters of `PoissonGammaMechanism`, and the neighbours that they make worst."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.counts.table_fields import check_prior, check_size
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from bayesdp.mechanisms.counts.poisson_gamma import PoissonGammaMechanism

_FURTHEST = 1e10  # of a prior or an expected count, either way


def check_fields(made: PoissonGammaMechanism) -> dict[str, Any]:
    """Validate the mechanism's parameters and return them in their standard form."""
    expected = _check_expected(made.expected)
    zeros = [i for i, e in enumerate(expected) if e == 0]
    prior = check_prior(made.prior, len(expected), zeros)
    each = np.delete(np.broadcast_to(prior, len(expected)), zeros)
    if not 1 <= each.min() <= each.max() <= _FURTHEST:
        raise InvalidInput(
            f"prior has a number out of its range; each area's must be from 1 to {_FURTHEST:.0e} "
            "events"
        )
    areas = made.areas
    if areas is not None:
        areas = Axis("area", categories=tuple(areas)).categories
        if len(areas or ()) != len(expected):
            raise InvalidInput(
                f"areas has {len(areas or ())} names, but expected is of {len(expected)} areas"
            )
    return {
        "n": None if made.n is None else check_at_least_one("n", made.n, "or None if confidential"),
        "expected": expected,
        "prior": prior,
        "total": None if made.total is None else check_size(made.total, "total"),
        "areas": areas,
    }


def worst_pairs(made: PoissonGammaMechanism) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Neighbouring counts of the possible areas, the worst among them."""
    k = len(made.chance)
    eye = np.eye(k, dtype=np.int64)
    if made.n is None and made.neighbours is Neighbours.ADD_REMOVE:
        few = {int(np.argmin(made.shape)), int(np.argmax(made.chance))}
        return [(0 * eye[i], eye[i]) for i in sorted(few)]
    order = np.argsort(made.shape, kind="stable")
    extremes = (np.argmin(made.chance), np.argmax(made.chance))
    ends = dict.fromkeys([*order[:2].tolist(), *map(int, extremes)])
    base = np.zeros(k, dtype=np.int64)
    base[order[-1]] = (made.n or 1) - 1
    return [(base + eye[i], base + eye[j]) for i in ends for j in ends if i < j]


def _check_expected(expected: Any) -> tuple[float, ...]:
    given = expected.tolist() if isinstance(expected, np.ndarray) else expected
    if not isinstance(given, Sequence) or len(given) < 2:
        raise InvalidInput(
            f"expected is {quoted(expected)}; it must be a positive number for each area, two or "
            "more"
        )
    zeros = [i for i, e in enumerate(given) if is_number(e) and e == 0]
    values = check_prior(list(given), len(given), zeros, "expected")
    made = (values,) if isinstance(values, float) else values
    positive = [e for e in made if e]
    if len(positive) < 2:
        raise InvalidInput(
            f"expected has {len(positive)} positive numbers; two areas or more must have one, as "
            "there can be no event where none is expected"
        )
    if not 1 / _FURTHEST <= min(positive) <= max(positive) <= _FURTHEST:
        raise InvalidInput(
            "expected has a number out of its range; each area's must be from "
            f"{1 / _FURTHEST:.0e} to {_FURTHEST:.0e} events, or 0 where there can be none"
        )
    return made
