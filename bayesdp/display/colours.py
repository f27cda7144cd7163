"""Colours of figures and pages, by their roles."""

from __future__ import annotations

from collections.abc import Mapping

COLOURS: Mapping[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14171a"),
    "ink": ("#1b1f24", "#e6e8ea"),
    "soft": ("#565d66", "#a4abb3"),
    "rule": ("#d9dde2", "#3a4047"),
    "posterior": ("#0072b2", "#56b4e9"),
    "naive": ("#c65100", "#e69f00"),
    "reiter": ("#a5488a", "#dd93be"),
}
"""Each colour's role, in light and in dark; distinct to the colour-blind in both.

Figures are drawn in the light ones. On the page they take the reader's, by way of CSS.
"""
