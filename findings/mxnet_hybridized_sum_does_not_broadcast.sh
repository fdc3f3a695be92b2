#!/usr/bin/env bash
# MXNet 1.9.1: `a + b` in a HybridBlock broadcasts on arrays, and fails once the block is hybridized.
# On NDArrays + is broadcast_add; on symbols it is elemwise_add, which wants equal shapes. A network that was developed
# without hybridize() cannot be exported.
# Seen: arrays (2, 3); hybridized an MXNetError
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import gluon, nd
from mxnet.base import MXNetError


class Sum(gluon.HybridBlock):
    def hybrid_forward(self, F, a, b):
        return a + b


block, a, b = Sum(), nd.ones((2, 3)), nd.ones((3,))
shape = block(a, b).shape
block.hybridize()
try:
    block(a, b).wait_to_read()
    failed = False
except MXNetError:
    failed = True
print(f"arrays {shape}; hybridized {'an MXNetError' if failed else 'the same'}")
assert shape == (2, 3) and failed
PY
