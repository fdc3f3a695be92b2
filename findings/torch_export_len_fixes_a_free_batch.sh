#!/usr/bin/env bash
# torch 2.13.0: with Dim.AUTO, `len(x)` in forward fixes the size of the first axis in the exported program, without a word;
# `x.shape[0]` in its place leaves it free.
# Seen: len(x) runs 2 rows, not 3; x.shape[0] runs 2 and 3
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.4.6
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import warnings

import torch
from torch.export import Dim

warnings.simplefilter("error", UserWarning)


class ByLen(torch.nn.Module):
    def forward(self, x):
        return x.reshape(len(x), -1)


class ByShape(torch.nn.Module):
    def forward(self, x):
        return x.reshape(x.shape[0], -1)


def rows(module: torch.nn.Module) -> list[int]:
    program = torch.export.export(module, (torch.ones(2, 3, 4),), dynamic_shapes={"x": {0: Dim.AUTO}})
    taken = []
    for size in (2, 3):
        try:
            program.module()(torch.ones(size, 3, 4))
            taken.append(size)
        except (AssertionError, RuntimeError):
            pass
    return taken


seen = rows(ByLen()), rows(ByShape())
print(f"len(x) runs {seen[0]}, x.shape[0] runs {seen[1]}")
assert seen == ([2], [2, 3])
PY
