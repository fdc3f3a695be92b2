"""What follows from some shapes: those of the other inputs, of the states and of the outputs, and their names."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from tests.newer_torch import uses_private_names

import rebind as mx
from rebind.graph.inference import meta_shapes
from rebind.ops import OPERATORS

from .sample import Sample
from .samples import LAYERS, SAMPLES

# What an operator says of its outputs is what running it on tensors without content says.


def _all_inputs(sample: Sample) -> dict[str, tuple[int, ...]]:
    op = OPERATORS[sample.name]
    arrays = sample.inputs()
    names = op.signature.inputs_for(op.parse(sample.parameters), len(arrays))
    return dict(zip(names, (array.shape for array in arrays), strict=True))


DECLARED = [
    sample
    for sample in (*SAMPLES, *LAYERS)
    if OPERATORS[sample.name].inference.forward_rule is not None
    and all(array.dtype.kind == "f" for array in sample.inputs())
]


@pytest.mark.parametrize("sample", DECLARED, ids=str)
def test_declared_shapes_of_outputs_are_those_of_a_run(sample):
    op = OPERATORS[sample.name]
    p = op.parse(sample.parameters)
    shapes = _all_inputs(sample)
    found = op.inference.forward_rule(shapes, p)
    assert not found or list(found) == meta_shapes(op, p, list(shapes.values()), [None] * len(shapes))


@pytest.mark.parametrize(
    ("name", "parameters", "shapes"),
    [
        ("FullyConnected", {"num_hidden": 5}, [(6,), (5, 1), (5,)]),
        ("Convolution", {"kernel": (3,), "num_filter": 4, "stride": (2,)}, [(2, 3, 8), (4, 3, 3), (4,)]),
        (
            "Convolution",
            {
                "kernel": (3, 2),
                "num_filter": 4,
                "pad": (1, 0),
                "dilate": (2, 1),
                "num_group": 2,
                "layout": "NHWC",
            },
            [(2, 9, 8, 6), (4, 3, 2, 3), (4,)],
        ),
        *(
            (
                "Pooling",
                {
                    "kernel": kernel,
                    "stride": (2, 2, 2),
                    "pooling_convention": convention,
                    "pad": pad,
                    "layout": layout,
                },
                [shape],
            )
            for convention, pad in (("valid", (1, 1, 1)), ("full", (1, 1, 1)), ("full", ()), ("same", ()))
            for kernel, layout, shape in (
                ((3, 2), None, (2, 3, 8, 7)),
                ((3, 2), "NHWC", (2, 8, 7, 3)),
                ((2, 3, 2), None, (2, 3, 6, 7, 8)),
            )
        ),
        ("Pooling", {"global_pool": True, "layout": "NHWC"}, [(2, 8, 7, 3)]),
        ("BatchNorm", {"axis": -1}, [(2, 4, 5, 3), (3,), (3,), (3,), (3,)]),
        ("Dropout", {"axes": (1, -1)}, [(2, 3, 4)]),
        ("SoftmaxOutput", {"multi_output": True}, [(2, 3, 4), (2, 4)]),
        ("LinearRegressionOutput", {}, [(5, 1), (5,)]),
        ("Reshape", {"shape": (-4, 2, -1, -2)}, [(6, 4, 5)]),
        ("Reshape", {"shape": (-3, 0), "reverse": True}, [(6, 4, 5)]),
        ("Flatten", {}, [(6,)]),
        ("Concat", {"dim": -2, "num_args": 3}, [(2, 3, 4), (2, 1, 4), (2, 5, 4)]),
        ("SliceChannel", {"num_outputs": 3, "axis": -1, "squeeze_axis": True}, [(2, 4, 3)]),
        ("SliceChannel", {"num_outputs": 1}, [(2, 4, 3)]),
        ("Embedding", {"input_dim": 9, "output_dim": 4}, [(2, 3), (9, 4)]),
        ("broadcast_add", {}, [(2, 1, 3), (4, 1)]),
        ("LeakyReLU", {"act_type": "elu"}, [(2, 3)]),
        ("LeakyReLU", {"act_type": "rrelu"}, [(2, 3)]),
        ("softmax", {"axis": 0}, [(2, 3)]),
        *(
            ("mean", {"axis": axis, "keepdims": keepdims, "exclude": exclude}, [(2, 3, 4)])
            for axis in ((), (1,), (-1, 0), (0, 1, 2))
            for keepdims in (False, True)
            for exclude in (False, True)
        ),
        *(
            (
                "RNN",
                {
                    "state_size": 5,
                    "num_layers": 2,
                    "mode": mode,
                    "bidirectional": directions == 2,
                    "state_outputs": outputs,
                },
                [
                    (7, 3, 4),
                    (size,),
                    (2 * directions, 3, 5),
                    *([(2 * directions, 3, 5)] if mode == "lstm" else []),
                ],
            )
            for mode, directions, size in (("rnn_tanh", 1, 115), ("gru", 2, 840), ("lstm", 2, 1120))
            for outputs in (False, True)
        ),
        ("transpose", {}, [(2, 3, 4)]),
        ("transpose", {"axes": (-1, 0, 1)}, [(2, 3, 4)]),
        ("SwapAxis", {"dim1": -1, "dim2": 0}, [(2, 3, 4)]),
        ("expand_dims", {"axis": -1}, [(2, 3)]),
        ("expand_dims", {"axis": 1}, [(2, 3)]),
        ("_zeros", {"shape": (2, 0)}, []),
    ],
)
def test_declared_shapes_of_outputs_under_many_parameters(name, parameters, shapes):
    op = OPERATORS[name]
    p = op.parse(parameters)
    names = op.signature.inputs_for(p, len(shapes))
    found = op.inference.forward_rule(dict(zip(names, shapes, strict=True)), p)
    assert found == [] or list(found) == meta_shapes(op, p, shapes, [None] * len(shapes))
    assert found or shapes == [(6,), (5, 1), (5,)]


@pytest.mark.parametrize(
    ("name", "parameters", "shapes"),
    [
        ("elemwise_add", {}, [(2, 3), (3, 2)]),
        ("broadcast_add", {}, [(2, 3), (3, 2)]),
        ("Concat", {"dim": 1, "num_args": 2}, [(2, 3), (3, 3)]),
        ("Concat", {"dim": 2, "num_args": 2}, [(2, 3), (2, 3)]),
        ("Concat", {"num_args": 0}, []),
        ("softmax", {"axis": 2}, [(2, 3)]),
        ("sum", {"axis": (2,)}, [(2, 3)]),
        ("sum", {"axis": (1, -1)}, [(2, 3)]),
        ("transpose", {"axes": (0, 0)}, [(2, 3)]),
        ("SwapAxis", {"dim1": 2}, [(2, 3)]),
        ("expand_dims", {"axis": 3}, [(2, 3)]),
        ("SliceChannel", {"num_outputs": 2}, [(2, 3)]),
        ("Reshape", {"shape": (5, -1)}, [(2, 3)]),
        ("Pooling", {"kernel": (2, 2)}, [(2, 3, 4)]),
        ("Convolution", {"kernel": (2, 2), "num_filter": 1}, [(3, 4, 4), (1, 3, 2, 2), (1,)]),
        ("FullyConnected", {"num_hidden": 5}, [(6, 2), (5, 3), (5,)]),
        ("LinearRegressionOutput", {}, [(5, 2), (5,)]),
    ],
)
def test_what_a_function_refuses_is_left_to_it(name, parameters, shapes):
    op = OPERATORS[name]
    p = op.parse(parameters)
    names = op.signature.inputs_for(p, len(shapes))
    assert not op.inference.forward_rule(dict(zip(names, shapes, strict=True)), p)


BIND_AND_RUN = """
import sys
import rebind as mx

def block(data, name):
    data = mx.sym.Convolution(data, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True, name=name)
    data = mx.sym.BatchNorm(data, fix_gamma=False, name=name + "_bn")
    return mx.sym.Activation(data, act_type="relu", name=name + "_relu")

data = block(mx.sym.var("data"), "one")
data = mx.sym.Pooling(data + block(data, "two"), kernel=(2, 2), stride=(2, 2), pool_type="max")
data = mx.sym.Dropout(mx.sym.Flatten(mx.sym.concat(data, data * 2)), p=0.5)
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(data, num_hidden=3), name="softmax")
module = mx.mod.Module(net)
module.fit(
    mx.io.NDArrayIter(mx.nd.ones((8, 3, 6, 6)), mx.nd.zeros((8,)), batch_size=4),
    num_epoch=1, optimizer_params={"momentum": 0.9},
)
print([name for name in ("sympy", "torch._dynamo", "torch._inductor") if name in sys.modules])
"""


@uses_private_names
def test_training_a_network_of_common_layers_does_not_import_what_compilers_need():
    done = subprocess.run([sys.executable, "-c", BIND_AND_RUN], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "[]\n"


X, Y, Z = (mx.sym.var(name) for name in "xyz")


@pytest.mark.parametrize(
    ("make", "known", "arguments", "outputs", "states"),
    [
        pytest.param(
            lambda: mx.sym.CTCLoss(X, use_label_lengths=True, name="loss"),
            {"x": (7, 2, 4), "loss_label": (2, 3)},
            {"x": (7, 2, 4), "loss_label": (2, 3), "loss_label_lengths": (2,)},
            {"loss_output0": (2,)},
            {},
            id="CTCLoss",
        ),
        pytest.param(
            lambda: mx.sym.IdentityAttachKLSparseReg(X, name="op"),
            {"x": (2, 3)},
            {"x": (2, 3)},
            {"op_output": (2, 3)},
            {"op_moving_avg": (3,)},
            id="IdentityAttachKLSparseReg",
        ),
        pytest.param(
            lambda: mx.sym.contrib.count_sketch(X, Y, Z, out_dim=4, name="op"),
            {"x": (2, 5, 5, 3)},
            {"x": (2, 5, 5, 3), "y": (1, 3), "z": (1, 3)},
            {"op_output": (2, 5, 5, 4)},
            {},
            id="count_sketch",
        ),
        pytest.param(
            lambda: mx.sym.contrib.ModulatedDeformableConvolution(
                *(X, Y, Z),
                kernel=(3, 3),
                pad=(1, 1),
                num_filter=6,
                num_group=2,
                num_deformable_group=4,
                name="op",
            ),
            {"x": (2, 4, 6, 7)},
            {
                "x": (2, 4, 6, 7),
                "y": (2, 72, 6, 7),
                "z": (2, 36, 6, 7),
                "op_weight": (6, 2, 3, 3),
                "op_bias": (6,),
            },
            {"op_output": (2, 6, 6, 7)},
            {},
            id="ModulatedDeformableConvolution",
        ),
        pytest.param(
            lambda: mx.sym.SpatialTransformer(
                X, Y, transform_type="affine", target_shape=(2, 3), sampler_type="bilinear", name="op"
            ),
            {"x": (2, 3, 4, 5)},
            {"x": (2, 3, 4, 5), "y": (2, 6)},
            {"op_output": (2, 3, 2, 3)},
            {},
            id="SpatialTransformer",
        ),
        pytest.param(
            lambda: mx.sym.contrib.BilinearResize2D(X, Y, mode="like", name="op"),
            {"x": (1, 2, 3, 4), "y": (5, 6, 7, 8)},
            {"x": (1, 2, 3, 4), "y": (5, 6, 7, 8)},
            {"op_output": (1, 2, 7, 8)},
            {},
            id="BilinearResize2D",
        ),
        pytest.param(
            lambda: mx.sym._internal._cvcopyMakeBorder(
                mx.sym._internal._cvimresize(X, w=4, h=3), top=1, bot=0, left=2, right=3, name="op"
            ),
            {"x": (5, 7, 3)},
            {"x": (5, 7, 3)},
            {"op_output": (4, 9, 3)},
            {},
            id="resizing-and-framing",
        ),
    ],
)
def test_names_and_shapes_that_follow(
    make: Callable[[], mx.Symbol],
    known: dict[str, tuple[int, ...]],
    arguments: dict[str, tuple[int, ...]],
    outputs: dict[str, tuple[int, ...]],
    states: dict[str, tuple[int, ...]],
) -> None:
    symbol = make()
    assert symbol.list_arguments() == list(arguments)
    assert symbol.list_outputs() == list(outputs)
    assert symbol.list_auxiliary_states() == list(states)
    expected = tuple(list(shapes.values()) for shapes in (arguments, outputs, states))
    assert symbol.infer_shape(**known) == expected
