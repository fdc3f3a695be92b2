#!/usr/bin/env bash
# PyTorch 2.13.0, CPU: a cast to a float of 8 bits treats what is too large in three ways. float8_e4m3fn has no infinity and
# takes the greatest number instead, also of infinity, so that an overflow cannot be found any more; float8_e5m2 gives
# infinity, and the two fnuz types give NaN. ONNX's Cast takes the greatest number in all four unless saturate=0.
# Seen: inf -> float8_e4m3fn 448.0, float8_e5m2 inf, float8_e4m3fnuz nan, float8_e5m2fnuz nan; 1e9 likewise
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
"$dir/venv/bin/python" - <<'PY'
import math

import torch

ends = {"float8_e4m3fn": 448.0, "float8_e5m2": math.inf, "float8_e4m3fnuz": math.nan, "float8_e5m2fnuz": math.nan}
for name, end in ends.items():
    found = torch.tensor([1e9, math.inf]).to(getattr(torch, name)).float().tolist()
    print(f"1e9, inf -> {name}: {found}")
    assert all(each == end or (math.isnan(each) and math.isnan(end)) for each in found)
PY
