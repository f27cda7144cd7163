"""The mechanisms that `ModipsSynthesizer` declares, by the names of its methods."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families.grids import default_grid
from bayesdp.mechanisms.modips.grid import ModipsGridMechanism
from bayesdp.mechanisms.modips.nested import NestedModipsMechanism
from bayesdp.mechanisms.modips.promise import check_weights
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.privacy.composition import shared

if TYPE_CHECKING:
    from bayesdp.synthesis.modips import ModipsSynthesizer


def _sbs(modips: ModipsSynthesizer, n: int | None) -> ModipsSBSMechanism | NestedModipsMechanism:
    _only_theirs(modips, _OF_CELLS, "the methods on cells, such as 'sdd'")
    weights = check_weights(modips.allocation, modips.weights, len(modips.first.numbers(n)))
    made = ModipsSBSMechanism.calibrate(
        epsilon=modips.epsilon,
        delta=modips.delta,
        copies=modips.copies,
        allocation=modips.allocation,
        weights=None if modips.weights is None else weights,
        family=modips.first,
        size=modips.size or n,
        n=n,
        noise=modips.noise,
        bounding=modips.bounding,
        clip=modips.clip,
    )
    return made if modips.draws == 1 else NestedModipsMechanism(made, modips.draws)


def _cells(modips: ModipsSynthesizer, n: int | None) -> ModipsGridMechanism:
    _only_theirs(modips, _OF_SBS, "method='sbs'")
    return ModipsGridMechanism(
        modips.first,
        modips.size or n or 1,
        shared(modips.epsilon, modips.copies),
        default_grid(modips.first) if modips.grid is None else modips.grid,
        modips.method,
        modips.calibration,
        modips.bins,
        modips.samples,
        n,
        modips.bounding,
        modips.clip,
    )


def _only_theirs(modips: ModipsSynthesizer, names: Sequence[str], whose: str) -> None:
    """Raise InvalidInput where a parameter of another method is given."""
    for field in dataclasses.fields(modips):
        given = getattr(modips, field.name)
        if field.name in names and given != field.default:
            raise InvalidInput(
                f"{field.name} is {quoted(given)}, but method is {quoted(modips.method)}: "
                f"{field.name} is of {whose}; leave it out"
            )


Plain = ModipsSBSMechanism | NestedModipsMechanism | ModipsGridMechanism
METHODS: dict[str, Callable[[ModipsSynthesizer, int | None], Plain]] = {
    "sbs": _sbs,
    **dict.fromkeys(("sdd", "sdd.mc", "sphc"), _cells),
}
"""How one copy is made, with the first of several families, of n records; None if confidential."""

_OF_SBS = ("delta", "noise", "allocation", "weights", "draws")
_OF_CELLS = ("calibration", "grid", "bins", "samples")
