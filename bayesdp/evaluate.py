"""Evaluation: combining rules, utility and risk of copies, plans, studies and reports.

Names are loaded when first used; `evaluate.pyi` says where each lives.
"""

from bayesdp import lazy as _lazy

__getattr__, __dir__, __all__ = _lazy.attach(__name__, __file__)
