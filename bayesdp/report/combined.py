"""The report on combined copies as one HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.report.html import MECHANISMS, PAGE, render_page
from bayesdp.report.promise import promise_of
from bayesdp.storage import whole_folder

if TYPE_CHECKING:
    import pandas as pd

    from bayesdp.release import Release


def write_combined(
    combined: pd.DataFrame,
    release: Release,
    folder: Path,
    title: str,
    level: float,
    caveats: Sequence[str],
) -> Path:
    """Write a report on combined copies as a self-contained page, `folder/index.html`.

    Parameters
    ----------
    combined : DataFrame
        Estimates and intervals, as `CombineSection.combined` returns them.
    release : Release
        The release that has the copies.
    folder : path
        Folder to write. It must not exist.
    title : str
        Heading of the page.
    level : float
        Level of the intervals.
    caveats : sequence of str
        What the intervals don't say.

    Raises
    ------
    ReleaseExists
        If the folder exists.
    """
    summary: dict[str, Any] = {
        "promise": promise_of(release),
        "level": level,
        "rows": combined.reset_index().to_dict("records"),
        "copies": release.copies,
        "variable": release.variable,
        "origin": release.origin,
        "mechanism": MECHANISMS.get(release.mechanism.name, release.mechanism.name),
        "caveats": caveats,
        "fingerprint": release.fingerprint,
    }
    page = render_page("combined.html", s=summary, title=title)
    with whole_folder(folder, PAGE) as work:
        (work / PAGE).write_text(page, encoding="utf-8")
    return folder / PAGE
