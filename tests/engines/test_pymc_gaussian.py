"""The pieces of the Gaussian model's PyMC program, against exact numbers."""

import mpmath
import numpy as np
import pytest

from bayesdp.engines.pymc.gaussian import _log_between


@pytest.mark.slow
@pytest.mark.parametrize(
    ("a", "b"),
    [(-3.0, 5.0), (9.0, 10.0), (39.0, 40.0), (-40.0, -39.0), (-1e-3, 1e-3), (-12.0, 9.0)],
)
def test_the_mass_between_far_from_the_mean(a, b):
    """Bounds many sds away, as the sampler may try: finite, with a gradient."""
    import pytensor
    import pytensor.tensor as pt

    low, high = pt.dscalars("low", "high")
    mass = _log_between(low, high)
    found = pytensor.function(
        [low, high], [mass, *pytensor.grad(mass, [low, high])], mode="FAST_COMPILE"
    )
    value, by_low, by_high = (float(each) for each in found(a, b))
    with mpmath.workdps(60):
        ends = (-b, -a) if a > 0 else (a, b)
        whole = mpmath.ncdf(ends[1]) - mpmath.ncdf(ends[0])
        density = [mpmath.npdf(end) / whole for end in (a, b)]
    assert value == pytest.approx(float(mpmath.log(whole)), abs=1e-12, rel=1e-12)
    assert by_low == pytest.approx(-float(density[0]), rel=1e-9)
    assert by_high == pytest.approx(float(density[1]), rel=1e-9)
    assert np.isfinite(value)
