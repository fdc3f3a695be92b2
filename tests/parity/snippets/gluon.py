"""Blocks of gluon that are called on symbols: names of parameters and nodes, prefixes, shared parameters."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Snippet = Callable[[Any], Any]


def _layer(make: Callable[[Any], Any], *, described: bool = True) -> Snippet:
    """What a layer of `gluon.nn` makes of a symbol, and its parameters."""

    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            block = make(mx.gluon.nn)
            out = block(mx.sym.var("data"))
        parameters = [[each.name, each.grad_req, each.shape] for each in block.collect_params().values()]
        return [block.prefix, json.loads(out.tojson())["nodes"], parameters, repr(block) if described else ""]

    return snippet


LAYERS = {
    "dense": lambda nn: nn.Dense(3),
    "dense_settings": lambda nn: nn.Dense(
        3, activation="tanh", use_bias=False, flatten=False, in_units=4, dtype="float16"
    ),
    "dense_initializer": lambda nn: nn.Dense(3, weight_initializer="xavier", prefix="mine_"),
    "activation": lambda nn: nn.Activation("relu"),
    "swish": lambda nn: nn.Swish(2.0),
    "dropout": lambda nn: nn.Dropout(0.3),
    "dropout_axes": lambda nn: nn.Dropout(0.3, axes=(1,)),
    "dropout_none": lambda nn: nn.Dropout(0),
    "layer_norm": lambda nn: nn.LayerNorm(),
    "layer_norm_settings": lambda nn: nn.LayerNorm(axis=1, epsilon=1e-3, center=False, in_channels=5),
    "embedding": lambda nn: nn.Embedding(10, 4),
    "embedding_sparse": lambda nn: nn.Embedding(10, 4, sparse_grad=True),
    "batch_norm": lambda nn: nn.BatchNorm(),
    "batch_norm_fixed": lambda nn: nn.BatchNorm(
        scale=False, center=False, use_global_stats=True, in_channels=3
    ),
    "batch_norm_relu": lambda nn: nn.BatchNormReLU(),
    "instance_norm": lambda nn: nn.InstanceNorm(),
    "instance_norm_axis": lambda nn: nn.InstanceNorm(axis=2),
    "group_norm": lambda nn: nn.GroupNorm(2),
    "flatten": lambda nn: nn.Flatten(),
    "leaky_relu": lambda nn: nn.LeakyReLU(0.1),
    "prelu": lambda nn: nn.PReLU(),
    "elu": lambda nn: nn.ELU(),
    "selu": lambda nn: nn.SELU(),
    "gelu": lambda nn: nn.GELU(),
    "conv1d": lambda nn: nn.Conv1D(2, 3),
    "conv2d": lambda nn: nn.Conv2D(2, 3, strides=2, padding=1, activation="relu"),
    "conv2d_groups": lambda nn: nn.Conv2D(2, (3, 2), use_bias=False, groups=2, in_channels=4, layout="NCHW"),
    "conv3d": lambda nn: nn.Conv3D(2, 3),
    "conv1d_transpose": lambda nn: nn.Conv1DTranspose(2, 3, output_padding=1, strides=2),
    "conv2d_transpose": lambda nn: nn.Conv2DTranspose(2, 3),
    "conv3d_transpose": lambda nn: nn.Conv3DTranspose(2, 3, in_channels=3),
    "max_pool1d": lambda nn: nn.MaxPool1D(),
    "max_pool2d": lambda nn: nn.MaxPool2D(ceil_mode=True),
    "max_pool3d": lambda nn: nn.MaxPool3D(3, 2, 1),
    "avg_pool1d": lambda nn: nn.AvgPool1D(),
    "avg_pool2d": lambda nn: nn.AvgPool2D(count_include_pad=False),
    "avg_pool3d": lambda nn: nn.AvgPool3D(),
    "global_max_pool1d": lambda nn: nn.GlobalMaxPool1D(),
    "global_max_pool2d": lambda nn: nn.GlobalMaxPool2D(),
    "global_max_pool3d": lambda nn: nn.GlobalMaxPool3D(),
    "global_avg_pool1d": lambda nn: nn.GlobalAvgPool1D(),
    "global_avg_pool2d": lambda nn: nn.GlobalAvgPool2D(),
    "global_avg_pool3d": lambda nn: nn.GlobalAvgPool3D(),
    "reflection_pad": lambda nn: nn.ReflectionPad2D(2),
    "hybrid_lambda": lambda nn: nn.HybridLambda("tanh"),
    "hybrid_lambda_function": lambda nn: nn.HybridLambda(lambda F, x: F.relu(x) + 1),
}


def _net_class(mx: Any) -> Any:
    nn = mx.gluon.nn

    class Net(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, **settings: Any) -> None:
            super().__init__(**settings)
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(1, 3), init=mx.init.One())
                self.table = self.params.get_constant("table", mx.nd.array([[1, 2], [3, 4]]))
                self.first = nn.Dense(4)
                self.stack = nn.HybridSequential()
                self.stack.add(nn.Dense(2), nn.Activation("relu"))
                with self.stack.name_scope():
                    self.stack.add(nn.Dense(3))
                self.named = nn.Dense(2, prefix="mine_")
            self.out = nn.Dense(2)

        def hybrid_forward(self, F: Any, x: Any, scale: Any, table: Any) -> Any:
            hidden = self.named(self.stack(self.first(F.broadcast_mul(x, scale))))
            return F.broadcast_add(self.out(hidden), F.sum(table))

    return Net


def _net(look: Callable[[Any, Any], Any], **settings: Any) -> Snippet:
    """What `look(mx, net)` sees of a network with children inside and outside of its name scope."""

    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            return look(mx, _net_class(mx)(**settings))

    return snippet


def _nodes(mx: Any, net: Any) -> list[str]:
    return [node["name"] for node in json.loads(net(mx.sym.var("data")).tojson())["nodes"]]


def _filled(mx: Any, net: Any) -> Any:
    module = mx.mod.Module(net(mx.sym.var("data")), label_names=[])
    module.bind([("data", (2, 3))])
    module.init_params()
    given = module.get_params()[0]
    return [given["net0_scale"], given["net0_table"], sorted(given)]


def _named(run: Callable[[Any], Any]) -> Snippet:
    """A snippet whose automatic names count from 0."""

    def snippet(mx: Any) -> Any:
        with mx.name.NameManager():
            return run(mx)

    return snippet


def _shared(mx: Any) -> Any:
    first = mx.gluon.nn.Dense(3)
    second = mx.gluon.nn.Dense(3, params=first.params)
    out = second(first(mx.sym.var("data")))
    return [second.prefix, second.weight is first.weight, out.list_arguments(), list(second.collect_params())]


def _parameters(mx: Any) -> Any:
    params = mx.gluon.ParameterDict("net_")
    weight = params.get("weight", shape=(2, 0), lr_mult=2.0)
    same = params.get("weight", shape=(2, 3), init="zeros")
    params.setattr("grad_req", "null")
    return [
        same is weight, weight.shape, weight.var().list_attr(), weight.var() is weight.var(), repr(params),
        weight.grad_req, "net_weight" in params, list(params.keys()), params.prefix,
    ]  # fmt: skip


def _sequence(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(2), nn.Dense(3))
        net.add(nn.Activation("tanh"))
    out = net(mx.sym.var("data"))
    return [
        len(net),
        repr(net[0]),
        repr(net[1:]),
        [each.name for each in net],
        out.list_arguments(),
        out.name,
    ]


def _function(body: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda mx: type("Foo", (mx.gluon.HybridBlock,), {"hybrid_forward": body})()


def _clipped(max_norm: float, **settings: Any) -> Snippet:
    def snippet(mx: Any) -> Any:
        arrays = [mx.nd.array([3.0, 4.0]), mx.nd.array([0.0, 12.0])]
        return [mx.gluon.utils.clip_global_norm(arrays, max_norm, **settings), arrays]

    return snippet


def _split(count: int, **settings: Any) -> Snippet:
    return lambda mx: mx.gluon.utils.split_data(mx.nd.arange(10).reshape((5, 2)), count, **settings)


def _hooked(mx: Any) -> Any:
    seen = []
    block = mx.gluon.nn.Dense(2)
    block.register_forward_pre_hook(lambda block, inputs: seen.append(["before", len(inputs)]))
    handle = block.register_forward_hook(lambda block, inputs, out: seen.append(["after", out.name]))
    block(mx.sym.var("x"))
    handle.detach()
    block(mx.sym.var("x"))
    return seen


def _below_a_prefix(mx: Any) -> Any:
    with mx.name.Prefix("outer_"):
        block = mx.gluon.nn.Dense(2)
        return [block.prefix, block(mx.sym.var("x")).name]


def _raises(make: Callable[[Any], Any]) -> Snippet:
    return lambda mx: make(mx)(mx.sym.var("x"))


SNIPPETS = {
    **{f"layer_{name}": _layer(make, described=name != "embedding") for name, make in LAYERS.items()},
    "net_arguments": _net(lambda mx, net: net(mx.sym.var("data")).list_arguments()),
    "net_nodes": _net(_nodes),
    "net_parameters": _net(lambda mx, net: list(net.collect_params())),
    "net_chosen": _net(lambda mx, net: list(net.collect_params(".*weight"))),
    "net_own": _net(lambda mx, net: [list(net.params), net.prefix, net.name, net.params.prefix]),
    "net_text": _net(lambda mx, net: [repr(net), repr(net.collect_params())]),
    "net_prefix": _net(lambda mx, net: [net.prefix, list(net.collect_params())], prefix="enc_"),
    "net_without_prefix": _net(lambda mx, net: [net.prefix, list(net.collect_params())], prefix=""),
    "net_twice": _net(lambda mx, net: [_nodes(mx, net), _nodes(mx, net)]),
    "net_filled": _net(_filled),
    "net_changed_kind": _net(lambda mx, net: setattr(net, "first", 3)),
    "shared": _named(_shared),
    "parameters": _named(_parameters),
    "parameter_of_another_shape": lambda mx: [
        mx.gluon.ParameterDict("net_").get("w", shape=(2, size)).shape for size in (0, 3)
    ],
    "parameter_that_differs": lambda mx: (
        lambda params: [params.get("w", shape=(2, 3)), params.get("w", shape=(4, 3))]
    )(mx.gluon.ParameterDict()),
    "constant": lambda mx: (lambda one: [one.value, one.shape, one.grad_req, repr(one)])(
        mx.gluon.Constant("c", mx.nd.array([[1, 2]]))
    ),
    "constant_without_value": lambda mx: mx.gluon.ParameterDict().get_constant("c"),
    "sequence": _named(_sequence),
    "sequential": _named(
        lambda mx: (lambda net: [net.add(mx.gluon.nn.Dense(2)), net(mx.sym.var("x")).list_arguments()])(
            mx.gluon.nn.Sequential()
        )
    ),
    "children_of_another_kind": lambda mx: mx.gluon.nn.HybridSequential().add(mx.gluon.nn.Lambda("tanh")),
    "automatic_names": _named(lambda mx: _nodes(mx, _function(lambda self, F, x: F.relu(F.relu(x) * 2))(mx))),
    "below_a_prefix": _below_a_prefix,
    "lists": _named(
        lambda mx: [
            each.name
            for each in _function(lambda self, F, a, b: [a * 2, b[0] + b[1]])(mx)(
                mx.sym.var("a"), [mx.sym.var("b"), mx.sym.var("c")]
            )
        ]
    ),
    "forward_of_its_own": _named(
        lambda mx: type("Foo", (mx.gluon.Block,), {"forward": lambda self, x: x * 2})()(mx.sym.var("x")).name
    ),
    "hooks": _named(_hooked),
    "no_forward": _raises(lambda mx: mx.gluon.Block()),
    "no_hybrid_forward": _raises(lambda mx: mx.gluon.HybridBlock()),
    "called_on_a_number": lambda mx: mx.gluon.nn.Dense(2)(3),
    "called_on_nothing": lambda mx: mx.gluon.nn.Dense(2)(),
    "called_on_an_array": lambda mx: mx.gluon.nn.Dense(2)(mx.nd.ones((2, 3))),
    "cast": _named(
        lambda mx: (lambda block: [block.cast("float16"), block(mx.sym.var("x")).attr_dict()])(
            mx.gluon.nn.Dense(2)
        )
    ),
    "clip": _clipped(1.0),
    "clip_within": _clipped(100.0),
    "clip_unchecked": _clipped(1.0, check_isfinite=False),
    "split_evenly": _split(5),
    "split_unevenly": _split(2, even_split=False),
    "split_into_more": _split(7, even_split=False),
    "split_other_axis": _split(2, batch_axis=1),
    "split_refused": _split(2),
    "split_and_load": lambda mx: mx.gluon.utils.split_and_load([[1, 2], [3, 4]], [mx.cpu(0), mx.cpu(1)]),
    "shape_is_known": lambda mx: [mx.gluon.utils.shape_is_known(each) for each in ((1, 2), (0, 2), None)],
}
