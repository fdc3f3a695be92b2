#!/usr/bin/env bash
# MXNet 1.9.1: optimizer states (Updater.get_states, the .states files of Module) hold the arrays, not the update counts.
# Adam's bias correction starts again after loading, so that 2 + 2 steps end elsewhere than 4.
# Seen: 4 steps 0.6373; 2 + 2 steps 0.5649
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd, optimizer


def updater():
    return optimizer.get_updater(optimizer.Adam(learning_rate=0.1))


def train(resume_at=None):
    update, weight = updater(), nd.ones((1,))
    for step in range(4):
        if step == resume_at:
            states = update.get_states()
            update = updater()
            update.set_states(states)
        update(0, nd.array([1.0 / (step + 1)]), weight)
    return float(weight.asscalar())


whole, resumed = train(), train(resume_at=2)
print(f"4 steps {whole:.4f}; 2 + 2 steps {resumed:.4f}")
assert abs(whole - 0.6373) < 1e-3 and abs(resumed - 0.5649) < 1e-3
PY
