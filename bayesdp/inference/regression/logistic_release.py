r"""Releases as a logistic regression reads them: a table's cells in pairs, or answers.

    log Pr[response 1 | pattern] / Pr[response 0 | pattern] = design row of the pattern . beta

A table has a pair of cells for each combination of predictors, its pattern. The frequencies of
patterns are not the regression's concern, but noisy counts don't determine them: log frequency =
e + a common number, e ~ Normal(0, spread^2), whatever the odds. Where predictors are public, each
record's pattern is known.

Dirichlet-multinomial copies z of a table x have, given n, a law that is a product over cells,
prod_c Gamma(alpha_c + x_c + z_c) / Gamma(alpha_c + x_c), times Gamma(A + n) / Gamma(A + n + size).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.core.views import (
    AnswersView,
    CoefficientsView,
    DrawnCountsView,
    MomentsView,
    TableView,
    view_of,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.fit import sizes_of
from bayesdp.inference.log_linear.release import (
    NoisyTable,
    axes_of,
    closed,
    is_of_table,
    noisy_table,
    released_of,
)
from bayesdp.inference.log_linear.several import together
from bayesdp.inference.readers import instead
from bayesdp.inference.regression.logistic_answers import setting_of_answers
from bayesdp.inference.regression.logistic_coefficients import setting_of_coefficients
from bayesdp.inference.regression.logistic_problem import Setting, paired, problem_of
from bayesdp.inference.several import Releases, parts_alone
from bayesdp.mechanisms.counts.cells import shape_of
from bayesdp.release import Part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Sizes = Sequence[tuple[int, float]] | None

TAKES = (
    "tables of counts with noise on every cell (bdp.synthesizers.PerturbedHistogramSynthesizer, "
    "or a Laplace or Gaussian mechanism with a dimension), noisy marginals "
    "(bdp.synthesizers.LogLinearSynthesizer), Dirichlet-multinomial copies of a table (by a "
    "categorical ConjugateMechanism of method 'synthetic_one' too), and "
    "bdp.mechanisms.RandomizedResponseMechanism of records' combined categories, or of the "
    "response with public predictors, and a logistic regression's "
    "bdp.synthesizers.PerturbedCoefficientsSynthesizer"
)
_MOST_TABLED = 20_000_000


def is_of_binary(mechanism: Any) -> bool:
    """Return True if a logistic regression can be read from the mechanism's releases."""
    if (coefficients := view_of(mechanism, CoefficientsView)) is not None:
        return coefficients.loss == "logistic"
    answers = view_of(mechanism, AnswersView)
    return answers is not None or is_of_table(mechanism) or _drawn_of(mechanism) is not None


def setting_of(model: Any, release: Releases, *, naive: bool = False) -> Setting:
    """Read releases for a model; with `naive`, as if answers were true.

    Raises
    ------
    InvalidInput
        If the releases don't fit the model or each other.
    """
    parts = parts_alone(release)
    mechanisms: list[Any] = [part.mechanism for part in parts]
    for mechanism in mechanisms:
        if len(parts) > 1 and _is_alone(mechanism):
            raise InvalidInput(
                f"one of the {len(parts)} releases is by {quoted(mechanism.name)}; several at once "
                "are noisy cells, noisy marginals and Dirichlet-multinomial copies of one table"
            )
    sizes = sizes_of(model, parts)
    if (answers := view_of(mechanisms[0], AnswersView)) is not None:
        return setting_of_answers(model, answers, parts[0], naive)
    if model.data is not None:
        raise InvalidInput(
            f"data is given, but the release's mechanism is {quoted(mechanisms[0].name)}; public "
            "predictors go with a randomized response of each record's response"
        )
    if (coefficients := view_of(mechanisms[0], CoefficientsView)) is not None:
        return setting_of_coefficients(model, coefficients, parts[0])
    tables, copies = [], None
    for part in parts:
        table, copies, sizes = _table_of(model, part, sizes)
        tables.append(table)
    noisy = together(tables, None if sizes is None else max(n for n, _ in sizes))
    design, pairs = paired(model, noisy.axes, noisy.possible)
    seen = noisy.centre, noisy.noise, noisy.information
    problem = problem_of(model, design, pairs, noisy.released, sizes, *seen)
    return Setting(design, problem, noisy, copies)


def _is_alone(mechanism: Any) -> bool:
    """Return True if a mechanism's release can't be read together with others."""
    return any(view_of(mechanism, kind) for kind in (AnswersView, CoefficientsView))


def _drawn_of(mechanism: Any) -> DrawnCountsView | None:
    """Return the view of a table's counts, where synthetic copies are drawn given them."""
    is_table = view_of(mechanism, TableView) is not None
    return view_of(mechanism, DrawnCountsView) if is_table else None


def _table_of(model: Any, part: Part, sizes: Sizes) -> tuple[NoisyTable, Integers | None, Sizes]:
    """Read one release's table, its synthetic copies if it has any, and the possible n."""
    mechanism: Any = part.mechanism
    if (drawn := _drawn_of(mechanism)) is not None:
        return _of_copies(model, drawn, part, sizes)
    if is_of_table(mechanism):
        largest = None if sizes is None else max(n for n, _ in sizes)
        return noisy_table(part, model.categories, model.zeros, largest), None, sizes
    raise InvalidInput(
        f"the release's mechanism {quoted(mechanism.name)} doesn't randomise what a "
        f"LogisticRegressionModel can read; it takes {TAKES}; {instead(mechanism)}. "
        f"{_instead(mechanism)}"
    )


def _instead(mechanism: Any) -> str:
    if view_of(mechanism, MomentsView) is not None:
        return (
            "Noisy sums and products of records are the concern of bdp.models.RecordModel, with a "
            "logistic record model of your own"
        )
    return (
        "For synthetic records, fit your own estimator to each copy and combine the results by "
        "bdp.combine; for other statistics of records there is bdp.models.RecordModel"
    )


def _of_copies(
    model: Any, drawn: DrawnCountsView, part: Part, sizes: Any
) -> tuple[NoisyTable, Integers, Sequence[tuple[int, float]]]:
    """Read synthetic tables, and the possible n by them and the prior."""
    if model.zeros is not None:
        raise InvalidInput("zeros is given, but the release says its own; leave it out")
    if sizes is None:
        raise InvalidInput(
            "n is confidential in this release; give the model a prior on it, as "
            "n=range(500, 1501), or n itself if you know it"
        )
    axes, possible = axes_of(part.mechanism, model.categories, drawn.alpha.size), drawn.alpha > 0
    alpha, z = drawn.alpha[possible], np.array(part.outputs, dtype=np.int64)[:, possible]
    largest, size = max(n for n, _ in sizes), drawn.size
    if alpha.size * (largest + 1) > _MOST_TABLED:
        raise InvalidInput(
            f"the law of {alpha.size} cells with up to {largest:,} records has more than "
            f"{_MOST_TABLED:,} values; narrow n, or merge categories"
        )
    x = np.arange(largest + 1)
    table = np.zeros((alpha.size, x.size))
    for copy in z:
        table += special.gammaln((alpha + copy)[:, None] + x)
    table -= len(z) * special.gammaln(alpha[:, None] + x)
    whole = alpha.sum()
    n = np.array([each for each, _ in sizes])
    law = len(z) * (special.gammaln(whole + n) - special.gammaln(whole + n + size))
    law += np.log([p for _, p in sizes])
    weights = np.exp(law - law.max())
    known = [(int(k), float(w)) for k, w in zip(n, weights, strict=True) if w > 0]
    middle = float(weights @ n / weights.sum())
    share = z.mean(axis=0) / size
    each = {**closed(np.zeros((alpha.size, 0)), 0.0, laplace=True), "table": table}
    possible = possible.reshape(shape_of(axes))
    released = released_of(axes, possible, [tuple(range(len(axes)))], each)
    noise = max((whole + middle) ** 2 / size * float(np.mean(share * (1 - share))), 1e-2)
    names = (tuple(axis.name for axis in axes),)
    centre, noise = share * (whole + middle) - alpha, noise / len(z)
    return NoisyTable(axes, possible, names, released, centre, noise, 1 / noise, False), z, known
