"""Every network goes out to ONNX, runs in onnxruntime and in onnx's reference, and comes back as a symbol."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("onnxruntime")

from tests.onnx.running import exported, in_onnxruntime, in_reference
from tests.sweeps.networks import Checkpoint, checkpoint, each_network

import onnx
from rebind.onnx.reading import read_model

#: Rounding of float32 takes rebind and the reference apart: each is nearer than the limit to the numbers in float64.
BOTH_ROUND = {"inception_v3"}


def export(one: Checkpoint) -> onnx.ModelProto:
    return exported(one.symbol, one.params, one.inputs, free=not one.of_one_image)


@each_network
def test_in_onnxruntime(name: str) -> None:
    one = checkpoint(name)
    one.check(in_onnxruntime(export(one), one.inputs))


@each_network
def test_in_reference(name: str) -> None:
    one = checkpoint(name)
    expected = one.exact_outputs() if name in BOTH_ROUND else None
    one.check(in_reference(export(one), one.inputs), expected)


@each_network
def test_and_back(name: str) -> None:
    one = checkpoint(name)
    symbol, arg_params, aux_params, _ = read_model(export(one))
    inputs = {key: value for key, value in one.inputs.items() if key in symbol.list_inputs()}
    back = replace(one, symbol=symbol, arg_params=arg_params, aux_params=aux_params, inputs=inputs)
    one.check(back.outputs())
