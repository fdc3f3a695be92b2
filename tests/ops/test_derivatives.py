"""Gradients are derivatives, of the first and of the second order: for every operator that has a derivative.

The rows are those of `samples`. An operator that gives a gradient has a row there or a reason in this file why not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from tests.sampling import sampled

import rebind as mx
from rebind.ndarray import invoke
from rebind.ops import OPERATORS, all_operators
from rebind.params import Params
from rebind.symbol.functions import make_function

from .sample import Array, Sample
from .samples import CERTAIN, LAYERS

#: Whose result does not change with the input, or by steps only: there is no gradient to test.
FLAT = {
    "_contrib_arange_like": "takes the shape only",
    "_contrib_index_array": "takes the shape only",
    "_contrib_allclose": "answers yes or no",
    **dict.fromkeys(["argmax", "argmin", "argmax_channel", "argsort"], "gives positions"),
    **dict.fromkeys(["all_finite", "multi_all_finite"], "answers yes or no"),
    **dict.fromkeys(["one_hot", "_ravel_multi_index", "_unravel_index"], "takes whole numbers"),
    **dict.fromkeys(["shape_array", "size_array"], "takes the shape only"),
}

#: Operators of which gradcheck cannot say anything.
NOT_CHECKED = {
    **dict.fromkeys(
        ["SoftmaxOutput", "SVMOutput", "MakeLoss", "make_loss"],
        "a loss: its gradient is declared, not that of its output (test_loss.py)",
    ),
    **dict.fromkeys(
        [f"{kind}RegressionOutput" for kind in ("Linear", "Logistic", "MAE")],
        "a loss: its gradient is declared, not that of its output (test_loss.py)",
    ),
    "BlockGrad": "holds the gradient back",
    "_contrib_gradientmultiplier": "its gradient is multiplied (recorded cases)",
    "_contrib_round_ste": "its gradient is straight through (recorded cases)",
    "_contrib_sign_ste": "its gradient is straight through (recorded cases)",
    "_onnx_cast_through": "its gradient is that of a cast (tests/onnx/test_narrow_types.py)",
    "_contrib_box_nms": "its gradient goes to the rows, whatever their format (contrib/test_boxes.py)",
    "multi_sum_sq": "computes in float32",
    "_image_to_tensor": "gives float32 (test_image.py)",
    "IdentityAttachKLSparseReg": "adds something to its gradient (test_regularization.py)",
    "_shuffle": "a random order (test_sampling.py)",
    "_sparse_retain": "for sparse arrays only",
}

#: Files of operators of which none is differentiated here.
NO_ROWS = {
    **dict.fromkeys(
        (f"rebind.ops.update.{name}" for name in ("adam", "adaptive", "descent", "layerwise", "leader")),
        "an optimizer's step has no gradient",
    ),
    "rebind.ops.custom": "the gradient is the user's (test_operator.py)",
    "rebind.ops.control_flow": "the gradient is that of the part of the graph (test_control_flow.py)",
}

#: The differentiable function is one of matrices that stay symmetric.
SYMMETRIC = ("_linalg_potrf", "_linalg_syevd")


def differentiated(sample: Sample) -> list[bool]:
    """Tell which arrays gradients are computed for: those drawn from a range of real numbers that are no states."""
    op = OPERATORS[sample.name]
    names = op.signature.inputs_for(op.parse(sample.parameters), len(sample.arrays))
    return [
        isinstance(array, Array) and array.dtype == "float32" and name not in op.signature.aux_names
        for name, array in zip(names, sample.arrays, strict=True)
    ]


def has_derivative(sample: Sample) -> bool:
    op = OPERATORS[sample.name]
    dtype = sample.parameters.get("dtype", "float64")
    return (
        any(differentiated(sample))
        and sample.name not in FLAT
        and sample.name not in NOT_CHECKED
        and op.kernels.needs_head_gradient(op.parse(sample.parameters))
        and (sample.name in ("Cast", "amp_cast") or dtype == "float64")
    )


ROWS = [sample for sample in (*CERTAIN, *LAYERS) if has_derivative(sample)]
FIRST_ROWS = list({sample.name: sample for sample in reversed(ROWS)}.values())[::-1]
#: Second derivatives take long: of one row of each operator in the quick suite.
ROWS_OF_OPERATORS = [
    pytest.param(row, marks=marks, id=str(row)) for row, marks in sampled(ROWS, lambda row: row.name)
]
COVERED = {sample.name for sample in ROWS}


def parameters_of(sample: Sample) -> Params:
    """Return the parameters with which the operator computes in float64."""
    op = OPERATORS[sample.name]
    given = {**sample.parameters, **({op.signature.count: len(sample.arrays)} if op.signature.count else {})}
    return op.parse({**given, "dtype": "float64"} if sample.name in ("Cast", "amp_cast") else given)


def prepare(sample: Sample) -> tuple[Callable[..., tuple[torch.Tensor, ...]], list[torch.Tensor]]:
    """Return the operator as a function of tensors that gives what has a gradient, and its inputs."""
    op = OPERATORS[sample.name]
    p = parameters_of(sample)
    keywords = {**op.signature.keywords(p)}
    if "training" in op.signature.modes:
        keywords["training"] = sample.training

    def compute(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        if sample.name in SYMMETRIC:
            tensors = tuple(tensor + tensor.mT for tensor in tensors)
        modes = {"generator": torch.Generator().manual_seed(1)} if "generator" in op.signature.modes else {}
        out = op(*tensors, **keywords, **modes)
        outputs = out[: op.record.visible_outputs(p)] if isinstance(out, tuple) else (out,)
        return tuple(each for each in outputs if each.requires_grad)

    inputs = [
        torch.tensor(array, dtype=torch.float64 if array.dtype == "float32" else None, requires_grad=wanted)
        for array, wanted in zip(sample.inputs(), differentiated(sample), strict=True)
    ]
    return compute, inputs


def test_each_operator_has_a_row_or_a_reason():
    tables = {"FLAT": FLAT, "NOT_CHECKED": NOT_CHECKED, "ROWS": COVERED}
    known = {name: [title for title, table in tables.items() if name in table] for name in OPERATORS}
    missing = []
    for op in all_operators():
        flat = not op.signature.inputs or op.kernels.head_gradient is False
        if not known[op.name] and not flat and op.kernels.function.__module__ not in NO_ROWS:
            missing.append(op.name)
        assert len(known[op.name]) <= 1, f"{op.name} stands in {known[op.name]}"
    assert not missing, "operators without a row in samples.py and without a reason here"
    assert not (FLAT.keys() | NOT_CHECKED.keys()) - OPERATORS.keys()


@pytest.mark.parametrize("sample", ROWS, ids=str)
def test_gradients_are_derivatives(sample):
    compute, inputs = prepare(sample)
    assert compute(*inputs), "no output has a gradient"
    torch.autograd.gradcheck(compute, inputs)


EXPLICIT = [
    Sample(*call)
    for call in (
        ("FullyConnected", (Array((5, 3)), Array((4, 3)), Array((4,))), {"num_hidden": 4}),
        ("FullyConnected", (Array((5, 3)), Array((1, 3))), {"num_hidden": 1, "no_bias": True}),
        ("FullyConnected", (Array((5,)), Array((4, 1)), Array((4,))), {"num_hidden": 4}),
        ("FullyConnected", (Array((2, 5, 3)), Array((4, 15)), Array((4,))), {"num_hidden": 4}),
        (
            "FullyConnected",
            (Array((2, 5, 3)), Array((4, 3)), Array((4,))),
            {"num_hidden": 4, "flatten": False},
        ),
        (
            "FullyConnected",
            (Array((3,)), Array((4, 3))),
            {"num_hidden": 4, "flatten": False, "no_bias": True},
        ),
        *(
            ("Activation", (Array((5, 3), -30, 30),), {"act_type": act})
            for act in ("relu", "sigmoid", "tanh", "softrelu")
        ),
        *((name, (Array((5, 3), 0.5, 4),), {}) for name in ("sqrt", "log")),
        *(
            (name, (Array((5, 3), -3, 3),), {})
            for name in ("relu", "sigmoid", "tanh", "negative", "square", "exp")
        ),
        *(
            (f"_{name}_scalar", (Array((5, 3)),), {"scalar": 0.7})
            for name in ("plus", "minus", "rminus", "mul", "div")
        ),
        *(
            (f"broadcast_{name}", (Array(left), Array(right)), {})
            for name in ("add", "sub", "mul")
            for left, right in (((5, 3), (5, 3)), ((5, 1), (1, 3)), ((2, 5, 3), (5, 1)), ((1,), (2, 3)))
        ),
        *(
            (name, (Array((2, 3, 4)),), p)
            for name in ("sum", "mean")
            for p in ({}, {"axis": 1}, {"axis": (0, -1), "keepdims": True}, {"axis": 1, "exclude": True})
        ),
        ("Dropout", (Array((5, 3)),), {"p": 0.4}, True),
        ("Dropout", (Array((5, 3)),), {"p": 0.4, "axes": (1,)}, True),
        ("Reshape", (Array((2, 3, 4)),), {"shape": (0, -1)}),
        ("Flatten", (Array((2, 3, 4)),), {}),
        ("Flatten", (Array((3,)),), {}),
        *(
            (f"elemwise_{name}", (Array((2, 3)), Array((2, 3), 0.5, 2)), {})
            for name in ("add", "sub", "mul", "div")
        ),
        ("LeakyReLU", (Array((5, 3)),), {"act_type": "leaky", "slope": 0.3}),
        (
            "Embedding",
            (np.array([[1, 0, 2], [1, 9, -4]], "int32"), Array((3, 4))),
            {"input_dim": 3, "output_dim": 4},
        ),
    )
]


def test_each_operator_that_declares_its_derivatives_has_a_sample():
    declared = {op.name for op in all_operators() if op.kernels.derivatives}
    assert declared == {sample.name for sample in EXPLICIT}


@pytest.mark.filterwarnings("ignore:Embedding. data must hold indices")  # a case is outside of the table
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("sample", EXPLICIT, ids=str)
def test_declared_derivatives_are_those_of_autograd(sample, dtype):
    """To the last bit; the output is read, and the input is not, where a form writes over the input."""
    op = OPERATORS[sample.name]
    p = op.parse(sample.parameters)
    inputs = [
        torch.tensor(each, dtype=dtype if each.dtype == "float32" else None) for each in sample.inputs()
    ]
    leaves = [each.clone().requires_grad_() if each.is_floating_point() else each for each in inputs]
    modes = op.signature.mode_keywords(sample.training, torch.Generator().manual_seed(1), mx.cpu())
    output = op(*leaves, **op.signature.keywords(p), **modes)
    first = output[0] if isinstance(output, tuple) else output
    head_grad = torch.linspace(-1, 2, first.numel(), dtype=dtype).reshape(first.shape)
    first.backward(head_grad, retain_graph=True)
    nothing = torch.full((), float("nan"), dtype=dtype)
    for name, leaf in zip(op.signature.inputs_for(p, len(inputs)), leaves, strict=True):
        if not leaf.requires_grad:
            continue
        given = [
            nothing.expand(each.shape) if op.kernels.over_input(other, p) else each
            for other, each in zip(op.signature.inputs_for(p, len(inputs)), inputs, strict=True)
        ]
        shown = nothing.expand(first.shape) if op.kernels.owns_output else output
        found = op.kernels.derivative_of(name, p)(p, head_grad, shown, *given)
        assert torch.equal(found, leaf.grad)


@pytest.mark.parametrize("sample", ROWS_OF_OPERATORS)
def test_gradients_of_gradients_are_derivatives(sample):
    compute, inputs = prepare(sample)
    torch.autograd.gradgradcheck(compute, inputs)


@pytest.mark.parametrize("sample", FIRST_ROWS, ids=str)
def test_second_order_through_autograd(sample):
    """The Hessian of a weighted sum times a direction: `mx.autograd.grad` twice, and by differences of the first."""
    op = OPERATORS[sample.name]
    p = parameters_of(sample)
    _, tensors = prepare(sample)
    random = torch.Generator().manual_seed(7)
    directions = [torch.randn(t.shape, generator=random, dtype=t.dtype) for t in tensors if t.requires_grad]
    if sample.name in SYMMETRIC:
        tensors = [(tensor + tensor.mT).detach().requires_grad_() for tensor in tensors]
        directions = [direction + direction.mT for direction in directions]

    def slopes(shift: float, graph: bool) -> tuple[list[mx.nd.NDArray], list[mx.nd.NDArray]]:
        """Return the marked arrays, moved by so much, and the gradients at the place."""
        moves = iter(directions)
        moved = [t.detach() + shift * next(moves) if t.requires_grad else t for t in tensors]
        arrays = [mx.nd.NDArray(tensor.clone()) for tensor in moved]
        variables = [a for a, tensor in zip(arrays, tensors, strict=True) if tensor.requires_grad]
        for variable in variables:
            variable.attach_grad()
        mx.random.seed(3)
        with mx.autograd.record(train_mode=sample.training):
            outputs = invoke(op, arrays, p)
            outputs = outputs if isinstance(outputs, list) else [outputs]
            heads = [output for output in outputs if output.tensor.requires_grad]
            weights = [
                mx.nd.linspace(0.5, 1.5, head.size, dtype="float64").reshape(head.shape) for head in heads
            ]
            return variables, mx.autograd.grad(heads, variables, weights, create_graph=graph)

    variables, first = slopes(0.0, True)
    with mx.autograd.record():
        products = [(slope * mx.nd.NDArray(d)).sum() for slope, d in zip(first, directions, strict=True)]
        products = [product for product in products if product.tensor.requires_grad]
    second = mx.autograd.grad(products, variables) if products else [mx.nd.zeros_like(v) for v in variables]
    step = 1e-6
    (_, ahead), (_, behind) = slopes(step, False), slopes(-step, False)
    for found, plus, minus in zip(second, ahead, behind, strict=True):
        expected = (plus.asnumpy() - minus.asnumpy()) / (2 * step)
        np.testing.assert_allclose(
            found.asnumpy(), expected, rtol=1e-4, atol=1e-6 * (1 + abs(expected).max())
        )


@pytest.mark.parametrize("sample", FIRST_ROWS, ids=str)
@pytest.mark.filterwarnings("ignore:gradients of contrib.SparseEmbedding")
def test_gradients_through_an_executor(sample):
    """`mx.test_utils.check_numeric_gradient` of a symbol: the whole way through graph, plan and executor."""
    if sample.name in SYMMETRIC:
        pytest.skip("an element that moves alone makes the matrix unsymmetric")
    op = OPERATORS[sample.name]
    if "generator" in op.signature.modes:
        pytest.skip("draws again in each pass")
    p = parameters_of(sample)
    names = op.signature.inputs_for(p, len(sample.arrays))
    given = {name: value for name, value in p.items() if value is not None}
    symbol = make_function(op, op.name)(*(mx.sym.var(name) for name in names), **given)
    if sample.name == "_contrib_hawkesll":
        symbol = symbol[0]  # no gradient flows through the state, as in MXNet
    tensors = dict(zip(names, prepare(sample)[1], strict=True))
    values = {name: tensor.detach().numpy() for name, tensor in tensors.items()}
    states = {name: values.pop(name) for name in op.signature.aux_names}
    wanted = [name for name, tensor in tensors.items() if tensor.requires_grad]
    mx.test_utils.check_numeric_gradient(
        symbol, values, states, grad_nodes=wanted, rtol=1e-4, atol=1e-6, dtype=np.float64
    )
