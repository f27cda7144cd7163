"""Private choice among public models of counts, by the exponential mechanism, for later copies.

Liu (modips, Algorithm 1) spends epsilon_0 of the budget on a model, and the rest on copies.
`bayesdp.mechanisms.families.evidence` proves the cost of a choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.families import Bernoulli, Family
from bayesdp.mechanisms.families.base import sums_of
from bayesdp.mechanisms.families.evidence import (
    check_criterion,
    check_records,
    choice_of,
    priors_of,
    utilities,
)
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish


def select_family(
    families: Sequence[Family],
    data: Any,
    *,
    epsilon: float,
    copies: int = 1,
    public_n: bool = True,
    criterion: str = "log_marginal",
    ledger: DatasetLedger | None = None,
) -> Release:
    """Choose a model privately, for `bdp.ModipsSynthesizer` to synthesize from.

    `bdp.synthesizers.FamilySelection` instead makes the choice part of `bdp.ModipsSynthesizer`,
    and of its release's law.

    Parameters
    ----------
    families : sequence of Family
        Two or more: all `Bernoulli`, or all `Categorical` with the same k. Chosen without the data.
    data : array_like
        The confidential records, as `bdp.ModipsSynthesizer` takes them.
    epsilon : float
        Liu's epsilon_0: the total cost of all choices, on top of that of the copies.
    copies : int
        Number of choices: 1 for all copies, or one for each copy that will be made.
    public_n : bool
        Whether the number of records is public: as in `bdp.ModipsSynthesizer`.
    criterion : {"log_marginal", "dic"}
        The utility of a family: its log marginal likelihood, or -DIC / 2.
    ledger : DatasetLedger, optional
        Where the choice is charged before it is made. Copies are charged separately: the total is
        the sum.

    Returns
    -------
    Release
        Its outputs are positions in `families`.

    Raises
    ------
    InvalidInput
        If there are fewer than two families or families of another kind, or too many records.
    BudgetExceeded
        If it costs more than is left in the ledger.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> models = [bdp.families.Bernoulli((1, 1)), bdp.families.Bernoulli((1, 30))]
    >>> chosen = models[
    ...     bdp.synthesizers.select_family(models, [0, 0, 1, 0], epsilon=0.5).outputs[0]
    ... ]
    >>> release = bdp.ModipsSynthesizer(chosen, epsilon=1.0).release([0, 0, 1, 0])
    """
    criterion = check_criterion(criterion)
    check_flag("public_n", public_n)
    if not isinstance(families, Sequence):
        raise InvalidInput(
            f"families is {quoted(families)}; it must be a sequence of two or more families"
        )
    alphas = priors_of(families)
    epsilon = check_epsilon(epsilon)
    sums = sums_of(families[0], data, empty=not public_n)
    check_records(sums.n)
    counts = np.array(
        [sums.totals[0], sums.n - sums.totals[0]]
        if isinstance(families[0], Bernoulli)
        else sums.totals
    )
    times = check_at_least_one("copies", copies)
    share = shared(epsilon, times)
    return publish(
        choice_of(tuple(families), share, sums.n if public_n else None, criterion),
        utilities(alphas, counts, criterion),
        copies=times,
        variable="family",
        ledger=ledger,
    )
