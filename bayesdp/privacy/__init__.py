"""Privacy promises: neighbouring relations, guarantees, their composition, ledger and audit.

Names are loaded when first used; where each lives is in `__init__.pyi`. `bdp.compose` and
`bdp.audit` belong to them.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
