"""Optimizers of a program's own, and updaters, for MXNet and for rebind: `mx` is either."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

#: What an update calls. A subclass may override any of them.
HOOKS = (
    "create_state", "create_state_multi_precision", "update", "update_multi_precision", "_update_impl",
    "_set_current_context", "_update_count", "_get_lr", "_get_lrs", "_get_wd", "_get_wds",
)  # fmt: skip
#: The rates, which a subclass may change.
RATES = ("_get_lr", "_get_lrs", "_get_wd", "_get_wds", "learning_rate")

#: Every optimizer of MXNet 1.9.1, with settings.
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "sgd": {"momentum": 0.9}, "ccsgd": {}, "nag": {"momentum": 0.9}, "signum": {}, "sgld": {}, "dcasgd": {},
    "lars": {"momentum": 0.9, "eta": 0.1}, "lamb": {}, "lbsgd": {"momentum": 0.9, "updates_per_epoch": 2},
    "ftml": {}, "ftrl": {}, "adam": {}, "adamax": {}, "nadam": {}, "rmsprop": {}, "adagrad": {}, "adadelta": {},
    "groupadagrad": {"wd": 0.0}, "test": {},
}  # fmt: skip
STEPS = 2
_COMMON = {"learning_rate": 0.05, "wd": 0.1, "rescale_grad": 0.25}


@dataclass(frozen=True)
class Setting:
    """How a module is trained."""

    devices: int = 1
    #: What is given to `init_optimizer`; "object" is a store itself.
    kvstore: str | None = "local"
    environment: Mapping[str, str] = field(default_factory=dict)
    #: What the program sets on the optimizer; only for those that take several weights at once.
    aggregate_num: int | None = None


SETTINGS = {
    "one device": Setting(),
    "two devices": Setting(2, None),
    "a store": Setting(1, "object"),
    "two devices, a store": Setting(2),
    "two devices, a store that sums": Setting(2, "local", {"MXNET_UPDATE_ON_KVSTORE": "0"}),
    "an environment": Setting(environment={"MXNET_OPTIMIZER_AGGREGATION_SIZE": "2"}),
    "one without a tuple": Setting(environment={"MXNET_OPTIMIZER_AGGREGATION_SIZE": "0"}),
    "one": Setting(aggregate_num=1),
    "two": Setting(aggregate_num=2),
    "a store, two": Setting(1, "object", aggregate_num=2),
}
_IN_LISTS = ("sgd", "ccsgd", "lars", "lamb")


def cases() -> Iterator[tuple[str, str]]:
    """Yield each optimizer with each setting that concerns it."""
    for name in OPTIMIZERS:
        for key, setting in SETTINGS.items():
            # LARS with single weights fails in MXNet.
            fails = name == "lars" and key == "one without a tuple"
            if not fails and (setting.aggregate_num is None or name in _IN_LISTS):
                yield name, key


def described(value: Any) -> Any:
    """Return an argument as it is recorded: indices themselves, the kind of everything else."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(str(described(each)) for each in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    if isinstance(value, (bool, int, str, bytes, type(None))):
        return repr(value)
    return "dict" if isinstance(value, dict) else type(value).__name__


def call(name: str, arguments: Sequence[Any], more: Mapping[str, Any] | None = None) -> str:
    """Return a call as text."""
    given = [
        *map(described, arguments),
        *(f"{key}={described(value)}" for key, value in (more or {}).items()),
    ]
    return f"{name}({', '.join(given)})"


def recorded(kind: type, hooks: Sequence[str], calls: list[str]) -> type:
    """Return a subclass whose methods `hooks` are overridden: they record their calls, and do as before."""

    def override(hook: str) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any, **more: Any) -> Any:
            calls.append(call(hook, arguments, more))
            return getattr(super(made, self), hook)(*arguments, **more)

        return method

    made: type = type(f"Recorded{kind.__name__}", (kind,), {hook: override(hook) for hook in hooks})
    return made


def changed(kind: type, hook: str) -> type:
    """Return a subclass in which the method or property `hook` returns three times what it did."""

    def method(self: Any, *arguments: Any) -> Any:
        found = getattr(super(made, self), hook)(*arguments)
        return [3 * each for each in found] if isinstance(found, list) else 3 * found

    def rate(self: Any) -> float:
        return 3 * super(made, self).learning_rate

    override: Any = property(rate) if hook == "learning_rate" else method
    made: type = type(f"Changed{kind.__name__}", (kind,), {hook: override})
    return made


def make(kind: type, name: str, setting: Setting) -> Any:
    """Return an optimizer of a kind with the settings of `name`."""
    with environment(setting):
        optimizer = kind(**{**_COMMON, **OPTIMIZERS.get(name, {})})
    if setting.aggregate_num is not None:
        optimizer.aggregate_num = setting.aggregate_num
    return optimizer


@contextmanager
def environment(setting: Setting) -> Iterator[None]:
    """Set the variables of a setting."""
    os.environ.update(setting.environment)
    try:
        yield
    finally:
        for name in setting.environment:
            del os.environ[name]


class Program:
    """A module with six parameters, which can be trained from the same values any number of times."""

    def __init__(self, mx: Any, setting: Setting, biases: bool = True) -> None:
        self.mx, self.setting = mx, setting
        net = mx.sym.var("data")
        for k in range(3 if biases else 6):
            net = mx.sym.FullyConnected(net, num_hidden=3, no_bias=not biases, name=f"fc{k}")
        self.module = mx.mod.Module(
            mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(k) for k in range(setting.devices)]
        )
        self.module.bind([("data", (4, 3))], [("softmax_label", (4,))])
        random = np.random.RandomState(3)
        self.first = {
            name: random.uniform(-0.8, 0.8, (3, 3) if name.endswith("weight") else (3,)).astype("float32")
            for name in net.list_arguments()[1:]
        }
        self.batch = mx.io.DataBatch(
            [mx.nd.array(random.uniform(-1, 1, (4, 3)))], [mx.nd.array([0, 1, 2, 1])]
        )

    def start(self, optimizer: Any) -> None:
        """Start over with an optimizer."""
        mx, kvstore = self.mx, self.setting.kvstore
        self.module.set_params({name: mx.nd.array(value) for name, value in self.first.items()}, {})
        with environment(self.setting):
            self.module.init_optimizer(
                mx.kv.create("local") if kvstore == "object" else kvstore,
                optimizer,
                force_init=True,
            )

    def train(self) -> np.ndarray:
        """Make some steps; return all parameters as one array."""
        for _ in range(STEPS):
            self.module.forward(self.batch, is_train=True)
            self.module.backward()
            self.module.update()
        self.mx.nd.waitall()
        found = self.module.get_params()[0]
        return np.concatenate([found[name].asnumpy().ravel() for name in self.first])


#: Those that MXNet trains with master copies.
MIXED = ("sgd", "nag", "lars", "signum", "adam", "ftrl", "rmsprop")


def mixed(mx: Any, kind: type) -> np.ndarray:
    """Update weights of two types with an optimizer of a kind, with master copies; return the weights."""
    names = {0: "a_weight", 1: "b_weight", 2: "c_bias"}
    updater = mx.optimizer.get_updater(
        kind(learning_rate=0.1, wd=0.1, multi_precision=True, param_idx2name=names)
    )
    types = ("float16", "float32", "float16")
    weights = [mx.nd.array([1, 2, 3], dtype=each) for each in types]
    grads = [mx.nd.array([0.5, -0.5, 0.25], dtype=each) for each in types]
    for _ in range(STEPS):
        updater((0, 1, 2), tuple(grads), tuple(weights))
    return np.concatenate([each.asnumpy().astype("float32") for each in weights])


# What a program may put in the place of MXNet's: `start(program, calls)` does.


def own_optimizer(mx: Any, calls: list[str], **attributes: Any) -> Any:
    """Return an optimizer with `create_state` and `update` alone, which takes lists where it says so."""

    class Own(mx.optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> Any:
            calls.append(call("create_state", [index, weight]))
            return mx.nd.zeros(weight.shape, ctx=weight.context)

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            calls.append(call("update", [index, weight, grad, state]))
            if isinstance(index, tuple):
                for each in zip(index, weight, grad, state):
                    self.one(*each)
            else:
                self.one(index, weight, grad, state)

        def one(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            self._update_count(index)
            state[:] = 0.5 * state + grad * self.rescale_grad
            weight[:] = weight - self._get_lr(index) * (state + self._get_wd(index) * weight)

    made = Own(learning_rate=0.1, wd=0.1, rescale_grad=0.25)
    vars(made).update(attributes)
    return made


def descend(calls: list[str]) -> Callable[..., None]:
    """Return a function that updates a weight, or several."""

    def function(index: Any, grad: Any, weight: Any) -> None:
        calls.append(call("function", [index, grad, weight]))
        pairs = zip(grad, weight) if isinstance(grad, (list, tuple)) else [(grad, weight)]
        for gradient, one in pairs:
            one[:] = one - 0.1 * gradient

    return function


def _updater_kind(mx: Any, calls: list[str]) -> type:
    class Own(mx.optimizer.Updater):
        def __call__(self, index: Any, grad: Any, weight: Any) -> None:
            calls.append(call("Updater", [index, grad, weight]))
            super().__call__(index, grad, weight)

    return Own


def _with_function(program: Program, calls: list[str]) -> None:
    program.start(program.mx.optimizer.SGD(learning_rate=0.1, rescale_grad=0.25))
    if program.module._update_on_kvstore:
        program.module._kvstore._set_updater(descend(calls))
    else:
        program.module._updater = descend(calls)


def _with_updater(program: Program, calls: list[str]) -> None:
    program.start(program.mx.optimizer.SGD(learning_rate=0.1, momentum=0.9, rescale_grad=0.25))
    updater = _updater_kind(program.mx, calls)(program.module._optimizer)
    if program.module._update_on_kvstore:
        program.module._kvstore._set_updater(updater)
    else:
        program.module._updater = updater


def _with_get_updater(program: Program, calls: list[str]) -> None:
    kind, space = _updater_kind(program.mx, calls), program.mx.optimizer
    usual, space.get_updater = space.get_updater, kind
    try:
        program.start(space.SGD(learning_rate=0.1, momentum=0.9, rescale_grad=0.25))
    finally:
        space.get_updater = usual


def _own(**attributes: Any) -> Callable[[Program, list[str]], None]:
    return lambda program, calls: program.start(own_optimizer(program.mx, calls, **attributes))


PROGRAMS: dict[str, Callable[[Program, list[str]], None]] = {
    "an optimizer": _own(),
    "an optimizer that takes one": _own(aggregate_num=1),
    "an optimizer that takes two": _own(aggregate_num=2),
    "a function": _with_function,
    "an updater": _with_updater,
    "get_updater": _with_get_updater,
}
