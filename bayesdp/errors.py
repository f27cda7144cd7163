"""The exceptions of bayesdp: one small family, so that `except BayesDPError` catches them all.

Each also derives from the built-in exception a Python user would expect, so that
code that knows nothing of bayesdp still handles it.
"""


class BayesDPError(Exception):
    """Base of every exception that bayesdp raises on purpose."""


class InvalidInput(BayesDPError, ValueError):
    """An argument, a data set or a file's content is not one that is allowed."""


class InvalidRelease(BayesDPError, ValueError):
    """A release folder or manifest is damaged, unknown or inconsistent."""


class ReleaseExists(BayesDPError, FileExistsError):
    """The target folder exists already; nothing was written."""


class MissingDependency(BayesDPError, ImportError):
    """An optional part is not installed; the message gives the install command."""


class EngineFailed(BayesDPError, RuntimeError):
    """An engine could not compile or run its program."""


class BudgetExceeded(BayesDPError, RuntimeError):
    """A release would cost more than is left of its dataset's budget; nothing was spent.

    Attributes
    ----------
    epsilon, delta : float
        What is left.
    """

    def __init__(self, message: str, epsilon: float, delta: float) -> None:
        super().__init__(message)
        self.epsilon = epsilon
        self.delta = delta


class LedgerCorrupted(BayesDPError, RuntimeError):
    """A ledger isn't what was written: a row was changed, deleted, inserted or moved.

    Attributes
    ----------
    dataset : str or None
        Whose history; None where the list of datasets itself is wrong.
    position : int or None
        The first bad entry: 0 is the budget, 1 the first spend. None where the entries are
        sound and only the dataset's own row is wrong.
    """

    def __init__(self, message: str, dataset: str | None, position: int | None) -> None:
        super().__init__(message)
        self.dataset = dataset
        self.position = position


class LedgerUnavailable(BayesDPError, ConnectionError):
    """The database of a ledger can't be reached, read or written; nothing was spent, or a
    spend whose confirmation was lost stays recorded, and nothing was drawn."""


class StudyStopped(BayesDPError, RuntimeError):
    """A study couldn't start or go on: no scheduler, no workers, a full disk.

    What was finished is kept; run the study again, and it goes on from there.
    """
