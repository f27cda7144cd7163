"""Write down releases and a ledger, and what they say, for later versions to read the same.

    python -m tests.data.write

writes those that aren't there yet: of a new mechanism, say. What is there stays as it was written,
by whatever version that was, and isn't written again: that it can still be read is the test.
All records in them are made up.
"""

import dataclasses
import json
import math
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import bayesdp as bdp
from bayesdp.evaluation.declarations import model_of
from tests.contracts.examples import EXAMPLES
from tests.contracts.examples.example import Example

HERE = Path(__file__).parent
RELEASES, LEDGER, EXPECTED = HERE / "releases", HERE / "ledger.db", HERE / "expected.json"
EXPORT = HERE / "ledger.jsonl"
KEY = b"not a secret: it signs test data"
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("binomial", {"prior": [0.5, 2.0]}),
    ("binomial", {"prior": [0.5, 2.0], "n_range": [5, 60]}),
    ("gaussian", {"prior": [0.25, 2.0], "sd": 1.5}),
    ("gaussian", {"prior": [0.25, 2.0], "sd": 1.5, "n": 20}),
    ("multinomial", {"prior": [1.0, 0.5]}),
    ("multinomial", {"prior": [1.0, 0.5, 2.0]}),
    ("multinomial", {"prior": [1.0, 0.5, 2.0, 0.75]}),
]


def content(release: bdp.Release) -> dict[str, Any]:
    """What a release says: exact, as floats are written with all their digits."""
    promise: Any = release.guarantee
    numbers = ("epsilon", "delta", "rho", "neighbours", "strength")
    return {
        "parts": [[p.group, p.mechanism.name, _columns(p)] for p in release.parts],
        "marks": [release.variable, release.by, release.origin, release.reproducible],
        "guarantee": {n: getattr(promise, n) for n in numbers if hasattr(promise, n)},
        "fingerprint": release.fingerprint,
    }


def _columns(part: Any) -> dict[str, Any]:
    encoded = part.mechanism.encode(part.outputs)
    return {name: np.asarray(column).tolist() for name, column in encoded.items()}


def inferred(release: bdp.Release, family: str, parameters: dict[str, Any]) -> dict[str, float]:
    """The log evidence and, where there are no groups, the posterior mean: exact engines' alone."""
    model = model_of(family, parameters)
    evidence = bdp.log_evidence(model, release)
    if evidence.standard_error:
        raise bdp.errors.InvalidInput("this evidence isn't exact")
    found = {"log_evidence": evidence.log_value}
    if not release.by:
        which = (0,) if family == "multinomial" else ()
        found["mean"] = float(model.posterior(release, *which).mean())
    return found


def ledger_content(ledger: bdp.Ledger) -> dict[str, Any]:
    """All that a ledger's methods say of what is in it."""
    found: dict[str, Any] = {"heads": ledger.verify(), "datasets": {}}
    for name in ledger.datasets():
        dataset = ledger.dataset(name)
        found["datasets"][name] = {
            "budget": dataclasses.asdict(dataset.budget),
            "entries": [dataclasses.asdict(entry) for entry in dataset.history()],
            "remaining": dataset.remaining(),
            "spent": dataclasses.asdict(dataset.spent()),
        }
    return found


def as_json(value: Any) -> Any:
    """What `value` is after it was written as JSON and read."""
    return json.loads(json.dumps(value, default=np.generic.item))


def released(example: Example) -> bdp.Release:
    """Two copies of an example's mechanism."""
    statistic, mechanism = example.pairs[0][0], example.mechanism
    if statistic is None:
        outputs: Any = list(example.outputs)[:2]
    else:
        with bdp.reproducible(1):
            outputs = mechanism.release(statistic, copies=2)
    pure = bdp.Release.of(mechanism, outputs)
    found = math.isfinite(pure.guarantee.epsilon)
    return pure if found else bdp.Release.of(mechanism, outputs, delta=1e-5)


def of_mechanisms() -> Iterator[tuple[str, Callable[[], bdp.Release]]]:
    """The first and the last example of each mechanism, whose parameters differ most."""
    by_name: dict[str, list[Example]] = {}
    for example in EXAMPLES:
        by_name.setdefault(example.mechanism.name, []).append(example)
    for name, found in by_name.items():
        yield name, lambda found=found: released(found[0])
        if len(found) > 1:
            yield f"{name}-other", lambda found=found: released(found[-1])


def of_synthesizers() -> Iterator[tuple[str, Callable[[], bdp.Release]]]:
    """By synthesizers: seeded, so that they are the same again, and then taken for the others."""
    counts = {"a": bdp.Count(20, 50), "b": bdp.Count(30, 40), "c": bdp.Count(0, 30)}

    def grouped(*, public_n: bool = True) -> bdp.Release:
        with bdp.reproducible(2):
            made = bdp.BetaBinomialSynthesizer(
                2.0, copies=3, public_n=public_n, size=40, groups=list(counts)
            )
            return made.release(counts)

    yield "seeded", grouped
    yield "groups", lambda: dataclasses.replace(grouped(), reproducible=False)
    yield (
        "groups-confidential-n",
        lambda: dataclasses.replace(grouped(public_n=False), reproducible=False),
    )


def write_releases(expected: dict[str, Any]) -> None:
    """Those that aren't there, each with what exact engines infer from it."""
    for name, made in [*of_mechanisms(), *of_synthesizers()]:
        if name in expected:
            continue
        release = made()
        release.save(RELEASES / name, force=True, key=KEY if name == "groups" else None)
        expected[name] = as_json(content(release)) | {"inferred": []}
        for family, parameters in MODELS:
            try:
                found = inferred(release, family, parameters)
            except bdp.errors.InvalidInput:
                continue
            expected[name]["inferred"].append([family, parameters, found])


def write_ledger() -> dict[str, Any]:
    """Two datasets, with promises of each kind."""
    ledger = bdp.Ledger.open(f"sqlite:///{LEDGER}")
    survey = ledger.create("survey", epsilon=8.0, delta=1e-5, neighbours="replace_one")
    with_name = {"mechanism": "beta_binomial", "parameters": {"n": 9, "size": 6}}
    mechanism = bdp.mechanisms.BetaBinomialMechanism(9, 6, (9.5, 13.0))
    survey.spend(mechanism.guarantee(), with_name)
    survey.spend(bdp.Guarantee(1 / 3, 1e-7, "add_remove", "conditional", ("one",), "a text"))
    noise = bdp.mechanisms.DiscreteGaussianMechanism(8.0, 1.0, bdp.Neighbours.REPLACE_ONE)
    survey.spend(noise.guarantee(delta=1e-6))
    census = ledger.create("census", epsilon=1.0, neighbours="add_remove")
    census.spend(bdp.Guarantee(0.1, 0.0, "add_remove", "proved", (), "a text"))
    for _ in range(3):
        claim = bdp.Guarantee(0.2, 0.0, "add_remove", "as_published", ("claimed",), "a text")
        census.spend(claim, accept_unproved=True)
    return as_json(ledger_content(ledger))


def write_key(folder: Path) -> Path:
    """A file of the key that the export is signed with."""
    path = folder / "test.key"
    path.write_text(KEY.hex(), encoding="ascii")
    path.chmod(0o600)
    return path


def main() -> None:
    """Write what is missing."""
    RELEASES.mkdir(exist_ok=True)
    expected = json.loads(EXPECTED.read_text("utf-8")) if EXPECTED.exists() else {"releases": {}}
    write_releases(expected["releases"])
    if not LEDGER.exists():
        expected["ledger"] = write_ledger()
    if not EXPORT.exists():
        with tempfile.TemporaryDirectory() as folder:
            bdp.Ledger.open(f"sqlite:///{LEDGER}").export(EXPORT, key=write_key(Path(folder)))
    EXPECTED.write_text(json.dumps(expected, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
