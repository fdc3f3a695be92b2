#!/usr/bin/env bash
# MXNet 1.9.1: a module for inference that shares the weights of a training module (shared_module) answers with those of
# its first forward, also after updates. By default oneDNN's subgraphs make their own copy of a weight; without them
# (MXNET_SUBGRAPH_BACKEND=NONE) the answer is right. An actor that plays with a learner's weights never gets better.
# Seen: weights [[-3. -3.]] on ones give 2.0; without subgraphs: -6.0
# Needs Python 3.8 to 3.11 on x86-64 Linux; another one: PYTHON=python3.11.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install --quiet --disable-pip-version-check mxnet==1.9.1 numpy==1.23.5
cd "$dir"
cat > shared.py <<'PY'
import sys

import mxnet as mx

net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, no_bias=True, name="fc")
learner, player = (mx.mod.Module(net, label_names=None) for _ in range(2))
learner.bind([("data", (4, 2))])
learner.init_params(mx.init.One())
learner.init_optimizer(optimizer_params={"learning_rate": 1.0, "rescale_grad": 1.0})
player.bind([("data", (1, 2))], for_training=False, shared_module=learner)


def answer():
    player.forward(mx.io.DataBatch([mx.nd.ones((1, 2))], []), is_train=False)
    return player.get_outputs()[0].asnumpy().item()


assert answer() == 2
learner.forward(mx.io.DataBatch([mx.nd.ones((4, 2))], []), is_train=True)
learner.backward([mx.nd.ones((4, 1))])
learner.update()
print(f"weights {learner.get_params()[0]['fc_weight'].asnumpy()} on ones give {answer()}")
assert answer() == float(sys.argv[1])
PY
"$dir/venv/bin/python" shared.py 2
echo "without subgraphs:"
MXNET_SUBGRAPH_BACKEND=NONE "$dir/venv/bin/python" shared.py -6
