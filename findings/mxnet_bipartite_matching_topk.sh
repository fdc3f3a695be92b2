#!/usr/bin/env bash
# MXNet 1.9.1: contrib.bipartite_matching(topk=k) takes k + 1 pairs.
# The documentation says that topk limits the number of matches.
# Seen: topk=1 matched 2 rows
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd

scores = nd.array([[0.9, 0.1, 0.2], [0.3, 0.8, 0.1], [0.2, 0.1, 0.7]])
rows, _ = nd.contrib.bipartite_matching(scores, threshold=0.01, topk=1)
matched = int((rows.asnumpy() >= 0).sum())
print(f"topk=1 matched {matched} rows")
assert matched == 2
PY
