"""The public parameters of `ModipsGridMechanism`: which are allowed, and what they promise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_delta, check_flag, check_one_of
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.draws.integer_noise import LARGEST_SCALE
from bayesdp.mechanisms.families import Family, check_family
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.gaussian import Gaussian
from bayesdp.mechanisms.families.grids import check_grid, grid_model
from bayesdp.mechanisms.noise.fields import BOUNDING
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.privacy.composition import repeated
from bayesdp.privacy.guarantee import Guarantee, Strength, check_epsilon
from bayesdp.privacy.neighbours import PUBLIC_N, Neighbours

if TYPE_CHECKING:
    from bayesdp.mechanisms.modips.grid import ModipsGridMechanism

METHODS = ("sdd", "sdd.mc", "sphc")
CALIBRATIONS = ("corrected", "published")
MOST_RECORDS = 2**29  # where their number is confidential: so log posteriors fit 64 bits
_MOST_BINS, _MOST_SIDE, _MOST_SAMPLES = 1000, 100, 10_000_000

_FAULTS = {
    "sdd.mc": (
        "False in general: every cell is perturbed with all of epsilon, as if cells depended on "
        "different records, but each depends on all of them.",
        "False in general: log(N_i / N) of an empty cell is minus infinity, with any noise.",
    ),
    "sphc": (
        "False in general: every cell is perturbed with all of epsilon, as if cells depended on "
        "different records, but each depends on all of them.",
        "False in general: N G V bounds the expected count of a cell; the counts themselves are "
        "random given the records, and any may move by N.",
    ),
}
_HOLDS = (
    "As printed, with Delta_u = 2 A: A is finite on a public grid, so Proposition 3 holds there.",
)


def check_fields(made: ModipsGridMechanism) -> dict[str, Any]:
    """Validate the mechanism's parameters and return them in their standard form."""
    check_method(made.method, made.calibration)
    family = check_family(made.family)
    checked: dict[str, Any] = {
        "family": family,
        "size": check_at_least_one("size", made.size),
        "epsilon": check_epsilon(made.epsilon),
        "grid": check_grid(family, made.grid),
        "bins": check_at_least_one("bins", made.bins),
        "samples": check_at_least_one("samples", made.samples),
        "n": None,
    }
    if made.n is not None:
        checked["n"] = check_at_least_one("n", made.n, "or None if confidential")
    elif made.calibration == "published":
        raise InvalidInput(
            "n is None, but A and G of the published calibration are infinite or 1 where the "
            "number of records has no bound; give n, if it is public, or take "
            "calibration='corrected'"
        )
    most = _MOST_SIDE if isinstance(family, Categorical) else _MOST_BINS
    if not 2 <= checked["bins"] <= most:
        raise InvalidInput(f"bins is {made.bins}; it must be from 2 to {most}")
    if isinstance(family, Categorical) and made.calibration == "published":
        raise InvalidInput(
            "calibration is 'published', which is offered for one parameter alone; take "
            "calibration='corrected'"
        )
    if checked["samples"] > _MOST_SAMPLES:
        raise InvalidInput(f"samples is {made.samples}; it must be at most {_MOST_SAMPLES:,}")
    if made.method == "sphc" and 2 * checked["samples"] / checked["epsilon"] > LARGEST_SCALE:
        raise InvalidInput(
            f"epsilon is {made.epsilon}, with samples {made.samples}: their noise exceeds 64 bits; "
            "take a larger epsilon"
        )
    check_one_of("bounding", made.bounding, BOUNDING)
    check_flag("clip", made.clip)
    grid_model(family, checked["grid"], checked["bins"], checked["n"])
    return checked


def check_method(method: Any, calibration: Any) -> None:
    """Raise InvalidInput unless there is this method, so calibrated."""
    check_one_of("method", method, list(METHODS))
    check_one_of("calibration", calibration, CALIBRATIONS)
    if (method, calibration) == ("sdd.mc", "corrected"):
        raise InvalidInput(
            "method is 'sdd.mc', which has no corrected calibration: log(N_i / N) of an empty cell "
            "is minus infinity, so that no noise is enough; use 'sdd', which it approximates, or "
            "'sphc', whose counts have a finite sensitivity"
        )


def check_few(family: Family, vector: NDArray[Any], n: int | None) -> None:
    """Raise InvalidInput for more records than a confidential n may be."""
    if n is None:
        records = vector[0] if isinstance(family, Gaussian) else vector.sum()
        if np.any(records > MOST_RECORDS):
            raise InvalidInput(f"there are more than {MOST_RECORDS} records, the most for n=None")


def guarantee(
    made: ModipsGridMechanism, copies: int, neighbours: Neighbours | None, delta: float
) -> Guarantee:
    """Return the guarantee of `copies` copies; see `ModipsGridMechanism.guarantee`."""
    copies = check_at_least_one("copies", copies)
    delta = check_delta(delta)
    relation = made.relation(neighbours)
    published = made.calibration == "published"
    cost = made.cost
    if made.method == "sdd" and relation is not made.neighbours:
        cost = made.moved(relation)
    faults = _FAULTS.get(made.method, _HOLDS) if published else ()
    notes = ["The model, its prior, bounds and grid, and all parameters were chosen without data."]
    if made.n is not None:
        notes.append(PUBLIC_N)
    if not made.clip:
        notes.append("All records are within the family's bounds: others are refused.")
    return Guarantee(
        epsilon=repeated(cost, copies),
        delta=0.0,
        neighbours=relation,
        strength=Strength.AS_PUBLISHED if published and made.method != "sdd" else Strength.PROVED,
        assumptions=(*faults, *notes, COMPUTATIONAL),
        source="Liu (2016), Algorithms 2 to 4; bayesdp.mechanisms.modips.grid"
        if published
        else "bayesdp.mechanisms.modips.grid",
    )
