"""The border: what crosses from the curator to the analyst, and nothing else.

Names are loaded when first used; `__init__.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
