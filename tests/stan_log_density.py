"""Log densities of Stan programs at given points, by PyStan in a process of its own.

    python -P stan_log_density.py FOLDER

FOLDER holds request.json; the densities are written to densities.json there.
"""

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def stan_log_densities(
    name: str, data: Mapping[str, Any], points: Sequence[Mapping[str, Any]]
) -> list[float]:
    """Log density of a shipped program's parameters, without the Jacobians of its transforms."""
    from bayesdp.engines.stan.programs import compiled, read_program
    from bayesdp.engines.stan.pystan import PyStan

    backend, program = PyStan(), read_program(name)
    folder = compiled(program, backend.fingerprint(), lambda into: backend.compile(program, into))
    with tempfile.TemporaryDirectory() as private:
        request = {
            "compiled": str(folder),
            "cache": private,
            "code": program.code,
            "data": {key: np.asarray(value).tolist() for key, value in data.items()},
            "points": [
                {key: np.asarray(value).tolist() for key, value in point.items()}
                for point in points
            ],
        }
        (Path(private) / "request.json").write_text(json.dumps(request))
        command = [sys.executable, "-W", "ignore", "-P", __file__, private]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        found: list[float] = json.loads((Path(private) / "densities.json").read_text())
    return found


def main(folder: Path) -> None:
    from bayesdp.engines.stan.pystan_worker import link_compiled

    request = json.loads((folder / "request.json").read_text())
    cache: Any = importlib.import_module("httpstan.cache")
    cache.cache_directory = lambda: Path(request["cache"])
    link_compiled(Path(request["compiled"]), Path(request["cache"]))
    import stan

    model = stan.build(request["code"], request["data"])
    densities = [
        model.log_prob(model.unconstrain_pars(point), adjust_transform=False)
        for point in request["points"]
    ]
    (folder / "densities.json").write_text(json.dumps(densities))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
