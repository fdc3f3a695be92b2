"""What holds for every tensor operator: its declaration says what its function does."""

from __future__ import annotations

import inspect

import pytest
import torch

from rebind.errors import MXNetError
from rebind.ops import (
    OPERATORS,
    all_operators,
    axes,
    creation,
    distributions,
    elementwise,
    indexing,
    joining,
    matmul,
    ordering,
    reduce,
    repetition,
    reshape,
    sampling,
    slicing,
    unary,
)
from rebind.params import format_value
from rebind.shapes import merge

from .sample import Sample
from .samples import SAMPLES

MODULES = (
    axes, creation, distributions, elementwise, indexing, joining, matmul, ordering, reduce, repetition, reshape,
    sampling, slicing, unary,
)  # fmt: skip
FILES = {module.__name__ for module in MODULES} | {"rebind.ops._tables"}
HERE = [op for op in all_operators() if op.kernels.function.__module__ in FILES]


def run(sample: Sample, device: str = "cpu", tensors=None, **changed):
    op = OPERATORS[sample.name]
    keywords = {**op.signature.keywords(op.parse(sample.parameters)), **changed}
    if "device" in op.signature.modes:
        keywords["device"] = device
    if tensors is None:
        tensors = [torch.tensor(array, device=device) for array in sample.inputs()]
    out = op(*tensors, **keywords)
    return out if isinstance(out, tuple) else (out,)


@pytest.mark.parametrize("op", HERE, ids=lambda op: op.name)
def test_documentation(op):
    doc = inspect.getdoc(op.kernels.function)
    assert doc and doc.splitlines()[0].endswith((".", ")", "``")), (
        "the first line says what the operator computes"
    )


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_meta_tensors_give_shapes_and_types(sample):
    real = run(sample)
    meta = run(sample, "meta")
    assert [(tuple(out.shape), out.dtype) for out in meta] == [(tuple(out.shape), out.dtype) for out in real]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_declared_types_and_outputs(sample):
    op = OPERATORS[sample.name]
    p = op.parse(sample.parameters)
    slots = op.inference.type_slots(p)
    outputs = run(sample)
    assert len(op.record.output_names(p)) == len(outputs)
    tensors = [torch.tensor(array) for array in sample.inputs()]
    op.check_types(tensors, p)
    bound = {}
    names = op.signature.inputs_for(p, len(tensors))
    entries = [
        (name, slots.get(name, slots.get("*", "T")), tensor)
        for name, tensor in zip(names, tensors, strict=True)
    ]
    entries += [
        (name, slots.get(name, slots.get("output", "T")), tensor)
        for name, tensor in zip(op.record.output_names(p), outputs, strict=True)
    ]
    for name, slot, tensor in entries:
        if isinstance(slot, torch.dtype):
            assert tensor.dtype is slot, name
        elif callable(slot):
            assert tensor.dtype is slot(bound["T"]), name
        elif slot != "any":
            assert bound.setdefault(slot, tensor.dtype) is tensor.dtype, name


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_parameters_survive_text(sample):
    op = OPERATORS[sample.name]
    p = op.parse(sample.parameters)
    written = {name: format_value(value) for name, value in p.items() if name != op.signature.count}
    assert op.signature.keywords(op.parse(written)) == op.signature.keywords(p)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_inferred_shapes_are_the_real_ones(sample):
    """Rules never contradict what is, whatever part of the inputs is unknown."""
    op = OPERATORS[sample.name]
    p = op.parse(sample.parameters)
    tensors = [torch.tensor(array) for array in sample.inputs()]
    names = op.signature.inputs_for(p, len(tensors))
    shapes = {name: tuple(tensor.shape) for name, tensor in zip(names, tensors, strict=True)}
    outputs = [tuple(out.shape) for out in run(sample)]
    views = [shapes, dict.fromkeys(shapes)]
    if (
        sample.name != "pick"
    ):  # an unknown index is taken to lack the axis, as in MXNet, though it may have it
        views += [{**shapes, name: None} for name in shapes]
    views += [{**shapes, name: (0, *shapes[name][1:])} for name in shapes if shapes[name]]
    views += [{**shapes, name: (0,) * len(shapes[name])} for name in shapes]
    views += [{name: (0,) * len(shape) for name, shape in shapes.items()}]
    output_views = [outputs, [None] * len(outputs), [(0,) * len(out) for out in outputs]]
    output_views += [[(0, *out[1:]) if out else out for out in outputs]]
    for view in views:
        answers = [op.inference.filled_shapes(view, p)]
        answers += [op.inference.shapes_of_inputs(view, seen, p) for seen in output_views]
        for answer in answers:
            for name, shape in answer.items():
                merge(shape, shapes[name])  # raises when they differ


@pytest.mark.parametrize(
    ("name", "inputs", "parameters", "given", "found"),
    [
        ("elemwise_add", {"lhs": None, "rhs": None}, {}, [(2, 3)], {"lhs": (2, 3), "rhs": (2, 3)}),
        ("add_n", {"arg0": None, "arg1": None}, {}, [(2, 3)], {"arg0": (2, 3), "arg1": (2, 3)}),
        ("transpose", {"data": None}, {}, [(2, 3)], {"data": (3, 2)}),
        ("transpose", {"data": None}, {"axes": (1, 2, 0)}, [(3, 4, 0)], {"data": (0, 3, 4)}),
        ("Flatten", {"data": (0, 3, 2)}, {}, [(5, 0)], {"data": (5, 3, 2)}),
        ("Reshape", {"data": (0, 3, 2)}, {"shape": (0, 6)}, [(2, 6)], {"data": (2, 3, 2)}),
        ("expand_dims", {"data": None}, {"axis": 1}, [(2, 1, 3)], {"data": (2, 3)}),
        ("SwapAxis", {"data": None}, {"dim1": 0, "dim2": 2}, [(2, 3, 4)], {"data": (4, 3, 2)}),
        ("SliceChannel", {"data": None}, {"num_outputs": 2}, [(2, 3), None], {"data": (2, 6)}),
        (
            "SliceChannel",
            {"data": None},
            {"num_outputs": 2, "squeeze_axis": True},
            [(5,), None],
            {"data": (5, 2)},
        ),
        ("Concat", {"arg0": (2, 3), "arg1": None}, {}, [(2, 7)], {"arg0": (2, 3), "arg1": (2, 4)}),
        ("stack", {"arg0": None, "arg1": None}, {}, [(2, 3)], {"arg0": (3,), "arg1": (3,)}),
        ("slice_axis", {"data": None}, {"axis": 1, "begin": 0, "end": 2}, [(3, 2)], {"data": (3, 0)}),
        ("where", {"condition": None, "x": None, "y": None}, {}, [(3, 2)], {"x": (3, 2), "y": (3, 2)}),
    ],
)
def test_shapes_flow_backward(name, inputs, parameters, given, found):
    op = OPERATORS[name]
    assert op.inference.shapes_of_inputs(inputs, given, op.parse(parameters)) == found


@pytest.mark.parametrize(
    ("name", "inputs", "parameters", "found"),
    [
        ("Concat", {"arg0": (2, 3), "arg1": (0, 4)}, {}, {"arg0": (2, 3), "arg1": (2, 4)}),
        ("Concat", {"arg0": (2, 3), "arg1": None}, {}, {"arg0": (2, 3), "arg1": (2, 0)}),
        ("pick", {"data": (5, 4), "index": None}, {}, {"index": (5,)}),
        ("_slice_assign", {"lhs": (3, 2), "rhs": None}, {"begin": (0,), "end": (2,)}, {"rhs": (2, 2)}),
        ("_sample_uniform", {"low": (2,), "high": None}, {}, {"low": (2,), "high": (2,)}),
    ],
)
def test_shapes_flow_sideways(name, inputs, parameters, found):
    op = OPERATORS[name]
    assert op.inference.filled_shapes(inputs, op.parse(parameters)) == found


@pytest.mark.parametrize(
    ("name", "shapes", "parameters", "says"),
    [
        (
            "elemwise_add",
            [(2, 3), (2, 1)],
            {},
            "elemwise_add: rhs must have the shape of lhs, (2, 3); got (2, 1)",
        ),
        (
            "broadcast_add",
            [(2, 3), (2, 2)],
            {},
            "equal or 1 on each axis, counted from the last; got (2, 3) and (2, 2)",
        ),
        ("add_n", [(2,), (3,)], {}, "add_n: all arrays must have one shape, (2,); got (3,)"),
        ("add_n", [], {}, "add_n: needs at least one array; got none"),
        (
            "where",
            [(3,), (2, 2), (2, 2)],
            {},
            "where: condition must have the shape of x, (2, 2), or of its leading axes; got (3,)",
        ),
        ("sum", [(2, 3)], {"axis": 2}, "sum: axis must be in [-2, 2) for an array of 2 axes; got 2"),
        ("sum", [(2, 3)], {"axis": (1, -1)}, "sum: axis must not name an axis twice; got (1, -1)"),
        ("norm", [(2, 3)], {"ord": 3}, "norm: ord must be an int in [1, 2]; got 3"),
        ("argmax", [(2, 3)], {"axis": 2}, "argmax: axis must be in [-2, 2)"),
        (
            "Reshape",
            [(2, 3)],
            {"shape": (4, -1)},
            "shape=(4, -1) must fit data of shape (2, 3); got 6 elements, not a multiple of 4",
        ),
        ("Reshape", [(2, 3)], {"shape": (-1, -1)}, "shape must hold -1 at most once"),
        (
            "Reshape",
            [(2, 3)],
            {"shape": (0, 0, 0)},
            "refers to more axes than data has; got data of shape (2, 3)",
        ),
        ("Reshape", [(2, 3)], {"shape": (-5,)}, "must be sizes or one of 0, -1, -2, -3, -4; got -5"),
        ("Reshape", [(2, 3)], {"shape": (-4, 2)}, "-4 must be followed by two sizes whose product is 2"),
        ("Reshape", [(2, 3)], {}, "Reshape: shape must be given"),
        (
            "expand_dims",
            [(2, 3)],
            {"axis": 4},
            "expand_dims: axis must be in [-3, 2] for data of 2 axes; got 4",
        ),
        ("squeeze", [(2, 1)], {"axis": 0}, "squeeze: axes (0,) must be of size 1; got data of shape (2, 1)"),
        (
            "transpose",
            [(2, 3)],
            {"axes": (0, 0)},
            "transpose: axes must name each of the 2 axes of data once; got (0, 0)",
        ),
        ("SwapAxis", [(2, 3)], {"dim2": 2}, "SwapAxis: dim2 must be in [-2, 2)"),
        ("reverse", [(2, 3)], {"axis": 2}, "reverse: axis must be in [-2, 2)"),
        (
            "depth_to_space",
            [(1, 3, 2, 2)],
            {"block_size": 2},
            "channels must be a multiple of block_size**2 = 4; got 3",
        ),
        (
            "depth_to_space",
            [(3, 2, 2)],
            {"block_size": 2},
            "data must have four axes (N, C, H, W); got shape (3, 2, 2)",
        ),
        (
            "diag",
            [(2, 3)],
            {"k": 5},
            "diag: k must be in [-1, 2], the diagonals of data of shape (2, 3); got 5",
        ),
        (
            "broadcast_to",
            [(2, 2)],
            {"shape": (2, 3)},
            "broadcast_to: data of shape (2, 2) must broadcast to (2, 3)",
        ),
        (
            "broadcast_to",
            [(2,)],
            {"shape": (2, 3)},
            "broadcast_to: shape must have 1 axes as data has, (2,); got (2, 3)",
        ),
        ("broadcast_axis", [(1, 2)], {"axis": 1, "size": 4}, "broadcast_axis: axis 1 must be of size 1"),
        (
            "Pad",
            [(1, 1, 2, 2)],
            {"mode": "edge", "pad_width": (1, 0, 0, 0, 0, 0, 0, 0)},
            "Pad: with mode 'edge' data must have 4 or 5 axes, and pad_width must be 0 for the first two",
        ),
        (
            "Pad",
            [(1, 1, 2, 2)],
            {"mode": "reflect", "pad_width": (0, 0, 0, 0, 2, 0, 0, 0)},
            "pad_width must be less than the size of each axis of data",
        ),
        (
            "Pad",
            [(2, 2)],
            {"mode": "mirror", "pad_width": ()},
            "mode must be one of 'constant', 'edge', 'reflect'; got 'mirror'",
        ),
        (
            "Concat",
            [(2, 3), (3, 3)],
            {},
            "Concat: arg1 must have the shape of arg0, (2, 3), but for axis 1; got (3, 3)",
        ),
        ("Concat", [(2, 3), (2, 3)], {"dim": 2}, "Concat: dim must be in [-2, 2)"),
        ("stack", [(2, 3), (3, 3)], {}, "stack: all arrays must have one shape; got (2, 3), (3, 3)"),
        (
            "SliceChannel",
            [(2, 5)],
            {"num_outputs": 2},
            "size of axis 1 must be a multiple of num_outputs=2; got data of shape (2, 5)",
        ),
        (
            "SliceChannel",
            [(2, 5)],
            {"num_outputs": 0},
            "SliceChannel: num_outputs must be an int in [1, 1000000]; got 0",
        ),
        (
            "slice",
            [(2, 3)],
            {"begin": (0, 0), "end": (1,)},
            "slice: begin, end and step must have the same length",
        ),
        ("slice", [(2, 3)], {"begin": (0,), "end": (1,), "step": (0,)}, "slice: step must not be 0"),
        (
            "slice",
            [(2,)],
            {"begin": (0, 0), "end": (1, 1)},
            "slice: begin must have at most one value for each axis of data",
        ),
        (
            "slice_axis",
            [(2, 3)],
            {"axis": 1, "begin": 0, "end": 7},
            "begin must be less than end, and both within axis 1 of size 3; got 0 and 7",
        ),
        (
            "slice_like",
            [(2, 3), (3, 3)],
            {},
            "slice_like: axis 0 of shape_like must be at most that of data, (2, 3); got (3, 3)",
        ),
        (
            "_slice_assign",
            [(2, 3), (2, 2)],
            {"begin": (0,), "end": (1,)},
            "rhs must have the shape of the region, (1, 3); got (2, 2)",
        ),
        ("take", [(2, 3), (2,)], {"axis": 2}, "take: axis must be in [-2, 2)"),
        ("pick", [(2, 3), (3,)], {}, "pick: index must have shape (2,) or (2, 1); got (3,)"),
        ("pick", [(2, 3), (2,)], {"axis": None}, "pick: axis must be an int; got None"),
        ("batch_take", [(2, 3), (3,)], {}, "batch_take: a must be a matrix (N, C) and indices (N,)"),
        (
            "gather_nd",
            [(2, 3), (3, 1)],
            {},
            "gather_nd: indices must have 2 axes or more, and 1 to 2 rows of",
        ),
        (
            "scatter_nd",
            [(2,), (1, 3)],
            {"shape": (4,)},
            "scatter_nd: data must have shape (3,) to match indices; got (2,)",
        ),
        (
            "dot",
            [(2, 3), (2, 3)],
            {},
            "dot: axis 1 of lhs and axis 0 of rhs must have the same size; got (2, 3) and (2, 3)",
        ),
        (
            "batch_dot",
            [(2, 3), (3, 2)],
            {},
            "batch_dot: lhs and rhs must have 3 axes or more and equal leading axes",
        ),
        ("dot", [(), (3,)], {}, "dot: lhs and rhs must have 1 axis or more; got shapes () and (3,)"),
        ("gather_nd", [(2, 3), ()], {}, "gather_nd: indices must have 2 axes or more, and 1 to 2 rows of"),
        (
            "_ravel_multi_index",
            [()],
            {"shape": (2,)},
            "_ravel_multi_index: shape must have one size for each row",
        ),
        ("_unravel_index", [(2,)], {}, "_unravel_index: shape must have at least one size; got None"),
        ("_shuffle", [()], {}, "_shuffle: data must have 1 axis or more; got shape ()"),
        ("_sample_multinomial", [(2, 0)], {}, "the last axis of data must have a probability or more"),
        (
            "_full",
            [],
            {"shape": (2,), "value": float("nan"), "dtype": "int32"},
            "_full: value must be finite for type int32; got nan",
        ),
        (
            "_arange",
            [],
            {"start": float("nan")},
            "_arange: start, stop and step must be finite; got 0, nan and 1.0",
        ),
        (
            "_random_poisson_like",
            [(2,)],
            {"lam": -1},
            "_random_poisson_like: lam must be at least 0; got -1.0",
        ),
        ("_random_normal_like", [(2,)], {"scale": 0}, "_random_normal_like: scale must be above 0; got 0.0"),
        ("gather_nd", [(2, 3), (2,)], {}, "indices must have 2 axes or more"),
        ("scatter_nd", [(), (1,)], {"shape": (3,)}, "scatter_nd: indices must have 2 axes or more"),
        (
            "transpose",
            [(2, 3)],
            {"axes": (0, 3)},
            "axes must name each of the 2 axes of data once; got (0, 3)",
        ),
        ("transpose", [()], {"axes": (0, 1)}, "axes must name each of the 0 axes of data once; got (0, 1)"),
        ("batch_dot", [(2,), (2, 3, 4)], {"transpose_a": True}, "lhs and rhs must have 3 axes or more"),
        ("topk", [(2, 3)], {"k": 9}, "topk: k must be at most 3, the size of the axis; got 9"),
        ("sort", [(2, 3)], {"axis": 2}, "sort: axis must be in [-2, 2)"),
        (
            "_arange",
            [],
            {"start": 5, "stop": 0},
            "stop must be above start with step=1.0; got start=5.0 and stop=0.0",
        ),
        ("_arange", [], {"start": 5, "step": 0}, "step must not be 0"),
        ("_zeros", [], {"shape": (-1,)}, "_zeros: shape must be known, with sizes >= 0; got (-1,)"),
        ("_random_uniform", [], {"low": 2, "high": 1}, "low must be at most high; got 2.0 and 1.0"),
        ("_random_normal", [], {"scale": -1}, "scale must be above 0; got -1.0"),
        ("_sample_uniform", [(2,), (3,)], {}, "arrays of parameters must have one shape; got (2,), (3,)"),
        ("clip", [(2,)], {"a_min": 0}, "clip: needs a value for a_max (a float)"),
        ("Cast", [(2,)], {"dtype": "float8"}, "Cast: dtype must be a dtype"),
    ],
)
def test_mistakes_meet_a_sentence(name, shapes, parameters, says):
    op = OPERATORS[name]
    with pytest.raises(MXNetError) as caught:
        keywords = op.signature.keywords(op.parse(parameters))
        op(*(torch.zeros(shape) for shape in shapes), **keywords)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("name", "indices", "parameters", "says"),
    [
        ("take", [5], {"mode": "raise"}, r"indices must be in \[0, 2\) .*; got 5"),
        (
            "gather_nd",
            [[5]],
            {},
            r"row 0 of indices must be in \[0, 2\), axis 0 of data of shape \(2, 3\); got 5",
        ),
    ],
)
def test_indices_out_of_range(name, indices, parameters, says):
    with pytest.raises(MXNetError, match=says):
        OPERATORS[name](torch.zeros(2, 3), torch.tensor(indices), **parameters)
