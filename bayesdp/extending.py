"""Bases and views for mechanisms, synthesizers and models of other packages.

An entry point of the group "bayesdp.mechanisms", "bayesdp.synthesizers" or "bayesdp.models" makes
them known by name (`bayesdp.registry`). Names are loaded when first used; `extending.pyi` says
where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
