r"""A promise about a class of laws of the data: distributional and coupled-worlds privacy.

Differential privacy holds whatever the adversary knows. A distributional promise holds against one
who knows no more than the class of laws says: the data X and their own knowledge Z come from one of
the laws in the class. Where an adversary knows more, it says nothing.

It is therefore not a `Guarantee`, and never composes with one. Two exact sums, of all records and
of all but one, may each keep a promise; together they reveal a record.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from numbers import Integral
from typing import Any, Self

from bayesdp.checks import is_number
from bayesdp.errors import InvalidInput, quoted
from bayesdp.privacy.guarantee import Strength, shown_up


class Definition(StrEnum):
    """Definition of privacy: which two worlds are compared, and how (Groce 2014, chapter 5)."""

    COUPLED_WORLDS = "coupled_worlds"
    """Definition 5.5: the release, given what is private and what the adversary knows, against a
    simulator's that sees the scrubbed data."""
    DISTRIBUTIONAL = "distributional"
    """Definition 5.3: the same, where one part of the data is private and is scrubbed whole."""
    INFERENCE_BASED = "inference_based"
    """Definition 5.4: the adversary's posterior of what is private, in the same two worlds."""
    NOISELESS = "noiseless"
    """Definition 5.7: the release given one value of a record, against that given another."""
    PUFFERFISH = "pufferfish"
    """Definition 5.8: the release given that a secret is true, against that given it is false."""


class Level(StrEnum):
    """Level of protection: whose part of the data is protected (Groce 2014, section 5.3)."""

    RECORD = "record"
    """One record."""
    ATTRIBUTE = "attribute"
    """A record's private attributes; its others are public."""
    GROUP = "group"
    """A record, in a world where its whole group did not take part."""
    NODE = "node"
    """A node of a network, with its ties."""


@dataclass(frozen=True, slots=True)
class LawClass:
    """A class of laws of (X, Z) as data: its name and its public parameters.

    Parameters
    ----------
    name : str
        For example "uniform_records".
    parameters : sequence of (str, value)
        Values are None, strings, booleans, finite numbers, or sequences of these.

    Raises
    ------
    InvalidInput
        If the name isn't a string, a parameter can't be written as JSON, or one appears twice.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInput(
                f"name is {quoted(self.name)}; it must be a string, such as 'uniform_records'"
            )
        try:
            pairs = tuple((str(key), _plain(value)) for key, value in self.parameters)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"parameters is {quoted(self.parameters)}; it must be pairs of a name and a value "
                "made of strings, booleans, finite numbers, None and sequences of these"
            ) from None
        if len({key for key, _ in pairs}) < len(pairs):
            raise InvalidInput(
                f"parameters has the names {[k for k, _ in pairs]}; each may appear only once"
            )
        object.__setattr__(self, "parameters", pairs)

    @classmethod
    def of(cls, name: str, **parameters: Any) -> Self:
        """Make a class of laws from its name and its public parameters."""
        return cls(name, tuple(parameters.items()))

    def knowing(self, what: str) -> LawClass:
        """The class of the same laws of the data, against an adversary who has also seen `what`."""
        return LawClass(self.name, (*self.parameters, (f"knowing {what}", True)))

    def __getitem__(self, name: str) -> Any:
        """Return a parameter of the class by its name."""
        return dict(self.parameters)[name]


@dataclass(frozen=True, slots=True)
class DistributionalGuarantee:
    """An (epsilon, delta) promise about every law of a class, and about no other.

    Attributes
    ----------
    epsilon, delta : float
        epsilon in [0, inf], delta in [0, 1].
    class_in_words : str
        The class of laws of the data and of what an adversary knows, for the reader of a report.
    class_as_data : LawClass
        That class as data.
    known_records : int
        How many records the adversary may know, whichever they are.
    definition : Definition
        Which two worlds epsilon and delta compare.
    level : Level
        Whose part of the data is protected.
    strength : Strength
        How sure it is.
    assumptions : tuple of str
        What must hold, besides the class, for the promise to hold.
    source : str
        Where the claim is proved: paper and theorem, or the docstring.

    Raises
    ------
    InvalidInput
        If a field is out of its range.

    Notes
    -----
    It isn't differential privacy: a ledger, `bdp.compose` and every accountant refuse it. Anything
    computed from the release alone keeps it (Groce 2014, Theorem 5.3).
    """

    epsilon: float
    delta: float
    class_in_words: str
    class_as_data: LawClass
    known_records: int = 0
    definition: Definition = Definition.DISTRIBUTIONAL
    level: Level = Level.RECORD
    strength: Strength = Strength.PROVED
    assumptions: tuple[str, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        if not (is_number(self.epsilon) and self.epsilon >= 0):
            raise InvalidInput(
                f"epsilon is {quoted(self.epsilon)}; it must be a number from 0 to inf"
            )
        if not (is_number(self.delta) and 0 <= self.delta <= 1):
            raise InvalidInput(f"delta is {quoted(self.delta)}; it must be a number from 0 to 1")
        checked: dict[str, Any] = {
            "epsilon": float(self.epsilon),
            "delta": float(self.delta),
            "class_as_data": _law_class(self.class_as_data),
            "known_records": check_known_records(self.known_records),
            "definition": _member(Definition, "definition", self.definition),
            "level": _member(Level, "level", self.level),
            "strength": _member(Strength, "strength", self.strength),
            "assumptions": tuple(self.assumptions),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def __str__(self) -> str:
        delta = "" if self.delta == 0 else f", delta = {shown_up(self.delta, 3)}"
        kind = "" if self.definition is Definition.DISTRIBUTIONAL else f" {self.definition.value}"
        known = f"{self.known_records} record{'' if self.known_records == 1 else 's'} known"
        return (
            f"distributional epsilon = {shown_up(self.epsilon)}{delta} "
            f"({self.level.value},{kind and kind + ','} {known}, {self.strength.value})"
        )

    def __repr__(self) -> str:
        return f"<DistributionalGuarantee: {self}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import card

        return card(
            "Distributional guarantee",
            {
                "epsilon": shown_up(self.epsilon),
                "delta": shown_up(self.delta, 3),
                "protects": f"one {self.level.value}",
                "definition": self.definition.value,
                "records known to an attacker": f"{self.known_records:,}",
                "strength": self.strength.value,
                "source": self.source,
            },
            words=f"Laws of the data: {self.class_in_words}",
            warning="This is not differential privacy: to an attacker who knows more than these "
            "laws say, it promises nothing.",
            folded=("It assumes", self.assumptions),
        )


def check_known_records(known: Any, n: int | None = None) -> int:
    """Return the number of records that an adversary may know, or raise InvalidInput.

    Parameters
    ----------
    known : int
        At least 0 and, where `n` is given, below it.
    n : int, optional
        The number of records.
    """
    if isinstance(known, bool) or not isinstance(known, Integral) or int(known) < 0:
        raise InvalidInput(
            f"known_records is {quoted(known)}; it must be a whole number, at least 0"
        )
    if n is not None and int(known) >= n:
        raise InvalidInput(
            f"known_records is {quoted(known)}, but there are {n} records; an adversary who knows "
            f"all of them but one learns that one from any exact statistic: give at most {n - 1}"
        )
    return int(known)


def refuse_distributional(promise: Any, what: str) -> None:
    """Raise InvalidInput if `promise` is distributional; `what` would need a plain one."""
    if isinstance(promise, DistributionalGuarantee):
        raise InvalidInput(
            f"the promise is distributional ({promise}): it holds only for an adversary who knows "
            "no more than its class of laws says, and another release about the same records is "
            f"such knowledge. So it can't enter {what}, which is of differential privacy. Keep it "
            "beside; bdp.distributional.compose_guarantees says when two distributional promises "
            "add up"
        )


def check_coupled(guarantee: Any, what: str) -> None:
    """Raise InvalidInput unless `guarantee` is a promise with a simulator."""
    if not isinstance(guarantee, DistributionalGuarantee):
        raise InvalidInput(
            f"{what} is given a {type(guarantee).__name__}; it takes a DistributionalGuarantee "
            "(promises of differential privacy have bdp.compose)"
        )
    if guarantee.definition not in (Definition.COUPLED_WORLDS, Definition.DISTRIBUTIONAL):
        raise InvalidInput(
            f"the guarantee is {quoted(guarantee.definition.value)}, of which {what} isn't true or "
            "isn't known; it takes promises with a simulator, 'coupled_worlds' or 'distributional'"
        )


def _plain(value: Any) -> Any:
    """A value as JSON gives it back, sequences as tuples."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if is_number(value):
        if not math.isfinite(value):
            raise ValueError("not finite")
        return float(value)
    if isinstance(value, Sequence):
        return tuple(_plain(each) for each in value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    raise TypeError(type(value).__name__)


def _law_class(given: Any) -> LawClass:
    if isinstance(given, LawClass):
        return given
    if isinstance(given, Mapping) and set(given) == {"name", "parameters"}:
        return LawClass(**given)
    raise InvalidInput(f"class_as_data is {quoted(given)}; it must be a LawClass")


def _member(kind: type[Any], name: str, value: Any) -> Any:
    try:
        return kind(value)
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in kind)
        raise InvalidInput(f"{name} is {quoted(value)}; it must be one of {allowed}") from None
