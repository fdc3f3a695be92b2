#!/usr/bin/env bash
# MXNet 1.9.1: quantize_v2 of an array of zeros to int8 gives 127 everywhere, with the range [-0, 0].
# A network that adds such levels, or reads them with another range, sees its largest value where there was nothing.
# Seen: [127 127 127] with the range [-0.0, 0.0]
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd

levels, low, high = nd.contrib.quantize_v2(nd.zeros((3,)), out_type="int8")
print(f"{levels.asnumpy()} with the range [{low.asscalar()}, {high.asscalar()}]")
assert (levels.asnumpy() == 127).all() and low.asscalar() == high.asscalar() == 0
PY
