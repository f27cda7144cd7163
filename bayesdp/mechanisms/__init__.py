"""How a release is randomised: one file per mechanism, with its guarantee, sampler and law."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["families"])
