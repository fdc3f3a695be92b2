"""The life of a custom operator, for MXNet and for rebind (`mx` is either): what is called when, with what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

#: Of each stage the calls: a method, and its arguments as text.
Calls = list[list[str]]
Stages = dict[str, Calls]

SHAPE = (2, 3)


def described(mx: Any, value: Any) -> str:
    """Return the kind of an argument: of arrays the shape and the device, of other values the value."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(described(mx, each) for each in value)}]"
    if isinstance(value, mx.nd.NDArray):
        return f"{value.shape} on {value.context}"
    if isinstance(value, bool):  # a flag: MXNet says 1 and 0
        return str(int(value))
    if isinstance(value, type):
        return value.__name__
    return f"Context {value}" if isinstance(value, mx.Context) else repr(value)


class Life:
    """An operator that is registered with its calls recorded, stage by stage."""

    def __init__(self, mx: Any, states: Sequence[str] = ("moving_mean",)) -> None:
        self.mx, self.states = mx, list(states)
        self.calls: Calls = []
        self.stages: Stages = {}
        mx.operator.register("life")(self._prop(self._op()))

    def note(self, method: str, *args: Any) -> None:
        self.calls.append([method, ", ".join(described(self.mx, each) for each in args)])

    def stage(self, name: str, run: Callable[[], Any]) -> Any:
        """Run a stage, and keep its calls under its name."""
        self.calls.clear()
        result = run()
        self.mx.nd.waitall()
        self.stages[name] = [list(call) for call in self.calls]
        return result

    def _op(self) -> Any:
        note = self.note

        class Op(self.mx.operator.CustomOp):  # type: ignore[misc, name-defined]
            def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
                note("forward", bool(is_train), req, in_data, out_data, aux)
                for i in (0, 1):
                    self.assign(out_data[i], req[i], in_data[0] * 2)

            def backward(
                self, req: Any, out_grad: Any, in_data: Any, out_data: Any, in_grad: Any, aux: Any
            ) -> None:
                note("backward", req, out_grad, in_data, out_data, in_grad, aux)
                self.assign(in_grad[0], req[0], out_grad[0] * 2)
                self.assign(in_grad[1], req[1], out_grad[0].sum())

        return Op

    def _prop(self, op: Any) -> Any:
        note, states = self.note, self.states

        class Prop(self.mx.operator.CustomOpProp):  # type: ignore[misc, name-defined]
            def __init__(self, **parameters: Any) -> None:
                super().__init__(need_top_grad=True)
                # A loop adds parameters of MXNet's own.
                note("__init__", {k: v for k, v in parameters.items() if not k.startswith("__")})

            def list_arguments(self) -> Any:
                note("list_arguments")
                return ["data", "weight"]

            def list_outputs(self) -> Any:
                note("list_outputs")
                return ["output", "copy"]

            def list_auxiliary_states(self) -> Any:
                note("list_auxiliary_states")
                return list(states)

            def infer_shape(self, in_shape: Any) -> Any:
                note("infer_shape", in_shape)
                return [in_shape[0], [1]], [in_shape[0]] * 2, [[1]] * len(states)

            def infer_type(self, in_type: Any) -> Any:
                note("infer_type", in_type)
                return [in_type[0]] * 2, [in_type[0]] * 2, [in_type[0]] * len(states)

            def infer_storage_type(self, in_stype: Any) -> Any:
                note("infer_storage_type", in_stype)
                return super().infer_storage_type(in_stype)

            def infer_storage_type_backward(self, *stypes: Any) -> Any:
                note("infer_storage_type_backward", *stypes)
                return super().infer_storage_type_backward(*stypes)

            def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> Any:
                note("declare_backward_dependency", out_grad, in_data, out_data)
                return super().declare_backward_dependency(out_grad, in_data, out_data)

            def create_operator(self, ctx: Any, in_shapes: Any, in_dtypes: Any) -> Any:
                note("create_operator", ctx, in_shapes, in_dtypes)
                return op()

        return Prop


def composed(mx: Any) -> Any:
    return mx.sym.Custom(mx.sym.var("x"), op_type="life", factor=3, name="op")[0] * 2


def in_executors(mx: Any) -> Stages:
    """Compose, infer, bind in each way, run, reshape."""
    life, device = Life(mx), mx.cpu(1)
    stage = life.stage
    net = stage("compose", lambda: composed(mx))
    stage("list", lambda: (net.list_arguments(), net.list_auxiliary_states(), net.list_outputs()))
    stage("infer_shape", lambda: net.infer_shape(x=SHAPE))
    stage("infer_type", lambda: net.infer_type(x="float32"))
    exe = stage("simple_bind", lambda: net.simple_bind(device, x=SHAPE))
    head = mx.nd.ones(SHAPE, ctx=device)
    for number in (1, 2):
        stage(f"forward, training, {number}", lambda: exe.forward(is_train=True))
        stage(f"backward, {number}", lambda: exe.backward(head))
    stage("forward, inference", lambda: exe.forward(is_train=False))
    stage("backward after inference", lambda: exe.backward(head))
    new = stage("reshape", lambda: exe.reshape(partial_shaping=True, allow_up_sizing=True, x=(4, 3)))
    stage("forward, reshaped", lambda: new.forward(is_train=True))
    stage("reshape back", lambda: new.reshape(partial_shaping=True, x=SHAPE))

    def arrays(*names: str) -> dict[str, Any]:
        return {name: mx.nd.ones(SHAPE if name == "x" else (1,), ctx=device) for name in names}

    states = {"op_moving_mean": mx.nd.zeros((1,), ctx=device)}
    stage(
        "bind", lambda: net.bind(device, arrays("x", "op_weight"), arrays("x", "op_weight"), "write", states)
    )
    stage("bind without gradients", lambda: net.bind(device, arrays("x", "op_weight"), aux_states=states))
    exe = stage("simple_bind without gradients", lambda: net.simple_bind(device, grad_req="null", x=SHAPE))
    stage("forward without gradients", lambda: exe.forward())
    with mx.AttrScope(ctx_group="second"):
        placed = composed(mx)
    groups = {"second": mx.cpu(2)}
    stage("simple_bind of a group", lambda: placed.simple_bind(device, group2ctx=groups, x=SHAPE))
    return life.stages


def on_arrays(mx: Any) -> Stages:
    """Call it on arrays, recorded and not."""
    life, device = Life(mx), mx.cpu(1)
    x, weight = mx.nd.ones(SHAPE, ctx=device), mx.nd.ones((1,), ctx=device)
    mean = mx.nd.zeros((1,), ctx=device)

    def call() -> Any:
        return mx.nd.Custom(x, weight, mean, op_type="life", factor=3)

    life.stage("call", call)
    life.stage("the same call", call)
    for each in (x, weight):
        each.attach_grad()
    with mx.autograd.record():
        out = life.stage("recorded call", call)
        total = out[0] * 2
    life.stage("backward", total.backward)
    return life.stages


def in_a_loop(mx: Any) -> Stages:
    """Run it as the body of a loop, which MXNet does not train with auxiliary states."""
    life = Life(mx, states=())
    x, s, weight = (mx.sym.var(name) for name in "xsw")

    def body(x: Any, state: Any) -> Any:
        return mx.sym.Custom(x, weight, op_type="life", name="op")[0], state

    net = mx.sym.contrib.foreach(body, x, s)[0]
    exe = life.stage("simple_bind", lambda: net.simple_bind(mx.cpu(), x=(2, 3), s=(1,), w=(1,)))
    for number in (1, 2):
        life.stage(f"forward {number}", lambda: exe.forward(is_train=True))
        life.stage(f"backward {number}", lambda: exe.backward(mx.nd.ones((2, 3))))
    return life.stages


def batch(mx: Any, size: int) -> Any:
    shape = (size, 3)
    return mx.io.DataBatch(
        [mx.nd.ones(shape)], [mx.nd.ones(shape)], bucket_key=size,
        provide_data=[("x", shape)], provide_label=[("label", shape)],
    )  # fmt: skip


def in_modules(mx: Any) -> Stages:
    """Train it in a module on two devices, with batches of other sizes, and in buckets."""
    life = Life(mx, states=())  # no initializer knows their names
    stage = life.stage
    net = mx.sym.LinearRegressionOutput(composed(mx), mx.sym.var("label"), name="loss")
    names: tuple[list[str], list[str]] = ["x"], ["label"]
    module = mx.mod.Module(net, *names, context=[mx.cpu(0), mx.cpu(1)])
    stage("bind", lambda: module.bind([("x", (4, 3))], [("label", (4, 3))]))
    stage("init_params", module.init_params)
    for i, size in enumerate((4, 4, 2, 4)):
        stage(f"forward of {size}, {i}", lambda: module.forward(batch(mx, size), is_train=True))  # noqa: B023
        stage(f"backward of {size}, {i}", module.backward)
    stage("forward, inference", lambda: module.forward(batch(mx, 4), is_train=False))
    stage("reshape", lambda: module.reshape([("x", (6, 3))], [("label", (6, 3))]))
    bind_again = {"force_rebind": True}
    stage("bind again", lambda: module.bind([("x", (4, 3))], [("label", (4, 3))], **bind_again))

    buckets = mx.mod.BucketingModule(lambda key: (net, *names), 4, context=mx.cpu(1))
    stage("bind buckets", lambda: buckets.bind([("x", (4, 3))], [("label", (4, 3))]))
    buckets.init_params()
    for i, size in enumerate((4, 2, 4, 2)):
        stage(f"forward of bucket {size}, {i}", lambda: buckets.forward(batch(mx, size), is_train=True))  # noqa: B023
        stage(f"backward of bucket {size}, {i}", buckets.backward)
    return life.stages


LIVES: dict[str, Callable[[Any], Stages]] = {
    "in executors": in_executors, "on arrays": on_arrays, "in a loop": in_a_loop, "in modules": in_modules,
}  # fmt: skip
