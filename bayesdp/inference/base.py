"""The contract of models: read a release, choose an engine, draw, and say how it was done."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bayesdp.core.fields import check_declared
from bayesdp.core.views import View, view_of
from bayesdp.engines.draws import Draws, check_sampling
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise
from bayesdp.inference.result import inference_data
from bayesdp.inference.several import Releases, releases_of
from bayesdp.inference.verdict import verdict_on
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

NAIVE = "naive"
"""What a run's engine is called where it takes what was released for real data."""
_NAIVE = "a naive posterior, which leaves the randomisation out; of its draws: "

Option = tuple[Any, Callable[[str, Any], Any] | None]
"""The default of an argument that a model's `fit` has beside the usual ones, and its check."""


@dataclass(frozen=True)
class Run:
    """One call of a model's `fit` or `fit_naive`, its arguments checked.

    Attributes
    ----------
    release : Release, or several in a list
        What is fitted.
    read : object
        What the model's `read`, or `read_naive`, made of it.
    engine, reason : str
        The engine that draws, and why it was chosen.
    draws, chains, warmup : int
        Draws kept of each chain, after `warmup` that aren't.
    seed : int or None
    progress : bool or None
        Whether to show progress; None for where standard error is a terminal.
    options : mapping of str to object
        Those of the model's own, `Model.options`.
    """

    release: Any
    read: Any
    engine: str
    reason: str
    draws: int
    chains: int
    warmup: int
    seed: int | None
    progress: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def independent(self) -> dict[str, Any]:
        """Arguments of an engine whose draws are independent."""
        return {"draws": self.draws, "chains": self.chains, "seed": self.seed}

    @property
    def chained(self) -> dict[str, Any]:
        """Arguments of an engine of chains, which need a warmup."""
        return {**self.independent, "warmup": self.warmup}


class Model:
    """Base of models, which infer their parameters from what was released.

    A model is a frozen dataclass of priors and known constants; checks may be declared beside the
    fields (`bayesdp.core.fields.declared`). It says

    - `family`, its name in files and on the command line, `views`, the kinds of law that it reads
      (or `reads`, where that depends on more), and `engines`, of which "auto" takes the first for
      `reason` (or as `chosen` says);
    - `read`, what it makes of a release, where that is done once for all steps;
    - `pymc_model` with `variables`, and `stan_data` with `program`, which its "pymc" and "stan"
      engines sample; and `sample`, for engines of its own;
    - `naive`, draws given what was released taken for real data;
    - `noises`, the least noise that leads to what was released (`inference.conflict`);
    - for `bdp.log_evidence`, an exact `log_evidence(release)`, or else `evidence`
      (`inference.evidence_ways`), or `no_evidence`, why there is none;
    - `predicted(release, part)` for `bdp.posterior_predictive`: of one draw of the parameters, by
      name, and a generator, a new statistic as the mechanism takes it,

    and inherits `fit` and `fit_naive`.
    """

    family: ClassVar[str]
    """Its name."""
    views: ClassVar[tuple[type[View], ...]] = ()
    """Views of mechanisms that it reads."""
    engines: ClassVar[tuple[str, ...]]
    """What draws from its posterior; "auto" takes the first."""
    reason: ClassVar[str] = ""
    """Why "auto" takes the first engine."""
    usual: ClassVar[tuple[int, int]] = (4000, 1000)
    """Draws and warmup where a fit isn't given them."""
    options: ClassVar[Mapping[str, Option]] = {}
    """Arguments of `fit` of its own."""
    naive_options: ClassVar[Mapping[str, Option]] = {}
    """Those of `fit_naive`."""
    naive_reason: ClassVar[str] = "naive: takes the copies for real data"
    """What a naive fit takes for what."""
    told: ClassVar[tuple[str, ...]] = ("prior",)
    """Fields that a fit's attrs show, as JSON."""
    derived: ClassVar[frozenset[str]] = frozenset()
    """Variables that are functions of the others, which the verdict leaves out."""

    def __post_init__(self) -> None:
        check_declared(self)

    def fit(
        self,
        release: Releases,
        *,
        engine: str = "auto",
        draws: int | None = None,
        chains: int = 4,
        warmup: int | None = None,
        seed: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> az.InferenceData:
        """Draw from the posterior given what was released, its randomisation accounted for.

        Parameters
        ----------
        release : Release, or several in a list
            What was released; its manifest says how. Several are of the same records.
        engine : str
            One of the model's `engines`, or "auto", which takes the best that is possible. All of
            them draw from the same posterior.
        draws, chains : int
            Draws that each chain keeps; by default `usual[0]`. The exact engine's are all
            independent.
        warmup : int, optional
            Draws that each chain leaves out first; by default `usual[1]`.
        seed : int, optional
            For reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own at once; None for where standard error is a terminal.
        **options
            The model's own, where it has any: its docstring says which.

        Returns
        -------
        arviz.InferenceData
            The posterior (with a dimension "group" where there are groups), sample_stats,
            observed_data (the outputs), constant_data (the mechanism's public parameters), and
            attrs: engine and why, versions, guarantee, "verdict".

        Raises
        ------
        InvalidInput
            If an argument is out of range, the model doesn't fit the release, or the engine can't
            sample it.
        TypeError
            If there is no such option.
        MissingDependency, EngineFailed
            If an engine isn't installed or stops.

        Warns
        -----
        UserWarning
            If chains haven't mixed, or noise hardly explains what was released.
        """
        sizes = self._sizes(draws, chains, warmup, seed)
        more = self._options("fit", options, self.options)
        if engine not in ("auto", *self.engines):
            names = [repr(name) for name in ("auto", *self.engines)]
            raise InvalidInput(
                f"engine is {quoted(engine)}; it must be {', '.join(names[:-1])} or {names[-1]}"
            )
        read = self.read(release)
        chosen, reason = self.chosen(engine, read)
        run = Run(release, read, chosen, reason, **sizes, progress=progress, options=more)
        return self.result(run, self.sample(run), self.noises(release, read))

    def fit_naive(
        self,
        release: Release,
        *,
        draws: int | None = None,
        chains: int = 4,
        warmup: int | None = None,
        seed: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> az.InferenceData:
        """Draw from the posterior that takes what was released for real data; shaped as `fit`'s.

        Wrong, and shown beside the right one, as what one gets by analysing the released files.

        Parameters
        ----------
        release : Release
            What was released.
        draws, chains, warmup, seed, progress, **options
            As of `fit`.

        Raises
        ------
        InvalidInput
            If an argument is out of range, the model doesn't fit the release, or nobody can take
            what was released for real data.
        """
        sizes = self._sizes(draws, chains, warmup, seed)
        more = self._options("fit_naive", options, self.naive_options)
        if not isinstance(release, Release):
            raise InvalidInput(
                f"release is a {type(release).__name__}; a naive fit takes one bdp.Release"
            )
        read = self.read_naive(release)
        run = Run(release, read, NAIVE, self.naive_reason, **sizes, progress=progress, options=more)
        return self.result(run, self.naive(run))

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return any(view_of(mechanism, kind) is not None for kind in cls.views)

    def read(self, release: Releases) -> Any:
        """Read, and check, the model's statistic in a release: here nothing before the draws.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        releases_of(release)

    def read_naive(self, release: Release) -> Any:
        """Read, and check, the data that a release is taken for: here nothing before the draws."""

    def chosen(self, engine: str, read: Any) -> tuple[str, str]:
        """Choose the engine, and say why; InvalidInput if the one asked for can't be."""
        return (self.engines[0], self.reason) if engine == "auto" else (engine, "asked for")

    @property
    def variables(self) -> Sequence[str]:
        """Parameters of its programs that a fit keeps."""
        raise NotImplementedError

    @property
    def program(self) -> str:
        """Name of its Stan program, by default that of its family."""
        return self.family

    def pymc_model(self, release: Releases) -> pm.Model:
        """The model as a pm.Model, given a release."""
        raise NotImplementedError

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """The data of its Stan program, given a release."""
        raise NotImplementedError

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen: here by NUTS, of the model as a PyMC or Stan program."""
        nuts = {**run.chained, "progress": run.progress, "variables": list(self.variables)}
        if run.engine == "stan":
            from bayesdp.engines.stan import sampling as stan

            return stan.sample(self.program, self.stan_data(run.release), **nuts)
        from bayesdp.engines.pymc import sampling as pymc

        return pymc.sample(self.pymc_model(run.release), **nuts)

    def naive(self, run: Run) -> Draws:
        """Draw from the posterior that takes what was released for real data."""
        raise InvalidInput(
            f"{type(self).__name__} has no naive fit: nothing says which data would be taken "
            "for real; fit it without noise by other means"
        )

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """The least noise that leads to what was released; here of none that is known."""
        return []

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The model's own part of a fit's attrs: the fields that are `told`."""
        return {name: json.dumps(getattr(self, name)) for name in self.told}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Coordinates and dimensions of its variables, as `inference_data` takes them."""
        return {}

    def result(self, run: Run, drawn: Draws, noises: Sequence[Noise] = ()) -> az.InferenceData:
        """Make the InferenceData of draws, with a verdict on them."""
        about = {"family": self.family, **self.about(run, drawn)}
        judged = {name: v for name, v in drawn.posterior.items() if name not in self.derived}
        verdict = verdict_on(dataclasses.replace(drawn, posterior=judged), noises)
        about["verdict"] = f"{_NAIVE}{verdict}" if run.engine == NAIVE else verdict
        releases = releases_of(run.release)
        labels = self.labels(run, drawn)
        return inference_data(drawn, *releases, reason=run.reason, model=about, **labels)

    def _sizes(self, draws: Any, chains: Any, warmup: Any, seed: Any) -> dict[str, Any]:
        counts = {
            "draws": self.usual[0] if draws is None else draws,
            "chains": chains,
            "warmup": self.usual[1] if warmup is None else warmup,
        }
        return check_sampling(seed, **counts)

    def _options(
        self, method: str, given: Mapping[str, Any], known: Mapping[str, Option]
    ) -> dict[str, Any]:
        if unknown := sorted(given.keys() - known.keys()):
            has = f"it has {', '.join(known)}" if known else "it has none of its own"
            raise TypeError(
                f"{type(self).__name__}.{method} has no option {quoted(unknown[0])}; {has}"
            )
        return {
            name: check(name, given[name]) if check and name in given else given.get(name, default)
            for name, (default, check) in known.items()
        }
