"""Synthetic networks from a privately fitted exponential random graph model."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from bayesdp.checks import check_at_least_one, is_number, keep
from bayesdp.core.fields import declared, of_table
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.graphs.dp_ergm.fields import check_correlation, check_method, check_relation
from bayesdp.mechanisms.graphs.dp_ergm.mechanism import DPERGMMechanism
from bayesdp.mechanisms.graphs.network_columns import confidential, public_part
from bayesdp.mechanisms.noise.fields import check_positive
from bayesdp.networks.network import Network
from bayesdp.networks.prior import NormalPrior
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.synthesis.graphs import GraphSynthesizer
from bayesdp.synthesis.parameters import by_value


@dataclass(frozen=True)
class DPERGMSynthesizer(GraphSynthesizer):
    """Synthesize networks from a sanitised posterior of a graph model's coefficients.

    Each copy's coefficients are drawn privately given the ties, and a network on the same nodes
    is drawn from them. `bayesdp.mechanisms.graphs.dp_ergm.grid` proves what the corrected
    calibration promises; the published one (Liu, Eugenio, Jin and Bowen 2020) is for comparison
    only, as its claim is false.

    Parameters
    ----------
    formula : str
        For example "edges + nodematch('grade') + gwesp(0.5)". Its attributes must be named in
        `attributes`.
    epsilon : float
        Total privacy cost of the copies.
    method : {"sdd", "sphc", "sdd_mc"}
        The exponential mechanism on the posterior of a public grid; a perturbed histogram of
        draws, with as little noise as one cell of it needs
        (`bayesdp.mechanisms.selection.histogram_cost`); a perturbed log histogram, as published
        only. Where the statistics' sensitivities are small, "sdd" is far more accurate under EDGE;
        "sphc" costs no more under NODE, and needs few cells.
    calibration : {"corrected", "published"}
        Whether the promise is proved, or as published, which is false: a ledger takes that only
        with `accept_unproved=True`.
    prior : NormalPrior, optional
        Prior of the coefficients. Default: flat on a corrected grid.
    centre, scale : number or sequence, optional
        Centre and scale of the corrected grid, one number for each statistic, chosen without the
        ties. Default: the prior's mean and sd. The grid should hold the plausible coefficients and
        no more: with "sdd", the cost is proportional to its width.
    attributes : sequence of str
        Node attributes that are public, and are released. All others are dropped.
    bins : int
        Cells along each coefficient's axis. Time is proportional to cells times dyads where
        dyads depend on each other.
    reach : float
        The grid reaches from centre - reach scale to centre + reach scale.
    draws : int
        Number of posterior draws in a histogram; more of them cost no privacy.
    correlation : float
        The published calibration's public bound on the posterior's correlations.
    burn_in : int, optional
        Number of proposals before a simulated network is taken.
    neighbours : {"edge", "node"}
        The relation of `epsilon`: one dyad's tie changes, or all ties of a node. The published
        calibration claims nothing under the latter.

    Raises
    ------
    InvalidInput
        If an argument is out of its range; where that depends on the nodes, at the release.

    Notes
    -----
    `bdp.models.ERGMModel` reads copies of the corrected calibration, by their exact law given the
    confidential graph: the grid, the power to which a small epsilon raises the likelihood
    (`DPERGMMechanism.power`) or the noisy histogram, and each copy's own randomness are in its
    posterior. It needs the model's constant over the grid, known where dyads are independent, and
    for up to three statistics and 5,000 dyads. Of other copies the law is intractable: analyse each
    as data, and combine; `bdp.combine`'s rule "liu" is the one that Liu et al. (2020) use, with
    four copies. It ignores the grid and the power, which draws estimates towards the middle of the
    grid.

    On 205 nodes with 316 ties, edges + nodematch of 4 groups, at epsilon = 1 and a scale of 0.5,
    coefficients by "sdd" have standard deviations of 0.19 and 0.28, where the likelihood's are 0.08
    and 0.11; by "sphc" they are all but uniform, with 0.86 and 0.87. One tie may change gwesp by
    some 2 n, so that with it "sdd" too is all but uniform there. At epsilon = 6 under NODE and with
    ``bins=8``, they have 0.38 by "sphc" and 0.70 and 0.80 by "sdd", whose epsilon under EDGE is
    then 6 / 204.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> graph = bdp.networks.Network(40, [[i, (i * i + 1) % 40] for i in range(2, 36)])
    >>> declared = bdp.synthesizers.DPERGMSynthesizer("edges", epsilon=4.0, centre=-2.0, scale=0.5)
    >>> with bdp.reproducible(1):
    ...     release = declared.release(graph, copies=4)
    >>> release.mechanism.guarantee(copies=4).epsilon
    4.0
    >>> fits = [bdp.networks.fit_mple(copy, "edges") for copy in release.outputs]
    >>> found = bdp.combine([f.coef[0] for f in fits], [f.covariance[0, 0] for f in fits])
    >>> low, high = found.interval()
    >>> bool(low < bdp.networks.fit_mple(graph, "edges").coef[0] < high)
    True
    """

    formula: str
    epsilon: float = declared(by_value(check_epsilon))
    method: str = "sdd"
    calibration: str = "corrected"
    prior: NormalPrior | None = None
    centre: Any = None
    scale: Any = None
    attributes: Any = ()
    bins: int = declared(check_at_least_one, default=20)
    reach: float = declared(check_positive, default=3.0)
    draws: int = declared(check_at_least_one, default=1000)
    correlation: float = declared(by_value(check_correlation), default=0.8)
    burn_in: int | None = declared(check_at_least_one, optional=True, default=None)
    neighbours: str = "edge"

    variable = "tie"
    settings: ClassVar[Mapping[str, Any]] = {"copies": 4, "delta": 0.0}

    def __post_init__(self) -> None:
        super().__post_init__()
        from bayesdp.networks.formula import parse

        parse(self.formula)
        check_method(self.method, self.calibration)
        check_relation(self.neighbours, self.calibration)
        if self.prior is not None:
            keep(self, prior=of_table(NormalPrior)("prior", self.prior))
        if isinstance(self.attributes, str):
            raise InvalidInput(
                f"attributes is {quoted(self.attributes)}; it must be a sequence of names, as "
                f"({quoted(self.attributes)},)"
            )

    def mechanism_like(self, network: Any) -> DPERGMMechanism:
        """Make the mechanism on the nodes of a network, whose ties aren't read.

        Raises
        ------
        InvalidInput
            If the formula isn't defined on these nodes with these attributes, or the grid is
            missing or too large.
        """
        from bayesdp.mechanisms.graphs.dp_ergm.draws import edge_sensitivities
        from bayesdp.networks.formula import bind

        empty = public_part(confidential(network), tuple(self.attributes)).with_edges(())
        self._check_attributes(confidential(network))
        bound = bind(self.formula, empty)
        terms = len(bound.names)
        prior = None
        if self.prior is not None:
            prior = tuple(tuple(part.tolist()) for part in self.prior.of(terms))
        own = (None, None) if self.calibration == "published" or prior is None else prior
        centre, scale = (
            default if given is None else _each(given, terms)
            for given, default in zip((self.centre, self.scale), own, strict=True)
        )
        made = DPERGMMechanism(
            self.formula, self.epsilon, empty.n, empty.directed,
            edge_sensitivities(self.formula, empty),
            self.method, self.calibration, centre, scale, prior, self.bins, self.reach, self.draws,
            self.correlation, tuple(self.attributes), self.burn_in,
            neighbours=Neighbours(self.neighbours),
        )  # fmt: skip
        if (made.method, made.calibration) != ("sphc", "corrected"):
            return made
        from bayesdp.mechanisms.selection.histogram_cost import scale_for

        least = scale_for(made.draws, made.bins**terms, made.epsilon)
        return dataclasses.replace(made, noise_scale=least)

    def _check_attributes(self, network: Network) -> None:
        """Raise InvalidInput where the formula needs an attribute that isn't declared public."""
        from bayesdp.networks.formula import parse

        for call in parse(self.formula):
            for value in (*call.arguments, *call.named.values()):
                if isinstance(value, str) and value in network.dyad_attributes:
                    raise InvalidInput(
                        f"formula has {call.name}({quoted(value)}); dyad attributes never cross "
                        "into a release: leave the term out"
                    )
                missing = isinstance(value, str) and value not in self.attributes
                if missing and value in network.attributes:
                    raise InvalidInput(
                        f"formula has {call.name}({quoted(value)}), and that attribute isn't "
                        f"declared public; name it, attributes=({quoted(value)},), if it is, or "
                        "leave the term out"
                    )


def _each(given: Any, terms: int) -> Any:
    """Return one number for all statistics, or what was given, one for each."""
    return (given,) * terms if is_number(given) else given
