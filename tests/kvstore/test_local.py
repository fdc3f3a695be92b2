"""The stores of one process: what is pushed and pulled, and who updates."""

import re

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import nd
from rebind.kvstore import Capabilities, KVStore, KVStoreBase, capabilities_of, choose_store, create, stores
from rebind.ndarray.storage import Storage

KINDS = ["local", "device", "local_update_cpu", "local_allreduce_cpu", "local_allreduce_device"]
DEVICES = [mx.cpu(0), mx.cpu(1), mx.cpu(2)]


def ones(times=1.0, device=None):
    return nd.ones((2, 3), ctx=device or mx.cpu()) * times


def pulled(kv, key):
    out = nd.zeros((2, 3))
    kv.pull(key, out=out)
    found = out.asnumpy()
    assert (found == found[0, 0]).all()
    return found[0, 0]


@pytest.fixture(params=KINDS)
def kv(request):
    return create(request.param)


@pytest.mark.parametrize("key", [3, "w"])
def test_push_and_pull(kv, key):
    value = ones(4)
    kv.init(key, value)
    value[:] = 0
    assert pulled(kv, key) == 4  # init copies
    kv.push(key, ones(8))
    assert pulled(kv, key) == 8  # what was pushed last
    kv.push(key, [ones(device=device) for device in DEVICES])
    assert pulled(kv, key) == 3  # the sum over the devices
    outs = [
        nd.zeros((2, 3), ctx=device, dtype=dtype)
        for device, dtype in zip(DEVICES, ("float32", "float64", "int32"), strict=True)
    ]
    kv.pull(key, out=outs)
    assert all((out.asnumpy() == 3).all() for out in outs)


@pytest.mark.parametrize("keys", [[5, 7, 9], ["b", "c", "d"]])
def test_lists_of_keys(kv, keys):
    kv.init(keys, [ones(i) for i in range(3)])
    assert [pulled(kv, key) for key in keys] == [0, 1, 2]
    kv.push(keys, [[ones(i, device) for device in DEVICES] for i in range(3)])
    outs = [[nd.zeros((2, 3)) for _ in DEVICES] for _ in keys]
    kv.pull(keys, out=outs)
    assert [[out.asnumpy()[0, 0] for out in each] for each in outs] == [[0] * 3, [3] * 3, [6] * 3]


@pytest.mark.parametrize(
    ("keys", "values", "total"),
    [
        (["w", "w"], [1, [2, 3]], 6),
        (["w", "w", "w"], [[1, 2], 3, 4], 10),
        (["w", "v", "w"], [1, 50, 2], 3),
    ],
    ids=["twice", "three times", "with another key between"],
)
def test_a_key_that_comes_again_in_one_push_is_summed(kv, keys, values, total):
    kv.init(["w", "v"], [ones(0), ones(0)])
    kv.push(keys, [[ones(one) for one in each] if isinstance(each, list) else ones(each) for each in values])
    assert pulled(kv, "w") == total


def test_pushed_arrays_stay_as_they_are(kv):
    grads = [ones(1), ones(2)]
    kv.init("w", ones())
    kv.push("w", grads)
    kv.push("w", grads[0])
    grads[0][:] = 50
    assert pulled(kv, "w") == 1 and (grads[1].asnumpy() == 2).all()


def test_an_updater(kv):
    seen = []

    def update(key, received, stored):
        seen.append(key)
        stored += received * 2

    kv._set_updater(update)
    kv.init(["a", "b"], [ones(1), ones(10)])
    for _ in range(2):
        kv.push(["a", "b"], [[ones(), ones()], ones()])
    assert pulled(kv, "a") == 9 and pulled(kv, "b") == 14 and seen == [b"a", b"b", b"a", b"b"]


def test_an_optimizer_updates_and_its_states_are_saved(kv, tmp_path):
    path = tmp_path / "it.states"
    kv.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    kv.init("w", ones(0))
    kv.push("w", [ones(), ones()])
    assert pulled(kv, "w") == -1
    kv.save_optimizer_states(path)
    other = create(kv.type)
    other.set_optimizer(mx.optimizer.SGD(learning_rate=0.5, momentum=0.5))
    other.init("w", ones(-1))
    other.load_optimizer_states(path)
    for store in (kv, other):
        store.push("w", ones(2))
        assert pulled(store, "w") == -2.5


@pytest.mark.parametrize("call", ["save_optimizer_states", "load_optimizer_states"])
def test_states_of_no_optimizer(kv, call, tmp_path):
    with pytest.raises(mx.MXNetError, match=r"needs set_optimizer\(\) first"):
        getattr(kv, call)(tmp_path / "it.states")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda kv: kv.set_optimizer("sgd"), TypeError, "optimizer must be an Optimizer"),
        (lambda kv: kv.load_optimizer_states("absent"), FileNotFoundError, "absent"),
    ],
    ids=["a name", "a file that is not there"],
)
def test_what_a_store_that_updates_refuses(kv, call, error, says):
    kv.set_optimizer(mx.optimizer.SGD())
    with pytest.raises(error, match=says):
        call(kv)


def test_broadcast(kv):
    out = nd.zeros((2, 3))
    kv.broadcast("w", ones(4), out)
    assert (out.asnumpy() == 4).all()


@pytest.mark.parametrize(
    ("out", "after"),
    [(nd.zeros((2, 3)), [1, 2]), (None, [3, 3])],
    ids=["into another array", "in place"],
)
def test_pushpull(kv, out, after):
    kv.init("w", ones(4))
    grads = [ones(1), ones(2)]
    kv.pushpull("w", grads, out=out)
    assert out is None or (out.asnumpy() == 3).all()
    assert [grad.asnumpy().tolist() for grad in grads] == [[[each] * 3] * 2 for each in after]


@pytest.mark.parametrize("values", [[1], [1, 2]], ids=["a new key", "an old one"])
def test_put_sets_new_keys_and_old_ones(kv, values):
    for value in values:
        kv.put("w", ones(value))
    assert pulled(kv, "w") == values[-1]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda kv: kv.init("a", ones()), RuntimeError, "init: key 'a' has a value already"),
        (lambda kv: kv.init(["c", "a"], [ones(), ones()]), RuntimeError, "key 'a' has a value already"),
        (lambda kv: kv.init(["c", "c"], [ones(), ones()]), RuntimeError, "key 'c' has a value already"),
        (lambda kv: kv.push("aa", ones()), ValueError, "push: no key 'aa'"),
        (
            lambda kv: kv.pull("weigth", ones()),
            ValueError,
            "no key 'weigth'; did you mean 'weight'? Set it with init() first",
        ),
        (lambda kv: kv.push(3, ones()), TypeError, "keys must be all of one type, str in this store; got 3"),
        (
            lambda kv: kv.push(["a", 3], [ones(), ones()]),
            TypeError,
            "keys must be all strings or all ints; got ['a', 3]",
        ),
        (lambda kv: kv.push(None, ones()), TypeError, "a key must be a string or an int; got None"),
        (lambda kv: kv.push("a", nd.ones((3,))), ValueError, "push: 'a' must have shape (2, 3); got (3,)"),
        (
            lambda kv: kv.pull(["weight", "a"], [ones(), nd.ones((3,))]),
            ValueError,
            "pull: 'a' must have shape (2, 3)",
        ),
        (
            lambda kv: kv.push("a", 3),
            TypeError,
            "the value of 'a' must be an NDArray or a list of them; got 3",
        ),
        (lambda kv: kv.push("a", []), TypeError, "must be an NDArray or a list of them; got []"),
        (lambda kv: kv.push(["a"], ones()), TypeError, "a list of keys needs a list of values"),
        (
            lambda kv: kv.push(["a"], [ones(), ones()]),
            TypeError,
            "there must be a value for each of 1 keys; got 2",
        ),
        (lambda kv: kv.pull("a"), TypeError, "pull: needs out, the arrays to write into"),
        (
            lambda kv: kv.set_gradient_compression({"type": "3bit"}),
            mx.MXNetError,
            "KVStore.set_gradient_compression: ",
        ),
        (lambda kv: kv.row_sparse_pull("a", ones(), row_ids=ones()), TypeError, "row_sparse"),
    ],
)
def test_mistakes_change_nothing(kv, call, error, says):
    kv.init(["a", "weight"], [ones(1), ones(2)])
    with pytest.raises(error, match=re.escape(says)) as caught:
        call(kv)
    assert isinstance(caught.value, mx.MXNetError)
    assert pulled(kv, "a") == 1 and pulled(kv, "weight") == 2 and list(kv._values) == ["a", "weight"]


def test_a_failed_init_does_not_fix_the_type_of_keys(kv):
    with pytest.raises(TypeError):
        kv.init(3, "no array")
    kv.init("a", ones())


def test_what_a_store_is(kv):
    assert isinstance(kv, KVStore) and kv.type in KINDS and (kv.rank, kv.num_workers) == (0, 1)
    assert kv.is_capable("optimizer")
    with pytest.raises(ValueError, match="capability must be 'optimizer'; got 'other'"):
        kv.is_capable("other")
    kv.barrier()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: mx.kv.create("lokal"), ValueError, "no store 'lokal'; did you mean 'local'"),
        (lambda: mx.kv.create(3), TypeError, "name must be a string; got 3"),
    ],
    ids=["a misspelt name", "a number"],
)
def test_stores_that_are_not_there(make, error, says):
    with pytest.raises(error, match=says):
        make()


@pytest.mark.parametrize("name", [["Local"], ["LOCAL"], []], ids=["Local", "LOCAL", "by default"])
def test_names_of_stores_do_not_mind_case(name):
    assert mx.kv.create(*name).type == mx.kvstore.create(*name).type == "local"


def test_a_store_of_ones_own_names_what_it_lacks():
    class Mine(KVStoreBase):
        pass

    with pytest.raises(mx.MXNetError, match=r"Mine: must define push\(\)"):
        Mine("mine").push("a", ones())


@pytest.mark.parametrize(
    ("kvstore", "devices", "bound", "expected"),
    [
        ("no such store", 1, None, (None, False)),  # one device needs none, whatever its name
        (None, 2, None, (None, False)),
        ("local", 1, None, (None, False)),
        ("local", 2, None, ("local", True)),
        ("local", 2, "5", ("local", False)),
        ("local", 2, "6", ("local", True)),
        ("device", 2, "5", ("device", True)),
        (create("local"), 1, "5", ("local", True)),
    ],
)
def test_choose_store(monkeypatch, kvstore, devices, bound, expected):
    if bound:
        monkeypatch.setenv("MXNET_KVSTORE_BIGARRAY_BOUND", bound)
    store, updates = choose_store(kvstore, devices, {"w": ones()})  # 6 elements
    assert (store and store.type, updates) == expected


@pytest.mark.parametrize("values", [[1e8, 1.0, -1e8], [1.0, 1e8, -1e8], [1e8, -1e8, 1.0]])
def test_sums_are_exact_in_the_order_of_devices(kv, values):
    kv.init("w", ones(0))
    kv.push("w", [ones(value) for value in values])
    assert pulled(kv, "w") == np.float32(values[0]) + np.float32(values[1]) + np.float32(values[2])


@pytest.mark.parametrize(
    ("name", "updates_weights", "spans_processes", "is_synchronous"),
    [
        *[(kind, True, False, True) for kind in KINDS],
        ("nccl", True, False, True),
        ("dist_sync", True, True, True),
        ("Dist_Device_Sync", True, True, True),
        ("dist_async", True, True, False),
        ("horovod", False, True, True),
        ("unknown", True, False, True),
    ],
)
def test_capabilities_are_known_by_name(name, updates_weights, spans_processes, is_synchronous):
    found = capabilities_of(name)
    assert (found.updates_weights, found.spans_processes, found.is_synchronous) == (
        updates_weights,
        spans_processes,
        is_synchronous,
    )


class Sums(KVStore):
    capabilities = Capabilities(updates_weights=False)


@pytest.fixture
def sums_by_name():
    stores.register("sums")(Sums)
    yield
    del stores._entries["sums"]


@pytest.mark.parametrize(("store", "devices"), [(Sums(), 1), ("sums", 2)], ids=["an object", "a name"])
def test_a_store_of_ones_own_declares_what_it_can(store, devices, sums_by_name):
    assert not Sums.is_capable("optimizer") and not Sums().is_capable("Optimizer")
    assert choose_store(store, devices, {"w": ones()})[1] is False


class Doubled(Storage):
    """A storage type that is made up here: it holds twice the numbers."""

    stype, number = "doubled", 91

    def __init__(self, data):
        super().__init__()
        self.data = data

    @property
    def shape(self):
        return tuple(self.data.shape)

    @classmethod
    def from_dense(cls, tensor):
        return cls(2 * tensor)

    def to_dense(self):
        return self.data / 2


def doubled(value):
    return nd.NDArray(Doubled.from_dense(torch.full((2, 3), float(value))))


@pytest.mark.parametrize("optimizer", [None, "sgd"])
def test_arrays_of_any_storage_go_through(kv, optimizer):
    if optimizer:
        kv.set_optimizer(mx.optimizer.create(optimizer, learning_rate=0.5))
    kv.init("w", doubled(1))
    kv.push("w", [doubled(2), doubled(4)])
    out = doubled(0)
    kv.pull("w", out=[out])
    assert out.stype == "doubled" and out.asnumpy().tolist() == [[-2.0 if optimizer else 6.0] * 3] * 2
    assert pulled(kv, "w") == out.asnumpy()[0, 0]
