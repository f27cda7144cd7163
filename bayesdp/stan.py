"""Stan: bayesdp's functions, a release's law as data, and NUTS, for your own programs.

Names are loaded when first used; `stan.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
