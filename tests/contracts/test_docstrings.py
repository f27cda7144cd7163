"""A docstring's first line is a sentence that stands alone: an index shows nothing else."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bayesdp as bdp

PACKAGE = Path(bdp.__file__).parent
# Openings of a line that leaves its subject to the name beside it, or to another docstring.
WITHOUT_A_SUBJECT = re.compile(r"(What|How|Of|The same|Those|That|As|Such|Whether)\b")


def fault_of(docstring: str) -> str | None:
    """What is wrong with a docstring's first line; None if nothing is."""
    first, *rest = inspect.cleandoc(docstring).strip().split("\n")
    if not first:
        return "is empty"
    if found := WITHOUT_A_SUBJECT.match(first):
        return f"begins with {found[0]!r}: name the subject, or say what is done"
    if rest and rest[0]:
        return "goes on in the next line: end the sentence in the first"
    if not first.endswith((".", "?")):
        return "ends with neither '.' nor '?'"
    return None


def docstrings_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every docstring of a module with its line, those of private functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False)
            if docstring is not None:
                yield node.body[0].lineno, docstring


@pytest.mark.slow
def test_first_lines_stand_alone():
    checked, offenders = 0, []
    for path in sorted(PACKAGE.rglob("*.py")):
        for line, docstring in docstrings_of(path):
            checked += 1
            if fault := fault_of(docstring):
                offenders.append(f"{path.relative_to(PACKAGE)}:{line} {fault}")
    assert checked > 3000
    assert not offenders, "\n".join(offenders)


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Return the log-likelihood of the records.", None),
        ("Ask a question?", None),
        ("Return the sum.\n\n    What follows is free.\n    ", None),
        ("Whatever follows may begin with these letters.", None),
        ("\n    \n    ", "is empty"),
        ("What a model reads.", "begins with 'What'"),
        ("The same for pairs.", "begins with 'The same'"),
        ("Whether it holds.", "begins with 'Whether'"),
        ("Return a sum of numbers\n    over records.", "goes on"),
        ("Return the sum", "ends with neither"),
    ],
)
def test_a_line_that_does_not_would_be_seen(docstring: str, fault: str | None):
    found = fault_of(docstring)
    assert found is None if fault is None else found is not None and found.startswith(fault)
