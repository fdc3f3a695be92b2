"""Large arrays of `.params` files are views of the file, which nothing writes to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import rebind as mx
from rebind import nd, tuning
from rebind.errors import FormatError

needs_maps = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")


@pytest.fixture(autouse=True)
def every_array() -> Iterator[None]:
    """Map arrays of any size."""
    with tuning.changed(mapped_array_bytes=1):
        yield


def mixed() -> dict[str, nd.NDArray]:
    dense = nd.array(np.arange(1.0, 7).reshape(2, 3))
    return {
        "aux:double": nd.array([1.5, 2.5], dtype="float64"),
        "arg:dense": dense,
        "arg:rows": nd.array([[0, 0], [1, 2], [0, 0], [3, 4]]).tostype("row_sparse"),
        "arg:matrix": nd.array([[0, 5, 0], [6, 0, 7]]).tostype("csr"),
        "aux:bytes": nd.array([1, 2, 3], dtype="uint8"),  # what follows begins at an odd byte
        "aux:odd": nd.array([1.5, -2], dtype="float32"),
        "aux:true": nd.array([1, 0], dtype="bool"),
        "aux:none": nd.zeros((0, 2)),
    }


def numbers(arrays: dict[str, nd.NDArray]) -> dict[str, object]:
    return {name: (array.stype, str(array.dtype), array.asnumpy().tolist()) for name, array in arrays.items()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nd.save(tmp_path / "mixed.params", mixed())
    return tmp_path / "mixed.params"


def is_mapped(array: nd.NDArray, path: Path, member: str = "data") -> bool:
    """Return whether the memory of an array is that of a file, by the system's own list."""
    address = array.storage.tensors[member].data_ptr()
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, stop = (int(bound, 16) for bound in line.split()[0].split("-"))
        if start <= address < stop:
            return line.endswith(str(path))
    return False


def test_the_arrays_are_those_that_were_saved(path: Path) -> None:
    assert numbers(nd.load(path)) == numbers(mixed())


@needs_maps
def test_values_are_mapped_and_indices_are_read(path: Path) -> None:
    found = nd.load(path)
    mapped = {name for name, array in found.items() if array.size and is_mapped(array, path)}
    assert mapped == {"arg:dense", "arg:rows", "arg:matrix", "aux:double", "aux:bytes"}
    for name, member in (("arg:rows", "indices"), ("arg:matrix", "indices"), ("arg:matrix", "indptr")):
        assert not is_mapped(found[name], path, member)


@needs_maps
def test_small_arrays_and_all_with_the_option_0_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tuning.changed(mapped_array_bytes=24):
        found = nd.load(path)
    assert is_mapped(found["arg:dense"], path) and not is_mapped(found["aux:double"], path)
    monkeypatch.setenv("REBIND_MAPPED_FILES", "0")
    assert not is_mapped(nd.load(path)["arg:dense"], path)


def test_what_is_written_into_an_array_is_not_written_into_the_file(path: Path) -> None:
    before = path.read_bytes()
    found = nd.load(path)
    found["arg:dense"][:] = 9
    found["aux:double"] += 1
    found["arg:rows"] *= 2
    optimizer = mx.optimizer.create("sgd", learning_rate=1.0)
    optimizer.update(0, found["arg:dense"], nd.ones((2, 3)), None)
    assert found["arg:dense"].asnumpy().tolist() == [[8] * 3] * 2
    assert found["aux:double"].asnumpy().tolist() == [2.5, 3.5]
    del found
    assert path.read_bytes() == before


def test_the_file_may_be_replaced_and_removed(path: Path) -> None:
    found = nd.load(path)
    nd.save(path, {"arg:dense": nd.zeros((2, 3))})
    again = nd.load(path)
    os.remove(path)
    assert numbers(found) == numbers(mixed())
    assert again["arg:dense"].asnumpy().tolist() == [[0] * 3] * 2


def test_arrays_may_be_saved_over_their_own_file(path: Path) -> None:
    found = nd.load(path)
    found["arg:dense"][:] = 3
    nd.save(path, found)
    assert numbers(nd.load(path)) == numbers({**mixed(), "arg:dense": nd.full((2, 3), 3)})


def test_a_file_that_is_cut_short_is_an_error(path: Path) -> None:
    content = path.read_bytes()
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        with pytest.raises(FormatError, match=r"mixed\.params: (the file is cut short at|before) byte"):
            nd.load(path)
