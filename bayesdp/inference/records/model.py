r"""Any model of independent records, given as compiled functions, for record-additive releases.

    theta ~ prior,    x_1, ..., x_n | theta ~ f(. | theta),    z | sum_i t(x_i) ~ mechanism.

Only z is seen. The user's functions draw theta given the records and a record given theta, and
compute what a record adds to the statistic; the mechanism's law comes from the release, and chains
over theta and the records do the rest (Ju, Awan, Gong and Rao 2022): see
`bayesdp.engines.augmentation_records`. Where records have few values, their counts are enough, and
the cost doesn't grow with n: `bayesdp.engines.augmentation_counts`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bayesdp.checks import check_at_least_one, keep
from bayesdp.core.views import AnswersView, ChoiceView, DrawnCountsView, NoiseView, View
from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.counts.multinomial_response import Responses
from bayesdp.inference.records import chains as record_chains
from bayesdp.inference.records.functions import (
    call,
    check_compiled,
    checked_shapes,
    checked_support,
    no_records,
    try_out,
    try_without_records,
)
from bayesdp.inference.records.release import AdditiveLaw, law_of
from bayesdp.inference.several import Releases, only_one
from bayesdp.inference.sizes import kept_sizes, sizes_of_records
from bayesdp.progress import bar
from bayesdp.release import Release

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RecordModel(Model):
    """Inference about the parameters of any model of independent records.

    The functions are compiled (`@numba.njit`), and write their results into their last argument,
    an array of floats. Those that draw get a numpy Generator, whose seed `fit` sets.

    Parameters
    ----------
    parameters : mapping of str to tuple of int
        Names and shapes of the parameters, in their order within the flat array theta:
        {"mu": (), "weights": (3,)}.
    start : callable, (rng, theta)
        Draws a theta for a chain to start from, which should be overdispersed relative to the
        posterior: a draw from the prior, if that is proper.
    posterior : callable, (rng, records, theta)
        Draws theta given the records, shape (n, record_size), or, with a support, given their
        counts, shape (k,). theta holds its current value, so a step of a Markov chain that leaves
        p(theta | records) invariant will do. There may be no records, where theta is to be drawn
        from its prior, if the prior of n allows it.
    statistic : callable, (record, out)
        Computes what a record adds to the statistic that the mechanism randomised; for a
        randomized response, the record's category.
    record : callable, (rng, theta, out), optional
        Draws one record from f(. | theta).
    support : array_like, shape (k,) or (k, record_size), optional
        All values that a record may have, where they are few. Records are then counted.
    probabilities : callable, (theta, out), optional
        With a support, instead of `record`: computes f at its k values.
    record_size : int
        Numbers in a record; with a support, it follows from that.
    n : int, range or array_like of float, optional
        Where the release doesn't say the number of records: the number, a range of equally likely
        ones, or an array whose element k is Pr[n = k].

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or a function isn't compiled, takes other arguments,
        or doesn't write what it should.

    Notes
    -----
    The posterior variables are the parameters, and "n" where it has a prior. The model reads one
    release, without groups. Its one engine, "augmentation", runs chains over the parameters and the
    records.

    Examples
    --------
    The mean of normal records under a N(0, 1) prior, from a noisy sum of clamped ones:

    >>> import bayesdp as bdp, numba, numpy as np
    >>> @numba.njit
    ... def start(rng, theta):
    ...     theta[0] = rng.normal(0, 1)
    >>> @numba.njit
    ... def posterior(rng, records, theta):
    ...     weight = 1 + len(records)
    ...     theta[0] = rng.normal(records.sum() / weight, weight**-0.5)
    >>> @numba.njit
    ... def record(rng, theta, out):
    ...     out[0] = rng.normal(theta[0], 1)
    >>> @numba.njit
    ... def statistic(record, out):
    ...     out[0] = min(max(record[0], -3.0), 3.0)
    >>> model = bdp.models.RecordModel({"mu": ()}, start, posterior, statistic, record, n=200)
    >>> noise = bdp.mechanisms.LaplaceMechanism.calibrate(epsilon=1.0, sensitivity=3.0)
    >>> idata = model.fit(bdp.Release.of(noise, [95.0]), draws=5000, seed=1)
    >>> low, high = np.quantile(idata.posterior["mu"], [0.025, 0.975])
    """

    parameters: Mapping[str, tuple[int, ...]]
    start: Any
    posterior: Any
    statistic: Any
    record: Any = None
    support: Any = field(default=None, compare=False)
    probabilities: Any = None
    record_size: int = 1
    n: Any = None

    family: ClassVar[str] = "records"
    views: ClassVar[tuple[type[View], ...]] = (NoiseView, AnswersView, ChoiceView, DrawnCountsView)
    engines: ClassVar[tuple[str, ...]] = ("augmentation",)
    takes_groups: ClassVar[bool] = False
    reason: ClassVar[str] = (
        "the model is given as draws of records, whose statistic has no law to sum them out by, so "
        "chains go over the records"
    )
    no_evidence: ClassVar[str] = (
        "its records' law is given by functions that draw, which have no density to integrate; "
        "write the model as one of the other families"
    )
    """Why it has no log evidence here, and the way out."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", checked_shapes(self.parameters))
        keep(self, record_size=check_at_least_one("record_size", self.record_size))
        check_compiled("start", self.start, "rng", "theta")
        counted = self.support is not None
        check_compiled(
            "posterior", self.posterior, "rng", "counts" if counted else "records", "theta"
        )
        check_compiled("statistic", self.statistic, "record", "out")
        given, needed = ("record", "probabilities") if counted else ("probabilities", "record")
        if getattr(self, given) is not None or getattr(self, needed) is None:
            raise InvalidInput(
                f"{needed} is {quoted(getattr(self, needed))} and {given} is "
                f"{quoted(getattr(self, given))}; {'with' if counted else 'without'} a support the "
                f"model takes `{needed}` and not `{given}`"
            )
        check_compiled(
            needed, getattr(self, needed), *(() if counted else ("rng",)), "theta", "out"
        )
        if counted:
            support = checked_support(self.support)
            object.__setattr__(self, "support", support)
            object.__setattr__(self, "record_size", support.shape[1])
        object.__setattr__(self, "n", kept_sizes(self.n))

    @property
    def _numbers(self) -> int:
        return sum(math.prod(shape) for shape in self.parameters.values())

    def read(self, release: Releases) -> Release:
        """Check that there is one release, without groups."""
        one = only_one(release, "augmentation")
        _ = one.mechanism  # which refuses groups
        return one

    def sample(self, run: Run) -> Draws:
        """Run chains over the parameters and the records."""
        import numba

        release: Release = run.read
        sizes = sizes_of_records(self.n, release.parts, type(self).__name__)
        ready = self._run(law_of(release.mechanism, np.array(release.outputs)), sizes)
        with bar(run.progress, run.chains, "chains") as step:
            drawn = record_chains.sample(ready, self._started, **run.chained, step=step)
        posterior: dict[str, Any] = {}
        at = 0
        for name, shape in self.parameters.items():
            end = at + math.prod(shape)
            posterior[name] = drawn.theta[..., at:end].reshape(*drawn.n.shape, *shape)
            at = end
        if len(sizes) > 1:
            posterior["n"] = drawn.n
        statistics = {"acceptance_rate": drawn.acceptance_rate, "log_law": drawn.log_law}
        return Draws(posterior, statistics, "augmentation", {"numba": numba.__version__})

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The representation of records, for the attrs of a fit."""
        return {"records": "one by one" if self.support is None else "counted"}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions: one for each axis of each parameter."""
        dims = {
            name: [f"{name}_dim_{i}" for i in range(len(shape))]
            for name, shape in self.parameters.items()
        }
        return {"dims": dims}

    def _started(self, rng: np.random.Generator) -> Floats:
        theta = np.empty(self._numbers)
        call("start", self.start, rng, theta)
        return theta

    def _run(self, law: AdditiveLaw | Responses, sizes: record_chains.Sizes) -> record_chains.Run:
        size = 1 if isinstance(law, Responses) else law.size
        lengths = {"statistic": "that of the release's statistic", "record": "the record's size"}
        lengths |= {"probabilities": "that of the support"}
        empty = any(n == 0 for n, _ in sizes)
        rng = np.random.Generator(np.random.SFC64(0))

        def tried(name: str, given: tuple[Any, ...], length: int, held: Any = None) -> Floats:
            of = lengths.get(name, "that of all parameters together")
            return try_out(name, getattr(self, name), given, length, of=of, held=held)

        theta = tried("start", (rng,), self._numbers)
        if self.support is None:
            one = tried("record", (rng, theta), self.record_size)
            tried("statistic", (one,), size)
            tried("posterior", (rng, one[None].repeat(2, axis=0)), theta.size, theta)
            if empty:
                try_without_records(self.posterior, rng, no_records(self.record_size), theta)
            of_each = (self.posterior, self.record, self.statistic)
            return record_chains.of_records(of_each, law, sizes, self.record_size)
        table = np.array([tried("statistic", (value,), size) for value in self.support])
        if not np.all(np.isfinite(table)):
            raise InvalidInput("statistic gives NaN or infinity for a value of the support")
        tried("probabilities", (theta,), len(table))
        tried("posterior", (rng, np.ones(len(table), dtype=np.int64)), theta.size, theta)
        if empty:
            try_without_records(self.posterior, rng, np.zeros(len(table), dtype=np.int64), theta)
        return record_chains.of_counts((self.posterior, self.probabilities), table, law, sizes)
