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
