import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.executor.group.split import Split, batch_axis, batch_size_of, join, mean, split_batch
from rebind.io import DataDesc


@pytest.mark.parametrize(
    ("size", "loads", "expected"),
    [
        (8, [1], [8]),
        (8, [1, 1], [4, 4]),
        (10, [1, 1, 1], [3, 3, 4]),  # as MXNet: the last takes the rest
        (12, [1, 3], [3, 9]),
        (7, [2, 1], [5, 2]),
    ],
)
def test_split_batch(size, loads, expected):
    slices = split_batch(size, loads)
    assert list(Split(tuple(slices)).sizes) == expected
    assert slices[0].start == 0 and slices[-1].stop == size


def test_every_device_must_get_something():
    with pytest.raises(ValueError, match=r"Too many slices: 3 devices with work loads .* got batch size 2"):
        split_batch(2, [1, 1, 1])


@pytest.mark.parametrize(("layout", "axis"), [("NCHW", 0), ("TNC", 1), ("C", -1), (None, 0), ("", 0)])
def test_batch_axis(layout, axis):
    assert batch_axis(layout) == axis


def test_sizes_and_shapes_from_descriptions():
    data, steps, table = (
        DataDesc("a", (6, 2)),
        DataDesc("b", (3, 6), layout="TN"),
        DataDesc("c", (9,), layout="C"),
    )
    assert batch_size_of([data, steps, table]) == 6
    split = Split((slice(0, 2), slice(2, 6)))
    assert [split.shape_of(desc, 1) for desc in (data, steps, table)] == [(4, 2), (3, 4), (9,)]
    assert Split((slice(0, 6),)).shape_of(data, 0) == (6, 2)
    with pytest.raises(ValueError, match=r"one batch size; got \{'a': 6, 'd': 5\}"):
        batch_size_of([data, DataDesc("d", (5,))])
    with pytest.raises(ValueError, match="one of the inputs must have a batch axis"):
        batch_size_of([table])


def test_splitting_and_joining_are_inverse():
    whole = nd.array(np.arange(24).reshape(2, 6, 2))
    split = Split(tuple(split_batch(6, [1, 2])))
    slices = [split.take_array(whole, k, 1, "it") for k in range(2)]
    assert [each.shape for each in slices] == [(2, 2, 2), (2, 4, 2)]
    assert np.array_equal(join(slices, 1).asnumpy(), whole.asnumpy())
    assert split.take_array(whole, 1, -1, "it") is whole and join([whole, whole], -1) is whole
    assert np.array_equal(split.take_array(whole.asnumpy(), 0, 1, "it").asnumpy(), slices[0].asnumpy())
    with pytest.raises(ValueError, match=re.escape("it must have 6 samples, on axis 0; got shape (2, 6, 2)")):
        split.take_array(whole, 0, 0, "it")


def test_mean_keeps_the_type_and_is_a_copy():
    arrays = [nd.array([1, 2], dtype="float16"), nd.array([3, 4], ctx=mx.cpu(1), dtype="float16")]
    found = mean(arrays)
    assert found.asnumpy().tolist() == [2, 3] and found.dtype == np.float16 and found.device == mx.cpu()
    one = mean(arrays[:1])
    arrays[0][:] = 9
    assert one.asnumpy().tolist() == [1, 2]
