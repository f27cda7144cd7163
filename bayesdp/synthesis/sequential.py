"""Base of synthesizers of tables whose columns are drawn step after step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from bayesdp.checks import keep
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.families.base import Sums
from bayesdp.mechanisms.modips.sequential.counts import (
    columns_of,
    declared_axes,
    no_records,
    sums_of_columns,
)
from bayesdp.mechanisms.modips.sequential.layout import layouts_of
from bayesdp.mechanisms.modips.sequential.steps import Step
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.parameters import check_known, check_size

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


class SequentialSynthesizer(RecordSynthesizer):
    """Base of synthesizers of one table from the sums of its records by step.

    A subclass declares `steps`, which it checks by `check_own`, `epsilon`, `size` and `public_n`.
    """

    if TYPE_CHECKING:

        @property
        def steps(self) -> Sequence[Step]: ...
        @property
        def epsilon(self) -> float: ...
        @property
        def size(self) -> int | None: ...
        @property
        def public_n(self) -> bool: ...

    grouped: ClassVar[bool] = False
    variable: ClassVar[str] = "value"
    clip = False
    """Whether numbers outside their bounds are moved to the nearest bound."""

    @staticmethod
    def check_own(given: Any) -> tuple[Step, ...]:
        """Return steps that fit together, or raise InvalidInput."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, steps=self.check_own(self.steps), size=check_size(self.size, self.public_n))
        known = _ANY_N if self.public_n else None
        self.mechanism(known, self.epsilon)  # whose own checks raise

    def tally(self, records: Any) -> Sums:
        """Sum over a DataFrame; columns that are in no step aren't read."""
        layouts = layouts_of(self.steps)
        return sums_of_columns(layouts, *columns_of(layouts, records, clip=self.clip))

    def empty(self) -> Sums:
        """The sums of no records."""
        return self.tally(no_records(layouts_of(self.steps)))

    def guarantee(self, n: Any = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, optional
            The public number of records; None where it is confidential.
        """
        check_known(n, self.public_n)
        return super().guarantee(n)

    @property
    def axes(self) -> list[Axis]:
        """The columns of all steps."""
        return declared_axes(layouts_of(self.steps))
