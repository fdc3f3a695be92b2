"""Executors: writing into outputs before backward, names that `simple_bind` does not know, ways to say the mode."""

from __future__ import annotations

from typing import Any


def _written_into(make: Any, values: list[Any], *, add: bool = False) -> Any:
    """Return a snippet that adds 5 to an output between forward and backward, and returns the gradients."""

    def run(mx: Any) -> Any:
        net = make(mx.sym, mx.sym.var("x"))
        arrays = {name: mx.nd.array(value) for name, value in zip(net.list_arguments(), values)}
        exe = net.bind(mx.cpu(), arrays, {name: mx.nd.zeros(each.shape) for name, each in arrays.items()})
        exe.forward(is_train=True)
        output = exe.outputs[0]
        if add:
            output += 5
        else:
            output[:] += 5
        exe.backward(None if "label" in net.list_arguments()[-1] else mx.nd.ones(output.shape))
        return exe.grad_dict["x"], output

    return run


def _bound_with(**given: Any) -> Any:
    def run(mx: Any) -> Any:
        net = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
        exe = net.simple_bind(mx.cpu(), data=(2, 3), **given)
        return {name: each.shape for name, each in exe.arg_dict.items()}

    return run


def _mode(is_train: Any) -> Any:
    def run(mx: Any) -> Any:
        exe = mx.sym.Dropout(mx.sym.var("x"), p=0.999).bind(mx.cpu(), {"x": mx.nd.ones((20,))})
        return [sorted(set(exe.forward(is_train=is_train)[0].asnumpy().tolist())) == [1.0]]

    return run


def _device(mx: Any) -> Any:
    return str(mx.sym.var("x").bind(mx.cpu(1), {"x": mx.nd.ones((1,), ctx=mx.cpu(1))})._ctx)


SNIPPETS = {
    "exp_written_into": _written_into(lambda S, x: S.exp(x), [[1.0, 2.0]]),
    "exp_added_to": _written_into(lambda S, x: S.exp(x), [[1.0, 2.0]], add=True),
    "relu_written_into": _written_into(lambda S, x: S.Activation(x, act_type="relu"), [[1.0, -2.0]]),
    "layer_written_into": _written_into(
        lambda S, x: S.FullyConnected(S.tanh(x), S.var("w"), no_bias=True, num_hidden=1),
        [[[1.0, 2.0]], [[1.0, 2.0]]],
    ),
    "reshaped_written_into": _written_into(lambda S, x: S.Reshape(S.exp(x), shape=(-1,)), [[[1.0, 2.0]]]),
    "expanded_written_into": _written_into(lambda S, x: S.expand_dims(S.tanh(x), axis=0), [[1.0, 2.0]]),
    "softmax_written_into": _written_into(lambda S, x: S.SoftmaxOutput(x, name="s"), [[[1.0, 2.0]], [1.0]]),
    "names_of_a_bind": _bound_with(softmax_label=(2,), force_rebind=True, axis=0),
    "a_label_of_another_network": _bound_with(other_label=(2,)),
    "mode_1": _mode(1),
    "mode_0": _mode(0),
    "device": _device,
    "truth": lambda mx: bool(mx.sym.var("x")),
}
