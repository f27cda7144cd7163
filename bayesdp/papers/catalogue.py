"""Catalogue, by name, of the papers whose tables and figures can be recomputed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial

from bayesdp.errors import InvalidInput, quoted
from bayesdp.papers.charest import reproduction as charest
from bayesdp.papers.groce import reproduction as groce
from bayesdp.papers.hu import reproduction as hu
from bayesdp.papers.liu import reproduction as liu
from bayesdp.papers.reproduction import Reproduction
from bayesdp.papers.zheng import reproduction as zheng

PAPERS: dict[str, Callable[..., Reproduction]] = {
    "charest": charest.reproduce,
    "groce": groce.reproduce,
    "hu": hu.reproduce,
    "liu": liu.reproduce,
    "zheng": zheng.reproduce,
}


def find_paper(
    name: str, replicates: int | None = None, *, quick: bool = False
) -> Callable[..., Reproduction]:
    """Return the function of folder, `force` and `progress` that reproduces a paper.

    Raises
    ------
    InvalidInput
        If there is no such paper, `replicates` is given where nothing is simulated, or `quick` is
        given where a quick run leaves nothing out.
    """
    if name not in PAPERS:
        raise InvalidInput(f"paper is {quoted(name)}; it must be one of {', '.join(PAPERS)}")
    options: dict[str, int | bool] = {}
    if replicates is not None:
        if not _takes("replicates", name):
            raise InvalidInput(
                f"replicates is {replicates}, but nothing of {name} is simulated; leave it out"
            )
        options["replicates"] = replicates
    if quick:
        if not _takes("quick", name):
            able = ", ".join(each for each in PAPERS if _takes("quick", each))
            raise InvalidInput(
                f"quick is asked for, but {name} has nothing to leave out (those that do: "
                f"{able}); leave it out"
            )
        options["quick"] = quick
    return partial(PAPERS[name], **options)


def _takes(option: str, name: str) -> bool:
    return option in inspect.signature(PAPERS[name]).parameters
