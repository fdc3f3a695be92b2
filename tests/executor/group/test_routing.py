"""Where the arrays of a batch go, without executors."""

import re

import numpy as np
import pytest

from rebind import nd
from rebind.executor.group.routing import Inputs, Target, copy_all
from rebind.executor.group.split import Split
from rebind.io import DataDesc

SPLIT = Split((slice(0, 2), slice(2, 6)))


def target():
    return Target("forward: data 'x'", 0, SPLIT, [nd.zeros((2,)), nd.zeros((4,))])


@pytest.mark.parametrize("make", [np.arange, range, nd.arange, lambda n: np.broadcast_to(np.arange(n), (n,))])
def test_a_target_takes_arrays_of_any_kind(make):
    goal, source = target(), make(6)
    copy_all(goal.copies(list(source) if isinstance(source, range) else source))
    assert [array.asnumpy().tolist() for array in goal.arrays] == [[0, 1], [2, 3, 4, 5]]
    copy_all(goal.copies_for_each([[7, 8], nd.ones((4,))]))
    assert [array.asnumpy().tolist() for array in goal.arrays] == [[7, 8], [1, 1, 1, 1]]


@pytest.mark.parametrize(
    ("collect", "says"),
    [
        (lambda goal: goal.copies(np.zeros(5)), "data 'x' must have 6 samples, on axis 0; got shape (5,)"),
        (lambda goal: goal.copies(np.zeros((6, 1))), "data 'x' must have shape (2,) on cpu(0); got (2, 1)"),
        (lambda goal: goal.copy_for(1, np.zeros(2)), "data 'x' must have shape (4,) on cpu(0); got (2,)"),
        (
            lambda goal: goal.copies_for_each([[0, 0]]),
            "data 'x' must have an array for each of 2 devices; got 1",
        ),
    ],
)
def test_what_does_not_fit(collect, says):
    with pytest.raises(ValueError, match=re.escape(f"forward: {says}")):
        collect(target())


def inputs(split=SPLIT):
    """A network that has `x` and `steps`, on two devices, and an iterator that provides `unknown` too."""
    descs = [DataDesc("unknown", (6,)), DataDesc("x", (6, 1)), DataDesc("steps", (3, 6), layout="TN")]
    arrays = [
        {"x": nd.zeros((n, 1)), "steps": nd.zeros((3, n)), "weight": nd.zeros((1,))} for n in split.sizes
    ]
    return Inputs.of("data", descs, split, arrays)


def test_inputs_are_found_by_their_position_in_the_batch():
    found = inputs()
    assert (found.names, found.axes) == (["unknown", "x", "steps"], [0, 0, 1])
    steps = np.arange(18).reshape(3, 6)
    copy_all(found.copies([np.zeros(1), np.arange(6)[:, None], steps]))
    (x, steps_on), slices = found.pairs, list(SPLIT.slices)
    assert [each for each, _ in x] == slices
    assert [array.asnumpy().ravel().tolist() for _, array in x] == [[0, 1], [2, 3, 4, 5]]
    assert [array.asnumpy().tolist() for _, array in steps_on] == [steps[:, each].tolist() for each in slices]


@pytest.mark.parametrize(("device", "size"), list(enumerate(SPLIT.sizes)))
def test_a_batch_for_one_device(device, size):
    found = inputs()
    copy_all(found.copies([None, np.ones((size, 1)), np.ones((3, size))], device))
    filled = [array.asnumpy().any() for pairs in found.pairs for _, array in pairs]
    assert filled == [device == 0, device == 1] * 2


@pytest.mark.parametrize(("count", "missing"), [(0, "x"), (1, "x"), (2, "steps")])
def test_too_few_arrays(count, missing):
    says = f"the batch must hold data {missing!r}; got {count} arrays of data"
    with pytest.raises(ValueError, match=says):
        inputs().copies([np.zeros(6), np.zeros((6, 1))][:count])


@pytest.mark.parametrize(("device", "samples"), [(0, [0, 1]), (1, [2, 3, 4, 5])])
def test_slices_and_names_for_a_metric(device, samples):
    found = inputs()
    own = found.slices_for(device, [np.arange(6), np.arange(6)[:, None]], "update_metric")
    assert [each.asnumpy().ravel().tolist() for each in own] == [samples] * 2
    assert list(found.by_name(own)) == ["unknown", "x"]
    nothing = Inputs.of("label", (), SPLIT, [{}, {}])
    assert list(nothing.by_name([1, 2])) == ["label0", "label1"]
    with pytest.raises(ValueError, match="update_metric: data 0 must have 6 samples"):
        found.slices_for(0, [np.zeros(5)], "update_metric")
