"""How the share of Dole's voters rises with party identification: a logistic trend of seven groups.

A curator released a synthetic count of each group, and nothing else.
"""

import numpy as np
import pymc as pm

import bayesdp as bdp


def model(release: bdp.Release) -> pm.Model:
    """Build a regression of the groups' log odds on their place on the questionnaire's scale."""
    sizes = [part.mechanism.n for part in release.parts]
    place = np.linspace(-1.0, 1.0, len(sizes))
    with pm.Model(coords={"party": list(release.groups)}) as made:
        level = pm.Normal("level", 0.0, 1.5)
        trend = pm.Normal("trend", 0.0, 3.0)
        apart = pm.HalfNormal("apart", 0.5)  # how far groups are from the trend
        away = pm.Normal("away", dims="party")
        log_odds = level + trend * place + apart * away
        p = pm.Deterministic("p", pm.math.invlogit(log_odds), dims="party")
        bdp.observe(release, pm.Binomial.dist(n=sizes, p=p))
    return made
