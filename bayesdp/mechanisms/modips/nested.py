r"""Nested modips: several posterior draws and copies of each sanitised statistic.

One copy in the outer layer is

    s* = s + noise,    theta_j ~ p(theta | s*),    y_j ~ p(y | theta_j),    j = 1..draws,

and the tuple (y_1, ..., y_draws) leaves (Liu, modips, section 3.1, Figure 3). Only s* depends on
the records, and all draws are post-processing of it: they cost what one would, whatever `draws` is.
`bdp.evaluate.combine_nested` takes estimates of shape (copies, draws).

For binary records and a public n the law is that of `families.count_laws` with a product of
beta-binomial probabilities in place of one:

    Pr[z_1, ..., z_t | x] = sum_s Pr[s | x] prod_j BetaBinomial(z_j; size, a + s, b + n - s).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one
from bayesdp.core.views import RecordsView, View
from bayesdp.errors import InvalidInput
from bayesdp.mechanisms.counts.count import count_view
from bayesdp.mechanisms.families.bernoulli import Bernoulli
from bayesdp.mechanisms.families.count_laws import smoothed
from bayesdp.mechanisms.laws import beta_binomial_logpmf
from bayesdp.mechanisms.modips.sbs import ModipsSBSMechanism
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.neighbours import Neighbours

_MOST_OUTPUTS = 100_000


@dataclass(frozen=True, slots=True)
class NestedModipsMechanism:
    """Several copies from each noisy sufficient statistic, for the cost of one.

    Parameters
    ----------
    sbs : ModipsSBSMechanism
        How the statistic is sanitised, and a copy follows from it.
    draws : int
        Posterior draws, with a copy each, of one sanitised statistic.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.
    """

    sbs: ModipsSBSMechanism
    draws: int

    name: ClassVar[str] = "modips_nested"
    log_concave: ClassVar[bool] = False

    def __post_init__(self) -> None:
        sbs: Any = self.sbs
        if isinstance(sbs, Mapping):  # as a manifest holds it
            sbs = ModipsSBSMechanism(**sbs)
        if not isinstance(sbs, ModipsSBSMechanism):
            raise InvalidInput(
                f"sbs is a {type(sbs).__name__}; it must be a bdp.mechanisms.ModipsSBSMechanism"
            )
        object.__setattr__(self, "sbs", sbs)
        object.__setattr__(self, "draws", check_at_least_one("draws", self.draws))

    @property
    def n(self) -> int | None:
        """Number of confidential records, where it is public."""
        return self.sbs.n

    @property
    def neighbours(self) -> Neighbours:
        """Replace-one where n is public, else add/remove-one."""
        return self.sbs.neighbours

    def guarantee(
        self, *, copies: int = 1, neighbours: Neighbours | None = None, delta: float = 0.0
    ) -> Guarantee:
        """The promise of `copies` sanitised statistics and all their draws."""
        return self.sbs.guarantee(copies=copies, neighbours=neighbours, delta=delta)

    def removal_guarantee(self, *, copies: int = 1, delta: float = 0.0) -> Guarantee:
        """Guarantee for the removal of a record, the same as for its addition."""
        return self.sbs.removal_guarantee(copies=copies, delta=delta)

    def check_statistic(self, statistic: Any) -> Any:
        """Return the statistic if it is a single one of the family's, else raise."""
        return self.sbs.check_statistic(statistic)

    def release(self, statistic: Any, copies: int = 1) -> NDArray[Any]:
        """Draw copies from the secure generator.

        Parameters
        ----------
        statistic : as the family says
            Confidential.
        copies : int
            Sanitised statistics, each with noise of its own.

        Returns
        -------
        ndarray, shape (copies, draws), and then that of one copy
        """
        copies, sbs = check_at_least_one("copies", copies), self.sbs
        vector = sbs.family.vector(self.check_statistic(statistic), sbs.n)
        noisy = [part.release(vector[i], copies) for i, part in enumerate(sbs.parts)]
        each = np.stack(noisy, axis=-1)[:, None]
        return sbs.family.draw(np.repeat(each, self.draws, axis=1), sbs)

    def logp(self, output: Any, statistic: Any) -> NDArray[np.float64]:
        """Log Pr[output | statistic] of binary records with a public n, vectorised over both.

        Parameters
        ----------
        output : array_like of int, shape (..., draws)
        statistic : Count
            Its fields broadcast with the other axes.

        Raises
        ------
        InvalidInput
            For other families, or where n is confidential: it is intractable.
        """
        sbs = self.sbs
        if not self._tractable or sbs.n is None:
            raise InvalidInput(
                "the law of nested copies is intractable but of binary records with a public n; "
                "analyse each copy as data and combine the results with bdp.evaluate.combine_nested"
            )
        a, b = sbs.family.prior  # type: ignore[attr-defined]
        z, x = np.asarray(output), sbs.family.vector(statistic, sbs.n)[..., 0]
        s = np.arange(sbs.n + 1)
        rows = z.reshape(-1, self.draws)
        tables = np.empty((len(rows), s.size))
        for i, row in enumerate(rows):
            law = beta_binomial_logpmf(row[:, None], sbs.size, a + s, b + (sbs.n - s)).sum(axis=0)
            tables[i] = smoothed(law, sbs.parts[0], sbs.n)
        place, count = np.broadcast_arrays(np.arange(len(rows)).reshape(z.shape[:-1]), x)
        return np.asarray(tables[place, count])

    @property
    def _tractable(self) -> bool:
        return isinstance(self.sbs.family, Bernoulli) and self.n is not None

    @property
    def views(self) -> tuple[View, ...]:
        """Records, and their law given a count of ones; other families' mixes too many kinds."""
        laws = (count_view(self),) if isinstance(self.sbs.family, Bernoulli) else ()
        return (*laws, RecordsView())

    def pairs(self) -> list[tuple[Any, Any]]:
        """Neighbouring statistics as far apart as they can be, for an audit."""
        return self.sbs.pairs()

    def outputs(self) -> NDArray[Any] | None:
        """List all outputs, first axis, where they have a law and are at most 100,000."""
        if not self._tractable or (self.sbs.size + 1) ** self.draws > _MOST_OUTPUTS:
            return None
        shape = (self.sbs.size + 1,) * self.draws
        return np.stack(np.unravel_index(np.arange(np.prod(shape)), shape), axis=-1)

    def check_output(self, output: Any) -> tuple[Any, ...]:
        """Return the output as a tuple of `draws` copies, or raise InvalidInput."""
        if np.ndim(output) == 0 or len(output) != self.draws:
            raise InvalidInput(
                f"the output isn't draws = {self.draws} copies; this mechanism releases so many "
                "from one sanitised statistic"
            )
        return tuple(self.sbs.check_output(each) for each in output)

    def records(self, output: Any) -> NDArray[Any]:
        """The synthetic records, as a structured array of `draw` and `value`, or their columns."""
        each = [self.sbs.records(one) for one in output]
        values = np.concatenate(each)
        if not values.dtype.names:
            values = values.view([("value", values.dtype)])
        made = np.empty(values.size, dtype=[("draw", np.int64), *values.dtype.descr])
        made["draw"] = np.repeat(np.arange(self.draws), [one.size for one in each])
        for name in values.dtype.names or ():
            made[name] = values[name]
        return made

    def encode(self, outputs: Sequence[Any]) -> dict[str, Any]:
        """Encode copies as the family's columns, with `draw` beside `copy`."""
        columns = dict(self.sbs.encode([one for output in outputs for one in output]))
        place = np.asarray(columns["copy"])
        return columns | {"copy": place // self.draws, "draw": place % self.draws}

    def decode(self, columns: Mapping[str, Any]) -> list[Any]:
        """Read the copies that `encode` wrote, in their order."""
        rest = {name: values for name, values in columns.items() if name != "draw"}
        rest["copy"] = np.asarray(columns["copy"]) * self.draws + np.asarray(columns["draw"])
        flat = self.sbs.decode(rest)
        outputs = [flat[i : i + self.draws] for i in range(0, len(flat), self.draws)]
        return [self.check_output(output) for output in outputs]
