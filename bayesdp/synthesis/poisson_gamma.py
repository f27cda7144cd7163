"""The Poisson-gamma synthesizer: events by area in, private copies of their counts out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesdp.checks import check_at_least_one, check_delta
from bayesdp.errors import InvalidInput
from bayesdp.manifest import Label, check_label
from bayesdp.mechanisms.cells import Axis
from bayesdp.mechanisms.poisson_gamma import PoissonGammaMechanism
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish


@dataclass(frozen=True, eq=False)
class PoissonGammaSynthesizer:
    """Synthesize counts of events by area as independent Poisson-gamma copies (Quick 2021).

    Each area's count is drawn from its posterior predictive under a gamma prior around a public
    expected count, so that areas of different populations shrink towards different counts, which a
    symmetric Dirichlet prior can't do at the same privacy.

    Parameters
    ----------
    epsilon : float, optional
        Total privacy cost of all copies. The priors are then the weakest that keep to it, all
        alike or in the proportions of `prior`, and at least 1.
    expected : mapping of label to float, Series, or sequence of float
        Each area's expected number of events, positive: its population times a public rate. Chosen
        without the data.
    copies : int
        Number of independent copies; each gets epsilon / copies.
    total : int or None
        Events of a copy. Default: the number of confidential events, where that is public.
    prior : float or sequence of float, optional
        How many events each area's prior weighs, at least 1. Without `epsilon` it is taken as it
        is, and the release reports its epsilon.
    delta : float
        Where the promise is stated, in [0, 1); needed, and of use, with `fixed=False`.
    fixed : bool
        Whether a copy's total is fixed. If not, the counts are independent negative binomial ones,
        for which no pure epsilon holds.
    public_n : bool
        Whether the number of confidential events is public: written into the release and not
        protected. If not, add/remove-one is protected too, and a fixed `total` must be given.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> synthesizer = PoissonGammaSynthesizer(epsilon=2.0, expected={"A": 3.5, "B": 20.0}, copies=1)
    >>> sum(synthesizer.release({"A": 5, "B": 17}).outputs[0])
    22
    """

    epsilon: float | None = None
    expected: Any = None
    copies: int = 5
    total: int | None = None
    prior: Any = None
    delta: float = 0.0
    fixed: bool = True
    public_n: bool = True

    def __post_init__(self) -> None:
        if self.epsilon is None and self.prior is None:
            raise InvalidInput("epsilon is missing; give the total privacy cost, or else a prior")
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.expected is None:
            raise InvalidInput("expected is missing; give each area's expected number of events")
        check_at_least_one("copies", self.copies)
        check_delta(self.delta)
        if self.total is not None:
            check_at_least_one("total", self.total)
            if not self.fixed:
                raise InvalidInput(f"total is {self.total!r}, but fixed is False; choose one")
        elif self.fixed and not self.public_n:
            raise InvalidInput("total is missing; where n is confidential, choose a public total")
        self._expected()

    def release(
        self, data: Any, *, variable: str | None = None, ledger: DatasetLedger | None = None
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        data : mapping of label to int, Series, or sequence of int
            The confidential number of events in each area: by the names in `expected`, or in its
            order where it has none. Or, where it has names, a sequence of the events' areas.
        variable : str, optional
            What was counted. Default: the Series' name, or "value".
        ledger : DatasetLedger, optional
            The budget of these events, ``ledger.dataset("deaths-2026")``.

        Returns
        -------
        Release
            `to_frames` has one row an area and its synthetic count.

        Raises
        ------
        InvalidInput
            If there are no events where their number is public, or the areas aren't those of
            `expected`; or if there is a ledger and the draws would be seeded. Nothing is spent or
            drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        areas, expected = self._expected()
        counts = _counts(data, areas, len(expected))
        n = int(counts.sum())
        if self.public_n and n == 0:
            raise InvalidInput("data is of no events; there is nothing to release")
        own = getattr(data, "name", None)
        return publish(
            self._mechanism(n),
            counts,
            copies=self.copies,
            delta=self.delta,
            variable=variable or (own if isinstance(own, str) and own else "value"),
            ledger=ledger,
        )

    def guarantee(self, n: int | None = None) -> Guarantee:
        """What a release will promise, before any data are touched; n where it is public."""
        if n is None and self.public_n:
            raise InvalidInput("n is missing; where it is public, the guarantee depends on it")
        return self._mechanism(n).guarantee(copies=self.copies, delta=self.delta)

    def _mechanism(self, n: int | None) -> PoissonGammaMechanism:
        """From public numbers alone."""
        areas, expected = self._expected()
        known: dict[str, Any] = {"n": n if self.public_n else None, "areas": areas}
        known |= {"total": (self.total or n) if self.fixed else None, "expected": expected}
        if self.epsilon is None:
            return PoissonGammaMechanism(prior=self.prior, **known)
        return PoissonGammaMechanism.calibrate(
            epsilon=self.epsilon,
            copies=self.copies,
            delta=self.delta,
            proportions=None if np.ndim(self.prior) == 0 else self.prior,
            **known,
        )

    def _expected(self) -> tuple[tuple[Label, ...] | None, list[float]]:
        given, areas = self.expected, None
        values: list[Any]
        if hasattr(given, "to_dict"):
            given = given.to_dict()
        if isinstance(given, Mapping):
            areas = tuple(check_label(label) for label in given)
            values = list(given.values())
        else:
            areas, values = None, list(np.atleast_1d(given).tolist())
        made = PoissonGammaMechanism(None, tuple(values), 1.0, None, areas)
        return areas, list(made.expected)


def _counts(data: Any, areas: tuple[Label, ...] | None, size: int) -> Any:
    """The number of events in each area, in the order of the expected ones."""
    if hasattr(data, "to_dict") and areas is not None and set(data.index) == set(areas):
        data = data.to_dict()
    if isinstance(data, Mapping):
        given = {check_label(label): value for label, value in data.items()}
        if areas is None or set(given) != set(areas):
            raise InvalidInput(
                "data is a mapping whose areas aren't those of expected; give expected as a "
                "mapping of the same areas, and 0 where there is no event"
            )
        counts = np.array([given[label] for label in areas])
    elif areas is not None:
        counts = np.bincount(Axis("area", categories=areas).bins(data, clamp=False), minlength=size)
    else:
        counts = np.asarray(data)
    if counts.dtype.kind not in "iu" or counts.shape != (size,) or np.any(counts < 0):
        raise InvalidInput(
            f"data has type {counts.dtype} and shape {counts.shape}; it must be a whole number, at "
            f"least 0, for each of the {size} areas"
        )
    return counts.astype(np.int64)
