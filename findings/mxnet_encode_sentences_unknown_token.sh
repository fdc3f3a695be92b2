#!/usr/bin/env bash
# MXNet 1.9.1: rnn.encode_sentences(unknown_token=...) gives each occurrence of a word a new number.
# Without a vocabulary every word counts as unknown, and the number of the unknown token moves on each time, so that one
# word has several numbers and none can be looked up afterwards.
# Seen: a b a -> [1, 2, 3], vocabulary without a and b
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import rnn

sentences, vocabulary = rnn.encode_sentences([["a", "b", "a"]], unknown_token="<unk>", invalid_label=0, start_label=1)
print(f"a b a -> {sentences[0]}, vocabulary {'with' if 'a' in vocabulary else 'without'} a and b")
assert sentences == [[1, 2, 3]] and "a" not in vocabulary and "b" not in vocabulary
PY
