"""Families of models that confidential records are synthesized from.

Each is a frozen dataclass with its priors and the public bounds of its records, and knows its
sufficient statistic, what one record can move of it, and how a copy follows from it.

Names are loaded when first used: a release needs its own family alone.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
