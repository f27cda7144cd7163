"""Mechanisms, each with its guarantee, its sampler and its exact law.

Every mechanism of the registry is here, by a name that ends in Mechanism, and what computes
promises of some of them. Names are loaded when first used; where each lives is in `__init__.pyi`.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
