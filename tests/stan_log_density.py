"""Log densities of a shipped Stan program at given points, by its compiled code."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesdp.engines.stan.programs import compiled, read_program
from bayesdp.engines.stan.pystan import PyStan
from bayesdp.private_folder import private_folder

_CHILD = """
import json, pathlib, sys
import httpstan.cache
import stan
from bayesdp.engines.stan.pystan_worker import link_compiled

request = json.loads(sys.stdin.read())
folder = pathlib.Path(request["folder"])
httpstan.cache.cache_directory = lambda: folder
link_compiled(pathlib.Path(request["compiled"]), folder)
model = stan.build(request["code"], request["data"])
found = [
    model.log_prob(model.unconstrain_pars(point), adjust_transform=False)
    if isinstance(point, dict)
    else model.log_prob(point)
    for point in request["points"]
]
(folder / "found.json").write_text(json.dumps(found))
"""


def log_densities(
    program: str, data: Mapping[str, Any], points: Sequence[Mapping[str, Any] | Sequence[float]]
) -> np.ndarray:
    """Log densities up to a constant.

    A point that is a mapping has the parameters by name; others are of the unconstrained space,
    where the density has the Jacobians of the transforms.
    """
    backend, source = PyStan(), read_program(program)
    code = compiled(source, backend.fingerprint(), lambda folder: backend.compile(source, folder))
    with private_folder(sockets=True) as folder:
        request = {
            "folder": str(folder),
            "compiled": str(code),
            "code": source.code,
            "data": {name: np.asarray(value).tolist() for name, value in data.items()},
            "points": [_plain(point) for point in points],
        }
        command = [sys.executable, "-W", "ignore", "-c", _CHILD]
        environment = {**os.environ, "TMPDIR": str(folder)}  # for sockets
        pipes: Any = {"input": json.dumps(request), "capture_output": True, "text": True}
        done = subprocess.run(command, check=False, env=environment, **pipes)
        assert done.returncode == 0, done.stderr
        return np.array(json.loads((folder / "found.json").read_text()))


def _plain(point: Any) -> Any:
    if isinstance(point, Mapping):
        return {name: np.asarray(value).tolist() for name, value in point.items()}
    return np.asarray(point).tolist()
