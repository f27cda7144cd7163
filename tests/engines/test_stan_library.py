"""Stan's functions for users' own programs, against the mechanisms' laws in Python."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import bayesdp as bdp
from bayesdp.engines.draws import import_arviz
from bayesdp.errors import InvalidInput
from tests.conftest import require_pystan

M = bdp.mechanisms
BOUNDS = (-2, 9)
NOISES = [(kind, scale) for kind in ("laplace", "gaussian") for scale in (0.3, 1.0, 4.5)]
LAPLACE, GAUSSIAN = M.DiscreteLaplaceMechanism, M.DiscreteGaussianMechanism
PLACES = [(z, x) for z in (-2, -1, 0, 3, 9) for x in (-2, 0, 4, 9)]
SHAPE, CHANCE = (1.5, 2.0, 1.0), (0.25, 0.0, 0.6)
LAW = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]
X = np.arange(31)
OUTPUT = 11
"""What a count's discrete Laplace mechanism released."""

CALLS = [
    *(
        f"discrete_{kind}_{how}lpmf({z} | {x}, {scale}{ends})"
        for kind, scale in NOISES
        for how, ends in (("", ""), ("truncated_", ", -2, 9"), ("inflated_", ", -2, 9"))
        for z, x in PLACES
    ),
    *(
        f"discrete_{kind}_{how}({z} | 4, {scale})"
        for kind, scale in NOISES
        for how in ("lcdf", "lccdf")
        for z in (-30, 0, 4, 8)
    ),
    "discrete_laplace_lpmf({3, 5, -1} | {2, 2, 2}, 1.5)",
    "discrete_gaussian_lpmf({3, 5, -1} | {2, 2, 2}, 1.5)",
    "synthetic_count_lpmf(7 | 12, 30, 20, 4.0, 2.5)",
    "synthetic_table_lpmf({3, 0, 5} | {10, 2, 0}, [1.5, 0.5, 2]')",
    "synthetic_events_lpmf({3, 0, 5} | {10, 0, 1}, [1.5, 2, 1]', [0.25, 0, 0.6]')",
    "randomized_response_lpmf(2 | 1, [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])",
    "randomized_response_lpmf({2, 1, 2, 3} | [0.3, 0.7]', [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])",
    "latent_count_log_lik(0.3, log_law + lchoose(30, x), x, 30 - x)",
    "log_sum_exp(latent_beta_count_log_joint(2, 3, log_law + lchoose(30, x), x, 30 - x))",
    "latent_events_log_lik(1.4, 6, log_law + x * log(6) - lgamma(x + 1), x)",
    "latent_categories_log_lik([0.3, 0.7]', [1, 2, 1]', [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]')",
    *(
        f"noisy_number_lpdf([1.5, 0.2]' | 0.7, 0.4, {laplace}, 1, {low}, 2)"
        for laplace in (0, 1)
        for low in (-1, "negative_infinity()")
    ),
    "noisy_numbers_lpdf([1.5, 0.2, 3]' | [0.7, 3]', {1, 3}, {2, 3}, [0.4, 1]', {0, 1}, {1, 0},"
    " [-1, -1]', [2, 4]', {0, 0}, {0, 0})",
    "inflated_ends_log_lik(0.7, 0.4, 0, -1, 2, 1, 2)",
    "inflated_ends_log_lik(0.7, 0.4, 1, -1, 2, 1, 2)",
    "latent_binomial_log_lik(x, log_law, 30, 0.3)",
    "latent_binomial_logit_log_lik(x, log_law, 30, -0.8)",
    "latent_poisson_log_log_lik(x, log_law, 2.1)",
    "latent_neg_binomial_2_log_log_lik(x, log_law, 2.1, 3.5)",
    *(
        f"latent_binomial_log_lik({some}, log_law[:num_elements({some})], {n}, 0.3)"
        for some, n in (("x[6:11]", 30), ("x[6:6]", 30), ("x[{9, 2, 3}]", 30), ("x[11:21]", 19))
    ),
]


def expected() -> list[float]:
    """The same numbers by the mechanisms' own laws and SciPy's."""
    found: list[Any] = []
    for kind, scale in NOISES:
        noise = LAPLACE if kind == "laplace" else GAUSSIAN
        for how in (None, "truncated", "inflated"):
            bounds = {} if how is None else {"bounds": BOUNDS, "bounding": how}
            mechanism = noise(scale, 1.0, **bounds)
            found += [mechanism.logp(z, x) for z, x in PLACES]
    for kind, scale in NOISES:
        law = (LAPLACE if kind == "laplace" else GAUSSIAN)(scale, 1.0).noise
        found += [law.log_upper(4 - z) for z in (-30, 0, 4, 8)]
        found += [law.log_upper(z + 1 - 4) for z in (-30, 0, 4, 8)]
    for noise in (LAPLACE, GAUSSIAN):
        found.append(noise(1.5, 1.0).logp([3, 5, -1], 2).sum())
    copies = M.BetaBinomialMechanism(n=30, size=20, prior=(4.0, 2.5))
    table = M.DirichletMultinomialMechanism(n=12, size=8, cells=3, prior=(1.5, 0.5, 2.0))
    found += [copies.logp(7, bdp.Count(12, 30)), table.logp([3, 0, 5], [10, 2, 0])]
    r, chance = np.add(SHAPE, (10, 0, 1)), np.array(CHANCE)
    found.append(stats.nbinom.logpmf([3, 0, 5], r, 1 - chance).sum())
    answers = np.array([0.3, 0.7]) @ np.array(LAW)
    found += [np.log(LAW[0][1]), np.log(answers[[1, 0, 1, 2]]).sum()]
    law = LAPLACE(2.0, 1.0).logp(OUTPUT, X)
    count = np.logaddexp.reduce(law + stats.binom.logpmf(X, 30, 0.3))
    found += [count, np.logaddexp.reduce(law + stats.betabinom.logpmf(X, 30, 2, 3))]
    found.append(np.logaddexp.reduce(law + stats.poisson.logpmf(X, 6 * 1.4)))
    found.append(np.log(answers) @ [1, 2, 1])
    ends = []
    for noise in (stats.norm, stats.laplace):
        around = noise(0.7, 0.4)
        inside = around.logpdf([1.5, 0.2]).sum()
        found += [inside - 2 * np.log(around.cdf(2) - around.cdf(low)) for low in (-1, -np.inf)]
        ends.append(around.logcdf(-1) + 2 * around.logsf(2))
    normal = stats.norm(0.7, 0.4)
    within = normal.logpdf([1.5, 0.2]).sum() - 2 * np.log(normal.cdf(2) - normal.cdf(-1))
    found += [within + stats.laplace(3, 1).logpdf(3), *ends, count]
    logit = stats.binom.logpmf(X, 30, 1 / (1 + np.exp(0.8)))
    found.append(np.logaddexp.reduce(law + logit))
    found.append(np.logaddexp.reduce(law + stats.poisson.logpmf(X, np.exp(2.1))))
    chance_of = 3.5 / (3.5 + np.exp(2.1))
    found.append(np.logaddexp.reduce(law + stats.nbinom.logpmf(X, 3.5, chance_of)))
    for some, n in ((X[5:11], 30), (X[5:6], 30), (X[[8, 1, 2]], 30), (X[10:21], 19)):
        chances = stats.binom.logpmf(some, n, 0.3)
        found.append(np.logaddexp.reduce(law[: some.size] + chances))
    return [float(value) for value in np.hstack(found)]


EDGE, DRAWS, FALSE_ALARM = 20, 20_000, 1e-6
"""Draws are counted by their value from -EDGE to EDGE, and what is beyond with the end."""


def counted(values: Any, law: Any) -> Any:
    """Probabilities of the values from -EDGE to EDGE."""
    return np.bincount(np.clip(values, -EDGE, EDGE) + EDGE, law, 2 * EDGE + 1)


def noise_laws() -> dict[str, Any]:
    """Calls that draw integers with noise, and their laws by the mechanisms."""
    made: dict[str, Any] = {}
    z = np.arange(-9000, 9001)
    for kind, noise in (("laplace", LAPLACE), ("gaussian", GAUSSIAN)):
        call = f"discrete_{kind}"
        for scale in (1e-4, 0.3, 1.0, 4.5):
            made[f"{call}_rng(-3, {scale})"] = z, noise(scale, 1.0).logp(z, -3)
            for how in ("truncated", "inflated"):
                for x, low, high in ((-2, -2, 9), (4, -2, 9), (9, -2, 9), (0, 0, 1), (1, 0, 3)):
                    within = np.arange(low, high + 1)
                    law = noise(scale, 1.0, bounds=(low, high), bounding=how).logp(within, x)
                    made[f"{call}_{how}_rng({x}, {scale}, {low}, {high})"] = within, law
        made[f"{call}_rng(1000, 300) %/% 50 - 20"] = z // 50, noise(300.0, 1.0).logp(z, 0)
        made[f"{call}_rng({{7, 2}}, 1.5)[2]"] = z, noise(1.5, 1.0).logp(z, 2)
    return {made: counted(values, np.exp(law)) for made, (values, law) in made.items()}


def number_laws() -> dict[str, Any]:
    """Calls that draw a noisy 0.7, in quarters, and their laws by SciPy."""
    made, edges = {}, np.arange(-EDGE, EDGE + 2) / 4
    for laplace, noise in enumerate((stats.norm, stats.laplace)):
        for scale, low, high, how in (
            (0.4, -np.inf, np.inf, ""),
            (0.4, -1.0, 2.0, "truncated"),
            (9.0, -1.0, 2.0, "truncated"),
            (0.4, -np.inf, 0.7, "truncated"),
            (0.4, -1.0, 1.1, "inflated"),
        ):
            below = noise(0.7, scale).cdf(edges)
            if how == "truncated":
                ends = noise(0.7, scale).cdf([low, high])
                below = (np.clip(below, *ends) - ends[0]) / (ends[1] - ends[0])
            elif how == "inflated":  # what is at an end is in the bin that begins there, or has it
                below = np.where(edges <= low, 0, np.where(edges > high, 1, below))
            below[0], below[-1] = 0, 1
            ends = [str(end).replace("inf", "positive_infinity()") for end in (low, high)]
            arguments = f"{scale}, {laplace}, {int(how == 'truncated')}, {', '.join(ends)}"
            made[f"value_of(4 * noisy_number_rng(0.7, {arguments}))"] = np.diff(below)
    several = "[0, 0.7]', {2, 1}, [1, 0.4]', {0, 1}, {0, 0}, [-10, -10]', [10, 10]'"
    below = stats.laplace(0.7, 0.4).cdf(edges)
    below[0], below[-1] = 0, 1
    made[f"value_of(4 * noisy_numbers_rng({several})[3])"] = np.diff(below)
    return made


def other_laws() -> dict[str, Any]:
    """Calls that draw counts of synthetic records and answers, and their laws."""
    made: dict[str, Any] = {}
    for x, n, a, b in (
        (12, 30, 4.0, 2.5),
        (0, 30, 0.01, 2.5),
        (30, 30, 4.0, 0.01),
        (0, 0, 1.0, 1.0),
    ):
        law = M.BetaBinomialMechanism(n=None if n == 0 else n, size=20, prior=(a, b))
        call = f"synthetic_count_rng({x}, {n}, 20, {a}, {b})"
        ones = np.arange(21)
        made[call] = ones, [float(law.logp(z, bdp.Count(x, n))) for z in ones]
    table = M.DirichletMultinomialMechanism(n=12, size=3, cells=3, prior=(1.5, 0.5, 2.0))
    cells = [(i, j, 3 - i - j) for i in range(4) for j in range(4 - i)]
    call = "synthetic_table_rng({10, 2, 0}, [1.5, 0.5, 2]', 3)"
    for k in range(3):  # of all cells together: the first, and then each number of the others
        values = [cell[k] for cell in cells]
        made[f"{call}[{k + 1}]"] = values, [float(table.logp(z, [10, 2, 0])) for z in cells]
    call = "synthetic_events_rng({10, 0, 1}, [1.5, 2, 1]', [0.25, 0, 0.6]')"
    events = np.arange(500)
    for k, (shape, chance) in enumerate(zip((11.5, 2.0, 2.0), CHANCE, strict=True)):
        law = stats.nbinom.logpmf(events, shape, 1 - chance)
        made[f"{call}[{k + 1}]"] = events, law
    matrix = "[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]]"
    made[f"randomized_response_rng(2, {matrix})"] = [1, 2, 3], np.log(LAW[1])
    answers = np.log(np.array([0.3, 0.7]) @ np.array(LAW))
    made[f"randomized_response_rng([0.3, 0.7]', {matrix}, 2)[2]"] = [1, 2, 3], answers
    return {made: counted(values, np.exp(law)) for made, (values, law) in made.items()}


DRAWN = {**noise_laws(), **number_laws(), **other_laws()}
"""Calls that draw an integer, and the probabilities of its values from -EDGE to EDGE."""

PROGRAM = """
functions {
  #include bayesdp.stanfunctions

  int value_of(real z) {
    int value = -EDGE;
    while (value < EDGE && z >= value + 1) {
      value += 1;
    }
    return value;
  }
}
data {
  int<lower=1> E;
  int<lower=1> K;
  array[E] int<lower=1, upper=K> first;
  array[E] int<lower=1, upper=K> last;
  vector[K] x;
  vector[K] log_law;
  array[E] int<lower=1> n;
  int<lower=0, upper=1> all;                    // whether to call all functions, for one integer
}
parameters {
  vector<lower=0, upper=1>[E] p;
}
model {
  for (e in 1:E) {
    target += latent_binomial_log_lik(x[first[e]:last[e]], log_law[first[e]:last[e]], n[e], p[e]);
  }
}
generated quantities {
  array[all ? FOUND : 0] real found;
  array[all ? DRAWN : 0, 2 * EDGE + 1] int drawn;
  vector[2] still = rep_vector(1, 2);
  if (all) {
    found = {CALLS};
    drawn = rep_array(0, DRAWN, 2 * EDGE + 1);
    for (i in 1:DRAWS) {
      array[DRAWN] int value = {VALUES};
      for (k in 1:DRAWN) {
        drawn[k, EDGE + 1 + min(max(value[k], -EDGE), EDGE)] += 1;
      }
    }
  }
}
"""
for name, text in {
    "EDGE": EDGE,
    "DRAWS": DRAWS,
    "FOUND": len(CALLS),
    "DRAWN": len(DRAWN),
    "CALLS": ",\n".join(CALLS),
    "VALUES": ",\n".join(DRAWN),
}.items():
    PROGRAM = re.sub(rf"\b{name}\b", str(text), PROGRAM)


@pytest.mark.slow
def test_every_function_is_the_mechanisms_law() -> None:
    require_pystan()
    law = LAPLACE(2.0, 1.0).logp(OUTPUT, X)
    data = {"E": 1, "K": X.size, "first": [1], "last": [X.size], "x": X, "log_law": law}
    data |= {"n": [30], "all": 1}
    with pytest.warns(UserWarning, match="can't be relied on"):  # one draw
        idata = bdp.stan.sample(
            PROGRAM, data, variables=["found", "drawn"], draws=1, chains=1, warmup=1, seed=1
        )
    found = idata.posterior["found"].to_numpy().ravel()
    wrong = [
        (call, value, right)
        for call, value, right in zip(CALLS, found, expected(), strict=True)
        if value != pytest.approx(right, rel=1e-10, abs=1e-10)
    ]
    assert not wrong
    drawn = idata.posterior["drawn"].to_numpy()[0, 0]
    chances = [p_value(*each) for each in zip(drawn, DRAWN.values(), strict=True)]
    assert min(chances) > FALSE_ALARM / len(chances), [*DRAWN][int(np.argmin(chances))]


def p_value(seen: Any, law: Any) -> float:
    """Chi-square over the values, the rare ones together; 0 where an impossible one was drawn."""
    assert law.sum() == pytest.approx(1, abs=1e-12)
    if seen.sum() != DRAWS or seen[law == 0].any():
        return 0.0
    common = DRAWS * law >= 20
    seen, law = (np.append(each[common], each[~common].sum()) for each in (seen, law))
    if DRAWS * law[-1] < 20:  # with the commonest of the others
        k = int(np.argmax(law))
        for each in (seen, law):
            each[k] += each[-1]
        seen, law = seen[:-1], law[:-1]
    return float(stats.chisquare(seen, DRAWS * law).pvalue) if law.size > 1 else 1.0


@pytest.mark.slow
def test_a_programs_posterior_is_that_of_the_model(grouped_release: bdp.Release) -> None:
    require_pystan()
    sizes = [part.mechanism.n for part in grouped_release.parts]
    idata = bdp.stan.sample(
        PROGRAM,
        {**bdp.stan.data(grouped_release), "n": sizes, "all": 0},
        variables=["p", "still"],  # of which the last is no stuck chain
        draws=2000,
        seed=4,
        progress=False,
        adapt_delta=0.9,
        inits={"p": np.full(3, 0.5)},
        coords={"group": list(grouped_release.groups)},
        dims={"p": ["group"]},
    )
    az = import_arviz()
    assert idata.posterior["p"].dims == ("chain", "draw", "group")
    for group in grouped_release.groups:
        p = idata.posterior["p"].sel(group=group).to_numpy()
        right = bdp.BinomialModel().posterior(grouped_release[group]).mean()
        # 5.2 standard errors: a false alarm has probability 6e-7 over the three groups
        assert abs(p.mean() - right) < 5.2 * float(az.mcse({"p": p})["p"])
    assert idata.attrs["engine"] == "stan"
    settings = {"adapt_delta": 0.9, "inits": {"p": [0.5, 0.5, 0.5]}}
    assert json.loads(idata.attrs["engine_settings"]) == settings
    assert idata.attrs["verdict"].startswith("no problem found")


def test_what_is_refused() -> None:
    for given, message in (
        ({"code": 3}, "code is an int"),
        ({"code": "#include other.stan"}, "the program has the line"),
        ({"code": "model {}"}, "the program has no parameters"),
        ({"data": [3]}, "data is a list; it must map"),
        ({"target_accept": 0.9}, "target_accept is a setting of engine='pymc'"),
        ({"draws": 0}, "draws"),
        ({"seed": -1}, "seed"),
    ):
        with pytest.raises(InvalidInput, match=message):
            bdp.stan.sample(**{"code": PROGRAM, "data": {}, **given})  # type: ignore[arg-type]


def test_every_function_is_tried() -> None:
    code = bdp.stan.with_includes("#include bayesdp.stanfunctions")
    functions = set(re.findall(r"^(?:real|vector|int|array\[\] int) (\w+)\(", code, re.MULTILINE))
    inner = {"discrete_laplace_log_upper", "discrete_gaussian_log_upper"}
    inner |= {"discrete_gaussian_log_theta", "discrete_gaussian_log_between", "unit_noise_lcdf"}
    inner |= {"discrete_gaussian_noise_rng", "latent_log_choose"}
    called = r"\w+_(?:lpmf|lpdf|lcdf|lccdf|lik|joint|rng)\b"
    assert functions == inner | set(re.findall(called, f"{CALLS}{[*DRAWN]}"))
    included = set(re.findall(r"#include (\S+)", _library().read_text())) - {_library().name}
    of_models = {f"{name}.stanfunctions" for name in ("normal_moments", "regression_moments")}
    of_models |= {"released.stanfunctions"}
    others = {_library().name, *of_models}
    assert included == {path.name for path in _library().parent.iterdir()} - others


def _library() -> Path:
    return bdp.stan.include_path() / "bayesdp.stanfunctions"


def test_includes_in_a_users_program() -> None:
    assert _library().is_file()
    made = bdp.stan.with_includes("functions {\n  #include bayesdp.stanfunctions\n}\n")
    assert "#include" not in re.sub(r"/\*.*?\*/", "", made, flags=re.DOTALL)
    with pytest.raises(InvalidInput, match="code is a PosixPath; it must be the text"):
        bdp.stan.with_includes(_library())  # type: ignore[arg-type]
    for name in ("mine.stanfunctions", "../binomial.stan", "/etc/hostname"):
        with pytest.raises(InvalidInput, match="the program has the line"):
            bdp.stan.with_includes(f"#include {name}\n")
