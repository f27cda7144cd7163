"""A user's own PyMC model of a release, fitted as the models here are."""

from __future__ import annotations

import dataclasses
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bayesdp.checks import keep
from bayesdp.engines.draws import Draws, constants_beside
from bayesdp.errors import InvalidInput, kind_of, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.several import Releases, only_one

if TYPE_CHECKING:
    import pymc as pm

FUNCTION = "model"
"""Name of the function in a file."""


@dataclass(frozen=True)
class PyMCModel(Model):
    """Inference by a PyMC model of your own, in which `bdp.observe` adds the release's law.

    Parameters
    ----------
    source : callable, or str or path
        A function of a release that returns a pm.Model; or a Python file that defines such a
        function, `model`. The file is run, as any program of yours: take it from nobody whose
        programs you wouldn't run.
    variables : sequence of str, optional
        Names of the variables to keep; by default all free ones and `pm.Deterministic`s.

    Raises
    ------
    InvalidInput
        If `source` is neither a function nor a file with one.

    Notes
    -----
    The posterior's dimensions are those of the pm.Model. "pymc" samples it, with its settings, and
    a fit has the verdict, the attrs and the groups that all fits have.

    Examples
    --------
    >>> import bayesdp as bdp, pymc as pm
    >>> def share(release):
    ...     with pm.Model() as made:
    ...         p = pm.Beta("p", 1, 1)
    ...         bdp.observe(release, pm.Binomial.dist(n=100, p=p))
    ...     return made
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=2.0).release(bdp.Count(38, 100))
    >>> idata = bdp.models.PyMCModel(share).fit(release, draws=200, seed=1)
    >>> idata.posterior["p"].dims
    ('chain', 'draw')
    """

    source: Callable[[Any], Any] | str | Path
    variables: Sequence[str] | None = None  # type: ignore[assignment]

    family: ClassVar[str] = "pymc"
    engines: ClassVar[tuple[str, ...]] = ("pymc",)
    reason: ClassVar[str] = "a PyMC model of your own"
    usual: ClassVar[tuple[int, int]] = (1000, 1000)
    told: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not callable(self.source):
            if not isinstance(self.source, str | Path) or not Path(self.source).is_file():
                shown = quoted(self.source) if isinstance(self.source, str | Path) else "no path"
                raise InvalidInput(
                    f"source is {shown}; it must be a function of a release that returns a "
                    f"pm.Model, or a Python file that defines one as {quoted(FUNCTION)}"
                )
            keep(self, source=Path(self.source))
        names = self.variables
        if names is not None:
            good = isinstance(names, Sequence) and not isinstance(names, str) and len(names) > 0
            if not good or not all(isinstance(name, str) for name in names):
                raise InvalidInput(
                    f"variables is {quoted(names)}; it must be names of the model's variables"
                )
            keep(self, variables=tuple(names))

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return False: what the model reads is the user's matter."""
        return False

    def read(self, release: Releases) -> pm.Model:
        """Build the model of a release.

        Raises
        ------
        InvalidInput
            If there are several releases, the file has no such function, its result is no pm.Model,
            or that has no such variable.
        """
        import pymc

        made = self._function()(only_one(release, "pymc"))
        if not isinstance(made, pymc.Model):
            raise InvalidInput(
                f"source returned {kind_of(made)}; it must return the pm.Model that it made"
            )
        known = [str(each.name) for each in made.unobserved_RVs]
        if unknown := [name for name in self.variables or () if name not in known]:
            raise InvalidInput(
                f"variables has {quoted(unknown[0])}; the model has {', '.join(known)}"
            )
        return made

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model of a release, as `read` does."""
        return self.read(release)

    def kept(self, run: Run) -> Sequence[str]:
        """Names of the variables that a fit keeps."""
        return self.variables or [str(each.name) for each in run.read.unobserved_RVs]

    def sample(self, run: Run) -> Draws:
        """Sample the model that was read."""
        from bayesdp.engines.pymc import sampling as pymc

        names = list(self.kept(run))
        drawn = pymc.sample(run.read, variables=names, progress=run.progress, **run.chained)
        if run.read.discrete_value_vars:  # which steps of their own move, or don't
            return drawn
        return dataclasses.replace(drawn, known=constants_beside(drawn.posterior))

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimensions and coordinates as the pm.Model has them."""
        made: pm.Model = run.read
        dims = {
            name: list(made.named_vars_to_dims.get(name, ()))
            or [f"{name}_dim_{k}" for k in range(values.ndim - 2)]
            for name, values in drawn.posterior.items()
        }
        used = {dim for each in dims.values() for dim in each}
        coords = {
            name: list(labels)
            for name, labels in made.coords.items()
            if name in used and labels is not None
        }
        return {"dims": dims, "coords": coords}

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw the variables from the model without what it observes."""
        import pymc

        names = list(self.kept(run))
        drawn = pymc.draw([run.read[name] for name in names], run.draws, random_seed=rng)
        return dict(zip(names, drawn, strict=True))

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """Name of the function or file."""
        given: Any = self.source
        return {"source": given.name if isinstance(given, Path) else str(given.__name__)}

    def _function(self) -> Callable[[Any], Any]:
        if callable(self.source):
            return self.source
        found = runpy.run_path(str(self.source)).get(FUNCTION)
        if not callable(found):
            raise InvalidInput(
                f"source is {quoted(self.source)}, which defines no function {quoted(FUNCTION)} "
                "of a release"
            )
        made: Callable[[Any], Any] = found
        return made
