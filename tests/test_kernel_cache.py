"""Machine code that is kept between runs is that of today's files."""

import importlib
import sys

import pytest

from bayesdp import kernel_cache


@pytest.mark.parametrize("room", ["networks", "engines"])
def test_kept_kernels_follow_the_files_beside_them(room, tmp_path, monkeypatch):
    """numba alone would keep the caller of a changed kernel of another file."""
    start = f"from bayesdp.{room}.compiling import kernel\n"
    inner, outer = (f"kept_{name}_{room}" for name in ("inner", "outer"))
    (tmp_path / f"{inner}.py").write_text(f"{start}@kernel\ndef inner(x):\n    return x + 1\n")
    (tmp_path / f"{outer}.py").write_text(
        f"{start}from {inner} import inner\n@kernel\ndef outer(x):\n    return inner(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def called() -> int:
        kernel_cache.digest.cache_clear()
        for name in (inner, outer):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return int(importlib.import_module(outer).outer(1))

    assert called() == 2
    file = tmp_path / f"{inner}.py"
    file.write_text(file.read_text().replace("x + 1", "x + 5"))
    assert called() == 6


@pytest.mark.parametrize("room", ["networks", "engines"])
def test_nothing_is_kept_where_nothing_can_be_written(room, monkeypatch):
    from numba.core.dispatcher import Dispatcher

    def refuse(self):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(Dispatcher, "enable_caching", refuse)
    kernel = importlib.import_module(f"bayesdp.{room}.compiling").kernel

    @kernel
    def twice(x):
        return 2 * x

    assert twice(3) == 6
