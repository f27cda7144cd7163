r"""Linear regression from noisy moments of bounded columns, copies, or perturbed coefficients.

    x ~ N(mu, Sigma),    y | x ~ N(c_0 + c'x, sigma^2),    z_k | records ~ mechanism, k = 1..M,

of columns rescaled by their public bounds to [-1, 1]. Only z is seen, and it depends on the records
through s, the sums of columns, of their squares and of their products. With conjugate priors the
parameters integrate out, and what is left is p(s), in closed form, times the mechanism's law:
Hamiltonian Monte Carlo draws s (and n, where it is confidential), and the coefficients given s are
drawn exactly, each draw by itself (`bayesdp.kernels.regression.moments`, `chain`).
Bernstein and Sheldon (2019) approximate the same posterior by a normal law of s.

Given s the posterior of the regression doesn't depend on the law of the predictors. That they are
normal, with a vague prior, says which s are likely where noise leaves it open, and no more: with
predictors of two values, say, little is lost.

Perturbed coefficients of the ridge regression depend on the records through the same moments, so
they have the same chain (`bayesdp.kernels.regression.coefficients_law`). They say less: of the
predictors' spread and of sigma hardly anything, so those priors matter.

Copies of a table whose numbers were drawn by regressions from noisy moments that weren't released
(`modips_sequential`) depend on the records through the same moments. The noisy ones are latent too:
the law of a copy's numbers given them is in closed form (`bayesdp.kernels.regression.copies_law`).

Predictors that are left out are left out with their moments: the posterior is that given the
noisy numbers of the chosen columns alone. What the others' numbers would say of the true moments of
the chosen ones is lost; a regression on all columns uses all numbers. Of copies all is used: their
other columns are regressed on the chosen ones, with a prior of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numba
import numpy as np

from bayesdp.checks import keep
from bayesdp.core.drawn_moments import DrawnMomentsView
from bayesdp.core.views import view_of
from bayesdp.engines.draws import Draws
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.base import Model, Run
from bayesdp.inference.conflict import Noise
from bayesdp.inference.evidence_ways import BRIDGE, Answer, moved
from bayesdp.inference.regression.chain import sample_moments
from bayesdp.inference.regression.copies_read import ReadCopies, read_copies, reads_copies
from bayesdp.inference.regression.linear_programs import data_of
from bayesdp.inference.regression.linear_read import Read
from bayesdp.inference.regression.linear_release import is_of_moments, read
from bayesdp.inference.several import Releases
from bayesdp.mechanisms.families.regression_fields import check_predictors_prior, check_prior
from bayesdp.progress import bar
from bayesdp.release import Release

if TYPE_CHECKING:
    import pymc as pm

_REASON = (
    "the parameters can be integrated out, so the moments alone are sampled, by compiled "
    "Hamiltonian Monte Carlo, and exact draws of the coefficients given them exist"
)

_OF_COPIES = (
    "the noisy moments that copies were drawn by are latent beside the records' own, and all "
    "parameters integrated out"
)

_CAREFUL = 0.95
"""Mean acceptance that NUTS aims at where coefficients leave curved ridges of moments."""


@dataclass(frozen=True)
class LinearRegressionModel(Model):
    """Inference about a linear regression from noisy moments, copies or perturbed coefficients.

    Parameters
    ----------
    response : str
        The column of the release that is regressed on the others.
    prior : tuple (m0, k, a, b)
        sigma^2 ~ InverseGamma(a, b) and coefficients ~ N(m0, sigma^2 / k), for columns rescaled to
        [-1, 1]: m0 and k are one number for all, or one for the intercept and for each predictor.
        Priors must be proper: noisy moments don't rule out predictors without variance. The default
        expects residuals of about a third of the response's half width. Where they are known to be
        far smaller, take a smaller b: where noise blurs their sum of squares, slopes are drawn
        towards 0 otherwise.
    predictors : sequence of str, optional
        Columns to regress on. Default: all other columns, in their order.
    predictors_prior : tuple (m, r, nu, psi), optional
        Prior of the rescaled predictors' law: Sigma ~ InverseWishart(nu, diag(psi)) and
        mu ~ N(m, Sigma / r). m and psi are one number, or one for each. Default:
        (0, 0.1, p + 2, 0.1).
    n : range, optional
        Possible numbers of records where the release doesn't say n, all equally probable, none
        below p + 2, the fewest whose moments have a density. Default: from p + 2 to 2^29.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range.

    Notes
    -----
    The posterior variables are "beta" with the dimension "coefficient", "sigma", and "n" where it
    has a prior. The engine "hmc" samples the latent moments of the records, and draws coefficients
    given them; "pymc" and "stan" sample both by NUTS, from the same posterior, and aim at a mean
    acceptance of 0.95 from coefficients if they are told no other.

    Of copies of `bdp.synthesizers.SequentialModipsSynthesizer` it reads numeric columns that are in
    steps without `by`, and of copies of `bdp.families.LinearRegression` by `bdp.ModipsSynthesizer`
    all columns, one release at a time and with n public, by the engine "gibbs": each copy's noisy
    moments are latent, and numbers that were set to a bound too. Columns that aren't in the model
    have regressions of their own, with the prior (0, 0.1, 1, 0.1). Of 1,000 records and three
    copies by steps, the slope's 95% intervals were 0.35 long at epsilon = 4, and 1.06 at epsilon =
    1, where those that `bdp.combine` makes of each copy's least squares were 0.48 and 2.16 (in the
    median 0.44 and 1.71); the truth was within in 54 and 56, and in 53 and 58, of 60 releases.

    Examples
    --------
    >>> import bayesdp as bdp, numpy as np, pandas as pd
    >>> age = np.random.default_rng(1).uniform(18, 90, size=2000)
    >>> table = pd.DataFrame({"age": age, "pressure": 100 + 0.5 * age})
    >>> declared = bdp.synthesizers.NoisyMomentsSynthesizer(
    ...     {"age": (18, 90), "pressure": (70, 250)}, epsilon=1.0
    ... )
    >>> idata = bdp.LinearRegressionModel("pressure").fit(declared.release(table))
    >>> slope = idata.posterior["beta"].sel(coefficient="age")
    """

    response: str
    prior: tuple[Any, ...] = (0.0, 0.1, 1.0, 0.1)
    predictors: Sequence[str] | None = None
    predictors_prior: tuple[Any, ...] | None = None
    n: range | None = None

    family: ClassVar[str] = "linear_regression"
    engines: ClassVar[tuple[str, ...]] = ("hmc", "gibbs", "pymc", "stan")
    takes_groups: ClassVar[bool] = False
    reason: ClassVar[str] = _REASON
    usual: ClassVar[tuple[int, int]] = (1000, 600)
    naive_reason: ClassVar[str] = "naive: treats the noisy moments as true"
    told: ClassVar[tuple[str, ...]] = ("response", "prior", "predictors_prior")
    variables: ClassVar[tuple[str, ...]] = ("beta", "sigma")

    @classmethod
    def reads(cls, mechanism: Any) -> bool:
        """Return True if the model has the law of this mechanism's outputs."""
        copies = view_of(mechanism, DrawnMomentsView)
        return is_of_moments(mechanism) or (copies is not None and len(copies.bounds) > 1)

    def __post_init__(self) -> None:
        if not isinstance(self.response, str) or not self.response:
            raise InvalidInput(
                f"response is {quoted(self.response)}; it must be the name of a column"
            )
        if self.predictors is not None:
            names = self.predictors
            good = isinstance(names, Sequence) and not isinstance(names, str) and len(names) > 0
            good = good and all(isinstance(name, str) for name in names)
            if not good or len(set(names)) < len(names) or self.response in names:
                raise InvalidInput(
                    f"predictors is {quoted(names)}; it must be names of columns, each once and "
                    "not the response's, or None for all others"
                )
            object.__setattr__(self, "predictors", tuple(names))
        sizes = self.n
        if sizes is not None and not (
            isinstance(sizes, range) and sizes and sizes.step == 1 and sizes[0] >= 1
        ):
            raise InvalidInput(
                f"n is {quoted(sizes)}; it must be a range of whole numbers from 1, as range(500, "
                "1501), or None"
            )
        keep(self, prior=check_prior(self.prior, self._count(self.prior, 1)))
        if (given := self.predictors_prior) is not None:
            keep(self, predictors_prior=check_predictors_prior(given, self._count(given, 0)))

    def _count(self, prior: Any, more: int) -> int:
        """Number of predictors: those listed, or else the length of a prior with one for each."""
        if self.predictors is not None:
            return len(self.predictors)
        each = prior if isinstance(prior, Sequence) else ()
        lengths = [len(x) - more for x in each if isinstance(x, Sequence | np.ndarray)]
        return max(lengths, default=1)

    def read(self, release: Releases) -> Read | ReadCopies:
        """Read and check the moments of the model's columns in a release, or copies drawn by them.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release, or several releases don't fit each other.
        """
        from_release = read_copies if reads_copies(release) else read
        return from_release(
            release,
            response=self.response,
            predictors=self.predictors,
            prior=self.prior,
            predictors_prior=self.predictors_prior,
            sizes=self.n,
        )

    def _moments(self, release: Releases, lacking: str) -> Read:
        """Read what isn't of copies, of which there is no program and no evidence."""
        given = self.read(release)
        if isinstance(given, ReadCopies):
            raise InvalidInput(
                f"the release is of copies, whose noisy moments are latent: of these there is no "
                f"{lacking} here; fit with engine='auto', or release "
                "bdp.synthesizers.NoisyMomentsSynthesizer, which have one"
            )
        return given

    def chosen(self, engine: str, read: Any) -> tuple[str, str]:
        """Choose the engine of copies or of moments, and say why."""
        copied = isinstance(read, ReadCopies)
        if engine == "auto":
            return ("gibbs", _OF_COPIES) if copied else (self.engines[0], self.reason)
        if (engine == "gibbs") != copied:
            what = "copies, which" if copied else "moments or coefficients, which"
            others = "'gibbs' alone draws" if copied else "'hmc', 'pymc' and 'stan' draw"
            raise InvalidInput(
                f"engine is {quoted(engine)}, but the release is of {what} {others} from; use "
                "engine='auto'"
            )
        return engine, "asked for"

    def evidence(self, release: Releases, **options: Any) -> Answer:
        """Compute the log evidence for `bdp.log_evidence`, by a bridge over the latent moments.

        Raises
        ------
        InvalidInput
            If the release is of coefficients or of copies.
        """
        from bayesdp.inference.regression.evidence import log_evidence_of_moments

        given = self._moments(release, "log evidence")
        if given.hidden.seen[3] > 0:
            raise InvalidInput(
                "the release is of coefficients, of which there is no log evidence here; release "
                "bdp.synthesizers.NoisyMomentsSynthesizer, which have one"
            )
        integral = log_evidence_of_moments(given.hidden, **options)
        read = ", ".join(sorted([*given.names[1:], self.response]))
        how = BRIDGE.format("the parameters are integrated out, the rest is the latent moments")
        return moved(integral, given.log_constant), how, f"the moments of {read}"

    def from_prior(self, run: Run, rng: np.random.Generator) -> dict[str, Any]:
        """Draw coefficients and sigma from their priors, and n where it isn't known."""
        given: Read | ReadCopies = run.read
        columns = len(given.ends)
        none = (np.zeros(run.draws), np.zeros((run.draws, columns)))
        made = given.coefficients(*none, np.zeros((run.draws, 0, columns)), rng)
        least, largest = given.sizes
        if least < largest:
            sizes: Any = rng.integers(least, largest, run.draws, endpoint=True)
            made["n"] = sizes
        return made

    def noises(self, release: Releases, read: Any = None) -> list[Noise]:
        """Compute the least noise that explains the outputs."""
        given: Read | ReadCopies = self.read(release) if read is None else read
        return given.noises

    def pymc_model(self, release: Releases) -> pm.Model:
        """Build the model as a pm.Model, with the records' moments as latent variables.

        The parameters are integrated out of the density of the moments; "beta" and "sigma" follow
        their posterior given the moments.

        Raises
        ------
        InvalidInput
            If the model doesn't fit the release.
        """
        from bayesdp.engines.pymc.linear_regression import linear_regression

        given = self._moments(release, "PyMC program")
        return linear_regression(data_of(given), given.names)

    def stan_data(self, release: Releases) -> dict[str, Any]:
        """Build the data of the Stan program `linear_regression`, which `pymc_model` is too.

        Raises
        ------
        InvalidInput
            As for `pymc_model`.
        """
        return data_of(self._moments(release, "Stan program"))

    def kept(self, run: Run) -> Sequence[str]:
        """Names of the programs' parameters that this fit keeps."""
        least, largest = run.read.sizes
        return ("beta", "sigma", "n") if least < largest else ("beta", "sigma")

    def sample(self, run: Run) -> Draws:
        """Run chains over the latent moments, and draw coefficients given them."""
        given: Read | ReadCopies = run.read
        if run.engine in ("pymc", "stan"):
            of_coefficients = run.read.hidden.seen[3] > 0
            return super().sample(run.carefully(_CAREFUL) if of_coefficients else run)
        with bar(run.progress, run.warmup + run.draws) as step:
            if isinstance(given, ReadCopies):
                from bayesdp.inference.regression.copies_chain import sample_copies

                chain = sample_copies(given, **run.chained, step=step)
            else:
                chain = sample_moments(given.hidden, **run.chained, step=step)
        rows = chain.rows * np.sqrt(chain.n)[..., None, None]
        rng = np.random.default_rng(None if run.seed is None else [run.seed, 1])
        posterior: dict[str, Any] = given.coefficients(chain.n, chain.mean, rows, rng)
        if given.sizes[0] < given.sizes[1]:
            posterior["n"] = chain.n
        versions = {"numba": numba.__version__, "numpy": np.__version__}
        return Draws(posterior, chain.sample_stats, run.engine, versions)

    def read_naive(self, release: Release) -> Read | ReadCopies:
        """Read the noisy moments, or copies, as `read` does."""
        return self.read(release)

    def naive(self, run: Run) -> Draws:
        """Draw coefficients given the noisy moments, treated as true, or all copies' records.

        Raises
        ------
        InvalidInput
            If no records have the noisy moments, which is common, or only coefficients were
            released.
        """
        given: Read | ReadCopies = run.read
        shape = (run.chains, run.draws)
        n, mean, rows = (np.broadcast_to(x, (*shape, *x.shape)) for x in given.known)
        posterior = given.coefficients(n, mean, rows, np.random.default_rng(run.seed))
        if given.sizes[0] < given.sizes[1]:
            posterior["n"] = n
        return Draws(posterior, {"lp": np.zeros(shape)}, "exact", {"numpy": np.__version__})

    def about(self, run: Run, drawn: Draws) -> dict[str, str]:
        """The model's fields, and columns of copies that tell nothing of the regression."""
        left = ", ".join(run.read.left_out)
        return {**super().about(run, drawn), **({"left_out": left} if left else {})}

    def labels(self, run: Run, drawn: Draws) -> dict[str, Any]:
        """Dimension: one coefficient for each predictor, and the intercept's."""
        return {
            "coords": {"coefficient": list(run.read.names)},
            "dims": {name: [] for name in drawn.posterior if name != "beta"},
        }
