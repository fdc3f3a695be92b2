"""Small modules that scripts reach for: `mx.base`, `mx.engine`, `mx.runtime`, `mx.util`."""

from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind import base, engine, runtime, util

MATRIX = mx.nd.array([[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("got", "expected"),
    [
        (isinstance(np.float64(1), base.numeric_types), True),
        (isinstance(np.int64(1), base.integer_types), True),
        (base.py_str("ä".encode()), "ä"),
        (base.py_str("ä"), "ä"),
        (base.c_str("ä").value, "ä".encode()),
        (base._as_list(3), [3]),
        (base._as_list((1, 2)), (1, 2)),
        (base._as_list([1]), [1]),
        (base._as_list(None), [None]),
    ],
)
def test_base(got: object, expected: object) -> None:
    assert got == expected


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: base.c_str(3), TypeError, r"base\.c_str: must be a string; got 3"),
        (
            lambda: engine.set_bulk_size(-1),
            ValueError,
            r"engine\.set_bulk_size: size must be an int >= 0; got",
        ),
        (
            lambda: engine.set_bulk_size(1.5),
            ValueError,
            r"engine\.set_bulk_size: size must be an int >= 0; got",
        ),
        (
            lambda: runtime.Features().is_enabled("CUDAA"),
            RuntimeError,
            "no feature 'CUDAA'; did you mean 'CUDA'",
        ),
        (
            lambda: util.get_gpu_memory(99),
            ValueError,
            r"gpu_memory_info: device_id must be below \d+, the GPUs here; got 99",
        ),
        (
            lambda: mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=base._Null),
            ValueError,
            r"FullyConnected 'fullyconnected\d+': needs a value for num_hidden",
        ),
    ],
)
def test_mistakes(call: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(
    ("home", "folder"),
    [(None, os.path.join(os.path.expanduser("~"), ".mxnet")), ("elsewhere", "elsewhere")],
    ids=["by default", "as set"],
)
def test_the_folder_for_data(home: str | None, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if home is None:
        monkeypatch.delenv("MXNET_HOME", raising=False)
    else:
        monkeypatch.setenv("MXNET_HOME", home)
    assert base.data_dir() == folder


@pytest.mark.parametrize("again", [lambda null: pickle.loads(pickle.dumps(null)), copy.copy, copy.deepcopy])
def test_there_is_one_null(again: Callable[[object], object]) -> None:
    assert again(base._Null) is base._Null
    assert repr(base._Null) == "_Null"


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (lambda: mx.nd.sum(MATRIX, axis=base._Null), lambda: mx.nd.sum(MATRIX)),
        (
            lambda: mx.nd.sum(MATRIX, base._Null, keepdims=True),
            lambda: mx.nd.sum(MATRIX, keepdims=True),
        ),
    ],
    ids=["keyword", "position"],
)
def test_null_is_no_value_for_arrays(given: Callable[[], Any], plain: Callable[[], Any]) -> None:
    assert given().asnumpy().tolist() == plain().asnumpy().tolist() and given().shape == plain().shape
    assert given().asnumpy().sum() == 10


def test_null_is_no_value_for_symbols() -> None:
    data = mx.sym.var("data")
    with mx.name.NameManager():
        given = mx.sym.sum(data, axis=base._Null)
    with mx.name.NameManager():
        plain = mx.sym.sum(data)
    assert given.tojson() == plain.tojson()


@pytest.mark.parametrize("size", [0, 3, 100])
def test_engine(size: int) -> None:
    before = engine.set_bulk_size(10)
    with engine.bulk(size):
        assert engine.set_bulk_size(5) == size
    assert engine.set_bulk_size(before) == 10


def test_features() -> None:
    features = runtime.Features()
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0)
    assert not features.is_enabled("TVM_OP")
    assert [features[feature.name] for feature in runtime.feature_list()] == runtime.feature_list()
    assert "✔ INT64_TENSOR_SIZE" in repr(features)
    assert len(features) == 32  # MXNet's, under its names


class WithADecoratedMethod:
    @util.use_np_shape
    def switched(self) -> bool:
        return util.is_np_shape() and mx.nd.array(3.0).shape == ()


@util.use_np_shape
class Decorated:
    def switched(self) -> bool:
        return util.is_np_shape()


@pytest.mark.parametrize("kind", [WithADecoratedMethod, Decorated])
def test_np_shape_by_decorator(kind: type) -> None:
    assert kind().switched()
    assert not util.is_np_shape() and not util.is_np_array()


def test_np_shape_by_a_switch() -> None:
    with util.np_array(False):
        pass
    util.set_np(shape=True, array=False)
    assert util.is_np_shape()
    util.reset_np()
    assert not util.is_np_shape()


@pytest.mark.parametrize(
    "refuse", [util.np_array, lambda: util.use_np(len), lambda: util.use_np_array(len), util.set_np]
)
def test_arrays_of_mx_np_are_refused(refuse: Callable[[], object]) -> None:
    with pytest.raises(
        ValueError, match=r"util\.\w+: the arrays of mx\.np are not part of rebind\. Use mx\.nd"
    ):
        refuse()


@pytest.mark.parametrize("value", ["1", "a longer value", None])
def test_environment(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REBIND_TEST_VALUE", "before")
    assert util.getenv("REBIND_TEST_VALUE") == "before"
    util.setenv("REBIND_TEST_VALUE", value)
    assert util.getenv("REBIND_TEST_VALUE") == value


def test_the_number_of_gpus() -> None:
    assert util.get_gpu_count() == mx.num_gpus()


def test_a_module_can_be_named() -> None:
    @util.set_module("mxnet.somewhere")
    def function() -> None: ...

    assert function.__module__ == "mxnet.somewhere"
