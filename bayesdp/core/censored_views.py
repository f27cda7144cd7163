"""View of mechanisms that draw parameters from a censored posterior, and records given these."""

from __future__ import annotations

from dataclasses import dataclass

from bayesdp.core.views import Ends, View


@dataclass(frozen=True)
class BetaCopiesView(View):
    """Copies of records in (0, 1), each from its own exact draw of a clipped beta posterior.

    Given confidential records x in (0, 1), a cell of a grid over (phi, log lambda) is drawn with
    probability proportional to prior times exp(sum of log densities of Beta(lambda phi, lambda (1 -
    phi)) at x, each clipped to `interval`), at the cell's centre; then a point uniform in the cell,
    and a copy's records given it, rescaled to the bounds.

    Attributes
    ----------
    n : int or None
        Number of confidential records, where it is public.
    interval : tuple of two floats
        Ends that each record's log density is clipped to.
    prior_phi, prior_lambda : tuple of two floats
        phi ~ Beta(*prior_phi), and (smallest, shape) of lambda's Pareto prior.
    largest : float
        Largest lambda, where grid and prior end.
    grid : tuple of two ints
        log2 of the numbers of cells along phi, over (0, 1), and along log lambda.
    bounds : tuple of two floats
        Bounds that records are rescaled from.
    """

    n: int | None
    interval: Ends
    prior_phi: Ends
    prior_lambda: Ends
    largest: float
    grid: tuple[int, int]
    bounds: Ends
