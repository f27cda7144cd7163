"""The public parameters of noisy network statistics, in their standard form."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least_one, check_flag
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.statistics_frame import (
    LARGEST,
    Frame,
    check_columns,
    frame,
    nodes_of,
)
from bayesdp.mechanisms.graphs.statistics_promise import check_relation
from bayesdp.mechanisms.noise.fields import (
    check_each_positive,
    check_granularity,
    check_scale_in_steps,
)
from bayesdp.networks.network_checks import checked_nodes
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from bayesdp.mechanisms.graphs.noisy_statistics import NoisyStatisticsMechanism

NOISES = ("laplace", "gaussian")
PUBLIC = ("formula", "nodes", "directed", "attributes", "max_degree")
"""Fields that say what is released of which graphs."""


def check_fields(mechanism: NoisyStatisticsMechanism) -> dict[str, Any]:
    """Validate the mechanism's parameters and return them in their standard form."""
    relation = check_relation(mechanism.neighbours)
    check_noise(mechanism.noise)
    made = public_frame(**{name: getattr(mechanism, name) for name in PUBLIC})
    scales = check_each_positive("scales", _one_each("scales", mechanism.scales, made))
    if mechanism.granularity is None:
        steps = default_granularity(made, scales, relation is Neighbours.NODE)
    else:
        given = _one_each("granularity", mechanism.granularity, made)
        steps = tuple(check_granularity(math.nan if g is None else g, 1.0, 1.0) for g in given)
        _check_steps(made, steps)
    for scale, step in zip(scales, steps, strict=True):
        check_scale_in_steps(scale, step)
    return {
        "scales": scales,
        "nodes": nodes_of(made.network),
        "attributes": check_columns(mechanism.attributes, made.network.n),
        "granularity": steps,
        "neighbours": relation,
    }


def public_frame(
    formula: str,
    nodes: Any,
    directed: bool = False,
    attributes: Any = (),
    max_degree: int | None = None,
) -> Frame:
    """The formula on its public nodes, all validated."""
    check_flag("directed", directed)
    if max_degree is not None:
        max_degree = check_at_least_one("max_degree", max_degree, "or None for any degrees")
    labels = _nodes(nodes)
    columns = check_columns(attributes, labels if isinstance(labels, int) else len(labels))
    return frame(formula, labels, directed, columns, max_degree)


def check_noise(noise: Any) -> str:
    """Return the noise's name, or raise InvalidInput."""
    if noise not in NOISES:
        raise InvalidInput(f"noise is {quoted(noise)}; it must be 'laplace' or 'gaussian'")
    return str(noise)


def default_granularity(made: Frame, scales: Sequence[float], node: bool) -> tuple[float, ...]:
    """Default granularity: 1 for integers, else fine enough to cost next to nothing."""
    found = []
    moved, furthest = made.sensitivities(node), made.furthest
    for scale, whole, most, far in zip(scales, made.whole, moved, furthest, strict=True):
        step = 1.0 if whole else check_granularity(None, scale, float(most) or scale)
        found.append(max(step, 2.0 ** math.frexp(float(far / LARGEST))[1] if far else step))
    return tuple(found)


def _check_steps(made: Frame, steps: Sequence[float]) -> None:
    for name, whole, step, far in zip(made.names, made.whole, steps, made.furthest, strict=True):
        if (whole and step > 1) or far / Fraction(step) > 2 * LARGEST:
            raise InvalidInput(
                f"granularity of {name} is {quoted(step)}; it must be at most 1 for an integer, "
                f"and at least 2**-52 of its largest value, {float(far):.3g}; None chooses one"
            )


def _one_each(name: str, given: Any, made: Frame) -> tuple[Any, ...]:
    values = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else ()
    if len(values) != len(made.names):
        raise InvalidInput(
            f"{name} is {quoted(given)}; it must be {len(made.names)} numbers, for "
            f"{', '.join(made.names)}"
        )
    return values


def _nodes(nodes: Any) -> Any:
    """Return the number of nodes, or their labels as a tuple."""
    labels = checked_nodes(nodes)
    if isinstance(labels, range):
        return len(labels)
    kinds = {type(label) for label in labels}
    if len(kinds) > 1 or not kinds <= {bool, int, float, str}:
        raise InvalidInput(
            "nodes has labels of type "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}; a release holds text, numbers "
            "or booleans, of one type: rename the nodes"
        )
    return labels
