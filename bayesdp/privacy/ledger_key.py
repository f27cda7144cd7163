"""Keys of signed heads: files that only their owner reads, for HMAC-SHA256.

A key is 32 random bytes, written as 64 hexadecimal digits. It is never written into a ledger or
an export, and no message shows it: where no file is found, not even the argument is quoted, as
somebody may have given the key itself.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
from pathlib import Path

from bayesdp.errors import InvalidInput, ReleaseExists, quoted

_BYTES = 32
_KEY = re.compile(rb"([0-9a-fA-F]{2}){32,}")


def make_key(path: Path | str) -> None:
    """Write a new random key into a file that only its owner can read.

    Raises
    ------
    ReleaseExists
        If there is such a file: a key is never replaced.
    InvalidInput
        If it can't be written.
    """
    target = Path(path)
    try:
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ReleaseExists(
            f"{quoted(target)} exists already, and a key is never replaced; choose another name"
        ) from None
    except OSError as error:
        raise InvalidInput(
            f"{quoted(target)} can't be written ({error.strerror}); choose another place"
        ) from error
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(f"{secrets.token_hex(_BYTES)}\n")


def read_key(path: Path | str) -> bytes:
    """Return the key in a file.

    Raises
    ------
    InvalidInput
        If there is no such file, others may read it, or it holds no key.
    """
    file = Path(path)
    try:
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe would keep us waiting
            raise ValueError("no file")
        found = file.read_bytes().strip()
    except (OSError, ValueError):  # its name isn't shown: it may be the key itself
        raise InvalidInput(
            "key names no file that can be read; give the path of a key's file, made by "
            "`bayesdp ledger key FILE`, and not the key"
        ) from None
    if os.name == "posix" and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidInput(
            f"key file {quoted(file)} can be read or written by others; make a new key if they may "
            f"have read it, else: chmod 600 {file}"
        )
    if not _KEY.fullmatch(found):
        raise InvalidInput(
            f"key file {quoted(file)} holds no key, which is a line of 64 hexadecimal digits or "
            "more; make one by `bayesdp ledger key FILE`"
        )
    return bytes.fromhex(found.decode("ascii"))


def signature(text: str, key: bytes) -> str:
    """HMAC-SHA256 of a text, in hexadecimal digits."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def is_signature(given: str, text: str, key: bytes) -> bool:
    """Return True if a text was signed with this key; takes as long whatever was given."""
    return hmac.compare_digest(ascii(given), ascii(signature(text, key)))
