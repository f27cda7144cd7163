"""Censored pseudo-posteriors: the exact grid, and NUTS."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from tests.benchmarks.measure import line, seconds

CENSORED = """
import sys, time
import numpy as np
import bayesdp as bdp

start = time.perf_counter()
made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0)
made.release([0.1, 0.2])
first = time.perf_counter() - start
y = np.random.default_rng(1).beta(0.5, 3, int(sys.argv[1])).clip(1e-300, 1 - 2.0**-53)
start = time.perf_counter()
made.release(y)
took = time.perf_counter() - start
words = open("/proc/self/status").read().split()
memory = int(words[words.index("VmHWM:") + 1]) / 2**20
start = time.perf_counter()
for phi, lam in np.random.default_rng(2).uniform((0.1, 5.0), (0.2, 7.0), (3, 2)):
    a, b = lam * phi, lam * (1 - phi)
    np.clip((a - 1) * np.log(y) + (b - 1) * np.log1p(-y), -2, 2).sum()
print(first, took, (time.perf_counter() - start) / 3, memory)
"""


def censored() -> None:
    """A release, in a process of its own, against one clipped sum over every record by numpy."""
    for n, goal in ((2000, "80 ms"), (10**6, "5 s"), (10**7, "40 s, 2 GiB")):
        done = subprocess.run(
            [sys.executable, "-c", CENSORED, str(n)], capture_output=True, text=True, check=True
        )
        first, took, one, memory = map(float, done.stdout.split())
        line(f"censored beta release, n = {n:,}", f"{took:.3f} s",
             "the time of one sum over all records", took / one, goal)  # fmt: skip
        print(f"{'':<46} {memory:>11.2f} GiB   {first:.1f} s before, for a process's first release")


SUPPLEMENT = """
functions {
  real betawt_lpdf(vector outcome, real beta1, real beta2, vector alpha, int n, real M) {
    real check_term;
    real update_term;
    check_term = 0.0;
    for (i in 1:n) {
      update_term = alpha[i] * beta_lpdf(outcome[i] | beta1, beta2);
      check_term = check_term + fmax(fmin(update_term, M), -M);
    }
    return check_term;
  }
  real betawt_i_lpdf(real outcome_i, real beta1, real beta2, real alpha_i, real M) {
    real update_term = alpha_i * beta_lpdf(outcome_i | beta1, beta2);
    return fmax(fmin(update_term, M), -M);
  }
  real betawt_i_noM_lpdf(real outcome_i, real beta1, real beta2, real alpha_i) {
    return alpha_i * beta_lpdf(outcome_i | beta1, beta2);
  }
}
data {
  int<lower=1> n;
  vector[n] outcome;
  vector<lower=0>[n] alpha;
  real<lower=0> M;
}
parameters {
  real<lower=0, upper=1> phi;
  real<lower=0.1> lambda;
}
transformed parameters {
  real<lower=0> beta1 = lambda * phi;
  real<lower=0> beta2 = lambda * (1 - phi);
}
model {
  phi ~ beta(1, 1);
  lambda ~ pareto(0.1, 1.5);
  target += betawt_lpdf(outcome | beta1, beta2, alpha, n, M);
}
generated quantities {
  vector[n] log_lik;
  vector[n] log_lik_noM;
  for (i in 1:n) {
    log_lik[i] = betawt_i_lpdf(outcome[i] | beta1, beta2, alpha[i], M);
    log_lik_noM[i] = betawt_i_noM_lpdf(outcome[i] | beta1, beta2, alpha[i]);
  }
}
"""


PYSTAN = """
import json, sys, time
import numpy as np
import stan

request = json.load(open(sys.argv[1]))
model = stan.build(request["code"], request["data"], random_seed=1)
start = time.perf_counter()
fit = model.sample(num_chains=2, num_samples=1000, num_warmup=1000)
took = time.perf_counter() - start
draws = {v: fit[v].reshape(-1, 2).T for v in ("phi", "lambda")}
np.savez(sys.argv[2], took=took, **draws)
"""


def by_pystan(code: str, data: dict[str, Any], cache: str) -> tuple[float, float]:
    """Time that PyStan's sample takes, without compilation, and the smaller effective size."""
    az = import_arviz()
    with tempfile.TemporaryDirectory() as folder:
        request, draws = Path(folder) / "request.json", Path(folder) / "draws.npz"
        request.write_text(json.dumps({"code": code, "data": data}))
        environment = os.environ | {"XDG_CACHE_HOME": cache}
        command = [sys.executable, "-P", "-c", PYSTAN, str(request), str(draws)]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        found = np.load(draws)
        ess = az.ess(az.convert_to_dataset({v: found[v] for v in ("phi", "lambda")}))
        return float(found["took"]), min(float(ess[v]) for v in ("phi", "lambda"))


def censored_engines() -> None:
    """Engines of the censored beta posterior against the supplement's Stan program, S2.

    n = 2000, 2 chains of 1000 + 1000 draws by PyStan, its parsing of draws included.
    """
    from bayesdp.engines.stan.programs import read_program
    from bayesdp.synthesis.censored_beta_law import BetaLaw
    from bayesdp.synthesis.censored_chains import Chains

    if importlib.util.find_spec("stan") is None:
        print("PyStan isn't installed: the censored beta posterior's engines left out")
        return
    y = special.betaincinv(0.5, 3, (np.arange(2000) + 0.5) / 2000)
    ones = [1.0] * y.size
    chains = Chains("stan", 4.0, 1, "add_remove", 0.0, BetaLaw((1.0, 1.0), (0.1, 1.5), 1000.0))
    code = read_program("censored_beta").code
    with tempfile.TemporaryDirectory() as cache:
        theirs = {"n": y.size, "outcome": y.tolist(), "alpha": ones, "M": 2.0}
        supplement, size = by_pystan(SUPPLEMENT, theirs, cache)
        for what, weights in (("", None), (", weighted", np.array(ones))):
            data = {k: np.asarray(v).tolist() for k, v in chains.stan_data(y, weights).items()}
            took, ess = by_pystan(code, data, cache)
            line(f"Stan, censored beta{what}", f"{ess / took:,.0f} ess/s",
                 f"the supplement's program's {size / supplement:,.1f} ess/s",
                 (ess / took) / (size / supplement), "3 x")  # fmt: skip
            made = bdp.synthesizers.CensoredBetaSynthesizer(epsilon=4.0, weights=weights)
            ours = seconds(lambda made=made: made.release(y))
            line(f"grid release, n = 2,000{what}", f"{1e3 * ours:.0f} ms",
                 f"faster than the supplement's {supplement:.1f} s", supplement / ours,
                 "200 x")  # fmt: skip
            line(f"grid release, n = 2,000{what}", f"{1e3 * ours:.0f} ms",
                 f"faster than this program's {took:.1f} s", took / ours, "-")  # fmt: skip
