"""Outputs that need a head gradient, and those behind a loss that do not."""

from __future__ import annotations

from typing import Any


def _backward(make: Any, **requests: str) -> Any:
    """Return a snippet that runs `backward` without head gradients and returns the gradient of `x`."""

    def run(mx: Any) -> Any:
        net = make(mx.sym, mx.sym.var("x"))
        shapes = {name: (2, 3) for name in net.list_arguments() if not name.endswith("label")}
        request = {name: requests.get(name, "write") for name in net.list_arguments()}
        exe = net.simple_bind(mx.cpu(), grad_req=request, **shapes)
        exe.forward(is_train=True)
        exe.backward()
        return exe.grad_dict["x"]

    return run


def _softmax(S: Any, x: Any) -> Any:
    return S.SoftmaxOutput(x, name="s")


SNIPPETS = {
    "loss": _backward(_softmax),
    "reshape": _backward(lambda S, x: S.Reshape(_softmax(S, x), shape=(-1,))),
    "transpose": _backward(lambda S, x: S.transpose(_softmax(S, x))),
    "slice_axis": _backward(lambda S, x: S.slice_axis(_softmax(S, x), axis=1, begin=0, end=2)),
    "times": _backward(lambda S, x: _softmax(S, x) * 2),
    "log": _backward(lambda S, x: S.log(_softmax(S, x))),
    "made_loss_plus": _backward(lambda S, x: S.MakeLoss(x * 3) + 1),
    "group_with_blocked": _backward(lambda S, x: S.Group([S.MakeLoss(x * 3), S.BlockGrad(x)])),
    "concat_with_blocked": _backward(lambda S, x: S.Concat(S.MakeLoss(x * 3), S.BlockGrad(x))),
    "concat_with_what_wants_none": _backward(lambda S, x: S.Concat(S.MakeLoss(x * 3), S.var("y")), y="null"),
    "concat_with_what_wants_one": _backward(lambda S, x: S.Concat(S.MakeLoss(x * 3), S.var("y"))),
    "argmax": _backward(lambda S, x: S.argmax(x, axis=1)),
    "no_loss": _backward(lambda S, x: x * 3),
    "nothing_wants_one": _backward(lambda S, x: x * 3, x="null"),
}
