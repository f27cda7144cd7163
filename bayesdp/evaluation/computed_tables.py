"""Reproductions of papers that are tables of exact numbers: nothing is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from bayesdp.evaluation.reproduction import MARKER, Reproduction, Table
from bayesdp.storage import check_target


def compute_tables(
    out: Path,
    *,
    title: str,
    source: str,
    parts: Sequence[Callable[[], Table | Sequence[Table]]],
    findings: Callable[[dict[str, Table]], tuple[str, ...]],
    force: bool = False,
    progress: Callable[[str, float], None] | None = None,
) -> Reproduction:
    """Compute a paper's tables, and write them to a folder: index.html and one CSV a table.

    Parameters
    ----------
    out : Path
        Folder to write, whole or not at all.
    title, source : str
        Heading, and the paper.
    parts : sequence of callable
        Each makes a table or several.
    findings : callable
        What came out, of the tables by their names.
    force : bool
        Whether to replace such a folder.
    progress : callable, optional
        Called with what is being done and the fraction done before it.

    Raises
    ------
    ReleaseExists
        If `out` exists, unless `force` and it is a folder of this kind.
    """
    out = Path(out)
    check_target(out, MARKER, force=force)
    tell = progress or (lambda what, done: None)
    tables: list[Table] = []
    for k, part in enumerate(parts):
        tell(part.__name__.replace("_", " "), k / len(parts))
        made = part()
        tables += [made] if isinstance(made, Table) else made
    found = findings({table.name: table for table in tables})
    reproduction = Reproduction(title, source, found, tuple(tables), figures=(), folder=out)
    reproduction.write(out, force=force)
    return reproduction
