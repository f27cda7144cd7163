"""Identity of the study in a folder: one-way fingerprints of its declaration.

A fingerprint is a salted scrypt hash, which makes guessing slow. That is no promise: a small data
set can be guessed by anybody who has the folder, since every release in a study comes from a seed,
and so carries no guarantee at all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import logging
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from bayesdp.errors import InvalidInput
from bayesdp.evaluation.studies.references import is_own, references

_COST = 1 << 12  # of scrypt: 4 MiB, and some 10 ms


def fingerprint(thing: Any, salt: bytes) -> str:
    """Fingerprint a thing by 32 hexadecimal digits, the same on every machine for one salt.

    Functions and classes are identified by their names, their code and what it refers to: global
    values and the user's other functions and classes, but not their modules' names, since a
    script's differs where it is imported. What belongs to bayesdp is identified by name, since a
    study is of one version of it, and so is what else is installed. A global value that can't be
    told from another, as a lock, is known by its type.
    """
    return hashlib.scrypt(_digest(thing, {}, ()), salt=salt, n=_COST, r=8, p=1, dklen=16).hex()


@dataclasses.dataclass(frozen=True, slots=True)
class _Referred:
    """A value that code refers to, as a global one or an attribute of a class."""

    value: Any


def _digest(thing: Any, met: dict[int, int], above: tuple[int, ...]) -> bytes:
    """Hash a thing's type and parts, each by its own hash, so that no two nestings are alike.

    Cycles end at what is known already: `above` holds the ids of the containers, and `met` numbers
    the functions, classes and modules so far, which may all refer to each other.
    """
    if isinstance(thing, _Referred):
        try:
            return _digest(thing.value, met, above)
        except (InvalidInput, RecursionError):
            return _hashed([b"untold", _type_name(thing.value)])
    if id(thing) in above or id(thing) in met:
        return _hashed([b"known", _type_name(thing), str(met.get(id(thing))).encode()])
    if isinstance(thing, types.FunctionType | types.ModuleType | type):
        met[id(thing)] = len(met)
    else:
        above = (*above, id(thing))
    if isinstance(thing, set | frozenset):  # whose order is another in another process
        parts = sorted(_digest(member, dict(met), above) for member in thing)
    else:
        parts = [
            part if isinstance(part, bytes) else _digest(part, met, above) for part in _parts(thing)
        ]
    kind = type(thing)
    own = [_digest(kind, met, above)] if is_own(kind.__module__) else []
    return _hashed([_type_name(thing), *own, *parts])


def _hashed(pieces: Iterable[bytes]) -> bytes:
    return hashlib.sha256(b"".join(hashlib.sha256(piece).digest() for piece in pieces)).digest()


def _parts(thing: Any) -> Iterable[Any]:
    """List the bytes and the things that tell a thing from others of its type."""
    ways = (parts for fits, parts in _WAYS if fits(thing))
    found: Iterable[Any] = next(ways, lambda x: [_pickled(x)])(thing)
    return found


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


def _of_mapping(thing: Mapping[Any, Any]) -> Iterator[Any]:
    for name, value in thing.items():
        yield name
        yield value


def _of_code(code: types.CodeType) -> Iterator[Any]:
    yield code.co_code
    yield code.co_exceptiontable
    yield list(code.co_consts)
    yield [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    yield [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]


def _of_function(thing: types.FunctionType) -> Iterator[Any]:
    yield thing.__qualname__
    module = str(thing.__globals__.get("__name__", ""))
    if module.partition(".")[0] == "bayesdp":
        yield module
    else:
        yield thing.__code__
        yield [thing.__defaults__, thing.__kwdefaults__]
    for cell in thing.__closure__ or ():
        with contextlib.suppress(ValueError):  # an empty one
            yield cell.cell_contents
    if is_own(module):
        yield vars(thing)
        yield from map(_Referred, references(thing))


def _of_class(thing: type) -> Iterator[Any]:
    yield thing.__qualname__
    if not is_own(thing.__module__):
        yield thing.__module__
        return
    yield list(thing.__bases__)
    yield from _of_names(vars(thing))


def _of_module(thing: types.ModuleType) -> Iterator[Any]:
    if is_own(thing.__name__):
        yield from _of_names(vars(thing))
    else:
        yield thing.__name__


def _of_names(names: Mapping[str, Any]) -> Iterator[Any]:
    """Yield a class's or module's names and values, but for what Python itself keeps there."""
    for name, value in names.items():
        kept = name.startswith("__") and not isinstance(value, types.FunctionType)
        if not kept and name != "_abc_impl":
            yield name
            yield _Referred(value)


def _of_property(thing: property) -> list[Any]:
    return [thing.fget, thing.fset, thing.fdel]


def _of_instance(thing: Any) -> Iterator[Any]:
    yield type(thing)
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield [field.name, getattr(thing, field.name)]
    else:
        held = getattr(thing, "__dict__", {})
        yield {name: value for name, value in held.items() if name != "__module__"}
        for name in _slots(thing):
            yield [name, getattr(thing, name, None)]


def _slots(thing: Any) -> list[str]:
    """List the attributes of a user's own class that are kept in slots."""
    found = [vars(kind).get("__slots__", ()) for kind in type(thing).__mro__]
    return [
        name
        for slots in found
        for name in ([slots] if isinstance(slots, str) else slots)
        if hasattr(thing, name)
    ]


def _has_parts(thing: Any) -> bool:
    has_names = type(getattr(thing, "__dict__", None)) is dict
    return dataclasses.is_dataclass(thing) or has_names or is_own(type(thing).__module__)


def _of_frame(frame: Any) -> Iterator[Any]:
    """Yield labels, types and levels of a DataFrame, Series or Index, and its values as bytes."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        yield list(frame.columns)
        for dtype in frame.dtypes:
            yield from _of_dtype(dtype)
    else:
        yield frame.name
        yield from _of_dtype(frame.dtype)
    yield list(getattr(frame, "index", frame).names)
    yield pd.util.hash_pandas_object(frame).to_numpy().tobytes()


def _of_dtype(dtype: Any) -> list[Any]:
    levels = getattr(dtype, "categories", None)
    return [str(dtype), None if levels is None else [list(levels), dtype.ordered]]


def _is_frame(thing: Any) -> bool:
    import pandas as pd

    return isinstance(thing, pd.DataFrame | pd.Series | pd.Index)


def _is_of_arrow(thing: Any) -> bool:
    """Return True for a table or a column of Polars or Arrow."""
    return hasattr(thing, "__arrow_c_stream__") and hasattr(thing, "to_pandas")


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
    (lambda x: isinstance(x, weakref.WeakKeyDictionary), lambda x: []),  # a cache, as a dispatch's
    (lambda x: isinstance(x, Mapping), _of_mapping),
    (lambda x: isinstance(x, list | tuple), iter),
    (_is_array, lambda x: [str(x.dtype).encode(), repr(x.shape).encode(), x.tobytes()]),
    (_is_frame, _of_frame),
    (lambda x: isinstance(x, functools.partial), lambda x: [x.func, x.args, x.keywords]),
    (lambda x: isinstance(x, types.CodeType), _of_code),
    (lambda x: isinstance(x, types.ModuleType), _of_module),
    (lambda x: isinstance(x, property), _of_property),
    (lambda x: isinstance(x, staticmethod | classmethod), lambda x: [x.__func__]),
    (lambda x: isinstance(x, types.MemberDescriptorType), lambda x: [x.__name__]),  # of a slot
    (lambda x: isinstance(x, logging.Logger), lambda x: [x.name]),  # its other state is another's
    (lambda x: isinstance(x, types.MethodType), lambda x: [x.__self__, x.__func__]),
    (lambda x: isinstance(x, types.FunctionType), _of_function),
    (lambda x: isinstance(x, type), _of_class),
    (lambda x: hasattr(x, "py_func"), lambda x: [x.py_func]),  # compiled by numba, when called
    (_is_of_arrow, lambda x: [x.to_pandas()]),
    (_has_parts, _of_instance),
)
