r"""Membership attack on a release: the best test of whether a record is among the data.

An attacker who knows all other records compares two neighbours: the statistic without the target's
record and that with it. By Neyman and Pearson's lemma no test of one against the other has a larger
true positive rate (TPR) at its false positive rate (FPR) than one that says "present" where the
likelihood ratio Pr[z | present] / Pr[z | absent] is above a threshold; at 1, TPR - FPR is the total
variation distance of both laws, the largest advantage that any attacker has. One who knows less, or
sees only synthetic tables that are drawn from the release, has no more.

An (epsilon, delta) promise bounds every test (Wasserman and Zhou 2010; Kairouz, Oh and Viswanath
2015): with the events "present" and "absent",

    TPR <= exp(epsilon) FPR + delta    and    1 - FPR <= exp(epsilon) (1 - TPR) + delta,

and the same with TPR and FPR exchanged for TNR = 1 - FPR and FNR = 1 - TPR. So at a given FPR,
TPR <= min(exp(epsilon) FPR + delta, 1 - exp(-epsilon) (1 - FPR - delta)), TNR is bounded likewise
at a given FNR, and by adding both

    TPR - FPR <= (exp(epsilon) - 1 + 2 delta) / (exp(epsilon) + 1).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import check_at_least, check_delta, check_share
from bayesdp.privacy.attacker import attacker
from bayesdp.privacy.audit_draws import log_ratios
from bayesdp.privacy.distributional.guarantee import refuse_distributional

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.privacy.audit import Auditable

_BLOCK = 1 << 21  # numbers drawn at once


def membership_attack(
    mechanism: Auditable,
    absent: Any,
    present: Any,
    *,
    delta: float = 0.0,
    trials: int = 10_000,
    level: float = 0.95,
) -> pd.DataFrame:
    """Measure how well the best attacker tells whether a record is in the data, beside the promise.

    The attacker knows all other records and the mechanism's law, and says "present" where the
    release is more probable with the record than without it: no other test has a larger advantage
    (Neyman and Pearson; the module's docstring has the bounds and their source). An attacker who
    sees only synthetic tables that were drawn from the release does no better.

    `bdp.audit` tests whether the promise holds, in any event and on the worst records; this shows
    what it means for one of them. The result is computed from confidential records without any
    noise, and stays with the curator.

    Parameters
    ----------
    mechanism : Auditable
        The mechanism of the release, as ``synthesizer.mechanism(None, epsilon)`` of a
        `bdp.TableSynthesizer`. One of several rounds is attacked as if the later rounds' marginals
        and pools were fixed beforehand, as they are in the mechanism.
    absent, present
        Statistics without the target's record and with it, such as
        ``mechanism.statistic_of(schema.coded(frame))``: neighbours under the mechanism's relation.
        Under replace-one, with another record in its place.
    delta : float
        The delta, in [0, 1), at which the mechanism's promise is taken.
    trials : int
        Releases drawn from each of both, at least 100.
    level : float
        Probability, in (0, 1), with which all three intervals hold at once, at least.

    Returns
    -------
    DataFrame
        A row for each measure: true_positive_rate, true_negative_rate, and advantage, their sum
        minus 1. Columns: measure, value, low and high, its interval (Clopper and Pearson's), and
        bound, what the promise allows every attacker at the other rate's value.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, the statistics aren't the mechanism's, or its promise is
        not about neighbours.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism(scale=1.0)
    >>> with bdp.reproducible(1):
    ...     found = bdp.evaluate.membership_attack(noise, 7, 8)
    >>> found.round(2)
                  measure  value   low  high  bound
    0  true_positive_rate   0.73  0.72  0.74   0.73
    1  true_negative_rate   0.73  0.72  0.74   0.73
    2           advantage   0.46  0.44  0.48   0.46
    """
    import pandas as pd
    from scipy import special

    trials = check_at_least("trials", trials, 100)
    tail = (1 - check_share("level", level)) / 4  # two rates, two sides
    delta = check_delta(delta)
    promise: Any = mechanism.guarantee  # one without a profile needn't take a delta
    claim = promise(delta=delta) if delta else promise()
    refuse_distributional(claim, "an attack on neighbours")
    said = [_said_present(mechanism, one, (present, absent), trials) for one in (present, absent)]
    right = np.array([said[0], trials - said[1]])
    wrong = trials - right
    low = np.where(right > 0, special.betaincinv(np.maximum(right, 1), wrong + 1, tail), 0.0)
    high = np.where(wrong > 0, special.betainccinv(right + 1, np.maximum(wrong, 1), tail), 1.0)
    value = right / trials
    bounds = [_largest_rate(1 - other, claim.epsilon, claim.delta) for other in value[::-1]]
    return pd.DataFrame(
        {
            "measure": ["true_positive_rate", "true_negative_rate", "advantage"],
            "value": [*value, value.sum() - 1],
            "low": [*low, low.sum() - 1],
            "high": [*high, high.sum() - 1],
            "bound": [*bounds, attacker(claim, 0.5).advantage],
        }
    )


def _said_present(mechanism: Auditable, truth: Any, pair: tuple[Any, Any], trials: int) -> int:
    """Count the releases of `truth` that are more probable under the first of a pair."""
    size, said = max(1, _BLOCK // max(1, np.size(truth))), 0
    for start in range(0, trials, size):
        draws = np.asarray(mechanism.release(truth, min(size, trials - start)))
        said += int(np.count_nonzero(log_ratios(mechanism, draws, pair) > 0))
    return said


def _largest_rate(error: float, epsilon: float, delta: float) -> float:
    """Largest rate of being right about one neighbour, given that of being wrong on the other."""
    most = math.exp(min(epsilon, 700.0)) * error + delta
    return min(1.0, most, 1 - math.exp(-epsilon) * (1 - error - delta))
