"""Bases and views that another package's mechanisms, synthesizers and models are written with.

An entry point makes them known by name, of the group "bayesdp.mechanisms", "bayesdp.synthesizers"
or "bayesdp.models" (`bayesdp.registry`). Names are loaded when first used; where each lives is in
`extending.pyi`.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
