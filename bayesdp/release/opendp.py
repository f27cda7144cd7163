"""OpenDP's contingency tables, read as noisy tables without importing OpenDP.

In OpenDP 0.16, `dp.mbi.ContingencyTable.marginals` has a measurement a clique: the counts as i32,
plus exact discrete noise of the scale by which they were released (Laplace where privacy is
measured by epsilon, Gaussian where it is by rho), and its standard deviation as OpenDP states it:
sqrt(2) scale for Laplace and scale for Gaussian noise. Sums beyond the range of i32 are moved to
its ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayesdp.checks import check_one_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.counts.cells import Axis, shape_of
from bayesdp.release.noisy_tables import NoisyTable

NOISES = ("laplace", "gaussian")
_ALGORITHMS = ("fixed",)
_ENDS = np.iinfo(np.int32)
_WHOLE = "Factor.datavector"
_FIXED = "dp.mbi.Fixed(queries=[dp.mbi.Count(['age', 'sex']), ...]) of one weight"


def check_table(table: Any, algorithm: Any) -> None:
    """Raise InvalidInput unless it is a table of marginals that were fixed beforehand."""
    if not hasattr(getattr(table, "marginals", None), "flatten") or not hasattr(table, "keys"):
        raise InvalidInput(
            f"table is {quoted(table)}; it must be the ContingencyTable that a query of OpenDP's "
            "contingency_table, or its make_contingency_table, released (OpenDP 0.16)"
        )
    if algorithm not in _ALGORITHMS:
        raise InvalidInput(
            f"algorithm is {quoted(algorithm)}; it must be 'fixed': AIM and MST choose marginals "
            "by the confidential records, which costs privacy and shapes what is released, and the "
            f"table doesn't say how. Release with {_FIXED}"
        )
    if getattr(table, "thresholds", None):
        raise InvalidInput(
            f"table has the columns {sorted(table.thresholds)} without keys; which of their labels "
            "are listed then depends on the records: give keys or cuts of each column"
        )


def measured_axes(table: Any, missing: str) -> tuple[Axis, ...]:
    """The columns of the table's marginals and their labels, `missing` for a null."""
    if not isinstance(missing, str):
        raise InvalidInput(f"missing is {quoted(missing)}; it must be a text, a label of its own")
    names = dict.fromkeys(name for part in table.marginals.flatten() for name in part.clique)
    axes = []
    for name in names:
        labels = table.keys[name].to_list()
        if missing in labels and None in labels:
            raise InvalidInput(
                f"missing is {quoted(missing)}, which is a label of column {quoted(name)}; choose "
                "another name for its missing values"
            )
        kept = tuple(missing if label is None else label for label in labels)
        axes.append(Axis(name, categories=kept))
    return tuple(axes)


def measured_tables(table: Any, axes: Sequence[Axis]) -> list[NoisyTable]:
    """The noisy counts of each clique, or InvalidInput where not every cell has one."""
    known = {axis.name: axis for axis in axes}
    made = []
    for part in table.marginals.flatten():
        name = " x ".join(part.clique) or "the total"
        shape = shape_of([known[column] for column in part.clique])
        values = np.asarray(part.noisy_measurement)
        whole = getattr(part.query, "__qualname__", "") == _WHOLE
        if not part.clique or not whole or values.size != math.prod(shape):
            raise InvalidInput(
                f"table has a measurement of {quoted(name)} that isn't a count for each of its "
                f"{math.prod(shape)} cells; release with keys or cuts for all columns, and {_FIXED}"
            )
        if values.dtype.kind not in "iu" or np.any((values <= _ENDS.min) | (values >= _ENDS.max)):
            raise InvalidInput(
                f"table has counts of {quoted(name)} that aren't whole numbers within the range of "
                "i32; the noise's law is known of such counts alone"
            )
        made.append(NoisyTable(name, tuple(part.clique), values.astype(np.int64).reshape(shape)))
    return made


def scale_of(table: Any, noise: Any) -> float:
    """The one scale of all measurements, from the standard deviations that OpenDP states.

    Of the scales whose sqrt(2)-fold rounds to that of Laplace noise, the smallest is taken: the
    promise with it is the weakest.
    """
    check_one_of("noise", noise, NOISES)
    found = sorted({float(part.stddev) for part in table.marginals.flatten()})
    if len(found) != 1:
        raise InvalidInput(
            f"table has measurements of {len(found)} standard deviations, from {found[0]:.4g} to "
            f"{found[-1]:.4g}; noisy marginals have one: release with {_FIXED}, and all keys known"
            if found
            else f"table has no measurement; release with {_FIXED}"
        )
    if noise == "gaussian":
        return found[0]
    scale = math.nextafter(found[0] / math.sqrt(2), math.inf)
    while math.nextafter(scale, 0.0) * math.sqrt(2) >= found[0]:
        scale = math.nextafter(scale, 0.0)
    return scale
