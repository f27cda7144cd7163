"""bayesdp: Bayesian inference from, and for, differentially private data.

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from bayesdp._version import __version__

if TYPE_CHECKING:
    from bayesdp import networks
    from bayesdp.engines.mixture import BetaMixture
    from bayesdp.errors import (
        BayesDPError,
        BudgetExceeded,
        EngineFailed,
        InvalidInput,
        InvalidRelease,
        LedgerCorrupted,
        LedgerUnavailable,
        MissingDependency,
        ReleaseExists,
    )
    from bayesdp.evaluation.combining import Combined, combine
    from bayesdp.inference.binomial import BinomialModel
    from bayesdp.mechanisms.beta_binomial import BetaBinomialMechanism
    from bayesdp.mechanisms.conjugate import ConjugateRelease
    from bayesdp.mechanisms.count import Count
    from bayesdp.mechanisms.randomness import reproducible
    from bayesdp.privacy.audit import Audit, audit
    from bayesdp.privacy.guarantee import Guarantee, Strength
    from bayesdp.privacy.ledger import Ledger
    from bayesdp.privacy.neighbours import Neighbours
    from bayesdp.release import Release
    from bayesdp.report.html import write_report
    from bayesdp.synthesis.beta_binomial import BetaBinomialSynthesizer

_HOME = {
    "Audit": "privacy.audit",
    "BayesDPError": "errors",
    "BetaBinomialMechanism": "mechanisms.beta_binomial",
    "BetaBinomialSynthesizer": "synthesis.beta_binomial",
    "BetaMixture": "engines.mixture",
    "BinomialModel": "inference.binomial",
    "BudgetExceeded": "errors",
    "Combined": "evaluation.combining",
    "ConjugateRelease": "mechanisms.conjugate",
    "Count": "mechanisms.count",
    "EngineFailed": "errors",
    "Guarantee": "privacy.guarantee",
    "InvalidInput": "errors",
    "InvalidRelease": "errors",
    "Ledger": "privacy.ledger",
    "LedgerCorrupted": "errors",
    "LedgerUnavailable": "errors",
    "MissingDependency": "errors",
    "Neighbours": "privacy.neighbours",
    "Release": "release",
    "ReleaseExists": "errors",
    "Strength": "privacy.guarantee",
    "audit": "privacy.audit",
    "combine": "evaluation.combining",
    "networks": "networks",
    "reproducible": "mechanisms.randomness",
    "write_report": "report.html",
}

__all__ = [
    "Audit",
    "BayesDPError",
    "BetaBinomialMechanism",
    "BetaBinomialSynthesizer",
    "BetaMixture",
    "BinomialModel",
    "BudgetExceeded",
    "Combined",
    "ConjugateRelease",
    "Count",
    "EngineFailed",
    "Guarantee",
    "InvalidInput",
    "InvalidRelease",
    "Ledger",
    "LedgerCorrupted",
    "LedgerUnavailable",
    "MissingDependency",
    "Neighbours",
    "Release",
    "ReleaseExists",
    "Strength",
    "__version__",
    "audit",
    "combine",
    "networks",
    "reproducible",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bayesdp' has no attribute {name!r}")
    home = import_module(f"bayesdp.{_HOME[name]}")
    value = home if name == _HOME[name] else getattr(home, name)  # a room is its own home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
