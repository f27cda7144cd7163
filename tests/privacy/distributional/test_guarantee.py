"""The type of a distributional promise: what it may hold, and everywhere that it may not go."""

import dataclasses
import json
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.mechanisms.base import joint_guarantee
from bayesdp.privacy.relations import convert
from bayesdp.release.manifest_text import sealed

D = bdp.distributional
LAW = D.LawClass.of("uniform", low=0, high=1.5, n=100, columns=["a", "b"])
PROMISE = D.DistributionalGuarantee(0.63, 6.83e-4, "uniform records", LAW, known_records=50)
MECHANISM = D.ExactStatisticMechanism(PROMISE, n=100)
PLAIN = bdp.Guarantee(1.0, 0.0, bdp.Neighbours.ADD_REMOVE, bdp.Strength.PROVED, (), "a test")


def test_it_says_what_it_is():
    assert str(PROMISE) == (
        "distributional epsilon = 0.63, delta = 0.000683 (record, 50 records known, proved)"
    )
    node = dataclasses.replace(
        PROMISE, epsilon=1 / 3, delta=0.0, level="node", definition="noiseless", known_records=1
    )
    assert str(node) == (
        "distributional epsilon = 0.333334 (node, noiseless, 1 record known, proved)"
    )
    assert node.level is D.Level.NODE
    assert node.definition is D.Definition.NOISELESS
    rounded = dataclasses.replace(PROMISE, delta=1.00001e-5)
    assert "1.01e-05" in str(rounded)


def test_its_class_is_data():
    assert LAW["high"] == 1.5
    assert LAW["columns"] == ("a", "b")
    plain = json.loads(json.dumps(dataclasses.asdict(PROMISE)))
    assert D.DistributionalGuarantee(**plain) == PROMISE
    assert hash(PROMISE) == hash(D.DistributionalGuarantee(**plain))
    assert D.LawClass.of("a", x=np.float64(2), y=np.array([1, 2])).parameters == (
        ("x", 2.0),
        ("y", (1, 2)),
    )
    assert LAW.knowing("a sum") != LAW
    assert LAW.knowing("a sum") == LAW.knowing("a sum")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"epsilon": -0.1}, "epsilon is"),
        ({"epsilon": math.nan}, "epsilon is"),
        ({"epsilon": "1"}, "epsilon is"),
        ({"delta": 1.5}, "delta is"),
        ({"known_records": -1}, "known_records"),
        ({"known_records": 1.5}, "known_records"),
        ({"known_records": True}, "known_records"),
        ({"definition": "other"}, "definition is 'other'.*coupled_worlds"),
        ({"level": "edge"}, "level is 'edge'"),
        ({"strength": "sure"}, "strength is 'sure'"),
        ({"class_as_data": "uniform"}, "class_as_data is"),
    ],
)
def test_bad_fields(changes, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        dataclasses.replace(PROMISE, **changes)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: D.LawClass(""), "name is ''"),
        (lambda: D.LawClass("a", (("x", math.inf),)), "finite"),
        (lambda: D.LawClass("a", (("x", object()),)), "parameters is"),
        (lambda: D.LawClass("a", ("x",)), "pairs"),
        (lambda: D.LawClass("a", (("x", 1), ("x", 2))), "appear only once"),
    ],
)
def test_bad_classes(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call()


@pytest.fixture
def ledger(tmp_path):
    opened = bdp.Ledger.open(f"sqlite:///{tmp_path}/budget.db")
    return opened.create("survey", epsilon=10.0, delta=0.5, neighbours="replace_one")


@pytest.mark.parametrize(
    "call",
    [
        lambda: bdp.compose([PROMISE]),
        lambda: bdp.compose([PLAIN, PROMISE], delta=1e-3),
        lambda: bdp.compose([(PROMISE, 3)]),
        lambda: bdp.compose([MECHANISM]),
        lambda: bdp.compose([PLAIN, (MECHANISM, 2)], delta=1e-3),
        lambda: convert(PROMISE, bdp.Neighbours.REPLACE_ONE),
        lambda: bdp.privacy.subsampled(PROMISE, rate=0.1),
        lambda: bdp.audit(MECHANISM, trials=100, pairs=[(0.0, 1.0)]),
        lambda: joint_guarantee([MECHANISM], 1),
        lambda: joint_guarantee([MECHANISM, MECHANISM], 1),
        lambda: bdp.Release.of_groups({"a": (MECHANISM, [1.0]), "b": (MECHANISM, [2.0])}).guarantee,
    ],
)
def test_no_accountant_takes_it(call):
    with pytest.raises(
        bdp.errors.InvalidInput, match=r"the promise is distributional.*another release"
    ):
        call()


def test_no_ledger_takes_it(ledger):
    before = ledger.remaining()
    for call in (
        lambda: ledger.spend(PROMISE),
        lambda: ledger.spend(PROMISE, accept_unproved=True),
        lambda: bdp.publish(MECHANISM, 51.0, ledger=ledger),
    ):
        with pytest.raises(bdp.errors.InvalidInput, match=r"the promise is distributional.*ledger"):
            call()
    assert ledger.remaining() == before
    assert ledger.history() == []


def test_a_release_holds_the_exact_value_and_the_promise(tmp_path):
    release = bdp.publish(MECHANISM, 51.25, variable="income")
    assert release.outputs == (51.25,)
    assert release.guarantee == PROMISE
    assert bdp.publish(MECHANISM, 51.25, copies=3).guarantee == PROMISE
    release.save(tmp_path / "release")
    loaded = bdp.Release.load(tmp_path / "release")
    assert loaded == release
    assert loaded.guarantee == PROMISE
    with bdp.reproducible(1):
        seeded = bdp.publish(MECHANISM, 51.25)
    assert math.isinf(seeded.guarantee.epsilon)
    elsewhere = bdp.Release.of(MECHANISM, [51.25])
    assert elsewhere.guarantee.strength is bdp.Strength.CONDITIONAL


@pytest.mark.parametrize(
    ("key", "value"),
    [("epsilon", 0.5), ("delta", 1e-9), ("known_records", 99), ("class_as_data", None)],
)
def test_a_promise_that_was_changed_on_disk_is_refused(tmp_path, key, value):
    folder = bdp.publish(MECHANISM, 51.25).save(tmp_path / "release")
    manifest = json.loads((folder / "manifest.json").read_text())
    other = {"name": "any", "parameters": []}
    manifest["guarantee"][key] = other if value is None else value
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(bdp.errors.InvalidRelease, match="doesn't match its own hash"):
        bdp.Release.load(folder)
    (folder / "manifest.json").write_text(json.dumps(sealed(manifest)))
    with pytest.raises(bdp.errors.InvalidRelease, match="the manifest promises"):
        bdp.Release.load(folder)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: D.ExactStatisticMechanism(PLAIN), "no differential privacy"),
        (lambda: D.ExactStatisticMechanism({"epsilon": 1.0}), "promise has the fields"),
        (lambda: D.ExactStatisticMechanism(PROMISE, n=0), "n is 0"),
        (lambda: D.ExactStatisticMechanism(PROMISE, dimension=0), "dimension is 0"),
        (lambda: D.ExactStatisticMechanism(PROMISE, whole=1), "whole is 1"),
        (lambda: D.ExactStatisticMechanism(PROMISE, threshold=3), "whole=True"),
        (lambda: bdp.publish(MECHANISM, math.nan), "finite"),
        (lambda: bdp.publish(MECHANISM, "much"), "finite numbers"),
        (lambda: bdp.publish(MECHANISM, np.ma.array(3.0, mask=True)), "none of them masked"),
        (lambda: bdp.publish(MECHANISM, [1.0, 2.0]), "shape"),
        (lambda: bdp.publish(D.ExactStatisticMechanism(PROMISE, whole=True), 0.5), "whole"),
        (
            lambda: bdp.publish(D.ExactStatisticMechanism(PROMISE, 9, whole=True), bdp.Count(1, 8)),
            "other",
        ),
        (lambda: bdp.publish(D.ExactStatisticMechanism(PROMISE, None, 3), [1.0, 2.0]), "dimension"),
        (
            lambda: bdp.publish(D.ExactStatisticMechanism(PROMISE, None, 2, True, 3), (-1, 5)),
            "below 0",
        ),
        (
            lambda: bdp.Release.of(D.ExactStatisticMechanism(PROMISE, None, 2, True, 3), [(1, 5)]),
            "threshold",
        ),
        (lambda: bdp.Release.of(MECHANISM, ["x"]), "finite numbers"),
        (lambda: bdp.Release.of(D.ExactStatisticMechanism(PROMISE, None, 2), [1.0]), "2 numbers"),
    ],
)
def test_bad_statistics(call, match):
    with pytest.raises(bdp.errors.InvalidInput, match=match):
        call()


@pytest.mark.parametrize("secret", [51.7731, [51.7731], (51.7731, math.nan)])
def test_errors_dont_show_the_statistic(secret):
    with pytest.raises(bdp.errors.InvalidInput) as caught:
        bdp.publish(D.ExactStatisticMechanism(PROMISE, whole=True), secret)
    assert "7731" not in str(caught.value)


def test_the_namespace_is_lazy_and_complete():
    assert "DistributionalGuarantee" in D.__all__
    for name in D.__all__:
        thing = getattr(D, name)
        assert isinstance(thing, str) or (thing.__doc__ or "").strip(), name
    assert dir(D) == D.__all__
    assert bdp.compose([PLAIN, PLAIN]).epsilon == 2
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = D.nothing
