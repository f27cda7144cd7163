"""Result of a plan: the cheapest design, and all designs that it was chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bayesdp.display.words import count_of, one_line
from bayesdp.evaluation.planning.bare import criterion_of
from bayesdp.evaluation.planning.lengths import Lengths
from bayesdp.evaluation.planning.outlook import SURE, Outlook
from bayesdp.privacy.attacker import attacker
from bayesdp.privacy.guarantee import shown_up
from bayesdp.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Key = tuple[str, int]
COLUMNS = {
    "mechanism": "how it is released",
    "copies": "how many copies",
    "epsilon": "total privacy cost",
    "delta": "of that promise",
    "neighbours": "relation that it is stated under",
    "width": "mean length of the interval",
    "width_se": "its Monte Carlo standard error, 0 where exact",
    "assured": "length that the assured share stays within; empty without an assurance",
    "coverage": "probability that the interval has the true value, over the design prior",
    "coverage_se": "its Monte Carlo standard error",
    "without_privacy": "the criterion's length from the data themselves",
    "ratio": "of the criterion's length to that",
    "odds": "factor that an attacker's odds about a record (under add_remove: that it is there) "
    "grow by, at most",
    "odds_failure": "probability of outputs where they may grow by more",
    "attacker": "an attacker's largest posterior probability otherwise",
    "advantage": "of the best guess between two equally likely values, at most",
    "meets": "whether the target is met",
    "how": "exact or simulated",
}
"""The table's columns."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Result of `bdp.plan`: the cheapest design that meets the target, and all others.

    Attributes
    ----------
    mechanism, copies, epsilon
        The cheapest design that meets the target.
    table : DataFrame
        One row for each design and epsilon that was evaluated: mechanism, copies, epsilon, delta,
        neighbours; width and width_se, mean length of the interval and its Monte Carlo standard
        error (0 where exact); assured, the length that the assured share doesn't exceed; coverage
        and coverage_se, over the design prior; without_privacy, the criterion's length without
        noise, and ratio, the criterion's length relative to that; odds, odds_failure, attacker and
        advantage, an attacker's gain (see `bayesdp.privacy.attacker`); meets, whether
        the target is met; how, "exact" or "simulated".
    best : dict
        For each design (mechanism, copies), the smallest epsilon that meets the target, or None.
    target, level, assurance, attacker_prior, n
        As given to `bdp.plan`.
    """

    mechanism: str
    copies: int
    epsilon: float
    table: pd.DataFrame = field(repr=False)
    best: Mapping[Key, float | None]
    target: float
    level: float
    assurance: float | None
    attacker_prior: float
    n: Any
    least: float = field(repr=False)

    @property
    def chosen(self) -> pd.Series[Any]:
        """The table's row of the chosen design."""
        rows = self.table[
            (self.table["mechanism"] == self.mechanism)
            & (self.table["copies"] == self.copies)
            & (self.table["epsilon"] == self.epsilon)
        ]
        return rows.iloc[0]

    @property
    def criterion(self) -> str:
        """Name of the column that is compared with the target."""
        return "width" if self.assurance is None else "assured"

    def why(self) -> str:
        """Explain the result and its privacy cost in plain sentences."""
        row = self.chosen
        times = "" if self.copies == 1 else f" in {self.copies} copies"
        size = f"With {self.n} records, " if isinstance(self.n, int) else ""
        length = "on average" if self.assurance is None else f"in {self.assurance:.0%} of releases"
        length = f"{row[self.criterion]:.4g} long " + (
            length if self.assurance is None else f"or shorter {length}"
        )
        among = f"the cheapest of {len(self.best)} designs" if len(self.best) > 1 else "enough"
        said = (
            f"{size}{self.mechanism}{times} is {among}: at epsilon = {shown_up(self.epsilon)}"
            + (f", delta = {shown_up(row['delta'])}" if row["delta"] else "")
            + f" ({row['neighbours']}) the {100 * self.level:g}% interval is {length}, "
        )
        # To tell two values of a record apart under add_remove, it takes that factor twice.
        unknown = row["neighbours"] == Neighbours.ADD_REMOVE
        about = "that a record is there" if unknown else "about a record"
        if row["ratio"] == row["ratio"]:
            said += f"{row['ratio']:.3g} times what it is without privacy, "
        said += (
            f"and covers with probability {row['coverage']:.3f}; an attacker's odds {about} "
            f"grow by a factor of at most {shown_up(row['odds'], 3)}"
        )
        if row["odds_failure"]:
            said += f", except with probability {shown_up(row['odds_failure'], 3)}"
        said += f", from probability {self.attacker_prior:g} to {shown_up(row['attacker'], 3)}."
        if row["how"] == "simulated":
            said += (
                f" The length is simulated, with standard error {row['width_se']:.2g}, and meets "
                f"the target with {SURE:g} of them to spare."
            )
        if self.epsilon == self.least:
            said += " That is the smallest epsilon considered: a smaller one may do."
        return said[0].upper() + said[1:] if size else said

    def __repr__(self) -> str:
        return (
            f"<Plan: {one_line(self.mechanism)}, {count_of(self.copies, 'copy')}, epsilon = "
            f"{shown_up(self.epsilon)}, of {count_of(len(self.best), 'design')}>"
        )

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        row = self.chosen
        found = sorted(self.best.items(), key=lambda each: (each[1] is None, each[1]))
        designs = [
            {
                "mechanism": name,
                "copies": copies,
                "smallest epsilon": "none" if epsilon is None else shown_up(epsilon, 4),
            }
            for (name, copies), epsilon in found
        ]
        return card(
            "Plan",
            {
                "mechanism": self.mechanism,
                "copies": self.copies,
                "epsilon": shown_up(self.epsilon),
                "target": f"{self.criterion} {self.target:.4g}",
                "found": f"{row[self.criterion]:.4g} ({row['how']})",
                "interval": f"{100 * self.level:g}%",
            },
            rows=designs if len(designs) > 1 else (),
            words=self.why(),
        )

    def plot(self, axes: Axes | None = None) -> Axes:
        """Plot the risk-utility map: length of the interval against epsilon, a line per design.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure, ``plan.plot().figure``.

        Returns
        -------
        matplotlib Axes
        """
        from bayesdp.evaluation.planning.plot import plot_plan

        return plot_plan(
            self.table,
            self.chosen,
            self.best,
            criterion=self.criterion,
            target=self.target,
            level=self.level,
            assurance=self.assurance,
            attacker_prior=self.attacker_prior,
            axes=axes,
        )


def found_plan(
    known: Mapping[Key, Mapping[float, Outlook]],
    best: Mapping[Key, float | None],
    bare: Lengths | None,
    *,
    n: Any,
    target: float,
    level: float,
    assurance: float | None,
    attacker_prior: float,
    least: float,
) -> Plan:
    """Make the plan from each design's outlook; at least one of them meets the target."""
    import pandas as pd

    length = None if bare is None else criterion_of(bare, assurance)
    rows = [
        _row(key, epsilon, seen, length, target, attacker_prior)
        for key, outlooks in known.items()
        for epsilon, seen in sorted(outlooks.items())
    ]
    order = [
        (epsilon, key[1], known[key][epsilon].safe, key)
        for key, epsilon in best.items()
        if epsilon is not None
    ]
    epsilon, copies, _, (mechanism, _) = min(order)
    return Plan(
        mechanism,
        copies,
        epsilon,
        pd.DataFrame(rows, columns=list(COLUMNS)),
        best,
        target,
        level,
        assurance,
        attacker_prior,
        n,
        least,
    )


def _row(
    key: Key, epsilon: float, seen: Outlook, bare: float | None, target: float, prior: float
) -> dict[str, Any]:
    gain = attacker(seen.guarantee, prior, seen.advantage)
    length = seen.width if seen.assured != seen.assured else seen.assured
    nothing = float("nan")
    return {
        "mechanism": key[0],
        "copies": key[1],
        "epsilon": epsilon,
        "delta": seen.guarantee.delta,
        "neighbours": seen.guarantee.neighbours.value,
        "width": seen.width,
        "width_se": seen.width_se,
        "assured": seen.assured,
        "coverage": seen.coverage,
        "coverage_se": seen.coverage_se,
        "without_privacy": nothing if bare is None else bare,
        "ratio": nothing if bare is None else length / bare,
        "odds": gain.odds,
        "odds_failure": gain.failure,
        "attacker": gain.posterior,
        "advantage": gain.advantage,
        "meets": seen.safe <= target,
        "how": seen.how,
    }
