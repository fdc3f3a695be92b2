#!/usr/bin/env bash
# MXNet 1.9.1: metric.F1 gives another score when the labels are a column, (n, 1), than when they are a line, (n,).
# Comparing a line of predictions with a column of labels broadcasts to n x n pairs, which are all counted.
# Seen: line 0.8, column 0.6
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import metric, nd

scores = nd.array([[0.1, 0.9], [0.8, 0.2], [0.9, 0.1], [0.2, 0.8]])


def f1(labels):
    measure = metric.F1()
    measure.update([nd.array(labels)], [scores])
    return measure.get()[1]


line, column = f1([1, 0, 1, 1]), f1([[1], [0], [1], [1]])
print(f"line {line:.1f}, column {column:.1f}")
assert abs(line - 0.8) < 1e-6 and abs(column - 0.6) < 1e-6
PY
