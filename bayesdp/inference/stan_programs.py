"""A user's own Stan program, sampled as the models' programs are."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bayesdp._version import __version__
from bayesdp.engines.draws import check_sampling, constants_beside, to_inference_data
from bayesdp.engines.settings import check_settings
from bayesdp.engines.stan.programs import Program, with_includes
from bayesdp.errors import InvalidInput, kind_of
from bayesdp.inference.verdict import verdict_on

if TYPE_CHECKING:
    import arviz as az


def sample(
    code: str,
    data: Mapping[str, Any],
    *,
    variables: Sequence[str] | None = None,
    draws: int = 1000,
    chains: int = 4,
    warmup: int = 1000,
    seed: int | None = None,
    progress: bool | None = None,
    coords: Mapping[str, Any] | None = None,
    dims: Mapping[str, list[str]] | None = None,
    **settings: Any,
) -> az.InferenceData:
    """Draw from the posterior of your own Stan program by NUTS, through CmdStan or PyStan.

    It is sampled as the models' programs are: compiled once, and kept in the user's cache without
    its data, which like the draws pass through a private folder that doesn't outlive the call.

    Parameters
    ----------
    code : str
        The program, which may have the line `#include bayesdp.stanfunctions`.
    data : mapping of str to int, float or array of these
        Its data block, such as those of `data(release)` and more.
    variables : sequence of str, optional
        Names of the parameters, transformed parameters or generated quantities to return; by
        default all parameters.
    draws, chains, warmup : int
        Draws that each chain keeps, number of chains, and draws of adaptation.
    seed : int, optional
        Seed, for reproducible draws.
    progress : bool or None
        Whether to show progress; None: only if standard error is a terminal.
    coords, dims : mapping, optional
        Coordinates and the variables' dimensions, as in ArviZ.
    **settings
        `adapt_delta`, `max_treedepth`, `metric`, `inits`, `thin`, `parallel_chains` and
        `threads_per_chain`, as for the models' `fit(engine="stan")`; the last is for a program with
        `reduce_sum`.

    Returns
    -------
    arviz.InferenceData
        The posterior and sample_stats; attrs with the engine's versions and a verdict.

    Raises
    ------
    InvalidInput
        If an argument is out of its range, or the program lacks some of `variables`.
    MissingDependency, EngineFailed
        If neither CmdStan nor PyStan is installed, the program doesn't compile, or a chain fails.

    Warns
    -----
    UserWarning
        If chains haven't mixed.
    """
    from bayesdp.engines.stan import sampling

    program = Program("program", with_includes(code))
    if not isinstance(data, Mapping):
        raise InvalidInput(
            f"data is {kind_of(data)}; it must map the names of the data block to their values"
        )
    given = check_settings("stan", settings)
    sizes = check_sampling(seed, draws=draws, chains=chains, warmup=warmup)
    names = program.parameters if variables is None else variables
    if not names:
        raise InvalidInput("the program has no parameters; name what to return by variables=[...]")
    drawn = sampling.sample(
        program,
        data,
        variables=names,
        progress=progress,
        **sizes,
        **given,
    )
    attrs = {
        "bayesdp_version": __version__,
        "engine": drawn.engine,
        "engine_versions": json.dumps(dict(drawn.versions)),
        **({"engine_settings": json.dumps(given)} if given else {}),
        "verdict": verdict_on(dataclasses.replace(drawn, known=constants_beside(drawn.posterior))),
    }
    return to_inference_data(
        drawn,
        dims=dims or {},
        coords=coords or {},
        observed_data={},
        constant_data={},
        attrs=attrs,
    )
