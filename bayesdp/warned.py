"""Warnings that say where to read on: each has a section of the page "What goes wrong"."""

from __future__ import annotations

import warnings

PAGE = "what_goes_wrong.md"
"""Beside the tutorials, and on the site."""


def warn_about(
    message: str, section: str, *, stacklevel: int, category: type[Warning] = UserWarning
) -> None:
    """Warn, and name the section of the page that says what the warning means and what to do.

    Parameters
    ----------
    message : str
        Without a full stop.
    section : str
        An anchor of the page, as "chains".
    stacklevel : int
        As of `warnings.warn`, counted from the caller.
    category : type
    """
    warnings.warn(f"{message} (see {PAGE}#{section})", category, stacklevel=stacklevel + 1)
