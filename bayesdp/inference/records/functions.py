"""Checks of a user's record model: compiled functions, parameters' shapes, values of records."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.errors import EngineFailed, InvalidInput, quoted

Floats = NDArray[np.float64]

_GUARD = 8  # numbers on either side of an array, that nobody may write to
_UNTOUCHED = -1.234567e300
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_BEYOND = 1.234567e299  # what lies around records that aren't there


def check_compiled(name: str, function: Any, *arguments: str) -> None:
    """Raise InvalidInput unless `function` is compiled by numba and takes these arguments."""
    from numba.extending import is_jitted

    wanted = f"{name}({', '.join(arguments)})"
    if not is_jitted(function):
        raise InvalidInput(
            f"{name} is {quoted(function)}, which isn't compiled; write @numba.njit on the line "
            f"above its def, which must be of {wanted}"
        )
    signature = inspect.signature(function.py_func)
    if len(signature.parameters) != len(arguments):
        raise InvalidInput(
            f"{name} takes {signature}; it must be of {wanted}, and write into its last"
        )


def try_out(
    name: str,
    function: Callable[..., Any],
    given: tuple[Any, ...],
    size: int,
    *,
    of: str,
    held: Floats | None = None,
) -> Floats:
    """Call a function and return what it writes into its last argument, an array of floats.

    `of` names that length in messages. Where the function may read the argument, it holds `held`.

    Raises
    ------
    InvalidInput
        If the function doesn't compile, returns something, leaves elements unwritten, or writes
        outside the array.
    EngineFailed
        If the function stops with an error of its own.
    """
    buffer = np.full(size + 2 * _GUARD, _UNTOUCHED)
    out = buffer[_GUARD : _GUARD + size]
    if held is not None:
        out[:] = held
    returned = call(name, function, *given, out)
    around = np.concatenate([buffer[:_GUARD], buffer[_GUARD + size :]])
    if np.any(around != _UNTOUCHED):
        raise InvalidInput(
            f"{name} writes outside its last argument, an array of length {size}, {of}; write "
            "there only, or declare another length"
        )
    if returned is not None or np.any(out == _UNTOUCHED):
        missed = int(np.sum(out == _UNTOUCHED))
        what = f"leaves {missed} of {size} elements unwritten" if missed else "returns something"
        raise InvalidInput(
            f"{name} {what}; it must write {size} numbers ({of}) into its last argument, as "
            "out[0] = ..., and return nothing"
        )
    return out.copy()


def no_records(size: int) -> Floats:
    """Make an array of no records of this size, amid numbers that nobody may read."""
    return np.full((2 * _GUARD, size), _BEYOND)[_GUARD:_GUARD]


def try_without_records(
    posterior: Callable[..., Any], rng: Any, none: NDArray[Any], theta: Floats
) -> None:
    """Call a model's posterior with `no_records`, or counts of none, as it is where n is 0.

    Raises
    ------
    InvalidInput
        If the function stops, or writes what isn't finite or was read from beyond the records.
    """
    try:
        drawn = try_out("posterior", posterior, (rng, none), theta.size, of="theta", held=theta)
        wrong = "" if np.all(np.abs(drawn) < _BEYOND / 2) else "gives no finite numbers"
    except EngineFailed as error:
        wrong = f"stops with {quoted(type(error.__cause__).__name__)}"
    if wrong:
        raise InvalidInput(
            f"posterior {wrong} where there are no records, and n may be 0; draw theta from its "
            "prior there, or give n a prior without 0, as range(1, 101)"
        )


def call(name: str, function: Callable[..., Any], *given: Any) -> Any:
    """Call a function, and show an error of the compiler's, or of its own, in one line."""
    from numba.core.errors import NumbaError

    try:
        return function(*given)
    except NumbaError as error:
        raise InvalidInput(f"{name} doesn't compile: {_first_line(str(error))}") from None
    except Exception as error:
        raise EngineFailed(f"{name} stopped: {type(error).__name__}: {error}") from error


def _first_line(message: str) -> str:
    """Find the first line of numba's error that says what is wrong, without its colours."""
    message = _COLOURS.sub("", message)
    lines = [line.strip() for line in message.splitlines()]
    said = [line for line in lines if line and not line.startswith(("Failed in", "-", ">>>"))]
    return said[0] if said else message.strip()


def checked_shapes(parameters: Any) -> dict[str, tuple[int, ...]]:
    """Return the parameters' names and shapes, else raise InvalidInput."""
    good = isinstance(parameters, Mapping) and len(parameters) > 0
    if not good or not all(
        isinstance(name, str)
        and name.isidentifier()
        and name != "n"
        and isinstance(shape, tuple)
        and all(type(size) is int and size > 0 for size in shape)
        for name, shape in parameters.items()
    ):
        raise InvalidInput(
            f"parameters is {quoted(parameters)}; it must map names, but not 'n', to shapes, as "
            "{'mu': (), 'weights': (3,)}"
        )
    return dict(parameters)


def checked_support(support: Any) -> Floats:
    """Return the possible records, one in each row, or raise InvalidInput."""
    try:
        values = np.asarray(support, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < 1 or not np.isfinite(values).all():
        raise InvalidInput(
            "support must hold all values that a record may have, two or more, finite, one a row: "
            "shape (k,) or (k, record_size)"
        )
    if len(np.unique(values, axis=0)) < len(values):
        raise InvalidInput("support has a value twice; each may be there once")
    return np.ascontiguousarray(values)
