"""Find values in files, however they are written: in binary, as text, and compressed."""

import io
import itertools
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DIGITS = 7  # of decimal text, after the first that isn't 0, and cut off or rounded
_STREAMS = ((b"\x1f\x8b\x08", 31), *((bytes([0x78, c]), 15) for c in (0x01, 0x5E, 0x9C, 0xDA)))
_STEP = 8
RUN = 24  # values that have no shape of their own, as answers of yes and no, in a row


def needles(values: list[float]) -> set[bytes]:
    """What distinctive numbers look like: float64 both ways, decimal text, and pairs of float32.

    Four bytes alone are too few to be distinctive.
    """
    found = set()
    for value in values:
        found |= {struct.pack("<d", value), struct.pack(">d", value)}
        text = f"{value:.17f}"
        start = next(k for k, c in enumerate(text) if c in "123456789")
        end = start + DIGITS + (text.find(".") > start)
        rounded = f"{value:#.{DIGITS}g}"  # with the zeros that it ends in
        found |= {text[:end].encode(), rounded.encode()}
    for order in (values, sorted(values)):
        for pair in itertools.pairwise(order):
            found |= {struct.pack("<2f", *pair), struct.pack(">2f", *pair)}
    return found


def runs(values: list[int]) -> set[bytes]:
    """What the first of small integers look like in a row, as bytes and as text."""
    first = values[:RUN]
    found = {
        b"".join(struct.pack(order + form, v) for v in first)
        for order, form in itertools.product("<>", "bhiqfd")
    }
    texts = [[str(v) for v in first], [f"{v}.0" for v in first], [str(bool(v)) for v in first]]
    for text, gap in itertools.product(texts, (", ", ",", " ", "\n", "\r\n", ". ", "")):
        found.add(gap.join(text).encode())
    return found


def traces(roots: list[Path], sought: set[bytes]) -> list[str]:
    """The files below the roots that hold any of what is sought, in their names too."""
    starts = np.unique(np.array([_start(needle) for needle in sought], dtype=np.uint64))
    found = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            whole = iter([str(path.relative_to(root)).encode()])
            if path.is_file() and not path.is_symlink():
                whole = itertools.chain(whole, contents(path.read_bytes()))
            if any(_holds(content, sought, starts) for content in whole):
                found.append(str(path))
    return found


def _holds(content: bytes, sought: set[bytes], starts: NDArray[np.uint64]) -> bool:
    """Whether bytes hold any of what is sought; first where its beginnings are, all at once."""
    present = set()
    for offset in range(_STEP):
        length = (len(content) - offset) // _STEP
        if length > 0:
            words = np.frombuffer(content, dtype="<u8", count=length, offset=offset)
            places = np.searchsorted(starts, words) % len(starts)
            present.update(words[starts[places] == words].tolist())
    return any(needle in content for needle in sought if _start(needle) in present)


def _start(needle: bytes) -> int:
    return int.from_bytes(needle[:_STEP], "little")


def contents(data: bytes, depth: int = 3) -> Iterator[bytes]:
    """A file's bytes, and those of everything compressed in it."""
    yield data
    if depth == 0:
        return
    for inner in _unpacked(data):
        yield from contents(inner, depth - 1)


def _unpacked(data: bytes) -> Iterator[bytes]:
    """What zlib, gzip, zip and xz made, the streams wherever they begin."""
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                yield archive.read(name)
    if data.startswith(b"\xfd7zXZ"):
        yield lzma.decompress(data)
    for magic, bits in _STREAMS:
        at = data.find(magic)
        while at >= 0:
            try:
                made = zlib.decompressobj(bits).decompress(memoryview(data)[at:])
            except zlib.error:
                made = b""
            if made:
                yield made
            at = data.find(magic, at + 1)
