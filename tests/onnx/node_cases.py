"""The cases of `onnx.backend.test` for single operators, read as symbols and run."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
from onnx.backend.test.case.node import collect_testcases

import onnx
import rebind as mx
from rebind.onnx.reading import read_model
from rebind.onnx.reading.graph_reader import UnknownNumbersError

#: Of types that MXNet lacks, by NumPy's names, the types in which their numbers are.
WIDER_TYPES = {
    "uint16": "int32", "uint32": "int64", "uint64": "int64", "uint2": "uint8", "int2": "int8", "uint4": "uint8",
    "int4": "int8", "float4_e2m1fn": "float32", "float8_e4m3fn": "float32", "float8_e4m3fnuz": "float32",
    "float8_e5m2": "float32", "float8_e5m2fnuz": "float32", "float8_e8m0fnu": "float32",
}  # fmt: skip


@functools.cache
def node_cases() -> dict[str, Any]:
    """Return all cases by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx makes numbers that are not finite, on purpose
        return {case.name: case for case in collect_testcases()}


def read_case(model: Any, inputs: dict[str, np.ndarray]) -> Any:
    """Read a model; inputs whose numbers MXNet's operators need in advance become constants, as the error says."""
    constants: dict[str, np.ndarray] = {}
    while True:
        try:
            return read_model(model, constants=constants)
        except UnknownNumbersError as error:
            asked = {key: inputs[key] for key in error.sources}
            # Data is no constant: shapes, axes, bounds and the like are few numbers.
            if not asked or asked.keys() <= constants.keys() or any(np.size(v) > 16 for v in asked.values()):
                raise
            constants |= asked


def run_case(name: str) -> None:
    """Read a case, run it, and compare what comes out as onnx's own tests do."""
    case = node_cases()[name]
    for given, expected in case.data_sets:
        inputs = {info.name: value for info, value in zip(case.model.graph.input, given, strict=True)}
        symbol, arg_params, aux_params, names = read_case(case.model, inputs)
        arguments = {key: as_array(inputs[key]) for key in names if key in symbol.list_inputs()}
        states = {key: arguments.pop(key) for key in symbol.list_auxiliary_states() if key in arguments}
        executor = symbol.bind(
            mx.cpu(), {**arguments, **arg_params}, aux_states={**states, **aux_params}, grad_req="null"
        )
        found = executor.forward(is_train=False)
        assert len(found) == len(expected)
        for one, wanted in zip(found, expected, strict=True):
            compare(one, wanted, case)


def numbers_of(value: Any) -> np.ndarray:
    """Return numbers of a case; those of types that MXNet lacks in the type that it has for them."""
    array = onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    wide = WIDER_TYPES.get(array.dtype.name)
    if wide is None:
        return array
    assert array.dtype.name != "uint64" or np.all(array < 2**63)
    return array.astype(wide)


def as_array(value: Any) -> Any:
    array = numbers_of(value)
    dtype = array.dtype.name
    return mx.nd.array(array.astype(np.float32) if dtype == "bfloat16" else array, dtype=dtype)


def compare(found: Any, expected: Any, case: Any) -> None:
    expected = numbers_of(expected)
    if expected.dtype.name == "bfloat16":
        assert found.dtype == mx.nd.zeros((1,), dtype="bfloat16").dtype
        expected = expected.astype(np.float32)
    else:
        assert found.dtype == expected.dtype
    array = found.asnumpy()
    # A number without axes is an array of one element, in MXNet.
    assert array.shape == (expected.shape or (1,))
    np.testing.assert_allclose(
        array, expected.reshape(array.shape), rtol=case.rtol, atol=case.atol, equal_nan=True
    )
