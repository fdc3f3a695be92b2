"""Operators of ONNX that MXNet lacks go back to ONNX as what they were: onnx's own cases, out and in again."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest
from onnx.reference import ReferenceEvaluator
from tests.onnx.node_cases import as_array, compare, node_cases, read_case
from tests.onnx.not_read import NOT_READ
from tests.onnx.running import in_onnxruntime

import onnx
import rebind as mx
from rebind.onnx import to_onnx
from rebind.onnx.export.translations import TRANSLATIONS

#: What is read as ``_onnx_X``.
KINDS = {
    "BitCast", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Cast", "Col2Im", "CumProd", "CumSum", "DFT",
    "Einsum", "GatherElements", "GatherND", "GridSample", "MatMul", "MaxPool", "MaxUnpool", "Mod", "NonMaxSuppression",
    "NonZero", "ReduceLogSumExp", "Resize", "Round", "STFT", "ScatterElements", "ScatterND", "TensorScatter", "Trilu",
    "Unique", "AveragePool", "LpPool", "Div",
}  # fmt: skip
#: What ONNX's opset 26 cannot say, by what the error must say: cases of later ones, by how their names begin.
REFUSED = {
    "does not take bfloat16": (
        "einsum_batch_matmul_bf", "einsum_sum_bf", "einsum_transpose_bf", "unique_bfloat16",
    ),
}  # fmt: skip
#: onnx's reference takes uneven padding of MaxPool as if it were that of other axes; onnxruntime does not.
NOT_IN_REFERENCE = ("maxpool_2d_same_lower", "maxpool_2d_same_upper")


def cases() -> dict[str, Any]:
    """Return the cases of single nodes by name, without what is not read."""
    skipped = {name for names in NOT_READ.values() for name in names.split()}
    found = {name.removeprefix("test_"): case for name, case in node_cases().items()}
    return {
        name: case
        for name, case in found.items()
        if [node.op_type for node in case.model.graph.node][1:] == []
        and case.model.graph.node[0].op_type in KINDS
        and name not in skipped
    }


def round_trip(name: str, case: Any) -> set[str]:
    """Read a case, write it, run it in onnx's reference, and read it again; return the operators of the first time."""
    given, expected = case.data_sets[0]
    inputs = {info.name: value for info, value in zip(case.model.graph.input, given, strict=True)}
    symbol, arg_params, aux_params, names = read_case(case.model, inputs)
    arrays = {key: as_array(inputs[key]) for key in names if key in symbol.list_inputs()}
    used = {node.operator.name for node in symbol.graph.nodes if not node.is_variable}
    if not any(kind.startswith("_onnx_") for kind in used):
        return set()
    model = to_onnx(
        symbol,
        {**arg_params, **aux_params},
        {key: value.shape for key, value in arrays.items()},
        {key: value.dtype for key, value in arrays.items()},
        opset=26,
    )
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    feeds = {key: value.asnumpy() for key, value in arrays.items()}
    run = in_onnxruntime if name in NOT_IN_REFERENCE else _in_reference
    for found, wanted in zip(run(proto, feeds), expected, strict=True):
        compare(as_array(found), wanted, case)
    back, params, states, names = read_case(proto, feeds)
    executor = back.bind(
        mx.cpu(),
        {key: arrays[key] for key in names if key in back.list_inputs()} | params,
        aux_states=states,
        grad_req="null",
    )
    for found, wanted in zip(executor.forward(is_train=False), expected, strict=True):
        compare(found, wanted, case)
    return used


def _in_reference(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Any:
    names = {value.name for value in proto.graph.input}
    return ReferenceEvaluator(proto).run(None, {key: value for key, value in feeds.items() if key in names})


def sample(every: dict[str, Any]) -> dict[str, Any]:
    """Return three cases of each operator, and of products those whose axes are not MXNet's."""
    names: dict[str, list[str]] = {}
    for name, case in every.items():
        names.setdefault(case.model.graph.node[0].op_type, []).append(name)
    names["MatMul"] = [name for name in names["MatMul"] if "1d" in name or "bcast" in name]
    return {name: every[name] for several in names.values() for name in several[:3]}


@pytest.mark.parametrize("choose", [sample, pytest.param(dict, marks=pytest.mark.slow)])
def test_out_and_in_again(choose: Any) -> None:
    failures, used = {}, set()
    for name, case in choose(cases()).items():
        reason = next((text for text, begins in REFUSED.items() if name.startswith(begins)), "")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # NumPy's, of numbers that are not finite
                used |= round_trip(name, case)
            text = ""
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:300]
        if not (reason in text if reason else not text):
            failures[name] = text
    assert failures == {}
    own = {kind for kind in TRANSLATIONS if kind.startswith("_onnx_")}
    assert own <= used
