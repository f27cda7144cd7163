"""Dask clients: processes of this machine, a scheduler elsewhere, or a given client."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from bayesdp._version import __version__
from bayesdp.checks import check_at_least_one
from bayesdp.errors import InvalidInput, StudyStopped, quoted
from bayesdp.optional import needed

if TYPE_CHECKING:
    from distributed import Client

LOCAL = "local"
_SCHEMES = ("tcp", "tls", "ws", "wss")
_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
_TRIM = "MALLOC_TRIM_THRESHOLD_"
_LOST = "distributed.deploy.lost-worker-timeout"
# Workers may hold confidential records, none of which is to be on a disk, also where the user's own
# settings of Dask say that memory goes there when it is short.
_IN_MEMORY = {f"distributed.worker.memory.{name}": False for name in ("target", "spill")}
# Ctrl-C goes to all of a terminal's processes: this one stops, and ends the workers without noise.
_UNINTERRUPTED = """
import signal
def dask_setup(worker):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
"""
_PATIENCE = 20.0  # seconds for a scheduler to answer,
_WORKER_PATIENCE = 20.0  # and for it to have a worker


def check_client(client: Client | str | None, workers: int | None) -> None:
    """Raise unless `run_tasks` takes these arguments, and what they need is installed.

    Raises
    ------
    InvalidInput
        If an argument isn't allowed.
    MissingDependency
        If Dask is needed and not installed.
    """
    if workers is not None:
        workers = check_at_least_one("workers", workers)
        if client != LOCAL:
            raise InvalidInput(f"workers is {workers}; it goes with client='local' alone")
    if client is None:
        return
    if isinstance(client, str):
        if client != LOCAL and not _is_address(client):
            raise InvalidInput(
                f"client is {quoted(client)}; it must be 'local', None, a distributed.Client or a "
                "scheduler's address, as 'tcp://10.0.0.1:8786'"
            )
        _distributed(f"client={quoted(client)}")
        return
    dask = sys.modules.get("distributed")  # whoever has a client has imported it
    if dask is None or not isinstance(client, dask.Client) or client.asynchronous:
        raise InvalidInput(
            f"client is a {type(client).__name__}; it must be 'local', None, a scheduler's "
            "address or a distributed.Client that isn't asynchronous"
        )


def _distributed(what: str) -> Any:
    """Dask's package of clients and clusters."""
    return needed("distributed", f"{what}, unlike client=None,", "studies")


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port is not None
    except ValueError:  # a port that is no number
        return False


@contextmanager
def connected(client: Client | str, workers: int) -> Iterator[Client]:
    """Yield a client with at least one worker, and close it at the end unless it was given."""
    if not isinstance(client, str):
        _check_workers(client, "the given client's scheduler")
        yield client
        return
    with _local(workers) if client == LOCAL else _at(client) as opened:
        yield opened


@contextmanager
def _at(address: str) -> Iterator[Client]:
    from distributed import Client

    try:
        _greet(address)
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except OSError as error:
        raise StudyStopped(
            f"client is {quoted(address)}, but no Dask scheduler answers there within "
            f"{_PATIENCE:g} seconds; start one with `dask scheduler`, whose port is 8786 (8787 is "
            "its dashboard's), or run with client='local'"
        ) from error
    except TypeError as error:
        raise InvalidInput(
            f"client is {quoted(address)}, and Dask has no certificates for it: name them in its "
            "configuration under distributed.comm.tls, or give a distributed.Client with its own"
        ) from error
    try:
        _check_workers(client, quoted(address))
        yield client
    finally:
        client.close()


def _greet(address: str) -> None:
    """Raise OSError unless a Dask scheduler answers: Dask waits forever for another server."""
    from distributed.comm import connect
    from distributed.security import Security

    async def greet() -> None:
        how = Security().get_connection_args("client")
        comm = await asyncio.wait_for(connect(address, timeout=_PATIENCE, **how), _PATIENCE)
        comm.abort()

    with ThreadPoolExecutor(1) as thread:  # this one may have a loop that runs, as in a notebook
        thread.submit(asyncio.run, greet()).result()


@contextmanager
def _local(workers: int) -> Iterator[Client]:
    """Start processes of this machine, which end with this one however it ends."""
    import logging

    import dask
    from distributed import Client, LocalCluster

    # A worker that ended and isn't back after 15 seconds is given up by Dask, and they can take
    # longer to start; how long is long enough, `_ABSENCE` says. It is looked up at the end of each.
    with dask.config.set({_ENVIRONMENT: _environment(), _LOST: "365d", **_IN_MEMORY}):
        try:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # no other way to have none on a fixed port
                silence_logs=logging.CRITICAL,
                preload=[*dask.config.get("distributed.worker.preload"), _UNINTERRUPTED],
            )
        except (OSError, RuntimeError) as error:
            raise StudyStopped(
                f"worker processes can't be started ({type(error).__name__}); a script that starts "
                'them needs `if __name__ == "__main__":` around its own run'
            ) from error
        with cluster, Client(cluster, set_as_default=False) as client:
            yield client


def _environment() -> dict[str, object]:
    """Return Dask's own environment variables, without its threshold for mapping memory."""
    import dask

    settings = dict(dask.config.get(_ENVIRONMENT))
    trim = settings.pop(_TRIM, None)
    if os.environ.get(_TRIM) == str(trim):  # an earlier cluster of this process left it
        del os.environ[_TRIM]
    return settings


def _check_workers(client: Client, where: str) -> None:
    try:
        client.wait_for_workers(1, timeout=_WORKER_PATIENCE)
    except (TimeoutError, OSError) as error:
        raise StudyStopped(
            f"{where} has no worker, after {_WORKER_PATIENCE:g} seconds; start one with `dask "
            "worker`"
        ) from error
    _check_versions(client.get_versions(packages=["bayesdp"])["workers"])


def _check_versions(workers: Mapping[str, Any]) -> None:
    """Raise unless workers have this bayesdp, and the Python that functions are pickled for."""
    python = ".".join(map(str, sys.version_info[:2]))
    for address, found in sorted(workers.items()):
        version = found["packages"].get("bayesdp")
        if version != __version__:
            has = "no bayesdp" if version in (None, "MISSING") else f"bayesdp {version}"
            raise InvalidInput(
                f"the worker at {address} has {has}, and this process {__version__}; install the "
                f"same there: pip install bayesdp=={__version__}"
            )
        its = ".".join(str(found["host"]["python"]).split(".")[:2])
        if its != python:
            raise InvalidInput(
                f"the worker at {address} has Python {its}, and this process {python}, for which "
                "functions are pickled; start the workers with the same"
            )
