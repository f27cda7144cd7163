"""Errors of engines that meet confidential records: none of their numbers, and no cause.

PyTensor's errors end with the arrays that an operation was given, NumPy's may begin with an
element, and a traceback prints both of an error that is the cause of another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bayesdp.engines.draws import Draws
from bayesdp.engines.pymc import sampling
from bayesdp.errors import BayesDPError, EngineFailed, InvalidInput, MissingDependency

_NUMBER = re.compile(r"(?<!\w)[-+]?\.?\d[\w.+-]*")


@contextmanager
def withheld(what: str, kind: type[BayesDPError] = EngineFailed) -> Iterator[None]:
    """Raise any engine's error as one of ours: its first line, with `…` for numbers.

    Parameters
    ----------
    what : str
        What failed, for the message.
    kind : class
        The exception to raise. What is wrong with an argument is said as it is.
    """
    try:
        yield
    except (InvalidInput, MissingDependency):
        raise
    except Exception as error:  # any that an engine, or code of the user's in a model, may raise
        said = str(error).partition("\n")[0] or type(error).__name__
        raise kind(
            f"{what}: {_NUMBER.sub('…', said)} (numbers may be records' and aren't shown; run the "
            "model on simulated data to see them)"
        ) from None


def sample(model: Any, **options: Any) -> Draws:
    """Sample a PyMC model of confidential records, as the engine does, its errors withheld."""
    with withheld("the censored posterior can't be sampled"):
        return sampling.sample(model, **options)
