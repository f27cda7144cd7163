"""Every notebook runs, as the .ipynb of `make notebook`, from its first cell to its last.

Each has a kernel of its own, and says no more than its cells print."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import STAN_COMPILERS
from tests.test_site import part_of_the_site

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.py"))
# The same releases in every run, with their guarantees.
SAME_DRAWS = """
import types, numpy
from bayesdp.mechanisms import randomness
randomness.os = types.SimpleNamespace(urandom=numpy.random.default_rng(1).bytes)
"""
# What is released is random, and so is whether chains mix: a fit that didn't says so.
EXPECTED = "UserWarning: the chains of this fit"


def complaints(cells: list) -> list[str]:
    """What cells printed to standard error, and their errors, and warnings shown elsewhere."""
    found = []
    for cell in cells:
        for output in cell.get("outputs", []):
            text = "".join(output.get("text", ""))
            if output["output_type"] == "error":
                found.append(f"{output['ename']}: {output['evalue']}")
            elif output.get("name") == "stderr":
                found += [text] if EXPECTED not in text else []
            elif "Warning:" in text or "Traceback (most recent call last)" in text:
                found.append(text)
    return found


def test_there_are_notebooks():
    assert NOTEBOOKS


def test_make_notebook_writes_all_of_them_and_keeps_what_was_changed(tmp_path: Path):
    """The tests have no JupyterLab, which then opens the folder."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "notebook: .venv/.notebook\n\t$(BIN)/python notebooks/_site/notebooks.py " in makefile
    write_all = part_of_the_site("notebooks").write_all
    written = write_all(tmp_path / "tutorials")
    assert [path.stem for path in written] == [path.stem for path in NOTEBOOKS]
    for path in written:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        assert {cell["cell_type"] for cell in cells} == {"code", "markdown"}
        assert not any(cell.get("outputs") for cell in cells)
    written[0].write_text("changed", encoding="utf-8")
    assert write_all(tmp_path / "tutorials") == written
    assert written[0].read_text(encoding="utf-8") == "changed"


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ({"output_type": "stream", "name": "stderr", "text": "FutureWarning: soon"}, 1),
        ({"output_type": "stream", "name": "stderr", "text": "Initializing"}, 1),
        ({"output_type": "stream", "name": "stdout", "text": "UserWarning: look"}, 1),
        ({"output_type": "error", "ename": "KeyError", "evalue": "x"}, 1),
        ({"output_type": "stream", "name": "stderr", "text": f"a.py:1: {EXPECTED} ..."}, 0),
        ({"output_type": "stream", "name": "stdout", "text": "epsilon = 2"}, 0),
        ({"output_type": "display_data", "data": {"image/png": "x"}}, 0),
    ],
)
def test_complaints_are_found(output, said):
    assert len(complaints([{"cell_type": "markdown"}, {"outputs": [output]}])) == said


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("default")  # of the kernel's machinery, not of ours
def test_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import nbformat
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell
    from traitlets.config import Config

    for name in STAN_COMPILERS:  # a Stan program is compiled here as it is for its readers
        monkeypatch.delenv(name, raising=False)
    written = part_of_the_site("notebooks").write_notebook(path, tmp_path / "tutorials")
    assert written.name == f"{path.stem}.ipynb"
    notebook = nbformat.read(written, as_version=4)
    notebook.cells.insert(0, new_code_cell(SAME_DRAWS))
    waits = dict.fromkeys(("timeout", "startup_timeout", "iopub_timeout"), 600)
    # Sockets in a folder: a port is free when it is looked up, and may not be when it is taken.
    sockets = {} if sys.platform == "win32" else {"transport": "ipc", "ip": str(tmp_path / "k")}
    config = Config({"KernelManager": sockets})
    NotebookClient(notebook, config=config, kernel_name="python3", **waits).execute()
    ran = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in ran)
    draws = [c for c in ran if re.search(r"plt\.(subplots|figure)\(|\.plot\(\)", c.source)]
    assert draws
    for cell in draws:  # a figure that is made is shown
        assert any(output.get("data", {}).get("image/png") for output in cell.outputs), cell.source
    assert complaints(ran) == []
