"""Cards: what a notebook shows of an object, in the reader's light or dark theme.

A card is HTML without scripts and without anything from elsewhere. All text in it is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from bayesdp.display.colours import COLOURS

_ROLES = ("ink", "soft", "rule", "posterior", "naive", "paper")
# A notebook's own theme, as JupyterLab, VS Code, Colab and the site's pages name it, comes before
# the system's.
_DARK = (
    'body[data-jp-theme-light="false"]',
    'body[data-vscode-theme-kind="vscode-dark"]',
    'html[theme="dark"]',
    'html[data-theme="dark"]',
    '[data-md-color-scheme="slate"]',
)
_LIGHT = (
    'body[data-jp-theme-light="true"]',
    'body[data-vscode-theme-kind="vscode-light"]',
    'html[data-theme="light"]',
    '[data-md-color-scheme="default"]',
)


def _colours(theme: int) -> str:
    return "".join(f"--{role}:{COLOURS[role][theme]};" for role in _ROLES)


def _under(themes: Iterable[str]) -> str:
    return ",".join(f"{theme} .bayesdp-card" for theme in themes)


STYLE = (
    f".bayesdp-card{{{_colours(0)}}}"
    f"@media (prefers-color-scheme:dark){{.bayesdp-card{{{_colours(1)}}}}}"
    f"{_under(_LIGHT)}{{{_colours(0)}}}{_under(_DARK)}{{{_colours(1)}}}"
    ".bayesdp-card{box-sizing:border-box;max-width:44rem;margin:.3rem 0;padding:.7rem .9rem;"
    "background:var(--paper);color:var(--ink);border:1px solid var(--rule);"
    "border-left:4px solid var(--posterior);font:14px/1.45 system-ui,-apple-system,'Segoe UI',"
    "Roboto,'Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums;"
    "overflow-wrap:anywhere}"
    ".bayesdp-card .title{font-weight:600;margin:0 0 .5rem}"
    ".bayesdp-card dl{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));"
    "gap:.45rem 1.2rem;margin:0}"
    ".bayesdp-card dl>div{margin:0}.bayesdp-card .wide{grid-column:1/-1}"
    # JupyterLab floats names to the left of their values, and stripes tables.
    ".bayesdp-card dl>div>:is(dt,dd){display:block;float:none;width:auto;margin:0;padding:0}"
    ".bayesdp-card dl>div>dt{color:var(--soft);font-size:12px;font-weight:400}"
    ".bayesdp-card .rows table tbody tr{background:none}"
    ".bayesdp-card p{margin:.55rem 0 0}"
    ".bayesdp-card .aside,.bayesdp-card summary{color:var(--soft);font-size:12px}"
    ".bayesdp-card .warn{border-left:3px solid var(--naive);padding-left:.6rem}"
    ".bayesdp-card .rows{overflow-x:auto;margin:.55rem 0 0}"
    ".bayesdp-card table{border-collapse:collapse;font-size:13px;margin:0;color:inherit}"
    ".bayesdp-card :is(th,td){padding:.15rem .9rem .15rem 0;text-align:left;border:0;"
    "background:none;white-space:nowrap}"
    ".bayesdp-card thead th{border-bottom:1px solid var(--rule);font-weight:600}"
    ".bayesdp-card ul{margin:.2rem 0 0;padding-left:1.1rem;font-size:13px}"
    ".bayesdp-card details{margin:.55rem 0 0}"
)
"""The cards' style sheet, which each card brings along."""
MOST_ROWS = 8
"""Rows of a table that a card shows."""
_LONG = 30  # characters of a value that fit beside another


def card(
    title: str,
    facts: Mapping[str, Any],
    *,
    rows: Sequence[Mapping[str, Any]] = (),
    among: int | None = None,
    words: str = "",
    warning: str = "",
    folded: tuple[str, Sequence[str]] = ("", ()),
) -> str:
    """Write a card as HTML.

    Parameters
    ----------
    title : str
        Kind of the object, and its name.
    facts : mapping of str to value
        Names and values; those that are None are left out.
    rows : sequence of mappings
        Rows of a table, with the columns of the first; all after `MOST_ROWS` are left out.
    among : int, optional
        Number of rows there are, where `rows` has only the first; by default all.
    words : str
        A sentence below.
    warning : str
        What a reader must not miss.
    folded : tuple of str and sequence of str
        A heading, and points that it opens to.
    """
    parts = [f'<div class="title">{_text(title)}</div>']
    listed = [_fact(name, value) for name, value in facts.items() if value is not None]
    parts.append(f"<dl>{''.join(listed)}</dl>")
    if warning:
        parts.append(f'<p class="warn">{_text(warning)}</p>')
    if rows:
        parts.append(_table(rows[:MOST_ROWS]))
        if (left := (among or len(rows)) - len(rows[:MOST_ROWS])) > 0:
            parts.append(f'<p class="aside">and {left:,} more</p>')
    if words:
        parts.append(f"<p>{_text(words)}</p>")
    if folded[1]:
        points = "".join(f"<li>{_text(point)}</li>" for point in folded[1])
        parts.append(f"<details><summary>{_text(folded[0])}</summary><ul>{points}</ul></details>")
    return f'<div class="bayesdp-card"><style>{STYLE}</style>{"".join(parts)}</div>'


def _fact(name: str, value: Any) -> str:
    """Write a name and a value, which has a line of its own where it is long."""
    wide = ' class="wide"' if len(str(value)) > _LONG else ""
    return f"<div{wide}><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>"


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(row.get(name, ''))}</td>" for name in rows[0]) + "</tr>"
        for row in rows
    )
    head = f"<thead><tr>{head}</tr></thead>"
    return f'<div class="rows" tabindex="0"><table>{head}<tbody>{body}</tbody></table></div>'


def _text(value: Any) -> str:
    """Escape a text; numbers are shown to four digits."""
    if isinstance(value, float):
        value = f"{value:.4g}"
    return escape(str(value))
