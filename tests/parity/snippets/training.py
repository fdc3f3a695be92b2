"""What programs derive from and reach into: optimizers, iterators, names of modules."""

from __future__ import annotations

from typing import Any


def _updated(base: str, override: Any) -> Any:
    """Return a snippet that updates a weight with an optimizer that overrides something."""

    def run(mx: Any) -> Any:
        own = type("Own", (getattr(mx.optimizer, base),), override)(learning_rate=0.1)
        weight = mx.nd.ones((2,))
        own.update(0, weight, mx.nd.ones((2,)), own.create_state(0, weight))
        return weight, own.aggregate_num

    return run


def _batches(mx: Any) -> Any:
    """An iterator with `iter_next` and `getdata` alone."""

    class Own(mx.io.DataIter):
        count = 0

        def iter_next(self) -> bool:
            self.count += 1
            return self.count < 3

        def getdata(self) -> Any:
            return [mx.nd.ones((1,)) * self.count]

    return [[batch.data, batch.label, batch.pad, batch.index] for batch in Own()]


def _network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def _names(module: Any) -> Any:
    return [module._fixed_param_names, module._state_names, module._params_dirty]


def _module(mx: Any) -> Any:
    module = mx.mod.Module(_network(mx), fixed_param_names=["fc_bias"])
    before = [*_names(module), module._grad_req]
    module.bind([("data", (2, 3))], [("softmax_label", (2,))], grad_req="add")
    return [before, _names(module), module._grad_req]


def _bucketing_module(mx: Any) -> Any:
    module = mx.mod.BucketingModule(
        lambda key: (_network(mx), ("data",), ("softmax_label",)),
        default_bucket_key=1,
        fixed_param_names=["fc_bias"],
    )
    module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    return _names(module)


SNIPPETS = {
    "adam_get_lr": _updated("Adam", {"_get_lr": lambda self, index: 0.5}),
    "adam_get_lrs": _updated("Adam", {"_get_lrs": lambda self, indices: [0.5 for _ in indices]}),
    "rmsprop_get_lr": _updated("RMSProp", {"_get_lr": lambda self, index: 0.5}),
    "sgd_get_lr": _updated("SGD", {"_get_lr": lambda self, index: 0.5}),
    "sgd_get_lrs": _updated("SGD", {"_get_lrs": lambda self, indices: [0.5 for _ in indices]}),
    "adagrad_get_wd": _updated("AdaGrad", {"_get_wd": lambda self, index: 0.5}),
    "iterator": _batches,
    "getters": lambda mx: [
        getattr(mx.io.DataIter(), name)() for name in ("getdata", "getlabel", "getindex", "getpad")
    ],
    "names_of_a_module": _module,
    "names_of_a_bucketing_module": _bucketing_module,
}
