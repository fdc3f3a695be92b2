"""What `facts.txt` cannot say: memory, other libraries, pickles, devices."""

from __future__ import annotations

import copy
import inspect
import pickle

import numpy as np
import pytest
import torch

import rebind as mx
from rebind import nd


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("np.ones(2) + x", [2.5, 3.5]),
        ("x - np.ones(2)", [0.5, 1.5]),
        ("np.float32(2) * x", [3, 5]),
        ("np.array(2.0) * x", [3, 5]),
        ("x * np.array(2)", [3, 5]),
        ("x + True", [2.5, 3.5]),
        ("nd.maximum(x, 2)", [2, 2.5]),
        ("nd.lesser(2, x)", [0, 1]),
        ("nd.logical_and(x, 0)", [0, 0]),
        ("nd.add(1.5, x)", [3, 4]),
    ],
)
def test_numbers_and_numpy_arrays(expression: str, expected: list[float]) -> None:
    found = eval(expression, {"np": np, "nd": nd, "x": nd.array([1.5, 2.5])})
    assert isinstance(found, nd.NDArray) and found.dtype is np.float32
    assert found.asnumpy().tolist() == expected


@pytest.mark.parametrize(
    ("function", "left", "right", "expected"),
    [
        (nd.maximum, 2, 3, 3),
        (nd.add, 2, 3, 5),
        (nd.power, 2, 3, 8),
        (nd.modulo, 7, 4, 3),
        (nd.lesser, 2, 3, True),
    ],
)
def test_two_numbers(function, left: int, right: int, expected: int) -> None:
    assert function(left, right) == expected


X = nd.array([[1, 2], [3, 4]])


def parameter(name: str) -> inspect.Parameter:
    return inspect.signature(nd.FullyConnected).parameters[name]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(lambda: np.array(X).shape, (2, 2), id="np.array"),
        pytest.param(lambda: np.asarray(X, np.int64).dtype, np.int64, id="np.asarray-of-a-type"),
        pytest.param(lambda: np.exp(X).dtype, np.float32, id="ufunc"),
        pytest.param(lambda: X.asnumpy().flags.owndata, True, id="memory-of-its-own"),
        pytest.param(lambda: X.T.asnumpy().flags.c_contiguous, True, id="contiguous"),
        pytest.param(lambda: parameter("weight").default, inspect.Parameter.empty, id="signature-required"),
        pytest.param(lambda: parameter("bias").default, None, id="signature-optional"),
        pytest.param(lambda: parameter("num_hidden").annotation, int, id="signature-type"),
    ],
)
def test_what_other_libraries_see(found, expected) -> None:
    assert found() == expected


@pytest.mark.parametrize(
    "values", [np.arange(4)[::-1], np.arange(4, dtype=">i4"), np.broadcast_to(np.float32(1), 4)]
)
def test_any_layout_of_numpy(values: np.ndarray) -> None:
    assert nd.array(values).asnumpy().tolist() == values.tolist()
    x = nd.zeros((4,))
    x[:] = values
    assert x.asnumpy().tolist() == values.tolist()


def test_shared_memory() -> None:
    tensor = torch.zeros(3)
    x = nd.from_torch(tensor)
    x += 1
    assert tensor.tolist() == [1, 1, 1] and x.to_torch().data_ptr() == tensor.data_ptr()
    torch.from_dlpack(x)[:2] = torch.tensor([5.0, 6.0])
    assert np.from_dlpack(x)[1] == 6  # NumPy 1 gives a view that cannot be written to
    nd.from_dlpack(x.to_dlpack_for_write())[2:] = 7
    assert tensor.tolist() == [5, 6, 7]
    assert nd.from_numpy(np.arange(3)[::2], zero_copy=False).asnumpy().tolist() == [0, 2]


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "uint8", "int8", "int32", "int64", "bool"]
)
def test_pickle_and_copy(dtype: str) -> None:
    x = nd.array([0, 1], mx.cpu(1), dtype)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert y.tensor.dtype is x.tensor.dtype and y.context == mx.cpu(1)
        assert y.asnumpy().tolist() == x.asnumpy().tolist()
        y[:] = 1
    assert x.asnumpy().tolist() == [0, 1]


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        (slice(1, None), slice(None, -1), [0, 0, 1, 2, 3, 4]),
        (slice(None, -1), slice(1, None), [1, 2, 3, 4, 5, 5]),
        (slice(None), slice(None, None, -1), [5, 4, 3, 2, 1, 0]),
    ],
)
def test_overlapping_slices(target: slice, source: slice, expected: list[int]) -> None:
    x = nd.arange(6)
    x[target] = x[source]
    assert x.asnumpy().tolist() == expected


def test_slice_assign() -> None:
    x = nd.zeros((3, 4))
    assert x.slice_assign(nd.ones((2, 2)), (0, 0), (2, 2), (None, None)) is x
    assert x.slice_assign_scalar(9, (2, 0), (3, 4)) is x
    assert x.asnumpy().sum() == 4 + 36


@pytest.mark.parametrize(
    ("compute", "shapes"),
    [
        (lambda x: nd.moveaxis(x, (0, 1), (-1, 0)), [(3, 4, 2)]),
        (lambda x: x.split_v2((1, 3), axis=2), [(2, 3, 1), (2, 3, 2), (2, 3, 1)]),
        (lambda x: x.broadcast_to((5, 2, 3, 4)), [(5, 2, 3, 4)]),
        (lambda x: nd.concatenate([x, x], axis=1), [(2, 6, 4)]),
    ],
)
def test_functions_that_are_not_operators(compute, shapes: list[tuple[int, ...]]) -> None:
    found = compute(nd.arange(24).reshape((2, 3, 4)))
    assert [each.shape for each in (found if isinstance(found, list) else [found])] == shapes


@pytest.mark.parametrize("space", [nd, mx.sym])
def test_help(space) -> None:
    text = inspect.getdoc(space.Convolution)
    assert text.count("Parameters\n") == 1
    assert "num_filter : an int >= 1, required\n    Number of filters" in text
    assert "\nShapes\n------\n" in text
    assert ">>>" not in inspect.getdoc(space.clip)  # the operator's example is about tensors
    assert list(inspect.signature(space.clip).parameters)[:3] == ["data", "a_min", "a_max"]


@pytest.mark.parametrize("space", [nd, mx.sym])
def test_namespaces(space) -> None:
    assert space._internal._plus_scalar.__name__ == "_plus_scalar"
    for name in ("contrib", "image", "linalg", "sparse", "random"):
        assert hasattr(space, name)
    assert set(space.random.__all__) >= {"uniform", "normal_like", "multinomial", "shuffle", "randn"}


@pytest.mark.parametrize("kind", [mx.nd.NDArray, mx.sym.Symbol], ids=lambda kind: kind.__name__)
def test_a_class_is_derived_from_two_others_at_most(kind: type) -> None:
    assert len(kind.__mro__) <= 4  # with object
