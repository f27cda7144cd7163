"""Distance to the closest record, of those that copies were made from and of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least, check_seed
from bayesdp.errors import InvalidInput
from bayesdp.evaluation.compared_frames import (
    Floats,
    category_codes,
    check_columns,
    check_complete,
    check_frame,
    check_same_columns,
    copies_of,
    is_numeric,
    numbers,
)

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release

_BLOCK = 1 << 21  # distances held at once
_ROUNDING = 2.0**-48  # of sums: 31 is as far from 30 as from 32, whatever floats make of it


def closest_records(
    confidential: pd.DataFrame,
    released: Release | pd.DataFrame | Sequence[pd.DataFrame],
    holdout: pd.DataFrame,
    *,
    categorical: Iterable[Any] = (),
    relabellings: int = 200,
    seed: int | None = None,
) -> pd.DataFrame:
    """Compute the share of synthetic records nearer to confidential records than to a holdout.

    The distance of two records is Gower's (1971), a mean over columns: of numbers,
    |a - b| / (the range of the confidential and holdout records together); of categories, 1 if
    they differ, else 0. A synthetic record whose closest record is confidential counts 1, one whose
    closest is in the holdout 0, and one with closest records in both 1/2. It is known as DCR.

    This is no measure of privacy, and bounds nothing: it knows no attacker and says nothing of any
    one record, so that copies with a share of 0.5 may give away an outlier (Ganev and De Cristofaro
    2025, "The Inadequacy of Similarity-based Privacy Metrics"). What a release promises is its
    guarantee, and `bdp.evaluate.membership_attack` attacks it. A share well above 0.5 shows that
    copies follow their own records more than the population. It is here because reviewers ask for
    it.

    The result is computed from confidential records without any noise: it stays with the curator.

    Parameters
    ----------
    confidential : DataFrame
        The records that the copies were made from.
    released : Release, DataFrame or list of DataFrame
        The copies.
    holdout : DataFrame
        As many other records of the same population, which the copies know nothing of.
    categorical : iterable of str
        Columns of numbers to treat as categories.
    relabellings : int
        Number of random divisions of all these records into two halves, from which the error is
        computed; at least 2.
    seed : int, optional
        Seed of these divisions.

    Returns
    -------
    DataFrame
        One row for each copy: copy, share and error, the share's standard deviation where the copy
        knows nothing of which records are confidential.

    Raises
    ------
    InvalidInput
        If columns or numbers of records differ, a value is missing, or an argument is out of its
        range.

    Notes
    -----
    If a copy is independent of which half of the 2n records is confidential, given them all, then
    swapping the halves, which takes the share to 1 minus it, changes no probability: its expected
    value is 0.5. Its variance is then the mean square of (share - 0.5) over all divisions into
    halves, here over random ones. A binomial error would be too small: many synthetic records may
    share one closest record. Time and memory grow with the records of a copy times those of both
    tables; for more than 10,000, give samples.

    Examples
    --------
    A table that publishes its records as they are is convicted:

    >>> import bayesdp as bdp, numpy as np, pandas as pd
    >>> rng = np.random.default_rng(1)
    >>> age, sex = rng.uniform(18, 90, 400), rng.choice(["f", "m"], 400)
    >>> people = pd.DataFrame({"age": age, "sex": sex})
    >>> confidential, holdout = people[:200], people[200:]
    >>> found = bdp.evaluate.closest_records(confidential, confidential, holdout, seed=1)
    >>> found.round(2)
       copy  share  error
    0     0    1.0   0.03
    """
    import pandas as pd

    copies = copies_of(released)
    own = check_frame("confidential", confidential)
    other = check_frame("holdout", holdout)
    categories = check_columns("categorical", categorical, own, "confidential")
    check_same_columns(own, copies)
    if set(other.columns) != set(own.columns) or len(other) != len(own):
        raise InvalidInput(
            "holdout has other columns than confidential, or another number of records; give as "
            "many other records of the same population, with the same columns"
        )
    check_complete("confidential", own)
    check_complete("holdout", other)
    rng = np.random.default_rng(check_seed(seed))
    halves = np.repeat([1.0, 0.0], len(own))
    divisions = check_at_least("relabellings", relabellings, 2)
    divided = [rng.permutation(halves) for _ in range(int(divisions))]
    labels = np.column_stack([halves, *divided]).astype(np.float32)
    rows = []
    for copy, table in enumerate(copies):
        check_complete(f"released[{copy}]", table)
        blocks = _closest([table, own, other], copy, list(own.columns), categories)
        shares = np.sum([_nearer(block, labels) for block in blocks], axis=0) / len(table)
        error = np.sqrt(np.mean((shares[1:] - 0.5) ** 2))
        rows.append({"copy": copy, "share": float(shares[0]), "error": float(error)})
    return pd.DataFrame(rows)


def _closest(
    frames: list[pd.DataFrame], copy: int, columns: list[Any], categories: list[Any]
) -> Iterator[NDArray[np.bool_]]:
    """Yield which of all others are closest to each of a block of synthetic records."""
    ours, theirs, slack = [], [], _ROUNDING * len(columns)
    ordered = [name not in categories and is_numeric(frames, name) for name in columns]
    for name, numeric in zip(columns, ordered, strict=True):
        if numeric:
            named = zip((f"released[{copy}]", "confidential", "holdout"), frames, strict=True)
            drawn, *real = (numbers(which, frame, name) for which, frame in named)
            both = np.concatenate(real)
            scale = float(np.ptp(both)) or 1.0  # of a constant all distances are the same
            ours.append(drawn / scale)
            theirs.append(both / scale)
            slack += _ROUNDING * max(np.abs(ours[-1]).max(), np.abs(theirs[-1]).max())
        else:
            drawn_codes, *codes = category_codes(frames, name)
            ours.append(drawn_codes.astype(np.float64))
            theirs.append(np.concatenate(codes).astype(np.float64))
    size = max(1, _BLOCK // len(theirs[0]))
    for start in range(0, len(ours[0]), size):
        block = np.zeros((len(ours[0][start : start + size]), len(theirs[0])))
        for one, two, numeric in zip(ours, theirs, ordered, strict=True):
            drawn = one[start : start + size, None]
            block += np.abs(drawn - two) if numeric else drawn != two
        yield block <= block.min(axis=1, keepdims=True) + slack


def _nearer(closest: NDArray[np.bool_], labels: NDArray[np.float32]) -> Floats:
    """Number of synthetic records nearer to the records of label 1, ties half, by division."""
    inside = closest.astype(np.float32) @ labels  # whole numbers below 2^24 are exact
    tied = closest.sum(axis=1, keepdims=True)
    every, none = inside == tied, inside == 0
    return np.asarray((0.5 + 0.5 * every - 0.5 * none).sum(axis=0))
