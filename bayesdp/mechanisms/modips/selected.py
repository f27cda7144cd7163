r"""Modips with a private choice of the family: one for all copies, or one for each.

Liu (modips, Algorithm 1) takes one of several public families by the exponential mechanism, before
the loop over copies or inside it. One output here is a choice and the copies made after it,

    f ~ choice(u(x)),    y_j ~ modips with family f, given x,    j = 1..each,

u their log marginal likelihoods, or -DIC / 2 (`bayesdp.mechanisms.families.evidence`). So one
output with each = copies is the choice outside the loop, and as many outputs as copies, with
each = 1, are the choice inside it. The families are priors of the same records, and share all else.

Privacy
-------
Let a choice cost e0, and `copies` outputs be made. Given the choices so far, what is drawn next
depends on the records through a mechanism whose promise is fixed. For neighbours x and x',

    log p(f, y | x) - log p(f, y | x') = sum of log p(f_i | x) - log p(f_i | x')
                                       + sum of log p(y_ij | x, f_i) - log p(y_ij | x', f_i)
                                      <= copies e0 + copies each e,

where no family's copy costs more than e. With delta: `ModipsSBSMechanism` adds noise to numbers
that don't depend on the prior, with scales that don't. So the noisy numbers could be drawn before
the choices, and all outputs are post-processing of both: (copies e0 + e, delta), where (e, delta)
is the promise of copies * each noisy statistics, whichever families are chosen; and so is the
epsilon at delta of the two profiles beside each other, which is mostly less.

This holds under the relation of the release, replace-one where n is public and add/remove-one where
it isn't. In the latter case a replacement is a removal and an addition, and a choice then costs 2
e0.

The law, where copies have one, is the product p(f | x) p(y_1 | x, f) ... p(y_each | x, f). The
choice carries information on the records too, which `bdp.BinomialModel` uses. To treat the chosen
family as fixed without the data would be to use the wrong law.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, keep
from bayesdp.core.fields import WRITTEN, is_later, written
from bayesdp.core.views import CountView, RecordsView, View, view_of
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.counts.count import count_view
from bayesdp.mechanisms.families import Family
from bayesdp.mechanisms.families.categorical import Categorical
from bayesdp.mechanisms.families.checking import check_families
from bayesdp.mechanisms.families.evidence import (
    check_criterion,
    check_records,
    choice_of,
    priors_of,
    utilities,
)
from bayesdp.mechanisms.modips.chosen_space import Chosen
from bayesdp.mechanisms.modips.grid import ModipsGridMechanism
from bayesdp.mechanisms.modips.nested import NestedModipsMechanism
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.mechanisms.randomness import COMPUTATIONAL
from bayesdp.mechanisms.selection.exponential import ExponentialMechanism
from bayesdp.privacy.accounting import compose
from bayesdp.privacy.guarantee import Guarantee, check_epsilon
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.privacy.profile import Profile, after_pure

Copying = ModipsSBSMechanism | ModipsGridMechanism | NestedModipsMechanism


@dataclass(frozen=True, slots=True)
class SelectedModipsMechanism(Mechanism):
    """Synthetic copies from a privately chosen family, released with the choice.

    Parameters
    ----------
    modips : ModipsSBSMechanism, ModipsGridMechanism or NestedModipsMechanism
        The mechanism that makes a copy, with the first of the families.
    families : sequence of Family
        Two or more: all `Bernoulli`, or all `Categorical` with the same k. Public.
    epsilon : float
        Cost of one choice: under replace-one where n is public, else under add/remove-one.
    each : int
        Number of copies made after one choice.
    criterion : {"log_marginal", "dic"}
        Utility of a family: its log marginal likelihood, or -DIC / 2.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or the families aren't models of the same records.

    Notes
    -----
    An output is a tuple of integers: the position of the chosen family, and then the numbers of
    the copies, one after another; `split` separates them.
    """

    modips: Copying = field(metadata={WRITTEN: written})
    families: tuple[Family, ...]
    epsilon: float = field()  # type: ignore[assignment]  # a parameter, not the profile's
    each: int = 1
    criterion: str = "log_marginal"

    name: ClassVar[str] = "modips_selected"
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.families, Sequence):
            raise InvalidInput(
                f"families is {quoted(self.families)}; it must be a sequence of families"
            )
        families = check_families(self.families)
        priors_of(families)
        object.__setattr__(self, "families", families)
        object.__setattr__(self, "modips", _check_modips(self.modips, families[0]))
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        object.__setattr__(self, "each", check_at_least_one("each", self.each))
        keep(self, criterion=check_criterion(self.criterion))
        _ = self.choice, self.candidates  # whose own checks raise

    @property
    def candidates(self) -> tuple[Copying, ...]:
        """Mechanisms that make a copy after each choice of the family."""
        return tuple(_with_family(self.modips, family) for family in self.families)

    @property
    def choice(self) -> ExponentialMechanism:
        """Exponential mechanism that chooses a family from the utilities of all."""
        return choice_of(self.families, self.epsilon, self.n, self.criterion)

    @property
    def n(self) -> int | None:
        """Number of confidential records, where it is public."""
        return self.modips.n

    @property
    def neighbours(self) -> Neighbours:
        """The relation of its promise: replace-one where n is public, else add/remove-one."""
        return self.modips.neighbours

    # What is promised.

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` choices, and of `each` copies after every one.

        It isn't the base class's, as the zCDP parameter depends on whether a delta is needed.

        Raises
        ------
        InvalidInput
            If `neighbours` is a relation under which nothing is promised.
        """
        copies = check_at_least_one("copies", copies)
        asked: dict[str, Any] = {"copies": copies * self.each, "delta": delta}
        made = [each.guarantee(neighbours=neighbours, **asked) for each in self._priced]
        chosen = self.choice.guarantee(copies=copies, neighbours=neighbours)
        notes = ("The families to choose from were listed without the data.", COMPUTATIONAL)
        promise = compose(
            [
                dataclasses.replace(chosen, assumptions=notes),
                max(made, key=lambda promise: promise.epsilon),
            ]
        )
        proved = self.profile(copies=copies, neighbours=neighbours).epsilon(promise.delta)
        return dataclasses.replace(
            promise,
            epsilon=min(promise.epsilon, proved),
            source="bayesdp.mechanisms.modips.selected; Liu (2016), Proposition 2",
        )

    def profile(self, *, copies: int = 1, neighbours: Neighbours | None = None) -> Profile:
        """The privacy profile of `copies` choices, and of `each` copies after every one.

        The copies' is the largest of the candidates', and beside it each choice has at most the
        profile of randomized response (`bayesdp.privacy.profile.after_pure`).
        """
        copies = check_at_least_one("copies", copies)
        choice = self.choice.guarantee(neighbours=neighbours).epsilon
        asked = copies * self.each
        made = [each.profile(copies=asked, neighbours=neighbours) for each in self._priced]
        worst = max(made, key=lambda each: each.pure_epsilon)
        return after_pure(worst, choice, copies)

    @property
    def _priced(self) -> Sequence[Copying]:
        """Mechanisms that bound the copies' cost; on cells, the cost depends on the prior."""
        cells = isinstance(self.modips, ModipsGridMechanism)
        return self.candidates if cells else (self.modips,)

    # What is drawn, and with what probability.

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the families', else raise."""
        checked = self.modips.check_statistic(statistic)
        check_records(self._counts(statistic).sum(axis=-1))
        return checked

    def _counts(self, statistic: Any) -> NDArray[Any]:
        """Counts of all categories: ones and zeros, for binary records."""
        self.families[0].vector(statistic, self.n)  # whose own checks raise
        return self.families[0].vector(statistic, None)

    def _utilities(self, counts: NDArray[Any]) -> NDArray[np.float64]:
        return utilities(priors_of(self.families), counts, self.criterion)

    def draw(self, statistic: Any, copies: int) -> NDArray[np.int64]:
        """Choose a family, and draw copies, from the secure generator.

        Choices are independent, each with `each` copies after it; the shape is (copies, 1 + each *
        numbers of a copy).
        """
        chosen = self.choice.release(self._utilities(self._counts(statistic)), copies)
        made = np.empty((copies, self.space.width), dtype=np.int64)
        made[:, 0] = chosen
        for i, candidate in enumerate(self.candidates):
            rows = np.flatnonzero(chosen == i)
            if rows.size:
                drawn = candidate.release(statistic, rows.size * self.each)
                made[rows, 1:] = np.reshape(drawn, (rows.size, -1))
        return made

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic], vectorised over both: the choice's law times the copies'.

        Parameters
        ----------
        output : array_like of int, shape (..., 1 + each * numbers of a copy)
        statistic : as the families take it
            Its axes broadcast with the output's others.

        Raises
        ------
        InvalidInput
            If the copies' own law is intractable.
        """
        counts, z = self._counts(statistic), np.asarray(output)
        chosen = z[..., 0]
        law = self.choice.logp(chosen, self._utilities(counts))
        logs = np.full(law.shape, -np.inf)
        for i, candidate in enumerate(self.candidates):
            here = chosen == i
            if not np.any(here):
                continue
            # Outputs with another family stand aside: no law is worked out for theirs.
            copies = self.space.copies_in(np.where(here[..., None], z, z[here][0]))
            given = sum(candidate.logp(each, statistic) for each in copies)
            logs = np.where(here, law + given, logs)
        return logs

    # What is written down, and what an audit tries.

    def split(self, output: Any) -> tuple[int, tuple[Any, ...]]:
        """Split an output into the chosen family's position, and copies as `candidates` release."""
        return self.space.split(output)

    @property
    def views(self) -> tuple[View, ...]:
        """Views of records and, where a copy alone has it, of the law given a count of ones."""
        laws = (count_view(self),) if view_of(self.modips, CountView) else ()
        return (*laws, RecordsView())

    def pairs(self) -> list[tuple[Any, Any]]:
        """Pairs of neighbouring statistics, as far apart as possible, for an audit."""
        return self.modips.pairs()

    @property
    def space(self) -> Chosen:
        """Positions of the chosen family, each with the copies made after the choice."""
        return Chosen(self.choice.space, self.modips.space, self.each, self._shape())

    @property
    def tractable(self) -> bool:
        """True if the copies' law is tractable."""
        return self.modips.tractable

    def _shape(self) -> tuple[int, ...]:
        """Shape of one copy: () for binary records, whose number of ones it is."""
        first = self.families[0]
        inner = (first.k,) if isinstance(first, Categorical) else ()
        return (
            (self.modips.draws, *inner) if isinstance(self.modips, NestedModipsMechanism) else inner
        )


def _check_modips(modips: Any, first: Family) -> Copying:
    """Return the mechanism given, or make it from the mapping that a manifest holds."""
    made = modips
    if isinstance(modips, Mapping):
        for kind in get_args(Copying):
            fields = dataclasses.fields(kind)
            old = {field.name for field in fields if not is_later(field)}
            if old <= set(modips) <= {field.name for field in fields}:
                made = kind(**modips)
    if not isinstance(made, Copying):
        raise InvalidInput(
            f"modips is a {type(modips).__name__}; it must be a "
            "bdp.mechanisms.ModipsSBSMechanism, bdp.mechanisms.ModipsGridMechanism or "
            "bdp.mechanisms.NestedModipsMechanism"
        )
    family = made.sbs.family if isinstance(made, NestedModipsMechanism) else made.family
    if family != first:
        raise InvalidInput(
            f"modips has the family {quoted(family)}; it must be the first of the families, "
            f"{quoted(first)}"
        )
    return made


def _with_family(modips: Copying, family: Family) -> Copying:
    if isinstance(modips, NestedModipsMechanism):
        return dataclasses.replace(modips, sbs=dataclasses.replace(modips.sbs, family=family))
    return dataclasses.replace(modips, family=family)
