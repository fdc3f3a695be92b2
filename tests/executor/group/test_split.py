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


@pytest.mark.parametrize(("size", "loads"), [(2, [1, 1, 1]), (1, [1, 1]), (4, [1, 0, 1])])
def test_every_device_must_get_something(size, loads):
    says = rf"Too many slices: {len(loads)} devices with work loads .* got batch size {size}"
    with pytest.raises(ValueError, match=says):
        split_batch(size, loads)


@pytest.mark.parametrize(("layout", "axis"), [("NCHW", 0), ("TNC", 1), ("C", -1), (None, 0), ("", 0)])
def test_batch_axis(layout, axis):
    assert batch_axis(layout) == axis


DATA, STEPS, TABLE = (
    DataDesc("a", (6, 2)),
    DataDesc("b", (3, 6), layout="TN"),
    DataDesc("c", (9,), layout="C"),
)


@pytest.mark.parametrize(("desc", "shape"), [(DATA, (4, 2)), (STEPS, (3, 4)), (TABLE, (9,))])
def test_sizes_and_shapes_from_descriptions(desc, shape):
    assert batch_size_of([desc, DATA]) == 6
    assert Split((slice(0, 2), slice(2, 6))).shape_of(desc, 1) == shape
    assert Split((slice(0, 6),)).shape_of(desc, 0) == desc.shape


@pytest.mark.parametrize(
    ("descs", "says"),
    [
        ([DATA, DataDesc("d", (5,))], "the same batch size; got {'a': 6, 'd': 5}"),
        ([TABLE], "one of the inputs must have a batch axis"),
    ],
)
def test_descriptions_without_one_batch_size(descs, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        batch_size_of(descs)


@pytest.mark.parametrize(("axis", "shape"), [(0, (6, 2, 2)), (1, (2, 6, 2)), (2, (2, 2, 6))])
def test_splitting_and_joining_are_inverse(axis, shape):
    whole = nd.array(np.arange(24).reshape(shape))
    split = Split(tuple(split_batch(6, [1, 2])))
    slices = [split.take_array(whole, k, axis, "it") for k in range(2)]
    assert [each.shape for each in slices] == [(*shape[:axis], n, *shape[axis + 1 :]) for n in (2, 4)]
    assert np.array_equal(join(slices, axis).asnumpy(), whole.asnumpy())
    assert split.take_array(whole, 1, -1, "it") is whole and join([whole, whole], -1) is whole
    assert np.array_equal(split.take_array(whole.asnumpy(), 0, axis, "it").asnumpy(), slices[0].asnumpy())
    other = (axis + 1) % 3
    with pytest.raises(
        ValueError, match=re.escape(f"it must have 6 samples, on axis {other}; got shape {shape}")
    ):
        split.take_array(whole, 0, other, "it")


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
def test_a_mean_has_the_type_of_the_arrays_and_is_a_copy(dtype):
    arrays = [nd.array([1, 2], dtype=dtype), nd.array([3, 4], ctx=mx.cpu(1), dtype=dtype)]
    found = mean(arrays)
    assert found.asnumpy().tolist() == [2, 3] and found.dtype == np.dtype(dtype) and found.device == mx.cpu()
    one = mean(arrays[:1])
    arrays[0][:] = 9
    assert one.asnumpy().tolist() == [1, 2]
