"""Machine code that is kept between runs is that of today's files, and each kernel's own."""

import importlib
import sys
import threading

import pytest


def test_kept_kernels_follow_the_files_beside_them(tmp_path, monkeypatch):
    """numba alone would keep the caller of a changed kernel of another file."""
    start = "from bayesdp.kernels.compiling import kernel\n"
    (tmp_path / "kept_inner.py").write_text(f"{start}@kernel\ndef inner(x):\n    return x + 1\n")
    (tmp_path / "kept_outer.py").write_text(
        f"{start}from kept_inner import inner\n@kernel\ndef outer(x):\n    return inner(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def called():
        for name in ("kept_inner", "kept_outer"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        outer = importlib.import_module("kept_outer").outer
        return outer(1), sum(outer.stats.cache_hits.values())

    assert called() == (2, 0)
    assert called() == (2, 1)
    file = tmp_path / "kept_inner.py"
    file.write_text(file.read_text().replace("x + 1", "x + 5"))
    assert called() == (6, 0)
    assert called() == (6, 1)
    file = tmp_path / "kept_outer.py"  # where lines move, and docstrings come
    file.write_text("# Moved.\n\n" + file.read_text().replace("(x):", '(x):\n    """Told."""'))
    assert called() == (6, 1)


@pytest.fixture
def kept_file(tmp_path, monkeypatch):
    """Makes numba's view of what is kept of a kernel; a new one sees what another process would."""
    (tmp_path / "kept_alone.py").write_text(
        "from bayesdp.kernels.compiling import kernel\n@kernel\ndef alone(x):\n    return x\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def look():
        sys.modules.pop("kept_alone", None)
        return importlib.import_module("kept_alone").alone._cache._cache_file

    return look


def test_two_processes_keep_kernels_at_once(kept_file, monkeypatch):
    """While one has seen what there is, the other begins: each finds its own code again."""
    one, other = kept_file(), kept_file()
    meanwhile = threading.Thread(target=other.save, args=("float", "code for floats"))
    look = one._load_index

    def interrupted():
        seen = look()
        meanwhile.start()
        meanwhile.join(timeout=0.5)  # it waits for this one, and would be through without
        return seen

    monkeypatch.setattr(one, "_load_index", interrupted)
    one.save("int", "code for ints")
    meanwhile.join()
    found = kept_file()
    assert (found.load("int"), found.load("float")) == ("code for ints", "code for floats")


def test_code_is_there_before_it_is_listed(kept_file, tmp_path, monkeypatch):
    """A process that ends between the two doesn't pass an old kernel off as the new one."""
    old = kept_file()
    old.save("int", "old code")
    file = tmp_path / "kept_alone.py"
    file.write_text(file.read_text().replace("return x", "return -x"))
    new = kept_file()
    assert new.load("int") is None

    def ended(*_):
        raise KeyboardInterrupt

    for step in ("_save_data", "_save_index"):
        with monkeypatch.context() as patch:
            patch.setattr(new, step, ended)
            with pytest.raises(KeyboardInterrupt):
                new.save("int", "new code")
        assert kept_file().load("int") is None
    new.save("int", "new code")
    assert kept_file().load("int") == "new code"


def test_nothing_is_kept_where_nothing_can_be_locked(kept_file, monkeypatch):
    import filelock

    def refuse(self, *_, **__):
        raise NotImplementedError("no locks here")

    file = kept_file()
    monkeypatch.setattr(filelock.FileLock, "acquire", refuse)
    file.save("int", "code")
    assert file.load("int") is None


def test_nothing_is_kept_where_nothing_can_be_written(kept_file, monkeypatch):
    from numba.core.caching import Cache

    def refuse(self, function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(Cache, "__init__", refuse)
    with pytest.raises(AttributeError, match="_cache_file"):
        kept_file()
    assert importlib.import_module("kept_alone").alone(3) == 3


def test_a_kernel_that_kernels_call_has_no_way_in_from_python_until_it_is_needed(
    tmp_path, monkeypatch
):
    (tmp_path / "ways_in.py").write_text(
        "from bayesdp.kernels.compiling import inlined, kernel\n"
        "@inlined\ndef small(x):\n    return x + 1\n"
        "@kernel\ndef inner(x):\n    return 2 * small(x)\n"
        "@kernel\ndef outer(x):\n    return inner(x) + small(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("ways_in")
    assert made.outer(3) == 12
    assert [len(each.signatures) for each in (made.outer, made.inner, made.small)] == [1, 0, 0]
    assert [len(each.within.signatures) for each in (made.inner, made.small)] == [1, 1]
    assert (made.inner(3), made.small(3)) == (8, 4)
    names = {path.name.partition(".py")[0] for path in tmp_path.rglob("*.nbi")}
    assert names == {"ways_in.outer", "ways_in.inner", "ways_in.inner.within"}
