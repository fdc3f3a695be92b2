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
            "FullyConnected: needs a value for num_hidden",
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


def test_null_counts_as_not_given() -> None:
    null = base._Null
    assert repr(null) == "_Null"
    assert pickle.loads(pickle.dumps(null)) is copy.deepcopy(null) is null
    x = mx.nd.array([[1, 2], [3, 4]])
    assert mx.nd.sum(x, axis=null).asscalar() == 10
    assert mx.nd.sum(x, null, keepdims=True).shape == (1, 1)
    data = mx.sym.var("data")
    with mx.name.NameManager():
        given = mx.sym.sum(data, axis=null)
    with mx.name.NameManager():
        plain = mx.sym.sum(data)
    assert given.tojson() == plain.tojson()


def test_engine() -> None:
    before = engine.set_bulk_size(10)
    with engine.bulk(3):
        assert engine.set_bulk_size(5) == 3
    assert engine.set_bulk_size(before) == 10


def test_features() -> None:
    features = runtime.Features()
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0)
    assert not features.is_enabled("TVM_OP")
    assert [features[feature.name] for feature in runtime.feature_list()] == runtime.feature_list()
    assert "✔ INT64_TENSOR_SIZE" in repr(features)
    assert len(features) == 32  # MXNet's, under its names


def test_numpy_switches() -> None:
    assert not util.is_np_array()

    class Counts:
        @util.use_np_shape
        def alone(self) -> Any:
            return mx.nd.array(3.0).shape

    @util.use_np_shape
    class Both:
        def shapes(self) -> bool:
            return util.is_np_shape()

    assert Counts().alone() == ()
    assert Both().shapes()
    assert not util.is_np_shape()
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


def test_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REBIND_TEST_VALUE", raising=False)
    assert util.getenv("REBIND_TEST_VALUE") is None
    util.setenv("REBIND_TEST_VALUE", "1")
    assert util.getenv("REBIND_TEST_VALUE") == "1"
    util.setenv("REBIND_TEST_VALUE", None)
    assert util.getenv("REBIND_TEST_VALUE") is None
    assert util.get_gpu_count() == mx.num_gpus()


def test_a_module_can_be_named() -> None:
    @util.set_module("mxnet.somewhere")
    def function() -> None: ...

    assert function.__module__ == "mxnet.somewhere"
