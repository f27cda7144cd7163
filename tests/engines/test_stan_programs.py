"""Reading Stan programs, and the cache of compiled ones."""

import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock
import pytest

from bayesdp.engines.stan import programs as stan_programs
from bayesdp.errors import EngineFailed, InvalidInput
from bayesdp.resources import shipped

PROGRAM = stan_programs.Program("some", "parameters { real y; }")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("BAYESDP_CACHE", str(tmp_path))
    return tmp_path / "stan"


def write_programs(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: str) -> None:
    """Ship other programs, in place of stan/; `include_x` is stan/include/x."""
    (folder / "include").mkdir(parents=True)
    for name, text in files.items():
        inner = name.removeprefix("include_")
        path = folder / f"{name}.stan" if inner == name else folder / "include" / inner
        path.write_text(text)
    monkeypatch.setattr(stan_programs, "shipped", lambda kind: folder)


def test_includes_are_resolved() -> None:
    code = stan_programs.read_program("binomial").code
    assert "#include" not in code
    assert "real latent_count_log_lik(real p" in code
    assert (shipped("stan") / "include" / "latent_count.stanfunctions").is_file()


def test_parameters_are_read_in_every_form_of_declaration() -> None:
    code = """
    data { int n; }
    transformed data { real unseen = 1; }
    parameters {  // vector[2] commented;
      real a, b;
      array[n, 2] vector<lower=fmin(0, max([1, 2])), upper=(n > 1 ? 2 : 3)>[n] c, d;
      vector<offset=a, multiplier=b>[n] e; /* real f; */ simplex[n] g
      ;
    }
    transformed parameters { real h = a; }
    """
    program = stan_programs.Program("some", code)
    assert program.parameters == ("a", "b", "c", "d", "e", "g")
    names = "binomial", "gamma", "gaussian", "hierarchical_gaussian", "censored_beta", "poisson"
    for name in names:
        assert stan_programs.read_program(name).parameters
    assert stan_programs.Program("some", "model {}").parameters == ()


def test_includes_nest_but_not_in_circles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_programs(
        tmp_path / "stan",
        monkeypatch,
        nested="a\n  #include one\nb\n",
        circle='#include "three"\n',
        missing="#include <four>\n",
        include_one="c\n#include two\n",
        include_two="d\n",
        include_three="#include three\n",
    )
    assert stan_programs.read_program("nested").code == "a\nc\nd\nb\n"
    for name in ("circle", "missing"):
        with pytest.raises(InvalidInput, match="#include"):
            stan_programs.read_program(name)


def test_what_a_program_depends_on_decides_whether_it_is_compiled(empty_cache: Path) -> None:
    compilations: list[Path] = []
    folders = [
        stan_programs.compiled(program, {"version": version}, compilations.append)
        for program, version in [
            (PROGRAM, "1"),
            (PROGRAM, "1"),
            (PROGRAM, "2"),
            (stan_programs.Program("some", "parameters { real z; }"), "1"),
        ]
    ]
    assert folders[0] == folders[1]
    assert len(set(folders)) == len(compilations) == 3
    assert (folders[0] / "some.stan").read_text() == PROGRAM.code
    assert {path.parent for path in folders} == {empty_cache}


def test_an_interrupted_or_damaged_build_is_built_again(empty_cache: Path) -> None:
    def interrupted(building: Path) -> None:
        (building / "library.so").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stan_programs.compiled(PROGRAM, {}, interrupted)
    assert list(empty_cache.iterdir()) == []
    folder = stan_programs.compiled(PROGRAM, {}, lambda building: (building / "a").touch())
    (folder / stan_programs.MARKER).unlink()
    stan_programs.compiled(PROGRAM, {}, lambda building: (building / "b").touch())
    assert (folder / "b").exists()
    assert not (folder / "a").exists()


def test_of_two_builds_at_the_same_time_one_waits_for_the_other(empty_cache: Path) -> None:
    compilations: list[Path] = []
    folders: list[Path] = []
    started, waiting = threading.Event(), threading.Event()

    def compile_into(building: Path) -> None:
        compilations.append(building)
        started.set()
        waiting.wait(60)

    def build() -> None:
        folders.append(stan_programs.compiled(PROGRAM, {}, compile_into))

    threads = [threading.Thread(target=build) for _ in range(2)]
    threads[0].start()
    assert started.wait(60)
    threads[1].start()
    time.sleep(0.2)  # enough for a second one to start, if it didn't wait
    waiting.set()
    for thread in threads:
        thread.join()
    assert folders[0] == folders[1]
    assert len(compilations) == 1
    assert list(empty_cache.iterdir()) == [folders[0]]


def test_builds_at_the_same_time_end_in_one_where_there_are_no_locks(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: object, *_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(filelock.FileLock, "acquire", refused)
    together = threading.Barrier(2, timeout=60)
    folders: list[Path] = []

    def build() -> None:
        folders.append(stan_programs.compiled(PROGRAM, {}, lambda building: together.wait()))

    threads = [threading.Thread(target=build) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert folders[0] == folders[1]
    assert list(empty_cache.iterdir()) == [folders[0]]


@pytest.mark.parametrize("damage", [Path.unlink, Path.touch, lambda path: path.write_bytes(b"x")])
def test_a_build_that_lacks_a_file_is_built_again(
    empty_cache: Path, damage: Callable[[Path], None]
) -> None:
    folder = stan_programs.compiled(
        PROGRAM, {}, lambda building: (building / "program").write_bytes(b"code") and None
    )
    damage(folder / "program")
    again: list[Path] = []
    assert stan_programs.compiled(PROGRAM, {}, again.append) == folder
    assert len(again) == (damage is not Path.touch)


@pytest.mark.parametrize("method", ["is_file", "mkdir"])
def test_a_cache_that_is_not_ours_to_see_is_left_with_one_warning(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    act = getattr(Path, method)

    def refused(self: Path, *options: Any, **others: Any) -> Any:
        if self.is_relative_to(empty_cache):
            raise PermissionError(13, "Permission denied", str(self))
        return act(self, *options, **others)

    monkeypatch.setattr(Path, method, refused)
    stan_programs._own_cache.cache_clear()
    compilations: list[Path] = []
    with pytest.warns(RuntimeWarning, match="set the environment variable BAYESDP_CACHE") as told:
        folders = [stan_programs.compiled(PROGRAM, {}, compilations.append) for _ in range(2)]
    assert len(told) == len(compilations) == 1
    assert folders[0] == folders[1]
    assert (folders[0] / "some.stan").is_file()
    assert folders[0].parent.stat().st_mode & 0o777 == 0o700


def test_a_build_that_comes_in_between_is_kept(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process's, complete just after this one saw that there is none: it is in use."""
    folder = stan_programs.compiled(PROGRAM, {}, lambda building: (building / "first").touch())
    other = folder.rename(empty_cache / "other")

    def interrupted(act: Callable[..., Any]) -> Callable[..., Any]:
        def acts(*arguments: Any, **options: Any) -> Any:
            if other.exists():
                os.rename(other, folder)  # noqa: PTH104
            return act(*arguments, **options)

        return acts

    for of, name in ((Path, "rename"), (shutil, "rmtree")):
        monkeypatch.setattr(of, name, interrupted(getattr(of, name)))
    again = stan_programs.compiled(PROGRAM, {}, lambda building: (building / "late").touch())
    assert again == folder
    assert (folder / "first").exists()
    assert list(empty_cache.iterdir()) == [folder]


def test_leftovers_of_killed_builds_are_removed_in_time(empty_cache: Path) -> None:
    for name, age in (("building-old", stan_programs._STALE_SECONDS + 60), ("building-new", 0)):
        (empty_cache / name).mkdir(parents=True)
        then = (empty_cache / name).stat().st_mtime - age
        os.utime(empty_cache / name, (then, then))
    folder = stan_programs.compiled(PROGRAM, {}, lambda building: None)
    assert set(empty_cache.iterdir()) == {folder, empty_cache / "building-new"}


def test_a_cache_that_cannot_be_written_says_how_to_move_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("BAYESDP_CACHE", str(tmp_path / "file"))
    with pytest.raises(EngineFailed, match="set the environment variable BAYESDP_CACHE"):
        stan_programs.compiled(PROGRAM, {}, lambda building: None)
