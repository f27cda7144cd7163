"""Publication of a confidential statistic: check, then pay, then draw, always in this order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.core.axis import check_order
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.base import Mechanism, check_mechanism, joint_guarantee
from bayesdp.mechanisms.randomness import is_reproducible
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.private_folder import sweep
from bayesdp.release import Release
from bayesdp.release.manifest import MechanismEntry, check_label, check_names


def publish(
    mechanism: Mechanism,
    statistic: Any,
    *,
    copies: int = 1,
    delta: float = 0.0,
    variable: str = "value",
    ledger: DatasetLedger | None = None,
) -> Release:
    """Release a confidential statistic through any mechanism.

    Parameters
    ----------
    mechanism : Mechanism
        How the statistic is randomised; its parameters are public and go into the release.
    statistic : as the mechanism requires
        Computed from the confidential data: a count, a sum, a histogram, the records.
    copies : int
        Number of independent outputs. Each costs what one costs.
    delta : float
        The delta, in [0, 1), at which the promise is stated; pure mechanisms need none.
    variable : str
        Name of the measured variable, for tables and reports.
    ledger : DatasetLedger, optional
        The data's budget, ``ledger.dataset("survey-2026")``. The statistic is checked first,
        then the promise is charged, then the outputs are drawn. A charge is final.

    Returns
    -------
    Release

    Raises
    ------
    InvalidInput
        If the mechanism doesn't take such a statistic; or if there is a ledger, and the mechanism
        promises nothing at `delta` or draws are seeded. Nothing is spent or drawn then.
    BudgetExceeded
        If it costs more than is left in the ledger. Nothing is spent or drawn then.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> mechanism = bdp.mechanisms.DiscreteLaplaceMechanism.calibrate(epsilon=1.0, sensitivity=1)
    >>> publish(mechanism, 1041).guarantee.epsilon
    1.0
    """
    return publish_groups(
        {None: (mechanism, statistic)},
        copies=copies,
        delta=delta,
        variable=variable,
        ledger=ledger,
    )


def publish_groups(
    parts: Mapping[Any, tuple[Mechanism, Any]],
    *,
    by: str | None = None,
    copies: int = 1,
    delta: float = 0.0,
    variable: str = "value",
    ledger: DatasetLedger | None = None,
) -> Release:
    """Release disjoint groups of records, from each label's mechanism and statistic."""
    copies = check_at_least_one("copies", copies)
    sweep()
    for mechanism, statistic in parts.values():
        check_order("statistic", statistic, getattr(check_mechanism(mechanism), "axes", None))
    checked = {
        label: (mechanism, check_mechanism(mechanism).check_statistic(statistic))
        for label, (mechanism, statistic) in parts.items()
    }

    def draw() -> dict[Any, tuple[Mechanism, list[Any]]]:
        return {
            label: (mechanism, list(mechanism.release(statistic, copies)))
            for label, (mechanism, statistic) in checked.items()
        }

    made = {label: mechanism for label, (mechanism, _) in parts.items()}
    return pay_then_draw(
        made, draw, by=by, copies=copies, delta=delta, variable=variable, ledger=ledger
    )


def pay_then_draw(
    mechanisms: Mapping[Any, Mechanism],
    draw: Callable[[], Mapping[Any, tuple[Mechanism, Sequence[Any]]]],
    *,
    by: str | None = None,
    copies: int = 1,
    delta: float = 0.0,
    variable: str = "value",
    ledger: DatasetLedger | None = None,
) -> Release:
    """Pay for mechanisms, then draw each label's outputs from checked data, and release them.

    `draw` returns the mechanisms with their outputs: those that were paid for, or with the same
    promise, as where the marginals of a later round are chosen from what an earlier one drew.
    """
    check_names(variable, by)
    for label in mechanisms if by is not None else ():
        check_label(label)
    if ledger is not None:
        spend_first(ledger, list(mechanisms.values()), copies, delta)
    return Release.of_groups(draw(), by=by, variable=variable, delta=delta, origin="bayesdp")


def spend_first(
    ledger: DatasetLedger, mechanisms: Sequence[Mechanism], copies: int, delta: float = 0.0
) -> None:
    """Charge the outputs to the ledger before they are drawn.

    The ledger records the mechanisms with their public parameters and the number of groups that
    share each; it doesn't record the groups' labels.
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
