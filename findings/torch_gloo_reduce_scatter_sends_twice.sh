#!/usr/bin/env bash
# PyTorch: with Gloo a reduce-scatter sends as many bytes as an all-reduce, twice what it needs. Of 4 workers with arrays of
# 4 MiB each one needs to send 3/4 of 4 MiB for a reduce-scatter, and 2 * 3/4 for an all-reduce.
# Seen, torch 2.13.0: "reduce_scatter: 6 MiB, all_reduce: 6 MiB, all_gather: 3 MiB"
# Needs Linux and Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$dir/count.py" <<'PY'
import os
import socket
import struct

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
size = dist.get_world_size()
array = torch.ones(1024 * 1024)
row = torch.ones(array.numel() // size)


def sent():
    """Bytes that the peers of this process's connections have acknowledged (tcpi_bytes_acked of TCP_INFO)."""
    total = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as connection:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 128)
            total += struct.unpack_from("Q", info, 120)[0]
        except OSError:
            pass  # closed meanwhile, or not of TCP
    return total


seen = []
for name, call in {
    "reduce_scatter": lambda: dist.reduce_scatter_single(row, array),
    "all_reduce": lambda: dist.all_reduce(array),
    "all_gather": lambda: dist.all_gather_single(array, row),
}.items():
    call()  # the first opens connections
    dist.barrier()
    before = sent()
    for _ in range(4):
        call()
    dist.barrier()
    seen.append(f"{name}: {(sent() - before) / 4 / 2**20:.0f} MiB")
if dist.get_rank() == 0:
    print(", ".join(seen))
dist.destroy_process_group()
PY
"$dir/venv/bin/python" -m torch.distributed.run --standalone --nproc-per-node 4 "$dir/count.py" 2> /dev/null | tee "$dir/seen"
diff "$dir/seen" - <<'SEEN'
reduce_scatter: 6 MiB, all_reduce: 6 MiB, all_gather: 3 MiB
SEEN
