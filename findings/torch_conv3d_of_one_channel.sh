#!/usr/bin/env bash
# PyTorch 2.13.0 (CPU, oneDNN): conv3d of volumes with one channel, one window along the last axis and a stride there is
# wrong as soon as data or filters have channels_last_3d memory format. No warning, float32, ordinary sizes.
# Seen on an x86-64 processor with AVX-512: largest error contiguous 0.0000, channels_last_3d 11.1998
# Without AVX-512 oneDNN takes other kernels; the script then says so and compares nothing.
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import torch
import torch.nn.functional as F

torch.manual_seed(0)
data, filters = torch.randn(2, 1, 3, 5, 4), torch.randn(4, 1, 1, 3, 3)
how = {"stride": (1, 1, 3), "padding": (0, 1, 0)}
exact = F.conv3d(data.double(), filters.double(), **how)
last = torch.channels_last_3d
contiguous = (F.conv3d(data, filters, **how) - exact).abs().max().item()
channels_last = (F.conv3d(data.to(memory_format=last), filters.to(memory_format=last), **how) - exact).abs().max().item()
print(f"largest error contiguous {contiguous:.4f}, channels_last_3d {channels_last:.4f}")
if "AVX512" in torch.backends.cpu.get_cpu_capability():
    assert contiguous < 1e-4 and channels_last > 1
else:
    print(f"not compared: {torch.backends.cpu.get_cpu_capability()}")
PY
