"""Planning before any data are touched: which epsilon makes intervals as short as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from bayesdp.checks import (
    as_float,
    check_at_least,
    check_at_least_one,
    check_called,
    check_delta,
    check_share,
)
from bayesdp.errors import InvalidInput, quoted
from bayesdp.evaluation.planning.bare import criterion_of, needed_n, without_privacy
from bayesdp.evaluation.planning.designs import designs_of
from bayesdp.evaluation.planning.engines import engine_of
from bayesdp.evaluation.planning.expected import expected_of
from bayesdp.evaluation.planning.lengths import Lengths
from bayesdp.evaluation.planning.question import Question
from bayesdp.evaluation.planning.result import Plan, found_plan
from bayesdp.evaluation.planning.search import Curve, smallest_epsilon
from bayesdp.privacy.guarantee import check_epsilon

Progress = Callable[[str, float], None]


def plan(
    model: Any,
    n: int | range | None = None,
    *,
    target: float,
    mechanisms: Any = None,
    epsilon: tuple[float, float] = (0.05, 10.0),
    copies: Any = None,
    level: float = 0.95,
    assurance: float | None = None,
    design_prior: Any = None,
    estimand: Any = None,
    simulate: Callable[[np.random.Generator], tuple[float, Any]] | None = None,
    reference: Callable[[Any], tuple[float, float]] | None = None,
    delta: float = 0.0,
    attacker_prior: float = 0.5,
    replicates: int | None = None,
    fit_options: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Plan:
    """Find the smallest epsilon whose intervals are short enough, before there are data.

    Data are drawn from the prior and released by each design at each epsilon, and the analyst's
    interval is computed: a preposterior analysis, as for choosing a sample size. It is exact for
    counts of up to 2000 records, where outputs can be listed. It spends nothing, as it needs no
    confidential data.

    Parameters
    ----------
    model : model
        The analyst's model, such as `bdp.BinomialModel(prior=(1, 1))`, or any object with a `fit`
        like theirs.
    n : int or range
        The number of records, or a range of equally likely numbers where it is confidential. None
        where the family (rates of events) or `simulate` determines it.
    target : float
        Largest length that the interval may have, in the estimand's unit: its mean length over the
        prior (average length criterion; Joseph, Wolfson and du Berger 1995), or with `assurance`
        the length that this share of the releases doesn't exceed (modified worst outcome criterion;
        M'Lan, Joseph and Wolfson 2008).
    mechanisms : str, synthesizer, function, sequence of them, or mapping of names to them
        For counts: "beta_binomial", "discrete_laplace", "discrete_gaussian" (with `delta`) and
        "randomized_response"; for categories: "dirichlet_multinomial", "perturbed_histogram" and
        "randomized_response", the only one that needs no trust in the curator; all under
        replace-one with n public. Or synthesizers, whose epsilon (and copies, if those are given
        here) is replaced; or functions of epsilon, and of copies if they have such a parameter,
        that return a synthesizer or a mechanism of that cost. Default: all the names for the
        model's family.
    epsilon : tuple of two floats
        The smallest and the largest epsilon to consider.
    copies : int or sequence of int, optional
        Numbers of copies to consider, where there are copies. Default: 1, 5 and 20; for a
        synthesizer, its own number.
    level : float
        Posterior probability of the interval, which is equal-tailed.
    assurance : float, optional
        The share of releases whose intervals must be short enough, such as 0.9.
    design_prior : optional
        What is expected of the data, in the form of the model's prior, where it differs from that.
        For a proportion it may also be one number, the true proportion: `coverage` is then that of
        repeated sampling.
    estimand : optional
        The quantity that the interval is for: a category; "mu" or "sigma"; "mean" or "rate"; a
        variable of the fit, such as "tau"; one number of an array, such as ("beta", "age"); or a
        function of the InferenceData that returns draws. Default: the model's first.
    simulate : callable, optional
        A function of a numpy generator that returns the estimand's true value and the data, in the
        form that the synthesizer's `release` takes (for a mechanism, the statistic). Needed where
        plan can't simulate data itself, and used wherever it is given.
    reference : callable, optional
        A function of the data from `simulate` that returns the ends of the interval without
        privacy.
    delta : float
        The delta at which the promises of named mechanisms and of functions are stated.
    attacker_prior : float
        An attacker's prior probability of a record's value.
    replicates : int, optional
        Simulated releases for each number that isn't exact. Default: 1000 outputs of a count whose
        posteriors are listed together, or 100 releases that are each analysed by the model.
    fit_options : mapping, optional
        Options for the model's `fit`, such as {"draws": 500}.
    seed : int
        Seed of the simulation; the same at every epsilon.
    progress : callable, optional
        Called with the name of the current step and the fraction done before it.

    Returns
    -------
    Plan
        It has `epsilon`, `mechanism` and `copies` of the cheapest design that meets the target (at
        equal epsilon, the one with fewest copies), `table`, `plot()` and `why()`.

    Raises
    ------
    InvalidInput
        If an argument is out of range; if data can't be simulated; if mechanisms promise under
        different relations; or if nothing meets the target: the message has the length without
        privacy, and the number of records that would suffice.

    Notes
    -----
    The epsilon returned was itself found to meet the target; if lengths are simulated, with two
    standard errors to spare. `bayesdp.evaluation.planning.counts` has the exact method, and
    `bayesdp.privacy.attacker` the bounds on an attacker's gain and their proofs.

    References
    ----------
    Adcock (1997), "Sample size determination: a review", The Statistician 46. Joseph, Wolfson and
    du Berger (1995), "Sample size calculations for binomial proportions via highest posterior
    density intervals", The Statistician 44. M'Lan, Joseph and Wolfson (2008), "Bayesian sample size
    determination for binomial proportions", Bayesian Analysis 3.

    Examples
    --------
    >>> import bayesdp as bdp
    >>> found = bdp.plan(bdp.BinomialModel(prior=(1, 1)), n=200, target=0.12)
    >>> found.mechanism
    'discrete_laplace'
    """
    for name, given in {"simulate": simulate, "reference": reference, "progress": progress}.items():
        check_called(name, given)
    if not isinstance(fit_options, Mapping | None):
        raise InvalidInput(
            f"fit_options is {quoted(fit_options)}; give a mapping, as {{'draws': 500}}"
        )
    ends = _check_ends(epsilon)
    numbers = target, level, assurance, attacker_prior, replicates
    target, level, assurance, attacker_prior, replicates = _checked_numbers(*numbers)
    seed = check_at_least("seed", seed, 0)
    n = _check_model(model, n, design_prior, simulate, reference)
    designs = designs_of(model, n, mechanisms, copies, check_delta(delta))
    question = Question(
        model,
        n,
        None if simulate is not None else expected_of(model).design(design_prior),
        level,
        assurance,
        estimand,
        simulate,
        reference,
        replicates,
        dict(fit_options or {}),
        seed,
    )
    curves = {each.key: Curve(engine_of(question, each)) for each in designs}
    _check_relations(curves, ends[1])
    best = {}
    for k, (key, curve) in enumerate(curves.items()):
        if progress is not None:
            progress(f"{key[0]}, copies: {key[1]}", k / len(curves))
        best[key] = smallest_epsilon(curve, target, ends)
    bare = without_privacy(question, designs[0])
    if not any(best.values()):
        raise _unreachable(question, curves, bare, target, ends)
    return found_plan(
        {key: curve.known for key, curve in curves.items()},
        best,
        bare,
        n=n,
        target=target,
        level=level,
        assurance=assurance,
        attacker_prior=attacker_prior,
        least=ends[0],
    )


def _check_ends(epsilon: Any) -> tuple[float, float]:
    try:
        low, high = (check_epsilon(each) for each in epsilon)
    except (TypeError, ValueError):
        raise InvalidInput(
            f"epsilon is {quoted(epsilon)}; it must be the smallest and the largest to consider, "
            "as (0.1, 10), both positive"
        ) from None
    if not low < high:
        given = f"({quoted(low)}, {quoted(high)})"
        raise InvalidInput(f"epsilon is {given}; the first must be smaller, as (0.1, 10)")
    return low, high


def _checked_numbers(
    target: Any, level: Any, assurance: Any, attacker_prior: Any, replicates: Any
) -> tuple[float, float, float | None, float, int | None]:
    length = as_float(target)
    if not 0 < length < math.inf:
        raise InvalidInput(
            f"target is {quoted(target)}; it must be a positive number, the length that the "
            "interval may have, as 0.05"
        )
    return (
        length,
        check_share("level", level),
        None if assurance is None else check_share("assurance", assurance),
        check_share("attacker_prior", attacker_prior),
        None if replicates is None else check_at_least("replicates", replicates, 20),
    )


def _check_model(model: Any, n: Any, design_prior: Any, simulate: Any, reference: Any) -> Any:
    """Return the number of records, after checking all arguments that must fit the model."""
    if isinstance(model, type) or not callable(getattr(model, "fit", None)):
        raise InvalidInput(
            f"model is {quoted(model)}; it must be a model, as bdp.BinomialModel(prior=(1, 1)), or "
            "have a fit(release, seed=...) like one"
        )
    if simulate is not None and (n is not None or design_prior is not None):
        raise InvalidInput(
            "simulate is given, and says itself how many records there are and what is expected of "
            "them; leave out n and design_prior"
        )
    if reference is not None and simulate is None:
        raise InvalidInput(
            "reference is given without simulate, of whose data it is a function: give both, or "
            "leave it out"
        )
    if simulate is not None:
        return None
    if not expected_of(model).sized:
        if n is not None:
            raise InvalidInput(
                f"n is {quoted(n)}; rates say how many events there are, so leave it out"
            )
    elif isinstance(n, range):
        if not n or min(n) < 1:
            raise InvalidInput(
                f"n is {quoted(n)}; a range of sizes must be non-empty and start at 1"
            )
    elif n is None:
        raise InvalidInput("n is missing; give the number of records, or simulate=")
    else:
        return check_at_least_one("n", n, "or a range of them")
    return n


def _check_relations(curves: Mapping[Any, Curve], largest: float) -> None:
    """Raise InvalidInput unless all promises are under one relation, as others don't compare."""
    relations = {key: curve(largest).guarantee.neighbours.value for key, curve in curves.items()}
    if len(set(relations.values())) > 1:
        listed = ", ".join(f"{name} under {relation}" for (name, _), relation in relations.items())
        raise InvalidInput(
            f"mechanisms promise under different relations: {listed}. An epsilon of one is no "
            "epsilon of the other; plan each by itself, or have all promise under one"
        )


def _unreachable(
    question: Question,
    curves: Mapping[tuple[str, int], Curve],
    bare: Lengths | None,
    target: float,
    ends: tuple[float, float],
) -> InvalidInput:
    """The error where no design meets the target, with what would meet it."""
    assurance = question.assurance
    criterion = "in the mean" if assurance is None else f"with assurance {assurance:g}"
    (name, copies), curve = min(curves.items(), key=lambda item: item[1](ends[1]).safe)
    nearest = curve(ends[1]).safe
    said = (
        f"target is {quoted(target)}, but no design meets it up to epsilon = {ends[1]:g}: the "
        f"shortest interval, {nearest:.4g} {criterion}, is that of {name} with copies = {copies}. "
    )
    if bare is None:
        return InvalidInput(said + "Allow a larger epsilon, a longer interval, or more records")
    length = criterion_of(bare, assurance)
    said += f"Without privacy it is {length:.4g}"
    said += "" if question.n is None else f" at n = {question.n}"
    if length <= target:
        return InvalidInput(said + ", so a larger epsilon, or another mechanism, may do")
    needed = needed_n(question, length, target)
    if needed is None:
        return InvalidInput(said + ", already longer: no epsilon is enough; allow a longer one")
    return InvalidInput(
        said + f", already longer: no epsilon is enough. About n = {needed} records would do "
        "without privacy, and with it more"
    )
