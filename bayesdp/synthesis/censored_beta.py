"""The censored beta synthesizer: records in (0, 1) in, private copies of them out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, check_even, keep
from bayesdp.core.fields import declared, of_table
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.censored.beta import WIDE, CensoredBetaMechanism
from bayesdp.mechanisms.censored.inputs import check_bounds, check_records, check_some
from bayesdp.mechanisms.censored.records import stored, with_weights
from bayesdp.mechanisms.censored.synthetic_column import rescaled
from bayesdp.mechanisms.censored.weights import (
    ATTACHED,
    PublicWeights,
    check_weights,
    of_each_alone,
)
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.release.manifest import Label
from bayesdp.renamed import renamed_argument
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.censored_base import CensoredSynthesizer
from bayesdp.synthesis.groups import check_rows
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.pseudo_posterior import PseudoPosterior
from bayesdp.synthesis.scan import Scan
from bayesdp.synthesis.tally import typed

if TYPE_CHECKING:
    from bayesdp.synthesis.censored_beta_law import BetaLaw

Floats = NDArray[np.float64]
_CHAINS = ("stan", "pymc")


@dataclass(frozen=True, eq=False)
class CensoredBetaSynthesizer(CensoredSynthesizer, RecordSynthesizer):
    """Synthesize confidential records in (0, 1) from a draw of a clipped beta posterior.

    Records are modelled as Beta(lambda phi, lambda (1 - phi)); each one's log density is clipped
    to an interval around `center` that is epsilon / copies wide under add/remove-one and half as
    wide under replace-one; (phi, lambda) is drawn, and then synthetic records given it
    (`CensoredBetaMechanism`; Hu, Williams and Savitsky 2025, with an exact draw instead of MCMC).

    Records between other `bounds` are rescaled to (0, 1) before, and copies rescaled back.

    Parameters
    ----------
    epsilon : float
        Total privacy cost of all copies.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated.
    center : float
        Centre of the interval, chosen without the data. Log densities below and above the
        interval count as its ends, so it should lie where most of them are.
    weights : None, array_like, callable or PublicWeights
        Weights from 0 to 1000 that multiply each record's log density before it is clipped; None
        means 1. A vector has one weight for each record, in their order, and none may depend on
        other records: it must be public, or a public function of its own record. A callable is
        such a function; it is called with one record at a time, an array of shape (1,), and
        returns one weight, of the record rescaled to (0, 1). `PublicWeights` leaves nothing to be
        assumed, and the grid's manifest holds its numbers; a table of its parameters will do.
    engine : {"grid", "stan", "pymc"}
        How (phi, lambda) is drawn: exactly, from a public grid, so that the guarantee is proved; or
        by NUTS, each copy from the last state of a chain of its own, so that the guarantee is
        conditional on exact draws.
    prior_phi : tuple of two floats
        (p, q) of the prior phi ~ Beta(p, q).
    prior_lambda : tuple of two floats
        (smallest, shape) of the prior lambda ~ Pareto(smallest, shape).
    largest : float
        Largest lambda, where its prior ends.
    grid : tuple of two ints
        Log2 of the numbers of cells along phi and log lambda, as for `CensoredBetaMechanism`; for
        the engine "grid" only.
    size : int
        Synthetic records in each copy, chosen without the data. It costs nothing.
    bounds : tuple of two floats
        Bounds that all records lie strictly between, chosen without the data: (0, 500_000), say, of
        incomes. Records at or outside them are refused.
    groups : sequence of labels, optional
        All groups that may occur, where records are released by group, with the engine "grid": as
        their sizes are confidential, so is which of them occur.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    Weights fitted to the confidential records, like the papers' Censor_w, break the guarantee: one
    more record near 0 changes the weights of all others, and the log ratio by hundreds.

    Examples
    --------
    >>> release = CensoredBetaSynthesizer(epsilon=4.0).release([0.1, 0.3, 0.2], size=50)
    >>> len(release.to_frames()[0])
    50
    """

    epsilon: float
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    center: float = 0.0
    weights: Any = dataclasses.field(default=None, repr=False)
    engine: str = "grid"
    prior_phi: tuple[float, float] = (1.0, 1.0)
    prior_lambda: tuple[float, float] = (0.1, 1.5)
    largest: float = 1000.0
    grid: tuple[int, int] = (30, 30)
    size: int = declared(check_at_least_one, default=2000)
    bounds: tuple[float, float] = declared(by_value(check_bounds), default=(0.0, 1.0))
    groups: Sequence[Any] | None = None

    public_n: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.weights, Mapping):
            keep(self, weights=of_table(PublicWeights)("weights", self.weights))
        if self.engine not in ("grid", *_CHAINS):
            raise InvalidInput(
                f"engine is {quoted(self.engine)}; it must be 'grid', whose draws are exact, "
                "'stan' or 'pymc'"
            )
        if self._weighting == ATTACHED and not callable(self.weights):
            check_weights(self.weights, np.size(self.weights))
        self.mechanism(None, self.epsilon)  # whose own checks raise

    @renamed_argument("y", "data")
    def release(
        self,
        data: Any,
        *,
        by: Any = None,
        variable: str | None = None,
        ledger: DatasetLedger | None = None,
        size: int | None = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : array_like or Scan
            The confidential records, all between the bounds; with the engine "stan" at least one,
            with "pymc" two. A scan's column may be larger than memory; see the notes.
        by : array_like, optional
            Each record's group, one of `groups`, of the length of `data`: each group has copies of
            its own, from its own records. Not with a vector of weights.
        variable : str, optional
            Name of the records' column; not "phi" or "lambda" with the engine "pymc". Default:
            the Series' name, or "value".
        ledger : DatasetLedger, optional
            The budget of these records, ``ledger.dataset("survey-2026")``. The data are
            checked first, then the guarantee is charged, then the copies are drawn.
        size : int, optional
            Synthetic records in each copy, instead of the declared number.

        Raises
        ------
        InvalidInput
            If the data have missing values or aren't all between the bounds, the weights don't fit
            them, there is no room to sort them on disk, or there is a ledger and the draws would be
            seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        MissingDependency
            If the engine isn't installed. Nothing is spent or drawn then.
        EngineFailed
            If the engine fails, or its chains clearly have not converged.

        Notes
        -----
        A scan's records, if 2^22 or more, are sorted in temporary files, which take 16 bytes a
        record. Only their owner can read them, and they are gone when this returns, or with the
        process if it is killed; their contents aren't overwritten on the disk. They are in Python's
        folder for temporary files: set the environment variable TMPDIR to one where confidential
        data may be stored, and which isn't itself in memory, as /tmp is on some systems. Memory
        holds a batch, or a partition of a Dask DataFrame, and about 150 MB. The release is, to the
        last bit, that of the same records in memory.

        A vector of weights or a callable, the engines "stan" and "pymc", and groups need all
        records in memory, into which a scan's columns are then read.
        """
        made = self if size is None else dataclasses.replace(self, size=size)
        return RecordSynthesizer.release(made, data, by=by, variable=variable, ledger=ledger)

    def publish(
        self,
        tallies: Mapping[Label, Any],
        *,
        by: str = "group",
        variable: str = "value",
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Release records, by the engine."""
        if self.engine == "grid":
            return super().publish(tallies, by=by, variable=variable, ledger=ledger)
        if self.engine == "pymc" and variable in ("phi", "lambda"):
            raise InvalidInput(
                f"variable is {quoted(variable)}, a parameter's name; choose another"
            )
        records, weights = with_weights(tallies[None], self._weighting)
        from bayesdp.synthesis.censored_beta_law import release_by_chains

        return release_by_chains(
            self._chains, records, weights, self.size, variable, self.bounds, ledger
        )

    def tallies(self, data: Any, by: Any = None, name: str = "value") -> dict[Label, Any]:
        """Check all records, in memory or sorted on disk, or each group's, in memory."""
        check_even(data)
        self.check_by(data, by)
        if isinstance(data, Scan) and data.by is not None:
            import pandas as pd

            if by is not None:
                raise InvalidInput("by is given with a scan; name the column of groups there")
            table = pd.concat(list(typed(data, (), self.groups)), ignore_index=True)
            data, by = table[data.column()], table[data.by]
        if by is not None:
            return super().tallies(data, by, name)
        if self.groups is not None:
            raise InvalidInput("groups is given, but by is not: say each record's group")
        return {None: self.tally(data)}

    def check_by(self, data: Any, by: Any) -> None:
        """Raise InvalidInput if groups are given where records aren't released by group."""
        if by is None and not (isinstance(data, Scan) and data.by is not None):
            return
        if self.engine != "grid":
            raise InvalidInput(
                f"by is given, but engine is {quoted(self.engine)}, which releases no groups; take "
                "engine='grid', or leave by out"
            )
        if self._weighting == ATTACHED and not callable(self.weights):
            raise InvalidInput(
                "by is given, but weights is a vector; give a function of a record, as a callable "
                "or PublicWeights"
            )
        super().check_by(data, by)

    def known(self, tally: Any) -> None:
        """Return None: the mechanism follows from nothing that is public about the records."""
        return

    def mechanism(self, known: None, epsilon: Any) -> CensoredBetaMechanism:
        """The mechanism of the engine "grid"."""
        return CensoredBetaMechanism.calibrate(
            epsilon=epsilon,
            copies=self.copies,
            neighbours=self.neighbours,
            center=self.center,
            size=self.size,
            prior_phi=self.prior_phi,
            prior_lambda=self.prior_lambda,
            largest=self.largest,
            grid=self.grid,
            weights=self._weighting,
            bounds=self.bounds,
        )

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            Not needed: the guarantee is the same for any number of records.
        """
        if self.engine != "grid":
            columns = (("value", "number"),)
            return self._chains.mechanism(1, 1, columns).guarantee(copies=self.copies)
        return self.promise({None: None})

    def tally(self, records: Any) -> Any:
        """Check the records; with weights attached to them, return a pair."""
        weighting = self._weighting
        check_rows(self.weights, records, "weights", "weight")
        if isinstance(records, Scan) and self.engine == "grid" and not isinstance(weighting, str):
            return stored((rescaled(y, self.bounds) for y in records.pieces()), weighting)
        check = check_records if self.engine == "grid" else check_some
        records = records.to_numpy() if isinstance(records, Scan) else records
        records = check(rescaled(records, self.bounds))
        if weighting != ATTACHED:
            return records
        weights = self.weights
        if callable(weights):
            alone = (record.copy() for record in records.reshape(-1, 1))
            weights = of_each_alone(weights, alone)
        return records, check_weights(weights, records.size)

    def _read(self, data: Any) -> tuple[Floats, Floats | None]:
        return with_weights(self.tally(data), self._weighting)

    @cached_property
    def _law(self) -> BetaLaw:
        from bayesdp.synthesis.censored_beta_law import BetaLaw

        return BetaLaw(self.prior_phi, self.prior_lambda, self.largest)

    def _on_grid(self, data: Any, *, clipped: bool) -> PseudoPosterior:
        made = self
        if not clipped:  # no record's log density leaves this interval on any grid
            made = dataclasses.replace(
                self,
                epsilon=WIDE,
                copies=1,
                neighbours="add_remove",
                center=0.0,
                weights=None,
            )
        return PseudoPosterior(made.mechanism(None, made.epsilon).posterior(made.tally(data)))

    @property
    def _weighting(self) -> PublicWeights | str | None:
        """Return the weights as the mechanism takes them."""
        if self.weights is None or isinstance(self.weights, PublicWeights):
            return self.weights
        return ATTACHED
