"""Families of models that confidential records are synthesized from.

Each is a frozen dataclass with its priors and the public bounds of its records. It defines the
sufficient statistic, how far one record can move it, and how copies are drawn from it.

Names are loaded when first used: a release needs only its own family.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
