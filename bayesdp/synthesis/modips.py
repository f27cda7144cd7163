"""Liu's model-based synthesis (modips): private copies of records from a family of models."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bayesdp.checks import check_at_least_one, check_delta, check_one_of, keep
from bayesdp.core.fields import declared, of_table
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.families import Family, Sums, check_family
from bayesdp.mechanisms.families.checking import check_families
from bayesdp.mechanisms.families.evidence import priors_of
from bayesdp.mechanisms.families.grids import on_grid
from bayesdp.mechanisms.modips.grid import ModipsGridMechanism
from bayesdp.mechanisms.modips.nested import NestedModipsMechanism
from bayesdp.mechanisms.modips.promise import check_weights
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.mechanisms.selection.histogram_cost import scale_for
from bayesdp.privacy.composition import shared
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.release.manifest import Label
from bayesdp.synthesis.base import RecordSynthesizer
from bayesdp.synthesis.family_selection import FamilySelection, check_selection
from bayesdp.synthesis.parameters import by_value, check_known, check_size

_ANY_N = 1000  # records, to check what doesn't depend on how many there are


@dataclass(frozen=True)
class ModipsSynthesizer(RecordSynthesizer):
    """Synthesize confidential records from a Bayesian model, privately.

    Parameters
    ----------
    family : Family, or sequence of Family
        The model, one of `bdp.families`, with its priors and the records' public bounds. With
        `selection`, several families that differ in the priors of binary or categorical records.
    method : {"sbs", "sdd", "sdd.mc", "sphc"}
        How the posterior is sanitised. "sbs": its sufficient statistic gets noise, and the
        posterior treats the noisy value as exact (`bdp.mechanisms.ModipsSBSMechanism`).
        The others choose one of the parameter's public cells
        (`bdp.mechanisms.ModipsGridMechanism`): "sdd" by the exponential mechanism, "sphc" from a
        noisy histogram of posterior draws, with as little noise as one cell of it needs
        (`bayesdp.mechanisms.selection.histogram_cost`), "sdd.mc" from one of its logarithms.
    epsilon, delta : float
        Total privacy cost of all copies, on top of that of `selection`. delta is 0 for a pure
        promise, and positive for Gaussian noise.
    copies : int
        Number of independent copies, each with noise and parameters of its own.
    size : int, optional
        Synthetic records in each copy. Default: the number of confidential ones, where it is
        public.
    public_n : bool
        Whether the number of records is public. If it is, it is written into the release, and the
        promise is about replacing one record. If not, it is sanitised too, the promise is about
        adding or removing one, and `size` must be given.
    noise : {"laplace", "gaussian"}
        The noise of "sbs", exact on a lattice, and discrete for counts.
    allocation : {"individualized", "communal"}
        For "sbs": whether each number of the statistic gets its share of the budget, or all get
        the same noise.
    weights : sequence of float, optional
        For "sbs": those shares, positive with sum 1. Default: equal shares.
    bounding : {"inflated", "truncated"}
        Whether noisy numbers out of their range, and synthetic records out of the bounds, are set
        to the nearest end, or drawn given the range.
    clip : bool
        Whether records out of the bounds are clipped to them; if not, such data are refused. The
        release says which.
    calibration : {"corrected", "published"}
        Whether the epsilon of a choice of a cell is proved, or as published, which is mostly
        false: a ledger takes that only with `accept_unproved=True`. This and the next three are
        for the methods on cells.
    grid : tuple of two floats, optional
        Ends of the parameter's range, chosen without the data. Default: 0 and 1, or the bounds.
    bins : int
        Number of cells, of equal width; for the probabilities of three categories, the number
        along each side of their triangle.
    samples : int
        Number of posterior draws in a histogram.
    draws : int
        For "sbs": number of synthetic data sets from each sanitised statistic, at no further cost.
        A copy is then a tuple of `draws` data sets, and `bdp.evaluate.combine_nested` takes
        estimates of shape (copies, draws).
    selection : FamilySelection, optional
        The cost of choosing among several families, and whether one is chosen for all copies, which
        are then in one output, or one for each (`bdp.mechanisms.SelectedModipsMechanism`).
    groups : sequence of labels, optional
        All groups that may occur. Required for grouped data where n is confidential, since the
        groups released would otherwise depend on the data.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> modips = ModipsSynthesizer(family=bdp.families.Bernoulli(), epsilon=2.0, copies=3)
    >>> modips.release([0, 1, 1, 0, 1]).copies
    3
    """

    family: Family | Sequence[Family]
    method: str = "sbs"
    epsilon: float = declared(by_value(check_epsilon), default=1.0)
    delta: float = declared(by_value(check_delta), default=0.0)
    copies: int = declared(check_at_least_one, default=5)
    size: int | None = None
    public_n: bool = True
    noise: str = "laplace"
    allocation: str = "individualized"
    weights: Sequence[float] | None = None
    bounding: str = "inflated"
    clip: bool = False
    calibration: str = "corrected"
    grid: tuple[float, float] | None = None
    bins: int = 20
    samples: int = 1000
    draws: int = declared(check_at_least_one, default=1)
    selection: FamilySelection | None = None
    groups: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.selection, Mapping):
            keep(self, selection=of_table(FamilySelection)("selection", self.selection))
        check_selection(self.family, self.selection)
        if isinstance(self.family, Sequence) and self.selection is not None:
            object.__setattr__(self, "family", check_families(self.family))
            priors_of(self.family)
        else:
            object.__setattr__(self, "family", check_family(self.family))
        check_one_of("method", self.method, list(_METHODS))
        keep(self, size=check_size(self.size, self.public_n))
        self.mechanism(_ANY_N if self.public_n else None, self.epsilon)  # whose own checks raise

    def tally(self, records: Any) -> Sums:
        """Sum a family's records, in memory or a batch of them."""
        if hasattr(records, "columns") and len(records.columns) == 1:
            records = records[records.columns[0]]
        return self.first.sums(records, clip=self.clip)

    def count(self, tally: Sums) -> int:
        """The number of records that were summed."""
        return tally.n

    def statistic(self, tally: Sums) -> Any:
        """The family's sufficient statistic, from its sums."""
        return self.first.statistic(tally, public_n=self.public_n)

    def mechanisms(self, known: Mapping[Any, Any]) -> dict[Label, Mechanism]:
        """One mechanism for each group, at `epsilon` each, with the cost of `selection` on top."""
        return {label: self.mechanism(n, self.epsilon) for label, n in known.items()}

    def guarantee(self, n: int | Mapping[Any, int] | None = None) -> Guarantee:
        """Return the guarantee of a release, before any data are touched.

        Parameters
        ----------
        n : int, or mapping of label to int, optional
            The public number of records (of each group); None where it is confidential.
        """
        check_known(n, self.public_n)
        return super().guarantee(n)

    @property
    def first(self) -> Family:
        """The family, or the first of several."""
        return self.family[0] if isinstance(self.family, Sequence) else self.family

    @property
    def outputs(self) -> int:
        """Number of independent outputs; all copies of one choice are a single output."""
        return self.copies if self.selection is None else self.selection.times(self.copies)

    def mechanism(self, known: int | None, epsilon: float | None) -> Mechanism:
        """The mechanism of a group, from the method and the selection."""
        made = _METHODS[self.method](self, known)
        if self.selection is None or not isinstance(self.family, Sequence):
            return made
        return self.selection.mechanism(made, self.family, self.copies)


def _sbs(modips: ModipsSynthesizer, n: int | None) -> ModipsSBSMechanism | NestedModipsMechanism:
    _only_theirs(modips, _OF_CELLS, "the methods on cells, such as 'sdd'")
    weights = check_weights(modips.allocation, modips.weights, len(modips.first.numbers(n)))
    made = ModipsSBSMechanism.calibrate(
        epsilon=modips.epsilon,
        delta=modips.delta,
        copies=modips.copies,
        allocation=modips.allocation,
        weights=None if modips.weights is None else weights,
        family=modips.first,
        size=modips.size or n,
        n=n,
        noise=modips.noise,
        bounding=modips.bounding,
        clip=modips.clip,
    )
    return made if modips.draws == 1 else NestedModipsMechanism(made, modips.draws)


def _cells(modips: ModipsSynthesizer, n: int | None) -> ModipsGridMechanism:
    _only_theirs(modips, _OF_SBS, "method='sbs'")
    made = ModipsGridMechanism(
        modips.first,
        modips.size or n or 1,
        shared(modips.epsilon, modips.copies),
        on_grid(modips.first).ends if modips.grid is None else modips.grid,
        modips.method,
        modips.calibration,
        modips.bins,
        modips.samples,
        n,
        modips.bounding,
        modips.clip,
    )
    if (made.method, made.calibration) != ("sphc", "corrected"):
        return made
    scale = scale_for(made.samples, len(made.model.public), made.epsilon)
    return dataclasses.replace(made, scale=scale)


def _only_theirs(modips: ModipsSynthesizer, names: Sequence[str], whose: str) -> None:
    """Raise InvalidInput where a parameter of another method is given."""
    for field in dataclasses.fields(modips):
        given = getattr(modips, field.name)
        if field.name in names and given != field.default:
            raise InvalidInput(
                f"{field.name} is {quoted(given)}, but method is {quoted(modips.method)}: "
                f"{field.name} is of {whose}; leave it out"
            )


_Plain = ModipsSBSMechanism | NestedModipsMechanism | ModipsGridMechanism
_METHODS: dict[str, Callable[[ModipsSynthesizer, int | None], _Plain]] = {
    "sbs": _sbs,
    **dict.fromkeys(("sdd", "sdd.mc", "sphc"), _cells),
}
"""How one copy is made, with the first of several families, of n records; None if confidential."""

_OF_SBS = ("delta", "noise", "allocation", "weights", "draws")
_OF_CELLS = ("calibration", "grid", "bins", "samples")
