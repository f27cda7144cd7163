"""Distributional privacy: when an exact number may be published, and against whom.

A promise here holds against an adversary who is uncertain of the data: the records come from a law
of a declared class, and only a given number of them are known. It never composes with differential
privacy. Names are loaded when first used; `distributional.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
