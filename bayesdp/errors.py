"""The exceptions of bayesdp: one small family, so that `except BayesDPError` catches them all.

Each also derives from the built-in exception a Python user would expect, so that code that knows
nothing of bayesdp still handles it. Their messages quote arguments only through `quoted`, since
messages end up in logs and e-mails.
"""

import contextlib
import re
from enum import Enum
from numbers import Integral, Real
from pathlib import PurePath
from typing import Any

__all__ = [
    "BayesDPError",
    "BudgetExceeded",
    "EngineFailed",
    "InvalidInput",
    "InvalidRelease",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "MissingDependency",
    "ReleaseExists",
    "StudyStopped",
]

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/+)((?:[^\s/@:]*:.*@)?\S*)")
_WHO = re.compile(r"(?:[^/@:]*:.*|[^/?#]*)@")  # with whatever a password has: rather too much
_LONGEST = 80  # characters of a text: enough for a formula or a web address, not for a file


def quoted(value: Any) -> str:
    """Quote an argument for a message: a number or a name, and of anything else only its type.

    A frame, series, array, sequence or mapping may hold confidential records, whatever argument it
    was given as, and so may an object whose `repr` shows its content: only their type is shown. A
    path is quoted whole, and a string up to its first 80 characters if it is one line: nearly all
    are names of columns and options. Addresses are without their secrets.

    Returns
    -------
    str
        "3", "'gwesp'", "a DataFrame", "the class DataFrame".
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool | range):
        return repr(value)
    if isinstance(value, PurePath):
        return repr(without_secrets(str(value)))
    if isinstance(value, str):
        return _text(str(value))
    if isinstance(value, Integral):
        whole = int(value)
        return repr(whole) if abs(whole) < 10**40 else "a whole number of over 40 digits"
    if isinstance(value, Real):
        with contextlib.suppress(OverflowError):  # a Fraction may be beyond all floats
            return repr(float(value))
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return kind_of(value)


def without_secrets(text: str) -> str:
    """Return a text in whose addresses stars stand for names, passwords and what follows a "?".

    An address of a database or a store may have a password before its host, and a token or a
    signature among its parameters.

    Returns
    -------
    str
        "https://***@host/file?***" of "https://ann:secret@host/file?sig=3f2a".
    """

    def plain(found: re.Match[str]) -> str:
        rest = _WHO.sub("***@", found[2], count=1) if _WHO.match(found[2]) else found[2]
        return found[1] + re.sub(r"[?#].*", "?***", rest)

    return _ADDRESS.sub(plain, text)


def kind_of(value: Any) -> str:
    """Name the type of one of several values, for a message that must not show the value.

    One element of a sequence may be a record, so that `quoted`, which shows numbers and strings,
    mustn't be used for it.

    Returns
    -------
    str
        "a float", "an int", "a DataFrame".
    """
    kind = type(value).__name__
    return f"{'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}"


def _text(text: str) -> str:
    if len(text.splitlines()) > 1:
        return "a text of several lines"
    text = without_secrets(text)
    return repr(text) if len(text) <= _LONGEST else f"{text[:_LONGEST]!r} and so on"


class BayesDPError(Exception):
    """Base of every exception that bayesdp raises on purpose."""


class InvalidInput(BayesDPError, ValueError):
    """An argument, a data set or a file's content isn't allowed."""


class InvalidRelease(BayesDPError, ValueError):
    """A release folder or manifest is damaged, unknown or inconsistent."""


class ReleaseExists(BayesDPError, FileExistsError):
    """The target folder exists already; nothing was written."""


class MissingDependency(BayesDPError, ImportError):
    """An optional part is not installed; the message gives the install command."""


class EngineFailed(BayesDPError, RuntimeError):
    """An engine could not compile or run its program."""


class BudgetExceeded(BayesDPError, RuntimeError):
    """A release would cost more than is left of its dataset's budget; nothing was spent.

    Attributes
    ----------
    epsilon, delta : float
        The largest epsilon and delta that one more release may cost.
    """

    def __init__(self, message: str, epsilon: float, delta: float) -> None:
        super().__init__(message)
        self.epsilon = epsilon
        self.delta = delta


class LedgerCorrupted(BayesDPError, RuntimeError):
    """A ledger isn't what was written: a row was changed, deleted, inserted or moved.

    Attributes
    ----------
    dataset : str or None
        The dataset whose history is wrong; None where the list of datasets itself is.
    position : int or None
        The first bad entry: 0 is the budget, 1 the first spend. None where the entries are
        sound and only the dataset's own row is wrong.
    """

    def __init__(self, message: str, dataset: str | None, position: int | None) -> None:
        super().__init__(message)
        self.dataset = dataset
        self.position = position


class LedgerUnavailable(BayesDPError, ConnectionError):
    """The database of a ledger can't be reached, read or written; nothing was drawn.

    Nothing was spent, unless the commit's confirmation was lost: such a spend stays recorded.
    """


class StudyStopped(BayesDPError, RuntimeError):
    """A study couldn't start or go on: no scheduler, no workers, a full disk.

    Finished results are kept; run the study again, and it resumes from there.
    """
