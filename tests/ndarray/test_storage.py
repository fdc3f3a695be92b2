"""The seam of storage: a kind that is made up here goes wherever arrays go."""

from __future__ import annotations

import copy
import pickle
import struct

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import autograd, nd
from rebind.errors import ArgumentError, FormatError, ShapeError, StateError
from rebind.graph import Application, Entry, Graph, Variable, infer_storage
from rebind.ndarray.storage import DenseStorage, Storage, convert, register_storage
from rebind.ops import find, storage_types
from rebind.ops.storage_types import infer_storage_types, storage_kernel


@register_storage
class Shuffled(Storage):
    """Rows in another order than the array's: row `i` of `data` is row ``order[i]`` of the array."""

    stype, number = "shuffled", 91
    members = ("data", "order")

    def __init__(self, data: torch.Tensor, order: torch.Tensor) -> None:
        super().__init__()
        self.data, self.order = data, order
        if order.shape != data.shape[:1] or sorted(order.tolist()) != list(range(len(data))):
            raise ArgumentError("Shuffled: order must name each row once")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    @classmethod
    def from_dense(cls, tensor: torch.Tensor) -> Shuffled:
        order = torch.arange(len(tensor) - 1, -1, -1, device=tensor.device)
        return cls(tensor[order], order)

    def to_dense(self) -> torch.Tensor:
        return torch.empty_like(self.data).index_copy_(0, self.order, self.data)


@storage_kernel("square", ["shuffled"], ("shuffled",))
def square(data: Shuffled) -> Shuffled:
    return Shuffled(data.data.square(), data.order)


@storage_kernel("add_n", ["shuffled"], ("shuffled",), repeats=True)
def add_n(*data: Shuffled) -> Shuffled:
    return Shuffled.from_dense(sum(each.to_dense() for each in data))


@pytest.fixture(autouse=True)
def no_warning_of_fallbacks(monkeypatch):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")


VALUES = np.arange(6, dtype="float32").reshape(3, 2) + 1


def shuffled(values=VALUES, **keywords):
    return nd.array(values, **keywords).tostype("shuffled")


def is_shuffled(array, values=VALUES, dtype="float32"):
    assert array.stype == "shuffled" and type(array.storage) is Shuffled
    np.testing.assert_array_equal(array.storage.data.numpy(), np.asarray(values)[::-1])
    np.testing.assert_array_equal(array.asnumpy(), values)
    assert array.asnumpy().dtype == dtype and array.storage.order.dtype is torch.int64
    return True


@pytest.mark.parametrize(
    ("make", "values", "dtype"),
    [
        (shuffled, VALUES, "float32"),
        (lambda: nd.zeros((3, 2), stype="shuffled"), np.zeros((3, 2)), "float32"),
        (lambda: nd.empty((3, 2), stype="shuffled", dtype="float64"), np.zeros((3, 2)), "float64"),
        (lambda: nd.NDArray(Shuffled.from_dense(torch.tensor(VALUES))), VALUES, "float32"),
    ],
)
def test_making(make, values, dtype):
    assert is_shuffled(make(), values, dtype)


@pytest.mark.parametrize(
    ("fact", "expected"),
    [
        pytest.param(lambda x: x.shape, (3, 2), id="shape"),
        pytest.param(lambda x: x.ndim, 2, id="ndim"),
        pytest.param(lambda x: x.size, 6, id="size"),
        pytest.param(lambda x: x.dtype, np.float32, id="dtype"),
        pytest.param(lambda x: x.device, mx.cpu(0), id="device"),
        pytest.param(len, 3, id="len"),
        pytest.param(repr, repr(nd.array(VALUES)), id="repr"),
        pytest.param(lambda x: x.storage.nbytes, 6 * 4 + 3 * 8, id="nbytes"),
        pytest.param(lambda x: nd.ones((2, 3)).storage.nbytes, 24, id="nbytes-dense"),
        pytest.param(lambda x: list(x.storage.tensors), ["data", "order"], id="tensors"),
        pytest.param(lambda x: x.tensor.tolist(), VALUES.tolist(), id="tensor"),
        pytest.param(lambda x: nd.array(x).stype, "shuffled", id="nd.array"),
        pytest.param(lambda x: x.tostype("default").stype, "default", id="tostype"),
        pytest.param(
            lambda x: x.tostype("default").asnumpy().tolist(), VALUES.tolist(), id="values-of-tostype"
        ),
        pytest.param(lambda x: x.as_in_context(mx.cpu(1)).device, mx.cpu(1), id="device-of-a-copy"),
        pytest.param(
            lambda x: pickle.loads(pickle.dumps(x.copyto(mx.cpu(1)))).device,
            mx.cpu(1),
            id="device-of-a-pickle",
        ),
        pytest.param(
            lambda x: pickle.loads(pickle.dumps(x.astype("bfloat16"))).storage.data.dtype,
            torch.bfloat16,
            id="type-of-a-pickle",
        ),
    ],
)
def test_facts_of_an_array(fact, expected):
    assert fact(shuffled()) == expected


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x.tostype("shuffled"),
        lambda x: x.as_in_context(mx.cpu(0)),
        lambda x: x.astype("float32", copy=False),
    ],
    ids=["tostype", "as_in_context", "astype"],
)
def test_what_needs_no_copy_is_the_array_itself(same):
    x = shuffled()
    assert same(x) is x


COPIES = {
    "method": lambda x: x.copy(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "copyto device": lambda x: x.copyto(mx.cpu(1)),
    "as_in_context": lambda x: x.as_in_context(mx.cpu(1)),
    "copyto array": lambda x: x.copyto(nd.zeros((3, 2), stype="shuffled")),
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_have_memory_of_their_own(name):
    x = shuffled()
    y = COPIES[name](x)
    assert is_shuffled(y)
    y[0] = 9
    assert is_shuffled(x)


@pytest.mark.parametrize("dtype", ["float64", "int32", "float16"])
def test_casts_leave_the_other_tensors_as_they_are(dtype):
    assert is_shuffled(shuffled().astype(dtype), VALUES, dtype)


def test_a_call_that_repeats_one_on_dense_arrays_takes_the_kernel_of_the_storage():
    for _ in range(2):
        assert nd.square(nd.array(VALUES)).stype == "default"
    is_shuffled(nd.square(shuffled()), VALUES**2)


def test_writing_converts_between_kinds():
    x, y = shuffled(), nd.zeros((3, 2), dtype="float64")
    assert x.copyto(y) is y and y.stype == "default" and (y.asnumpy() == VALUES).all()
    z = nd.zeros((3, 2), stype="shuffled")
    y.copyto(z)
    assert is_shuffled(z)


def write_slices(z):
    z[:] = 7
    z[1] = nd.array([1, 2])
    z[:, 0] = shuffled()[:, 1]


def add_in_place(z):
    z += 1


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        pytest.param(write_slices, [[2, 7], [4, 2], [6, 7]], id="slices"),
        pytest.param(lambda z: z.write(torch.tensor([1.0, 2.0])), [[1, 2]] * 3, id="write"),
        pytest.param(lambda z: z.accumulate(shuffled()), VALUES * 2, id="accumulate"),
        pytest.param(lambda z: z.accumulate(nd.ones((3, 2))), VALUES + 1, id="accumulate-dense"),
        pytest.param(add_in_place, VALUES + 1, id="in-place"),
    ],
)
def test_writing(write, expected):
    z = shuffled()
    write(z)
    assert is_shuffled(z, expected)


def test_reading_a_part_copies_it():
    x = shuffled()
    part = x[0:2]
    part[:] = 0
    assert part.stype == "default" and is_shuffled(x)
    assert x.reshape((2, 3)).shape == (2, 3) and x.reshape((6,))[5].item() == 6
    assert [row.asnumpy().tolist() for row in x] == VALUES.tolist()
    y = x.detach()
    y[:] = 1
    assert is_shuffled(x, np.ones((3, 2)))


def test_exchange_takes_tensors_over_where_nobody_holds_a_view():
    x, new = shuffled(), Shuffled.from_dense(torch.ones(3, 2))
    x.exchange(new)
    assert x.storage.data is new.data
    x.exchange(torch.zeros(3, 2))  # of another kind: converted
    assert is_shuffled(x, np.zeros((3, 2)))
    x.storage.shared = True
    before = x.storage
    x.exchange(new)
    assert x.storage is before and x.storage.data is not new.data and is_shuffled(x, np.ones((3, 2)))


@pytest.mark.parametrize("stype", ["default", "shuffled"])
def test_rows(stype):
    x = nd.array(VALUES).tostype(stype)
    indices = torch.tensor([2, 0, 2])
    assert x.storage.rows(indices).tolist() == VALUES[[2, 0, 2]].tolist()
    retained = x.storage.retain(indices)
    assert type(retained) is type(x.storage)
    assert retained.to_dense().tolist() == [[1, 2], [0, 0], [5, 6]]


def test_zeros_like():
    zeros = shuffled().storage.zeros_like((2, 2), torch.float64)
    assert type(zeros) is Shuffled and zeros.shape == (2, 2) and zeros.dtype is torch.float64
    assert not zeros.to_dense().any()
    assert convert(zeros, "default").stype == "default"


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_files_hold_every_kind(tmp_path, dtype):
    path = str(tmp_path / "a.params")
    nd.save(path, {"dense": nd.array(VALUES), "other": shuffled(dtype=dtype)})
    found = nd.load(path)
    assert found["dense"].stype == "default" and (found["dense"].asnumpy() == VALUES).all()
    assert is_shuffled(found["other"], VALUES, dtype)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    path = tmp_path_factory.mktemp("params") / "a.params"
    nd.save(str(path), [shuffled()])
    return path.read_bytes()


def test_a_file_that_is_cut_short_is_refused(content):
    for length in range(24, len(content)):
        with pytest.raises(FormatError):
            nd.load_frombuffer(content[:length])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param(
            struct.pack("<3q", 2, 1, 0),
            struct.pack("<3q", 2, 2, 0),
            "storage type 'shuffled'; got Shuffled: order must name each row once",
            id="a-row-twice",
        ),
        pytest.param(
            struct.pack("<i", 91), struct.pack("<i", 92), "must be of a known storage type", id="unknown-kind"
        ),
    ],
)
def test_a_malformed_file_is_refused(content, old, new, says):
    with pytest.raises(FormatError, match=says):
        nd.load_frombuffer(content.replace(old, new))


@pytest.mark.parametrize(
    "compute",
    [
        lambda x, dense: x + x,
        lambda x, dense: x + dense,
        lambda x, dense: 1 / x,
        lambda x, dense: x > 3,
        lambda x, dense: -x,
        lambda x, dense: x.sum(axis=0),
        lambda x, dense: nd.dot(x, dense, transpose_b=True),
        lambda x, dense: nd.concat(x, dense, dim=0),
        lambda x, dense: nd.maximum(x, 3),
    ],
)
def test_operators_fall_back_to_dense(compute):
    dense = nd.array(VALUES)
    found = compute(shuffled(), dense)
    assert found.stype == "default"
    np.testing.assert_array_equal(found.asnumpy(), compute(dense, dense).asnumpy())


@pytest.mark.parametrize(
    ("compute", "values"), [(nd.square, VALUES**2), (lambda x: nd.add_n(x, x, x), VALUES * 3)]
)
def test_a_kernel_for_the_kind_is_found(compute, values):
    assert is_shuffled(compute(shuffled()), values)


def test_a_kernel_takes_no_mixture_and_fills_arrays_of_other_kinds():
    x = shuffled()
    assert nd.add_n(x, nd.array(VALUES)).stype == "default"
    out = nd.zeros((3, 2))
    nd.square(x, out=out)
    assert out.stype == "default" and (out.asnumpy() == VALUES**2).all()


def test_results_are_written_into_other_kinds():
    x, out = nd.array(VALUES), nd.zeros((3, 2), stype="shuffled")
    assert nd.relu(x, out=out) is out
    assert is_shuffled(out)


def sgd_steps(weight, grad, momentum):
    for _ in range(3):
        nd.sgd_mom_update(weight, grad, momentum, lr=0.1, momentum=0.9, out=weight)


def batch_norm(mean, variance):
    data = nd.array(np.random.RandomState(0).rand(4, 3))
    data.attach_grad()
    with autograd.record():
        nd.BatchNorm(data, nd.ones((3,)), nd.zeros((3,)), mean, variance, fix_gamma=False).backward()


@pytest.mark.parametrize(
    ("update", "arrays", "stypes"),
    [
        pytest.param(
            sgd_steps,
            [VALUES, VALUES, np.zeros((3, 2))],
            ["shuffled", "default", "shuffled"],
            id="weight-and-momentum",
        ),
        pytest.param(batch_norm, [np.zeros(3), np.ones(3)], ["shuffled", "shuffled"], id="moving-averages"),
    ],
)
def test_states_are_written_into_other_kinds(update, arrays, stypes):
    dense = [nd.array(each) for each in arrays]
    other = [nd.array(each).tostype(stype) for each, stype in zip(arrays, stypes, strict=True)]
    update(*dense)
    update(*other)
    assert [array.stype for array in other] == stypes
    for found, wanted in zip(other, dense, strict=True):
        assert wanted.asnumpy().any()
        np.testing.assert_array_equal(found.asnumpy(), wanted.asnumpy())


def test_a_fallback_is_logged_once_for_each_operator(monkeypatch, caplog):
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "1")
    monkeypatch.setattr(storage_types, "_warned", set())
    x = shuffled()
    x + nd.ones((3, 2))
    x + x
    nd.square(x)
    nd.tanh(x)
    first, second = caplog.messages
    assert first.startswith("broadcast_add: no kernel for inputs of storage types shuffled, default")
    assert second.startswith("tanh: ")
    monkeypatch.setenv("MXNET_STORAGE_FALLBACK_LOG_VERBOSE", "0")
    nd.sin(x)
    assert len(caplog.messages) == 2


@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("stype", [None, "default", "shuffled"])
def test_gradients(grad_req, stype):
    x = shuffled()
    x.attach_grad(grad_req, stype)
    for _ in range(2):
        with autograd.record():
            y = (nd.square(x) + x * 2).sum()
        y.backward()
    wanted = (VALUES * 2 + 2) * (2 if grad_req == "add" else 1)
    assert x.grad.stype == (stype or "shuffled")
    np.testing.assert_array_equal(x.grad.asnumpy(), wanted)


def test_backward_reads_what_is_in_memory_and_writing_while_recording_is_refused():
    x = shuffled()
    x.attach_grad()
    x[:] = 1
    with autograd.record():
        y = x * x
        with pytest.raises(StateError, match="would lose gradients"):
            x[:] = 2
    y.backward()
    assert is_shuffled(x.grad, np.full((3, 2), 2))
    assert (autograd.grad([with_record(lambda: x * x * 3)], [x])[0].asnumpy() == 6).all()


def with_record(compute):
    with autograd.record():
        return compute()


@pytest.mark.parametrize(
    "convert_it",
    [
        lambda x: x.tostype("default"),
        lambda x: x.copy(),
        lambda x: x.astype("float64"),
        lambda x: x.copyto(mx.cpu(1)),
        lambda x: x[0:2],
        lambda x: x.reshape((2, 3)),
    ],
)
def test_gradients_pass_conversions(convert_it):
    x = shuffled()
    x.attach_grad()
    y = with_record(lambda: (convert_it(x) * 3).sum())
    y.backward()
    assert set(x.grad.asnumpy().ravel().tolist()) <= {0.0, 3.0} and x.grad.asnumpy().any()


@pytest.mark.parametrize("kind", ["local", "device"])
def test_a_store_keeps_what_it_is_given(kind):
    store = mx.kv.create(kind)
    store.init("w", shuffled())
    found = [nd.zeros((3, 2), stype="shuffled"), nd.zeros((3, 2))]
    store.pull("w", found)
    assert is_shuffled(found[0]) and (found[1].asnumpy() == VALUES).all()
    store.push("w", [shuffled(), nd.ones((3, 2)), shuffled()])
    store.pull("w", found)
    assert is_shuffled(found[0], VALUES * 2 + 1) and (found[1].asnumpy() == VALUES * 2 + 1).all()


def network():
    x, w = mx.sym.var("x"), mx.sym.var("w", stype="shuffled", init=mx.init.Uniform())
    return mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=3, name="fc")


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_bind_forward_backward(grad_req):
    found = {}
    for stype in ("default", "shuffled"):
        args = {"x": nd.array([[1, 2], [3, 4]]), "w": nd.array(VALUES).tostype(stype)}
        grads = {"x": nd.zeros((2, 2)), "w": nd.ones((3, 2)).tostype(stype)}
        executor = network().bind(mx.cpu(), args, grads, grad_req)
        for _ in range(2):
            executor.forward(is_train=True)
            executor.backward(nd.ones((2, 3)))
        assert executor.arg_dict["w"].stype == executor.grad_dict["w"].stype == stype
        args["w"][0] = 0  # seen by the next forward
        found[stype] = [*grads.values(), *executor.forward()]
    for one, other in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
    assert found["shuffled"][1].stype == "shuffled"


@pytest.mark.parametrize(
    ("stypes", "found"),
    [(None, ("default", "shuffled")), ({"w": "default"}, ("default", "default")),
     ({"x": "shuffled"}, ("shuffled", "shuffled"))],
)  # fmt: skip
def test_simple_bind_allocates_the_storage(stypes, found):
    executor = network().simple_bind(mx.cpu(), stype_dict=stypes, x=(2, 2))
    assert tuple(executor.arg_dict[name].stype for name in "xw") == found


@pytest.mark.parametrize("name", ["sgd", "adam", "ftrl"])
def test_an_optimizer_updates(name):
    found = {}
    for stype in ("default", "shuffled"):
        weight, grad = nd.array(VALUES).tostype(stype), nd.ones((3, 2)).tostype(stype)
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1))
        for _ in range(3):
            updater(0, grad, weight)
        found[stype] = weight
    assert found["shuffled"].stype == "shuffled"
    np.testing.assert_array_equal(found["default"].asnumpy(), found["shuffled"].asnumpy())
    assert (found["default"].asnumpy() != VALUES).any()


def test_an_update_on_the_store():
    store = mx.kv.create("local")
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5))
    store.init("w", shuffled())
    store.push("w", [shuffled(np.ones((3, 2))), shuffled(np.ones((3, 2)))])
    out = nd.zeros((3, 2), stype="shuffled")
    store.pull("w", out)
    assert is_shuffled(out, VALUES - 1)


def variable(number="91"):
    return Variable("x", {"__storage_type__": number})


def test_storage_types_of_a_graph():
    assert mx.sym.var("x", stype="shuffled").attr("__storage_type__") == "91"
    x_node = variable()
    y_node = Variable("y")
    squared = Application(find("square"), "squared", [Entry(x_node)])
    total = Application(
        find("add_n"), "total", [Entry(squared), Entry(x_node)], find("add_n").parse({"num_args": 2})
    )
    mixed = Application(
        find("add_n"), "mixed", [Entry(total), Entry(y_node)], find("add_n").parse({"num_args": 2})
    )
    graph = Graph([Entry(mixed)])
    found = {entry.name: stype for entry, stype in infer_storage(graph).items()}
    assert found == {
        "x": "shuffled", "squared_output": "shuffled", "total_output": "shuffled", "y": "default",
        "mixed_output": "default",
    }  # fmt: skip
    found = infer_storage(graph, {"x": "default", "y": "csr"})
    assert found[Entry(total)] == "default" and found[Entry(y_node)] == "csr"


@pytest.mark.parametrize(
    ("stype", "output", "function", "falls_back"),
    [
        ("default", "default", None, False),
        ("other", "default", None, True),
        ("shuffled", "shuffled", square, False),
    ],
)
def test_storage_types_of_one_operator(stype, output, function, falls_back):
    op = find("square")
    choice = infer_storage_types(op, op.parse({}), [stype])
    assert choice.outputs == (output,) and choice.falls_back == falls_back
    assert (choice.kernel and choice.kernel.function) is function


def write_a_recorded_value():
    x, z = shuffled(), nd.zeros((3, 2), stype="shuffled")
    x.attach_grad()
    with autograd.record():
        z[:] = x * 2


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: nd.zeros((2,), stype="coo"), ArgumentError, r"stype must be 'default' or .*; got 'coo'"),
        (lambda: shuffled().tostype("coo"), ArgumentError, r"tostype: stype must be .*; got 'coo'"),
        (
            lambda: shuffled().write(torch.ones(4)),
            ShapeError,
            r"must broadcast to shape \(3, 2\); got shape \(4,\)",
        ),
        (
            lambda: shuffled().writable_tensor(),
            ArgumentError,
            "'shuffled' has no dense memory to write into; use write",
        ),
        (write_a_recorded_value, StateError, "recorded value cannot be written"),
        (
            lambda: infer_storage(Graph([Entry(variable())]), {"x": "coo"}),
            ValueError,
            r"variable 'x': its storage type must be one of .*; got 'coo'",
        ),
        (
            lambda: infer_storage(Graph([Entry(variable("123"))])),
            FormatError,
            "__storage_type__ = '123'",
        ),
        (
            lambda: storage_types.add_storage_type("other", 91),
            ValueError,
            "storage type 'other': name and number must both be new; got number 91",
        ),
    ],
)
def test_mistakes_are_named(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_arrays_are_dense_by_default():
    assert isinstance(nd.ones((1,)).storage, DenseStorage)


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("kvstore", ["local", None])
def test_a_module_trains_it(devices, kvstore):
    if devices == 2 and kvstore is None:
        kvstore = "device"  # without a store the devices' weights would differ
    x, w = mx.sym.var("x"), mx.sym.var("w", stype="shuffled", init=mx.init.Uniform())
    net = mx.sym.FullyConnected(x, w, no_bias=True, num_hidden=3, name="fc")
    random = np.random.RandomState(0)
    data = mx.io.NDArrayIter(random.rand(8, 2).astype("float32"), np.arange(8) % 3, 4, data_name="x")
    context = [mx.cpu(i) for i in range(devices)]
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"), data_names=["x"], context=context)
    start = nd.ones((3, 2))
    module.fit(
        data, num_epoch=2, kvstore=kvstore, arg_params={"w": start}, optimizer_params={"learning_rate": 0.5}
    )
    trained = module.get_params()[0]["w"]
    assert trained.stype == "shuffled" and not np.array_equal(trained.asnumpy(), start.asnumpy())
