"""What programs import from `mxnet.module.executor_group`."""

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.module import executor_group


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("DataParallelExecutorGroup", mx.executor.DataParallelExecutorGroup),
        ("_split_input_slice", mx.executor_manager._split_input_slice),
    ],
)
def test_names(name, original):
    assert getattr(executor_group, name) is original


@pytest.mark.parametrize(("axis", "shape"), [(0, (2, 1)), (1, (1, 2)), (-1, (1, 1))])
def test_slices_are_joined_along_each_outputs_own_axis(axis, shape):
    slices = [nd.array([[1]]), nd.array([[2]])]
    assert executor_group._merge_multi_context([slices], [axis])[0].shape == shape


@pytest.mark.parametrize(
    ("axis", "first"), [(0, [[1, 2], [3, 4]]), (1, [[1], [3], [5]]), (-1, [[1, 2], [3, 4], [5, 6]])]
)
def test_arrays_are_cut_along_an_axis(axis, first):
    value = nd.array([[1, 2], [3, 4], [5, 6]])
    stop = value.shape[max(axis, 0)]
    cut = len(first) if axis == 0 else 1
    shapes = [np.array(first).shape, value.shape]
    if axis >= 0:
        rest = list(value.shape)
        rest[axis] = stop - cut
        shapes[1] = tuple(rest)
    targets = [(slice(0, cut), nd.zeros(shapes[0])), (slice(cut, stop), nd.zeros(shapes[1]))]
    executor_group._load_general([value], [targets], [axis])
    assert targets[0][1].asnumpy().tolist() == first


def test_devices_of_groups():
    devices = executor_group._prepare_group2ctxs({"a": mx.cpu(1), "b": [mx.cpu(2), mx.cpu(3)]}, 2)
    assert devices == [{"a": mx.cpu(1), "b": mx.cpu(2)}, {"a": mx.cpu(1), "b": mx.cpu(3)}]


@pytest.mark.parametrize("bad", [3, {"a": 3}, [{"a": 3.5}, None]])
def test_devices_of_groups_that_are_none(bad):
    with pytest.raises(TypeError, match="group2ctxs"):
        executor_group._prepare_group2ctxs(bad, 2)
