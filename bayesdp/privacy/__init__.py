"""Privacy promises: neighbouring relations, guarantees, their composition, ledger and audit.

Names are loaded when first used; `__init__.pyi` says where each lives. `bdp.compose` and
`bdp.audit` belong here too.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
