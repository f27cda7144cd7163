"""Models: the posterior of what an analyst asks for, given a release and how it was randomised.

Each has a name that ends in Model; beside them is what they return. Names are loaded when first
used; where each lives is in `models.pyi`.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
