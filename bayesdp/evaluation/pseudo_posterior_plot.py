"""Plot of a pseudo-posterior: its weights, its clipping and its parameters, for the curator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.evaluation.colours import COLOURS
from bayesdp.evaluation.drawing import STYLE

if TYPE_CHECKING:
    import arviz as az

Draw = Callable[[Axes], None]

_MARK = "CONFIDENTIAL: for the curator alone, never part of a release"
_MOST_PANELS = 24


def plot_pseudo_posterior(
    pseudo: az.InferenceData,
    posterior: az.InferenceData | None = None,
    *,
    var_names: Sequence[str] | None = None,
) -> Figure:
    """Plot the pseudo-posterior of a censored synthesizer: what weights and clipping do.

    CONFIDENTIAL: the plot shows every record, and has no privacy at all. The figure says so; it is
    for the curator's eyes, and is written nowhere.

    Parameters
    ----------
    pseudo : arviz.InferenceData
        The result of a censored synthesizer's `pseudo_posterior` with log_lik=True, or of a
        `PseudoPosterior`'s `to_inference_data`.
    posterior : arviz.InferenceData, optional
        The same with clipped=False: the ordinary posterior, to show beside the other.
    var_names : sequence of str, optional
        Names of the parameters to show. Default: all.

    Returns
    -------
    matplotlib Figure
        Panels of each record's weight against its value, if any differs from 1; of its weighted log
        density after clipping against that before, both averaged over the draws, with the ends of
        the interval; and of each parameter's density.

    Raises
    ------
    InvalidInput
        If an argument isn't such a result, or there are more than 24 panels.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=2.0)
    >>> pseudo = made.pseudo_posterior([0.1, 0.3, 0.2]).to_inference_data(500, seed=1)
    >>> plain = made.pseudo_posterior([0.1, 0.3, 0.2], clipped=False).to_inference_data(500, seed=1)
    >>> [each.get_title("left") for each in plot_pseudo_posterior(pseudo, plain).axes]
    ['log density: 3 of 3 clipped', 'lambda', 'phi']
    """
    _check("pseudo", pseudo)
    if not {"log_lik", "log_lik_noM"} <= set(getattr(pseudo, "log_likelihood", ())):
        raise InvalidInput(
            "pseudo has no log densities; draw it with pseudo_posterior(data, log_lik=True), or of "
            "the engine 'grid' pseudo_posterior(data).to_inference_data(k, seed)"
        )
    if posterior is not None:
        _check("posterior", posterior)
    panels = [*_of_records(pseudo), *_of_parameters(pseudo, posterior, var_names)]
    if len(panels) > _MOST_PANELS:
        raise InvalidInput(
            f"there are {len(panels)} panels, more than {_MOST_PANELS}; name fewer parameters in "
            "var_names"
        )
    across = 2 if len(panels) == 4 else min(len(panels), 3)
    down = math.ceil(len(panels) / across)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(2.9 * across, 2.5 * down + 0.3), layout="constrained")
        figure.suptitle(_MARK, color=COLOURS["naive"][0], fontsize=9, fontweight="bold")
        every = figure.subplots(down, across, squeeze=False).ravel()
        for axes, draw in zip(every, panels, strict=False):
            axes.grid(color=COLOURS["rule"][0], linewidth=0.6)
            axes.set_axisbelow(True)
            draw(axes)
        for axes in every[len(panels) :]:
            axes.remove()
    return figure


def _check(name: str, given: Any) -> None:
    if not hasattr(given, "posterior"):
        raise InvalidInput(
            f"{name} is {kind_of(given)}; give the InferenceData of a censored synthesizer's "
            "pseudo_posterior"
        )


def _of_records(pseudo: Any) -> Iterator[Draw]:
    if np.any(pseudo.constant_data["weight"] != 1):
        yield partial(_weights, pseudo=pseudo)
    yield partial(_clipping, pseudo=pseudo)


def _weights(axes: Axes, pseudo: Any) -> None:
    value, weight = pseudo.observed_data["value"], pseudo.constant_data["weight"]
    _dots(axes, value, weight, "posterior", None)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("value of the record")
    axes.set_title("weight", loc="left")


def _clipping(axes: Axes, pseudo: Any) -> None:
    both = (pseudo.log_likelihood[name] for name in ("log_lik_noM", "log_lik"))
    before, after = (each.mean(("chain", "draw")).to_numpy() for each in both)
    moved = before != after
    low, high = (pseudo.constant_data[name].item() for name in ("low", "high"))
    _dots(axes, before[~moved], after[~moved], "posterior", "at no draw")
    if moved.any():
        _dots(axes, before[moved], after[moved], "naive", "at some or all")
    for end in (low, high):
        axes.axhline(end, color=COLOURS["ink"][0], linewidth=0.8, linestyle=(0, (4, 3)))
    axes.set_xlabel("before clipping")
    axes.set_ylabel("after")
    axes.set_title(f"log density: {moved.sum():,} of {moved.size:,} clipped", loc="left")
    axes.legend(frameon=False, fontsize=7, title="clipped", title_fontsize=7, loc="best")


def _dots(axes: Axes, x: Any, y: Any, role: str, label: str | None) -> None:
    axes.plot(
        x, y, "o", color=COLOURS[role][0], ms=2.5, mew=0, alpha=0.6, label=label, rasterized=True
    )


def _of_parameters(pseudo: Any, posterior: Any, var_names: Sequence[str] | None) -> Iterator[Draw]:
    names = [*pseudo.posterior.data_vars] if var_names is None else list(var_names)
    fits = {"pseudo-posterior": pseudo} | ({} if posterior is None else {"posterior": posterior})
    for name in names:
        shapes = [fit.posterior[name].shape[2:] for fit in fits.values() if name in fit.posterior]
        if len(shapes) < len(fits) or len(set(shapes)) > 1:
            known = ", ".join(map(str, pseudo.posterior.data_vars))
            raise InvalidInput(
                f"parameter {quoted(name)} isn't in each of {', '.join(fits)}, in one shape; the "
                f"first has {known}"
            )
        for place in np.ndindex(*shapes[0]):
            drawn = {
                label: fit.posterior[name].to_numpy()[..., *place] for label, fit in fits.items()
            }
            title = f"{name}[{', '.join(map(str, place))}]" if place else str(name)
            yield partial(_densities, drawn=drawn, title=title)


def _densities(axes: Axes, drawn: dict[str, Any], title: str) -> None:
    styles = {"pseudo-posterior": ("naive", "-"), "posterior": ("posterior", "--")}
    for label, values in drawn.items():
        x, y = import_arviz().kde(values.ravel())
        role, style = styles[label]
        axes.plot(x, y, style, color=COLOURS[role][0], linewidth=1.3, label=label)
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.set_title(title, loc="left")
    axes.legend(frameon=False, fontsize=7, loc="best")
