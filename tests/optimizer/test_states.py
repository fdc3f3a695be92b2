import contextlib
import os
import pickle

import numpy as np
import pytest

from rebind import nd, random
from rebind.device import cpu
from rebind.errors import FormatError, ShapeError
from rebind.lr_scheduler import MultiFactorScheduler
from rebind.ndarray import array
from rebind.optimizer import Updater, create
from rebind.optimizer.states import read_states

from .samples import FORMS


def trained(name, steps=3, dtype="float32", **settings):
    updater = Updater(
        create(name, learning_rate=0.1, param_idx2name={0: "a_weight", 1: "a_bias"}, **settings)
    )
    weights = [array(np.ones((2, 3)), dtype=dtype), array(np.ones(3), dtype=dtype)]
    train_on(updater, weights, steps)
    return updater, weights


def train_on(updater, weights, steps=3):
    for _ in range(steps):
        updater([0, 1], [array(np.ones(each.shape), dtype=each.dtype) for each in weights], weights)
    return [each.asnumpy().tolist() for each in weights]


@pytest.mark.parametrize(("name", "settings"), FORMS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_training_resumes_exactly(name, settings, dtype):
    settings = {"multi_precision": True, **settings, **({} if name == "groupadagrad" else {"wd": 0.1})}
    first, weights = trained(name, dtype=dtype, lr_scheduler=MultiFactorScheduler([2, 4], 0.5), **settings)
    second = Updater(create("sgd"))
    second.set_states(first.get_states(dump_optimizer=True))
    copies = [each.copy() for each in weights]
    assert second.optimizer._index_update_count == {0: 3, 1: 3}
    random.seed(2)
    expected = train_on(first, weights)
    random.seed(2)
    assert train_on(second, copies) == expected


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_states_go_to_the_device_of_their_weight(name, settings):
    first, _ = trained(name, **settings)
    second = Updater(create(name, **settings))
    second.set_states(first.get_states())
    weight = array(np.ones((2, 3)), ctx=cpu(1))
    second(0, array(np.ones((2, 3)), ctx=cpu(1)), weight)
    assert all(each is None or each.context == cpu(1) for each in leaves(second.states[0]))


@pytest.mark.parametrize(
    ("source", "shape", "error", "says"),
    [
        (
            "sgd",
            (3, 3),
            ShapeError,
            r"state of weight 0 must have shape and type \(3, 3\) float32; got \(2, 3\)",
        ),
        (
            "adam",
            (2, 3),
            FormatError,
            r"got \(\(2, 3\) float32, \(2, 3\) float32\) instead of \(2, 3\) float32",
        ),
    ],
    ids=["another network", "another optimizer"],
)
def test_states_that_do_not_fit(source, shape, error, says):
    updater, _ = trained(source, **({"momentum": 0.9} if source == "sgd" else {}))
    other = Updater(create("sgd", momentum=0.9))
    other.set_states(updater.get_states())
    before = [each.asnumpy() for each in leaves(other.states[0])]
    with pytest.raises(error, match=says):
        other(0, array(np.ones(shape)), array(np.ones(shape)))
    for found, expected in zip(leaves(other.states[0]), before, strict=True):
        np.testing.assert_array_equal(found.asnumpy(), expected)


def leaves(state):
    return list(state) if isinstance(state, tuple) else [state]


class Evil:
    def __reduce__(self):
        return os.system, ("touch /tmp/rebind-was-here",)


class Nested:
    def __reduce__(self):
        return bytearray, (10**12,)


def deep():
    value = ()
    for _ in range(60):
        value = (value, value)
    return value


GOOD = trained("adam")[0].get_states(dump_optimizer=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (
            pickle.dumps({0: Evil()}),
            "may hold arrays, numbers, optimizers and schedules; got (posix|nt).system",
        ),
        (pickle.dumps({0: Nested()}), "must be bytes; got int"),
        (pickle.dumps({0: deep()}), "state must be arrays, numbers or None"),
        (pickle.dumps({0: print}), "got builtins.print"),
        (pickle.dumps({0: np.zeros(2)}), "may hold arrays"),
        (pickle.dumps([1, 2]), "must be a dict from index to state; got list"),
        (pickle.dumps(({}, {})), "second member must be an optimizer"),
        (pickle.dumps({0: "text"}), "got str for 0"),
        (pickle.dumps({0: np.complex64(1)}), "a number must be of a usual type; got 'c8'"),
        (pickle.dumps({0: np.str_("a")}), "a number must be of a usual type"),
        (b"", "must be a .states file"),
        (b"no pickle", "must be a .states file"),
        (GOOD[:-40], "must be a .states file"),
    ],
)
def test_nothing_in_a_file_is_run(content, says):
    with pytest.raises(FormatError, match=says):
        Updater(create("sgd")).set_states(content)
    assert not os.path.exists("/tmp/rebind-was-here")


def with_attribute(value):
    """Return a file whose optimizer has a further attribute."""
    updater, _ = trained("adam")
    updater.optimizer.further = value
    return updater.get_states(dump_optimizer=True)


def test_attributes_may_hold_arrays():
    second = Updater(create("sgd"))
    second.set_states(with_attribute({"a": [array(np.ones(2)), (1, "b", None)]}))
    found = second.optimizer.further
    assert found["a"][0].asnumpy().tolist() == [1, 1]
    assert found["a"][1] == (1, "b", None)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", ">f4"])
def test_numbers_of_numpy_are_plain(dtype):
    """As MXNet writes settings such as ``wd=numpy.float32(0.5)``."""
    number = np.dtype(dtype).type(1)
    second = Updater(create("sgd"))
    second.set_states(pickle.dumps({0: number, 1: (number,)}, protocol=2))
    assert second.states == {0: 1, 1: (1,)}
    assert type(second.states[0]) is type(number.item())


def test_a_list_named_often_is_read_once():
    bomb = [0]
    for _ in range(3):
        bomb = [bomb] * 2000
    second = Updater(create("sgd"))
    second.set_states(with_attribute(bomb))
    assert second.optimizer.further[0][1999][7] is second.optimizer.further[5][3][2]


@pytest.mark.parametrize("value", [[[[[[0]]]]], {1.5: 0}, b"bytes"], ids=str)
def test_attributes_are_plain(value):
    with pytest.raises(FormatError, match=r"must be a number|got float|got bytes|got list"):
        Updater(create("sgd")).set_states(with_attribute(value))


def test_damaged_files_are_refused_or_read_but_never_crash():
    random = np.random.RandomState(0)
    for _ in range(300):
        damaged = bytearray(GOOD)
        for position in random.randint(0, len(damaged), random.randint(1, 4)):
            damaged[position] = random.randint(256)
        with contextlib.suppress(FormatError):
            Updater(create("sgd")).set_states(bytes(damaged))


def test_states_of_row_sparse_weights_are_of_mxnet_s_class():
    weight, grad = (
        nd.ones((3, 2)).tostype("row_sparse"),
        nd.array([[0, 0], [1, 1], [0, 0]]).tostype("row_sparse"),
    )
    updater = Updater(create("sgd", momentum=0.9))
    updater(0, grad, weight)
    content = updater.get_states()
    assert b"mxnet.ndarray.sparse" in content and b"RowSparseNDArray" in content
    (state,) = read_states(content)[0].values()
    assert state.stype == "row_sparse"
    np.testing.assert_array_equal(state.asnumpy(), updater.states[0].asnumpy())


@pytest.mark.parametrize("stypes", [("default", "row_sparse"), ("row_sparse", "default")], ids=str)
def test_states_may_have_another_storage_type_than_the_weight(stypes):
    grad = nd.array([[0, 0], [1, 1], [0, 0]]).tostype("row_sparse")
    updaters = [Updater(create("adam")) for _ in range(2)]
    weights = [nd.ones((3, 2)).tostype(stype) for stype in (stypes[0], stypes[0])]
    updaters[0].states[0] = tuple(nd.zeros((3, 2), stype=stypes[1]) for _ in range(2))
    for updater, weight in zip(updaters, weights, strict=True):
        for _ in range(2):
            updater(0, grad, weight)
    np.testing.assert_array_equal(weights[0].asnumpy(), weights[1].asnumpy())
