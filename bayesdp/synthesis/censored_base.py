"""Base of the censored synthesizers: their programs, and the law that they draw from."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_flag
from bayesdp.errors import InvalidInput
from bayesdp.renamed import renamed_argument

if TYPE_CHECKING:
    import arviz as az
    import pymc as pm

    from bayesdp.synthesis.censored_chains import Chains, Law
    from bayesdp.synthesis.pseudo_posterior import PseudoPosterior

_USUAL: dict[str, Any] = {"draws": 1000, "chains": 4, "warmup": 1000, "seed": None}


class CensoredSynthesizer:
    """Base of synthesizers that clip each record's log density, by chains or on a grid.

    A synthesizer has the fields `engine`, `epsilon`, `copies`, `neighbours` and `center`, and
    defines `_law`, `_read` and `_on_grid`.
    """

    if TYPE_CHECKING:
        engine: str
        epsilon: float
        copies: int
        neighbours: str
        center: float | None

    @cached_property
    def _law(self) -> Law:
        """The law of the records, from public fields alone."""
        raise NotImplementedError

    def _read(self, data: Any) -> tuple[Any, Any]:
        """Check the confidential records, and return them, as the law takes them, and weights."""
        raise NotImplementedError

    def _on_grid(self, data: Any, *, clipped: bool) -> PseudoPosterior:
        """Return the law of the engine "grid" itself, or raise InvalidInput."""
        raise NotImplementedError

    @cached_property
    def _chains(self) -> Chains:
        """The law and its interval, as programs of PyMC and Stan."""
        from bayesdp.synthesis.censored_chains import Chains

        engine = "stan" if self.engine == "stan" else "pymc"
        return Chains(engine, self.epsilon, self.copies, self.neighbours, self.center, self._law)

    @renamed_argument("y", "data")
    def pseudo_posterior(
        self,
        data: Any,
        *,
        draws: int = _USUAL["draws"],
        chains: int = _USUAL["chains"],
        warmup: int = _USUAL["warmup"],
        seed: int | None = None,
        log_lik: bool = False,
        clipped: bool = True,
        **settings: Any,
    ) -> PseudoPosterior | az.InferenceData:
        """Return the law that a copy's parameters are drawn from, for the curator's eyes only.

        It is a function of the confidential records without any noise, and promises nothing.
        `bdp.evaluate.plot_pseudo_posterior` shows it. The sorted records of a scan stay on disk, as
        `release` says, for as long as it exists.

        Parameters
        ----------
        data
            As for `release`.
        draws, chains, warmup : int
            For the engines "stan" and "pymc": draws of each chain, after `warmup` of adaptation.
        seed : int, optional
            Seed of the draws; for these engines only.
        log_lik : bool
            Whether to return the records, and each one's log density at every draw, too; for these
            engines only.
        clipped : bool
            False for the ordinary posterior, to compare: of the records neither weighted nor
            clipped. Nothing may ever be released from it.
        **settings
            For these engines, those of `fit`: `target_accept`, `max_treedepth`, `metric`,
            `initvals` and `cores`, or `adapt_delta`, `max_treedepth`, `metric`, `inits`, `thin` and
            `parallel_chains`.

        Returns
        -------
        PseudoPosterior or InferenceData
            The latter where the engine is "stan" or "pymc"; a `CensoredRegressionSynthesizer` needs
            one of these. If asked for, its group log_likelihood has `log_lik`, the weighted log
            densities after clipping, and `log_lik_noM`, those before, with the dimension "record";
            its observed_data `value`, what was observed of each record: rescaled to (0, 1) where
            there are bounds, and a category's place; and its constant_data `weight`, and
            `lipschitz`, the largest |log_lik| of each record over the draws, which is at most the
            bound that the guarantee takes (Hu, Williams and Savitsky 2025).

        Raises
        ------
        InvalidInput
            If an argument is out of range or the engine has no such setting; the sampler "pymc",
            whose compiled code stays on the disk, is for released data alone.
        """
        sampling = {"draws": draws, "chains": chains, "warmup": warmup}
        check_flag("log_lik", log_lik)
        check_flag("clipped", clipped)
        if self.engine == "grid":
            if (sampling | {"seed": seed}, log_lik, settings) != (_USUAL, False, {}):
                raise InvalidInput(
                    "draws, chains, warmup, seed, log_lik and settings are for the engines 'stan' "
                    "and 'pymc'; the grid's law is exact: leave them out, and draw from what is "
                    "returned"
                )
            return self._on_grid(data, clipped=clipped)
        records, weights = self._read(data)
        made = self._chains if clipped else self._chains.unclipped
        return made.pseudo_posterior(
            records, weights if clipped else None, sampling, seed, log_lik, settings
        )

    @renamed_argument("y", "data")
    def pymc_model(self, data: Any) -> pm.Model:
        """Build the clipped model of one copy's parameters, for the curator's eyes only.

        It holds the confidential records, and whatever is computed from it is confidential.

        Parameters
        ----------
        data
            As for `release`.
        """
        return self._chains.censored_model(*self._read(data))

    def stan_code(self) -> str:
        """Read the text of the Stan program that the engine "stan" samples."""
        from bayesdp.engines.stan.programs import read_program

        return read_program(self._chains.law.program).code

    @renamed_argument("y", "data")
    def stan_data(self, data: Any, *, log_lik: bool = False) -> dict[str, Any]:
        """Build the data of the Stan program, for the curator's eyes only: they are confidential.

        Parameters
        ----------
        data
            As for `release`.
        log_lik : bool
            Whether the program's generated quantities have each record's log density.
        """
        check_flag("log_lik", log_lik)
        return self._chains.stan_data(*self._read(data), log_lik=log_lik)
