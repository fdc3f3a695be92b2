"""What is computed while a model is read: constants, and arithmetic of sizes of which some are free."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

import onnx

__all__ = ["SIZE_FUNCTIONS", "fold", "gives_sizes"]

#: Larger results are left to the network, so that a small file cannot take all memory.
_MOST_ELEMENTS = 1 << 27
#: Whose results differ from run to run, or which have graphs.
_NOT_FOLDED = {
    "Bernoulli",
    "Dropout",
    "If",
    "Loop",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Scan",
}

#: Whose last input says how large the result is.
_SIZED_BY_VALUES = {"ConstantOfShape", "Expand", "Tile", "OneHot", "Pad", "Resize", "Upsample"}


def fold(node: ir.Node, inputs: Sequence[np.ndarray | None], opset: int) -> list[np.ndarray] | None:
    """Return the outputs of a node of constants; None where the network is to compute them.

    onnx's own reference computes them.
    """
    if node.op_type in _NOT_FOLDED or node.domain not in ("", "ai.onnx"):
        return None
    if _result_size(node, inputs) > _MOST_ELEMENTS:
        return None
    proto = ir.to_proto(node)
    values = {
        value.name or "": array
        for value, array in zip(node.inputs, inputs, strict=True)
        if value is not None and array is not None
    }
    infos = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
        )
        for name, array in values.items()
    ]
    outputs = [onnx.ValueInfoProto(name=name) for name in proto.output if name]
    graph = onnx.helper.make_graph([proto], "constants", infos, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    try:
        results = iter(ReferenceEvaluator(model).run(None, values))
    except (NotImplementedError, RuntimeError, TypeError, ValueError, IndexError, AttributeError):
        return None  # the reference lacks some types and old versions
    return [np.asarray(next(results)) if name else np.empty(0) for name in proto.output]


def _result_size(node: ir.Node, inputs: Sequence[np.ndarray | None]) -> float:
    """Return about how many elements a node makes, at most."""
    shapes = [output.shape for output in node.outputs]
    if all(shape is not None and shape.is_static() for shape in shapes):
        return sum(math.prod(shape.numpy()) for shape in shapes if shape is not None)
    arrays = [array for array in inputs if array is not None]
    own = math.prod(array.size for array in arrays)
    if node.op_type == "Range":
        start, limit, delta = (array.reshape(-1)[0] for array in arrays)
        return abs(float(limit - start) / float(delta)) if delta else math.inf
    if node.op_type in _SIZED_BY_VALUES:
        return float(own * math.prod(max(float(n), 1.0) for array in arrays[-1:] for n in array.reshape(-1)))
    return own


def _attribute(node: ir.Node, name: str, default: Any) -> Any:
    return node.attributes[name].value if name in node.attributes else default


def _gather(node: ir.Node, data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.take(data, indices.astype(np.int64), axis=int(_attribute(node, "axis", 0)))


def _slice(node: ir.Node, data: np.ndarray, *given: np.ndarray) -> np.ndarray:
    if given:
        numbers: list[Any] = [array.tolist() for array in given] + [None] * (4 - len(given))
        starts, ends, axes, steps = numbers
    else:
        starts, ends, axes, steps = (
            _attribute(node, name, None) for name in ("starts", "ends", "axes", "steps")
        )
    cut = [slice(None)] * data.ndim
    for i, axis in enumerate(axes if axes is not None else range(len(starts))):
        cut[axis] = slice(starts[i], ends[i], steps[i] if steps is not None else 1)
    return data[tuple(cut)]


def _squeeze(node: ir.Node, data: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    given = _attribute(node, "axes", None) if axes is None else axes.tolist()
    return np.squeeze(data, axis=None if given is None else tuple(given))


def _unsqueeze(node: ir.Node, data: np.ndarray, axes: np.ndarray | None = None) -> np.ndarray:
    given = _attribute(node, "axes", None) if axes is None else axes.tolist()
    return np.expand_dims(data, tuple(given))


#: By name: what computes with arrays of which some hold free sizes.
SIZE_FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "Add": lambda node, a, b: a + b,
    "Cast": lambda node, data: data,
    "Concat": lambda node, *arrays: np.concatenate(arrays, axis=int(_attribute(node, "axis", 0))),
    "Div": lambda node, a, b: a // b,
    "Gather": _gather,
    "Identity": lambda node, data: data,
    "Mul": lambda node, a, b: a * b,
    "Reshape": lambda node, data, shape: data.reshape(shape.tolist()),
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Sub": lambda node, a, b: a - b,
    "Unsqueeze": _unsqueeze,
}


def gives_sizes(node: ir.Node, arrays: Sequence[np.ndarray]) -> bool:
    """Return whether a node of sizes, of which some are free, gives sizes. The network computes with fractions."""
    if node.op_type not in SIZE_FUNCTIONS or any(array.dtype.kind == "f" for array in arrays):
        return False
    dtype = node.outputs[0].dtype
    return node.op_type != "Div" or dtype is None or not dtype.is_floating_point()
