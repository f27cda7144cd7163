"""What several releases cost together."""

import math
from collections.abc import Sequence


def parallel(epsilons: Sequence[float]) -> float:
    """Epsilon of releases from disjoint parts of the data, where a record stays in its part.

    A replacement then touches one part, and the others' laws are the same for both
    neighbours: the largest epsilon (McSherry 2009, Theorem 4).
    """
    return max(epsilons)


def one_record_moves(
    within: Sequence[float], addition: Sequence[float], removal: Sequence[float]
) -> float:
    """Epsilon of releases from disjoint parts of the data, where a record may change part.

    Two neighbours differ either inside part i, at a cost of within[i]; or a record leaves
    part i and joins part j. The parts are released independently, so in the second case
    the worst log ratios add up: removal[i] + addition[j] for the worst ordered pair i != j.
    If each is the supremum over data sets of any size, so is their sum, since the two
    parts' data are chosen freely.

    Parameters
    ----------
    within, addition, removal : sequences of float, one element per part
        Largest log ratio of an output's probability after against before: a record of the
        part has another value; joins it; leaves it.
    """
    cost = max(within)
    if len(within) == 1:
        return cost
    *_, second, first = sorted(range(len(addition)), key=addition.__getitem__)
    for i, out in enumerate(removal):
        into = addition[second if i == first else first]  # the dearest part but i itself
        cost = max(cost, math.nextafter(out + into, math.inf))
    return cost
