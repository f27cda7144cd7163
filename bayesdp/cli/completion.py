"""Completion in shells: names that arguments may be, and options that depend on others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typer.core import TyperCommand

from bayesdp.errors import BayesDPError


def synthesizer_names(incomplete: str) -> list[str]:
    """Names of synthesizers that begin so."""
    from bayesdp.evaluation.declarations import SYNTHESIZERS

    return [name for name in SYNTHESIZERS.names() if name.startswith(incomplete)]


def model_names(incomplete: str) -> list[str]:
    """Families of models that begin so."""
    from bayesdp.inference.readers import MODELS

    return [name for name in MODELS.names() if name.startswith(incomplete)]


def paper_names(incomplete: str) -> list[str]:
    """Papers that can be reproduced and whose names begin so."""
    from bayesdp.papers.catalogue import PAPERS

    return [name for name in PAPERS if name.startswith(incomplete)]


def command_with_more_options(made: Callable[[list[str]], Any]) -> type[TyperCommand]:
    """The class of a command whose options follow from what is typed.

    Parameters
    ----------
    made : callable
        Makes the command that has them from the words typed before the one to be completed.
    """

    class WithMoreOptions(TyperCommand):
        def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
            words = list(ctx.args)
            try:
                # An option whose value is to be completed has none yet.
                command = made(words[:-1] if words and words[-1].startswith("--") else words)
            except BayesDPError:  # as for a name that there isn't
                return []
            inner = command.make_context(self.name, list(words), resilient_parsing=True)
            for each in command.params:
                if words and words[-1] in each.opts and not getattr(each, "is_flag", False):
                    return list(each.shell_complete(inner, incomplete))
            return list(command.shell_complete(inner, incomplete))

    return WithMoreOptions
