"""Write files of MXNet 1.9.1's own exporter, with what MXNet computes.

To be run by a Python that has MXNet 1.9.1 and onnx 1.13: ``python tests/onnx/data/generate_mxnet.py``.
"""

from pathlib import Path

import mxnet as mx
import numpy as np

FOLDER = Path(__file__).parent
S = mx.sym


def convolutional():
    """Layers of a network for images."""
    net = S.Convolution(S.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=4, name="conv")
    net = S.BatchNorm(net, fix_gamma=False, name="bn")
    net = S.Activation(net, act_type="relu", name="relu")
    pooled = S.Pooling(net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", name="pool")
    net = S.Convolution(
        pooled, kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=4, no_bias=True, name="depthwise"
    )
    net = S.LeakyReLU(net + pooled, act_type="prelu", name="prelu")
    net = S.Pooling(net, global_pool=True, kernel=(1, 1), pool_type="max", name="global")
    net = S.Dropout(S.Flatten(net), p=0.5, name="drop")
    return S.softmax(S.FullyConnected(net, num_hidden=3, flatten=True, name="fc")), {"data": (2, 3, 8, 8)}


def upsampling():
    """A transposed convolution, normalizations, and joins."""
    net = S.Deconvolution(
        S.var("data"), kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=2, no_bias=True, name="deconv"
    )
    parts = S.SliceChannel(S.LRN(net, nsize=3, knorm=2, name="lrn"), num_outputs=2, axis=1, name="parts")
    joined = S.Concat(S.InstanceNorm(parts[0], name="norm"), S.clip(parts[1], a_min=-0.5, a_max=0.5), dim=1)
    padded = S.Pad(joined, mode="edge", pad_width=(0, 0, 0, 0, 1, 1, 1, 1))
    return S.UpSampling(padded, scale=2, sample_type="nearest"), {"data": (2, 3, 4, 4)}


def recurrent(mode):
    """An embedding and a recurrent layer; of LSTM in both directions, which the exporter has for it alone."""
    directions = 2 if mode == "lstm" else 1
    embedded = S.Embedding(S.var("data"), input_dim=7, output_dim=3, name="embed")
    states = [S.zeros((directions, 2, 3))] * (2 if mode == "lstm" else 1)
    settings = {
        "mode": mode,
        "state_size": 3,
        "num_layers": 1,
        "bidirectional": directions == 2,
        "state_outputs": True,
    }
    outputs = S.RNN(embedded, S.var("weights"), *states, name=mode, **settings)
    return S.FullyConnected(outputs[0], num_hidden=2, flatten=False, name="fc"), {"data": (5, 2)}


def tied():
    """A table of words that is also the weight of the last layer; and arithmetic."""
    table = S.var("table")
    embedded = S.Embedding(S.var("data"), table, input_dim=7, output_dim=4, name="embed")
    hidden = S.broadcast_add(embedded * 2, S.slice_axis(embedded, axis=-1, begin=1, end=2))
    hidden = S.Activation(hidden, act_type="tanh", name="tanh")
    return S.FullyConnected(hidden, table, num_hidden=7, no_bias=True, flatten=False, name="scores"), {
        "data": (3, 5)
    }


NETWORKS = {
    "convolutional": convolutional, "upsampling": upsampling, "lstm": lambda: recurrent("lstm"),
    "gru": lambda: recurrent("gru"), "tied": tied,
}  # fmt: skip


def main():
    """Write a file for each network, and an archive with its inputs and outputs."""
    for name, make in NETWORKS.items():
        net, shapes = make()
        random = np.random.RandomState(0)
        executor = net.simple_bind(mx.cpu(), grad_req="null", **shapes)
        for key, array in {**executor.arg_dict, **executor.aux_dict}.items():
            values = random.normal(0, 0.5, array.shape)
            if key == "data" and name in ("lstm", "gru", "tied"):
                values = random.randint(0, 7, array.shape)
            array[:] = np.abs(values) + 0.5 if key.endswith("var") else values
        params = {
            key: value for key, value in {**executor.arg_dict, **executor.aux_dict}.items() if key != "data"
        }
        data = executor.arg_dict["data"].asnumpy()
        (output,) = executor.forward()
        path = FOLDER / f"mxnet_{name}.onnx"
        mx.onnx.export_model(net, params, [shapes["data"]], np.float32, str(path))
        np.savez_compressed(path.with_suffix(".npz"), data, output.asnumpy())


if __name__ == "__main__":
    main()
