"""Files as older versions of MXNet wrote them, made by hand from what is publicly known of the formats.

The generator has MXNet 1.9.1 load each of them, which is what shows that they are right.

Symbols
    Until 0.8 a node has ``param`` (of the operator), ``attr`` (the user's) and ``backward_source_id``; inputs
    are pairs, auxiliary states are not nodes. From 0.9 to 1.1 both kinds of attributes stand in ``attr`` and
    inputs are triples; from 1.2 on the key is ``attrs``.

Parameters
    The oldest arrays begin with the number of axes, later ones with a magic number. Sizes are 32 bits wide in
    the oldest form and 64 bits in the next, which is followed by the form of today.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Json = dict[str, Any]

INPUT_SHAPES = {"data": (2, 3, 8, 8), "softmax_label": (2,)}

# Operator, name, parameters, the user's attributes, inputs by name; a null operator is a variable.
_NODES: list[tuple[str, str, dict[str, str], dict[str, str], list[str]]] = [
    ("null", "data", {}, {}, []),
    ("null", "conv_weight", {}, {"lr_mult": "0.5", "ctx_group": "dev1"}, []),
    (
        "Convolution",
        "conv",
        {
            "cudnn_off": "False",
            "cudnn_tune": "off",
            "dilate": "(1,1)",
            "kernel": "(3,3)",
            "no_bias": "True",
            "num_filter": "4",
            "num_group": "1",
            "pad": "(1,1)",
            "stride": "(2,2)",
            "workspace": "512",
        },
        {"ctx_group": "dev1"},
        ["data", "conv_weight"],
    ),
    ("null", "bn_gamma", {}, {}, []),
    ("null", "bn_beta", {}, {}, []),
    ("null", "bn_moving_mean", {}, {}, []),
    ("null", "bn_moving_var", {}, {}, []),
    (
        "BatchNorm",
        "bn",
        {"eps": "0.001", "fix_gamma": "True", "momentum": "0.9", "use_global_stats": "False"},
        {},
        ["conv", "bn_gamma", "bn_beta", "bn_moving_mean", "bn_moving_var"],
    ),
    ("Activation", "relu", {"act_type": "relu"}, {}, ["bn"]),
    (
        "Pooling",
        "pool",
        {
            "global_pool": "False",
            "kernel": "(3,3)",
            "pad": "(0,0)",
            "pool_type": "max",
            "pooling_convention": "full",
            "stride": "(2,2)",
        },
        {"force_mirroring": "True"},
        ["relu"],
    ),
    ("Flatten", "flatten", {}, {}, ["pool"]),
    ("null", "fc_weight", {}, {}, []),
    ("null", "fc_bias", {}, {"wd_mult": "0.0"}, []),
    # In files of 0.x a layer may carry the multipliers of its own variables.
    (
        "FullyConnected",
        "fc",
        {"no_bias": "False", "num_hidden": "5"},
        {"weight_lr_mult": "2.0"},
        ["flatten", "fc_weight", "fc_bias"],
    ),
    ("null", "softmax_label", {}, {}, []),
    (
        "SoftmaxOutput",
        "softmax",
        {
            "grad_scale": "1",
            "ignore_label": "-1",
            "multi_output": "False",
            "normalization": "null",
            "use_ignore": "False",
        },
        {},
        ["fc", "softmax_label"],
    ),
]
_AUXILIARY = ("bn_moving_mean", "bn_moving_var")


def symbol_0_8() -> Json:
    """The network as 0.5 to 0.8 wrote it: no version, ``param`` and ``attr``, no auxiliary nodes."""
    kept = [node for node in _NODES if node[1] not in _AUXILIARY]
    place = {name: index for index, (_, name, *_) in enumerate(kept)}
    nodes = []
    for operator, name, parameters, attributes, inputs in kept:
        node: Json = {
            "op": operator,
            "param": parameters,
            "name": name,
            "inputs": [[place[source], 0] for source in inputs if source in place],
            "backward_source_id": -1,
        }
        if attributes:
            node["attr"] = attributes
        nodes.append(node)
    variables = [index for index, node in enumerate(nodes) if node["op"] == "null"]
    return {"nodes": nodes, "arg_nodes": variables, "heads": [[len(nodes) - 1, 0]]}


def _symbol_with_version(version: int, key: str, hidden: Callable[[str], str]) -> Json:
    """The network as the later forms have it; ``hidden`` spells the names of the user's attributes."""
    place = {name: index for index, (_, name, *_) in enumerate(_NODES)}
    nodes = []
    rows = [0]
    for operator, name, parameters, attributes, inputs in _NODES:
        own = {k: v for k, v in attributes.items() if version < 905 or not k.startswith("weight_")}
        merged = {**parameters, **{hidden(k): v for k, v in own.items()}}
        node: Json = {"op": operator, "name": name}
        if merged:
            node[key] = dict(sorted(merged.items()))
        node["inputs"] = [[place[source], 0, int(source in _AUXILIARY)] for source in inputs]
        nodes.append(node)
        rows.append(rows[-1] + {"BatchNorm": 3, "Pooling": 1}.get(operator, 1))
    variables = [index for index, node in enumerate(nodes) if node["op"] == "null"]
    return {
        "nodes": nodes,
        "arg_nodes": variables,
        "node_row_ptr": rows,
        "heads": [[len(nodes) - 1, 0, 0]],
        "attrs": {"mxnet_version": ["int", version]},
    }


def symbol_0_9() -> Json:
    """The network as 0.9.1 wrote it: ``attr`` for everything, names of the user's attributes still bare."""
    return _symbol_with_version(901, "attr", lambda name: name)


def symbol_1_0() -> Json:
    """The network as 1.0.0 wrote it: ``attr``, the user's attributes between double underscores."""
    return _symbol_with_version(10000, "attr", lambda name: f"__{name}__")


def symbol_1_2() -> Json:
    """The network as 1.2.0 wrote it: ``attrs``."""
    return _symbol_with_version(10200, "attrs", lambda name: f"__{name}__")


def symbol_argmax_0_9() -> Json:
    """Before 0.9.5 the axis -1 of ``argmax`` stood for "over all elements", not for the last axis."""
    return {
        "nodes": [
            {"op": "null", "name": "data", "inputs": []},
            {"op": "argmax", "name": "largest", "attr": {"axis": "-1"}, "inputs": [[0, 0, 0]]},
        ],
        "arg_nodes": [0],
        "node_row_ptr": [0, 1, 2],
        "heads": [[1, 0, 0]],
        "attrs": {"mxnet_version": ["int", 903]},
    }


SYMBOLS: dict[str, Callable[[], Json]] = {
    "legacy-0.8": symbol_0_8,
    "legacy-0.9": symbol_0_9,
    "legacy-1.0": symbol_1_0,
    "legacy-1.2": symbol_1_2,
    "legacy-argmax-0.9": symbol_argmax_0_9,
}

_FILE_MAGIC = 0x112
_ARRAY_MAGIC_V1 = 0xF993FAC8
_CPU, _GPU = 1, 2
_TYPE_CODES = {"float32": 0, "float64": 1, "float16": 2, "uint8": 3, "int32": 4}


def array_v0(array: np.ndarray, device: tuple[int, int] = (_CPU, 0)) -> bytes:
    """An array as 0.x wrote it: number of axes, 32-bit sizes, device, type, elements."""
    shape = struct.pack(f"<I{array.ndim}I", array.ndim, *array.shape)
    return shape + struct.pack("<3i", *device, _TYPE_CODES[str(array.dtype)]) + array.tobytes()


def array_v1(array: np.ndarray, device: tuple[int, int] = (_CPU, 0)) -> bytes:
    """An array as 0.11 wrote it: a magic number, then as before with 64-bit sizes."""
    shape = struct.pack(f"<2I{array.ndim}q", _ARRAY_MAGIC_V1, array.ndim, *array.shape)
    return shape + struct.pack("<3i", *device, _TYPE_CODES[str(array.dtype)]) + array.tobytes()


def parameter_file(arrays: list[bytes], names: list[str]) -> bytes:
    """Put arrays and their names into the frame that all versions share."""
    content = struct.pack("<3Q", _FILE_MAGIC, 0, len(arrays)) + b"".join(arrays)
    content += struct.pack("<Q", len(names))
    for name in names:
        encoded = name.encode()
        content += struct.pack("<Q", len(encoded)) + encoded
    return content


def legacy_arrays() -> dict[str, np.ndarray]:
    """What the old files hold: the types that they knew."""
    values = np.arange(-3, 9)
    return {
        f"arg:{dtype}": values.astype(dtype).reshape(3, 4)
        for dtype in ("float32", "float64", "float16", "uint8", "int32")
    }


def _framed(
    write: Callable[..., bytes], *, named: bool, device: tuple[int, int] = (_CPU, 0)
) -> tuple[bytes, Mapping[str, np.ndarray] | list[np.ndarray]]:
    arrays = legacy_arrays()
    data = parameter_file([write(a, device) for a in arrays.values()], list(arrays) if named else [])
    return data, arrays if named else list(arrays.values())


def parameter_files() -> dict[str, tuple[bytes, Mapping[str, np.ndarray] | list[np.ndarray]]]:
    """Return the bytes and the content of each old parameter file, by name."""
    return {
        "legacy-v0-dict.params": _framed(array_v0, named=True),
        "legacy-v0-list.params": _framed(array_v0, named=False),
        "legacy-v1-dict.params": _framed(array_v1, named=True),
        # Saved from a GPU: the arrays still load on a machine that has none.
        "legacy-v1-gpu.params": _framed(array_v1, named=True, device=(_GPU, 3)),
    }
