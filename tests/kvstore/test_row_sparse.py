"""Stores of one process hold row_sparse values: rows are pushed, summed, updated and pulled."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd

CPUS = [mx.cpu(0), mx.cpu(1)]


def rows(ids: list[int], values: np.ndarray | None = None, ctx: mx.Context | None = None) -> nd.NDArray:
    """Return an array of 6 rows, some of which are stored."""
    data = np.arange(2 * len(ids)).reshape(-1, 2) + 1.0 if values is None else values
    dense = np.zeros((6, 2), dtype="float32")
    dense[ids] = data
    return nd.array(dense, ctx=ctx).tostype("row_sparse")


def parts(array: nd.NDArray) -> tuple[list[int], list[list[float]]]:
    return array.indices.asnumpy().tolist(), array.data.asnumpy().tolist()


@pytest.fixture(params=["local", "device"])
def kv(request: pytest.FixtureRequest) -> mx.kv.KVStore:
    made = mx.kv.create(request.param)
    made.init("r", rows([1, 3]))
    made.init("d", nd.ones((6, 2)))
    return made


def pulled(kv: mx.kv.KVStore, key: str, stype: str = "row_sparse") -> nd.NDArray:
    out = nd.zeros((6, 2), stype=stype)
    kv.pull(key, out=out, ignore_sparse=False)
    return out


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        (nd.array([3, 1, 3]), ([1, 3], [[1, 2], [3, 4]])),
        (nd.array([5, 3, 0], dtype="int64"), ([0, 3, 5], [[0, 0], [3, 4], [0, 0]])),
        (nd.array([[3, 1], [0, 1]]), ([0, 1, 3], [[0, 0], [1, 2], [3, 4]])),
        (nd.array([1.7]), ([1], [[1, 2]])),
        (nd.array(np.zeros(0)), ([], [])),
    ],
)
def test_row_sparse_pull(kv: mx.kv.KVStore, ids: nd.NDArray, found: tuple[list[int], list]) -> None:
    out = nd.zeros((6, 2), stype="row_sparse")
    kv.row_sparse_pull("r", out=out, row_ids=ids)
    assert parts(out) == found


def test_row_sparse_pull_into_several_arrays_and_of_several_keys(kv: mx.kv.KVStore) -> None:
    kv.init("r2", rows([2]))
    one, two = ([nd.zeros((6, 2), stype="row_sparse", ctx=ctx) for ctx in CPUS] for _ in range(2))
    first, second = nd.array([1]), nd.array([3, 2])
    kv.row_sparse_pull("r", out=one, row_ids=first)
    assert [parts(each) for each in one] == [([1], [[1, 2]])] * 2
    kv.row_sparse_pull("r", out=one, row_ids=[first, second])
    assert [parts(each)[0] for each in one] == [[1], [2, 3]]
    kv.row_sparse_pull(["r", "r2"], out=[one, two], row_ids=[[first, second], [second, first]])
    assert [parts(each)[0] for each in (*one, *two)] == [[1], [2, 3], [2, 3], [1]]
    kv.row_sparse_pull(["r", "r2"], out=[one[0], two[0]], row_ids=[first, second])
    assert parts(two[0]) == ([2, 3], [[1, 2], [0, 0]])


def test_the_type_of_rows_that_are_pulled(kv: mx.kv.KVStore) -> None:
    out = nd.zeros((6, 2), stype="row_sparse", dtype="float64")
    kv.row_sparse_pull("r", out=out, row_ids=nd.array([3]))
    assert out.dtype == np.float64 and parts(out) == ([3], [[3, 4]])


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"row_ids": nd.array([1])}, TypeError, "needs out, the arrays to write into, and row_ids"),
        ({"out": rows([])}, TypeError, "needs out, the arrays to write into, and row_ids"),
        ({"out": rows([]), "row_ids": np.array([1])}, TypeError, "row_ids must be an NDArray or a list of"),
        ({"out": rows([]), "row_ids": [1, 3]}, TypeError, "row_ids must be an NDArray or a list of them"),
        (
            {"out": rows([]), "row_ids": [nd.array([1]), nd.array([2])]},
            TypeError,
            "there must be row_ids for each of 1 arrays in out; got 2",
        ),
        ({"out": nd.zeros((6, 2)), "row_ids": nd.array([1])}, TypeError, "got storage type 'default' for"),
        ({"out": rows([]), "row_ids": nd.array([6])}, ValueError, "row_ids must be from 0 to 5; got 6"),
        ({"out": rows([]), "row_ids": nd.array([-1, 2])}, ValueError, "must be from 0 to 5; got -1"),
        (
            {"out": nd.zeros((7, 2), stype="row_sparse"), "row_ids": nd.array([1])},
            ValueError,
            "'r' must have shape (6, 2); got (7, 2)",
        ),
        ({"key": "d", "out": rows([]), "row_ids": nd.array([1])}, TypeError, "storage type 'default'"),
        ({"key": "s", "out": rows([]), "row_ids": nd.array([1])}, ValueError, "no key 's'"),
        (
            {"key": ["r", "d"], "out": [rows([]), rows([])], "row_ids": nd.array([1])},
            TypeError,
            "a list of 2 keys needs as many row_ids",
        ),
    ],
)
def test_mistakes(kv: mx.kv.KVStore, given: dict, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=re.escape(says)):
        kv.row_sparse_pull(**{"key": "r", **given})


def test_pull_leaves_sparse_arrays(kv: mx.kv.KVStore) -> None:
    sparse, dense = rows([0]), nd.zeros((6, 2))
    for key in ("r", "d"):
        with pytest.warns(UserWarning, match=f"KVStore.pull: '{key}': .* type 'row_sparse' is not pulled"):
            kv.pull(key, out=[dense, sparse])
        assert parts(sparse) == ([0], [[1, 2]])
        assert (dense.asnumpy() == pulled(kv, key, "default").asnumpy()).all()
    kv.pull("r", out=sparse, ignore_sparse=False)
    assert parts(sparse) == ([1, 3], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("pushed", "found"),
    [
        ([rows([0, 2]), rows([2, 5], ctx=CPUS[1])], ([0, 2, 5], [[1, 2], [4, 6], [3, 4]])),
        ([rows([2, 5])], ([2, 5], [[1, 2], [3, 4]])),
        ([rows([]), rows([])], ([], [])),
        ([rows([0]), nd.ones((6, 2)) * nd.array([[0], [0], [0], [0], [1], [0]])], ([0, 4], [[1, 2], [1, 1]])),
        ([nd.ones((6, 2)), rows([0])], ([0, 1, 2, 3, 4, 5], [[2, 3]] + [[1, 1]] * 5)),
    ],
)
def test_sums(kv: mx.kv.KVStore, pushed: list[nd.NDArray], found: tuple[list[int], list]) -> None:
    before = [array.asnumpy() for array in pushed]
    for key in ("r", "d"):
        kv.push(key, pushed)
        assert (pulled(kv, key, "default").asnumpy() == sum(before)).all()
    assert parts(pulled(kv, "r")) == found
    assert pulled(kv, "d").stype == "row_sparse"
    for array, value in zip(pushed, before, strict=True):
        assert (array.asnumpy() == value).all()


def test_sums_of_several_keys_and_of_one_key_that_comes_twice(kv: mx.kv.KVStore) -> None:
    kv.init(["a", "b"], [rows([1]), rows([2])])
    kv.push(["a", "b", "a"], [[rows([0]), rows([0, 4], ctx=CPUS[1])], [rows([5]), rows([1])], rows([4])])
    assert parts(pulled(kv, "a")) == ([0, 4], [[2, 4], [4, 6]])
    assert parts(pulled(kv, "b")) == ([1, 5], [[1, 2], [1, 2]])


def test_pushpull_and_broadcast_write_rows(kv: mx.kv.KVStore) -> None:
    gradients = [rows([0, 2]), rows([2, 5], ctx=CPUS[1])]
    kv.pushpull("r", gradients)
    assert [parts(each) for each in gradients] == [([0, 2, 5], [[1, 2], [4, 6], [3, 4]])] * 2
    kv.pushpull("r", rows([4]), out=(out := nd.zeros((6, 2))))
    assert (out.asnumpy() == rows([4]).asnumpy()).all()
    kv.broadcast("new", rows([3]), out=(some := rows([0])))
    assert parts(some) == ([3], [[1, 2]])


def test_csr_is_not_pushed(kv: mx.kv.KVStore) -> None:
    with pytest.raises(TypeError, match="what is pushed must be dense or row_sparse; got csr for 'd'"):
        kv.push("d", nd.ones((6, 2)).tostype("csr"))


@pytest.mark.parametrize("key", ["r", "d"])
@pytest.mark.parametrize("settings", [{}, {"momentum": 0.5, "wd": 0.1}], ids=["plain", "momentum"])
def test_the_store_updates_the_rows_that_were_pushed(
    kv: mx.kv.KVStore, key: str, settings: dict[str, float]
) -> None:
    first = rows([0, 1, 2, 3, 4, 5])
    kv.put(key, first if key == "r" else first.tostype("default"))
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, **settings))
    for _ in range(2):
        kv.push(key, [rows([0, 2]), rows([2, 5], ctx=CPUS[1])])
    # From MXNet 1.9.1.
    expected = first.asnumpy()
    if settings:
        expected[[0, 2, 5]] = [[-0.3475, -0.695], [-0.5125, -2.085], [5.9775, 5.63]]
    else:
        expected[[0, 2, 5]] = [[0, 0], [1, 0], [8, 8]]
    np.testing.assert_allclose(pulled(kv, key, "default").asnumpy(), expected, rtol=1e-5)


def test_an_updater_of_ones_own_gets_rows(kv: mx.kv.KVStore) -> None:
    seen = []

    def update(key: bytes, gradient: nd.NDArray, weight: nd.NDArray) -> None:
        seen.append((key, parts(gradient), parts(weight)))
        weight[:] = gradient

    kv.set_updater(update)
    kv.push("r", [rows([0, 2]), rows([2, 5], ctx=CPUS[1])])
    total = ([0, 2, 5], [[1, 2], [4, 6], [3, 4]])
    assert seen == [(b"r", total, ([1, 3], [[1, 2], [3, 4]]))]
    assert parts(pulled(kv, "r")) == total
