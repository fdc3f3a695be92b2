"""Gradients on arrays: blocked ones, freed records, whole numbers, nan, ties; and gamma of BatchNorm."""

from __future__ import annotations

from typing import Any

VALUES = [[1, 2, 3], [4, 5, 6]]


def _gradient(compute: Any, values: Any = VALUES, dtype: str = "float32", request: str = "write") -> Any:
    """Return a snippet of the gradient that `backward` writes over 9, and of what `grad` returns."""

    def run(mx: Any) -> Any:
        x = mx.nd.array(values, dtype=dtype)
        x.attach_grad(request)
        x.grad[:] = 9
        with mx.autograd.record():
            y = compute(mx.nd, x)
        found = mx.autograd.grad(y, x, retain_graph=True)
        y.backward()
        return found, x.grad

    return run


def _whole(compute: Any, dtype: str = "int32") -> Any:
    return _gradient(compute, dtype=dtype)


BLOCKED = {
    "BlockGrad": lambda nd, x: nd.BlockGrad(x),
    "zeros_like": lambda nd, x: nd.zeros_like(x),
    "ones_like": lambda nd, x: nd.ones_like(x),
    "shape_array": lambda nd, x: nd.shape_array(x),
    "size_array": lambda nd, x: nd.size_array(x),
    "logical_not": lambda nd, x: nd.logical_not(x),
    "comparison": lambda nd, x: x == 1,
    "topk": lambda nd, x: nd.topk(x),
    "argmax": lambda nd, x: nd.argmax(x, axis=1),
    "argsort": lambda nd, x: nd.argsort(x),
    "one_hot": lambda nd, x: nd.one_hot(x, 3),
    "sign": lambda nd, x: nd.sign(x),
    "computed_from_blocked": lambda nd, x: nd.BlockGrad(x) * 2 + 1,
    "blocked_beside_others": lambda nd, x: nd.BlockGrad(x) * x,
    "detached": lambda nd, x: x.detach() * 2,
    "not_marked": lambda nd, x: nd.ones((2, 3)) * 2,
}

WHOLE = {
    "take": lambda nd, x: x.take(nd.array([1, 1])),
    "index": lambda nd, x: x[1],
    "index_of_an_element": lambda nd, x: x[1, 2],
    "slice": lambda nd, x: x[:, 1:],
    "steps": lambda nd, x: x[:, ::2],
    "array_of_indices": lambda nd, x: x[nd.array([0, 1], dtype="int32")],
    "sum": lambda nd, x: x.sum(),
    "sum_of_an_axis": lambda nd, x: x.sum(axis=0),
    "reshape": lambda nd, x: x.reshape((-1,)),
    "transpose": lambda nd, x: x.T,
    "product": lambda nd, x: x * x,
    "number": lambda nd, x: x * 2,
    "square": lambda nd, x: nd.square(x),
    "concat": lambda nd, x: nd.concat(x, x),
    "cast": lambda nd, x: x.astype("float32") * 2.5,
    "max": lambda nd, x: x.max(),
    "sqrt": lambda nd, x: nd.sqrt(x),
    "quotient": lambda nd, x: x / 2,
    "mean": lambda nd, x: x.mean(),
}


def _twice(compute: Any, again: Any = None, retain: bool = False) -> Any:
    """Return a snippet that goes back from two arrays, the second computed from the first one unless it is that."""

    def run(mx: Any) -> Any:
        x = mx.nd.array([1, 2])
        x.attach_grad()
        with mx.autograd.record():
            y = compute(mx.nd, x)
            z = y if again is None else again(mx.nd, x, y)
        y.backward(retain_graph=retain)
        z.backward()
        return x.grad

    return run


def _use_after_backward(mx: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        y = x + 1
    y.backward()
    with mx.autograd.record():
        z = y * 2
    z.backward()
    return x.grad


def _partly_blocked(mx: Any) -> Any:
    x, w = mx.nd.array([1, 2]), mx.nd.array([3, 4])
    for each in (x, w):
        each.attach_grad()
        each.grad[:] = 9
    with mx.autograd.record():
        y = mx.nd.BlockGrad(x) + w * 2
    y.backward()
    return x.grad, w.grad


def _blocked_and_written(mx: Any) -> Any:
    x, into = mx.nd.array([1, 2]), mx.nd.zeros((2,))
    x.attach_grad()
    x.grad[:] = 9
    with mx.autograd.record():
        into[:] = mx.nd.BlockGrad(x)
    into.backward()
    return x.grad


def _fresh(mx: Any) -> Any:
    x = mx.nd.ones((2,))
    found = [x._fresh_grad]
    x.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            y = x * 2
        y.backward()
        found.append(x._fresh_grad)
        x._fresh_grad = False
        found.append(x._fresh_grad)
    x.attach_grad()
    return [int(each) for each in (*found, x._fresh_grad)]


def _ctc(mx: Any) -> Any:
    data = mx.nd.array([[[0.1 * (t + c + n) % 0.7 for c in range(4)] for n in range(2)] for t in range(5)])
    data[3:, 0] = float("nan")
    data.attach_grad()
    with mx.autograd.record():
        loss = mx.nd.CTCLoss(data, mx.nd.array([[1, 2], [2, 3]]), mx.nd.array([3, 5]), use_data_lengths=True)
    loss.backward()
    return loss, data.grad


def _correlation(kernel_size: int) -> Any:
    def run(mx: Any) -> Any:
        one, other = mx.nd.zeros((1, 2, 4, 4)), mx.nd.zeros((1, 2, 4, 4))
        one[0, 0, 1, 1], other[0, 1, 2, 2] = 1, 3
        for each in (one, other):
            each.attach_grad()
        with mx.autograd.record():
            y = mx.nd.Correlation(
                one,
                other,
                kernel_size=kernel_size,
                max_displacement=1,
                pad_size=kernel_size,
                is_multiply=False,
            )
        y.backward()
        return y, one.grad, other.grad

    return run


def _normalized(name: str, **given: Any) -> Any:
    """Return a snippet of gamma after a call on arrays, and after a step of an executor, in training mode."""

    def run(mx: Any) -> Any:
        data, gamma = mx.nd.array([[1, 2], [3, 5]]), mx.nd.array([2, 3])
        with mx.autograd.train_mode():
            y = getattr(mx.nd, name)(
                data, gamma, mx.nd.zeros((2,)), mx.nd.zeros((2,)), mx.nd.ones((2,)), **given
            )
            y.wait_to_read()
        exe = getattr(mx.sym, name)(mx.sym.var("data"), name="bn", **given).simple_bind(
            mx.cpu(), data=(4, 2, 3, 3)
        )
        exe.arg_dict["bn_gamma"][:] = 5
        exe.grad_dict["bn_gamma"][:] = 7
        exe.forward(is_train=True)
        exe.backward(mx.nd.ones((4, 2, 3, 3)))
        mx.nd.waitall()
        return gamma, exe.arg_dict["bn_gamma"], exe.grad_dict["bn_gamma"]

    return run


def _trained(mx: Any) -> Any:
    """Return gamma after training with weight decay, as a checkpoint has it."""
    net = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc"), name="bn")
    net = mx.sym.LinearRegressionOutput(net, mx.sym.var("label"), name="out")
    module = mx.mod.Module(net, label_names=["label"])
    data = mx.io.NDArrayIter(mx.nd.ones((8, 3)), mx.nd.zeros((8, 2)), 4, label_name="label")
    module.bind(data.provide_data, data.provide_label)
    gamma = {"bn_gamma": mx.nd.array([5, 7])}
    module.init_params(mx.init.One(), arg_params=gamma, allow_missing=True)
    module.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 0.1, "wd": 0.5})
    for batch in data:
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
    return module.get_params()[0]["bn_gamma"]


def _whole_arguments(mx: Any) -> Any:
    net = mx.sym.take(mx.sym.var("a"), mx.sym.var("i"))
    exe = net.simple_bind(mx.cpu(), a=(3, 2), i=(2,), type_dict={"a": "int32", "i": "int32"})
    exe.grad_dict["i"][:] = 9
    exe.forward(is_train=True)
    exe.backward(mx.nd.ones((2, 2), dtype="int32"))
    return exe.grad_dict["i"]


SNIPPETS = {
    **{f"blocked_by_{name}": _gradient(compute) for name, compute in BLOCKED.items()},
    "blocked_and_added": _gradient(lambda nd, x: nd.BlockGrad(x), request="add"),
    "blocked_in_part": _partly_blocked,
    "blocked_and_written": _blocked_and_written,
    "second_derivative_of_relu": lambda mx: _second(mx, mx.nd.relu),
    **{f"whole_numbers_{name}": _whole(compute) for name, compute in WHOLE.items()},
    **{f"sum_of_{dtype}": _whole(lambda nd, x: x.sum(), dtype) for dtype in ("uint8", "int8", "int64")},
    "whole_arguments": _whole_arguments,
    "twice_through_a_sum": _twice(lambda nd, x: x + 1),
    "twice_through_a_product": _twice(lambda nd, x: x * x),
    "twice_through_blocked": _twice(lambda nd, x: nd.BlockGrad(x)),
    "twice_retained": _twice(lambda nd, x: x + 1, retain=True),
    "twice_from_the_marked": _twice(lambda nd, x: x),
    "what_was_computed_from_freed": _twice(lambda nd, x: x + 1, lambda nd, x, y: y * 2),
    "what_shares_the_marked_only": _twice(lambda nd, x: x + 1, lambda nd, x, y: x * 3),
    "use_after_backward": _use_after_backward,
    "fresh": _fresh,
    "relu_of_nan": _gradient(lambda nd, x: nd.relu(x), [float("nan"), 1, -1, 0]),
    **{
        f"{name}_at_zero": _gradient(lambda nd, x, name=name: getattr(nd, name)(x), [0.0, -0.0, 8.0, -8.0])
        for name in ("cbrt", "rcbrt")
    },
    "ctc_behind_the_data": _ctc,
    "correlation_at_ties": _correlation(1),
    "correlation_at_ties_of_patches": _correlation(3),
    "gamma_fixed": _normalized("BatchNorm"),
    "gamma_free": _normalized("BatchNorm", fix_gamma=False),
    "gamma_fixed_global_statistics": _normalized("BatchNorm", use_global_stats=True),
    "gamma_after_training": _trained,
}


def _second(mx: Any, function: Any) -> Any:
    x = mx.nd.array([1, 2])
    x.attach_grad()
    with mx.autograd.record():
        (slope,) = mx.autograd.grad(function(x), x, create_graph=True, retain_graph=True)
    slope.backward()
    return x.grad
