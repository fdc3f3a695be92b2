#!/usr/bin/env bash
# MXNet 1.9.1: Nadam multiplies its momentum schedule once for each weight, not once for each step.
# Weights do not influence each other in the algorithm; here a weight with the same gradients ends elsewhere when two
# others are trained beside it.
# Seen: alone 0.7019; one of three 0.7251 0.7588 0.7683
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
from mxnet import nd, optimizer


def train(count):
    update = optimizer.get_updater(optimizer.Nadam(learning_rate=0.1))
    weights = [nd.ones((1,)) for _ in range(count)]
    for step in range(3):
        for i, weight in enumerate(weights):
            update(i, nd.array([0.5 * (step + 1)]), weight)
    return [float(weight.asscalar()) for weight in weights]


(alone,), others = train(1), train(3)
print(f"alone {alone:.4f}; one of three", *(f"{each:.4f}" for each in others))
assert abs(alone - 0.7019) < 1e-3
assert len({alone, *others}) == 4
PY
