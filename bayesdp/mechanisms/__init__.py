"""Mechanisms: one file for each, with its guarantee, its sampler and its exact law."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["families"])
