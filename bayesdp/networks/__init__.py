"""Networks: graphs, exponential random graph models, and their samplers, without any privacy.

Names are loaded when first used: a release of a graph needs no sampler.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
