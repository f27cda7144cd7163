"""The contract of models: read a release, choose an engine, draw, and report how it was done."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from bayesdp.checks import check_flag
from bayesdp.core.fields import check_declared
from bayesdp.core.views import View, view_of
from bayesdp.engines.draws import APPROXIMATE, Draws, check_sampling
from bayesdp.engines.settings import check_settings, known_settings
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.conflict import Noise
from bayesdp.inference.result import inference_data
from bayesdp.inference.several import Releases, releases_of
from bayesdp.inference.sizes import told_size
from bayesdp.inference.verdict import REMEDY, verdict_on
from bayesdp.release import Release

if TYPE_CHECKING:
    import arviz as az
    import numpy as np
    import pymc as pm

NAIVE = "naive"
"""What a run's engine is called where it takes what was released for real data."""
_NAIVE = "a naive posterior, which leaves the randomisation out; of its draws: "

_APPROXIMATE = "asked for: an approximation of the posterior"

Option = tuple[Any, Callable[[str, Any], Any] | None]
"""The default of an argument that a model's `fit` has beside the usual ones, and its check."""


@dataclass(frozen=True)
class Run:
    """One call of a model's `fit` or `fit_naive`, its arguments checked.

    Attributes
    ----------
    release : Release, or several in a list
        The fitted releases.
    read : object
        What the model's `read`, or `read_naive`, returned.
    engine, reason : str
        The engine that draws, and why it was chosen.
    draws, chains, warmup : int
        Number of draws kept from each chain, number of chains, and draws discarded before.
    seed : int or None
        Seed of the draws, if they are to be reproducible.
    progress : bool or None
        Whether to show progress; None: only if standard error is a terminal.
    options : mapping of str to object
        The model's own options, `Model.options`.
    settings : mapping of str to object
        The engine's settings, those that were given (`bayesdp.engines.settings`).
    approximation : str or None
        The approximate engine, if one is to take the place of NUTS in the engine "pymc".
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
    settings: Mapping[str, Any] = field(default_factory=dict)
    approximation: str | None = None

    def __post_init__(self) -> None:
        if self.progress is not None:
            check_flag("progress", self.progress)

    @property
    def independent(self) -> dict[str, Any]:
        """Arguments of an engine whose draws are independent."""
        return {"draws": self.draws, "chains": self.chains, "seed": self.seed}

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (draws, groups) of numbers that each group has, or (draws,) without groups."""
        release = releases_of(self.release)[0]
        return (self.draws,) if release.by is None else (self.draws, len(release.parts))

    @property
    def chained(self) -> dict[str, Any]:
        """Arguments of an engine of chains, which need a warmup and may have settings."""
        taken = {"sampler": self.approximation} if self.approximation else self.settings
        return {**self.independent, "warmup": self.warmup, **taken}

    @property
    def told(self) -> dict[str, str]:
        """The engine's settings, for a fit's attrs, where any were given."""
        return {"engine_settings": json.dumps(self.settings)} if self.settings else {}

    def carefully(self, target: float) -> Run:
        """Return the run with this mean acceptance of NUTS, where none was asked for."""
        name = "target_accept" if self.engine == "pymc" else "adapt_delta"
        return dataclasses.replace(self, settings={name: target, **self.settings})


class Model:
    """Base of models, which infer their parameters from what was released.

    A model is a frozen dataclass of priors and known constants; checks may be declared beside the
    fields (`bayesdp.core.fields.declared`). It defines

    - `family`, its name in files and on the command line, `views`, the kinds of law that it reads
      (or `reads`, where that depends on more), and `engines`, of which "auto" takes the first for
      `reason` (or as `chosen` says);
    - `read`, which reads a release once for all later steps, where it needs to;
    - `pymc_model` with `variables`, and `stan_data` with `program`, which its "pymc" and "stan"
      engines sample (`stan_code` reads the program); and `sample`, for engines of its own;
    - `naive`, draws that treat the released data as real;
    - `noises`, the least noise that explains the outputs (`inference.conflict`);
    - for `bdp.log_evidence`, an exact `log_evidence(release)`, or else `evidence`
      (`inference.evidence_ways`), or `no_evidence`, why there is none;
    - `pointwise(parts, values)` for `bdp.evaluate.log_likelihood`: the log probability of one
      group's outputs at draws of the parameters, by name, shape (draws, ...) each;
    - `from_prior(run, rng)` for `bdp.prior_predictive`: `run.draws` draws of the variables of a
      fit from their prior, by name, shape (draws, groups, ...), or (draws, ...) without groups;
    - `given_population(release, idata)` for `bdp.evaluate.variance_parts`: each proportion's or
      rate's moments, its latent count summed out, at draws of the population's parameters;
    - `takes_groups`, whether one fit is of all groups of a release;
    - `means`, the variables that `bdp.evaluate.poststratify` averages over groups;
    - `predicted(release, part)` for `bdp.posterior_predictive`: a function of one draw of the
      parameters, by name, and a generator, which returns a new statistic for the mechanism,

    and inherits `fit` and `fit_naive`.
    """

    family: ClassVar[str]
    """Its name."""
    views: ClassVar[tuple[type[View], ...]] = ()
    """Views of mechanisms that the model reads."""
    engines: ClassVar[tuple[str, ...]]
    """Engines that draw from the posterior; "auto" takes the first."""
    reason: ClassVar[str] = ""
    """Why "auto" takes the first engine."""
    takes_groups: ClassVar[bool] = True
    """Whether a fit takes all groups of a release; if not, it is of one of them."""
    usual: ClassVar[tuple[int, int]] = (4000, 1000)
    """Default numbers of draws and of warmup draws of a fit."""
    options: ClassVar[Mapping[str, Option]] = {}
    """Further arguments of the model's own `fit`."""
    naive_options: ClassVar[Mapping[str, Option]] = {}
    """Further arguments of the model's own `fit_naive`."""
    naive_reason: ClassVar[str] = "naive: treats the copies as real data"
    """Reason shown for a naive fit: which data it treats as real."""
    told: ClassVar[tuple[str, ...]] = ("prior",)
    """Fields that a fit's attrs hold, as JSON, beside a field `n`, the number of records."""
    likelihood_dim: ClassVar[str | None] = None
    """The dimension of `pointwise`, where a group has parts that are independent given it."""
    derived: ClassVar[frozenset[str]] = frozenset()
    """Variables that are functions of the others, which the verdict leaves out."""
    means: ClassVar[frozenset[str]] = frozenset()
    """Variables of each group or area whose mean over a population's members is its own."""
    apart: ClassVar[frozenset[str]] = frozenset()
    """Draws of the engine that aren't among the posterior's variables."""
    remedy: ClassVar[str] = REMEDY
    """What a warning says to do about chains that can't be relied on."""

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
        """Draw from the posterior given a release, its randomisation accounted for.

        Parameters
        ----------
        release : Release, or several in a list
            The outputs, and a manifest that says how they were randomised. Several releases must be
            of the same records.
        engine : str
            One of the model's `engines`, or "auto", which takes the best one possible. All of them
            draw from the same posterior. Where "pymc" is one of them, "pathfinder" or "laplace"
            approximates what it samples, as a look ahead: draws of normals are weighted by
            importance and resampled, and attrs["pareto_k"] above 0.7 says that the approximation
            is bad. They take no warmup and no settings, and "auto" never takes them.
        draws, chains : int
            Number of draws that each chain keeps, by default `usual[0]`, and number of chains. The
            exact engine's draws are all independent.
        warmup : int, optional
            Number of draws that each chain discards first; by default `usual[1]`.
        seed : int, optional
            Seed, for reproducible draws.
        progress : bool or None
            Whether to show progress and the time left, from the fifth second on, or the engine's
            own progress at once; None: only on a terminal, or below a notebook's cell where the
            progress isn't an engine's own.
        **options
            The model's own options, where it has any: its docstring lists them. And settings of
            the engine that draws. "pymc": `sampler` ("nutpie", "pymc", "numpyro" or "blackjax"),
            `target_accept`, `max_treedepth`, `metric`, `initvals`, `cores`. "stan": `adapt_delta`,
            `max_treedepth`, `metric`, `inits`, `thin`, `parallel_chains`, `threads_per_chain`;
            `draws` are those kept after thinning. See `bayesdp.engines.pymc.sampling.sample` and
            `bayesdp.engines.stan.sampling.sample`.

        Returns
        -------
        arviz.InferenceData
            The posterior (with a dimension "group" where there are groups), sample_stats,
            observed_data (the outputs), constant_data (the mechanism's public parameters), and
            attrs: the engine and why it was chosen, its settings, versions, guarantee, "verdict"
            and, where the model says it, "n": the number of records or, of a prior on it, the least
            and most that it allows and their mean.

        Raises
        ------
        InvalidInput
            If an argument is out of range, the model doesn't fit the release, or the engine can't
            sample it.
        TypeError
            If neither the model nor one of its engines has such an option.
        MissingDependency, EngineFailed
            If an engine isn't installed or stops.

        Warns
        -----
        UserWarning
            If chains haven't mixed, an approximation isn't good, or noise hardly explains the
            outputs.
        """
        arguments = {"draws": draws, "chains": chains, "warmup": warmup, "seed": seed, **options}
        sizes, settings, more = self.check_fit(engine=engine, **arguments)
        read = self.read(release)
        if engine in APPROXIMATE:
            chosen, reason, approximation = self._approximated(engine, read), _APPROXIMATE, engine
        else:
            (chosen, reason), approximation = self.chosen(engine, read), None
        given = check_settings(approximation or chosen, settings)
        run = Run(
            release, read, chosen, reason, **sizes, progress=progress, options=more,
            settings=given, approximation=approximation,
        )  # fmt: skip
        return self.result(run, self.sample(run), self.noises(release, read))

    def check_fit(
        self,
        *,
        engine: str = "auto",
        draws: int | None = None,
        chains: int = 4,
        warmup: int | None = None,
        seed: int | None = None,
        progress: bool | None = None,
        **options: Any,
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """Check the arguments of `fit`, as far as that is possible without a release.

        Parameters
        ----------
        engine, draws, chains, warmup, seed, progress, **options
            As for `fit`.

        Returns
        -------
        tuple of three mappings
            The sizes, the engines' settings and the model's own options.

        Raises
        ------
        InvalidInput, TypeError
            As by `fit`.
        """
        sizes = self._sizes(draws, chains, warmup, seed)
        settings = self._settings(options)
        more = self._options("fit", options, self.options)
        if engine not in (known := ("auto", *self.engines, *self.approximations())):
            names = [repr(name) for name in known]
            raise InvalidInput(
                f"engine is {quoted(engine)}; it must be {', '.join(names[:-1])} or {names[-1]}"
            )
        return sizes, settings, more

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
        """Draw from the posterior that treats the released data as real, in the format of `fit`.

        This posterior is wrong. It is for comparison with the right one: an analysis of the
        released files, as they are, gives it.

        Parameters
        ----------
        release : Release
            The outputs, and a manifest that says how they were randomised.
        draws, chains, warmup, seed, progress, **options
            As for `fit`.

        Raises
        ------
        InvalidInput
            If an argument is out of range, the model doesn't fit the release, or the outputs can't
            be mistaken for real data.
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
    def approximations(cls) -> tuple[str, ...]:
        """Return the approximate engines, which take the place of NUTS where "pymc" samples."""
        return APPROXIMATE if "pymc" in cls.engines else ()

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        return any(view_of(mechanism, kind) is not None for kind in cls.views)

    def read(self, release: Releases) -> Any:
        """Read and check a release before the draws; by default nothing is read.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        releases_of(release)

    def read_naive(self, release: Release) -> Any:
        """Read and check a release as if its data were real; by default nothing is read."""

    def chosen(self, engine: str, read: Any) -> tuple[str, str]:
        """Return the engine and why it is chosen; raise InvalidInput if `engine` is impossible."""
        return (self.engines[0], self.reason) if engine == "auto" else (engine, "asked for")

    def _approximated(self, approximation: str, read: Any) -> str:
        """The engine that this one approximates, or InvalidInput where it can't sample."""
        try:
            return self.chosen("pymc", read)[0]
        except InvalidInput as error:
            raise InvalidInput(
                f"engine is {quoted(approximation)}, which approximates what engine='pymc' "
                f"samples, and that can't be had: {error}"
            ) from error

    @property
    def variables(self) -> Sequence[str]:
        """Names of the programs' parameters that a fit keeps."""
        raise NotImplementedError

    @property
    def program(self) -> str:
        """Name of the model's Stan program; by default that of its family."""
        return self.family

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, given a release.

        Raises
        ------
        InvalidInput
            If the model has no PyMC program, or none of this release.
        """
        raise self._without("pymc")

    def stan_code(self) -> str:
        """Read the complete text of the model's Stan program, its `#include` lines resolved.

        It is the program that `fit(..., engine="stan")` samples; `stan_data` is its data. Where
        units are independent given the parameters it generates their `log_lik`. It draws new
        outputs `y_rep`, too, where `replicates` is 1 among its data and Stan has their law: its
        first lines say which they are, or why there are none. `bdp.posterior_predictive` draws them
        by the mechanism itself, whatever its law.

        Raises
        ------
        InvalidInput
            If the model has no Stan program.
        """
        if "stan" not in self.engines:
            raise self._without("stan")
        from bayesdp.engines.stan.programs import read_program

        return read_program(self.program).code

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the model's Stan program, given a release.

        `replicates` is 0 among them; `{**model.stan_data(release), "replicates": 1}` are those of a
        program that draws new outputs `y_rep` for each draw, of which there are `R`, where it can.

        Raises
        ------
        InvalidInput
            If the model has no Stan program, or none of this release.
        """
        raise self._without("stan")

    def _without(self, engine: str) -> Exception:
        """The error where there is no program for an engine, or a model left its own out."""
        if engine in self.engines:
            return NotImplementedError(
                f"{type(self).__name__} has the engine {quoted(engine)}, but not its program"
            )
        name = {"pymc": "PyMC", "stan": "Stan"}[engine]
        return InvalidInput(
            f"{type(self).__name__} has no {name} program; its engines are: "
            f"{', '.join(self.engines)}"
        )

    def kept(self, run: Run) -> Sequence[str]:
        """Names of the programs' parameters that one fit keeps; by default all `variables`."""
        return self.variables

    def sample(self, run: Run) -> Draws:
        """Draw by the engine chosen; by default NUTS samples the PyMC or Stan program."""
        nuts = {**run.chained, "progress": run.progress, "variables": list(self.kept(run))}
        if run.engine == "stan":
            from bayesdp.engines.stan import sampling as stan

            return stan.sample(self.program, self.stan_data(run.release), **nuts)
        from bayesdp.engines.pymc import sampling as pymc

        return pymc.sample(self.pymc_model(run.release), **nuts)

    def naive(self, run: Run) -> Draws:
        """Draw from the posterior that treats the released data as real."""
        raise InvalidInput(
            f"{type(self).__name__} has no naive fit: nothing says which data would be taken "
            "for real; analyse the released data by other means"
        )

    def from_prior(self, run: Run, rng: np.random.Generator) -> Mapping[str, Any]:
        """Draw a fit's variables from their prior, shape (draws, groups, ...) or (draws, ...)."""
        raise InvalidInput(
            f"{type(self).__name__} has no draws from its prior here: it doesn't define from_prior"
        )

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """The least noise that explains the outputs; by default none is computed."""
        return []

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The model's own part of a fit's attrs: by default its fields listed in `told`."""
        return {name: json.dumps(getattr(self, name)) for name in self.told}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Coordinates and dimensions of the variables, for `inference_data`."""
        return {}

    def judged(self, run: Run, drawn: Draws) -> Mapping[str, Any]:
        """Draws that the verdict is on: by default of all variables but those of others."""
        return {name: v for name, v in drawn.posterior.items() if name not in self.derived}

    def result(self, run: Run, drawn: Draws, noises: Sequence[Noise] = ()) -> az.InferenceData:
        """Make an InferenceData of the draws, with a verdict on them."""
        about = {"family": self.family, **self.about(run, drawn)}
        about |= run.told
        if (n := getattr(self, "n", None)) is not None:
            about["n"] = told_size(n)
        judged = dataclasses.replace(drawn, posterior=self.judged(run, drawn))
        verdict = verdict_on(judged, noises, self.remedy)
        about["verdict"] = f"{_NAIVE}{verdict}" if run.engine == NAIVE else verdict
        releases = releases_of(run.release)
        labels = self.labels(run, drawn)
        shown = {name: v for name, v in drawn.posterior.items() if name not in self.apart}
        drawn = dataclasses.replace(drawn, posterior=shown)
        return inference_data(drawn, *releases, reason=run.reason, model=about, **labels)

    def _sizes(self, draws: Any, chains: Any, warmup: Any, seed: Any) -> dict[str, Any]:
        counts = {
            "draws": self.usual[0] if draws is None else draws,
            "chains": chains,
            "warmup": self.usual[1] if warmup is None else warmup,
        }
        return check_sampling(seed, **counts)

    def _settings(self, options: dict[str, Any]) -> dict[str, Any]:
        """Take from `options` the settings of any of the model's engines."""
        names = {name for each in known_settings(self.engines).values() for name in each}
        return {name: options.pop(name) for name in [*options] if name in names - {*self.options}}

    def _options(
        self, method: str, given: Mapping[str, Any], known: Mapping[str, Option]
    ) -> dict[str, Any]:
        if unknown := sorted(given.keys() - known.keys()):
            has = f"it has {', '.join(known)}" if known else "it has none of its own"
            if method == "fit":
                for engine, names in known_settings(self.engines).items():
                    has += f"; engine={quoted(engine)} takes {', '.join(names)}"
            raise TypeError(
                f"{type(self).__name__}.{method} has no option {quoted(unknown[0])}; {has}"
            )
        return {
            name: check(name, given[name]) if check and name in given else given.get(name, default)
            for name, (default, check) in known.items()
        }
