"""Base of the two backends of the Stan engine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.engines.stan.programs import Program
from bayesdp.errors import InvalidInput

SAMPLE_STATS = {
    "lp": "lp__",
    "acceptance_rate": "accept_stat__",
    "step_size": "stepsize__",
    "tree_depth": "treedepth__",
    "n_steps": "n_leapfrog__",
    "diverging": "divergent__",
    "energy": "energy__",
}
"""ArviZ's names of the sampler's variables, and Stan's."""

_DTYPES = {"tree_depth": np.int64, "n_steps": np.int64, "diverging": np.bool_}


@dataclass(frozen=True)
class Run:
    """One call of Stan's NUTS, its arguments validated.

    Attributes
    ----------
    data : mapping of str to int, float or nested list of these
        The data block.
    variables : sequence of str
        Names of the variables to return.
    draws, warmup : int
        Iterations of each chain after and during adaptation.
    chains, seed : int
        Number of chains, and the seed they share; Stan tells chains apart by their number.
    adapt_delta : float
        Target acceptance rate of the adaptation.
    max_treedepth : int
        Largest depth of a trajectory's tree.
    metric : str
        "diag_e", "dense_e" or "unit_e".
    inits : list of dict, or None
        Starting values of each chain's parameters, by name.
    thin : int
        Iterations for each draw that is kept.
    parallel_chains : int or None
        Most chains at a time; None for as many as there are cores for.
    threads_per_chain : int or None
        Threads of each chain; None for a program that is compiled without threads.
    progress : bool
        Whether to show progress on the terminal.
    """

    data: Mapping[str, Any]
    variables: Sequence[str]
    draws: int
    chains: int
    warmup: int
    seed: int
    adapt_delta: float
    progress: bool
    max_treedepth: int = 10
    metric: str = "diag_e"
    inits: Sequence[Mapping[str, Any]] | None = None
    thin: int = 1
    parallel_chains: int | None = None
    threads_per_chain: int | None = None


class Backend(Protocol):
    """Protocol of a backend, which compiles Stan programs and runs them."""

    def fingerprint(self) -> dict[str, str]:
        """Fingerprint of everything that a compiled program depends on besides its text."""

    def compile(self, program: Program, folder: Path) -> None:
        """Compile a program into the folder that holds its text, which is moved afterwards."""

    def sample(self, program: Program, folder: Path, run: Run) -> Draws:
        """Sample from the program that was compiled into a folder."""


def to_sample_stats(values: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Give the sampler's variables, shape (chains, draws), the names and types of ArviZ."""
    return {
        name: np.asarray(values[stan_name]).astype(_DTYPES.get(name, np.float64))
        for name, stan_name in SAMPLE_STATS.items()
    }


def require_variables(program: Program, asked: Sequence[str], declared: Sequence[str]) -> None:
    """Refuse names of variables that a program doesn't declare.

    Raises
    ------
    InvalidInput
        If `asked` has a name that `declared` hasn't.
    """
    unknown = [name for name in asked if name not in declared]
    if unknown:
        raise InvalidInput(
            f"variables={list(asked)}: {program.filename} has no {', '.join(unknown)}; "
            f"choose from: {', '.join(declared)}"
        )


# Positions in the program, elements by index, and wording of Stan's own.
_HARMLESS = (
    r"(?:line|column) \d+|\b[A-Za-z]\w*\[\d+(?:, ?\d+)*\]"
    r"|between \(-2, 2\) failed after \d+ attempts|log\(0\)"
)
_NUMBER = r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_WITHHELD = re.compile(f"({_HARMLESS})|{_NUMBER}")
_MOST_LINES = 20


def without_values(message: str, program: Program) -> str:
    """Quote Stan's message, each line once, with numbers that may be data replaced by `…`.

    Stan quotes data in its messages ("N is -5, but must be greater than or equal to 0"), and a
    message ends up in logs and tickets, where data don't belong. Every chain says the same, for
    each of a hundred starting points.
    """
    message = re.sub(r"'[^'\n]*\.stan'", f"'{program.filename}'", message)
    message = re.sub(r"\b\w+_namespace::\w+: ", "", message)
    message = _WITHHELD.sub(lambda match: match[1] or "…", message)
    lines = dict.fromkeys(line.strip() for line in message.splitlines() if line.strip())
    return "\n".join([*lines][:_MOST_LINES])
