"""Faults of the calibrations in `dp_ergm.published`, for the reader of a promise."""

_EVERY_BIN = (
    "False in general: every bin is perturbed with all of epsilon, as if bins depended on "
    "different ties, but each depends on all of them."
)
_STANDARDISED = (
    "False in general: the coefficients are standardised by the confidential posterior's mean and "
    "standard deviations and moved back by them, which nothing protects."
)
_EMPTY = "False in general: log(N_i / N) of an empty bin is minus infinity, with any noise."
_CHAIN = (
    "The posterior's draws are a Markov chain's, and what it warns of or refuses says something of "
    "the ties."
)


def faults(method: str) -> tuple[str, ...]:
    """Reasons why the claim of a published calibration doesn't hold."""
    own: dict[str, tuple[str, ...]] = {
        "sdd": (),
        "sdd_mc": (_EVERY_BIN, _EMPTY),
        "sphc": (_EVERY_BIN,),
    }
    return (_STANDARDISED, *own[method], _CHAIN)
