"""A durable record of the privacy that was spent on each dataset."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayesdp.checks import check_delta, is_number
from bayesdp.display.words import listed, one_line
from bayesdp.errors import InvalidInput, LedgerCorrupted, kind_of, quoted
from bayesdp.privacy import ledger_export
from bayesdp.privacy.distributional.guarantee import refuse_distributional
from bayesdp.privacy.guarantee import (
    Guarantee,
    Strength,
    check_epsilon,
    shown_down,
    shown_up,
)
from bayesdp.privacy.ledger_chain import Budget, Chain, Entry, now
from bayesdp.privacy.ledger_filter import Cost, charge, keeps, left, refusal, together
from bayesdp.privacy.ledger_names import alike, check_name, find_name
from bayesdp.privacy.neighbours import Neighbours, check_neighbours
from bayesdp.storage import check_file, whole_file

if TYPE_CHECKING:
    from bayesdp.privacy.ledger_store import Store


class Ledger:
    """Ledger of the privacy budgets of datasets and of what was spent, kept in a database.

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
        from bayesdp.privacy.ledger_store import Store

        if not isinstance(store, Store):
            raise InvalidInput(
                f"store is {kind_of(store)}; open a ledger by its URL: "
                "bdp.Ledger.open('sqlite:///budget.db')"
            )
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
            The part of delta that no release may spend: it is set aside so that many small
            epsilons can be charged less than their sum. From 0, for plain sums, to delta; by
            default half of delta.
        neighbours : {"add_remove", "replace_one", "edge", "node"}
            The neighbouring relation under which every promise is charged.

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
            Whether guarantees AS_PUBLISHED may be spent through it: claims that are false or
            unproved, so that the total is no promise either.

        Raises
        ------
        InvalidInput
            If there is no such dataset; the message lists those there are.
        """
        exact, first = find_name(self.datasets(), name, self._store.name)
        return DatasetLedger(self._store, exact, accept_unproved=accept_unproved, instead=first)

    def verify(
        self,
        heads: Mapping[str, str] | None = None,
        *,
        extends: Path | str | None = None,
        key: Path | str | None = None,
    ) -> dict[str, str]:
        """Check every row of every dataset against the chain of hashes.

        Parameters
        ----------
        heads : mapping of dataset to hash, optional
            The result of an earlier `verify`, kept elsewhere. Each hash must still be in its
            dataset's history; if not, somebody has written another, consistent history, or
            restored an old copy.
        extends : path, optional
            An export, or the head of one, that was kept elsewhere: this ledger must begin with
            all that it says.
        key : path, optional
            File of the key that `extends` must be signed with.

        Returns
        -------
        dict of dataset to hash
            The last hash of each.

        Raises
        ------
        LedgerCorrupted
            If a row was changed, deleted, inserted or moved; names the first bad entry. If the
            history isn't the one that was kept, or that wasn't signed with the key.
        InvalidInput
            If there is no ledger, a file can't be read, or there is a key and nothing signed.
        """
        if key is not None and extends is None:
            raise InvalidInput(
                "key is given, and a ledger isn't signed itself: give a signed export or head, too "
                "(extends, --extends)"
            )
        return _checked(self._chains(), heads, extends, key)

    @classmethod
    def verify_export(
        cls,
        file: Path | str,
        heads: Mapping[str, str] | None = None,
        *,
        extends: Path | str | None = None,
        key: Path | str | None = None,
    ) -> dict[str, str]:
        """Check every line of an export, without the database.

        Parameters
        ----------
        file : path
            As `export` wrote it.
        heads, extends
            What was kept of the ledger earlier, as in `verify`.
        key : path, optional
            File of the key that the export must be signed with, and `extends` too.

        Returns
        -------
        dict of dataset to hash
            The last hash of each.

        Raises
        ------
        LedgerCorrupted
            If a line was changed, moved, inserted or lost; names the line. If the history isn't
            the one that was kept, or wasn't signed with the key.
        InvalidInput
            If a file can't be read, or isn't an export.
        """
        return _checked(ledger_export.read(file, key).histories(), heads, extends, key)

    def export(
        self,
        out: Path | str | None = None,
        *,
        key: Path | str | None = None,
        extends: Path | str | None = None,
        head_only: bool = False,
        force: bool = False,
    ) -> str:
        """Write all budgets and entries, verified, as text that can be verified and restored.

        Parameters
        ----------
        out : path, optional
            File to write.
        key : path, optional
            File of a key, made by ``bayesdp ledger key``, to sign the head with. What a signature
            shows, and what it doesn't, is in ``bayesdp.privacy.ledger_export``.
        extends : path, optional
            The export or head that was made last, by the same key if there is one. Nothing is
            written or signed unless this ledger begins with all that it says.
        head_only : bool
            Whether to write the last line alone: each dataset's budget, number of entries and
            last hash, which is enough for `extends`.
        force : bool
            Whether a file that exists may be replaced.

        Returns
        -------
        str
            Lines of JSON: what it is, each row with its hash, and the head.

        Raises
        ------
        LedgerCorrupted
            If the ledger isn't what was written, or not what `extends` says.
        ReleaseExists
            If the file exists and may not be replaced.
        InvalidInput
            If there is no ledger, or a file can't be read or written.
        """
        target = None if out is None else Path(out)
        if target is not None:
            check_file(target, force=force)
            if self._store.is_file(target):
                raise InvalidInput(
                    f"out is {quoted(target)}, the ledger itself, which its export would replace; "
                    "name another file"
                )
        chains = self._chains()
        _checked(chains, None, extends, key)
        text = ledger_export.written(chains, key, head=head_only)
        if target is not None:
            with whole_file(target) as work:
                work.write_text(text, encoding="ascii", newline="\n")
        return text

    def restore(
        self,
        file: Path | str,
        *,
        extends: Path | str | None = None,
        key: Path | str | None = None,
    ) -> dict[str, str]:
        """Write an export's budgets and entries, with their hashes, where there are none yet.

        What was spent after the export is forgotten, and could be spent again: give the last head
        that is known as `extends`, and never use both this ledger and the old one.

        Parameters
        ----------
        file : path
            As `export` wrote it.
        extends : path, optional
            An export or a head: nothing is written unless the file begins with all that it says.
        key : path, optional
            File of the key that both must be signed with.

        Returns
        -------
        dict of dataset to hash
            The last hash of each.

        Raises
        ------
        InvalidInput
            If this ledger has any dataset, or a file can't be read or isn't an export.
        LedgerCorrupted
            If the file isn't what was written, isn't signed with the key, or is too old.
        LedgerUnavailable
            If the database fails.
        """
        chains = ledger_export.read(file, key).histories()
        heads = _checked(chains, None, extends, key)
        self._store.restore(chains)
        return heads

    def _chains(self) -> list[Chain]:
        if not self._store.exists():
            raise InvalidInput(
                f"there is no ledger at {self._store.name}; if there was one, restore it from a "
                "backup that holds every spend"
            )
        return self._store.chains()

    def __repr__(self) -> str:
        return f"<Ledger at {self._store.name}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import MOST_ROWS, card

        names = self.datasets()
        each = [self.dataset(name) for name in names[:MOST_ROWS]]
        return card(
            "Ledger",
            {"database": self._store.name, "datasets": f"{len(names):,}"},
            rows=[{"dataset": one.name, **one._account()} for one in each],
            among=len(names),
        )


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
        """Return the joint guarantee of all releases; its strength is the weakest of theirs.

        Parameters
        ----------
        delta : float, optional
            By default epsilon and delta are the sums of what was charged. Otherwise the smallest
            proved epsilon at this total delta, by `bdp.compose`, which holds for promises that were
            fixed beforehand. The budget holds however they were chosen.
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
            The release's promise, computed from public inputs alone.
        released : mapping, optional
            The mechanism's name and public parameters; nothing confidential.
        accept_unproved : bool
            Whether a guarantee AS_PUBLISHED is accepted.

        Raises
        ------
        BudgetExceeded
            If it costs more than is left.
        InvalidInput
            If it promises nothing (as a seeded release does), is under a relation that doesn't
            convert to the dataset's, or is AS_PUBLISHED and that isn't accepted; or if the
            dataset's name looks like that of an earlier one, whose budget is the one to spend.
        LedgerCorrupted
            If the dataset's history isn't what was written.
        LedgerUnavailable
            If the database fails.
        """
        refuse_distributional(guarantee, "a ledger")
        if not isinstance(guarantee, Guarantee):
            raise InvalidInput(f"guarantee is {quoted(guarantee)}; it must be a Guarantee")
        if released is not None and not isinstance(released, Mapping):
            raise InvalidInput(
                f"released is {quoted(released)}; it must be a mapping of the mechanism's name and "
                'public parameters, as {"mechanism": "discrete_laplace", "scale": 2.0}'
            )
        if self._instead != self.name:
            raise InvalidInput(
                f"dataset {quoted(self.name)} looks like {quoted(self._instead)}, which was there "
                "first; records have one budget: spend from ledger.dataset(...) with that name"
            )
        unproved = guarantee.strength is Strength.AS_PUBLISHED
        if unproved and not (accept_unproved or self._accept_unproved):
            raise InvalidInput(
                f"guarantee is only as published and not proved ({guarantee.source}); pass "
                "accept_unproved=True (--accept-unproved) to charge it all the same"
            )
        made: list[Entry] = []

        def decide() -> str:
            budget, entries = self._chain.budget, self._chain.entries
            price = charge(guarantee, budget.neighbours)
            entry = Entry(len(entries) + 1, *price, guarantee, dict(released or {}), now())
            if not keeps(budget, [*entries, entry]):
                raise refusal(self.name, budget, entries, entry)
            made.append(entry)
            return entry.body(self.name)

        with self._lock:
            head = self._store.append(self._chain, decide)
        return dataclasses.replace(made[0], hash=head)

    def __repr__(self) -> str:
        return f"<DatasetLedger of {one_line(self.name)!r} at {self._store.name}>"

    def _repr_html_(self) -> str:
        from bayesdp.display.card import MOST_ROWS, card

        history, account = self.history(), self._account()
        recent = [
            {
                "entry": entry.position,
                "released": _released(entry.released),
                "epsilon": shown_up(entry.epsilon, 4),
                "delta": shown_up(entry.delta, 3),
                "at": entry.at[:16].replace("T", " "),
            }
            for entry in history[: -MOST_ROWS - 1 : -1]
        ]
        return card(f"Budget of {self.name}", account, rows=recent, among=len(history))

    def _account(self) -> dict[str, str]:
        """Budget, spending and what is left, rounded so that none reads better than it is."""
        budget, spent, left = self.budget, self.spent(), self.remaining()
        return {
            "budget": _priced(budget.epsilon, budget.delta),
            "spent": _priced(spent.epsilon, spent.delta),
            "left for one release": _priced(left.epsilon, left.delta, shown_down),
            "neighbours": budget.neighbours.value,
            "releases": f"{len(self.history()):,}",
        }

    def _read(self) -> Chain:
        with self._lock:
            self._store.read(self._chain)
            return self._chain


def _checked(
    chains: Sequence[Chain],
    heads: Mapping[str, str] | None,
    extends: Path | str | None,
    key: Path | str | None,
) -> dict[str, str]:
    """Check histories against their budgets and what was kept; return each one's last hash."""
    named = {chain.dataset: chain for chain in chains}
    for chain in chains:
        if not keeps(chain.budget, chain.entries):
            raise chain.corrupted(len(chain.entries), "more was spent than the budget")
    for given, head in (heads or {}).items():
        dataset = given if given in named else (*alike(named, given), given)[0]
        if dataset not in named or head not in named[dataset].hashes:
            raise LedgerCorrupted(
                f"dataset {quoted(dataset)}: the hash given isn't in its history any more, so "
                "the history was rewritten or is an old copy; restore it from a backup that "
                "holds every spend",
                dataset,
                None,
            )
    if extends is not None:
        ledger_export.read(extends, key).check_extended(chains)
    return {chain.dataset: chain.head for chain in chains}


def _released(said: Mapping[str, Any]) -> str:
    """Name the mechanisms that an entry says were released."""
    several = said.get("mechanisms")
    names = [each.get("name", "") for each in several] if isinstance(several, list) else []
    return listed(names or [said.get("mechanism", "")])


def _priced(epsilon: float, delta: float, shown: Callable[[float, int], str] = shown_up) -> str:
    """Write an epsilon, and a delta where there is one."""
    also = f", delta {shown(delta, 3)}" if delta else ""
    return f"epsilon {shown(epsilon, 4)}{also}"
