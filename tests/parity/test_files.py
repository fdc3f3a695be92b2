"""Files of MXNet's load here, with every bit, and what is written here is what MXNet writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx

from .golden import FILES, NETWORKS, assert_close, group, read_arrays, read_manifest, same_arrays
from .legacy import INPUT_SHAPES, SYMBOLS, legacy_arrays, parameter_files
from .networks import NETWORKS as ALL_NETWORKS
from .networks import Network, attributed, build
from .samples import NUMPY_SHAPES, array_files
from .write_files import save_arrays, write_all

LEGACY: dict[str, Any] = read_manifest(FILES / "manifest.json")["legacy_symbols"]
ARRAYS = array_files()


def loaded(path: Path) -> dict[str, np.ndarray] | list[np.ndarray]:
    """Load a parameter file and copy it out."""
    content = mx.nd.load(str(path))
    if isinstance(content, Mapping):
        return {name: array.asnumpy() for name, array in content.items()}
    return [array.asnumpy() for array in content]


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_arrays_load(name: str) -> None:
    same_arrays(loaded(FILES / name), ARRAYS[name], what=name)


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_arrays_are_written_byte_for_byte(name: str, tmp_path: Path) -> None:
    save_arrays(mx, tmp_path / name, ARRAYS[name])
    assert (tmp_path / name).read_bytes() == (FILES / name).read_bytes()


def test_arrays_without_axes_or_elements(tmp_path: Path) -> None:
    name = "arrays-np_shape.params"
    with mx.util.np_shape(True):
        same_arrays(loaded(FILES / name), NUMPY_SHAPES, what=name)
        save_arrays(mx, tmp_path / name, NUMPY_SHAPES)
    assert (tmp_path / name).read_bytes() == (FILES / name).read_bytes()


@pytest.mark.parametrize("name", sorted(parameter_files()))
def test_old_parameter_files_load(name: str) -> None:
    content, expected = parameter_files()[name]
    assert (FILES / name).read_bytes() == content, "record again: python -m tests.parity.generate files"
    same_arrays(loaded(FILES / name), expected, what=name)
    assert {array.context for array in _arrays(mx.nd.load(str(FILES / name)))} == {mx.cpu()}


def _arrays(content: Any) -> list[Any]:
    return list(content.values()) if isinstance(content, Mapping) else list(content)


def test_old_types_are_all_there() -> None:
    assert {str(array.dtype) for array in legacy_arrays().values()} >= {
        "float32",
        "float64",
        "float16",
        "uint8",
    }


@pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)
def test_checkpoint_loads_and_computes(network: Network) -> None:
    symbol = mx.sym.load(str(FILES / f"{network.name}-symbol.json"))
    saved = mx.nd.load(str(FILES / f"{network.name}-0001.params"))
    arguments = {name[4:]: array for name, array in saved.items() if name.startswith("arg:")}
    states = {name[4:]: array for name, array in saved.items() if name.startswith("aux:")}
    recorded = read_arrays(NETWORKS / f"{network.name}.npz")
    same_arrays(
        {name: arguments[name].asnumpy() for name in group(recorded, "parameter")},
        group(recorded, "parameter"),
        what=network.name,
    )
    batch = {name: mx.nd.array(value) for name, value in group(recorded, "batch0").items()}
    executor = symbol.bind(mx.cpu(), {**arguments, **batch}, None, "null", states)
    executor.forward(is_train=False)
    for name, value in group(recorded, "inference").items():
        assert_close(executor.output_dict[name].asnumpy(), value, rtol=1e-5, what=name)


@pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)
def test_symbol_is_written_as_mxnet_writes_it(network: Network) -> None:
    expected = (FILES / f"{network.name}-symbol.json").read_text(encoding="utf-8")
    assert build(mx, network).tojson() == expected


@pytest.mark.parametrize("network", ALL_NETWORKS, ids=lambda network: network.name)
def test_symbol_that_was_loaded_is_written_unchanged(network: Network) -> None:
    path = FILES / f"{network.name}-symbol.json"
    assert mx.sym.load(str(path)).tojson() == path.read_text(encoding="utf-8")


def test_attributes() -> None:
    path = FILES / "attributes-symbol.json"
    with mx.name.NameManager():
        built = attributed(mx)
    assert built.tojson() == path.read_text(encoding="utf-8")
    assert mx.sym.load(str(path)).attr_dict() == built.attr_dict()


@pytest.mark.parametrize("name", sorted(SYMBOLS))
def test_old_symbol_loads(name: str) -> None:
    path, recorded = FILES / f"{name}-symbol.json", LEGACY[name]
    assert json.loads(path.read_text(encoding="utf-8")) == SYMBOLS[name](), "record again: generate files"
    symbol = mx.sym.load(str(path))
    assert symbol.list_arguments() == recorded["arguments"]
    assert symbol.list_auxiliary_states() == recorded["auxiliary_states"]
    assert symbol.list_outputs() == recorded["outputs"]
    assert symbol.attr_dict() == recorded["attributes"]


@pytest.mark.parametrize("name", sorted(SYMBOLS))
def test_old_symbol_is_written_as_today(name: str) -> None:
    """Nodes, names, attributes, inputs: as MXNet 1.9.1 writes them after it has loaded the old file."""
    expected = json.loads((FILES / f"{name}-upgraded.json").read_text(encoding="utf-8"))
    written = json.loads(mx.sym.load(str(FILES / f"{name}-symbol.json")).tojson())
    for content in (expected, written):
        for node in content["nodes"]:
            # The third number counts the writes of an auxiliary state; MXNet keeps what the file said.
            node["inputs"] = [source[:2] for source in node["inputs"]]
    assert written == expected


@pytest.mark.parametrize("name", sorted(SYMBOLS))
def test_old_symbol_computes(name: str) -> None:
    symbol = mx.sym.load(str(FILES / f"{name}-symbol.json"))
    recorded = read_arrays(FILES / f"{name}.npz")
    arguments = {key: mx.nd.array(value) for key, value in group(recorded, "argument").items()}
    states = {key: mx.nd.array(value) for key, value in group(recorded, "state").items()}
    inputs = {key: shape for key, shape in INPUT_SHAPES.items() if key in arguments}
    assert symbol.infer_shape(**inputs)[0] == [tuple(arguments[key].shape) for key in symbol.list_arguments()]
    executor = symbol.bind(mx.cpu(), arguments, None, "null", states)
    executor.forward(is_train=False)
    for key, value in group(recorded, "output").items():
        assert_close(executor.output_dict[key].asnumpy(), value, rtol=1e-5, what=key)


def test_write_files_writes_all(tmp_path: Path) -> None:
    """Everything that ``generate --check`` reads is written, and is what MXNet wrote under that name."""
    write_all(mx, tmp_path)
    for path in sorted(tmp_path.iterdir()):
        assert path.read_bytes() == (FILES / path.name).read_bytes(), path.name
