"""A kernel's stamp changes with what its machine code follows from, and with nothing else."""

import ast
import importlib
import re
import sys
from collections import namedtuple
from pathlib import Path

import numba
import numpy as np
import pytest

import bayesdp
from bayesdp.kernels import fixed_total
from bayesdp.kernels.compiling import inlined, kernel, leaf
from bayesdp.kernels.graphs import graph, markov
from bayesdp.kernels.stamps import stamp

PACKAGE = Path(bayesdp.__file__).parent
MACHINERY = {"__init__", "bits", "cache", "compiling", "stamps"}
ROOM = [path for path in (PACKAGE / "kernels").rglob("*.py") if path.stem not in MACHINERY]


@pytest.fixture
def copies(tmp_path, monkeypatch):
    """Copies of two files of kernels, the second calling the first; edits one, and reads stamps."""
    (tmp_path / "copied_total.py").write_text(Path(fixed_total.__file__).read_text())
    (tmp_path / "copied_counts.py").write_text(
        (PACKAGE / "kernels" / "area_counts.py")
        .read_text()
        .replace("bayesdp.kernels.fixed_total", "copied_total")
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def stamps(name="", old="", new=""):
        if name:
            path = tmp_path / f"{name}.py"
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new, 1))
        for each in ("copied_total", "copied_counts"):
            sys.modules.pop(each, None)
        importlib.invalidate_caches()
        counts = importlib.import_module("copied_counts")
        total = sys.modules["copied_total"]
        return {
            "tilted": stamp(total.tilted),
            "log_norm": stamp(total.log_norm),
            "independent": stamp(counts.independent),
            "chain": stamp(counts.chain),
        }

    yield stamps
    for each in ("copied_total", "copied_counts"):
        sys.modules.pop(each, None)


def changed(before, after):
    return {name for name, value in after.items() if before[name] != value}


def test_words_change_no_stamp(copies):
    before = copies()
    for old, new in (
        (
            "Newton's method within a bracket.",
            "Newton's method.\n\n    At most 100 steps.",
        ),
        ('r"""The probability', '# Of areas.\n\nr"""A probability'),
        ("low, high = -math.inf", "# from below\n    low, high = -math.inf"),
        ("def tilted(weights: Floats, chances: Floats", "def tilted(weights: Any, chances: Any"),
        ('    """Log of the normaliser N."""\n', ""),
    ):
        assert changed(before, copies("copied_total", old, new)) == set(), old


def test_an_operator_changes_the_stamp_and_those_of_callers_in_other_files(copies):
    before = copies()
    after = copies("copied_total", "return top + math.log(total)", "return top - math.log(total)")
    assert changed(before, after) == {"log_norm", "chain"}


def test_a_constant_changes_the_stamps_of_kernels_that_name_it(copies):
    before = copies()
    after = copies("copied_total", "_NEWTON = 100", "_NEWTON = 101")
    assert changed(before, after) == {"tilted", "chain"}


def test_a_default_and_an_option_change_the_stamp(copies):
    before = copies()
    after = copies("copied_total", "def log_norm(logs: Any)", "def log_norm(logs=None)")
    assert changed(before, after) == {"log_norm", "chain"}
    options = "@guarded_inlined\ndef log_norm"
    copies("copied_total", "import guarded\n", "import guarded, guarded_inlined\n")
    assert changed(after, copies("copied_total", "@guarded\ndef log_norm", options)) == {
        *("log_norm", "chain")
    }


def test_every_kernel_can_be_stamped():
    """And no two alike, so that one can't be taken for another."""
    found = {}
    for path in ROOM:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        if parts[-1] != "__init__":
            module = importlib.import_module(".".join(parts))
            for name, value in vars(module).items():
                if hasattr(value, "py_func") and value.py_func.__module__ == module.__name__:
                    found[f"{module.__name__}.{name}"] = stamp(value)
    assert len(found) > 150
    assert len(set(found.values())) == len(found)


def test_what_cannot_be_stamped_is_refused():
    with pytest.raises(TypeError, match="names markov, which is module of bayesdp"):
        stamp(calls_a_module)


@kernel
def calls_a_module(model):
    return markov.number_of_dyads(model)


def test_code_is_kept_by_words_with_the_names_and_order_of_fields():
    """Words can be read again wherever a class has gone to."""
    keys = [
        graph.grown._cache._index_key(
            (numba.typeof((namedtuple("Pair", fields)(1, 2.0), 3)),),
            graph.grown.targetctx.codegen(),
        )
        for fields in ("a b", "b a")
    ]
    assert keys[0] != keys[1]
    assert all(isinstance(word, str) for key in keys for word in key)


def test_code_for_functions_as_arguments_is_not_kept(monkeypatch):
    """They are told apart by addresses."""
    monkeypatch.setattr(
        type(applied._cache._cache_file), "_save_data", lambda *_: pytest.fail("it is kept")
    )
    assert applied(numba.njit(lambda x: x + 1), 1) == 2
    assert applied(numba.njit(lambda x: x + 5), 1) == 6


@kernel
def applied(function, x):
    return function(x)


def test_kernels_that_are_made_inside_a_function_are_not_kept():
    """They may hold what they were made with."""
    record = np.float64(0.123)
    for decorator in (kernel, leaf, inlined):

        @decorator
        def made(x):
            return x + record

        assert made(1.0) == pytest.approx(1.123)
        assert not hasattr(made._cache, "_cache_file")


def test_kernels_lie_in_their_room_alone():
    compiled = re.compile(r"^@(kernel|leaf|inlined|guarded|guarded_inlined)$", re.MULTILINE)
    for path in PACKAGE.rglob("*.py"):
        assert path in ROOM or not compiled.search(path.read_text()), path


def test_the_room_has_nothing_but_kernels():
    """Beside their constants and the named tuples that they take."""
    for path in ROOM:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                assert node.decorator_list, f"{path.name}: {node.name} isn't compiled"
            if isinstance(node, ast.ClassDef):
                assert [ast.unparse(base) for base in node.bases] == ["NamedTuple"], path.name
