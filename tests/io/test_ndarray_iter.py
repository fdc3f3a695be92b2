"""The order of samples is compared with MXNet's in ``parity/test_training.py``."""

import pickle

import numpy as np
import pytest

from rebind.errors import ArgumentError, ParameterError, ShapeError
from rebind.io import DataBatch, DataDesc, NDArrayIter
from rebind.ndarray import NDArray, array

MODES = ("pad", "discard", "roll_over")


def rows_of(batch):
    return batch.data[0].asnumpy().astype(int).tolist()


@pytest.mark.parametrize(
    ("data", "label", "names", "label_names"),
    [
        (np.zeros((6, 2)), np.zeros(6), ["data"], ["softmax_label"]),
        ([np.zeros((6, 2)), np.zeros(6)], None, ["_0_data", "_1_data"], []),
        ({"b": np.zeros(6), "a": np.zeros((6, 3))}, {"y": np.zeros(6)}, ["a", "b"], ["y"]),
        ([np.zeros(6)], [np.zeros(6)], ["data"], ["softmax_label"]),
    ],
)
def test_shapes_promised_are_given(data, label, names, label_names):
    batches = NDArrayIter(data, label, batch_size=4, layout="NT")
    assert [desc.name for desc in batches.provide_data] == names
    assert [desc.name for desc in batches.provide_label] == label_names
    for batch in batches:
        for arrays, promised in ((batch.data, batches.provide_data), (batch.label, batches.provide_label)):
            assert [each.shape for each in arrays] == [desc.shape for desc in promised]
            assert [each.dtype for each in arrays] == [desc.dtype for desc in promised]
            assert all(desc.layout == "NT" for desc in promised)


@pytest.mark.parametrize("dtype", ["float64", "int32", "uint8", "bool", "float16"])
def test_numpy_becomes_float32_and_ndarray_keeps_its_type(dtype):
    values = np.ones((4, 2), dtype)
    assert next(NDArrayIter(values)).data[0].dtype is np.float32
    assert next(NDArrayIter(array(values, dtype=dtype))).data[0].dtype is np.dtype(dtype).type


def test_batches_in_order_are_views():
    source = array(np.arange(8).reshape(4, 2))
    batch = next(NDArrayIter(source, batch_size=2))
    assert batch.data[0].tensor.data_ptr() == source.tensor.data_ptr()


def test_later_changes_of_a_numpy_array_do_not_reach_the_batches():
    source = np.zeros(4, "float32")
    batches = NDArrayIter(source, batch_size=4)
    source[:] = 1
    assert rows_of(next(batches)) == [0, 0, 0, 0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("rows", [1, 3, 4, 10, 12])
def test_every_row_comes_as_often_as_it_should(mode, shuffle, rows):
    np.random.seed(0)
    batches = NDArrayIter(np.arange(rows), batch_size=4, shuffle=shuffle, last_batch_handle=mode)
    seen = []
    for _ in range(12):
        for batch in batches:
            found = rows_of(batch)
            assert len(found) == 4
            if mode == "pad":
                found = found[: 4 - batch.pad]
            seen.append(found)
        assert not batches.iter_next()  # and it stays at the end
        assert not batches.iter_next()
        batches.reset()
    counts = np.bincount([each for part in seen for each in part], minlength=rows)
    if mode == "pad":
        assert set(counts) == {12}
    elif mode == "roll_over":
        assert abs(counts - 12).max() <= 3
        assert counts.sum() == 12 * rows // 4 * 4
    elif not shuffle:
        assert set(counts[: rows // 4 * 4]) <= {12}
        assert counts.sum() == 12 * (rows // 4) * 4


def test_hard_reset_drops_what_was_left():
    batches = NDArrayIter(np.arange(10), batch_size=4, last_batch_handle="roll_over")
    list(batches)
    batches.hard_reset()
    assert rows_of(next(batches)) == [0, 1, 2, 3]


def test_getters():
    batches = NDArrayIter(np.arange(10), np.arange(10), batch_size=4)
    assert batches.iter_next()
    assert batches.getdata()[0].asnumpy().tolist() == batches.getlabel()[0].asnumpy().tolist() == [0, 1, 2, 3]
    assert (batches.getpad(), batches.getindex(), batches.cursor) == (0, None, 0)
    assert (batches.num_data, batches.num_source, len(batches.data_list)) == (10, 2, 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("consumed", [0, 1, 2, 4, 7])
def test_position_is_saved(mode, shuffle, consumed):
    def run(batches, count):
        found = []
        while len(found) < count:
            try:
                batch = next(batches)
            except StopIteration:
                batches.reset()
            else:
                found.append((rows_of(batch), batch.pad))
        return found

    def make():
        return NDArrayIter(np.arange(10), batch_size=4, shuffle=shuffle, last_batch_handle=mode)

    np.random.seed(4)
    first = make()
    run(first, consumed)
    position, numpy_state = first.state_dict(), np.random.get_state()
    expected = run(first, 9)
    second = make()
    second.load_state_dict(position)
    np.random.set_state(numpy_state)
    assert run(second, 9) == expected


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: NDArrayIter("x"), ArgumentError, "data 'data' must be a NumPy array or an NDArray; got str"),
        (
            lambda: NDArrayIter(None),
            ArgumentError,
            "data must be an array, a list or a dict of arrays; got none",
        ),
        (
            lambda: NDArrayIter(np.zeros(4), np.zeros(3)),
            ShapeError,
            "same number of samples; got {'data': 4, 'softm",
        ),
        (lambda: NDArrayIter(np.zeros((0, 2))), ShapeError, "at least one sample"),
        (lambda: NDArrayIter({"x": np.float64(1)}), ShapeError, "'x' must have samples"),
        (
            lambda: NDArrayIter(np.zeros(4), batch_size=0),
            ParameterError,
            "batch_size must be an int >= 1; got 0",
        ),
        (
            lambda: NDArrayIter(np.zeros(4)).load_state_dict(NDArrayIter(np.zeros(5)).state_dict()),
            ParameterError,
            "num_data must be that of the saved position, 5; got 4",
        ),
        (lambda: DataBatch(array(np.zeros(4))), ArgumentError, "data must be a list of arrays; got NDArray"),
        (lambda: DataDesc("x", (2, -1)), ShapeError, "DataDesc 'x': shape"),
        (lambda: DataDesc.get_list([("a", (1,))], [("b", "int32")]), ArgumentError, r"missing \['a'\]"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_desc_is_a_pair_with_attributes():
    desc = DataDesc("x", (2, np.int64(3)), "int32", "TN")
    assert desc == ("x", (2, 3))
    name, shape = desc
    assert (name, shape, desc.dtype, desc.layout) == ("x", (2, 3), "int32", "TN")
    again = pickle.loads(pickle.dumps(desc))
    assert (again, again.dtype, again.layout) == (desc, "int32", "TN")
    assert repr(desc) == "DataDesc[x,(2, 3),int32,TN]"


@pytest.mark.parametrize(("layout", "axis"), [(None, 0), ("NCHW", 0), ("TNC", 1), ("TC", -1)])
def test_batch_axis_of_a_layout(layout, axis):
    assert DataDesc.get_batch_axis(layout) == axis


@pytest.mark.parametrize(("types", "dtype"), [([("a", "int32")], "int32"), (None, np.float32)])
def test_descs_from_shapes_and_types(types, dtype):
    assert DataDesc.get_list([("a", (1,))], types)[0].dtype == dtype


@pytest.mark.parametrize("shuffle", (False, True))
def test_ndarray_is_what_batches_hold(shuffle):
    assert isinstance(next(NDArrayIter(np.zeros(4), shuffle=shuffle)).data[0], NDArray)


@pytest.fixture
def datasets(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "data.h5", "w") as file:
        file["x"] = np.arange(33.0).reshape(11, 3)
        file["y"] = np.arange(11, dtype=np.int32)
        yield file["x"], file["y"]


def test_rows_of_a_dataset_are_read_for_each_batch(datasets):
    x, y = datasets
    batches = NDArrayIter(x, y, batch_size=4)
    assert batches.data_list == [x, y]
    assert [desc.dtype for desc in batches.provide_data + batches.provide_label] == [np.float32] * 2
    x[4:8] = 7  # after the iterator was made
    first, second, third = batches
    assert second.data[0].asnumpy().tolist() == [[7, 7, 7]] * 4
    assert [batch.label[0].asnumpy().tolist() for batch in (first, third)] == [[0, 1, 2, 3], [8, 9, 10, 0]]
    assert third.data[0].dtype is np.float32


@pytest.mark.parametrize("mode", MODES)
def test_a_dataset_is_shuffled_as_an_array(mode, datasets):
    def run(x, y):
        np.random.seed(3)
        batches = NDArrayIter(x, y, batch_size=4, shuffle=True, last_batch_handle=mode)
        found = []
        for _ in range(3):
            found += [(rows_of(batch), batch.label[0].asnumpy().tolist(), batch.pad) for batch in batches]
            batches.reset()
        return found

    x, y = datasets
    assert run(x, y) == run(x[:], y) == run(x[:], y[:])
