"""Calls of operators with what they give: recorded with MXNet 1.9.1, and of the operators themselves on the samples."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from tests.ops.nn.test_recorded import CASES as LAYERS_RECORDED
from tests.ops.sample import Array, Sample
from tests.ops.samples import CERTAIN, LAYERS
from tests.ops.test_derivatives import differentiated
from tests.parity.cases import CASES
from tests.parity.test_operators import MANIFESTS, PACKS, WRONG_GRADIENTS
from tools.operator_comparison import recorded_calls

import rebind as mx
from rebind.ops import Operator, find
from rebind.params import Params

_ONE = np.ones(1, np.float32)
#: Operators and cases that no other table has.
_MORE = [
    Sample("Pooling", (Array((1, 2, 6)),), {"kernel": 2, "pool_type": "lp", "p_value": 3}),
    Sample("_image_to_tensor", (Array((4, 5, 3)),)),
    Sample("_contrib_allclose", (np.ones((2, 3)), np.full((2, 3), 1 + 1e-6))),
    Sample("_contrib_allclose", (np.ones((2, 3)), np.full((2, 3), 1 + 1e-4))),
    *(
        Sample(
            "_contrib_quantized_conv",
            (levels, Array((4, 1, 3), -128, 127, "int8"), -_ONE, 2 * _ONE, -3 * _ONE, _ONE),
            {"kernel": 3, "num_filter": 4, "num_group": 2, "stride": 2, "pad": 1, "no_bias": True},
        )
        for levels in (Array((2, 2, 6), -128, 127, "int8"), Array((2, 2, 6), 0, 255, "uint8"))
    ),
]


@dataclass(frozen=True)
class Call:
    """A call of an operator."""

    what: str
    #: Arrays and parameters by name; the arrays of a variadic operator are a list.
    values: Mapping[str, Any]
    #: The outputs, in inference (False) and in training (True).
    outputs: Mapping[bool, Sequence[np.ndarray]]
    #: The gradients of the outputs; none where the operator does not need them.
    heads: Sequence[np.ndarray] = ()
    #: The gradients of the arrays, None where there is none.
    gradients: Mapping[str, Any] = field(default_factory=dict)


def calls(name: str) -> list[Call]:
    """Return the calls of an operator, by its first name."""
    found = [_recorded(*place) for place in recorded_calls().get(name, [])]
    found += [_layer(*row) for row in LAYERS_RECORDED if find(row[0]).name == name]
    return found + [_sampled(sample) for sample in _samples().get(name, [])]


@functools.cache
def _samples() -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in (*CERTAIN, *LAYERS, *_MORE):
        found.setdefault(find(sample.name).name, []).append(sample)
    return found


def _recorded(group: str, call: str) -> Call:
    entry, pack = MANIFESTS[group][call], PACKS[group]
    node = CASES[group][call].symbol(mx).graph.nodes[-1]
    sources = [source.node.name for source in node.inputs]
    arrays = {**pack.get_all(entry["arguments"]), **pack.get_all(entry["states"])}
    gradients = {} if call in WRONG_GRADIENTS else pack.get_all(entry.get("gradients", {}))
    outputs = {
        mode == "training": [pack.get(each) for each in entry.get(mode, entry["inference"])]
        for mode in ("inference", "training")
    }
    names = node.operator.signature.inputs_for(node.params, len(sources))
    return Call(
        f"{group}: {call}",
        _values(node.operator, node.params, dict(zip(names, (arrays[s] for s in sources), strict=True))),
        outputs,
        [pack.get(each) for each in entry.get("heads", [])],
        _by_name(node.operator, {key: gradients.get(s) for key, s in zip(names, sources, strict=True)}),
    )


def _layer(name: str, given: dict[str, Any], recorded: Any) -> Call:
    op = find(name)
    p = op.parse(given)
    return Call(
        f"{name} {given}",
        _values(op, p, {key: recorded["in"][key] for key in op.signature.inputs_for(p)}),
        {training: _ordered(recorded["train" if training else "infer"]) for training in (False, True)},
        _ordered(recorded["head"]),
        recorded["grad"],
    )


def _ordered(arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    return [arrays[key] for key in sorted(arrays, key=int)]


def _sampled(sample: Sample) -> Call:
    op = find(sample.name)
    count = {op.signature.count: len(sample.arrays)} if op.signature.count else {}
    p = op.parse({**sample.parameters, **count})
    wanted = differentiated(sample) if op.kernels.head_gradient is not False else [False] * len(sample.arrays)
    tensors = [
        torch.tensor(array, requires_grad=grad) for array, grad in zip(sample.inputs(), wanted, strict=True)
    ]
    modes: dict[str, Any] = {"training": sample.training} if "training" in op.signature.modes else {}
    if "generator" in op.signature.modes:
        modes["generator"] = torch.Generator().manual_seed(1)
    result = op(*tensors, **op.signature.keywords(p), **modes)
    outputs = (result if isinstance(result, tuple) else (result,))[: op.record.visible_outputs(p)]
    random = np.random.default_rng(len(str(sample)))
    heads = [torch.tensor(random.uniform(-1, 1, out.shape)).to(out.dtype) for out in outputs]
    names = op.signature.inputs_for(p, len(tensors))
    gradients = {}
    if any(out.requires_grad for out in outputs):
        pairs = [(out, head) for out, head in zip(outputs, heads, strict=True) if out.requires_grad]
        torch.autograd.backward([out for out, _ in pairs], [head for _, head in pairs])
        gradients = {
            key: None if tensor.grad is None else tensor.grad.numpy()
            for key, tensor in zip(names, tensors, strict=True)
        }
    arrays = {key: tensor.detach().numpy() for key, tensor in zip(names, tensors, strict=True)}
    return Call(
        str(sample),
        _values(op, p, arrays),
        {sample.training: [out.detach().numpy() for out in outputs]},
        [head.numpy() for head in heads],
        _by_name(op, gradients),
    )


#: Parameters with a number for each axis of a kernel, and what they are where none is given.
_WINDOWS = {"stride": 1, "dilate": 1, "pad": 0, "adj": 0}


#: The levels at the end of a range.
_LEVELS = {"int8": 127.5, "uint8": 255.5}


#: Parameters that are cut to whole numbers where all arrays hold such.
_OF_THE_TYPE = ("scalar", "start", "step")


def _values(op: Operator, p: Params, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Return what a call is given, by the names of the formulas."""
    values = {key: _parameter(getattr(p, key)) for key in op.signature.parameters}
    if "kernel" in values:
        axes = len(values["kernel"])
        values |= {key: values[key] or (fill,) * axes for key, fill in _WINDOWS.items() if key in values}
        if axes == 1:
            values |= {key: values[key][0] for key in ("kernel", *_WINDOWS) if key in values}
    values |= {f"{key}_levels": _LEVELS.get(array.dtype.name, 0.0) for key, array in arrays.items()}
    if arrays and all(array.dtype.kind in "iu" for array in arrays.values()) and values.get("is_int", True):
        values |= {key: float(int(values[key])) for key in _OF_THE_TYPE if isinstance(values.get(key), float)}
    return values | _by_name(op, {key: _precise(array) for key, array in arrays.items()})


def _by_name(op: Operator, arrays: Mapping[str, np.ndarray | None]) -> dict[str, Any]:
    """Return arrays by name, those of a variadic operator in a list."""
    signature = op.signature
    if signature.variadic and arrays:
        return {signature.input_names[0]: list(arrays.values())}
    return dict(arrays)


def _parameter(value: Any) -> Any:
    """Return a parameter's value; types as NumPy's."""
    return np.dtype(str(value).removeprefix("torch.")) if isinstance(value, torch.dtype) else value


def _precise(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
