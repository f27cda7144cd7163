r"""The law of the censored beta posterior, as programs of PyMC and Stan.

It is the grid engine's without a grid: phi ~ Beta(p, q), lambda ~ Pareto(smallest, shape) cut off
at `largest`, and records that are Beta(lambda phi, lambda (1 - phi)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayesdp.engines.pymc import sampling as pymc
from bayesdp.engines.stan import sampling as stan
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.censored import synthetic_column
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.private_folder import sweep
from bayesdp.release import Release
from bayesdp.synthesis.censored_chains import Chains
from bayesdp.synthesis.publish import pay_then_draw

if TYPE_CHECKING:
    import pymc as pm

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class BetaLaw:
    """Law of records in (0, 1), whose parameters are phi and lambda.

    Parameters
    ----------
    prior_phi, prior_lambda, largest
        As for `CensoredBetaSynthesizer`.
    """

    prior_phi: tuple[float, float]
    prior_lambda: tuple[float, float]
    largest: float

    program: ClassVar[str] = "censored_beta"
    discrete: ClassVar[bool] = False
    parameters: ClassVar[tuple[str, ...]] = ("phi", "lambda")

    def count(self, records: Floats) -> int:
        """The number of records."""
        return records.size

    def observed(self, records: Floats) -> Floats:
        """Return the records, as observed."""
        return records

    def model(self, records: Floats, variable: str) -> pm.Model:
        """Build the model in which the records are observed under a name."""
        pm = pymc.import_pymc()
        smallest, shape = self.prior_lambda
        with pm.Model() as model:
            phi = pm.Beta("phi", *self.prior_phi)
            pareto = pm.Pareto.dist(shape, smallest)
            lam = pm.Truncated("lambda", pareto, lower=smallest, upper=self.largest)
            pm.Beta(variable, lam * phi, lam * (1 - phi), observed=records)
        return model

    def stan_data(self, records: Floats) -> dict[str, Any]:
        """Build the part of the Stan program's data that depends on the law."""
        return {
            "y": records,
            "phi_a": self.prior_phi[0],
            "phi_b": self.prior_phi[1],
            "smallest": self.prior_lambda[0],
            "shape": self.prior_lambda[1],
            "largest": self.largest,
        }

    def from_stan(self, drawn: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return Stan's draws, whose shapes are those of the PyMC model."""
        return dict(drawn)

    def log_density(self, drawn: Mapping[str, Floats], records: Floats) -> Floats:
        """Each record's log density at draws: (chains, draws, n)."""
        phi, lam = (drawn[name][..., None] for name in self.parameters)
        a, b = lam * phi, lam * (1 - phi)
        inside = (a - 1) * np.log(records) + (b - 1) * np.log1p(-records)
        return np.asarray(inside - special.betaln(a, b))


def release_by_chains(
    chains: Chains,
    records: Floats,
    weights: Floats | None,
    size: int,
    variable: str,
    bounds: tuple[float, float],
    ledger: DatasetLedger | None,
) -> Release:
    """Draw each copy's parameters, the last state of its own chain, and records given them."""
    sweep()
    mechanism = chains.mechanism(records.size, size, ((variable, "number"),))
    if chains.engine == "stan":  # what can fail does so before anything is spent
        stan.compile_program(chains.law.program)
    points = chains.points(records, weights)

    @pymc.without_notices()
    def draw() -> dict[None, tuple[Mechanism, list[Any]]]:
        each = points()
        phi, lam = (np.array([point[name] for point in each]) for name in BetaLaw.parameters)
        drawn = synthetic_column.draw(phi, lam, size, bounds)[:, :, None].tolist()
        return {None: (mechanism, drawn)}

    return pay_then_draw(
        {None: mechanism}, draw, copies=chains.copies, variable="record", ledger=ledger
    )
