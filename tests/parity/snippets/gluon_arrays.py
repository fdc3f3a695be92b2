"""Blocks of gluon that are called on arrays: numbers, gradients, files, devices, mistakes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from .gluon import LAYERS

Snippet = Callable[[Any], Any]

# MXNet does not compute float16 on a CPU, and needs oneDNN for ReLU in BatchNorm and transposed convolution in three
# dimensions; the gradient of selu is wrong there; Xavier draws.
_LEFT_OUT = {"dense_settings", "batch_norm_relu", "conv3d_transpose", "selu", "dense_initializer"}
# The shape of a layer's input where it is not (2, 6).
_SHAPES = {
    **dict.fromkeys(
        [name for name in LAYERS if "1d" in name] + ["instance_norm", "instance_norm_axis"], (2, 3, 8)
    ),
    **dict.fromkeys(
        [name for name in LAYERS if "2d" in name] + ["reflection_pad", "group_norm"], (2, 4, 6, 4)
    ),
    **dict.fromkeys([name for name in LAYERS if "3d" in name], (1, 2, 4, 4, 4)),
    "layer_norm_settings": (2, 5),
    "batch_norm_fixed": (2, 3),
}


def _counting(mx: Any) -> Any:
    """An initializer that draws nothing."""

    class Counting(mx.init.Initializer):  # type: ignore[misc]
        def _init_weight(self, name: str, arr: Any) -> None:
            size = 1
            for each in arr.shape:
                size *= each
            arr[:] = (mx.nd.arange(size).reshape(arr.shape) % 7 - 3) / 4

    return Counting()


def _input(mx: Any, name: str) -> Any:
    shape = _SHAPES.get(name, (2, 6))
    size = 1
    for each in shape:
        size *= each
    numbers = mx.nd.arange(size).reshape(shape)
    return numbers % 10 if "embedding" in name else (numbers % 11 - 5) / 3


def _layer(name: str, make: Callable[[Any], Any], hybrid: bool) -> Snippet:
    """What a layer computes, the gradients, and the shapes that it found out."""

    def snippet(mx: Any) -> Any:
        block = make(mx.gluon.nn)
        block.initialize(_counting(mx))
        if hybrid:
            block.hybridize()
        x = _input(mx, name)
        at_rest = block(x)
        if "embedding" not in name:
            x.attach_grad()
        with mx.autograd.record(train_mode=False):
            out = block(x)
            total = (out * out).sum()
        total.backward(train_mode=False)
        params = list(block.collect_params().values())
        gradients = [each.grad() for each in params if each.grad_req != "null"]
        return [at_rest, x.grad, gradients, [[each.name.split("_")[-1], each.shape] for each in params]]

    return snippet


def _net(mx: Any, **settings: Any) -> Any:
    nn = mx.gluon.nn

    class Net(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(1, 3), init=mx.init.Constant(2))
                self.table = self.params.get_constant("table", mx.nd.array([[1, 2], [3, 4]]))
                self.fc = nn.Dense(4, activation="relu")
                self.norm = nn.BatchNorm()
                self.rest = nn.HybridSequential()
                with self.rest.name_scope():
                    self.rest.add(nn.Dense(2, use_bias=False), nn.Dropout(0.5))

        def hybrid_forward(self, F: Any, x: Any, others: Any, scale: Any, table: Any) -> Any:
            hidden = self.norm(self.fc(F.broadcast_mul(x, scale) + others[0]))
            return F.broadcast_add(self.rest(hidden), F.sum(table)), [hidden, [others[1] * 2]]

    return Net(prefix="net_", **settings)


def _run(mx: Any, net: Any) -> Any:
    x = _data(mx)
    return net(x, [x, x + 1])


def _data(mx: Any) -> Any:
    return mx.nd.arange(12).reshape((4, 3)) * 7 % 5 / 5


def _used(look: Callable[[Any, Any], Any], hybrid: bool = False) -> Snippet:
    """What `look(mx, net)` sees of an initialized network that has been called."""

    def snippet(mx: Any) -> Any:
        net = _net(mx)
        net.initialize(_counting(mx))
        net.hybridize(hybrid)
        _run(mx, net)
        return look(mx, net)

    return snippet


def _trained(mx: Any, net: Any) -> Any:
    """Forward and backward in training mode, without the dropout."""
    net.rest = mx.gluon.nn.HybridSequential(prefix="other_")
    net.rest.add(mx.gluon.nn.Dense(2, prefix="last_"))
    net.rest.initialize(_counting(mx))
    with mx.autograd.record():
        total = (_run(mx, net)[0] ** 2).sum()
    total.backward()
    params = net.collect_params().values()
    moving = [net.norm.running_mean.data(), net.norm.running_var.data()]
    return [total, moving, [each.grad() for each in params if each.grad_req != "null"]]


def _in_folder(run: Callable[[Any, Any, str], Any], hybrid: bool = False) -> Snippet:
    def look(mx: Any, net: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            return run(mx, net, os.path.join(folder, "net"))

    return _used(look, hybrid)


def _read(mx: Any, path: str) -> Any:
    return dict(sorted(mx.nd.load(path).items()))


def _saved(mx: Any, net: Any, path: str) -> Any:
    net.save_parameters(path)
    return _read(mx, path)


def _loaded(mx: Any, net: Any, path: str) -> Any:
    net.save_parameters(path)
    other = _net(mx)
    other.load_parameters(path)
    return _run(mx, other)


def _loaded_changed(change: Callable[[Any, dict[str, Any]], object], **settings: Any) -> Snippet:
    """What a network gives with a file in which arrays are changed."""

    def run(mx: Any, net: Any, path: str) -> Any:
        net.save_parameters(path)
        arrays = mx.nd.load(path)
        change(mx, arrays)
        mx.nd.save(path, arrays)
        other = _net(mx)
        other.initialize(_counting(mx))
        other.load_parameters(path, **settings)
        return [each.dtype for each in other.collect_params().values()]

    return _in_folder(run)


def _whole_names(mx: Any, net: Any, path: str) -> Any:
    net.collect_params().save(path, strip_prefix="net_")
    names = sorted(mx.nd.load(path))
    other = _net(mx)
    other.collect_params().load(path, restore_prefix="net_")
    return [names, _run(mx, other)]


def _without_prefix(mx: Any, net: Any, path: str) -> Any:
    net.save_params(path)
    other = _net(mx)
    other.load_parameters(path)
    return [sorted(mx.nd.load(path)), _run(mx, other)]


def _exported(mx: Any, net: Any, path: str) -> Any:
    net.export(path, epoch=3)
    symbol = mx.sym.load(path + "-symbol.json")
    block = mx.gluon.SymbolBlock.imports(
        path + "-symbol.json", ["data0", "data1", "data2"], path + "-0003.params"
    )
    x = _data(mx)
    return [
        symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs(),
        _read(mx, path + "-0003.params"),
        block(x, x, x + 1), sorted(block.collect_params()), block.prefix,
        [each.grad_req for each in block.collect_params().values()],
    ]  # fmt: skip


def _symbol_block(mx: Any, count: int = 1) -> Any:
    data = mx.sym.var("data")
    out = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    block = mx.gluon.SymbolBlock([out] if count == 1 else [out, out * 2, mx.sym.tanh(out)], [data])
    block.initialize(_counting(mx))
    return block


def _parameter(look: Callable[[Any, Any], Any], **settings: Any) -> Snippet:
    def snippet(mx: Any) -> Any:
        parameter = mx.gluon.Parameter("w", **{"shape": (2, 2), "init": "ones", **settings})
        return look(mx, parameter)

    return snippet


def _then(*steps: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda mx, it: [step(mx, it) for step in steps][-1]


def _made(mx: Any, parameter: Any) -> None:
    parameter.initialize()


def _on_two(mx: Any, parameter: Any) -> None:
    parameter.initialize(ctx=[mx.cpu(0), mx.cpu(1)])


def _function(body: Callable[..., Any], *args: Any, hybrid: bool = False) -> Snippet:
    """What a block with this `hybrid_forward` gives: numbers are arrays of three elements."""

    def arrays(mx: Any, value: Any) -> Any:
        if isinstance(value, list):
            return [arrays(mx, each) for each in value]
        return value if value is None else mx.nd.array([value, 2 * value, -value])

    def snippet(mx: Any) -> Any:
        block = type("Foo", (mx.gluon.HybridBlock,), {"hybrid_forward": body})()
        block.hybridize(hybrid)
        given = arrays(mx, list(args))
        block(*given)
        return block(*given)

    return snippet


def _names(mx: Any, block: Any) -> list[str]:
    return list(block.collect_params())


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "one": (lambda self, F, x: F.tanh(x), (1,)),
    "two": (lambda self, F, x, y: x * y + F.relu(x), (1, -2)),
    "lists": (lambda self, F, x, y: [x + y[0], [y[1][0] * 2]], (1, [2, [3]])),
    "nothing_given": (lambda self, F, x, y: x if y is None else x + y, (1, None)),
    "several_outputs": (lambda self, F, x: F.split(F.reshape(x, shape=(1, 3)), num_outputs=3, axis=1), (4,)),
    "an_input_as_output": (lambda self, F, x, y: [y, x], (1, 2)),
    "default_argument": (lambda self, F, x, y=None: x * 2 if y is None else x + y, (3,)),
}

SNIPPETS: dict[str, Snippet] = {
    **{
        f"{name}{'_hybrid' if hybrid else ''}": _layer(name, make, hybrid)
        for name, make in LAYERS.items()
        if name not in _LEFT_OUT
        for hybrid in (False, True)
    },
    **{
        f"function_{name}{'_hybrid' if hybrid else ''}": _function(body, *args, hybrid=hybrid)
        for name, (body, args) in FUNCTIONS.items()
        for hybrid in (False, True)
    },
    "net": _used(_run),
    "net_hybrid": _used(_run, hybrid=True),
    "net_trained": _used(_trained),
    "net_trained_hybrid": _used(_trained, hybrid=True),
    "net_constant": _used(lambda mx, net: [net.table.data(), net.table.grad_req]),
    "net_shapes": _used(lambda mx, net: [[each.name, each.shape] for each in net.collect_params().values()]),
    "net_chosen": _used(lambda mx, net: list(net.collect_params(".*weight|.*bias"))),
    "net_reinitialized": _used(_then(lambda mx, net: net.initialize(mx.init.One(), force_reinit=True), _run)),
    "net_initialized_twice": _used(_then(lambda mx, net: net.initialize(mx.init.One()), _run)),
    "net_constant_gradient": _used(lambda mx, net: net.table.grad()),
    "net_applied": _used(
        lambda mx, net: (lambda seen: [net.apply(lambda each: seen.append(each.name)) is net, seen])([])
    ),
    "net_cast": _used(lambda mx, net: (net.cast("float64"), net.fc(mx.nd.ones((1, 3), dtype="float64")))[1]),
    "net_on_another_device": _used(
        lambda mx, net: (net.collect_params().reset_ctx(mx.cpu(1)), str(net.fc.weight.list_ctx()))[1]
    ),
    "net_saved": _in_folder(_saved),
    "net_loaded": _in_folder(_loaded),
    "net_whole_names": _in_folder(_whole_names),
    "net_without_prefix": _in_folder(_without_prefix),
    "net_wrong_strip": _in_folder(lambda mx, net, path: net.collect_params().save(path, strip_prefix="x_")),
    "net_exported": _in_folder(_exported, hybrid=True),
    "net_exported_too_early": _in_folder(lambda mx, net, path: net.export(path)),
    "net_missing": _loaded_changed(lambda mx, arrays: arrays.pop("fc.weight")),
    "net_missing_allowed": _loaded_changed(lambda mx, arrays: arrays.pop("fc.weight"), allow_missing=True),
    "net_extra": _loaded_changed(lambda mx, arrays: arrays.update(y=mx.nd.ones((1,)))),
    "net_extra_ignored": _loaded_changed(
        lambda mx, arrays: arrays.update(y=mx.nd.ones((1,))), ignore_extra=True
    ),
    "net_other_shape": _loaded_changed(lambda mx, arrays: arrays.update({"fc.weight": mx.nd.ones((4, 9))})),
    "net_other_type": _loaded_changed(
        lambda mx, arrays: arrays.update({"fc.weight": arrays["fc.weight"].astype("float16")})
    ),
    "net_cast_to_current": _loaded_changed(
        lambda mx, arrays: arrays.update({"fc.weight": arrays["fc.weight"].astype("float16")}),
        cast_dtype=True,
    ),
    "net_cast_to_saved": _loaded_changed(
        lambda mx, arrays: arrays.update({"fc.weight": arrays["fc.weight"].astype("float16")}),
        cast_dtype=True,
        dtype_source="saved",
    ),
    "symbol_block": lambda mx: (lambda block: [block(mx.nd.ones((1, 3))), _names(mx, block)])(
        _symbol_block(mx)
    ),
    "symbol_block_outputs": lambda mx: _symbol_block(mx, 3)(mx.nd.ones((1, 3))),
    "symbol_block_on_a_symbol": lambda mx: _symbol_block(mx)(mx.sym.var("other")).list_arguments(),
    "symbol_block_of_an_operator": lambda mx: mx.gluon.SymbolBlock(mx.sym.var("x") * 2, mx.sym.var("x") + 1),
    "symbol_block_text": lambda mx: len(repr(_symbol_block(mx)).splitlines()),
    "not_initialized": lambda mx: mx.gluon.nn.Dense(2)(mx.nd.ones((1, 3))),
    "deferred": lambda mx: (lambda block: [block.initialize(), block.weight.data()])(mx.gluon.nn.Dense(2)),
    "deferred_devices": lambda mx: (
        lambda block: [block.initialize(ctx=[mx.cpu(0), mx.cpu(1)]), str(block.weight.list_ctx())]
    )(mx.gluon.nn.Dense(2)),
    "deferred_value": lambda mx: (
        lambda block: [
            block.initialize(),
            block.weight.set_data(mx.nd.ones((2, 3))),
            block(mx.nd.ones((1, 3))),
        ]
    )(mx.gluon.nn.Dense(2)),
    "mixed": lambda mx: mx.gluon.nn.HybridLambda(lambda F, a, b: a)(mx.nd.ones((1,)), mx.sym.var("x")),
    "infer_shape": lambda mx: (lambda block: [block.infer_shape(mx.nd.ones((4, 3))), block.weight.shape])(
        mx.gluon.nn.Dense(2)
    ),
    "known_channels": lambda mx: [
        (lambda block: [block.initialize(), block(mx.nd.ones((2, 3))), repr(block)][-1])(make())
        for make in (mx.gluon.nn.BatchNorm, mx.gluon.nn.LayerNorm, lambda: mx.gluon.nn.Dense(2))
    ],
    "wrong_input": lambda mx: (
        lambda block: [block.initialize(), block(mx.nd.ones((1, 3))), block(mx.nd.ones((1, 4))).asnumpy()]
    )(mx.gluon.nn.Dense(2)),
    "unknown_initializer": lambda mx: mx.gluon.nn.Dense(2, in_units=2).initialize("zeross"),
    "lambda": lambda mx: mx.gluon.nn.Lambda("tanh")(mx.nd.array([1, 2])),
    "lambda_unknown": lambda mx: mx.gluon.nn.Lambda("tanhh"),
    "hybrid_lambda_unknown": lambda mx: mx.gluon.nn.HybridLambda("tanhh"),
    "plain_block": lambda mx: type("Foo", (mx.gluon.Block,), {"forward": lambda self, x: x * 2})()(
        mx.nd.ones((2,))
    ),
    "parameter": _parameter(_then(_made, lambda mx, it: [it.data(), it.grad(), str(it.list_ctx())])),
    "parameter_two_devices": _parameter(
        _then(_on_two, lambda mx, it: [it.list_data(), it.list_grad(), str(it.list_ctx()), it.data()])
    ),
    "parameter_on_no_such_device": _parameter(_then(_made, lambda mx, it: it.data(mx.cpu(3)))),
    "parameter_set": _parameter(
        _then(_on_two, lambda mx, it: it.set_data(mx.nd.zeros((2, 2))), lambda mx, it: it.list_data())
    ),
    "parameter_set_wrong": _parameter(_then(_made, lambda mx, it: it.set_data(mx.nd.zeros((2, 3))))),
    "parameter_set_early": _parameter(lambda mx, it: it.set_data(mx.nd.zeros((2, 2)))),
    "parameter_unknown_shape": _parameter(_made, shape=(2, 0)),
    "parameter_no_shape": _parameter(_made, shape=None),
    "parameter_not_initialized": _parameter(lambda mx, it: it.data()),
    "parameter_devices_early": _parameter(lambda mx, it: it.list_ctx()),
    "parameter_reset_early": _parameter(lambda mx, it: it.reset_ctx(mx.cpu())),
    "parameter_zero_early": _parameter(lambda mx, it: it.zero_grad()),
    "parameter_without_gradient": _parameter(_then(_made, lambda mx, it: it.grad()), grad_req="null"),
    "parameter_gradient_later": _parameter(
        _then(_made, lambda mx, it: setattr(it, "grad_req", "add"), lambda mx, it: it.grad()), grad_req="null"
    ),
    "parameter_type": _parameter(_then(_made, lambda mx, it: it.cast("float64"), lambda mx, it: it.data())),
    "parameter_own_initializer": _parameter(
        _then(lambda mx, it: it.initialize("zeros"), lambda mx, it: it.data())
    ),
    "parameter_default_initializer": _parameter(
        _then(lambda mx, it: it.initialize(default_init=mx.init.Zero()), lambda mx, it: it.data()), init=None
    ),
    "parameters_from_a_dict": lambda mx: (
        lambda params: [
            params.get("w", shape=(2,)),
            params.initialize(),
            params.load_dict({"arg:a_w": mx.nd.ones((2,))}),
            params["a_w"].data(),
        ][-1]
    )(mx.gluon.ParameterDict("a_")),
}
