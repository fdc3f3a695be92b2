#!/usr/bin/env bash
# MXNet 1.9.1: the profiler's table shows counters in milliseconds, a thousandth of their values, and what it calls the
# average is half of the range, (max - min) / 2; the total is the last value. Min and Max are right but for the thousandth.
# Seen: of 10, 30, 20, 20, 20: {'Count': 5, 'Total': 0.02, 'Min': 0.01, 'Max': 0.03, 'Avg': 0.01}
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import json

import mxnet as mx

mx.profiler.set_config(profile_all=True, aggregate_stats=True, continuous_dump=False, filename="profile.json")
mx.profiler.set_state("run")
counter = mx.profiler.Domain("app").new_counter("queue")
for value in (10, 30, 20, 20, 20):
    counter.set_value(value)
mx.profiler.set_state("stop")
found = json.loads(mx.profiler.dumps(format="json"))["Time"]["app"]["queue"]
print(f"of 10, 30, 20, 20, 20: {found}")
assert found == {"Count": 5, "Total": 0.02, "Min": 0.01, "Max": 0.03, "Avg": 0.01}
PY
