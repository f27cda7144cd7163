"""Data that valid calls of public callables are given, and a function that is got anew."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import bayesdp as bdp
from bayesdp.mechanisms.counts.cells import Axis

D, F, N = bdp.distributional, bdp.families, bdp.networks
BOUNDS = (("x", (0.0, 1.0)), ("y", (-1.0, 2.0)))
TABLE = pd.DataFrame({"x": np.linspace(0.01, 0.9, 90), "y": np.linspace(-0.5, 1.5, 90)})
LABELLED = pd.DataFrame(
    {"sex": ["f", "m", "m"] * 30, "dose": np.linspace(0, 1, 90), "ill": [0, 1] * 45}
)
AXES = (Axis("a", categories=("u", "v")), Axis("b", categories=("u", "v", "w")))
STEPS = (
    bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")}),
    bdp.synthesizers.NumericColumns({"dose": (0.0, 1.0)}),
)
LABEL_STEPS = (
    bdp.synthesizers.CategoricalColumns({"sex": ("f", "m")}),
    bdp.synthesizers.CategoricalColumns({"ill": (0, 1)}, by=["sex"]),
)
SCHEMA = bdp.Schema({"a": {"type": "boolean"}, "b": {"type": "integer", "bounds": (0, 2)}})
GRAPH = N.Network(6, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5)])
EXACT = (
    "BinomialModel", "GammaModel", "GaussianModel", "MultinomialModel",
    "MultivariateGaussianModel", "PoissonModel",
)  # fmt: skip
"""Models whose fits take no compilation."""
ONES = bdp.Count(38, 100)
COUNTED = bdp.Release.of(bdp.mechanisms.BetaBinomialMechanism(100, 100, (15.65, 15.65)), [38, 41])
FEW: dict[str, Any] = {"draws": 30, "chains": 2, "seed": 3}


def anew(get: Callable[[], Any]) -> Any:
    """A function that is got anew for every call: after what it needs has been made."""
    function = get()

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        return get()(*args, **kwargs)

    if hasattr(function, "__self__"):
        setattr(called, "__self__", function.__self__)  # noqa: B010
    return called
