#!/usr/bin/env bash
# MXNet 1.9.1: nd.image.random_saturation turns a grey picture nearly black.
# Without colour, saturation must change nothing: grey is 0.299 R + 0.587 G + 0.114 B. The operator takes 0.114 of the
# blue alone, so that 100 becomes 11.4. mx.image.SaturationJitterAug, its counterpart in Python, is right.
# Seen: grey 100 without saturation is 11.4
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd

grey = nd.full((2, 2, 3), 100.0)
seen = float(nd.image.random_saturation(grey, min_factor=0.0, max_factor=1e-6).mean().asscalar())
print(f"grey 100 without saturation is {seen:.1f}")
assert abs(seen - 11.4) < 1e-2
PY
