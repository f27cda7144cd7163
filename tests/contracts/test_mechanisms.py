"""Every mechanism has examples, is a value of the protocol, and survives being written down."""

import dataclasses

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.base import Mechanism
from bayesdp.mechanisms.registry import REGISTRY
from bayesdp.release.manifest import MechanismEntry
from tests.contracts.examples import EXAMPLES, each
from tests.contracts.examples.example import Example


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
