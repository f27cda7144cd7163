"""A release: its parts, their joint promise, and how it is saved and loaded."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from bayesdp.checks import check_delta, check_flag, check_one_of, check_path
from bayesdp.errors import InvalidInput, quoted
from bayesdp.mechanisms.base import (
    AnyGuarantee,
    Declared,
    Mechanism,
    check_mechanism,
    joint_guarantee,
)
from bayesdp.mechanisms.randomness import is_reproducible
from bayesdp.privacy.accounting import STRENGTHS
from bayesdp.privacy.composition import one_of
from bayesdp.privacy.guarantee import Guarantee, Strength, shown_up
from bayesdp.release.manifest import (
    Label,
    MechanismEntry,
    Origin,
    check_apart,
    check_label,
    check_names,
)
from bayesdp.release.parts import Part

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Release:
    """Released outputs and how they were made; nothing confidential.

    Make one with a synthesizer, `Release.of`, `Release.of_copies`, `Release.of_groups` or
    `Release.load`.

    Attributes
    ----------
    parts : tuple of Part
        One for each group, or a single one whose group is None. The parts' records are disjoint.
    variable : str
        Name of the variable that was counted, for tables and reports.
    by : str or None
        Name of the grouping variable.
    delta : float
        The delta, in [0, 1), at which the guarantee is stated. Pure mechanisms need none; one that
        has a privacy profile promises its smallest epsilon at this delta.
    origin : {"bayesdp", "elsewhere"}
        Whether a synthesizer of this package drew the outputs.
    reproducible : bool
        Whether the outputs were drawn from a seeded generator, and so promise nothing.

    Raises
    ------
    InvalidInput
        If the parts don't fit together: copies, labels, public and confidential n.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.mechanisms.BetaBinomialMechanism(n=100, size=100, prior=(16, 16))
    >>> release = bdp.Release.of(made, [38], variable="ill")
    >>> len(release.to_frames()[0]), release.copies
    (100, 1)
    """

    parts: tuple[Part, ...]
    variable: str = "value"
    by: str | None = None
    delta: float = 0.0
    origin: Origin = "elsewhere"
    reproducible: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_names(self.variable, self.by)
        check_one_of("origin", self.origin, get_args(Origin))
        check_flag("reproducible", self.reproducible)
        if not self.parts:
            raise InvalidInput("parts is empty; a release has at least one mechanism and output")
        if not self.parts[0].outputs:
            raise InvalidInput("outputs is empty; give one output per copy, for example [38]")
        if len({len(part.outputs) for part in self.parts}) > 1:
            raise InvalidInput("outputs differ in number between groups; each needs all copies")
        if len({part.group for part in self.parts}) < len(self.parts):
            raise InvalidInput(f"groups are {list(self.groups)}; each must appear once")
        check_apart(self.groups)
        if (self.by is None) != (self.groups == (None,)):
            raise InvalidInput("by names the groups: give it with groups, and only then")
        if len({part.mechanism.n is None for part in self.parts}) > 1:
            raise InvalidInput("n is public in some groups and confidential in others; choose one")

    @classmethod
    def of(
        cls,
        mechanism: Mechanism | Declared,
        outputs: Sequence[Any],
        *,
        variable: str = "value",
        delta: float = 0.0,
    ) -> Release:
        """Make a release from a mechanism and its outputs, which were drawn elsewhere.

        Parameters
        ----------
        mechanism : Mechanism or Declared
            How each output was randomised, with its public parameters. A declaration without the
            data's shape, such as `bdp.synthesizers.EdgeFlipSynthesizer(epsilon=3.0)`, takes the
            shape from the first output.
        outputs : sequence
            One output per copy.
        variable : str
            Name of the variable that was counted.
        delta : float
            The delta, in [0, 1), at which the guarantee is stated.

        Raises
        ------
        InvalidInput
            If there is no output, or the mechanism can't have released one of them.
        """
        if isinstance(mechanism, Declared):
            if not len(outputs):
                raise InvalidInput("outputs is empty; give one output per copy")
            mechanism = one_of(mechanism, len(outputs)).mechanism_like(outputs[0])
        one: Any = {None: (mechanism, outputs)}
        return cls.of_groups(one, by=None, variable=variable, delta=delta)

    @classmethod
    def of_groups(
        cls,
        parts: Mapping[Any, tuple[Mechanism, Sequence[Any]]],
        *,
        by: str | None = "group",
        variable: str = "value",
        delta: float = 0.0,
        origin: Origin = "elsewhere",
    ) -> Release:
        """Make a release of disjoint groups from each label's mechanism and outputs."""
        if not isinstance(parts, Mapping) or not all(
            isinstance(each, Sequence) and len(each) == 2 for each in parts.values()
        ):
            raise InvalidInput(
                f"parts is {quoted(parts)}; it must map each group's label to two things, its "
                "mechanism and its outputs: {'north': (mechanism, [38])}"
            )
        return cls(
            tuple(
                Part(
                    None if by is None else check_label(label),
                    check_mechanism(mechanism),
                    tuple(_checked(mechanism, z) for z in _listed(outputs)),
                )
                for label, (mechanism, outputs) in parts.items()
            ),
            variable=variable,
            by=by,
            delta=delta,
            origin=origin,
            reproducible=is_reproducible(),
        )

    @classmethod
    def of_copies(
        cls,
        frames: Any,
        mechanism: Mechanism | Mapping[Any, Mechanism],
        *,
        column: str | None = None,
        by: str | None = None,
        delta: float = 0.0,
    ) -> Release:
        """Make a release from copies of synthetic records that another program published.

        What is wanted of the program is its law: that each copy was drawn as the mechanism says,
        with these public parameters. Where mechanisms here have that law, models read the copies.

        Parameters
        ----------
        frames : DataFrame, Series, array_like, sequence of these, or path
            The copies, one or several: a table with a row for each synthetic record, or its one
            column; or a folder with a .csv or .parquet file for each. The rows' order says nothing.
        mechanism : Mechanism, or mapping of Mechanism
            How each copy was drawn; or each group's, by its label, where they differ.
        column : str, optional
            The column of the records, where a record is one number or label and tables have more
            columns. Where it has several, their names are the mechanism's.
        by : str, optional
            The column of the groups' labels, if each group was released on its own.
        delta : float
            The delta, in [0, 1), at which the guarantee is stated.

        Returns
        -------
        Release
            With origin "elsewhere": that the copies were drawn as the mechanism says is an
            assumption of its guarantee.

        Raises
        ------
        InvalidInput
            If the mechanism releases no synthetic records, can't have released these, or a copy
            lacks a column or a group.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> import pandas as pd
        >>> made = bdp.mechanisms.BetaBinomialMechanism(n=6, size=5, prior=(2.0, 2.0))
        >>> copies = [pd.DataFrame({"ill": ones}) for ones in ([0, 1, 1, 0, 0], [1, 1, 0, 1, 0])]
        >>> release = bdp.Release.of_copies(copies, made)
        >>> release.outputs, release.variable
        ((2, 3), 'ill')
        """
        from bayesdp.release.copies import parts_of

        variable, parts = parts_of(frames, mechanism, column, by)
        return cls.of_groups(parts, by=by, variable=variable, delta=delta)

    @classmethod
    def from_noisy_tables(
        cls,
        frames: Mapping[str, pd.DataFrame] | Sequence[pd.DataFrame] | str | Path,
        *,
        noise: str,
        scale: float,
        neighbours: str = "add_remove",
        exact: int | pd.DataFrame | None = None,
        absent: str = "refused",
        delta: float = 0.0,
    ) -> Release:
        """Make a release from tables of noisy counts that were published elsewhere.

        Each table has a column `count`, and columns of categories by which records were counted:
        a marginal of the table of all columns. Every count has independent integer noise of one
        law, and is given as it was drawn. A hierarchy of areas is a table for each level, which has
        the columns of the levels above too (state; state and county): with ``absent="impossible"``,
        a county is in the states that it has a row with, and in no other.

        Parameters
        ----------
        frames : mapping of str to DataFrame, sequence of DataFrame, or path
            The tables, or a folder with a .csv or .parquet file for each, where a column with codes
            such as 01 is of texts.
        noise : {"laplace", "gaussian"}
            The law of the noise, on the integers: discrete Laplace or discrete Gaussian.
        scale : float
            Its scale, in records: t where Pr[k] is proportional to exp(-abs(k) / t), or sigma of
            the Gaussian.
        neighbours : Neighbours
            Relation that the release promises under: add/remove-one or replace-one of a record.
        exact : int or DataFrame, optional
            The number of all records, where it is held exact; or the exact numbers of disjoint
            groups, such as states, in a column of their labels and one of `count`. Each group is
            then one of the release, and all tables must have its column. Exact numbers are public:
            ``neighbours`` must be replace-one.
        absent : {"refused", "impossible"}
            What a combination is that a table has no row for: a mistake, or one where, by a public
            rule, no record can be.
        delta : float
            The delta, in [0, 1), at which the guarantee is stated.

        Returns
        -------
        Release
            Of a `NoisyMarginalsMechanism`, for each group, with origin "elsewhere": that the noise
            is as said is an assumption of its guarantee. Sums that it hardly explains warn.

        Raises
        ------
        InvalidInput
            If a table isn't of this kind; tables' rows contradict each other; there are more than
            1,000,000 combinations of all columns; or counts are held exact otherwise.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesdp as bdp
        >>> county = pd.DataFrame(
        ...     {"state": list("AABB"), "county": [1, 2, 3, 4], "count": [812, 95, 410, -3]}
        ... )
        >>> state = pd.DataFrame({"state": ["A", "B"], "count": [903, 412]})
        >>> noisy = {"noise": "gaussian", "scale": 4.0, "absent": "impossible", "delta": 1e-6}
        >>> print(bdp.Release.from_noisy_tables([county, state], **noisy).guarantee)
        epsilon = 1.59876, delta = 1e-06 (add_remove, conditional)
        >>> exact = bdp.Release.from_noisy_tables(
        ...     [county], exact=state, neighbours="replace_one", **noisy
        ... )
        >>> exact.groups, exact["A"].mechanism.n
        (('A', 'B'), 903)
        """
        from bayesdp.release.noisy_tables import parts_of

        fields = {"noise": noise, "scale": scale, "neighbours": neighbours}
        by, parts = parts_of(frames, exact, absent, fields)
        return cls.of_groups(parts, by=by, delta=delta)

    @classmethod
    def from_opendp(
        cls,
        table: Any,
        *,
        noise: str,
        algorithm: str,
        missing: str = "missing",
        delta: float = 0.0,
    ) -> Release:
        """Make a release from OpenDP's contingency table of marginals that were fixed beforehand.

        OpenDP 0.16 adds exact discrete noise to the integer counts: discrete Laplace noise where
        privacy is measured by epsilon, discrete Gaussian noise where it is by rho, without the
        lattice by which its noise on floats is coarser. So the law is `NoisyMarginalsMechanism`'s,
        and its guarantee about a record, a row of the table, is what OpenDP's `map` says for one
        contribution; where a person has k rows, OpenDP's promise about persons is for k of them.

        Parameters
        ----------
        table : opendp.extras.mbi.ContingencyTable
            Released by a query's `contingency_table`, with keys or cuts for all columns. Columns
            that no query counts by are left out. Neither its model nor its cuts are read; the
            labels of cuts are categories, such as "(30.0, 60.0]".
        noise : {"laplace", "gaussian"}
            The noise's law, which the table doesn't say: "laplace" where the budget was an epsilon,
            "gaussian" where it was a rho.
        algorithm : {"fixed"}
            How the marginals were chosen, which the table doesn't say either: by ``dp.mbi.Fixed``,
            of one weight, so that all have noise of one scale.
        missing : str
            Label of missing values and of those that aren't among a column's keys. Of a column of
            cuts OpenDP counts missing values in the last interval: there is no label of them.
        delta : float
            The delta, in [0, 1), at which the guarantee is stated.

        Returns
        -------
        Release
            Of a `NoisyMarginalsMechanism`, under add/remove-one, with origin "elsewhere".

        Raises
        ------
        InvalidInput
            If it isn't such a table: marginals chosen by the records (AIM, MST), keys found in
            them, several scales, counts that aren't whole or at an end of the range of i32; or if
            there are more than 1,000,000 combinations of all columns.
        """
        from bayesdp.release import opendp
        from bayesdp.release.noisy_tables import mechanism_and_output, warned_of

        opendp.check_table(table, algorithm)
        scale = opendp.scale_of(table, noise)
        axes = opendp.measured_axes(table, missing)
        tables = opendp.measured_tables(table, axes)
        made, output = mechanism_and_output(axes, tables, scale=scale, noise=noise)
        return cls.of_groups(warned_of({None: (made, [output])}, 2), by=None, delta=delta)

    @property
    def copies(self) -> int:
        """Number of copies, the same in every group."""
        return len(self.parts[0].outputs)

    @property
    def groups(self) -> tuple[Label, ...]:
        """Labels of the groups; (None,) where there are none."""
        return tuple(part.group for part in self.parts)

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism of a release without groups."""
        return self._only.mechanism

    @property
    def outputs(self) -> tuple[Any, ...]:
        """The outputs, one for each copy, of a release without groups."""
        return self._only.outputs

    @property
    def _only(self) -> Part:
        if len(self.parts) > 1:
            raise InvalidInput(
                f"this release has {len(self.parts)} groups; take one, for example "
                f"release[{quoted(self.groups[0])}] or `--group`, or loop over release.parts"
            )
        return self.parts[0]

    def __getitem__(self, label: Label) -> Release:
        """The release of one group alone."""
        for part in self.parts:
            if part.group == label:
                alone = dataclasses.replace(part, group=None)
                return dataclasses.replace(self, parts=(alone,), by=None)
        raise InvalidInput(f"group is {quoted(label)}; this release has {list(self.groups)}")

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    @cached_property
    def guarantee(self) -> AnyGuarantee:
        """The guarantee of all outputs together about the confidential data.

        Composed over the groups by `joint_guarantee`; a seeded release promises nothing. For an
        exact statistic it is a `bdp.distributional.DistributionalGuarantee`.
        """
        mechanisms = [part.mechanism for part in self.parts]
        promise: AnyGuarantee = mechanisms[0].guarantee(copies=self.copies, delta=self.delta)
        if len(mechanisms) > 1:
            promise = joint_guarantee(mechanisms, self.copies, self.delta)
        if self.reproducible:
            note = "Drawn from a seeded generator, for tests and studies: no promise."
            nothing = dataclasses.replace(promise, epsilon=math.inf, assumptions=(note,))
            return (
                dataclasses.replace(nothing, rho=None)
                if isinstance(nothing, Guarantee)
                else nothing
            )
        if self.origin == "elsewhere":
            note = "The outputs were drawn elsewhere, exactly as the mechanism says."
            # A claim that is only published gets no surer by that.
            strength = max(promise.strength, Strength.CONDITIONAL, key=STRENGTHS.index)
            return dataclasses.replace(
                promise, strength=strength, assumptions=(*promise.assumptions, note)
            )
        return promise

    def __repr__(self) -> str:
        from bayesdp.display.words import count_of, listed

        names = listed(dict.fromkeys(part.mechanism.name for part in self.parts))
        return f"<Release of {self._title()}: {names}, {count_of(self.copies, 'copy')}>"

    def _title(self) -> str:
        """The variable and, where there are any, the groups."""
        from bayesdp.display.words import count_of, one_line

        if self.by is None:
            return one_line(self.variable)
        groups = count_of(len(self.parts), "group")
        return f"{one_line(self.variable)} in {groups} by {one_line(self.by)}"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card
        from bayesdp.display.words import listed

        promise = self.guarantee
        sizes = [n for part in self.parts if (n := part.mechanism.n) is not None]
        public = f"{sum(sizes):,}, public" if len(sizes) == len(self.parts) else "not told"
        return card(
            f"Release of {self._title()}",
            {
                "mechanism": listed(dict.fromkeys(part.mechanism.name for part in self.parts)),
                "copies": f"{self.copies:,}",
                "groups": listed(self.groups) if self.by is not None else None,
                "records": public,
                "epsilon": None if self.reproducible else shown_up(promise.epsilon),
                "delta": None if self.reproducible else shown_up(promise.delta, 3),
                "strength": None if self.reproducible else promise.strength.value,
                "drawn": "by bayesdp" if self.origin == "bayesdp" else "elsewhere, as declared",
            },
            warning="Drawn from a seeded generator, for tests and studies: it promises nothing."
            if self.reproducible
            else "",
        )

    def to_frames(self) -> list[pd.DataFrame]:
        """Return the synthetic records, or the released numbers, as one DataFrame for each copy.

        Columns are `variable` and, where there are groups, `by`; a mechanism of whole tables has
        its own columns instead of `variable`. The order of the rows carries no information: groups
        are in their order, and rows are sorted within each.
        """
        from bayesdp.release.frames import frames

        return frames(self.parts, self.variable, self.by)

    def plot(self, ax: Axes | None = None, *, column: str | None = None) -> Axes:
        """Plot what was released, as it is: its noise and its mechanism aren't accounted for.

        Named numbers are shown as they are; of synthetic records the share of each value, or where
        there are more than 12 numbers the share up to each; of networks the ties. Copies are marks
        beside each other, and groups have rows or colours of their own.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default the axes of a new figure.
        column : str, optional
            The column of `to_frames` to show, where records have several.

        Returns
        -------
        matplotlib Axes

        Raises
        ------
        InvalidInput
            If there is no such column, or `ax` is anything else.

        Examples
        --------
        >>> import bayesdp as bdp
        >>> made = bdp.mechanisms.DiscreteLaplaceMechanism(scale=2.0)
        >>> bdp.Release.of(made, [38, 41], variable="ill").plot().get_xlabel()
        'ill, as released; 2 copies'
        """
        from bayesdp.release.plot import plot_frames

        return plot_frames(ax, self.to_frames(), self.by, self.variable, column)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of what was released and how; the same for a saved and loaded copy."""
        from bayesdp.release.frames import listed

        content = [
            [part.group, MechanismEntry.of(part.mechanism).model_dump(), listed(part)]
            for part in self.parts
        ]
        return hashlib.sha256(json.dumps([self.by, content]).encode()).hexdigest()

    def save(self, folder: str | Path, *, force: bool = False, key: bytes | None = None) -> Path:
        """Write the release as a folder: `manifest.json` and `outputs.parquet`.

        The folder appears whole or not at all, even if the process is killed. The manifest holds
        a hash of itself and of the table, which reveals damage and careless edits; whoever edits it
        on purpose can compute a new hash. A signature can't be made without its key.

        Parameters
        ----------
        folder : path
            Where to write it. It must not exist, unless `force` is true.
        force : bool
            Whether to replace an older release there.
        key : bytes, optional
            A secret of at least 16 bytes, for example ``secrets.token_bytes(32)``, to sign the
            release with (HMAC-SHA256). Anybody who has it can check releases, and also sign them.

        Raises
        ------
        ReleaseExists
            If the folder exists; with `force`, if it isn't a release.
        InvalidInput
            If `key` isn't such a secret, or `folder` no path.
        """
        from bayesdp.release.folder import write

        return write(self, check_path("folder", folder), force=force, key=key)

    @classmethod
    def load(cls, folder: str | Path, *, key: bytes | None = None) -> Release:
        """Read a release folder and check all of it.

        Parameters
        ----------
        folder : path
            A folder written by `save`, in this or an older version of the format.
        key : bytes, optional
            The key that the release must be signed with. Without it only the hash is checked, which
            anybody who changes a release can compute anew; a release of version 1 has no hash.

        Raises
        ------
        InvalidRelease
            If a file is missing or damaged, the manifest or the outputs don't match their
            hash or the key's signature, the outputs can't come from their mechanism, the version
            is newer, or the promise written down isn't the one that the mechanisms give.
        InvalidInput
            If `folder` is no path.
        """
        from bayesdp.release.folder import read

        return read(cls, check_path("folder", folder), key)


def _checked(mechanism: Mechanism, output: Any) -> Any:
    if axes := getattr(mechanism, "axes", None):
        from bayesdp.core.axis import check_order

        check_order("output", output, axes)
    return mechanism.check_output(output)


def _listed(outputs: Any) -> Any:
    """Return outputs if there may be several, else raise InvalidInput."""
    if not isinstance(outputs, Iterable) or isinstance(outputs, Mapping | Set):
        raise InvalidInput(
            f"outputs is {quoted(outputs)}; give a list of one output per copy, for example [38]"
        )
    return outputs
