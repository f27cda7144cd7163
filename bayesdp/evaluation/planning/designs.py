"""The designs that a plan compares: a way to release and a number of copies, at any epsilon."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning.count_designs import DESIGNS
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.release import Release
from bayesdp.synthesis.publish import publish

COPIES = (1, 5, 20)


@dataclasses.dataclass(frozen=True)
class Design:
    """Design of a release: a way to release and a number of copies.

    Attributes
    ----------
    name : str
    copies : int
    delta : float
        The delta at which its promise is stated.
    make : callable
        Returns a synthesizer or a mechanism that costs a given epsilon.
    named : bool
        Whether it is one of `DESIGNS`, and takes its mechanism's statistic as data.
    """

    name: str
    copies: int
    delta: float
    make: Callable[[float], Any]
    named: bool = False

    @property
    def key(self) -> tuple[str, int]:
        """Key of the design: its name and its number of copies."""
        return self.name, self.copies

    def release(self, made: Any, data: Any) -> Release:
        """Release data by the synthesizer or mechanism that `make` returned."""
        if is_mechanism(made):
            return publish(made, data, copies=self.copies, delta=self.delta)
        release: Release = made.release(data)
        return release


def is_mechanism(made: Any) -> bool:
    """Return True for a mechanism, which takes a statistic and not records."""
    return hasattr(made, "logp") and hasattr(made, "check_statistic")


def promise(mechanisms: Sequence[Any], copies: int, delta: float, asked: float) -> Guarantee:
    """Return the mechanisms' own promise, pure if possible; refuse one above the epsilon asked."""
    pure = joint_guarantee(mechanisms, copies, 0.0)
    within = pure.delta == 0 and pure.epsilon <= asked * (1 + 1e-9)
    promised = pure if within else joint_guarantee(mechanisms, copies, delta)
    if not promised.epsilon <= asked * (1 + 1e-9):
        raise InvalidInput(
            f"mechanisms: what was made for epsilon = {quoted(asked)} promises epsilon = "
            f"{quoted(promised.epsilon)}, which is more; calibrate to the epsilon that is given, "
            "and give delta= where it needs one"
        )
    return promised


def designs_of(model: Any, n: Any, mechanisms: Any, copies: Any, delta: float) -> list[Design]:
    """The designs to compare, in the order given.

    Raises
    ------
    InvalidInput
        If a mechanism has no such name, or isn't one.
    """
    if copies is not None:
        several = isinstance(copies, Iterable) and not isinstance(copies, str)
        listed = copies if several else [copies]
        copies = sorted({check_at_least_one("copies", each) for each in listed})
        if not copies:
            raise InvalidInput("copies is empty; give numbers of copies, as (1, 5, 20)")
    if mechanisms is None:
        offered = _offered(model, delta)
        if not offered:
            raise InvalidInput(
                f"mechanisms is missing; for a {type(model).__name__} give synthesizers that it "
                "reads, with the data's bounds, at any epsilon: "
                "mechanisms=[bdp.ModipsSynthesizer(family=..., epsilon=1)]"
            )
        mechanisms = offered
    if isinstance(mechanisms, Mapping):
        pairs = list(mechanisms.items())
    elif isinstance(mechanisms, Sequence) and not isinstance(mechanisms, str):
        pairs = [(_name_of(item), item) for item in mechanisms]
    else:
        pairs = [(_name_of(mechanisms), mechanisms)]
    if not pairs:
        raise InvalidInput(f"mechanisms is empty; give one or more, as {DESIGNS.names()}")
    names = [name for name, _ in pairs]
    if len(set(names)) < len(names):
        raise InvalidInput(
            f"mechanisms has {names}, one name twice; give a mapping with names of your own"
        )
    return [each for name, item in pairs for each in _designs(name, item, model, n, copies, delta)]


def _name_of(item: Any) -> str:
    if isinstance(item, str):
        return item
    return str(getattr(item, "__name__", type(item).__name__))


def _designs(name: str, item: Any, model: Any, n: Any, copies: Any, delta: float) -> list[Design]:
    if isinstance(item, str):
        return _named(name, item, model, n, copies, delta)
    if dataclasses.is_dataclass(item) and not isinstance(item, type):
        fields = {field.name for field in dataclasses.fields(item)}
        if "epsilon" not in fields or not hasattr(item, "release"):
            raise InvalidInput(
                f"mechanisms: a {type(item).__name__} isn't a synthesizer with an epsilon to plan; "
                "give a function of epsilon that returns one, by a name: "
                "mechanisms={'mine': lambda epsilon: ...}"
            )
        if getattr(item, "prior", None) is not None and not hasattr(item, "family"):
            raise InvalidInput(
                f"mechanisms: the {type(item).__name__} has a prior of its own, which may cost "
                "more than a smaller epsilon; leave it out, or give a function of epsilon"
            )
        own = getattr(item, "copies", 1)
        times = (copies or [own]) if "copies" in fields else [1]
        return [
            Design(name, m, float(getattr(item, "delta", 0.0)), _replacing(item, fields, m))
            for m in times
        ]
    if callable(item):
        takes = "copies" in _parameters(name, item)
        times = (copies or COPIES) if takes else [1]
        return [Design(name, m, delta, _calling(name, item, m if takes else None)) for m in times]
    raise InvalidInput(
        f"mechanisms has {quoted(item)}; it must be one of {DESIGNS.names()}, a synthesizer, or a "
        "function of epsilon (and copies) that returns a synthesizer or a mechanism"
    )


def _parameters(name: str, item: Any) -> Mapping[str, Any]:
    parameters = inspect.signature(item).parameters
    if "epsilon" not in parameters:
        raise InvalidInput(
            f"mechanisms: the function {quoted(name)} has the parameters {list(parameters)}; it "
            "must have one called epsilon, and may have one called copies"
        )
    return parameters


def _replacing(item: Any, fields: set[str], copies: int) -> Callable[[float], Any]:
    more = {"copies": copies} if "copies" in fields else {}
    return lambda epsilon: dataclasses.replace(item, epsilon=epsilon, **more)


def _calling(name: str, item: Any, copies: int | None) -> Callable[[float], Any]:
    more = {} if copies is None else {"copies": copies}

    def make(epsilon: float) -> Any:
        made = item(epsilon=epsilon, **more)
        if not is_mechanism(made) and not hasattr(made, "release"):
            raise InvalidInput(
                f"mechanisms: the function {quoted(name)} returned a {type(made).__name__}; it "
                "must return a synthesizer, with release(data), or a mechanism"
            )
        return made

    return make


def _named(label: str, name: str, model: Any, n: Any, copies: Any, delta: float) -> list[Design]:
    known = _known(model)
    design = DESIGNS.find(name, InvalidInput)
    if design is None or model.family not in design.families:
        raise InvalidInput(
            f"mechanisms has {quoted(name)}; for a {type(model).__name__} it must be "
            + (f"one of {known}, or " if known else "")
            + "a synthesizer, such as bdp.ModipsSynthesizer(...), or a function of epsilon that "
            "returns one"
        )
    if not isinstance(n, int):
        raise InvalidInput(
            f"n is {quoted(n)}, but {quoted(name)} is planned with a public number of records; "
            "give the synthesizer that keeps n confidential, as "
            "mechanisms=[bdp.BetaBinomialSynthesizer(epsilon=1, size=1000, public_n=False)] "
            "(--synthesizer 'name = \"beta_binomial\", size = 1000, public_n = false')"
        )
    if design.needs_delta and not delta:
        raise InvalidInput(f"mechanisms has {quoted(name)}, which needs delta, such as 1e-6")
    cells = len(model.prior)
    times = (copies or COPIES) if design.copied else [1]
    return [Design(label, m, delta, design(n, cells, m, delta).make, named=True) for m in times]


def _known(model: Any) -> list[str]:
    """Names of the designs of a model's family."""
    return [name for name, design in DESIGNS.items() if model.family in design.families]


def _offered(model: Any, delta: float) -> list[str]:
    """Names of the designs that are compared by default."""
    return [name for name in _known(model) if delta or not DESIGNS[name].needs_delta]
