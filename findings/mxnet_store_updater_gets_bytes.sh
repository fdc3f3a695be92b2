#!/usr/bin/env bash
# MXNet 1.9.1: a function given to KVStore._set_updater gets bytes where the keys are names.
# kv.init("weight", ...) and kv.push("weight", ...) call it with b"weight", so that `key == "weight"` is never true; keys
# that are numbers stay numbers.
# Seen: pushed 'weight' and 3, got b'weight' and 3
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx

store, got = mx.kv.create("local"), []
store._set_updater(lambda key, gradient, weight: got.append(key))
store.init("weight", mx.nd.ones((2,)))
store.push("weight", mx.nd.ones((2,)))
store = mx.kv.create("local")
store._set_updater(lambda key, gradient, weight: got.append(key))
store.init(3, mx.nd.ones((2,)))
store.push(3, mx.nd.ones((2,)))
print(f"pushed 'weight' and 3, got {got[0]!r} and {got[1]!r}")
assert got == [b"weight", 3]
PY
