"""Synthesizers: from confidential data to a release, their promise paid for before it is drawn.

Each has a name that ends in Synthesizer; beside them is what they are declared with, and what they
return. Names are loaded when first used; where each lives is in `synthesizers.pyi`.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
