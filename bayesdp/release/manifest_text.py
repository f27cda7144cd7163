"""A manifest as text: parsed within bounds, and sealed by a hash or by a key's signature.

The seal is over the manifest's canonical form: the JSON without its `seal`, with sorted keys, no
spaces, ASCII alone, and the shortest numbers that read back exactly. It holds the hash of the
outputs' table, so that one seal is over the whole release, and depends on nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
from typing import Any, NoReturn

from bayesdp.errors import InvalidInput, InvalidRelease

SEAL = "seal"
_DIGITS = 300  # of a whole number; a float still holds it
_SHORTEST_KEY = 16  # bytes


def read_json(text: str, where: str) -> Any:
    """Parse a JSON text, refusing repeated keys, deep nesting and numbers that can't be held.

    Raises
    ------
    InvalidRelease
        If it isn't JSON, is nested too deeply, has a key twice in one object, or a number that is
        not finite or has too many digits.
    """

    def refuse(what: str) -> NoReturn:
        raise InvalidRelease(f"{where} {what}; get the release folder again from its publisher")

    def whole(digits: str) -> int:
        if len(digits) > _DIGITS:
            refuse(f"has a whole number of {len(digits)} digits; at most {_DIGITS} are read")
        return int(digits)

    def real(digits: str) -> float:
        value = float(digits)
        return value if math.isfinite(value) else refuse("has a number that isn't finite")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(pairs)
        return members if len(members) == len(pairs) else refuse("has a key twice in one object")

    try:
        return json.loads(
            text,
            parse_int=whole,
            parse_float=real,
            parse_constant=lambda name: refuse(f"has the number {name}"),
            object_pairs_hook=once,
        )
    except json.JSONDecodeError as error:
        refuse(f"is not valid JSON (truncated?): {error.msg} at line {error.lineno}")
    except RecursionError:
        refuse("is nested too deeply")


def check_key(key: bytes | None) -> bytes | None:
    """Return a key to sign with, or None, else raise InvalidInput that doesn't show it."""
    if key is not None and (not isinstance(key, bytes) or len(key) < _SHORTEST_KEY):
        what = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
        raise InvalidInput(
            f"key is {what}; it must be at least {_SHORTEST_KEY} secret bytes, for example "
            "secrets.token_bytes(32)"
        )
    return key


def sealed(manifest: dict[str, Any], key: bytes | None = None) -> dict[str, Any]:
    """A manifest with its seal: a hash, and with a key also a signature (HMAC)."""
    content = _canonical(manifest)
    signature = None if key is None else hmac.digest(key, content, "sha256").hex()
    seal = {"sha256": hashlib.sha256(content).hexdigest(), "hmac_sha256": signature}
    return manifest | {SEAL: seal}


def check_seal(manifest: dict[str, Any], key: bytes | None, where: str) -> None:
    """Compare a manifest with its seal.

    Raises
    ------
    InvalidRelease
        If the hash doesn't match, or, with a key, the signature is missing or doesn't match.
    """
    given: Any = manifest.get(SEAL)
    seal = given if isinstance(given, dict) else {}
    true = sealed(manifest, key)[SEAL]
    if SEAL in manifest and seal.get("sha256") != true["sha256"]:
        raise InvalidRelease(
            f"{where} doesn't match its own hash: it was edited or damaged; get the release folder "
            "again from whoever published it"
        )
    if key is None:
        return
    signature = seal.get("hmac_sha256")
    if not isinstance(signature, str):
        raise InvalidRelease(
            f"{where} has no signature, so a key says nothing of it: it was saved without a key, "
            "or the signature was taken out; load it without a key if you trust where it is from"
        )
    if not hmac.compare_digest(signature.encode(), true["hmac_sha256"].encode()):
        raise InvalidRelease(
            f"{where} isn't signed with this key: it was changed by somebody who doesn't have "
            "the key, or was signed with another one"
        )


def _canonical(manifest: dict[str, Any]) -> bytes:
    content = {name: value for name, value in manifest.items() if name != SEAL}
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
