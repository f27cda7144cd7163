"""Fit of a log-linear model: read the release, choose the engine, name the draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayesdp.engines.draws import Draws
from bayesdp.engines.log_linear.problem import Problem
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.log_linear.design import (
    CELL,
    INTERCEPT,
    Design,
    cell_labels,
    design_of,
    is_identified,
)
from bayesdp.inference.log_linear.formula import Term, name_of_term, terms_of
from bayesdp.inference.log_linear.release import NoisyTable
from bayesdp.inference.log_linear.several import noisy_tables
from bayesdp.inference.several import Releases, agreed_size, parts_alone
from bayesdp.inference.sizes import check_said_once, said_of
from bayesdp.mechanisms.counts.cells import shape_of
from bayesdp.release import Part

if TYPE_CHECKING:
    import arviz as az
    import xarray as xr

Floats = NDArray[np.float64]

_FEW_CELLS = 4096
_MOST_KEPT = 500_000_000
_THIN = 2
_REASONS = {
    "hmc": "each cell has noise of its own and counts are Poisson, so the latent counts are summed "
    "out, and Hamiltonian Monte Carlo samples what is left",
    "gibbs": "the latent counts don't sum out: {}, so they are sampled too",
}


@dataclass(frozen=True)
class Setting:
    """A model and a release together.

    Attributes
    ----------
    noisy : NoisyTable
    design : Design
    problem : Problem
    unseen : tuple of str
        Terms that the released marginals hardly inform.
    scaled : tuple of str
        Terms with a tau of their own.
    """

    noisy: NoisyTable
    design: Design
    problem: Problem
    unseen: tuple[str, ...]
    scaled: tuple[str, ...]


def setting_of(model: Any, release: Releases) -> Setting:
    """Read releases for a model, or raise InvalidInput where they don't fit it or each other."""
    return setting_of_parts(model, parts_alone(release))


def setting_of_parts(model: Any, parts: Sequence[Part]) -> Setting:
    """Read one part of each release for a model, as `setting_of` does."""
    sizes = sizes_of(model, parts)
    largest = None if sizes is None else max(n for n, _ in sizes)
    noisy = noisy_tables(parts, model.categories, model.zeros, largest)
    sizes_of_axes = {axis.name: axis.size for axis in noisy.axes}
    terms = terms_of(model.formula, list(sizes_of_axes))
    terms = tuple(t for t in terms if all(sizes_of_axes[name] > 1 for name in t))
    if not terms:
        raise InvalidInput("every column has a single category, so that there is nothing to infer")
    cells = model.cell_effects
    design = design_of(terms, noisy.axes, noisy.possible, cell_effects=cells is not False)
    names, sds = [*map(name_of_term, terms)], _prior_of(model, terms)
    if cells is not False:
        names, sds = [*names, CELL], [*sds, None if cells is True else cells]
    own = [k for k, sd in enumerate(sds) if sd is None]
    owner = np.array([own.index(k) if k in own else -1 for k in range(len(sds))])
    columns, owners = design.columns, owner[design.owners]
    mean = np.zeros(columns.shape[1])
    sd = np.array([sds[k] or 1.0 for k in design.owners])
    if sizes is None:
        columns = np.concatenate([np.ones((len(columns), 1)), columns], axis=1)
        owners = np.append(-1, owners)
        mean, sd = np.append(model.intercept[0], mean), np.append(model.intercept[1], sd)
    problem = Problem(
        columns, mean, sd.astype(np.float64), owners.astype(np.int64),
        np.full(len(own), float(model.scale)), sizes, noisy.released, noisy.centre,
        noisy.noise, noisy.information,
    )  # fmt: skip
    unseen = tuple(
        name
        for name, within in zip(names, [*terms, tuple(sizes_of_axes)], strict=False)
        if not is_identified(within, noisy.marginals)
    )
    return Setting(noisy, design, problem, unseen, tuple(names[k] for k in own))


def sizes_of(model: Any, parts: Sequence[Part]) -> Sequence[tuple[int, float]] | None:
    """Return the releases' sizes n, or else the model's; None where neither has any."""
    public, said = agreed_size(parts, None), said_of(model.n, parts)
    check_said_once(said, public)
    return said if public is None else [(public, 1.0)]


def _prior_of(model: Any, terms: Sequence[Term]) -> list[float | None]:
    """Return each term's fixed sd, or None."""
    if not isinstance(model.prior, Mapping):
        return [model.prior] * len(terms)
    given = {frozenset(name.split(":")): sd for name, sd in model.prior.items()}
    if strange := [n for n in model.prior if frozenset(n.split(":")) not in map(frozenset, terms)]:
        raise InvalidInput(
            f"prior has {strange}, but the formula's terms are {[*map(name_of_term, terms)]}"
        )
    return [given.get(frozenset(term)) for term in terms]


def chosen(engine: str, setting: Setting) -> tuple[str, str]:
    """Choose the engine and say why, or raise InvalidInput if it can't sample this posterior."""
    return engine_for(engine, obstacle_of(setting.problem, setting.noisy))


def obstacle_of(problem: Problem, noisy: NoisyTable) -> str:
    """Say why the latent counts don't sum out; empty where they do."""
    if problem.sizes is not None:
        return "their total is known, or has a prior of its own"
    if not noisy.independent:
        return "the released counts overlap, or their noise's law isn't log-concave"
    return ""


def engine_for(engine: str, obstacle: str) -> tuple[str, str]:
    """Choose engine and reason; raise InvalidInput if an obstacle leaves "gibbs" alone."""
    if engine == "auto":
        engine = "gibbs" if obstacle else "hmc"
        return engine, _REASONS[engine].format(obstacle)
    if engine != "gibbs" and obstacle:
        raise InvalidInput(
            f"engine is {quoted(engine)}, but the latent counts don't sum out: {obstacle}; use "
            "engine='auto' or 'gibbs'"
        )
    return engine, "asked for"


def check_thin(engine: str, thin: int | None) -> dict[str, int]:
    """Return the option `thin` of an engine that was asked for one, or raise InvalidInput."""
    if thin is None:
        return {} if engine in ("pymc", "stan") else {"thin": _THIN}
    if engine == "pymc":
        raise InvalidInput(
            f"thin is {thin}, but engine='pymc' keeps every draw; leave thin out, or use "
            "engine='stan', 'hmc' or 'gibbs'"
        )
    return {"thin": thin}


def named(drawn: Draws, setting: Setting, *, cells: bool | None) -> Draws:
    """Convert the coordinates' draws to effects, scales and, unless they are many, cells."""
    u = drawn.posterior["u"]
    poisson = setting.problem.sizes is None
    own = u[..., 1:] if poisson else u
    beta = own @ setting.design.shown.T
    if poisson:
        beta = np.concatenate([u[..., :1], beta], axis=-1)
    posterior = {"beta": beta}
    if setting.scaled and "tau" in drawn.posterior:
        posterior["tau"] = drawn.posterior["tau"]
    if "n" in drawn.posterior:
        posterior["n"] = drawn.posterior["n"]
    if keeps_cells(setting, cells, beta.shape[0] * beta.shape[1]):
        posterior["probability"] = _probabilities(own, setting.design)
    return dataclasses.replace(drawn, posterior=posterior)


def keeps_cells(setting: Setting, cells: bool | None, draws: int) -> bool:
    """Return True if the cells' probabilities are kept; raise InvalidInput if they are too many."""
    count = len(setting.design.columns)
    kept = count <= _FEW_CELLS if cells is None else cells
    if kept and count * draws > _MOST_KEPT:
        raise InvalidInput(
            f"cells is True, but {count:,} cells' probabilities for every draw are too many "
            "numbers to keep; ask for fewer draws, or leave cells out"
        )
    return kept


def labels(drawn: Draws, setting: Setting) -> dict[str, Any]:
    """Coordinates and dimensions of what `named` has."""
    intercept = [INTERCEPT] if setting.problem.sizes is None else []
    coords: dict[str, Any] = {"term": [*intercept, *setting.design.labels]}
    dims = {"beta": ["term"], "tau": ["scale"], "n": [], "probability": ["cell"]}
    if "tau" in drawn.posterior:
        coords["scale"] = list(setting.scaled)
    if "probability" in drawn.posterior:
        coords["cell"] = cell_labels(setting.noisy.axes, setting.noisy.possible)
    return {"coords": coords, "dims": {name: dims[name] for name in drawn.posterior}}


def _probabilities(u: Floats, design: Design) -> Floats:
    """Compute each cell's probability, shape (chains, draws, cells)."""
    eta = u @ design.columns.T
    eta -= eta.max(axis=-1, keepdims=True)
    np.exp(eta, out=eta)
    eta /= eta.sum(axis=-1, keepdims=True)
    return np.asarray(eta)


def naive_counts(noisy: NoisyTable) -> NDArray[np.int64]:
    """Return the released cells as if they were the table."""
    if not _of_cells(noisy):
        raise InvalidInput(
            "several marginals were released, which don't make a table, and with noise they "
            "contradict each other: there is no naive posterior; use fit()"
        )
    counts = np.rint(noisy.centre)
    if np.any(counts < 0):
        raise InvalidInput(
            f"{int(np.sum(counts < 0))} released counts are below 0, so they can't be mistaken for "
            "real: there is no naive posterior; use fit()"
        )
    if not counts.any():
        raise InvalidInput("all released counts are 0: there is no naive posterior; use fit()")
    return np.asarray(counts[noisy.released.places[:, 0]].astype(np.int64))


def known_table(setting: Setting, counts: NDArray[np.int64]) -> Setting:
    """Make the setting of a known table, whose total, where it has one, is that of these counts."""
    sizes = None if setting.problem.sizes is None else [(int(counts.sum()), 1.0)]
    problem = dataclasses.replace(setting.problem, sizes=sizes)
    return dataclasses.replace(setting, problem=problem)


def _of_cells(noisy: NoisyTable) -> bool:
    return len(noisy.marginals) == 1 and len(noisy.marginals[0]) == len(noisy.axes)


def marginal(idata: az.InferenceData, setting: Setting, columns: Sequence[str]) -> xr.DataArray:
    """Compute a marginal's posterior; see `LogLinearModel.marginal`."""
    import xarray as xr

    axes = setting.noisy.axes
    names = [axis.name for axis in axes]
    wanted = [columns] if isinstance(columns, str) or not np.iterable(columns) else list(columns)
    if not wanted or len(set(wanted)) < len(wanted) or not set(wanted) <= set(names):
        raise InvalidInput(f"columns is {quoted(columns)}; it must name some of {names}, each once")
    p = _kept_probabilities(idata)
    whole = np.zeros((*p.shape[:2], setting.noisy.possible.size))
    whole[..., setting.noisy.possible.ravel()] = p
    table = xr.DataArray(
        whole.reshape(*p.shape[:2], *shape_of(axes)), dims=["chain", "draw", *names]
    )
    summed = table.sum([name for name in names if name not in wanted])
    labels = {
        a.name: a.labels if a.categories is not None else np.arange(a.size)
        for a in axes
        if a.name in wanted
    }
    return summed.transpose("chain", "draw", *wanted).assign_coords(labels)


def _kept_probabilities(idata: az.InferenceData) -> Floats:
    if "probability" not in idata.posterior:
        raise InvalidInput("idata has no 'probability'; fit with cells=True")
    kept: Floats = idata.posterior["probability"].to_numpy()
    return kept
