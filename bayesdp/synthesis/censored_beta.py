"""The censored beta synthesizer: records in (0, 1) in, private copies of them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.censored_beta import CensoredBetaMechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.pseudo_posterior import PseudoPosterior
from bayesdp.synthesis.publish import publish


@dataclass(frozen=True)
class CensoredBetaSynthesizer:
    """Synthesize confidential records in (0, 1) from a draw of a clipped beta posterior.

    Records are modelled as Beta(lambda phi, lambda (1 - phi)); each one's log density is clipped
    to an interval around `center` that is epsilon / copies wide under add/remove-one and half as
    wide under replace-one; (phi, lambda) is drawn, and then synthetic records
    (`CensoredBetaMechanism`; Hu, Williams and Savitsky 2025, with an exact draw for their MCMC).

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    neighbours : {"add_remove", "replace_one"}
        The relation that the promise is stated under.
    center : float
        Centre of the interval, chosen without the data. Log densities below and above the
        interval count as its ends, so it should lie where most of them are.
    weights : None
        Weights of the records; only None, all 1, is offered.
    engine : {"grid"}
        How (phi, lambda) is drawn: exactly, from a public grid.
    prior_phi, prior_lambda, largest, grid
        As for `CensoredBetaMechanism`.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> release = CensoredBetaSynthesizer(epsilon=4.0).release([0.1, 0.3, 0.2], size=50)
    >>> len(release.to_frames()[0])
    50
    """

    epsilon: float
    copies: int = 1
    neighbours: str = "add_remove"
    center: float = 0.0
    weights: None = None
    engine: str = "grid"
    prior_phi: tuple[float, float] = (1.0, 1.0)
    prior_lambda: tuple[float, float] = (0.1, 1.5)
    largest: float = 1000.0
    grid: tuple[int, int] = (30, 30)

    def __post_init__(self) -> None:
        check_at_least_one("copies", self.copies)
        if self.engine != "grid":
            raise InvalidInput(
                f"engine is {self.engine!r}; only 'grid' is offered, whose draws are exact"
            )
        if self.weights is not None:
            raise InvalidInput(
                "weights are given; only weights=None is offered, with every record's weight 1"
            )
        self._mechanism(1)

    def release(
        self,
        y: Any,
        *,
        size: int = 2000,
        ledger: DatasetLedger | None = None,
        variable: str | None = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        y : array_like
            The confidential records, all in (0, 1), at least one.
        size : int
            Synthetic records per copy, chosen without the data. It costs nothing.
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are
            checked first, then the guarantee is spent, then the copies are drawn.
        variable : str, optional
            Name of the records' column. Default: the Series' name, or "value".

        Raises
        ------
        InvalidInput
            If the data are empty, missing somewhere or not all in (0, 1), or if there is a ledger
            and the draws would be seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        name = getattr(y, "name", None)
        return publish(
            self._mechanism(size),
            y,
            copies=self.copies,
            variable=variable or (name if isinstance(name, str) and name else "value"),
            ledger=ledger,
        )

    def guarantee(self) -> Guarantee:
        """What a release will promise, before any data are touched."""
        return self._mechanism(1).guarantee(copies=self.copies)

    def pseudo_posterior(self, y: Any) -> PseudoPosterior:
        """The law that (phi, lambda) is drawn from, for the curator's eyes only.

        It is a function of the confidential records without any noise, and promises nothing.
        """
        return PseudoPosterior(self._mechanism(1).posterior(y))

    def _mechanism(self, size: int) -> CensoredBetaMechanism:
        return CensoredBetaMechanism.calibrate(
            epsilon=self.epsilon,
            copies=self.copies,
            neighbours=self.neighbours,
            center=self.center,
            size=size,
            prior_phi=self.prior_phi,
            prior_lambda=self.prior_lambda,
            largest=self.largest,
            grid=self.grid,
        )
