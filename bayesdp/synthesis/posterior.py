"""Synthetic records from any PyMC model, by a draw of its censored posterior."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesdp.checks import as_float, check_at_least_one, keep
from bayesdp.core.fields import declared
from bayesdp.engines.draws import Draws, import_arviz
from bayesdp.engines.pymc.sampling import without_notices
from bayesdp.errors import EngineFailed, InvalidInput, quoted
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.censored.posterior import CensoredPosteriorMechanism
from bayesdp.mechanisms.counts.cells import Axis
from bayesdp.mechanisms.randomness import random_words
from bayesdp.privacy import composition
from bayesdp.privacy.guarantee import check_epsilon
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.privacy.neighbours import Neighbours, check_of_records
from bayesdp.private_folder import sweep
from bayesdp.release import Release
from bayesdp.synthesis.base import Synthesizer
from bayesdp.synthesis.censor.model import (
    Censored,
    censored,
    check_weights,
    clipping_interval,
    is_discrete,
    traced,
)
from bayesdp.synthesis.parameters import by_value
from bayesdp.synthesis.publish import pay_then_draw
from bayesdp.synthesis.withheld import sample

if TYPE_CHECKING:
    import pymc as pm
    from numpy.typing import ArrayLike, NDArray

    from bayesdp.synthesis.posterior_grid import PosteriorGrid

_CHAINS = 4
_DRAWS = 1000
_WARMUP = 1000
# Clearly not converged, by Vehtari et al. (2021), who ask for 1.01 and 100 a chain.
_LARGEST_RHAT = 1.05
_LEAST_ESS = 100


@dataclass(frozen=True, eq=False)
class PosteriorSynthesizer(Synthesizer):
    """Synthesize the observed variables of a PyMC model from its censored posterior.

    Each copy is one draw of the parameters from the posterior of ``censor(model)`` at
    epsilon / copies, the last state of a Markov chain of its own, and `size` synthetic records from
    the model at these parameters. The guarantee is conditional on the draws being exact; with
    engine="grid" it is proved.

    Parameters
    ----------
    model : pm.Model
        A model in which the confidential records are observed; its free variables are continuous.
    epsilon : float
        Total privacy cost of all copies.
    copies : int
        Number of copies, each from its own draw at epsilon / copies.
    neighbours : {"add_remove", "replace_one"}
        The relation under which the promise is stated, as for `censor`.
    center : float, optional
        Centre of the interval that log densities are clipped to, as for `censor`.
    weights : array_like, optional
        Weights that multiply each record's log density, as for `censor`.
    record_dim : str, optional
        Name of the dimension of the records, as for `censor`.
    engine : {"pymc", "grid"}
        NUTS, by nutpie; or an exact draw from a public grid, for at most three continuous numbers,
        whose guarantee is proved (`bayesdp.synthesis.posterior_grid`).
    size : int, optional
        Synthetic records in each copy. Default: under replace-one, the public number of
        confidential records. Under add/remove-one that is confidential, so choose a number.
    covariates : mapping of str to array_like, optional
        Public values for the model's `pm.Data` that are as long as the records, `size` of them
        along the records' axis, at which the synthetic records are drawn; they are in the release
        too. Required for every covariate, as the confidential values must not be used.
    grid_bounds : mapping of str to pair of float, optional
        For engine="grid": each free variable's bounds, in its own space, chosen without the data.
        The prior is truncated to them, and so is the posterior.
    grid_size : int or mapping of str to int, optional
        For engine="grid": the number of cells along each variable, at most 10^6 cells in all. By
        default 1000 for one variable, 100 x 100 for two and 40 x 40 x 40 for three. The time taken
        is proportional to cells times records, and cells should be narrower than the posterior.

    Raises
    ------
    InvalidInput
        If an argument is out of its range. What `censor` refuses is refused at the release.

    Notes
    -----
    No model here reads the copies, and engine="grid" changes nothing about that. Their law is

        integral of p(copy | theta) prior(theta) exp(S(x, theta)) / Z(x) d theta,

    and even the exchange algorithm, by which Z(x) cancels, evaluates the score S and draws theta at
    other records x. Both are functions of the PyMC model, Python code that a release doesn't hold
    and couldn't be trusted with. An analyst has `bdp.combine`, with its caveat that clipping moves
    copies away from the records. Where an exact posterior is wanted, choose a mechanism that says
    its law: for records in (0, 1) `CensoredBetaSynthesizer`, whose copies `BetaModel` and
    `LogitNormalModel` read; else modips or conjugate copies of a family.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pymc as pm
    >>> with pm.Model() as model:
    ...     mu = pm.Normal("mu", 0, 10)
    ...     y = pm.Normal("income", mu, 1.0, observed=np.array([2.9, 3.4, 2.2]))
    >>> made = bdp.PosteriorSynthesizer(model, epsilon=4.0, center=-1.5, size=3, engine="grid",
    ...                                 grid_bounds={"mu": (0, 6)}, grid_size=50)
    >>> print(made.release().guarantee)
    epsilon = 4 (add_remove, proved)
    """

    model: pm.Model
    epsilon: float = declared(by_value(check_epsilon))
    copies: int = declared(check_at_least_one, default=1)
    neighbours: str = "add_remove"
    center: float | None = None
    weights: ArrayLike | None = field(default=None, repr=False)
    engine: str = "pymc"
    size: int | None = declared(check_at_least_one, optional=True, default=None)
    record_dim: str | None = None
    covariates: Mapping[str, ArrayLike] | None = None
    grid_bounds: Mapping[str, tuple[float, float]] | None = None
    grid_size: int | Mapping[str, int] | None = None

    takes = "model"

    def __post_init__(self) -> None:
        super().__post_init__()
        relation = check_of_records(self.neighbours)
        if self.center is not None and not math.isfinite(as_float(self.center)):
            raise InvalidInput(f"center is {quoted(self.center)}; it must be a finite number")
        if self.size is None and relation is Neighbours.ADD_REMOVE:
            raise InvalidInput(
                "size is missing; under add/remove-one the number of records is confidential, so "
                "choose a public number of synthetic ones"
            )
        if not (self.covariates is None or isinstance(self.covariates, Mapping)):
            raise InvalidInput(
                f"covariates is {quoted(self.covariates)}; it must be a mapping of names of the "
                "model's pm.Data to public values"
            )
        if self.engine not in ("pymc", "grid"):
            raise InvalidInput(f"engine is {quoted(self.engine)}; it must be 'pymc' or 'grid'")
        if self.engine == "pymc" and not (self.grid_bounds is None and self.grid_size is None):
            raise InvalidInput("grid_bounds and grid_size are for engine='grid'; leave them out")
        if self.grid_size is not None and not isinstance(self.grid_size, Mapping):
            keep(self, grid_size=check_at_least_one("grid_size", self.grid_size))

    def release(self, *, ledger: DatasetLedger | None = None) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        ledger : DatasetLedger, optional
            The budget of these records. A charge is final, even if sampling fails.

        Returns
        -------
        Release
            Each copy is a table with one column for each scalar variable, `name` or `name[i]`, and
            the public covariates.

        Raises
        ------
        InvalidInput
            If the model can't be censored, or needs confidential inputs to predict. Nothing is
            spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        EngineFailed
            If sampling fails, or the chains clearly have not converged.
        """
        return self.released(ledger)

    def released(
        self,
        ledger: DatasetLedger | None,
        points: Callable[[], list[dict[str, NDArray[Any]]]] | None = None,
        engine: str = "pymc",
        axes: Sequence[Axis] = (),
    ) -> Release:
        """Release as `release` does, the parameters of each copy drawn by another engine if given.

        Parameters
        ----------
        ledger : DatasetLedger, optional
            As for `release`.
        points : callable, optional
            Draws the free variables from the censored posterior, once for each copy.
        engine : {"pymc", "stan"}
            The engine that does, as the release names it.
        axes : sequence of Axis
            Categories, all public, of the columns whose numbers are places among them.
        """
        sweep()
        source = self._grid() if self.engine == "grid" else self._chains()
        from bayesdp.synthesis.prediction import Predictor

        n = source.tracer.axes.n
        public_n = n if check_of_records(self.neighbours) is Neighbours.REPLACE_ONE else None
        size = n if self.size is None else int(self.size)
        with without_notices():
            predictor = Predictor(self.model, source.tracer, size, dict(self.covariates or {}))
        mechanism = CensoredPosteriorMechanism(
            public_n,
            size,
            source.lower,
            source.upper,
            tuple(predictor.columns),
            None if isinstance(source, Censored) else source.grid,
            engine,
            tuple(axes),
        )

        @without_notices()
        def draw() -> dict[None, tuple[Mechanism, list[Any]]]:
            drawn = self._points(source) if points is None else points()
            return {None: (mechanism, [predictor.draw(point) for point in drawn])}

        return pay_then_draw(
            {None: mechanism}, draw, copies=self.copies, variable="record", ledger=ledger
        )

    def _chains(self) -> Censored:
        """Build the censored model, for NUTS."""
        made = censored(
            self.model,
            epsilon=share_of(float(self.epsilon), self.copies),
            neighbours=self.neighbours,
            center=self.center,
            weights=self.weights,
            record_dim=self.record_dim,
        )
        if made.model.discrete_value_vars:
            raise InvalidInput(
                f"model has discrete free variables "
                f"{[v.name for v in made.model.discrete_value_vars]}, which NUTS can't draw; sum "
                "them out, for example with pm.Mixture"
            )
        if not made.model.free_RVs:
            raise InvalidInput("model has no free variable, so there is nothing to draw")
        return made

    def _grid(self) -> PosteriorGrid:
        """Build the censored posterior on the public grid."""
        # Under replace-one too, a record's term must not depend on its place or on n.
        tracer, terms = traced(self.model, self.record_dim, public_n=False)
        from bayesdp.synthesis.posterior_grid import PosteriorGrid, grid_of

        interval = clipping_interval(
            share_of(float(self.epsilon), self.copies),
            check_of_records(self.neighbours),
            self.center,
            is_discrete(self.model),
        )
        weights = check_weights(self.weights, tracer.axes.n)
        grid = grid_of(self.model, self.grid_bounds, self.grid_size)
        with without_notices():
            return PosteriorGrid(tracer, terms, *interval, weights, grid)

    def _points(self, source: Censored | PosteriorGrid) -> list[dict[str, NDArray[Any]]]:
        if not isinstance(source, Censored):
            return source.draw(self.copies)
        names = [rv.name for rv in source.model.free_RVs]
        return last_draws(partial(sample, source.model, variables=names), self.copies)


def last_draws(run: Callable[..., Draws], copies: int) -> list[dict[str, NDArray[Any]]]:
    """Draw the parameters once for each copy, from chains that share nothing.

    Parameters
    ----------
    run : callable
        An engine that has its model, and takes `draws`, `warmup`, `chains` and a `seed` of
        64 bits.
    copies : int
        Number of draws.

    Raises
    ------
    EngineFailed
        If sampling fails, or the chains clearly have not converged.
    """
    draws = run(
        draws=_DRAWS,
        warmup=_WARMUP,
        chains=max(_CHAINS, copies),
        seed=int(random_words(1)[0]),
    )
    check_converged(draws)
    return [
        {name: values[chain, -1] for name, values in draws.posterior.items()}
        for chain in range(copies)
    ]


def check_converged(draws: Draws) -> None:
    """Refuse draws that are clearly not the posterior's; the figures stay with the curator.

    Raises
    ------
    EngineFailed
        If the chains disagree (R-hat above 1.05) or hardly mix (bulk effective sample size
        below 100), for any parameter.
    """
    az = import_arviz()
    posterior = az.convert_to_dataset(dict(draws.posterior))
    with np.errstate(all="ignore"):  # NaN, from a chain that never moved, is no agreement
        rhat, ess = az.rhat(posterior), az.ess(posterior, method="bulk")
    for name, values in draws.posterior.items():
        # What has one value in all chains is a constant of its distribution, as the diagonal of
        # a correlation matrix; chains that are stuck start from different places.
        agree = (rhat[name] <= _LARGEST_RHAT) & (ess[name] >= _LEAST_ESS)
        if bool((agree | (np.ptp(values, axis=(0, 1)) == 0)).all()):
            continue
        raise EngineFailed(
            "the chains have clearly not converged, so their draws are not the censored "
            "posterior's; nothing is released. Try it on simulated data first, and look at the "
            "diagnostics there: choose a center near most records' log densities, as chains hardly "
            "mix where it is above them; reparametrise the model, or give it tighter priors; or "
            "take engine='grid', whose draws are exact, with at most three parameters"
        )


def share_of(epsilon: float, copies: int) -> float:
    """The largest epsilon of one copy at which `copies` together cost at most `epsilon`."""
    share = epsilon / copies
    while composition.total([share] * copies) > epsilon:
        share = math.nextafter(share, 0.0)
    return share
