"""What a synthesizer does before it draws: pay."""

from __future__ import annotations

from collections.abc import Sequence

from bayesdp.errors import InvalidInput
from bayesdp.manifest import MechanismEntry
from bayesdp.mechanisms.base import Mechanism, joint_guarantee
from bayesdp.mechanisms.randomness import is_reproducible
from bayesdp.privacy.ledger import DatasetLedger


def spend_first(
    ledger: DatasetLedger, mechanisms: Sequence[Mechanism], copies: int, delta: float = 0.0
) -> None:
    """Record in a ledger what `copies` copies from each of disjoint groups will cost at `delta`.

    Call it when everything has been checked and nothing has been drawn. The mechanisms are
    written down with their public parameters and how many groups share them; the groups'
    labels are not.

    Raises
    ------
    InvalidInput
        If it isn't a dataset's ledger, or draws are seeded now: they promise nothing, and a
        budget is for what is promised.
    BudgetExceeded
        If it costs more than is left.
    """
    if not isinstance(ledger, DatasetLedger):
        raise InvalidInput(
            f"ledger is a {type(ledger).__name__}; give one dataset's, ledger.dataset(name)"
        )
    if is_reproducible():
        raise InvalidInput(
            "ledger is given under bdp.reproducible, where a release is seeded and promises "
            "nothing; leave one of them out"
        )
    described = [MechanismEntry.of(mechanism).model_dump() for mechanism in mechanisms]
    distinct = [entry for k, entry in enumerate(described) if entry not in described[:k]]
    ledger.spend(
        joint_guarantee(mechanisms, copies, delta),
        {
            "copies": copies,
            "mechanisms": [entry | {"groups": described.count(entry)} for entry in distinct],
        },
    )
