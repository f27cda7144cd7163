"""Models: posteriors of an analyst's parameters, given a release and how it was randomised.

Their names end in Model; the other names are those of their results. Names are loaded when first
used; `models.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
