"""The papers whose tables and figures can be computed again, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.papers import charest, groce, hu, liu, zheng
from bayesdp.evaluation.papers.reproduction import Reproduction

PAPERS: dict[str, Callable[..., Reproduction]] = {
    "charest": charest.reproduce,
    "groce": groce.reproduce,
    "hu": hu.reproduce,
    "liu": liu.reproduce,
    "zheng": zheng.reproduce,
}
SIMULATED = {"charest", "hu", "liu"}
"""Those with a number of replicates to choose."""


def find_paper(name: str, replicates: int | None = None) -> Callable[..., Reproduction]:
    """The function that reproduces a paper, of the folder to write, `force` and `progress`.

    Raises
    ------
    InvalidInput
        If there is no such paper, or `replicates` is given where nothing is simulated.
    """
    if name not in PAPERS:
        raise InvalidInput(f"paper is {quoted(name)}; it must be one of {', '.join(PAPERS)}")
    if replicates is None:
        return PAPERS[name]
    if name not in SIMULATED:
        raise InvalidInput(
            f"replicates is {replicates}, but nothing of {name} is simulated; leave it out"
        )
    return partial(PAPERS[name], replicates=replicates)
