#!/usr/bin/env bash
# PyTorch: the first torch.autograd.backward (or Tensor.backward) that is given gradients imports sympy; without it does not.
# The shapes of outputs and gradients are compared by functions for symbolic shapes, in eager mode too. The first step of a
# program that starts backward from its own gradients takes some tenths of a second longer for it.
# Seen, torch 2.13.0: sympy before: False, after backward of a sum: False, after backward with gradients: True
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$dir/first.py" <<'PY'
import sys

import torch

x = torch.ones(2, requires_grad=True)
seen = ["sympy" in sys.modules]
(x * 2).sum().backward()
seen.append("sympy" in sys.modules)
(x * 2).backward(torch.ones(2))
seen.append("sympy" in sys.modules)
print(f"sympy before: {seen[0]}, after backward of a sum: {seen[1]}, after backward with gradients: {seen[2]}")
PY
"$dir/venv/bin/python" "$dir/first.py" | tee "$dir/seen"
diff "$dir/seen" - <<'SEEN'
sympy before: False, after backward of a sum: False, after backward with gradients: True
SEEN
