"""Operators that users write: `CustomOp` in symbols, in Module and on arrays; the older NumpyOp and NDArrayOp."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.errors import ArgumentError, FormatError, MXNetError, NameLookupError, ShapeError, UserCodeError
from rebind.ops.custom import CUSTOM_OPERATORS


@pytest.fixture(autouse=True)
def forget_what_a_test_registers():
    before = dict(CUSTOM_OPERATORS)
    yield
    CUSTOM_OPERATORS.clear()
    CUSTOM_OPERATORS.update(before)


class Softmax(mx.operator.CustomOp):
    """The loss of MXNet's own tutorial, in NumPy."""

    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1, keepdims=True))
        self.assign(out_data[0], req[0], mx.nd.array(y / y.sum(axis=1, keepdims=True)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(len(label)), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


class Counter(mx.operator.CustomOp):
    """Scales, keeps how often it ran in itself, and counts training runs in an auxiliary state."""

    def __init__(self, factor, log):
        self.factor, self.runs, self.log = factor, 0, log

    def forward(self, is_train, req, in_data, out_data, aux):
        self.runs += 1
        self.log.append(
            (
                "forward",
                bool(is_train),
                list(req),
                self.runs,
                mx.autograd.is_recording(),
                mx.autograd.is_training(),
            )
        )
        self.assign(out_data[0], req[0], in_data[0] * self.factor)
        self.assign(out_data[1], req[1], in_data[0].sum())
        if is_train:
            aux[0][:] += 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.log.append(("backward", list(req), [g.asnumpy().tolist() for g in out_grad], self.runs))
        self.assign(in_grad[0], req[0], out_grad[0] * self.factor + out_grad[1])


def register_counter(log):
    @mx.operator.register("counter")
    class CounterProp(mx.operator.CustomOpProp):
        def __init__(self, factor="1", **others):
            super().__init__()
            log.append(("made", factor, others))
            self.factor = float(factor)

        def list_outputs(self):
            return ["output", "total"]

        def list_auxiliary_states(self):
            return ["count"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[0], (1,)], [(1,)]

        def create_operator(self, ctx, in_shapes, in_dtypes):
            log.append(("created", str(ctx), in_shapes, in_dtypes))
            return Counter(self.factor, log)


def test_symbol_and_executor() -> None:
    log: list = []
    register_counter(log)
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="counter", factor=3, other="q", name="c", lr_mult=2)
    assert log == [("made", "3", {"other": "q"})]
    assert symbol.list_arguments() == ["x"]
    assert symbol.list_auxiliary_states() == ["c_count"]
    assert symbol.list_outputs() == ["c_output", "c_total"]
    assert symbol.infer_shape(x=(2,)) == ([(2,)], [(2,), (1,)], [(1,)])
    assert symbol.infer_type(x="float64") == ([np.float64], [np.float64] * 2, [np.float64])

    log.clear()
    executor = symbol.simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([1, 2]))
    assert executor.outputs[0].asnumpy().tolist() == [3, 6]
    assert executor.outputs[1].asnumpy().tolist() == [3]
    executor.backward([mx.nd.array([1, 10]), mx.nd.array([100])])
    assert executor.grad_dict["x"].asnumpy().tolist() == [103, 130]
    assert executor.aux_dict["c_count"].asnumpy().tolist() == [1]
    executor.forward()
    assert log == [
        ("created", "cpu(0)", [[2], [1]], [0, 0]),
        ("forward", True, ["write", "write"], 1, False, True),
        ("backward", ["write"], [[1, 10], [100]], 1),
        ("forward", False, ["write", "write"], 2, False, False),
    ]
    assert executor.aux_dict["c_count"].asnumpy().tolist() == [1]


def test_json_is_that_of_mxnet_and_loads_again() -> None:
    register_counter([])
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="counter", factor=3, name="c", lr_mult=2)
    node = json.loads(symbol.tojson())["nodes"][-1]
    said = {"__lr_mult__": "2", "factor": "3", "op_type": "counter"}
    assert node == {"op": "Custom", "name": "c", "attrs": said, "inputs": [[0, 0, 0], [1, 0, 1]]}
    again = mx.sym.load_json(symbol.tojson())
    assert again.tojson() == symbol.tojson()
    executor = again.bind(mx.cpu(), {"x": mx.nd.array([2.0])}, aux_states={"c_count": mx.nd.zeros((1,))})
    assert executor.forward()[0].asscalar() == 6
    text = symbol.tojson().replace('"counter"', '"lost"')
    with pytest.raises(
        FormatError, match=r"<json>: node 2 \(Custom 'c'\): Custom: no operator 'lost' was registered"
    ):
        mx.sym.load_json(text)


def test_each_executor_has_an_operator_of_its_own() -> None:
    log: list = []
    register_counter(log)
    x = mx.sym.var("x")
    symbol = mx.sym.Group([mx.sym.Custom(x, op_type="counter", name=name)[0] for name in "ab"])
    log.clear()
    executors = [symbol.simple_bind(mx.cpu(), x=(2,)) for _ in range(2)]
    for executor in (*executors, executors[0]):
        executor.forward()
    assert [row[3] for row in log if row[0] == "forward"] == [1, 1, 1, 1, 2, 2]
    assert sum(row[0] == "created" for row in log) == 4


@pytest.mark.parametrize("contexts", [1, 2])
def test_module_trains_as_with_the_built_in_loss(contexts: int) -> None:
    mx.operator.register("softmax_loss")(SoftmaxProp)
    rng = np.random.RandomState(0)
    x, y = rng.randn(24, 5).astype("float32"), rng.randint(0, 3, 24).astype("float32")
    trained = []
    for loss in (
        lambda data: mx.sym.SoftmaxOutput(data, name="softmax"),
        lambda data: mx.sym.Custom(data=data, name="softmax", op_type="softmax_loss"),
    ):
        net = loss(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc"))
        assert net.list_arguments()[-1] == "softmax_label"
        mod = mx.mod.Module(net, context=[mx.cpu(i) for i in range(contexts)])
        batches = mx.io.NDArrayIter(x, y, batch_size=8)
        weights = {"fc_weight": mx.nd.ones((3, 5)) * 0.1, "fc_bias": mx.nd.zeros((3,))}
        mod.fit(
            batches,
            num_epoch=2,
            arg_params=weights,
            optimizer_params={"learning_rate": 0.5, "momentum": 0.9},
            progress=False,
        )
        trained.append(mod.get_params()[0]["fc_weight"].asnumpy())
    np.testing.assert_allclose(*trained, rtol=1e-5, atol=1e-6)


def test_under_autograd() -> None:
    log: list = []
    register_counter(log)
    x, count = mx.nd.array([1, 2]), mx.nd.zeros((1,))
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(x * 2, count, op_type="counter", factor=5)
        z = (y[0] * y[0]).sum() + y[1]
    z.backward()
    assert y[0].asnumpy().tolist() == [10, 20]
    assert x.grad.asnumpy().tolist() == [2 * (2 * 10 * 5 + 1), 2 * (2 * 20 * 5 + 1)]
    assert count.asscalar() == 1
    with mx.autograd.record():  # a state may come by name
        y = mx.nd.Custom(data=x, count=count, op_type="counter")
    assert count.asscalar() == 2


def test_a_gradient_that_nobody_wants_is_not_asked_for() -> None:
    log: list = []
    register_counter(log)
    symbol = mx.sym.Custom(mx.sym.var("x"), op_type="counter", name="c")
    executor = symbol.bind(
        mx.cpu(), {"x": mx.nd.ones((2,))}, grad_req="null", aux_states={"c_count": mx.nd.zeros((1,))}
    )
    executor.forward(is_train=True)
    executor.backward([mx.nd.ones((2,)), mx.nd.ones((1,))])
    assert not any(row[0] == "backward" for row in log)


def test_types_of_the_users_own() -> None:
    @mx.operator.register("lookup")
    class LookupProp(mx.operator.CustomOpProp):
        def list_arguments(self):
            return ["data", "index"]

        def infer_shape(self, in_shape):
            return in_shape, [in_shape[1]], []

        def infer_type(self, in_type):
            return [in_type[0], np.int32], [in_type[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            assert dtypes == [1, 4]
            return Lookup()

    class Lookup(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0].take(in_data[1]))

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            assert req == ["write", "null"]
            gradient = np.zeros(in_data[0].shape)
            np.add.at(gradient, in_data[1].asnumpy(), out_grad[0].asnumpy())
            self.assign(in_grad[0], req[0], mx.nd.array(gradient, dtype="float64"))

    symbol = mx.sym.Custom(mx.sym.var("data"), mx.sym.var("index"), op_type="lookup")
    assert symbol.infer_type(data="float64") == ([np.float64, np.int32], [np.float64], [])
    data, index = mx.nd.array([1, 2, 3], dtype="float64"), mx.nd.array([2, 0, 2], dtype="int32")
    data.attach_grad()
    with mx.autograd.record():
        y = mx.nd.Custom(data, index, op_type="lookup")
    y.backward()
    assert y.asnumpy().tolist() == [3, 1, 3]
    assert data.grad.asnumpy().tolist() == [1, 0, 2]


@pytest.mark.parametrize("phase", ["infer_shape", "infer_type", "create_operator", "forward", "backward"])
def test_an_error_in_the_users_code_is_the_cause(phase: str) -> None:
    def fails(name):
        return phase == name and (_ for _ in ()).throw(KeyError("my mistake"))

    class Op(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            fails("forward")

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            fails("backward")

    @mx.operator.register("fails")
    class Prop(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            fails("infer_shape")
            return super().infer_shape(in_shape)

        def infer_type(self, in_type):
            fails("infer_type")
            return super().infer_type(in_type)

        def create_operator(self, ctx, in_shapes, in_dtypes):
            fails("create_operator")
            return Op()

    message = rf"Custom.*operator 'fails': {phase} failed with KeyError: 'my mistake'"
    with pytest.raises(MXNetError, match=message):
        executor = mx.sym.Custom(mx.sym.var("x"), op_type="fails", name="c").simple_bind(mx.cpu(), x=(2,))
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones((2,))])
    x = mx.nd.ones((2,))
    x.attach_grad()
    with pytest.raises(UserCodeError, match=message) as caught, mx.autograd.record():
        mx.nd.Custom(x, op_type="fails").backward()
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_operator_that_is_registered_anew_is_the_new_one() -> None:
    x = mx.nd.ones((2,))
    for factor in (2, 3):

        class Op(mx.operator.CustomOp):
            by = factor

            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * self.by)

        @mx.operator.register("again")
        class Prop(mx.operator.CustomOpProp):
            op = Op

            def create_operator(self, ctx, in_shapes, in_dtypes):
                return self.op()

        for _ in range(3):
            assert mx.nd.Custom(x, op_type="again").asnumpy().tolist() == [factor, factor]
            with mx.autograd.record():
                assert mx.nd.Custom(x, op_type="again").asnumpy().tolist() == [factor, factor]


def test_mistakes_are_named() -> None:
    with pytest.raises(NameLookupError, match="no operator 'nope' was registered"):
        mx.sym.Custom(mx.sym.var("x"), op_type="nope")
    with pytest.raises(MXNetError, match="op_type must be the name of an operator that was registered"):
        mx.nd.Custom(mx.nd.ones((2,)))
    with pytest.raises(ArgumentError, match="must decorate a subclass of CustomOpProp"):
        mx.operator.register("x")(Softmax)

    @mx.operator.register("counts")
    class Prop(mx.operator.CustomOpProp):
        def infer_shape(self, in_shape):
            return in_shape, [], []

    with pytest.raises(
        ShapeError, match="must return 1 values for its inputs, 1 for its outputs and 0 for its"
    ):
        mx.nd.Custom(mx.nd.ones((2,)), op_type="counts")
    with pytest.raises(MXNetError, match="req must be one of"):
        mx.operator.CustomOp().assign(mx.nd.ones((2,)), "wirte", 1)


def test_assign() -> None:
    target, assign = mx.nd.ones((2,)), mx.operator.CustomOp().assign
    for request, expected in (("null", 1), ("write", 2), ("add", 4), ("inplace", 2)):
        assign(target, request, mx.nd.array([2, 2]))
        assert target.asnumpy().tolist() == [expected] * 2


def test_a_name_that_is_registered_again_stands_for_the_newer_class() -> None:
    def register(factor):
        class Op(mx.operator.CustomOp):
            def forward(self, is_train, req, in_data, out_data, aux):
                self.assign(out_data[0], req[0], in_data[0] * factor)

        @mx.operator.register("again")
        class Prop(mx.operator.CustomOpProp):
            def create_operator(self, ctx, in_shapes, in_dtypes):
                return Op()

    register(2)
    before = mx.sym.Custom(mx.sym.var("x"), op_type="again")
    register(3)
    after = mx.sym.Custom(mx.sym.var("x"), op_type="again")
    x = mx.nd.ones((1,))
    assert [s.eval(x=x)[0].asscalar() for s in (before, after)] == [2, 3]


@pytest.mark.filterwarnings("ignore:.*PythonOp, NumpyOp and NDArrayOp")
def test_the_older_kinds() -> None:
    class Square(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            assert isinstance(in_data[0], np.ndarray)
            out_data[0][:] = in_data[0] ** 2

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 2 * in_data[0] * out_grad[0]

    class Cube(mx.operator.NDArrayOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = in_data[0] ** 3

        def backward(self, out_grad, in_data, out_data, in_grad):
            in_grad[0][:] = 3 * in_data[0] ** 2 * out_grad[0]

    x = mx.sym.var("x")
    executor = (Square()(x, name="square") + Cube()(x)).simple_bind(mx.cpu(), x=(2,))
    executor.forward(is_train=True, x=mx.nd.array([2, 3]))
    executor.backward([mx.nd.ones((2,))])
    assert executor.outputs[0].asnumpy().tolist() == [12, 36]
    assert executor.grad_dict["x"].asnumpy().tolist() == [16, 33]


def test_what_there_is() -> None:
    names = mx.operator.get_all_registered_operators()
    assert {"Convolution", "_plus_scalar", "Custom"} < set(names)
    assert mx.operator.get_operator_arguments("Convolution").names[:3] == ["data", "weight", "bias"]


class _Counts(mx.operator.CustomOp):
    """Counts in its state: 1 for a forward, 10 for a backward."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)
        aux[0][:] = aux[0] + 1

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2)
        aux[0][:] = aux[0] + 10


class _CountsProp(mx.operator.CustomOpProp):
    def list_auxiliary_states(self):
        return ["state"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], [(1,)]

    def create_operator(self, ctx, shapes, dtypes):
        return _Counts()


@pytest.mark.parametrize(
    ("is_train", "backwards", "expected"), [(True, 1, 22), (True, 2, 42), (False, 1, 22), (True, 0, 2)]
)
def test_states_count_each_forward_and_each_backward_once(is_train, backwards, expected):
    mx.operator.register("counts_of_calls")(_CountsProp)
    net = mx.sym.MakeLoss(mx.sym.Custom(mx.sym.var("x"), op_type="counts_of_calls", name="op"))
    exe = net.simple_bind(mx.cpu(), x=(2,))
    for _ in range(2):
        exe.forward(is_train=is_train)
        for _ in range(backwards):
            exe.backward()
    assert exe.aux_dict["op_state"].asnumpy().tolist() == [expected]  # as MXNet 1.9.1 counts


@pytest.mark.parametrize("inputs", [[], ["a"]], ids=["no inputs", "an input"])
def test_bind_creates_the_operator_and_names_its_device(inputs: list[str]) -> None:
    """MXNet 1.9.1 gives it the device, shapes and types, once for an executor, and never while it infers."""
    calls: list[tuple[Any, ...]] = []

    class Ones(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            calls.append(("forward", is_train))
            self.assign(out_data[0], req[0], mx.nd.ones(out_data[0].shape))

    @mx.operator.register(f"ones_of_{len(inputs)}")
    class OnesProp(mx.operator.CustomOpProp):
        def list_arguments(self) -> list[str]:
            return inputs

        def infer_shape(self, in_shape: Any) -> Any:
            return in_shape, [in_shape[0] if in_shape else (2, 3)], []

        def infer_type(self, in_type: Any) -> Any:
            return in_type, [np.float32], []

        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            calls.append((ctx, shapes, dtypes))
            return Ones()

    given = {name: mx.sym.var(name) for name in inputs}
    shapes = dict.fromkeys(inputs, (2, 3))
    network = mx.sym.Custom(op_type=f"ones_of_{len(inputs)}", **given)
    assert network.infer_shape(**shapes)[1] == [(2, 3)]
    network.infer_type_partial()
    assert calls == []
    exe = network.simple_bind(mx.cpu(1), **shapes)
    for is_train in (False, True):
        assert exe.forward(is_train=is_train)[0].asnumpy().tolist() == [[1] * 3] * 2
    created = (mx.cpu(1), [[2, 3]] * len(inputs), [0] * len(inputs))
    assert calls == [created, ("forward", False), ("forward", True)]


@pytest.mark.parametrize("defined", ["nothing", "backward"])
def test_an_operator_without_forward_is_an_error(defined: str) -> None:
    """MXNet's outputs hold whatever was in memory."""
    made = type("Half", (mx.operator.CustomOp,), {defined: lambda self, *given: None})

    @mx.operator.register("without_forward")
    class HalfProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return made()

    network = mx.sym.Custom(mx.sym.var("data"), op_type="without_forward", name="half")
    says = (
        r"Custom 'half': operator 'without_forward': Half must define forward\(self, is_train, req, in_data"
    )
    with pytest.raises(mx.MXNetError, match=says):
        network.simple_bind(mx.cpu(), data=(2,))
