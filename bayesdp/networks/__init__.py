"""Networks: graphs, exponential random graph models, and their samplers; nothing of privacy.

Names are loaded when first used: a release of a graph needs no sampler.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
