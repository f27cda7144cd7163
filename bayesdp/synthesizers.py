"""Synthesizers: from confidential data to a release, whose promise is paid before it is drawn.

Their names end in Synthesizer; the other names are used in declaring them or are their results.
Names are loaded when first used; `synthesizers.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
