"""`LocalUpdate` and `StoreUpdate`: whichever updates, the weights and states are the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind.kvstore import Capabilities, KVStore
from rebind.module.parameters import Trained
from rebind.module.update import LocalUpdate, StoreUpdate
from rebind.module.update_policy import UpdatePolicy

NAMES = ["w", "b"]
SHAPES = {"w": (2, 3), "b": (2,)}


def optimizer() -> Any:
    return mx.optimizer.create("adam", learning_rate=0.1, wd=0.01)


class Own(mx.optimizer.Adam):
    """An optimizer of a program's own: its methods are called as in MXNet, weight by weight and device by device."""

    def _get_lr(self, index: Any) -> float:
        return super()._get_lr(index)


def local(devices: int, store: Any = None) -> UpdatePolicy:
    return LocalUpdate(optimizer(), NAMES, store, num_devices=devices)


POLICIES = {
    "local": local,
    "local, sums in a store": lambda devices: local(devices, mx.kv.create("local")),
    "local, sums on a device": lambda devices: local(devices, mx.kv.create("device")),
    "store": lambda devices: StoreUpdate(optimizer(), NAMES, mx.kv.create("local")),
    "local, methods of its own": lambda devices: LocalUpdate(
        Own(learning_rate=0.1, wd=0.01), NAMES, num_devices=devices
    ),
    "store, methods of its own": lambda devices: StoreUpdate(
        Own(learning_rate=0.1, wd=0.01), NAMES, mx.kv.create("local")
    ),
    "store on a device": lambda devices: StoreUpdate(optimizer(), NAMES, mx.kv.create("device")),
}


class Weights:
    """The arrays that a policy updates; `by_device` is all that it asks of the parameters."""

    def __init__(self, devices: int) -> None:
        self.arrays = {
            name: [nd.ones(shape, ctx=mx.cpu(k)) for k in range(devices)] for name, shape in SHAPES.items()
        }

    def by_device(self) -> Any:
        return self.arrays

    def trained(self, step: int) -> list[Trained]:
        """Gradients whose sum over the devices does not depend on how many there are."""
        random, found = np.random.RandomState(step), []
        for name, arrays in self.arrays.items():
            whole = random.randint(-8, 8, SHAPES[name])
            grads = [nd.array(whole / len(arrays), ctx=array.device) for array in arrays]
            found.append(Trained(name, arrays, grads))
        return found

    def numbers(self) -> list[list[Any]]:
        return [[each.asnumpy().tolist() for each in arrays] for arrays in self.arrays.values()]


def run(policy: Any, weights: Weights, steps: range) -> list[list[Any]]:
    for step in steps:
        policy.update(weights.trained(step))
    return weights.numbers()


def started(make: Any, devices: int) -> tuple[Any, Weights]:
    policy, weights = make(devices), Weights(devices)
    policy.start_from(weights)
    return policy, weights


EXPECTED = run(*started(local, 1), range(4))


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("devices", [1, 2, 4])
def test_all_update_the_same(make: Any, devices: int) -> None:
    found = run(*started(make, devices), range(4))
    assert found == [[arrays[0]] * devices for arrays in EXPECTED]


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("after", [1, 2, 4])
def test_a_state_continues_on_another_number_of_devices(make: Any, after: int) -> None:
    policy, weights = started(make, 2)
    run(policy, weights, range(2))
    again, others = make(after), Weights(after)
    for name, arrays in others.arrays.items():
        for array in arrays:
            weights.arrays[name][0].copyto(array)
    again.start_from(others)
    again.load_state_dict(policy.state_dict())
    assert run(again, others, range(2, 4)) == [[arrays[0]] * after for arrays in EXPECTED]


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_states_come_back_from_a_file(make: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "it.states")
    policy, weights = started(make, 2)
    run(policy, weights, range(2))
    policy.save_states(path)
    again = make(2)
    again.load_states(path)
    for name in NAMES:
        for key in policy.keys(name):
            for mine, its in zip(again.updater.states[key], policy.updater.states[key], strict=True):
                assert mine.asnumpy().tolist() == its.asnumpy().tolist()


class Ready(KVStore):
    """A store that takes gradients as they become ready, and remembers the order."""

    capabilities = Capabilities(takes_ready_gradients=True)

    def __init__(self) -> None:
        super().__init__()
        self.pushed: list[Any] = []

    def push(self, key: Any, value: Any, priority: int = 0) -> None:
        """Remember the keys, and push."""
        self.pushed.append(key)
        super().push(key, value, priority)

    def begin_push(self, keys: Any, sparse: Any = ()) -> None:
        """Remember in which order they are expected."""
        self.pushed.append(tuple(keys))

    def push_ready(self, key: Any, value: Any) -> None:
        """Push at once."""
        self.push(key, value)

    def end_push(self) -> None:
        """Remember that all were pushed."""
        self.pushed.append("end")


@pytest.mark.parametrize(
    "make",
    [lambda store: local(2, store), lambda store: StoreUpdate(optimizer(), NAMES, store)],
    ids=["local", "store"],
)
def test_a_gradient_that_is_ready_is_pushed_at_once(make: Any) -> None:
    store = Ready()
    policy, weights = make(store), Weights(2)
    policy.start_from(weights)
    for step in range(4):
        trained = weights.trained(step)
        ready = policy.start_sending(trained)
        ready("b")
        ready("data")  # an input, whose gradient is none of the store's
        if step == 3:
            ready("w")
        policy.update(trained)
    assert weights.numbers() == [[arrays[0]] * 2 for arrays in EXPECTED]
    assert store.pushed == [("b", "w"), "b", ["w"]] * 3 + [("b", "w"), "b", "w", "end"]


@pytest.mark.parametrize("make", POLICIES.values(), ids=POLICIES)
def test_other_stores_take_gradients_together(make: Any) -> None:
    policy, weights = started(make, 2)
    assert policy.start_sending(weights.trained(0)) is None


class Named(mx.optimizer.Optimizer):
    """Notes the name of each weight that it is to update."""

    seen: list[str] = []

    def create_state(self, index, weight):
        return None

    def update(self, index, weight, grad, state):
        self.seen.append(self.idx2name[index])


@pytest.mark.parametrize("kvstore", [None, "local", mx.kv.create("local")], ids=["none", "text", "store"])
@pytest.mark.parametrize("count", [1, 2])
def test_an_optimizer_of_a_programs_own_finds_names_by_whatever_index_it_gets(kvstore, count):
    """A number where the module updates, a name where the store does."""
    Named.seen.clear()
    layer = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    net = mx.sym.SoftmaxOutput(layer, name="softmax")
    batches = mx.io.NDArrayIter(np.ones((4, 3)), np.zeros(4), batch_size=4)
    module = mx.mod.Module(net, context=[mx.cpu(i) for i in range(count)])
    # Where the module updates, each device's copy of a weight has a number.
    names = [name for name in ("fc_weight", "fc_bias") for _ in range(count if kvstore is None else 1)]
    module.fit(
        batches,
        num_epoch=1,
        kvstore=kvstore,
        optimizer=Named(rescale_grad=1 / 4, param_idx2name=dict(enumerate(names))),
    )
    assert sorted(Named.seen) == sorted(names)
