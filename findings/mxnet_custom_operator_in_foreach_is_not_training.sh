#!/usr/bin/env bash
# MXNet 1.9.1: a custom operator in the body of contrib.foreach is told is_train=False in a training forward.
# Outside of a loop the same operator is told True; one that behaves as Dropout or BatchNorm do is in inference there.
# Seen: outside True, in foreach False
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx

told = []


class Tell(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        told.append(bool(is_train))
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("tell")
class TellProp(mx.operator.CustomOpProp):
    def __init__(self, **others):  # a body's operators get more than their own
        super().__init__(need_top_grad=True)

    def create_operator(self, ctx, shapes, dtypes):
        return Tell()


def seen(net, shape):
    told.clear()
    executor = net.simple_bind(mx.cpu(), x=shape)
    executor.forward(is_train=True)
    executor.outputs[0].wait_to_read()
    return told[0]


outside = seen(mx.sym.Custom(mx.sym.var("x"), op_type="tell"), (2,))
loop, _ = mx.sym.contrib.foreach(lambda x, _: (mx.sym.Custom(x, op_type="tell"), []), mx.sym.var("x"), [])
inside = seen(loop[0] if isinstance(loop, list) else loop, (3, 2))
print(f"outside {outside}, in foreach {inside}")
assert outside is True and inside is False
PY
