#!/usr/bin/env bash
# PyTorch: an elastic job of torchrun (--nnodes 1:2) fails when a machine joins. Since agents share the TCPStore of the
# rendezvous, the one that is there already has its address from the first round and does not publish it in the next, and the
# new one waits for it (key MASTER_ADDR) until both fail after 60 s. With TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 on all machines
# it joins.
# Seen, torch 2.13.0: "shared: a machine could not join", "not shared: a machine has joined"
# Needs Python 3.10 or newer; another one: PYTHON=python3.12.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy==2.3.5
cat > "$dir/worker.py" <<'PY'
import os
import sys
import time

folder, size = sys.argv[1], os.environ["WORLD_SIZE"]
open(f"{folder}/{size}", "w").close()
time.sleep(0 if size == "2" else 600)
PY
agent() {
    exec "$dir/venv/bin/python" -m torch.distributed.run --nnodes 1:2 --nproc-per-node 1 --max-restarts 3 \
        --rdzv-backend c10d --rdzv-endpoint "127.0.0.1:$2" --rdzv-conf last_call_timeout=1 --local-addr 127.0.0.1 \
        "$dir/worker.py" "$1" > /dev/null 2>&1
}
join() { # prints what becomes of a job that a second agent joins
    mkdir "$dir/$1"
    agent "$dir/$1" "$2" &
    local first=$!
    until [ -e "$dir/$1/1" ]; do sleep 0.1; done
    agent "$dir/$1" "$2" &
    local second=$!
    wait "$second" || true
    kill "$first" 2> /dev/null || true
    wait "$first" || true
    if [ -e "$dir/$1/2" ]; then echo "$1: a machine has joined"; else echo "$1: a machine could not join"; fi
}
port=$("$dir/venv/bin/python" -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
join shared "$port" | tee "$dir/seen"
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
join "not shared" "$((port + 1))" | tee -a "$dir/seen"
diff "$dir/seen" - <<'SEEN'
shared: a machine could not join
not shared: a machine has joined
SEEN
