"""Programs with slips that MXNet 1.9.1 runs to their end, for MXNet and for rebind: `mx` is either."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

_RANDOM = np.random.RandomState(5)
POINTS = _RANDOM.rand(8, 4).astype("float32")
CLASSES = np.array([0, 1, 0, 1, 1, 0, 0, 1], "float32")


def network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def bound(mx: Any) -> Any:
    module = mx.mod.Module(network(mx))
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(mx.init.One())
    module.init_optimizer(optimizer_params={"learning_rate": 0.5, "rescale_grad": 0.25})
    return module


def weights(module: Any) -> list[float]:
    return [float(each) for each in module.get_params()[0]["fc_weight"].asnumpy().ravel()]


def fitted(mx: Any, data: Any = None, **settings: Any) -> list[float]:
    module = mx.mod.Module(network(mx))
    module.fit(
        mx.io.NDArrayIter(POINTS, CLASSES, 4) if data is None else data,
        **{
            "num_epoch": 2,
            "initializer": mx.init.One(),
            "optimizer_params": {"learning_rate": 0.5},
            **settings,
        },
    )
    return weights(module)


class TakesOne:
    def __init__(self, param: object) -> None:
        """Take what a callback is given."""


class TakesFour:
    def __init__(self, epoch: int, symbol: object, arg_params: object, aux_params: object) -> None:
        """Take what `epoch_end_callback` is given."""


def _folder_made_meanwhile(mx: Any) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "later")
        made = [
            lambda epoch, *others: os.makedirs(path, exist_ok=True),
            mx.callback.do_checkpoint(f"{path}/net"),
        ]
        found = fitted(mx, epoch_end_callback=made)
        assert os.path.exists(f"{path}/net-0002.params")
    return found


def _step(mx: Any, data: list[Any], label: list[Any] | None, write: Any = None) -> list[float]:
    module = bound(mx)
    module.forward_backward(mx.io.DataBatch([mx.nd.array(POINTS[4:])], [mx.nd.array(CLASSES[4:])]))
    if write is not None:
        module._exec_group.label_arrays[0][0][1][:] = write
    module.forward(mx.io.DataBatch(data, label), is_train=True)
    module.backward()
    module.update()
    return weights(module)


def _batches(mx: Any, handle: Any) -> list[Any]:
    data = mx.io.NDArrayIter(np.arange(10.0), None, 4, last_batch_handle=handle)
    found = []
    for _ in range(3):
        found += [batch.data[0].asnumpy().tolist() for batch in data]
        data.reset()
    return found


def _more_samples(mx: Any, **settings: Any) -> list[Any]:
    """Return batches of arrays that have more samples than the first one."""
    arrays = {"a": np.arange(8.0), "b": np.arange(12.0)}
    data = mx.io.NDArrayIter(arrays, np.arange(10.0), 4, **settings)
    return [[each.asnumpy().tolist() for each in (*batch.data, *batch.label)] for batch in data]


def _more_head_gradients(mx: Any) -> list[float]:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    executor = net.simple_bind(mx.cpu(), data=(4, 4))
    executor.forward(is_train=True, data=mx.nd.array(POINTS[:4]))
    executor.backward([mx.nd.ones((4, 2)), mx.nd.ones((9,))])
    return [float(each) for each in executor.grad_dict["fc_weight"].asnumpy().ravel()]


def _gradients_not_asked_for(mx: Any) -> list[float]:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    arrays = {"data": mx.nd.array(POINTS), "fc_weight": mx.nd.ones((2, 4)), "fc_bias": mx.nd.ones((2,))}
    grads = {"fc_weight": mx.nd.ones((5,))}
    outputs = net.bind(mx.cpu(), arrays, args_grad=grads, grad_req="null").forward(is_train=True)
    return [float(each) for each in outputs[0].asnumpy().ravel()]


def _prefixed(mx: Any) -> list[float]:
    module = bound(mx)
    given = {f"arg:{name}": 3 * value for name, value in module.get_params()[0].items()}
    module.set_params(given, {}, allow_missing=True, allow_extra=True)
    return weights(module)


#: A program, and what rebind says of it; None where that is nothing.
PROGRAMS: dict[str, tuple[Callable[[Any], Any], str | None]] = {
    "a class of MXNet's as batch_end_callback": (
        lambda mx: fitted(mx, batch_end_callback=mx.callback.Speedometer),
        "fit: batch_end_callback must be an instance; got the class Speedometer: each call makes a new object, "
        "which is dropped. Did you mean Speedometer(...)?",
    ),
    "a class as batch_end_callback": (
        lambda mx: fitted(mx, batch_end_callback=[TakesOne]),
        "fit: batch_end_callback must be an instance; got the class TakesOne",
    ),
    "a class as epoch_end_callback": (
        lambda mx: fitted(mx, epoch_end_callback=TakesFour),
        "fit: epoch_end_callback must be an instance; got the class TakesFour",
    ),
    "a folder that another callback makes": (_folder_made_meanwhile, "Or does another callback create it?"),
    "a callback of the wrong arguments without a validation": (
        lambda mx: fitted(mx, eval_end_callback=lambda: None, eval_batch_end_callback=7),
        "fit: eval_end_callback is never called without a validation set; give eval_data",
    ),
    "more arrays in a batch than inputs": (
        lambda mx: _step(mx, [mx.nd.array(POINTS[:4]), mx.nd.ones((4, 9))], [mx.nd.array(CLASSES[:4])]),
        "Module.forward: the batch must hold ['data']; got 2 arrays. The first are used, as in MXNet.",
    ),
    "more labels in a batch than the network has": (
        lambda mx: _step(mx, [mx.nd.array(POINTS[:4])], [mx.nd.array(CLASSES[:4]), mx.nd.ones((4,))]),
        None,
    ),
    "labels that the program writes itself": (
        lambda mx: _step(mx, [mx.nd.array(POINTS[:4])], None, write=mx.nd.array(CLASSES[:4])),
        "Module.backward: the batch must have labels, 'softmax_label'; got none, so the values that the bound "
        "arrays hold are used: those of an earlier batch, unless the program wrote others.",
    ),
    "labels of an earlier batch": (
        lambda mx: _step(mx, [mx.nd.array(POINTS[:4])], []),
        "Module.backward: the batch must have labels, 'softmax_label'; got none",
    ),
    "an unknown last_batch_handle": (
        lambda mx: _batches(mx, "rollover"),
        "NDArrayIter: last_batch_handle must be one of 'pad', 'discard', 'roll_over'; got 'rollover', which counts as "
        "'discard', as in MXNet",
    ),
    "no last_batch_handle": (lambda mx: _batches(mx, None), "got None, which counts as 'discard'"),
    "arrays of more samples": (
        _more_samples,
        "NDArrayIter: all arrays must have the same number of samples; got {'a': 8, 'b': 12, 'softmax_label': 10}. The "
        "first 8 of each are used.",
    ),
    "arrays of more samples, discarded": (
        lambda mx: _more_samples(mx, last_batch_handle="discard"),
        "The first 8 of each are used.",
    ),
    "labels of more samples in fit": (
        lambda mx: fitted(mx, mx.io.NDArrayIter(POINTS, np.concatenate([CLASSES, 1 - CLASSES]), 4)),
        "got {'data': 8, 'softmax_label': 16}. The first 8 of each are used.",
    ),
    "more head gradients than outputs": (
        _more_head_gradients,
        "backward: out_grads must hold 1 arrays, for ['fc_output']; got 2. The first are used.",
    ),
    "gradients that are not asked for, of another shape": (_gradients_not_asked_for, None),
    "names as in a file": (
        _prefixed,
        "Module: parameters must be given by their names, without the prefix that they have in a file; got "
        "'arg:fc_weight' for 'fc_weight'.",
    ),
    "names as in a file in fit": (
        lambda mx: fitted(mx, arg_params={"arg:fc_weight": 3 * mx.nd.ones((2, 4))}, allow_missing=True),
        "in a file; got 'arg:fc_weight' for 'fc_weight'",
    ),
}
