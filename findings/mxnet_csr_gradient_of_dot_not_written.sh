#!/usr/bin/env bash
# MXNet 1.9.1: simple_bind of dot(csr, weight) never writes the gradient of the csr matrix: it stays 0.
# It makes that gradient dense and the weight's row_sparse, and then computes the weight's only. With dense gradients for
# both (bind), the same call gives the right one.
# Seen, ones as head gradient: simple_bind [[0, 0, 0], [0, 0, 0]], bind [[3, 7, 11], [3, 7, 11]]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
export MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx
from mxnet import nd

matrix = nd.array([[1, 0, 2], [0, 0, 3]]).tostype("csr")
weight = nd.array([[1, 2], [3, 4], [5, 6]])
product = mx.sym.sparse.dot(mx.sym.var("matrix", stype="csr"), mx.sym.var("weight"))


def gradient(executor):
    executor.forward(is_train=True)
    executor.backward([nd.ones((2, 2))])
    return executor.grad_dict["matrix"].asnumpy().tolist()


simple = product.simple_bind(mx.cpu(), matrix=(2, 3), weight=(3, 2))
simple.copy_params_from({"matrix": matrix, "weight": weight})
bound = product.bind(
    mx.cpu(), {"matrix": matrix, "weight": weight}, {"matrix": nd.zeros((2, 3)), "weight": nd.zeros((3, 2))}
)
found, wanted = gradient(simple), gradient(bound)
print(f"ones as head gradient: simple_bind {found}, bind {wanted}")
assert simple.grad_dict["matrix"].stype == "default" and simple.grad_dict["weight"].stype == "row_sparse"
assert found == [[0, 0, 0], [0, 0, 0]] and wanted == [[3, 7, 11], [3, 7, 11]]
PY
