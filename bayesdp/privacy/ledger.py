"""A durable record of the privacy that was spent on each dataset."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_delta, is_number
from bayesdp.errors import InvalidInput, LedgerCorrupted, quoted
from bayesdp.privacy.distributional.guarantee import refuse_distributional
from bayesdp.privacy.guarantee import Guarantee, Strength, check_epsilon
from bayesdp.privacy.ledger_chain import Budget, Chain, Entry, now
from bayesdp.privacy.ledger_filter import Cost, charge, keeps, left, refusal, together
from bayesdp.privacy.ledger_names import alike, check_name, find_name
from bayesdp.privacy.neighbours import Neighbours, check_neighbours

if TYPE_CHECKING:
    from bayesdp.privacy.ledger_store import Store


class Ledger:
    """Budgets of datasets, and what was spent of each, in a database.

    One name stands for one body of confidential data: two names for the same records are
    two budgets. Only budgets, promises, and mechanisms with their public parameters are
    written down; no data, no statistic, no output.

    Parameters
    ----------
    store : Store
        The database; `Ledger.open` finds it by a URL.

    Examples
    --------
    >>> import tempfile
    >>> url = f"sqlite:///{tempfile.mkdtemp()}/budget.db"
    >>> ledger = Ledger.open(url)
    >>> survey = ledger.create("survey-2026", epsilon=4.0, delta=1e-6, neighbours="replace_one")
    >>> survey.remaining()
    Cost(epsilon=4.0, delta=5e-07)
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Ledger:
        """Connect to a ledger; nothing is written before the first `create`.

        Parameters
        ----------
        url : str
            ``sqlite:///budget.db`` or ``postgresql+psycopg://user@host/database``.

        Raises
        ------
        InvalidInput
            If the URL is malformed, or the ledger was written by a newer version.
        LedgerUnavailable
            If the database can't be reached.
        MissingDependency
            If PostgreSQL's driver is not installed.
        """
        from bayesdp.privacy.ledger_store import Store

        store = Store(url)
        store.exists()
        return cls(store)

    def create(
        self,
        dataset: str,
        *,
        epsilon: float,
        delta: float = 0.0,
        conversion_delta: float | None = None,
        neighbours: Neighbours | str,
    ) -> DatasetLedger:
        """Set a dataset's budget, once and for all.

        Parameters
        ----------
        dataset : str
            Its name, at most 200 characters. Names that look the same are one: outer spaces are
            dropped, and letters composed (Unicode's NFC).
        epsilon : float
            Positive and finite.
        delta : float
            At least 0, below 1.
        conversion_delta : float, optional
            The part of delta that no release may take: it lets many small epsilons be charged
            for less than their sum. From 0, for sums alone, to delta; by default half of it.
        neighbours : {"add_remove", "replace_one", "edge", "node"}
            The relation that every promise about it is charged under.

        Raises
        ------
        InvalidInput
            If an argument is out of its range, or there is such a dataset already, by a name
            that looks the same.
        """
        name = check_name(dataset)
        delta = check_delta(delta)
        kept = delta / 2 if conversion_delta is None else conversion_delta
        if not is_number(kept) or not 0 <= kept <= delta:
            raise InvalidInput(
                f"conversion_delta is {quoted(kept)}; it must be a number from 0 to delta = {delta}"
            )
        budget = Budget(
            check_epsilon(epsilon), delta, check_neighbours(neighbours), now(), float(kept)
        )
        self._store.create(name, budget.body(name))
        return DatasetLedger(self._store, name)

    def datasets(self) -> list[str]:
        """The names of the datasets, in the order of their creation."""
        return self._store.names() if self._store.exists() else []

    def dataset(self, name: str, *, accept_unproved: bool = False) -> DatasetLedger:
        """One dataset's budget, to look at and to spend from.

        Parameters
        ----------
        name : str
            As given to `create`, or one that looks the same. Where an older version of bayesdp
            has written several that do, the exact one is meant, and only the first of them, in the
            order of their creation, is spent from.
        accept_unproved : bool
            Whether spends made through it may be AS_PUBLISHED: claims that are false or
            unproved, so that the total is no promise either.

        Raises
        ------
        InvalidInput
            If there is no such dataset; the message lists those there are.
        """
        exact, first = find_name(self.datasets(), name, self._store.name)
        return DatasetLedger(self._store, exact, accept_unproved=accept_unproved, instead=first)

    def verify(self, heads: Mapping[str, str] | None = None) -> dict[str, str]:
        """Check every row of every dataset against the chain of hashes.

        Parameters
        ----------
        heads : mapping of dataset to hash, optional
            What an earlier `verify` returned and was kept elsewhere. Each must still be
            in its dataset's history, or somebody has written another, consistent one, or
            brought an old copy back.

        Returns
        -------
        dict of dataset to hash
            The last hash of each.

        Raises
        ------
        LedgerCorrupted
            If a row was changed, deleted, inserted or moved; names the first bad entry.
        InvalidInput
            If there is no ledger.
        """
        if not self._store.exists():
            raise InvalidInput(
                f"there is no ledger at {self._store.name}; if there was one, restore it from a "
                "backup that holds every spend"
            )
        chains = {chain.dataset: chain for chain in self._store.chains()}
        for chain in chains.values():
            if not keeps(chain.budget, chain.entries):
                raise chain.corrupted(len(chain.entries), "more was spent than the budget")
        for given, head in (heads or {}).items():
            dataset = given if given in chains else (*alike(chains, given), given)[0]
            if dataset not in chains or head not in chains[dataset].hashes:
                raise LedgerCorrupted(
                    f"dataset {quoted(dataset)}: the hash given isn't in its history any more, so "
                    "that was rewritten or is an old copy; restore it",
                    dataset,
                    None,
                )
        return {dataset: chain.head for dataset, chain in chains.items()}


class DatasetLedger:
    """One dataset's budget; get it from `Ledger.dataset`.

    It reads each row once; several threads may share it.
    """

    def __init__(
        self, store: Store, name: str, *, accept_unproved: bool = False, instead: str = ""
    ) -> None:
        self.name = name
        self._instead = instead or name
        self._store = store
        self._accept_unproved = accept_unproved
        self._chain = Chain(name)
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        """The whole budget and its neighbouring relation."""
        return self._read().budget

    def history(self) -> list[Entry]:
        """Everything that was spent, oldest first.

        Raises
        ------
        LedgerCorrupted
            If a row was changed, deleted, inserted or moved; so do all methods.
        """
        return list(self._read().entries)

    def remaining(self) -> Cost:
        """The largest epsilon and the largest delta that one more release may cost."""
        chain = self._read()
        return left(chain.budget, chain.entries)

    def spent(self, delta: float | None = None) -> Guarantee:
        """Return the guarantee of all releases together, no surer than the least sure of them.

        Parameters
        ----------
        delta : float, optional
            By default epsilon and delta are the sums of what was charged. Else the smallest
            proved epsilon at this total delta, by `bdp.compose`: that of a sequence of
            promises fixed beforehand. However they were chosen, the budget holds.
        """
        chain = self._read()
        return together(chain.budget, chain.entries, delta)

    def spend(
        self,
        guarantee: Guarantee,
        released: Mapping[str, Any] | None = None,
        *,
        accept_unproved: bool = False,
    ) -> Entry:
        """Record the whole cost of a release that is about to be drawn, or refuse it.

        When this returns, the entry is on disk, and nothing takes it back, whether or not
        the release is then drawn and delivered.

        Parameters
        ----------
        guarantee : Guarantee
            What the release will promise, from public inputs alone.
        released : mapping, optional
            The mechanism's name and public parameters; nothing confidential.
        accept_unproved : bool
            Whether a guarantee AS_PUBLISHED is taken.

        Raises
        ------
        BudgetExceeded
            If it costs more than is left.
        InvalidInput
            If it promises nothing (as a seeded release), is under a relation that says
            nothing about the dataset's, or is unproved and that isn't accepted; or the dataset's
            name looks like that of an earlier one, whose budget is the one to spend.
        LedgerCorrupted
            If the dataset's history isn't what was written.
        LedgerUnavailable
            If the database fails.
        """
        refuse_distributional(guarantee, "a ledger")
        if not isinstance(guarantee, Guarantee):
            raise InvalidInput(f"guarantee is {quoted(guarantee)}; it must be a Guarantee")
        if self._instead != self.name:
            raise InvalidInput(
                f"dataset {quoted(self.name)} looks like {quoted(self._instead)}, which was there "
                "first; records have one budget: spend from ledger.dataset(...) with that name"
            )
        unproved = guarantee.strength is Strength.AS_PUBLISHED
        if unproved and not (accept_unproved or self._accept_unproved):
            raise InvalidInput(
                f"guarantee is only as published and not proved ({guarantee.source}); pass "
                "accept_unproved=True to charge it all the same"
            )
        made: list[Entry] = []

        def decide() -> str:
            budget, entries = self._chain.budget, self._chain.entries
            price = charge(guarantee, budget.neighbours)
            entry = Entry(len(entries) + 1, *price, guarantee, dict(released or {}), now())
            if not keeps(budget, [*entries, entry]):
                raise refusal(self.name, budget, entries, price)
            made.append(entry)
            return entry.body(self.name)

        with self._lock:
            head = self._store.append(self._chain, decide)
        return dataclasses.replace(made[0], hash=head)

    def _read(self) -> Chain:
        with self._lock:
            self._store.read(self._chain)
            return self._chain
