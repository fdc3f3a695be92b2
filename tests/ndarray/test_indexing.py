"""What brackets select, write and differentiate is what NumPy has, for keys of any kind.

``make fuzz`` runs 100,000 keys of each test. Keys that MXNet 1.9.1 takes otherwise are in docs/differences.md.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers
from torch.utils._python_dispatch import TorchDispatchMode

import rebind as mx

SHAPES = numbers.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)
#: What the arrays of a key broadcast to.
INDEX_SHAPES = st.one_of(
    numbers.array_shapes(min_dims=1, max_dims=2, max_side=3), st.sampled_from([(0,), (2, 0)])
)


def filled(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(1, np.prod(shape) + 1, dtype="float32").reshape(shape)


@st.composite
def slices(draw: Any, size: int) -> slice:
    """A slice of an axis, in either direction and perhaps beyond its ends."""
    bounds = st.none() | st.integers(-size - 1, size + 1)
    return slice(draw(bounds), draw(bounds), draw(st.none() | st.integers(1, 3) | st.integers(-3, -1)))


@st.composite
def indices_of(draw: Any, size: int, shape: tuple[int, ...]) -> np.ndarray:
    """An array of indices of an axis, which broadcasts to a shape."""
    sides = [draw(st.sampled_from([1, n])) if n else 0 for n in shape]
    return draw(
        numbers.arrays(
            np.int64, sides[draw(st.integers(0, len(sides) - 1)) :], elements=st.integers(-size, size - 1)
        )
    )


@st.composite
def indexed(draw: Any, advanced: bool = True) -> tuple[np.ndarray, tuple[Any, ...]]:
    """An array and a key of ints, slices, None, ``...`` and, if `advanced`, arrays, masks and bools that fits it."""
    shape, together = draw(SHAPES), draw(INDEX_SHAPES)
    used = draw(st.integers(0, len(shape)))
    # Those behind an ellipsis are of the last axes.
    before = draw(st.integers(0, used))
    kinds = ["int", "slice", *(["array", "array"] if advanced else [])]
    key: list[Any] = []
    for axis in [*range(before), *range(len(shape) - used + before, len(shape))]:
        kind, size = draw(st.sampled_from(kinds)), shape[axis]
        choices = {
            "int": st.integers(-size, size - 1),
            "slice": slices(size),
            "array": indices_of(size, together),
        }
        key.append(draw(choices[kind]))
    if before < used or draw(st.booleans()):
        key.insert(before, Ellipsis)
    for _ in range(draw(st.integers(0, 2))):
        key.insert(draw(st.integers(0, len(key))), None)
    if advanced and draw(st.integers(0, 9)) == 0:
        key.insert(draw(st.integers(0, len(key))), draw(st.booleans()))
    return filled(shape), tuple(key)


@st.composite
def masked(draw: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """An array and a key with a mask of one axis or more, slices, and an int beside it."""
    shape = draw(SHAPES)
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first + 1, len(shape)))
    key: list[Any] = [draw(slices(size)) for size in shape[:first]]
    key.append(draw(numbers.arrays(bool, shape[first:last])))
    key += [draw(st.integers(-size, size - 1) | slices(size)) for size in shape[last:]]
    return filled(shape), tuple(key[: draw(st.integers(first + 1, len(key)))])


CASES = st.one_of(indexed(), indexed(advanced=False), masked())


@st.composite
def as_written(draw: Any, key: tuple[Any, ...]) -> Any:
    """The key as programs write it: lists and NDArrays for arrays, and no tuple around a single index."""
    found = []
    for index in key:
        if isinstance(index, np.ndarray):
            forms = [index, index.tolist(), *([mx.nd.array(index, dtype=index.dtype)] if index.size else [])]
            index = draw(st.sampled_from(forms)) if index.dtype != bool else index
        found.append(index)
    single = len(found) == 1 and not isinstance(found[0], tuple) and draw(st.booleans())
    return found[0] if single else tuple(found)


def selected(values: np.ndarray, key: tuple[Any, ...]) -> np.ndarray | None:
    """Return what NumPy selects; None where it refuses the key, since the arrays in it do not broadcast."""
    try:
        return np.asarray(values[key])
    except IndexError:
        return None


def as_found(value: np.ndarray) -> np.ndarray:
    """Return what an NDArray makes of a result of NumPy: it has at least one axis."""
    return value if value.ndim else value.reshape(1)


@st.composite
def broadcasting(draw: Any, shape: tuple[int, ...]) -> np.ndarray:
    """An array that broadcasts to a shape, which may have more leading axes of size 1."""
    sides = [draw(st.sampled_from([1, n])) for n in shape]
    sides = (
        sides[draw(st.integers(0, len(sides))) :]
        if draw(st.booleans())
        else [1] * draw(st.integers(0, 2)) + sides
    )
    return -filled(tuple(sides) or (1,))


def summed_to(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return the gradient of an array of a shape from that of what it was broadcast to."""
    gradient = gradient.reshape((1,) * (len(shape) - gradient.ndim) + gradient.shape)
    gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
    axes = tuple(n for n, size in enumerate(shape) if size == 1)
    return gradient.sum(axis=axes, keepdims=True).reshape(shape)


@pytest.mark.fuzz
@settings(deadline=None)
@given(CASES, st.data())
def test_reading_and_its_gradient(case: tuple[np.ndarray, tuple[Any, ...]], data: Any) -> None:
    values, key = case
    expected, written = selected(values, key), data.draw(as_written(key))
    array = mx.nd.array(values)
    if expected is None:
        with pytest.raises((IndexError, mx.MXNetError)):
            array[written]
        return
    np.testing.assert_array_equal(array[written].asnumpy(), as_found(expected))
    if not expected.size:
        return  # an array without elements leads nowhere
    array.attach_grad()
    with mx.autograd.record():
        found = array[written]
        np.testing.assert_array_equal(found.asnumpy(), as_found(expected))
    weights = filled(found.shape)
    found.backward(mx.nd.array(weights))
    gradient = np.zeros_like(values)
    np.add.at(gradient, key, weights.reshape(expected.shape))
    np.testing.assert_array_equal(array.grad.asnumpy(), gradient)


@pytest.mark.fuzz
@settings(deadline=None)
@given(CASES, st.data())
def test_writing_and_its_gradient(case: tuple[np.ndarray, tuple[Any, ...]], data: Any) -> None:
    values, key = case
    target, written = selected(values, key), data.draw(as_written(key))
    if target is None:
        return
    counts = np.zeros(values.shape)
    np.add.at(counts, key, 1)
    twice = counts.max() > 1  # which of several numbers for one element is written last is not defined
    value = -filled((1,)) if twice else data.draw(broadcasting(target.shape))
    new = np.broadcast_to(value.reshape(value.shape[max(value.ndim - target.ndim, 0) :]), target.shape)
    expected = values.copy()
    expected[key] = new
    if value.size == 1:
        array = mx.nd.array(values)
        array[written] = value.item()
        np.testing.assert_array_equal(array.asnumpy(), expected)
    source = mx.nd.array(value) if value.size else mx.nd.zeros(value.shape)
    array = mx.nd.array(values)
    array[written] = source
    np.testing.assert_array_equal(array.asnumpy(), expected)
    if twice or not new.size:
        return
    source.attach_grad()
    with mx.autograd.record():
        array = mx.nd.array(values)
        array[written] = source
        np.testing.assert_array_equal(array.asnumpy(), expected)
        total = array * mx.nd.array(values)
    total.backward()
    np.testing.assert_array_equal(source.grad.asnumpy(), summed_to(values[key], value.shape))


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (3, "NDArray: index 3 is out of bounds for axis 0 with size 3; the array has shape (3, 4)"),
        ((0, [1, 4]), "NDArray: index 4 is out of bounds for axis 1 with size 4; the array has shape (3, 4)"),
        (
            ([0, -4], 0),
            "NDArray: index -4 is out of bounds for axis 0 with size 3; the array has shape (3, 4)",
        ),
        ((5, [0]), "NDArray: index 5 is out of bounds for axis 0 with size 3; the array has shape (3, 4)"),
        ((0, 1, [0]), "NDArray: too many indices for an array of 2 axes; the array has shape (3, 4)"),
        ((..., [0], ...), "NDArray: an index can have a single ellipsis ('...'); the array has shape (3, 4)"),
        ((..., ...), "NDArray: an index can have a single ellipsis ('...'); the array has shape (3, 4)"),
        (
            np.array([True, False]),
            "NDArray: a mask must have the size of what it selects from, (3,) from axis 0 on; got (2,); "
            "the array has shape (3, 4)",
        ),
    ],
    ids=repr,
)
def test_keys_that_do_not_fit(key, says):
    array = mx.nd.zeros((3, 4))
    for use in (lambda: array[key], lambda: array.__setitem__(key, 1)):
        with pytest.raises(mx.MXNetError, match=re.escape(says)):
            use()


@pytest.mark.parametrize(
    "key",
    [
        (slice(None), [0, 1], ..., 0),  # the ellipsis has no axes, and divides the arrays still
        (slice(None, None, -1), [0, 1], ..., 0),
        (None, False, ..., 0, 0, 0),
        (0, slice(None, None, -2), [0, 1]),
        (slice(None, None, -1), 0, slice(2)),
    ],
    ids=repr,
)
def test_arrays_beside_others(key):
    values = filled((2, 3, 4))
    array = mx.nd.array(values)
    np.testing.assert_array_equal(array[key].asnumpy(), as_found(values[key]))
    array[key] = 0
    values[key] = 0
    np.testing.assert_array_equal(array.asnumpy(), values)


@pytest.mark.parametrize("key", [([0, 1], [0, 1, 2]), (slice(None, None, -1),), ([0, 1],)], ids=repr)
def test_what_does_not_broadcast(key):
    array = mx.nd.zeros((3, 4))
    with pytest.raises(mx.MXNetError, match=r"NDArray: .*broadcast"):
        array[key] = mx.nd.zeros((2, 3))


class Operators(TorchDispatchMode):
    """Lists the operators of PyTorch that run."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "key",
    [[0, 1], np.array([1, 0]), np.array([True, False, True]), (slice(2), [0, 1]), (0, [0, 1])],
    ids=repr,
)
def test_a_key_that_torch_takes_as_numpy_does_is_read_and_written_by_one_operator(key):
    array = mx.nd.zeros((3, 4))
    with Operators() as reading:
        array[key]
    with Operators() as writing:
        array[key] = 1
    # Views and the conversion of the key beside it.
    assert not {"permute", "movedim", "aminmax", "stack", "clone"} & {*reading.seen, *writing.seen}
    assert (reading.seen.count("index"), writing.seen.count("index_put_")) == (1, 1)
