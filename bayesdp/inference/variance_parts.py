r"""A posterior's variance in parts: what noise, sampling and the population's parameters add.

With theta a group's proportion or rate, x its latent count, phi the parameters of the population of
groups where a model has any, and z all that was released, the law of total variance says, twice,

    Var[theta | z] = E Var[theta | x, phi]             sampling
                   + E Var_x(E[theta | x, phi])        noise
                   + Var_phi(E[theta | phi, z])        model,

where E and Var_x are over the posterior of x given phi and z, and the outer E and Var_phi over that
of phi. Sums over x are exact; phi, where there is one, is as in the draws of a fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.readers import models_with
from bayesdp.inference.several import Releases

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class GivenPopulation(NamedTuple):
    """Posterior moments of one number, its count summed out, at draws of the population's.

    Attributes
    ----------
    mean : ndarray, shape (draws,)
        E[theta | phi, z].
    noise : ndarray, shape (draws,)
        Variance over counts of E[theta | x, phi].
    sampling : ndarray, shape (draws,)
        Mean over counts of Var[theta | x, phi].
    """

    mean: Floats
    noise: Floats
    sampling: Floats

    def parts(self) -> dict[str, float]:
        """Return the mean, the variance and its parts."""
        parts = {
            "noise": float(self.noise.mean()),
            "sampling": float(self.sampling.mean()),
            "model": float(self.mean.var()),
        }
        return {"mean": float(self.mean.mean()), "variance": sum(parts.values()), **parts}


Labelled = Iterator[tuple[Mapping[str, Any], GivenPopulation]]
"""Each number by its labels, such as its group and category, and its moments."""


def over_counts(weights: ArrayLike, means: ArrayLike, variances: ArrayLike) -> GivenPopulation:
    """Sum a latent count out of the moments of a number given it.

    Parameters
    ----------
    weights : array_like, shape (counts,) or (draws, counts)
        Posterior probabilities of the counts, which sum to one.
    means, variances : array_like, of that shape
        Moments given each count.
    """
    weights, means, variances = map(np.atleast_2d, (weights, means, variances))
    mean = (weights * means).sum(axis=1)
    noise = (weights * (means - mean[:, None]) ** 2).sum(axis=1)
    return GivenPopulation(mean, noise, (weights * variances).sum(axis=1))


def of_beta(a: Any, b: Any) -> tuple[Any, Any]:
    """Mean and variance of Beta(a, b)."""
    mean = a / (a + b)
    return mean, mean * (b / (a + b)) / (a + b + 1)


def variance_parts(model: Any, release: Releases, idata: Any = None) -> pd.DataFrame:
    """Divide each group's posterior variance among noise, sampling and the population's parameters.

    A small area's estimate is uncertain as it has few records, as noise hides how many of them
    there are, and as a hierarchical model doesn't know well what to pool it towards. The first
    would be there without privacy, the second is its price, and the third falls with the number of
    areas alone.

    Parameters
    ----------
    model : BinomialModel, MultinomialModel, PoissonModel or HierarchicalBinomialModel
        A model of counts that are summed out: of categories, where they have an exact posterior; of
        events, where their total isn't known.
    release : Release, or several in a list
        What was released of the counts.
    idata : arviz.InferenceData, optional
        The result of `HierarchicalBinomialModel.fit`, for its draws of the population's mean and
        concentration, of which 1,000 are taken, evenly spaced; other models need none.

    Returns
    -------
    DataFrame
        A row for each group (area, category), with the mean and variance of its proportion or rate,
        and the parts that add up to that variance:

        - noise: the variance over the latent counts of E[theta | count]; which counts are likely is
          said by the release. An n that the model has a prior on is among what isn't known;
        - sampling: the mean over the latent counts of Var[theta | count], what a posterior
          would have had on average if the count had been released as it is;
        - model: the variance of E[theta | population's parameters]; 0 where a model has none. What
          other groups' noise adds to it is in here.

        Roots of the parts, which don't add up, are in the unit of theta.

    Raises
    ------
    InvalidInput
        If the model's counts aren't summed out, or its fit is needed and isn't given.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> noise = bdp.mechanisms.DiscreteLaplaceMechanism(10.0, 1.0, "replace_one", n=40)
    >>> release = bdp.Release.of_groups({"a": (noise, [12])})
    >>> parts = bdp.evaluate.variance_parts(bdp.BinomialModel(), release)
    >>> parts[["variance", "noise", "sampling", "model"]].round(4).to_numpy().tolist()
    [[0.0469, 0.0424, 0.0044, 0.0]]
    """
    import pandas as pd

    if isinstance(model, type) or not hasattr(model, "given_population"):
        raise InvalidInput(
            f"model is {quoted(model)}, whose latent counts aren't summed out; there are "
            f"those of the families {', '.join(models_with('given_population'))}"
        )
    rows = list(model.given_population(release, idata))
    names = list(rows[0][0])
    labels = [tuple(label.values()) for label, _ in rows]
    index: Any = pd.MultiIndex.from_tuples(labels, names=names)
    frame = pd.DataFrame([moments.parts() for _, moments in rows], index=index)
    return frame if len(names) > 1 else frame.set_axis(index.get_level_values(0))
