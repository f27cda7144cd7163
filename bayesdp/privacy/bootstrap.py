r"""Privacy cost of a bootstrap resample before a pure epsilon-DP mechanism.

n records, n public, are resampled n times with replacement, and a mechanism that costs epsilon for
each replaced record is applied to the resample: Liu's model-free synthesis with the bootstrap,
where the mechanism is a perturbed histogram. One record is in the resample K times, K ~
Binomial(n, 1 / n). Group privacy alone bounds the cost by n epsilon, since K may be n. It costs
more than epsilon, and, however large n is, less than exp(epsilon) (exp(epsilon) - 1):

    n log[(1 + (exp(2 epsilon) - 1) / n) / (1 + (exp(epsilon) - 1) / n)].

Proof. Draw the same positions from neighbours x and x', which differ in one record. For an output
z let p_k, q_k be its probabilities given K = k, averaged over all else, from x and x', and b_k =
Pr[K = k]. Resamples of one draw differ in k records: p_k <= exp(k epsilon) q_k. And q_(k+1) <=
exp(epsilon) q_k: given K = k + 1, a random one of the k + 1 places is given to a random other
record, which is the law given K = k, and replaces one record. So

    Pr[z | x] / Pr[z | x'] <= sum_k b_k q_k exp(k epsilon) / sum_k b_k q_k.

The right side is the mean of exp(k epsilon), which increases in k, under weights b_k q_k. Weights
b_k exp(k epsilon) in place of these have a ratio to them that doesn't decrease in k, so the mean
under them is no less. It is, with the binomial's generating function g(t) = (1 + (t - 1) / n)^n,
g(exp(2 epsilon)) / g(exp(epsilon)). Both steps hold with x and x' exchanged.

Under add/remove-one the size of the resample would tell n; with a confidential n nothing is
promised. Without the bootstrap, `bdp.synthesizers.PerturbedHistogramSynthesizer` is the sanitised
empirical distribution. The bootstrap only adds variance to it, and cost: it is best left out.
"""

import math

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.guarantee import check_epsilon

_SAFE = 1 + 2.0**-48  # covers the rounding below
_LARGEST = 300.0


def bootstrap_epsilon(epsilon: float, n: int) -> float:
    """A bound on the epsilon, replace-one, of a mechanism on a bootstrap resample of n records.

    Parameters
    ----------
    epsilon : float
        The mechanism's epsilon, replace-one, on the data that it is applied to; at most 300.
    n : int
        Records, and draws with replacement. Public.

    Returns
    -------
    float
        Rounded up; `n epsilon` where that is smaller.

    Raises
    ------
    InvalidInput
        If an argument is out of its range.

    Notes
    -----
    Proved in the module's docstring.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> round(bdp.privacy.bootstrap_epsilon(0.1, 1000), 4)
    0.1162
    """
    epsilon, n = check_epsilon(epsilon), check_at_least_one("n", n)
    if epsilon > _LARGEST:
        raise InvalidInput(f"epsilon is {quoted(epsilon)}; it must be at most {_LARGEST:g}")
    # (1 + u) / (1 + v) = 1 + (u - v) / (1 + v), without cancellation.
    gap = math.exp(epsilon) * math.expm1(epsilon) / n / (1 + math.expm1(epsilon) / n)
    return min(n * math.log1p(gap), n * epsilon) * _SAFE
