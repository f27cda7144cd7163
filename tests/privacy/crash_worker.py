"""What the processes of the concurrency tests do; light to import, so that many can start."""

import json
import os
import time
from pathlib import Path
from typing import Any

from bayesdp.errors import BudgetExceeded
from bayesdp.privacy.guarantee import Guarantee, Strength
from bayesdp.privacy.ledger import Ledger
from bayesdp.privacy.neighbours import Neighbours
from bayesdp.synthesis.beta_binomial import BetaBinomialSynthesizer

PROMISE = Guarantee(1.0, 0.0, Neighbours.REPLACE_ONE, Strength.PROVED, (), "a test")


def race(url: str, barrier: Any, won: Any) -> None:
    """Spend one unit after another until there is none; report how many were had."""
    account = Ledger.open(url).dataset("s")
    barrier.wait()
    count = 0
    try:
        while True:
            account.spend(PROMISE, {"process": os.getpid()})
            count += 1
    except BudgetExceeded:
        won.put(count)


def create(url: str, barrier: Any, won: Any) -> None:
    """Make a ledger's first tables and a dataset of this process's own."""
    ledger = Ledger.open(url)
    barrier.wait()
    ledger.create(f"of {os.getpid()}", epsilon=1.0, neighbours="edge")
    won.put(1)


def release_for_ever(url: str, folder: str, start: int) -> None:
    """Release and deliver, each release told from the others by its size, until killed."""
    account = Ledger.open(url).dataset("s")
    for k in range(1_000_000):
        size = start + k
        synthesizer = BetaBinomialSynthesizer(epsilon=0.001, copies=1, size=size)
        try:
            release = synthesizer.release([0, 1, 1, 0, 1], ledger=account)
        except BudgetExceeded:
            Path(folder, f"{start}.working").touch()
            time.sleep(600)  # until killed
            return
        delivered = {"size": release.mechanism.size, "outputs": list(release.outputs)}
        # The name appears with the content or not at all.
        work = Path(folder, f".{size}")
        work.write_text(json.dumps(delivered))
        work.rename(Path(folder, f"{size}.json"))
        if not k:
            Path(folder, f"{start}.working").touch()
