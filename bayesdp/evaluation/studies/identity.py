"""Identity of the study in a folder: one-way fingerprints of its declaration.

A fingerprint is a salted scrypt hash, which makes guessing slow. That is no promise: a small data
set can be guessed by anybody who has the folder, since every release in a study comes from a seed,
and so carries no guarantee at all.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayesdp.errors import InvalidInput

_COST = 1 << 12  # of scrypt: 4 MiB, and some 10 ms


def fingerprint(thing: Any, salt: bytes) -> str:
    """Fingerprint a thing by 32 hexadecimal digits, the same on every machine for one salt.

    Functions are identified by their names and their code, but not by the code of the functions
    that they call, nor by their module, since a script's differs where it is imported. What belongs
    to bayesdp is identified by name, since a study is of one version of it.
    """
    digest = hashlib.sha256()
    for piece in _pieces(thing, ()):
        digest.update(len(piece).to_bytes(8, "big") + piece)
    return hashlib.scrypt(digest.digest(), salt=salt, n=_COST, r=8, p=1, dklen=16).hex()


def _pieces(thing: Any, above: tuple[int, ...]) -> Iterator[bytes]:
    """Yield the thing as bytes; `above` holds the ids of its containers, to stop at cycles."""
    yield _type_name(thing)
    if id(thing) in above:
        return
    inside = (*above, id(thing))
    for fits, parts in _WAYS:
        if fits(thing):
            for part in parts(thing):
                if isinstance(part, bytes):
                    yield part
                else:
                    yield from _pieces(part, inside)
            return
    yield _pickled(thing)


def _type_name(thing: Any) -> bytes:
    return type(thing).__qualname__.encode()


def _pickled(thing: Any) -> bytes:
    from bayesdp.evaluation.studies.runner import packed

    try:
        return hashlib.sha256(packed(thing)).digest()
    except InvalidInput as error:
        raise InvalidInput(
            f"the study holds a {type(thing).__qualname__}, which can't be told from another; "
            "declare it with plain data, functions of modules and dataclasses"
        ) from error


def _is_ours(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] == "bayesdp"


def _of_mapping(thing: Mapping[Any, Any]) -> Iterator[Any]:
    for name, value in thing.items():
        yield name
        yield value


def _of_set(thing: set[Any] | frozenset[Any]) -> Iterator[bytes]:
    """Yield the members' bytes in order, as that of a set is another in another process."""
    yield from sorted(
        b"".join(len(piece).to_bytes(8, "big") + piece for piece in _pieces(member, ()))
        for member in thing
    )


def _of_code(code: types.CodeType) -> Iterator[Any]:
    yield code.co_code
    yield list(code.co_consts)
    yield list(code.co_names)


def _of_function(thing: types.FunctionType) -> Iterator[Any]:
    yield thing.__qualname__
    if _is_ours(thing):
        yield thing.__module__
    else:
        yield thing.__code__
        yield [thing.__defaults__, thing.__kwdefaults__]
        for cell in thing.__closure__ or ():
            yield cell.cell_contents


def _of_class(thing: type) -> Iterator[Any]:
    yield thing.__qualname__
    if _is_ours(thing):
        yield thing.__module__
    else:
        yield [value for value in vars(thing).values() if isinstance(value, types.FunctionType)]


def _of_instance(thing: Any) -> Iterator[Any]:
    yield type(thing)
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield [field.name, getattr(thing, field.name)]
    else:
        yield vars(thing)


def _of_frame(frame: Any) -> Iterator[Any]:
    """Yield a DataFrame, Series or Index as bytes: labels, types and values."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        yield [str(name) for name in frame.columns]
        yield [str(dtype) for dtype in frame.dtypes]
    yield pd.util.hash_pandas_object(frame).to_numpy().tobytes()


def _is_frame(thing: Any) -> bool:
    import pandas as pd

    return isinstance(thing, pd.DataFrame | pd.Series | pd.Index)


def _is_plain(thing: Any) -> bool:
    """Return True for a number, a string or None, or a possibly long sequence of these."""
    one = bool | int | float | complex | str | range | None
    if isinstance(thing, list | tuple):
        return all(isinstance(each, one) for each in thing)
    return isinstance(thing, one)


def _is_array(thing: Any) -> bool:
    import numpy as np

    return isinstance(thing, np.ndarray | np.generic) and thing.dtype.kind != "O"


_WAYS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Any]], ...] = (
    (_is_plain, lambda x: [repr(x).encode()]),
    (lambda x: isinstance(x, bytes), lambda x: [x]),
    (lambda x: isinstance(x, Mapping), _of_mapping),
    (lambda x: isinstance(x, list | tuple), iter),
    (lambda x: isinstance(x, set | frozenset), _of_set),
    (_is_array, lambda x: [str(x.dtype).encode(), repr(x.shape).encode(), x.tobytes()]),
    (_is_frame, _of_frame),
    (lambda x: isinstance(x, functools.partial), lambda x: [x.func, x.args, x.keywords]),
    (lambda x: isinstance(x, types.CodeType), _of_code),
    (lambda x: isinstance(x, types.MethodType), lambda x: [x.__self__, x.__func__]),
    (lambda x: isinstance(x, types.FunctionType), _of_function),
    (lambda x: isinstance(x, type), _of_class),
    (lambda x: hasattr(x, "py_func"), lambda x: [x.py_func]),  # compiled by numba, when called
    (lambda x: dataclasses.is_dataclass(x) or type(vars(x) if hasattr(x, "__dict__") else 0)
     is dict, _of_instance),
)  # fmt: skip
