"""Which auxiliary states a step updates, for either package: MXNet runs it to record, rebind to be compared.

A case is a network, the arguments that get gradients, how, and the calls of a step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

DATA = (np.arange(24, dtype="float32").reshape(4, 3, 2, 1) * 7 % 11) / 4 - 1
SHAPES = {"data": DATA.shape, "label": (4,), "p": (4, 2, 2, 1), "q": (4, 2, 2, 1), "l": (4, 2, 1)}
STEPS = 2

#: States by name, as lists.
States = dict[str, list[float]]


def _layer(mx: Any) -> Any:
    return mx.sym.Convolution(mx.sym.var("data"), num_filter=2, kernel=(1, 1), name="conv")


def _norm(mx: Any, data: Any, name: str = "bn", **parameters: Any) -> Any:
    return mx.sym.BatchNorm(data, name=name, momentum=0.5, fix_gamma=False, **parameters)


def _tail(mx: Any, data: Any) -> Any:
    scores = mx.sym.FullyConnected(data, num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(scores, mx.sym.var("label"), name="softmax")


def _two(mx: Any) -> Any:
    first = _norm(mx, _layer(mx), "bn0")
    return _tail(mx, _norm(mx, mx.sym.Convolution(first, num_filter=2, kernel=(1, 1), name="conv1")))


def _sparse_reg(mx: Any) -> Any:
    hidden = mx.sym.sigmoid(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="conv"))
    return _tail(mx, mx.sym.IdentityAttachKLSparseReg(hidden, name="kl", momentum=0.5))


def _after(make: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Return a network in which something is between a layer and the `BatchNorm`."""
    return lambda mx: _tail(mx, _norm(mx, make(mx, _layer(mx))))


NETWORKS: dict[str, Callable[[Any], Any]] = {
    "plain": lambda mx: _tail(mx, _norm(mx, _layer(mx))),
    "v1": lambda mx: _tail(mx, mx.sym.BatchNorm_v1(_layer(mx), name="bn", momentum=0.5, fix_gamma=False)),
    "sync": lambda mx: _tail(
        mx, mx.sym.contrib.SyncBatchNorm(_layer(mx), name="bn", momentum=0.5, fix_gamma=False, key="bn")
    ),
    "global": lambda mx: _tail(mx, _norm(mx, _layer(mx), use_global_stats=True)),
    "sparse-reg": _sparse_reg,
    "two": _two,
    "blocked-before": _after(lambda mx, x: mx.sym.BlockGrad(x)),
    "blocked-behind": lambda mx: _tail(mx, mx.sym.BlockGrad(_norm(mx, _layer(mx)))),
    "one-way-blocked": lambda mx: (lambda y: _tail(mx, y + mx.sym.BlockGrad(y)))(_norm(mx, _layer(mx))),
    "loss-before": _after(lambda mx, x: mx.sym.MakeLoss(x)),
    "softmax-before": _after(
        lambda mx, x: mx.sym.SoftmaxOutput(x, mx.sym.var("l"), multi_output=True, name="first")
    ),
    "floor-before": _after(lambda mx, x: mx.sym.floor(x)),
    "compare-before": _after(lambda mx, x: x > 0),
    "sign-before": _after(lambda mx, x: mx.sym.sign(x)),
    "argmax-before": _after(lambda mx, x: mx.sym.argmax(x, axis=1, keepdims=True)),
    "one-hot-before": _after(lambda mx, x: mx.sym.one_hot(x, depth=3)),
    "condition-before": _after(lambda mx, x: mx.sym.where(x, mx.sym.var("p"), mx.sym.var("q"))),
    "size-before": _after(lambda mx, x: mx.sym.broadcast_like(mx.sym.var("p"), x)),
    "index-before": _after(
        lambda mx, x: mx.sym.pick(mx.sym.var("p"), mx.sym.sum(x, axis=1), axis=1, keepdims=True)
    ),
}
WANTED: list[tuple[str, ...]] = [
    (), ("data",), ("conv_weight",), ("bn_gamma",), ("bn_beta",), ("fc_weight",), ("fc_bias",), ("p",), ("l",),
    ("conv1_weight",), ("conv_weight", "fc_weight"), ("bn_gamma", "fc_weight"),
]  # fmt: skip
CALLS = ("step", "forward", "inference", "twice")


def cases() -> Iterator[tuple[str, str, tuple[str, ...], str, str]]:
    """Yield the name, the network, what gets gradients, ``'write'`` or ``'add'``, and the calls of each case."""
    for network in NETWORKS:
        for wanted in WANTED:
            for request in ("write", "add") if network in ("plain", "two") else ("write",):
                for calls in CALLS if network in ("plain", "two") else CALLS[:1]:
                    yield f"{network} {'+'.join(wanted)} {request} {calls}", network, wanted, request, calls


def has(symbol: Any, wanted: tuple[str, ...]) -> bool:
    """Return whether a network has all these arguments."""
    return set(wanted) <= set(symbol.list_arguments())


def run(
    mx: Any,
    symbol: Any,
    wanted: tuple[str, ...],
    request: str,
    calls: str,
    settle: Callable[[], None],
    **how: Any,
) -> States:
    """Bind, run the steps, and return the auxiliary states."""
    names = symbol.list_arguments()
    shapes = {name: shape for name, shape in SHAPES.items() if name in names}
    requests = {name: request if name in wanted else "null" for name in names}
    exe = symbol.simple_bind(mx.cpu(), grad_req=requests, **shapes, **how)
    random = np.random.RandomState(0)
    for array in exe.arg_dict.values():
        array[:] = random.uniform(-1, 1, array.shape)
    exe.arg_dict["data"][:] = DATA
    exe.arg_dict["label"][:] = [0, 1, 1, 0]
    for array in exe.aux_dict.values():
        array[:] = 0.5
    for _ in range(STEPS):
        exe.forward(is_train=calls != "inference")
        for _ in range({"forward": 0, "twice": 2}.get(calls, 1)):
            exe.backward()
    settle()
    return {name: array.asnumpy().ravel().tolist() for name, array in exe.aux_dict.items()}


def module_states(
    mx: Any, devices: int, trained: tuple[str, ...], settle: Callable[[], None], **how: Any
) -> States:
    """Train a module of which all but some parameters are fixed; return the auxiliary states."""
    symbol = NETWORKS["two"](mx)
    fixed = [name for name in symbol.list_arguments() if name not in ("data", "label", *trained)]
    module = mx.mod.Module(
        symbol,
        label_names=["label"],
        context=[mx.cpu(i) for i in range(devices)],
        fixed_param_names=fixed,
        **how,
    )
    module.bind([("data", DATA.shape)], [("label", (4,))])
    mx.random.seed(0)
    module.init_params(mx.init.One())
    module.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 0.0})
    batch = mx.io.DataBatch([mx.nd.array(DATA)], [mx.nd.array([0, 1, 1, 0])])
    for _ in range(4):
        module.forward_backward(batch)
        module.update()
    settle()
    return {name: array.asnumpy().ravel().tolist() for name, array in module.get_params()[1].items()}


MODULES = [
    (devices, trained)
    for devices in (1, 2)
    for trained in ((), ("fc_weight", "fc_bias"), ("bn_beta",), ("conv1_weight", "fc_bias"), ("conv_weight",))
]
MODES = ("record backward", "record", "train", "predict backward", "none")
MARKED: list[tuple[str, ...]] = [("x",), ("gamma",), ("weight",), ("x", "gamma", "weight")]


def called(
    mx: Any, mode: str, marked: tuple[str, ...], blocked: bool, as_graph: bool, settle: Callable[[], None]
) -> States:
    """Call `nd.BatchNorm`, or a `CachedOp` with one, on arrays some of which are marked; return the states."""
    arrays = {name: mx.nd.array([1.5, -0.5]) for name in ("gamma", "beta", "weight")}
    arrays["x"] = mx.nd.array(DATA.reshape(-1, 2))
    mean, variance = mx.nd.zeros((2,)), mx.nd.ones((2,))
    for name in marked:
        arrays[name].attach_grad()
    autograd = mx.autograd
    scope = {
        "record": autograd.record, "train": autograd.train_mode, "none": contextlib.nullcontext,
        "predict": lambda: autograd.record(train_mode=False),
    }[mode.split()[0]]  # fmt: skip

    def network(space: Any, x: Any, gamma: Any, beta: Any, weight: Any, mean: Any, variance: Any) -> Any:
        hidden = x * 2
        if blocked:
            hidden = space.BlockGrad(hidden)
        normed = space.BatchNorm(hidden, gamma, beta, mean, variance, momentum=0.5, fix_gamma=False)
        return space.broadcast_mul(normed, space.reshape(weight, shape=(1, 2))).sum()

    names = ("x", "gamma", "beta", "weight")
    if as_graph:
        variables = [mx.sym.var(name) for name in (*names, "mean", "variance")]
        graph = network(mx.sym, *variables)
        op = mx.nd.CachedOp(graph) if hasattr(mx.nd, "CachedOp") else mx._ctypes.ndarray.CachedOp(graph)
        given = {**arrays, "mean": mean, "variance": variance}
        with scope():
            result = op(*[given[name] for name in graph.list_inputs()])
    else:
        with scope():
            result = network(mx.nd, *[arrays[name] for name in names], mean, variance)
    if mode.endswith("backward"):
        result.backward()
    settle()
    return {"mean": mean.asnumpy().tolist(), "variance": variance.asnumpy().tolist()}


CALLED = [
    (mode, marked, blocked, as_graph)
    for mode in MODES
    for marked in MARKED
    for blocked in (False, True)
    for as_graph in (False, True)
]
