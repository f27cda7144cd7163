"""Colours of figures and pages, where tutorials import them from."""

from bayesdp.display.colours import COLOURS as COLOURS
