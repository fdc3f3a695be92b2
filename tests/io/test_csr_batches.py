"""Batches of csr arrays in memory: those of the dense array, in csr."""

import numpy as np
import pytest

import rebind as mx
from rebind.errors import ParameterError
from rebind.io import NDArrayIter, PrefetchingIter, ResizeIter

MODES = ("pad", "discard", "roll_over")

DENSE = np.arange(33.0, dtype=np.float32).reshape(11, 3) * (np.arange(33).reshape(11, 3) % 2)


def csr(values=DENSE):
    return mx.nd.array(values).tostype("csr")


def epochs(data, **given):
    """Return the values, labels and padding of all batches of three epochs, and the storage types of the data."""
    np.random.seed(3)
    batches = NDArrayIter(data, np.arange(11), batch_size=4, **given)
    found, stypes = [], set()
    for _ in range(3):
        for batch in batches:
            stypes |= {array.stype for array in batch.data}
            found.append(([array.asnumpy().tolist() for array in (*batch.data, *batch.label)], batch.pad))
        batches.reset()
    return found, stypes


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_those_of_the_dense_array(mode, shuffle):
    given = {"last_batch_handle": mode, "shuffle": shuffle}
    assert epochs(csr(), **given) == (epochs(DENSE, **given)[0], {"csr"})


@pytest.mark.parametrize(
    "names",
    [["csr_matrix"], ["csc_matrix"], ["coo_matrix"], ["lil_matrix"], ["csr_array"], ["coo_array"]],
    ids="".join,
)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_matrices_of_scipy(names, index):
    sparse = pytest.importorskip("scipy.sparse")
    [name] = names
    matrix = getattr(sparse, name)(DENSE.astype(np.float64))
    for part in ("indices", "indptr"):
        if hasattr(matrix, part):
            setattr(matrix, part, getattr(matrix, part).astype(index))
    assert epochs(matrix, shuffle=True) == epochs(csr(), shuffle=True)
    [described] = NDArrayIter(matrix, batch_size=4).provide_data
    assert (described.shape, described.dtype) == ((4, 3), np.float32)


def test_a_matrix_of_scipy_is_copied():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(DENSE)
    batches = NDArrayIter(matrix, batch_size=11)
    matrix.data[:] = 0
    assert batches.next().data[0].asnumpy().tolist() == DENSE.tolist()


def test_a_malformed_matrix_of_scipy_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(DENSE)
    matrix.indices[2] = 9
    with pytest.raises(ParameterError, match="indices must be from 0 to 2; got 9 at position 2"):
        NDArrayIter(matrix)


def test_columns_stay_as_they_are():
    x = csr()
    parts = x.storage
    x.storage = type(parts)(parts.data.flip(0), parts.indptr, parts.indices.flip(0), parts.shape)
    for shuffle in (False, True):
        batches = NDArrayIter(x, batch_size=11, shuffle=shuffle)
        [array] = batches.next().data
        for row, source in enumerate(batches.idx):
            here, there = (
                part.storage.indices[part.storage.indptr[at] : part.storage.indptr[at + 1]].tolist()
                for part, at in ((array, row), (x, int(source)))
            )
            assert here == there


def test_several_arrays_and_csr_labels():
    batches = NDArrayIter(
        {"sparse": csr(), "dense": DENSE}, {"y": csr(DENSE[:, :2])}, batch_size=4, last_batch_handle="discard"
    )
    assert [(desc.name, desc.shape) for desc in batches.provide_data + batches.provide_label] == [
        ("dense", (4, 3)),
        ("sparse", (4, 3)),
        ("y", (4, 2)),
    ]
    second = list(batches)[1]
    assert [array.stype for array in (*second.data, *second.label)] == ["default", "csr", "csr"]
    assert second.data[1].asnumpy().tolist() == DENSE[4:8].tolist()
    assert second.label[0].asnumpy().tolist() == DENSE[4:8, :2].tolist()
    assert [array.stype for array in NDArrayIter([csr(), DENSE], batch_size=4).next().data] == [
        "csr",
        "default",
    ]


def test_types_stay():
    assert NDArrayIter(csr().astype("float64"), batch_size=4).provide_data[0].dtype == np.float64
    assert NDArrayIter(csr().astype("float64"), batch_size=4).next().data[0].dtype == np.float64


def test_batches_of_a_row_sparse_array_are_dense():
    assert epochs(mx.nd.array(DENSE).tostype("row_sparse")) == epochs(DENSE)


@pytest.mark.parametrize(
    "around",
    [
        PrefetchingIter,
        lambda batches: ResizeIter(batches, 3),
        lambda batches: mx.test_utils.DummyIter(batches),
    ],
)
def test_iterators_around_it_pass_csr_on(around):
    batch = around(NDArrayIter(csr(), batch_size=4)).next()
    assert batch.data[0].stype == "csr"
    assert batch.data[0].asnumpy().tolist() == DENSE[:4].tolist()


def test_a_position_is_saved():
    first, second = (NDArrayIter(csr(), batch_size=4, shuffle=True) for _ in range(2))
    next(first)
    second.load_state_dict(first.state_dict())
    assert next(first).data[0].asnumpy().tolist() == next(second).data[0].asnumpy().tolist()


def test_a_matrix_that_would_not_fit_dense():
    width = 10**9
    x = csr().storage
    wide = mx.nd.sparse.CSRNDArray(type(x)(x.data, x.indptr, x.indices, (11, width)))
    for shuffle in (False, True):
        batches = NDArrayIter(wide, batch_size=4, shuffle=shuffle)
        for batch in batches:
            assert batch.data[0].shape == (4, width)
            assert batch.data[0].storage.nbytes < 500
        assert batches.fingerprint() != NDArrayIter(csr(), batch_size=4).fingerprint()


def test_fingerprints_differ_by_values_and_columns():
    one, same, other, moved = (
        NDArrayIter(csr(values), batch_size=4).fingerprint()
        for values in (DENSE, DENSE, DENSE + 1, DENSE[:, ::-1].copy())
    )
    assert one == same
    assert len({one, other, moved}) == 3
