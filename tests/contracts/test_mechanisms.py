"""Every mechanism has examples, is a value of the protocol, and survives being written down."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.core.outputs import OutputSpace
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.registry import REGISTRY
from bayesdp.release.manifest import MechanismEntry
from tests.contracts.examples import EXAMPLES, each
from tests.contracts.examples.example import Example

CODING = {"check_output", "encode", "decode", "records", "outputs"}
BY_HAND = (
    "CensoredBetaMechanism",
    "CensoredPosteriorMechanism",
    "Coded",
    "DPERGMMechanism",
    "EdgeFlipMechanism",
    "Family",
    "Gaussian",
    "LinearRegression",
    "ModipsGridMechanism",
    "ModipsSBSMechanism",
    "NestedModipsMechanism",
    "RandomizedResponseMechanism",
    "SelectedModipsMechanism",
    "SequentialModipsMechanism",
    "gaussian_outputs",
    "synthetic_column",
)
"""Classes and modules of mechanisms that code outputs of records or graphs themselves."""


def test_a_declared_space_alone_says_what_outputs_there_are():
    """No class of mechanisms but a space, nor a module of them, checks and codes outputs."""
    kinds = [OutputSpace]
    for kind in kinds:
        kinds += kind.__subclasses__()
    spaces = {kind.__name__ for kind in kinds}
    found, room = set(), Path(bdp.__file__).parent / "mechanisms"
    for path in sorted({*room.rglob("*.py")} - {room / "base.py"}):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name not in spaces]
        for name, body in ((path.stem, tree.body), *((made.name, made.body) for made in classes)):
            if CODING & {getattr(node, "name", "") for node in body}:
                found.add(name)
    assert found == set(BY_HAND)


def test_every_mechanism_has_examples():
    assert {example.mechanism.name for example in EXAMPLES} == set(REGISTRY)


@each(EXAMPLES)
def test_it_is_a_frozen_value_of_the_protocol(example: Example):
    mechanism = example.mechanism
    assert isinstance(mechanism, Mechanism)
    assert REGISTRY[mechanism.name] is type(mechanism)
    first = dataclasses.fields(mechanism)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(mechanism, first, 1)
    assert hash(mechanism) == hash(dataclasses.replace(mechanism))


@each(EXAMPLES)
def test_outputs_survive_encoding(example: Example):
    mechanism = example.mechanism
    outputs = [mechanism.check_output(z) for z in example.outputs]
    columns = {name: np.asarray(values) for name, values in mechanism.encode(outputs).items()}
    rows = len(columns["copy"])
    assert {len(column) for column in columns.values()} == {rows}
    shuffled = np.random.default_rng(0).permutation(rows)
    assert mechanism.decode({k: v[shuffled] for k, v in columns.items()}) == outputs


def is_of_numbers(example: Example) -> bool:
    """So that every output has as many rows; a graph, say, may have none."""
    family = getattr(getattr(example.mechanism, "sbs", example.mechanism), "family", None)
    if {type(example.mechanism).__name__, type(family).__name__} & set(BY_HAND):
        return False
    output = example.mechanism.check_output(example.outputs[0])
    return all(isinstance(part, int | float) for part in np.atleast_1d(output).tolist())


@each([example for example in EXAMPLES if is_of_numbers(example)])
def test_a_table_that_lacks_a_copy_or_has_one_twice_is_refused(example: Example):
    mechanism = example.mechanism
    outputs = [mechanism.check_output(z) for z in [*example.outputs[:2], example.outputs[0]]]
    columns = {name: np.asarray(values) for name, values in mechanism.encode(outputs).items()}
    rows = np.arange(len(columns["copy"]))
    lacking = [columns["copy"] != copy for copy in (0, 1)]
    for kept in (*lacking, [*rows, *rows[columns["copy"] == 0]]):
        with pytest.raises(bdp.errors.InvalidInput):
            mechanism.decode({name: column[kept] for name, column in columns.items()})


@pytest.mark.slow
@each(EXAMPLES)
def test_a_release_of_it_survives_the_disk(example: Example, tmp_path):
    outputs = [example.mechanism.check_output(z) for z in example.outputs][:3]
    release = bdp.Release.of(example.mechanism, outputs, delta=example.delta)
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.fingerprint == release.fingerprint
    assert len(loaded.to_frames()) == len(outputs)


@each(EXAMPLES)
def test_parameters_survive_the_manifest(example: Example):
    entry = MechanismEntry.of(example.mechanism)
    entry = MechanismEntry.model_validate_json(entry.model_dump_json())
