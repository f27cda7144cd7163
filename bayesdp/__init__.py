"""bayesdp: Bayesian inference from, and for, differentially private data.

The names to start with are here. All mechanisms, synthesizers and models, including those, are in
`bdp.mechanisms`, `bdp.synthesizers` and `bdp.models`; the rest is in `bdp.families`,
`bdp.networks`, `bdp.stan`, `bdp.evaluate`, `bdp.privacy`, `bdp.distributional` and `bdp.errors`.

Names are loaded when first used, so that importing the package costs next to nothing. The public
names, and the modules they live in, are listed in `__init__.pyi`, which type checkers read too.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
