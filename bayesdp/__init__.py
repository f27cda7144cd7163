"""bayesdp: Bayesian inference from, and for, differentially private data.

Names are loaded when first used, so that importing the package costs next to nothing. What is
public, and where it lives, is listed in `__init__.pyi`, which type checkers read too.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
