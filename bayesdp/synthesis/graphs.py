"""Base of synthesizers of graphs, whose number of copies is given at the release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from bayesdp.mechanisms.base import Mechanism, joint_guarantee
from bayesdp.mechanisms.graphs.network_columns import confidential
from bayesdp.networks.network import Network
from bayesdp.privacy.composition import one_of
from bayesdp.privacy.guarantee import Guarantee
from bayesdp.privacy.ledger import DatasetLedger
from bayesdp.release import Release
from bayesdp.synthesis.base import Synthesizer
from bayesdp.synthesis.publish import publish


class GraphSynthesizer(Synthesizer):
    """Base of synthesizers of graphs, which release one graph and have no groups.

    Among its fields is `epsilon`, of all copies together. It defines `mechanism_like`, by which
    graphs on the same nodes are released, and inherits `release` and `guarantee`.
    """

    takes: ClassVar[str] = "network"
    settings: ClassVar[Mapping[str, Any]] = {"copies": 1, "delta": 0.0}
    variable: ClassVar[str] = "value"
    """Name of what is released."""

    def mechanism_like(self, example: Any) -> Mechanism:
        """The mechanism for graphs on the nodes of the example, whose ties aren't read."""
        raise NotImplementedError

    def statistic(self, graph: Any) -> Network:
        """The confidential graph for the mechanism: by default with nodes in label order."""
        return confidential(graph)

    def release(
        self,
        graph: Any,
        copies: int | None = None,
        delta: float | None = None,
        ledger: DatasetLedger | None = None,
    ) -> Release:
        """Draw the copies; with a ledger, only once their cost is recorded there for good.

        Parameters
        ----------
        graph : Network or networkx graph
            Its ties are confidential; its nodes and their labels are public.
        copies : int, optional
            Number of independent outputs, each with a share of epsilon. Default: 1, unless the
            synthesizer's `settings` say another.
        delta : float, optional
            The delta, in [0, 1), at which the promise is stated. Default: the declared one, or 0.
        ledger : DatasetLedger, optional
            The budget of this graph, ``ledger.dataset("friendships-2026")``, under the promise's
            neighbours. The graph is checked first, then the guarantee is charged, then the copies
            are drawn. A charge is final.

        Returns
        -------
        Release

        Raises
        ------
        InvalidInput
            If the mechanism doesn't take such a graph, or there is a ledger and the draws would be
            seeded. Nothing is spent or drawn then.
        BudgetExceeded
            If it costs more than is left in the ledger. Nothing is spent or drawn then.
        """
        network, copies = self.statistic(graph), self._copies(copies)
        return publish(
            one_of(self, copies).mechanism_like(graph),
            network,
            copies=copies,
            delta=self._delta(delta),
            variable=self.variable,
            ledger=ledger,
        )

    def guarantee(
        self, example: Any, copies: int | None = None, delta: float | None = None
    ) -> Guarantee:
        """Return the guarantee of a release of such a graph, before any ties are read.

        Parameters
        ----------
        example : Network or networkx graph
            A graph on the same nodes.
        copies, delta
            As for `release`.
        """
        copies = self._copies(copies)
        made = one_of(self, copies).mechanism_like(example)
        return joint_guarantee([made], copies, self._delta(delta))

    def _copies(self, copies: int | None) -> int:
        usual: int = self.settings["copies"]
        return usual if copies is None else copies

    def _delta(self, delta: float | None) -> float:
        own: float = getattr(self, "delta", self.settings["delta"])
        return own if delta is None else delta
