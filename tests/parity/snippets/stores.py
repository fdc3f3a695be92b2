"""Key-value stores of one process: names, keys and lists, who updates, compressed gradients, what is refused."""

from __future__ import annotations

from typing import Any

KINDS = [
    "local",
    "device",
    "local_update_cpu",
    "local_allreduce_cpu",
    "local_allreduce_device",
    "Device",
    "teststore",
]


def _pushed(kv: Any, mx: Any, key: Any, *values: Any) -> Any:
    """Push one value for each device, and return what is pulled."""
    kv.push(key, [mx.nd.array(value, ctx=mx.cpu(k)) for k, value in enumerate(values)])
    kv.pull(key, out=(out := mx.nd.zeros((len(values[0]),))))
    return out


def _what_it_is(kind: str) -> Any:
    def run(mx: Any) -> Any:
        kv = mx.kv.create(kind)
        return [kv.type, kv.rank, kv.num_workers, kv.is_capable("optimizer")]

    return run


def _after(*calls: Any, kind: str = "device") -> Any:
    """Return a snippet that makes calls of a store with two keys, and returns what the last one does."""

    def run(mx: Any) -> Any:
        kv = mx.kv.create(kind)
        kv.init(["a", "b"], [mx.nd.zeros((3,)), mx.nd.ones((3,))])
        return [call(kv, mx) for call in calls][-1]

    return run


def _compression(params: Any, kind: str = "device") -> Any:
    return _after(lambda kv, mx: kv.set_gradient_compression(params), kind=kind)


def _summed(kind: str) -> Any:
    def run(mx: Any) -> Any:
        kv = mx.kv.create(kind)
        first, given = mx.nd.zeros((2,)), [mx.nd.array([1, 2]), mx.nd.array([3, 4])]
        kv.broadcast("w", mx.nd.array([5, 6]), out=first)
        kv.pushpull("w", given, out=(second := mx.nd.zeros((2,))))
        kv.pushpull("w", given)
        return [first, second, given]

    return run


def _registered(mx: Any) -> Any:
    class Nowhere(mx.kv.KVStoreBase):
        pass

    returned = mx.kv.KVStoreBase.register(Nowhere)
    return [returned is Nowhere, isinstance(mx.kv.create("NoWhere"), Nowhere)]


def _trained_with_a_store_of_its_own(updates: bool, devices: int) -> Any:
    """Train with a store as programs write them for MXNet; return the weights, and what it was asked."""

    def run(mx: Any) -> Any:
        calls: list[Any] = []

        class Mine(mx.kv.KVStoreBase):
            type, rank, num_workers = "mine", 0, 1

            def __init__(self) -> None:  # it calls no other one
                self.values: dict[str, Any] = {}

            @staticmethod
            def is_capable(capability: str) -> bool:
                return updates

            def set_optimizer(self, optimizer: Any) -> None:
                calls.append(["set_optimizer"])

            def init(self, key: Any, value: Any) -> None:
                calls.append(["init", key])
                self.values[key] = value.copy()

            def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
                calls.append(["broadcast", key, len(out)])
                self.values[key] = value.copy()
                self.pull(key, out)

            def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
                calls.append(["pushpull", key, len(value), out is None, priority])
                total = sum(value[1:], value[0].copy())
                self.values[key] = self.values[key] - total * 0.5 if updates else total
                self.pull(key, value if out is None else out)

            def pull(self, key: Any, out: Any, priority: int = 0, ignore_sparse: bool = True) -> None:
                for each in out:
                    self.values[key].copyto(each)

        mx.kv.KVStoreBase.register(Mine)
        x = mx.nd.array([[1, 2], [3, 4], [5, 6], [7, 8]])
        net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
        module = mx.mod.Module(
            mx.sym.SoftmaxOutput(net, name="softmax"), context=[mx.cpu(k) for k in range(devices)]
        )
        module.fit(
            mx.io.NDArrayIter(x, mx.nd.array([0, 1, 1, 0]), 2, label_name="softmax_label"),
            kvstore=mx.kv.create("mine"),
            initializer=mx.init.Constant(0.25),
            optimizer_params={"learning_rate": 0.5},
            num_epoch=2,
        )
        return [module.get_params()[0]["fc_weight"], calls]

    return run


def _updater(kv: Any, mx: Any) -> Any:
    def update(key: Any, received: Any, stored: Any) -> None:
        stored += received * 2

    kv._set_updater(update)
    return _pushed(kv, mx, "b", [1, 2, 3], [1, 1, 1])


def _optimizer(kv: Any, mx: Any) -> Any:
    kv.set_optimizer(mx.optimizer.create("sgd", learning_rate=0.5, momentum=0.5))
    return [_pushed(kv, mx, "b", [1, 2, 3]) for _ in range(2)]


def _two_bits(kv: Any, mx: Any) -> Any:
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    return [_pushed(kv, mx, "a", [0.3, 0.5, -0.6], [0.1, 0.2, 2.0]) for _ in range(6)]


def _two_bits_by_pushpull(kv: Any, mx: Any) -> Any:
    kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
    given = [mx.nd.array([0.3, 0.5, -0.6]), mx.nd.array([0.1, 0.6, -0.7], ctx=mx.cpu(1))]
    kv.pushpull("a", given)
    return given


REFUSED: dict[str, Any] = {
    "no_type": {"threshold": 0.5},
    "nothing": {},
    "another_type": {"type": "3bit"},
    "capitals": {"type": "2BIT"},
    "no_threshold_at_all": {"type": "2bit", "threshold": 0},
    "a_threshold_below_zero": {"type": "2bit", "threshold": -1},
    "a_threshold_that_is_no_number": {"type": "2bit", "threshold": "abc"},
    "no_dict": "2bit",
    "none": None,
}

SNIPPETS = {
    **{f"what_{kind}_is": _what_it_is(kind) for kind in KINDS},
    **{f"sums_of_{kind}": _summed(kind) for kind in ("local", "device", "teststore")},
    **{f"compression_{name}": _compression(params) for name, params in REFUSED.items()},
    "compression_of_local": _compression({"type": "2bit"}, "local"),
    "compression_by_text": _compression({"type": "2bit", "threshold": "0.25"}),
    "compression_of_local_allreduce_device": _compression({"type": "2bit"}, "local_allreduce_device"),
    "two_bits": _after(_two_bits),
    "two_bits_by_pushpull": _after(_two_bits_by_pushpull),
    "a_function_updates": _after(_updater),
    "an_optimizer_updates": _after(_optimizer),
    "registered": _registered,
    **{
        f"fit_with_a_store_of_its_own_{'that_updates_' if updates else ''}on_{devices}": (
            _trained_with_a_store_of_its_own(updates, devices)
        )
        for updates in (False, True)
        for devices in (1, 2)
    },
    "another_capability": _after(lambda kv, mx: kv.is_capable("other")),
    "an_int_among_strings": _after(lambda kv, mx: kv.init(3, mx.nd.ones((3,)))),
    "mixed_in_a_list": _after(lambda kv, mx: kv.push(["a", 3], [mx.nd.ones((3,))] * 2)),
    "set_twice": _after(lambda kv, mx: kv.init("a", mx.nd.ones((3,)))),
    "pull_without_out": _after(lambda kv, mx: kv.pull("a")),
    "barrier": _after(lambda kv, mx: kv._barrier()),
}
