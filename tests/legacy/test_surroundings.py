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


def test_a_text_for_c_must_be_one() -> None:
    with pytest.raises(TypeError, match=r"base\.c_str: must be a string; got 3"):
        base.c_str(3)  # type: ignore[arg-type]


def test_the_folder_for_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MXNET_HOME", raising=False)
    assert base.data_dir() == os.path.join(os.path.expanduser("~"), ".mxnet")
    monkeypatch.setenv("MXNET_HOME", "elsewhere")
    assert base.data_dir() == "elsewhere"


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
    with pytest.raises(ValueError, match="FullyConnected: needs a value for num_hidden"):
        mx.sym.FullyConnected(data, num_hidden=null)


def test_engine() -> None:
    before = engine.set_bulk_size(10)
    with engine.bulk(3):
        assert engine.set_bulk_size(5) == 3
    assert engine.set_bulk_size(before) == 10


@pytest.mark.parametrize("size", [-1, 1.5])
def test_bad_sizes_of_bulks(size: int) -> None:
    with pytest.raises(ValueError, match=r"engine\.set_bulk_size: size must be an int >= 0; got"):
        engine.set_bulk_size(size)


def test_features() -> None:
    features = runtime.Features()
    assert features.is_enabled("cuda") == (mx.num_gpus() > 0)
    assert not features.is_enabled("TVM_OP")
    assert [features[feature.name] for feature in runtime.feature_list()] == runtime.feature_list()
    assert "✔ INT64_TENSOR_SIZE" in repr(features)
    assert len(features) == 32  # MXNet's, under its names
    with pytest.raises(RuntimeError, match="no feature 'CUDAA'; did you mean 'CUDA'"):
        features.is_enabled("CUDAA")


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
    with pytest.raises(
        ValueError, match=r"gpu_memory_info: device_id must be below \d+, the GPUs here; got 99"
    ):
        util.get_gpu_memory(99)

    @util.set_module("mxnet.somewhere")
    def function() -> None: ...

    assert function.__module__ == "mxnet.somewhere"
