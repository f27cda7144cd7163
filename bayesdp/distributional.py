"""Distributional privacy: when may an exact number be published, and against whom.

A promise here holds against an adversary who is uncertain of the data: the records come from a law
of a declared class, and all but so many of them are unknown. It is never added to differential
privacy. The names are loaded when first used; where each lives is in `distributional.pyi`.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
