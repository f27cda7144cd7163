"""Log evidence of models of groups from one population."""

from __future__ import annotations

import math
from typing import Any

from scipy import special

from bayesdp.engines.bridge import log_integral
from bayesdp.inference.evidence_ways import ALL, BRIDGE, Answer, moved, proposals
from bayesdp.inference.several import Releases


def pooled(
    model: Any,
    release: Releases,
    *,
    means: bool,
    draws: int,
    chains: int,
    warmup: int,
    seed: int | None,
) -> Answer:
    """Log evidence by a bridge over the two numbers of the groups' population."""
    from bayesdp.engines.partial_pooling import log_targets, sample

    known = model.known(release)
    given = model.given(known)
    options: Any = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
    chain, _ = sample(means, given, **options)
    integral = log_integral(
        lambda points: log_targets(points, means, given),
        chain[..., :2],
        generator=proposals(seed),
    )
    if means:
        constant = -math.log(math.pi * model.prior[1] * model.spread)
    else:
        constant = math.log(model.concentration) - float(special.betaln(*model.prior))
    how = BRIDGE.format("what was counted or averaged sums out, the rest is two numbers")
    return moved(integral, constant), how, ALL
