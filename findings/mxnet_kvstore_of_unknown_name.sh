#!/usr/bin/env bash
# MXNet 1.9.1: kv.create of an unknown name makes a local store, silently.
# 'locl', 'dsit_sync' and the like train, each worker of a job by itself.
# Seen: 'dsit_sync' is a store of type dsit_sync with 1 worker
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import kv

store = kv.create("dsit_sync")
print(f"'dsit_sync' is a store of type {store.type} with {store.num_workers} worker")
assert store.num_workers == 1 and store.rank == 0
PY
