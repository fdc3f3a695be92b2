"""Record what MXNet 1.9.1 computes for the layers of `rebind.ops`, for `test_recorded.py`.

    ORACLE_PYTHON tests/ops/nn/record.py [FILE]

Each row of `CASES` names an operator, its inputs and its parameters. Recorded are the outputs in inference and in
training, the gradients for random head gradients, and the auxiliary states after a training step. oneDNN is off, since
it knows fewer cases; with ``RECORD_ONEDNN=1`` it is on, to look for differences between the two.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
os.environ["MXNET_MKLDNN_ENABLED"] = os.environ.get("RECORD_ONEDNN", "0")
os.environ["MXNET_USE_MKLDNN_RNN"] = os.environ[
    "MXNET_MKLDNN_ENABLED"
]  # RNN fails when only the other is off
os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"

import numpy as np

CASES: list[tuple[str, dict, dict]] = []


def case(operator: str, inputs: dict, **parameters: object) -> None:
    """Add a row; an input is a shape (distinct values), a nested list, or ``(kind, shape, ...)``."""
    CASES.append((operator, inputs, parameters))


# MXNet's gradients are not those of its own outputs: the slope of selu below zero, and the softmax of
# SoftmaxActivation with more than two axes. Only the outputs are recorded.
def wrong_gradient(operator: str, inputs: dict, parameters: dict) -> bool:
    return parameters.get("act_type") == "selu" or (
        operator == "SoftmaxActivation" and len(inputs["data"]) > 2 and not parameters
    )


# With three plain layers or more the gradient of the middle ones' input weights differs from finite differences.
def wrong_middle_gradient(operator: str, parameters: dict) -> bool:
    return operator == "RNN" and parameters["mode"].startswith("rnn") and parameters["num_layers"] > 2


def labels(count: int, *shape: int) -> tuple:
    return ("integers", shape, 0, count)


def positive(*shape: int) -> tuple:
    return ("positive", shape)


# ---- linear
case("FullyConnected", {"data": (3, 4), "weight": (5, 4), "bias": (5,)}, num_hidden=5)
case("FullyConnected", {"data": (3, 2, 4), "weight": (5, 8), "bias": (5,)}, num_hidden=5)
case("FullyConnected", {"data": (3, 2, 4), "weight": (5, 4)}, num_hidden=5, flatten=False, no_bias=True)
case("FullyConnected", {"data": (3, 2, 2, 4), "weight": (5, 4), "bias": (5,)}, num_hidden=5, flatten=False)
case("FullyConnected", {"data": (3,), "weight": (5, 1), "bias": (5,)}, num_hidden=5)
case("Embedding", {"data": labels(7, 2, 3), "weight": (7, 4)}, input_dim=7, output_dim=4)
case("Embedding", {"data": [0.0, 6.9, -1.0, 9.0], "weight": (7, 4)}, input_dim=7, output_dim=4)

# ---- activation
for act_type in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
    case("Activation", {"data": (3, 5)}, act_type=act_type)
case("Activation", {"data": [-100.0, -30.0, 0.0, 30.0, 100.0]}, act_type="softrelu")
for act_type in ("leaky", "elu", "selu", "gelu"):
    case("LeakyReLU", {"data": (3, 5)}, act_type=act_type)
case("LeakyReLU", {"data": (3, 5)}, act_type="leaky", slope=0.1)
case("LeakyReLU", {"data": (3, 5)}, act_type="elu", slope=0.7)
case("LeakyReLU", {"data": (3, 5), "gamma": (5,)}, act_type="prelu")
case("LeakyReLU", {"data": (2, 3, 4), "gamma": (3,)}, act_type="prelu")
case("LeakyReLU", {"data": (2, 3, 4), "gamma": (1,)}, act_type="prelu")
case("SoftmaxActivation", {"data": (2, 3, 4)})
case("SoftmaxActivation", {"data": (2, 3, 4)}, mode="channel")
case("SoftmaxActivation", {"data": (2, 3)})
for softmax in ("softmax", "softmin", "log_softmax"):
    case(softmax, {"data": (2, 3, 4)})
    case(softmax, {"data": (2, 3, 4)}, axis=1)
    case(softmax, {"data": (2, 3, 4)}, axis=-2, temperature=0.5)
case("softmax", {"data": (2, 3, 4)}, temperature=3.0, dtype="float64")
case("log_softmax", {"data": (2, 3, 4)}, dtype="float64")
case("softmax", {"data": (3, 5), "length": ("integers", (3,), 1, 6, "int32")}, use_length=True)
case("softmax", {"data": (2, 5, 3), "length": ("integers", (2, 3), 0, 6, "int64")}, use_length=True, axis=1)
case(
    "softmax", {"data": (3, 5), "length": ("integers", (3,), 1, 6, "int32")}, use_length=True, temperature=2.0
)

# ---- convolution
case("Convolution", {"data": (2, 3, 7), "weight": (4, 3, 3), "bias": (4,)}, kernel=(3,), num_filter=4)
case(
    "Convolution",
    {"data": (2, 3, 9), "weight": (4, 3, 3)},
    kernel=(3,),
    num_filter=4,
    stride=(2,),
    pad=(2,),
    dilate=(2,),
    no_bias=True,
)
case("Convolution", {"data": (2, 3, 6, 5), "weight": (4, 3, 3, 2), "bias": (4,)}, kernel=(3, 2), num_filter=4)
case(
    "Convolution",
    {"data": (2, 4, 6, 7), "weight": (6, 2, 3, 3), "bias": (6,)},
    kernel=(3, 3),
    num_filter=6,
    num_group=2,
    stride=(2, 1),
    pad=(1, 2),
)
case(
    "Convolution",
    {"data": (2, 3, 8, 8), "weight": (4, 3, 3, 3), "bias": (4,)},
    kernel=(3, 3),
    num_filter=4,
    dilate=(2, 3),
    pad=(1, 0),
)
case(
    "Convolution",
    {"data": (2, 4, 5, 5), "weight": (4, 1, 3, 3)},
    kernel=(3, 3),
    num_filter=4,
    num_group=4,
    no_bias=True,
    layout="NCHW",
)
case(
    "Convolution",
    {"data": (1, 2, 4, 5, 4), "weight": (3, 2, 2, 3, 2), "bias": (3,)},
    kernel=(2, 3, 2),
    num_filter=3,
    stride=(1, 2, 1),
    pad=(0, 1, 1),
)
case(
    "Convolution_v1",
    {"data": (2, 3, 6, 5), "weight": (4, 3, 3, 2), "bias": (4,)},
    kernel=(3, 2),
    num_filter=4,
    pad=(1, 1),
)
case(
    "Convolution_v1",
    {"data": (2, 4, 6, 5), "weight": (4, 2, 3, 2)},
    kernel=(3, 2),
    num_filter=4,
    num_group=2,
    stride=(2, 2),
    no_bias=True,
)
case("Deconvolution", {"data": (2, 3, 5), "weight": (3, 4, 3)}, kernel=(3,), num_filter=4)
case(
    "Deconvolution",
    {"data": (2, 3, 5), "weight": (3, 4, 3), "bias": (4,)},
    kernel=(3,),
    num_filter=4,
    stride=(3,),
    adj=(2,),
    pad=(1,),
    no_bias=False,
)
case(
    "Deconvolution",
    {"data": (2, 3, 4, 3), "weight": (3, 4, 3, 2)},
    kernel=(3, 2),
    num_filter=4,
    stride=(2, 2),
    pad=(1, 0),
    adj=(1, 0),
)
case(
    "Deconvolution",
    {"data": (2, 4, 4, 3), "weight": (4, 3, 3, 3), "bias": (6,)},
    kernel=(3, 3),
    num_filter=6,
    num_group=2,
    no_bias=False,
)
case(
    "Deconvolution",
    {"data": (1, 2, 4, 4), "weight": (2, 3, 4, 4)},
    kernel=(4, 4),
    num_filter=3,
    stride=(2, 2),
    target_shape=(8, 8),
)
case(
    "Deconvolution",
    {"data": (1, 2, 4, 4), "weight": (2, 3, 3, 3)},
    kernel=(3, 3),
    num_filter=3,
    stride=(2, 2),
    target_shape=(8, 7),
    pad=(9, 9),
    adj=(1, 1),
)

# ---- pooling
for pool in ("max", "avg", "sum"):
    for convention in ("valid", "full"):
        for kernel, stride, pad in (
            ((3,), (3,), (1,)),
            ((3,), (2,), ()),
            ((2,), (3,), (0,)),
            ((3,), (4,), (2,)),
            ((3,), (1,), (2,)),
        ):
            case(
                "Pooling",
                {"data": (2, 2, 8)},
                kernel=kernel,
                stride=stride,
                pad=pad,
                pool_type=pool,
                pooling_convention=convention,
            )
        for kernel, stride, pad in (
            ((3, 3), (3, 3), (1, 1)),
            ((3, 2), (2, 2), (0, 1)),
            ((2, 2), (2, 2), ()),
            ((3, 3), (3, 3), (3, 2)),
            ((2, 3), (), ()),
        ):
            case(
                "Pooling",
                {"data": (1, 2, 8, 7)},
                kernel=kernel,
                stride=stride,
                pad=pad,
                pool_type=pool,
                pooling_convention=convention,
            )
        case(
            "Pooling",
            {"data": (1, 2, 5, 4, 5)},
            kernel=(3, 2, 2),
            stride=(2, 2, 2),
            pad=(1, 0, 1),
            pool_type=pool,
            pooling_convention=convention,
        )
        case(
            "Pooling_v1",
            {"data": (1, 2, 8, 7)},
            kernel=(3, 3),
            stride=(3, 3),
            pad=(1, 1),
            pool_type=pool,
            pooling_convention=convention,
        )
        case(
            "Pooling_v1",
            {"data": (1, 2, 8, 7)},
            kernel=(3, 2),
            stride=(2, 2),
            pool_type=pool,
            pooling_convention=convention,
        )
    for shape in ((2, 3, 4), (2, 3, 4, 5), (1, 2, 3, 4, 2)):
        case("Pooling", {"data": shape}, global_pool=True, pool_type=pool)
    case(
        "Pooling",
        {"data": (2, 3, 4, 5)},
        global_pool=True,
        pool_type=pool,
        kernel=(2, 2),
        pad=(1, 1),
        stride=(2, 2),
    )
    case("Pooling_v1", {"data": (2, 3, 4, 5)}, global_pool=True, pool_type=pool, kernel=(2, 2))
    case("Pooling", {"data": (2, 5, 3)}, kernel=(2,), stride=(2,), pool_type=pool, layout="NWC")
    case(
        "Pooling",
        {"data": (1, 5, 6, 3)},
        kernel=(2, 3),
        stride=(2, 2),
        pad=(1, 1),
        pool_type=pool,
        layout="NHWC",
    )
    case("Pooling", {"data": (1, 4, 3, 4, 2)}, kernel=(2, 2, 2), pool_type=pool, layout="NDHWC")
    case("Pooling", {"data": (1, 5, 6, 3)}, global_pool=True, pool_type=pool, layout="NHWC")
for convention in ("valid", "full"):
    for include in (True, False):
        for kernel, stride, pad in (
            ((3, 3), (3, 3), (1, 1)),
            ((3, 2), (2, 2), (1, 1)),
            ((3, 3), (3, 3), (3, 2)),
            ((3, 3), (4, 4), (2, 2)),
        ):
            case(
                "Pooling",
                {"data": (1, 2, 8, 7)},
                kernel=kernel,
                stride=stride,
                pad=pad,
                pool_type="avg",
                pooling_convention=convention,
                count_include_pad=include,
            )
for p_value in (1, 2, 3):
    case(
        "Pooling",
        {"data": positive(1, 2, 6, 5)},
        kernel=(2, 2),
        stride=(2, 2),
        pool_type="lp",
        p_value=p_value,
    )
    case("Pooling", {"data": positive(1, 2, 6)}, kernel=(2,), pool_type="lp", p_value=p_value)
    case("Pooling", {"data": positive(1, 2, 6, 5)}, global_pool=True, pool_type="lp", p_value=p_value)
    case(
        "Pooling",
        {"data": (1, 2, 6, 5)},
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        pool_type="lp",
        p_value=p_value,
        pooling_convention="full",
    )

# ---- normalization
statistics = {"gamma": (3,), "beta": (3,), "moving_mean": (3,), "moving_var": positive(3)}
for flags in (
    {},
    {"fix_gamma": False},
    {"use_global_stats": True, "fix_gamma": False},
    {"use_global_stats": True},
    {"output_mean_var": True, "fix_gamma": False},
    {"output_mean_var": True, "use_global_stats": True},
    {"eps": 0.1, "momentum": 0.5, "fix_gamma": False},
):
    case("BatchNorm", {"data": (4, 3, 2, 2), **statistics}, **flags)
    case("BatchNorm_v1", {"data": (4, 3, 2, 2), **statistics}, **flags)
for shape, axis in (
    ((4, 3), 1),
    ((4, 3), -1),
    ((2, 3, 5), 1),
    ((2, 5, 4, 3), 3),
    ((3, 5), 0),
    ((2, 2, 3, 3, 2), 2),
    ((2, 3, 2, 2, 2), 1),
):
    case("BatchNorm", {"data": shape, **statistics}, axis=axis, fix_gamma=False)
case("LayerNorm", {"data": (3, 4), "gamma": (4,), "beta": (4,)})
case("LayerNorm", {"data": (2, 3, 4), "gamma": (3,), "beta": (3,)}, axis=1, eps=0.1)
case("LayerNorm", {"data": (2, 3, 4), "gamma": (4,), "beta": (4,)}, output_mean_var=True)
case("LayerNorm", {"data": (2, 3, 4), "gamma": (3,), "beta": (3,)}, output_mean_var=True, axis=-2)
case("GroupNorm", {"data": (2, 4, 3), "gamma": (2,), "beta": (2,)}, num_groups=2)
case("GroupNorm", {"data": (2, 4, 3, 2), "gamma": (1,), "beta": (1,)}, eps=0.1)
case("GroupNorm", {"data": (2, 4, 3), "gamma": (4,), "beta": (4,)}, num_groups=4, output_mean_var=True)
case("InstanceNorm", {"data": (2, 3, 4), "gamma": (3,), "beta": (3,)})
case("InstanceNorm", {"data": (2, 3, 4, 2), "gamma": (3,), "beta": (3,)}, eps=0.1)
for mode in ("instance", "channel", "spatial"):
    case("L2Normalization", {"data": (2, 3, 4)}, mode=mode)
    case("L2Normalization", {"data": (2, 3, 4, 2)}, mode=mode, eps=0.1)
case("L2Normalization", {"data": (2, 3)})
case("LRN", {"data": (2, 6, 3, 2)}, nsize=3)
case("LRN", {"data": (2, 6, 3, 2)}, nsize=5, alpha=0.5, beta=0.6, knorm=1.5)
case("Dropout", {"data": (3, 4)}, p=0.0)

# ---- loss
for flags in (
    {},
    {"grad_scale": 0.5},
    {"normalization": "batch"},
    {"normalization": "valid"},
    {"use_ignore": True},
    {"use_ignore": True, "ignore_label": 1.0, "normalization": "valid"},
    {"smooth_alpha": 0.1},
    {"smooth_alpha": 0.1, "use_ignore": True, "normalization": "batch", "grad_scale": 3.0},
):
    case("SoftmaxOutput", {"data": (5, 4), "label": [0.0, 3.0, 1.0, -1.0, 1.9]}, **flags)
    case(
        "SoftmaxOutput",
        {"data": (3, 2, 4), "label": [[0.0, 3.0], [1.0, -1.0], [1.0, 2.0]]},
        preserve_shape=True,
        **flags,
    )
    case("SoftmaxOutput", {"data": (3, 2, 4), "label": [[0.0, 7.0], [1.0, -1.0], [1.0, 2.0]]}, **flags)
    if "smooth_alpha" not in flags:  # MXNet leaves it out with multi_output
        case(
            "SoftmaxOutput",
            {"data": (2, 4, 3), "label": [[0.0, 3.0, 1.0], [1.0, -1.0, 2.0]]},
            multi_output=True,
            **flags,
        )
        case("SoftmaxOutput", {"data": (2, 4, 3, 2), "label": labels(4, 2, 3, 2)}, multi_output=True, **flags)
    case("SoftmaxOutput", {"data": (3, 4), "label": positive(3, 4)}, **flags)
case("SoftmaxOutput", {"data": (2, 4, 3, 2), "label": labels(4, 2, 6)}, multi_output=True)
case(
    "SoftmaxOutput",
    {"data": (2, 4, 3, 2), "label": labels(4, 2, 1, 3, 2)},
    multi_output=True,
    normalization="batch",
)
case(
    "SoftmaxOutput",
    {"data": (2, 4, 3), "label": positive(2, 4, 3)},
    multi_output=True,
    grad_scale=2.0,
    normalization="batch",
)
case(
    "SoftmaxOutput",
    {"data": (4, 3), "label": [-1.0, -1.0, -1.0, -1.0]},
    use_ignore=True,
    normalization="valid",
)
case("Softmax", {"data": (4, 3), "label": labels(3, 4)})
case("softmax_cross_entropy", {"data": (4, 3), "label": labels(3, 4)})
case("softmax_cross_entropy", {"data": [[50.0, 0.0, 0.0]], "label": [1.0]})
for regression in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
    case(regression, {"data": (4, 3), "label": (4, 3)})
    case(regression, {"data": (4, 1), "label": (4,)}, grad_scale=2.0)
    case(regression, {"data": (4,), "label": (4, 1)})
    case(regression, {"data": (2, 3, 2), "label": (2, 3, 2)}, grad_scale=0.1)
for normalization in ("null", "batch", "valid"):
    case("MakeLoss", {"data": (4, 3)}, normalization=normalization, grad_scale=2.0)
case("MakeLoss", {"data": (4, 3)}, normalization="valid", valid_thresh=0.5)
case("MakeLoss", {"data": (4, 3)}, normalization="valid", valid_thresh=50.0)
for flags in (
    {},
    {"use_linear": True},
    {"margin": 0.5, "regularization_coefficient": 3.0},
    {"margin": 0.5, "use_linear": True, "regularization_coefficient": 3.0},
):
    case("SVMOutput", {"data": (4, 3), "label": [0.0, 1.0, -1.0, 2.0]}, **flags)
    case("SVMOutput", {"data": (2, 3, 2), "label": [[0.0, 5.0, 1.0], [3.0, 2.0, 0.0]]}, **flags)

# ---- sequence
for operator in ("SequenceMask", "SequenceLast", "SequenceReverse"):
    case(operator, {"data": (4, 3, 2)})
    case(operator, {"data": (4, 3), "sequence_length": [1.0, 4.0, 2.0]}, use_sequence_length=True)
    case(operator, {"data": (4, 3, 2), "sequence_length": [1.0, 4.0, 2.0]}, use_sequence_length=True)
    if operator != "SequenceReverse":
        case(operator, {"data": (3, 4, 2)}, axis=1)
        case(
            operator,
            {"data": (3, 4, 2), "sequence_length": [1.0, 4.0, 2.0]},
            use_sequence_length=True,
            axis=1,
        )
case(
    "SequenceMask",
    {"data": (4, 3, 2), "sequence_length": [0.0, 4.0, 2.0]},
    use_sequence_length=True,
    value=-7.5,
)


# ---- recurrent
def recurrent(mode: str, layers: int = 1, directions: int = 1, **flags: object) -> None:
    """Add a row for `RNN` on 5 steps of 2 sequences with 3 features, 4 hidden units."""
    rows, hidden = 4 * {"lstm": 4, "gru": 3}.get(mode, 1), 4
    cells = [(3 if layer == 0 else directions * hidden) for layer in range(layers)] * directions
    size = sum(rows * (features + hidden + 2) for features in cells)
    inputs = {"data": (5, 2, 3), "parameters": (size,), "state": (layers * directions, 2, hidden)}
    if mode == "lstm":
        inputs["state_cell"] = (layers * directions, 2, 4)
    if directions == 2:
        flags["bidirectional"] = True
    case("RNN", inputs, mode=mode, state_size=4, num_layers=layers, **flags)


for mode in ("rnn_relu", "rnn_tanh", "lstm", "gru"):
    recurrent(mode)
    recurrent(mode, state_outputs=True)
    recurrent(mode, 3, state_outputs=True)
    recurrent(mode, 1, 2, state_outputs=True)
    recurrent(mode, 2, 2, state_outputs=True, p=0.0)

WITHOUT_GRADIENT = ("label", "length", "sequence_length", "moving_mean", "moving_var")


def draw(spec: object, random: np.random.RandomState) -> np.ndarray:
    if isinstance(spec, list):
        return np.array(spec, "float32")
    kind, *rest = spec if spec and isinstance(spec[0], str) else ("normal", spec)
    shape = rest[0]
    if kind == "integers":
        low, high, *dtype = rest[1:]
        return random.randint(low, high, shape).astype(*dtype or ["float32"])
    if kind == "positive":
        return random.uniform(0.5, 2.0, shape).astype("float32")
    size = int(np.prod(shape))  # distinct, so that a maximum is never in doubt
    return (random.permutation(size).reshape(shape) / size * 4 - 1.9 + random.rand(*shape) / size).astype(
        "float32"
    )


def main() -> None:
    import mxnet as mx

    nd = mx.nd
    arrays, rows = {}, []
    for number, (operator, inputs, parameters) in enumerate(CASES):
        random = np.random.RandomState(number)
        values = {name: draw(spec, random) for name, spec in inputs.items()}
        as_nd = {name: nd.array(value, dtype=value.dtype) for name, value in values.items()}
        function = getattr(mx.sym, operator)
        symbol = function(**{name: mx.sym.var(name) for name in inputs}, name="op", **parameters)
        aux = {name: as_nd.pop(name) for name in symbol.list_auxiliary_states()}
        grads = {name: nd.zeros(a.shape) for name, a in as_nd.items() if name not in WITHOUT_GRADIENT}
        if operator == "Embedding" or wrong_gradient(operator, inputs, parameters):
            del grads["data"]
        key = f"{number}/"
        try:
            executor = symbol.bind(mx.cpu(), as_nd, args_grad=grads, aux_states=aux)
            for i, out in enumerate(executor.forward(is_train=False)):
                arrays[f"{key}infer/{i}"] = out.asnumpy()
            outs = executor.forward(is_train=True)
            heads = [random.standard_normal(out.shape).astype(out.dtype) for out in outs]
            for i, (out, head) in enumerate(zip(outs, heads)):
                arrays[f"{key}train/{i}"], arrays[f"{key}head/{i}"] = out.asnumpy(), head
            executor.backward([nd.array(head, dtype=head.dtype) for head in heads])
            if wrong_middle_gradient(
                operator, parameters
            ):  # asked for all the same: else that of data is wrong too
                del grads["parameters"]
            for name, grad in grads.items():
                arrays[f"{key}grad/{name}"] = grad.asnumpy()
            for name, value in aux.items():
                arrays[f"{key}aux/{name}"] = value.asnumpy()
        except mx.MXNetError as error:
            print(operator, parameters, "FAILS", str(error).strip().splitlines()[-1][:150])
            arrays = {k: v for k, v in arrays.items() if not k.startswith(key)}
            continue
        for name, value in values.items():
            arrays[f"{key}in/{name}"] = value
        rows.append([number, operator, {k: str(v) for k, v in parameters.items()}])
    arrays["cases"] = np.array(json.dumps(rows))
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("recorded.npz")
    np.savez_compressed(path, **arrays)
    print(len(rows), "cases,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
