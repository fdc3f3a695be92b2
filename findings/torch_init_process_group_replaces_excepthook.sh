#!/usr/bin/env bash
# PyTorch: torch.distributed.init_process_group replaces sys.excepthook, and destroy_process_group does not put it back.
# The hook writes "[rank0]: " before each line of a traceback. A program that looked at the hook before, or set one of its own
# (a logger, a crash reporter), has PyTorch's from then on, also after the process group is gone; its own is not called.
# Seen, torch 2.13.0: own hook before: True, in a group: False, after destroy: False
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$dir/hook.py" <<'PY'
import os
import sys
import tempfile

import torch.distributed as dist


def own(kind, value, trace):
    print("own hook:", value)


sys.excepthook = own
seen = [sys.excepthook is own]
with tempfile.TemporaryDirectory() as folder:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    seen.append(sys.excepthook is own)
    dist.destroy_process_group()
    seen.append(sys.excepthook is own)
print(f"own hook before: {seen[0]}, in a group: {seen[1]}, after destroy: {seen[2]}")
PY
"$dir/venv/bin/python" "$dir/hook.py" | tee "$dir/seen"
diff "$dir/seen" - <<'SEEN'
own hook before: True, in a group: False, after destroy: False
SEEN
