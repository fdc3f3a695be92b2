#!/usr/bin/env bash
# MXNet 1.9.1: Module.set_params of a dict as nd.load returns it ('arg:fc_weight') changes nothing, silently, when
# allow_missing and allow_extra are set, as for fine-tuning.
# Seen: weights before 0.0, given 1.0, after 0.0
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
"$dir/venv/bin/python" - <<'PY'
import mxnet as mx

net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
module = mx.mod.Module(net, label_names=None)
module.bind([("data", (1, 3))], for_training=False)
module.init_params(mx.init.Zero())
given = {f"arg:{name}": mx.nd.ones(value.shape) for name, value in module.get_params()[0].items()}
module.set_params(given, {}, allow_missing=True, allow_extra=True)
after = float(module.get_params()[0]["fc_weight"].max().asscalar())
print(f"weights before 0.0, given 1.0, after {after}")
assert after == 0.0
PY
