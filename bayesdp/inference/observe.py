r"""A release's law inside the user's own PyMC model.

The model gives p(s | theta), the law of the statistic of the confidential records, and `observe`
adds p(z | s), the mechanism's law. A continuous s is a latent variable for NUTS. An integer s is
summed out,

    p(z | theta) = sum over x of p(x | theta) prod_k Pr[z_k | x],

element by element where there are several, so that nothing discrete is left to sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_at_least
from bayesdp.engines.pymc.sampling import import_pymc
from bayesdp.errors import InvalidInput, quoted
from bayesdp.inference.exact_release import is_exact, log_density_of
from bayesdp.inference.observed_integers import log_sum_of, log_table_of
from bayesdp.inference.observed_numbers import log_law_of
from bayesdp.inference.several import Releases, all_releases
from bayesdp.inference.table.marginal import laws_of

if TYPE_CHECKING:
    import pymc as pm

_WHOLE = ("int", "uint", "bool")
"""Beginnings of the names of integers' types."""


def observe(
    release: Releases,
    statistic: Any = "statistic",
    *,
    n: int | None = None,
    name: str | None = None,
    columns: Sequence[str] | None = None,
) -> Any:
    """Condition the PyMC model of the enclosing ``with`` block on a release.

    Parameters
    ----------
    release : Release, or several in a list
        The outputs, and a manifest that says how they were randomised. Several releases must be of
        the same statistic.
    statistic : str, tensor, or distribution
        The confidential statistic, under the model.

        - ``pm.Binomial.dist(n=100, p=p)`` or another discrete distribution without a name: an
          integer, which is summed out.
        - A variable of the model, its name, or an expression of variables: sampled, or computed.
          The default is the variable called "statistic".

        It is in the mechanism's units: the number or the vector that noise was added to; for
        copies of binary records, the number of ones; for Poisson-gamma copies, each area's events;
        for degrees or statistics of a graph, the vector of them; for a graph whose dyads were
        answered, each one's tie (1) or none (0), in the order of ``np.triu_indices(nodes, 1)``, or
        if directed of the adjacency matrix's rows without the diagonal; for randomized responses,
        each record's category, or one distribution for all of them; for modips copies of Gaussian
        records, their mean, or where their sd is unknown ``pm.math.stack([mean, variance])`` with
        divisor n - 1; for those of gamma records, their sum, which lies within n times their
        bounds. For a release with groups, these are in the order of `release.groups`, along the
        first axis.
    n : int, optional
        The number of confidential records, where the law depends on it and the release doesn't
        say it.
    name : str, optional
        Name of the potential that is added. Default: "release", or the next of "release_2", ....
    columns : sequence of str, optional
        Of a release of a table's marginals, the columns of one that was released: the statistic is
        the vector of its counts, the last column moving fastest, as ``pm.Poisson.dist(mu)`` with
        one mean for each cell. What other marginals say of these columns isn't used.

    Returns
    -------
    tensor
        log p(z | s), or log p(z | theta) where s is summed out; up to a constant.

    Raises
    ------
    InvalidInput
        If there is no enclosing model, the statistic doesn't fit the release, or its law isn't
        available here.

    Notes
    -----
    Sums run over all integers that the distribution allows within the reach of noise from an
    output: 100 scales of Laplace noise, 20 of Gaussian, and up to 512 times as many where that is
    cheap. The law is below 1e-26 of its largest value at all others, which matter only where the
    rest of the model, which isn't known here, gives the outputs less than that.

    Examples
    --------
    >>> import bayesdp as bdp, pymc as pm
    >>> release = bdp.BetaBinomialSynthesizer(epsilon=1.0).release(bdp.Count(38, 100))
    >>> with pm.Model() as model:
    ...     p = pm.Beta("p", 1, 1)
    ...     _ = bdp.observe(release, pm.Binomial.dist(n=100, p=p))
    """
    pymc = import_pymc()
    model = _model(pymc)
    if n is not None:
        n = check_at_least("n", n, 0)
    releases = all_releases(release)
    laws = laws_of(releases, columns)
    name = _free(model, name)
    latent = _found(model, statistic)
    whole = latent.dtype.startswith(_WHOLE)
    if not whole and _is_censored_integers(latent):
        raise InvalidInput(
            "statistic is a censored distribution of integers with a bound that isn't one, which "
            "PyMC takes for continuous; give integers as both bounds, as "
            "pm.Censored.dist(pm.Poisson.dist(mu), lower=0, upper=9)"
        )
    exact = all(is_exact(part.mechanism) for parts in laws for part in parts)
    if _is_unnamed(latent, model):
        if not whole and exact and len(laws) == 1:
            return pymc.Potential(name, log_density_of(laws[0], latent))
        if not whole:
            raise InvalidInput(
                "statistic is a continuous distribution without a name; name it, as "
                "pm.Normal('statistic', mu, sd), so that it is sampled"
            )
        law = log_sum_of(laws, latent, n)
    elif whole:
        law = sum(log_table_of(parts, latent, n) for parts in laws)
    else:
        tags = [name if i == 0 else f"{name}_{i + 1}" for i in range(len(laws))]
        law = sum(log_law_of(parts, latent, n, tag) for parts, tag in zip(laws, tags, strict=True))
    return pymc.Potential(name, law)


def _model(pymc: Any) -> pm.Model:
    try:
        model: pm.Model = pymc.modelcontext(None)
    except TypeError:
        raise InvalidInput(
            "there is no model to observe in; call bdp.observe inside `with pm.Model():`"
        ) from None
    return model


def _free(model: pm.Model, name: str | None) -> str:
    if name is not None:
        if not isinstance(name, str) or not name or name in model.named_vars:
            raise InvalidInput(
                f"name is {quoted(name)}; it must be a text that no variable of the model has yet"
            )
        return name
    names = ("release" if k == 1 else f"release_{k}" for k in range(1, len(model.named_vars) + 2))
    return next(each for each in names if each not in model.named_vars)


def _found(model: pm.Model, statistic: Any) -> Any:
    import pytensor.tensor as pt

    if not isinstance(statistic, str):
        try:
            return pt.as_tensor_variable(statistic)
        except (NotImplementedError, TypeError, ValueError):
            raise InvalidInput(
                f"statistic is {quoted(statistic)}; it must be a variable, its name, an expression "
                "of variables, or a distribution, as pm.Binomial.dist(n=100, p=p)"
            ) from None
    if statistic not in model.named_vars:
        raise InvalidInput(
            f"the model has no variable called {quoted(statistic)}; give what the mechanism "
            "randomised, as bdp.observe(release, pm.Binomial.dist(n=100, p=p)), or the name of a "
            f"variable (there are {', '.join(model.named_vars) or 'none'})"
        )
    return model.named_vars[statistic]


def _is_unnamed(latent: Any, model: pm.Model) -> bool:
    """Return True if a variable is a distribution of its own and not one of the model."""
    from pymc.distributions.distribution import SymbolicRandomVariable
    from pytensor.tensor.random.op import RandomVariable

    if latent.owner is None or latent in model.basic_RVs:
        return False
    return isinstance(latent.owner.op, RandomVariable | SymbolicRandomVariable)


def _is_censored_integers(latent: Any) -> bool:
    """Return True if a variable is a distribution of integers, moved to bounds beyond them."""
    from pymc.distributions.censored import CensoredRV

    made = latent.owner
    return (
        made is not None
        and isinstance(made.op, CensoredRV)
        and made.inputs[0].dtype.startswith(_WHOLE)
    )
