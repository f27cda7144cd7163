"""Logistic regressions of tables in which noise could have made every record, by enumeration.

False alarm 1e-6 a test.
"""

import itertools

import numpy as np
import pytest
from scipy import special, stats

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.mechanisms.counts.cells import Axis

FALSE_ALARM = 1e-6
SD = 2.5
AXES = (Axis("x", categories=("p", "q")), Axis("y", categories=(0, 1)))
MOST = 22  # records of a cell


def oracle(output):
    """Means and mean squares of both coefficients, from all latent tables with up to MOST a cell.

    Given a common log rate r, the records of each value of x are Poisson with log rate
    r + Normal(0, 1), and those of y = 1 among them binomial.
    """
    counts, totals = np.arange(MOST), np.arange(2 * MOST - 1)
    rate = np.linspace(-70, 8, 2000)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    log_rates = rate[:, None] + nodes
    chance = stats.poisson.pmf(totals, np.exp(log_rates)[..., None])
    chance = np.einsum("rek,e->rk", chance, weights / weights.sum())
    pairs = np.einsum("r,rk,rl->kl", stats.norm.pdf(rate, 0, 10), chance, chance)
    beta = np.linspace(-6 * SD, 6 * SD, 121)
    one, other = np.meshgrid(beta, beta, indexing="ij")
    told = []
    for odds, seen in zip((one, one + other), np.reshape(output, (2, 2)), strict=True):
        noise = [-np.abs(z - counts) + np.abs(z - counts).min() for z in seen]
        of_total = np.zeros((totals.size, *odds.shape))
        for zero, some in itertools.product(counts, counts):
            law = noise[0][zero] + noise[1][some] + np.log(special.comb(zero + some, some))
            law = law + some * special.log_expit(odds) + zero * special.log_expit(-odds)
            of_total[zero + some] += np.exp(law)
        told.append(of_total)
    law = np.einsum("kij,kl,lij->ij", told[0], pairs, told[1], optimize=True)
    law *= np.exp(-(one**2 + other**2) / (2 * SD**2))
    law /= law.sum()
    return [float((law * f).sum()) for f in (one, one**2, other, other**2)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:noise hardly explains:UserWarning")  # 50 below what may be
@pytest.mark.parametrize("by", ["hmc", "gibbs"])
@pytest.mark.parametrize("output", [(0, 0, 0, 0), (-50, -50, -50, -50), (5, 1, 0, 3)])
def test_coefficients(output, by):
    """Without a warning of the chains, which would be an error here."""
    wanted, az, seeds = oracle(output), import_arviz(), range(1, 4)
    limit = stats.norm.isf(FALSE_ALARM / 2 / 4 / len(seeds))
    release = bdp.Release.of(
        bdp.mechanisms.NoisyMarginalsMechanism(1.0, AXES, (("x", "y"),)), [output]
    )
    for seed in seeds:
        idata = bdp.LogisticRegressionModel("y ~ x").fit(release, seed=seed, engine=by)
        beta = idata.posterior["beta"].to_numpy()
        said = "noise hardly explains" if min(output) < 0 else "no problem found"
        assert idata.attrs["verdict"].startswith(said)
        assert "chains" not in idata.attrs["verdict"]
        each = [beta[..., 0], beta[..., 0] ** 2, beta[..., 1], beta[..., 1] ** 2]
        for x, want in zip(each, wanted, strict=True):
            size = float(az.ess({"x": x}, method="mean")["x"])
            assert abs(x.mean() - want) < limit * x.std() / size**0.5


@pytest.mark.slow
def test_nothing_is_learnt_of_odds_where_no_count_is_above_zero():
    """All tables of a total are then as likely, whichever records answered yes."""
    assert np.allclose(oracle((0, 0, 0, 0)), [0, SD**2, 0, SD**2], atol=1e-5)
