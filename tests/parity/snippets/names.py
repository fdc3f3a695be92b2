"""`CachedOp`, stores and metrics made by name, types of operators' arguments, arrays and symbols set from pickles."""

from __future__ import annotations

import json
from typing import Any


def _dense(mx: Any) -> tuple[Any, list[Any]]:
    net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
    return mx.nd.CachedOp(net), [mx.nd.ones((2, 3)), mx.nd.ones((2, 3)), mx.nd.ones((2,))]


def _called(mx: Any) -> Any:
    op, arrays = _dense(mx)
    return op(*arrays)


def _called_with_flags(mx: Any) -> Any:
    op = mx.nd.CachedOp(mx.sym.Group([mx.sym.var("x") + 1, mx.sym.var("x") * 2]), [("static_alloc", True)])
    return op(mx.nd.array([3]), mx.nd.array([4]))


def _called_into(mx: Any) -> Any:
    op, arrays = _dense(mx)
    out = mx.nd.zeros((2, 2))
    op(*arrays, out=out)
    return out


def _gradients(mx: Any) -> Any:
    op, arrays = _dense(mx)
    for array in arrays:
        array.attach_grad()
    with mx.autograd.record():
        out = op(*arrays)
    out.backward()
    return [array.grad for array in arrays]


def _loss(mx: Any) -> Any:
    op = mx.nd.CachedOp(mx.sym.SoftmaxOutput(mx.sym.var("x"), mx.sym.var("y")))
    x = mx.nd.array([[1, 2], [3, 1]])
    x.attach_grad()
    with mx.autograd.record():
        out = op(x, mx.nd.array([0, 1]))
    out.backward()
    return [out, x.grad]


def _statistics(mx: Any) -> Any:
    op = mx.nd.CachedOp(mx.sym.BatchNorm(mx.sym.var("x"), fix_gamma=False))
    x, gamma, beta = mx.nd.array([[1, 2], [3, 5]]), mx.nd.ones((2,)), mx.nd.zeros((2,))
    mean, var = mx.nd.zeros((2,)), mx.nd.ones((2,))
    x.attach_grad()
    with mx.autograd.record():
        out = op(x, gamma, beta, mean, var)
    out.backward()  # MXNet writes the statistics here, rebind in forward
    return [out, mean, var]


def _store(mx: Any) -> Any:
    class Mine(mx.kvstore.KVStoreBase):  # type: ignore[misc]
        def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> str:
            return "broadcast"

    same = mx.kvstore.KVStoreBase.register(Mine) is Mine
    return [same, type(mx.kv.create("mine")).__name__, type(mx.kv.create("Mine")).__name__]


def _set_array(mx: Any) -> Any:
    array = mx.nd.zeros((2,))
    if mx.__name__ == "mxnet":
        state = mx.nd.array([[1, 2, 3]], dtype="int32").__getstate__()
        return [state["handle"].hex(), mx.nd.array([[1, 2, 3]], dtype="int32")]
    record = bytes.fromhex(INT32_RECORD)
    array.__setstate__({"handle": bytearray(record)})
    return [record.hex(), array]


# What MXNet's pickle of `nd.array([[1, 2, 3]], dtype="int32")` holds.
INT32_RECORD = (
    "c9fa93f9000000000200000001000000000000000300000000000000010000000000000004000000010000000200000003000000"
)


def _metric(text: str) -> Any:
    return lambda mx: mx.metric.create(text).get_config()


METRICS = (
    "Accuracy", "TopKAccuracy", "F1", "MCC", "Perplexity", "MAE", "MSE", "RMSE", "CrossEntropy",
    "NegativeLogLikelihood", "PearsonCorrelation", "PCC", "Loss", "Torch", "Caffe",
)  # fmt: skip
NEEDED = {"TopKAccuracy": {"top_k": 3}, "Perplexity": {"ignore_label": None}}


def _again(name: str) -> Any:
    """Return a snippet that makes a metric again from the JSON of its settings."""

    def snippet(mx: Any) -> Any:
        config = getattr(mx.metric, name)(**NEEDED.get(name, {})).get_config()
        again = mx.metric.create(json.dumps(config))
        return [type(again).__name__, again.name, again.label_names, type(mx.metric.create(config)).__name__]

    return snippet


def _composite(mx: Any) -> Any:
    config = mx.metric.create(["acc", "mse"]).get_config()
    return [mx.metric.create(json.dumps(config)).get()[0], [each["metric"] for each in config["metrics"]]]


def _correlation(mx: Any) -> Any:
    metric = mx.metric.PCC()
    labels, scores = mx.nd.array([0, 1, 2, 2, 1]), mx.nd.one_hot(mx.nd.array([0, 1, 2, 1, 0]), depth=4)
    metric.update([labels], [scores])
    first = [int(metric.k), metric.lcm.copy(), metric.gcm.copy(), float(metric._calc_mcc(metric.lcm))]
    metric.reset_local()
    metric.update([labels[:3]], [scores[:3]])
    return [*first, metric.lcm, metric.gcm, int(mx.metric.PCC().k), mx.metric.PCC().lcm]


def _fixed_gamma(mx: Any) -> Any:
    op = mx.nd.CachedOp(mx.sym.BatchNorm(mx.sym.var("x"), fix_gamma=True, name="bn"))
    x, gamma, zeros = mx.nd.array([[1, 2], [3, 6]]), mx.nd.array([5, 5]), mx.nd.zeros((2,))
    arrays = (x, gamma, zeros, zeros.copy(), mx.nd.ones((2,)))
    for each in arrays[:3]:
        each.attach_grad()
    op(*arrays).asnumpy()
    before = gamma.asnumpy()
    with mx.autograd.record():
        out = op(*arrays)
    out.asnumpy()  # MXNet does not wait for who writes into gamma
    return [before, gamma]


SNIPPETS = {
    "cached_fixed_gamma": _fixed_gamma,
    **{f"metric_again_{name}": _again(name) for name in METRICS},
    "metric_composite_again": _composite,
    "metric_of_a_function_config": lambda mx: mx.metric.np(lambda label, pred: 0.0).get_config(),
    "metric_confusion": _correlation,
    "called": _called,
    "called_with_flags": _called_with_flags,
    "called_into": _called_into,
    "called_with_too_few": lambda mx: _dense(mx)[0](mx.nd.ones((2, 3))),
    "called_on_a_number": lambda mx: _dense(mx)[0](1, 2, 3),
    "cached_variable": lambda mx: mx.nd.CachedOp(mx.sym.var("x"))(mx.nd.array([3])),
    "cached_gradients": _gradients,
    "cached_loss": _loss,
    "cached_statistics": _statistics,
    "cached_no_symbol": lambda mx: mx.nd.CachedOp(3),
    "store": _store,
    "array_from_a_pickle": _set_array,
    "array_without_handle": lambda mx: mx.nd.zeros((1,)).__setstate__({}),
    "metric_config": _metric('{"metric": "Accuracy", "name": "mine", "axis": 1}'),
    "metric_pair": _metric('["accuracy", {"axis": 0}]'),
    "metric_unknown": _metric('{"metric": "nope"}'),
    "metric_without_name": _metric('{"axis": 3}'),
    "metric_bad_json": _metric("[1,2"),
    "metric_bad_setting": _metric('{"metric": "Accuracy", "foo": 1}'),
}
