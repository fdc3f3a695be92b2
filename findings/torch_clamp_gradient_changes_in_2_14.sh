#!/usr/bin/env bash
# PyTorch: the gradient of clamp where a value equals a bound is another one from 2.14 on.
# 2.13.0 gives a value at either end of the range the whole gradient, and with a tensor as bound all of it to the input;
# 2.14.1 gives values at the ends none, and halves it between equal values. relu6, hard limits and clipped losses train
# differently after an upgrade.
# Seen: 2.13.0: ends 1.0 1.0, equal 1.0 0.0; 2.14.1: ends 0.0 0.0, equal 0.5 0.5
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/clamp.py" <<'PY'
import torch

x = torch.tensor([-1.0, 0.0, 1.0], requires_grad=True)
(ends,) = torch.autograd.grad(x.clamp(-1, 1).sum(), x)
a, b = torch.tensor([1.0], requires_grad=True), torch.tensor([1.0], requires_grad=True)
equal = torch.autograd.grad(torch.clamp(a, min=b).sum(), [a, b])
version = torch.__version__.split("+")[0]
print(f"{version}: ends {ends[0]} {ends[2]}, equal {equal[0].item()} {equal[1].item()}")
PY
for version in 2.13.0 2.14.1; do
  "${PYTHON:-python3}" -m venv "$dir/$version"
  "$dir/$version/bin/pip" install --quiet --disable-pip-version-check "torch==$version" numpy==2.3.5
  "$dir/$version/bin/python" "$dir/clamp.py" | tee -a "$dir/seen"
  rm -rf "${dir:?}/$version"
done
diff "$dir/seen" - <<'SEEN'
2.13.0: ends 1.0 1.0, equal 1.0 0.0
2.14.1: ends 0.0 0.0, equal 0.5 0.5
SEEN
