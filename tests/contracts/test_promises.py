"""What every mechanism refuses to promise and to draw."""

import inspect
import math

import numpy as np
import pytest

import bayesdp as bdp
from bayesdp.errors import InvalidInput
from tests.contracts.examples import EXAMPLES

KINDS = {type(example.mechanism): example for example in EXAMPLES}
WRONG = {
    "copies": (0, -1, 1.5, True, "2"),
    "delta": (-0.1, 1.0, math.nan, "x"),
    "neighbours": ("nodes", 3),
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(
    "method", ["guarantee", "removal_guarantee", "epsilon", "delta", "profile"]
)
def test_a_wrong_argument_gets_no_promise(kind, method):
    promised = getattr(KINDS[kind].mechanism, method, None)
    taken = inspect.signature(promised).parameters if callable(promised) else {}
    for argument in WRONG.keys() & taken:
        given = {"epsilon": 1.0} if method == "delta" else {}
        for value in WRONG[argument]:
            with pytest.raises(InvalidInput):
                promised(**given, **{argument: value})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("copies", WRONG["copies"])
def test_a_wrong_number_of_copies_is_not_drawn(kind, copies):
    example = KINDS[kind]
    with bdp.reproducible(1), pytest.raises(InvalidInput):
        example.mechanism.release(example.pairs[0][0], copies)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("relation", list(bdp.Neighbours))
def test_a_promise_is_of_the_relation_asked_for(kind, relation):
    """By the relation or its name, or there is none."""
    mechanism, found = KINDS[kind].mechanism, []
    for asked in (relation, relation.value):
        try:
            found.append(mechanism.guarantee(neighbours=asked))
        except InvalidInput:
            found.append(None)
    assert found[0] == found[1]
    assert found[0] is None or found[0].neighbours is relation


@pytest.mark.parametrize(
    "kind",
    KINDS,
    ids=lambda kind: kind.__name__,
)
def test_what_is_no_output_is_refused(kind):
    example = KINDS[kind]
    length = max(np.size(example.outputs[0]), 1) if np.size(example.outputs) else 1
    huge = 10**400  # beyond all floats
    for wrong in (huge, (huge,) * length, None, "x", (), {}, math.nan, object()):
        with pytest.raises(InvalidInput):
            example.mechanism.check_output(wrong)
