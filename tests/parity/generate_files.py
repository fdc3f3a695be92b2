"""Have MXNet write files, load the old ones that were made by hand, and check files that rebind wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .golden import (
    FILES,
    NETWORKS,
    Arrays,
    group,
    join,
    read_arrays,
    same_arrays,
    write_arrays,
    write_manifest,
)
from .legacy import INPUT_SHAPES, SYMBOLS, parameter_files
from .networks import NETWORKS as ALL_NETWORKS
from .networks import Network, attributed, build
from .oracle import mx, origin, to_mxnet, to_numpy
from .samples import NUMPY_SHAPES, array_files
from .sparse_arrays import MIXED, mixed_arrays, shown

EPOCH = 1


def loaded(path: Path) -> dict[str, np.ndarray] | list[np.ndarray]:
    """Load a parameter file with MXNet and copy it out."""
    content = mx.nd.load(str(path))
    if isinstance(content, list):
        return [array.asnumpy() for array in content]
    return to_numpy(content)


def save(path: Path, content: Mapping[str, np.ndarray] | list[np.ndarray]) -> None:
    """Save arrays with MXNet, as a dict or a list, with the types that they have."""
    if isinstance(content, list):
        mx.nd.save(str(path), [mx.nd.array(value, dtype=value.dtype) for value in content])
    else:
        mx.nd.save(str(path), to_mxnet(dict(content)))


def write_array_files() -> None:
    """Let MXNet write the sample arrays, and make sure that it reads what it wrote."""
    for name, content in array_files().items():
        save(FILES / name, content)
        same_arrays(loaded(FILES / name), content, what=name)
    with mx.util.np_shape(True):
        save(FILES / "arrays-np_shape.params", NUMPY_SHAPES)
        same_arrays(loaded(FILES / "arrays-np_shape.params"), NUMPY_SHAPES, what="np_shape")


def write_sparse() -> None:
    """Write sparse arrays, and a file in which two arrays have one name; with what MXNet reads from them."""
    sparse = mx.nd.sparse
    rows = sparse.row_sparse_array((np.arange(6, dtype="float32").reshape(2, 3) + 1, [1, 3]), shape=(5, 3))
    matrix = sparse.csr_matrix((np.array([1, 2, 3], "float64"), [0, 2, 1], [0, 2, 2, 3]), shape=(3, 4))
    arrays = {
        "arg:rows": rows,
        "arg:half": rows.astype("float16"),
        "arg:matrix": matrix,
        "arg:no_rows": sparse.zeros("row_sparse", (4, 2)),
        "aux:no_numbers": sparse.zeros("csr", (2, 3)),
        "aux:dense": mx.nd.ones((2,)),
    }
    path = FILES / "sparse-0001.params"
    mx.nd.save(str(path), arrays)
    write_arrays(FILES / "sparse.npz", loaded(path))
    twice = FILES / "twice.params"
    mx.nd.save(str(twice), {"a": mx.nd.ones((2,)), "b": mx.nd.zeros((2,))})
    content = twice.read_bytes()
    twice.write_bytes(content[:-1] + b"a")
    same_arrays(loaded(twice), {"a": np.zeros(2, "float32")}, what="an array that is there twice")


def write_checkpoints() -> None:
    """Let MXNet write the checkpoints of the networks, with the parameters of their recorded runs."""
    for network in ALL_NETWORKS:
        arrays = read_arrays(NETWORKS / f"{network.name}.npz")
        mx.model.save_checkpoint(
            str(FILES / network.name),
            EPOCH,
            build(mx, network),
            to_mxnet(group(arrays, "parameter")),
            to_mxnet(group(arrays, "state")),
        )


def write_attributes() -> None:
    """Let MXNet write a symbol whose variables and layers carry every kind of attribute."""
    with mx.name.NameManager():
        attributed(mx).save(str(FILES / "attributes-symbol.json"))


def write_legacy() -> dict[str, Any]:
    """Write the old files and record what MXNet makes of them."""
    manifest: dict[str, Any] = {}
    for name, make in SYMBOLS.items():
        path = FILES / f"{name}-symbol.json"
        path.write_text(json.dumps(make(), indent=2), encoding="utf-8")
        manifest[name] = record_legacy(name, path)
    for name, (content, expected) in parameter_files().items():
        (FILES / name).write_bytes(content)
        same_arrays(loaded(FILES / name), expected, what=name)
    return manifest


def record_legacy(name: str, path: Path) -> dict[str, Any]:
    """Load an old symbol, write it as MXNet writes it today, and run it in inference mode."""
    symbol = mx.sym.load(str(path))
    symbol.save(str(FILES / f"{name}-upgraded.json"))
    inputs = {key: shape for key, shape in INPUT_SHAPES.items() if key in symbol.list_arguments()}
    shapes, _, auxiliary_shapes = symbol.infer_shape(**inputs)
    random = np.random.RandomState(7)
    arguments = {
        key: random.uniform(-1, 1, shape).astype(np.float32)
        for key, shape in zip(symbol.list_arguments(), shapes)
    }
    states = {
        key: random.uniform(0.5, 1.5, shape).astype(np.float32)
        for key, shape in zip(symbol.list_auxiliary_states(), auxiliary_shapes)
    }
    outputs = run_inference(symbol, arguments, states)
    write_arrays(
        FILES / f"{name}.npz",
        {**join("argument", arguments), **join("state", states), **join("output", outputs)},
    )
    return {
        "arguments": symbol.list_arguments(),
        "auxiliary_states": symbol.list_auxiliary_states(),
        "outputs": symbol.list_outputs(),
        "attributes": symbol.attr_dict(),
    }


def run_inference(symbol: Any, arguments: Arrays, states: Arrays) -> Arrays:
    """Bind without gradients and run once."""
    executor = symbol.bind(mx.cpu(), to_mxnet(arguments), None, "null", to_mxnet(states))
    executor.forward(is_train=False)
    return to_numpy(dict(zip(symbol.list_outputs(), executor.outputs)))


def generate_files() -> None:
    """Make all files again."""
    FILES.mkdir(parents=True, exist_ok=True)
    for old in FILES.iterdir():
        old.unlink()
    write_array_files()
    write_sparse()
    write_checkpoints()
    write_attributes()
    write_manifest(FILES / "manifest.json", {"origin": origin(), "legacy_symbols": write_legacy()})


def check(directory: Path) -> int:
    """Load with MXNet what rebind wrote into ``directory``; print results, return the number of failures."""
    checks: dict[str, Callable[[], None]] = {
        name: partial(_check_arrays, directory / name, content) for name, content in array_files().items()
    }
    checks[MIXED] = partial(_check_sparse, directory / MIXED)
    checks["arrays-np_shape.params"] = partial(_check_numpy_shapes, directory / "arrays-np_shape.params")
    for network in ALL_NETWORKS:
        checks[network.name] = partial(_check_checkpoint, directory, network)
    checks["attributes-symbol.json"] = partial(_check_attributes, directory / "attributes-symbol.json")
    failures = 0
    for what, run in checks.items():
        try:
            run()
        except (mx.MXNetError, AssertionError, OSError) as error:
            failures += 1
            print(f"FAIL {what}: {error}")
        else:
            print(f"ok   {what}")
    return failures


def _check_arrays(path: Path, expected: Mapping[str, np.ndarray] | list[np.ndarray]) -> None:
    same_arrays(loaded(path), expected, what=path.name)


def _check_sparse(path: Path) -> None:
    arrays, wanted = mx.nd.load(str(path)), mixed_arrays(mx)
    assert list(arrays) == list(wanted)
    for name, array in arrays.items():
        if array.stype != "default":
            array.check_format(name != "out_of_order")
        assert shown(array) == shown(wanted[name]), name


def _check_numpy_shapes(path: Path) -> None:
    with mx.util.np_shape(True):
        _check_arrays(path, NUMPY_SHAPES)


def _check_checkpoint(directory: Path, network: Network) -> None:
    """A checkpoint of rebind's is the network that MXNet builds itself, with the recorded parameters."""
    symbol = mx.sym.load(str(directory / f"{network.name}-symbol.json"))
    _check_symbol(symbol, build(mx, network), network.input_shapes)
    recorded = read_arrays(NETWORKS / f"{network.name}.npz")
    parameters, states = group(recorded, "parameter"), group(recorded, "state")
    content = loaded(directory / f"{network.name}-{EPOCH:04d}.params")
    same_arrays(content, {**_prefixed("arg:", parameters), **_prefixed("aux:", states)}, what=network.name)
    arguments = {**parameters, **group(recorded, "batch0")}
    outputs = run_inference(symbol, arguments, states)
    same_arrays(
        outputs, run_inference(build(mx, network), arguments, states), what=f"outputs of {network.name}"
    )


def _check_attributes(path: Path) -> None:
    with mx.name.NameManager():
        expected = attributed(mx)
    _check_symbol(mx.sym.load(str(path)), expected, {"data": (2, 3, 8, 8)})


def _check_symbol(symbol: Any, expected: Any, shapes: Mapping[str, tuple[int, ...]]) -> None:
    assert symbol.list_arguments() == expected.list_arguments()
    assert symbol.list_auxiliary_states() == expected.list_auxiliary_states()
    assert symbol.list_outputs() == expected.list_outputs()
    assert symbol.attr_dict() == expected.attr_dict()
    assert symbol.infer_shape(**shapes) == expected.infer_shape(**shapes)
    assert symbol.tojson() == expected.tojson()


def _prefixed(prefix: str, arrays: Arrays) -> Arrays:
    return {prefix + name: value for name, value in arrays.items()}
