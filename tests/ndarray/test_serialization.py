"""`.params` files: whatever the bytes, arrays or a FormatError with the offset, and no great allocation."""

from __future__ import annotations

import os
import struct
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rebind as mx
from rebind import nd
from rebind.errors import ArgumentError, FormatError

ARRAYS = {
    "arg:größe": nd.array([[1, 2, 3]], dtype="float64"),
    "aux:b": nd.array([1, 0], dtype="bool"),
    "half": nd.array([1.5], dtype="bfloat16"),
    "none": nd.zeros((0, 3)),
    "short": nd.array([-1], dtype="int16"),
}


@pytest.fixture(scope="module")
def content(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("params") / "a.params"
    nd.save(path, ARRAYS)
    return path.read_bytes()


@pytest.mark.parametrize("name", ARRAYS)
def test_round_trip(content: bytes, name: str) -> None:
    loaded, array = nd.load_frombuffer(content), ARRAYS[name]
    assert list(loaded) == list(ARRAYS)
    found = loaded[name]
    assert found.tensor.dtype is array.tensor.dtype and found.shape == array.shape
    assert found.asnumpy().tolist() == array.asnumpy().tolist()


def test_cut_at_every_byte(content: bytes) -> None:
    for length in range(len(content)):
        with pytest.raises(FormatError, match=r"<buffer>: (the file is cut short at|before) byte \d+"):
            nd.load_frombuffer(content[:length])


@pytest.mark.parametrize("extra", [1, 100])
def test_more_than_the_file(content: bytes, extra: int) -> None:
    with pytest.raises(FormatError, match=f"the file must end here; got {extra} more bytes"):
        nd.load_frombuffer(content + bytes(extra))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(content: bytes, changes: list[tuple[int, int]]) -> None:
    changed = bytearray(content)
    for position, value in changes:
        changed[position % len(changed)] = value
    try:
        found = nd.load_frombuffer(changed)
    except FormatError as error:
        assert "byte" in str(error)
    else:
        assert len(found) == len(ARRAYS)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    with pytest.raises(FormatError):
        nd.load_frombuffer(data)
    with pytest.raises(FormatError):
        nd.load_frombuffer(struct.pack("<QQQ", 0x112, 0, 1) + data[:7])


def one_array(shape: tuple[int, ...], flag: int = 0, version: int = 0xF993FAC9) -> bytes:
    head = struct.pack(f"<QQQIii{len(shape)}q", 0x112, 0, 1, version, 0, len(shape), *shape)
    return head + struct.pack("<iii", 1, 0, flag) + bytes(16)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (struct.pack("<QQQ", 0x112, 0, 1 << 60), "the number of arrays must fit the size of the file"),
        (one_array((1 << 40, 1 << 40)), "are left"),
        (one_array((1 << 62, 1 << 62, 0), version=0xF993FACA), "array 0"),
        (one_array((-4,)), "sizes of array 0 must be >= 0"),
        (one_array((4,), flag=99), "array 0 must be of a known type"),
        (struct.pack("<QQQIi", 0x112, 0, 1, 0xF993FAC9, 7) + bytes(8), "must be of a known storage type"),
        (struct.pack("<QQQIii", 0x112, 0, 1, 0xF993FAC9, 0, 1 << 20), "0 to 32 axes"),
        (struct.pack("<QQQQQ", 0x112, 0, 0, 0, 0)[:33], "must end"),
        (struct.pack("<QQQQ", 0x112, 0, 0, 7), "there must be 0 or 0 names"),
        (b"\x80\x04" + bytes(30), "the magic number must be 0x112"),
    ],
)
def test_absurd(data: bytes, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        nd.load_frombuffer(data)
    assert says in str(caught.value) and "byte" in str(caught.value)


def test_any_byte_but_0_is_true() -> None:
    data = one_array((2,), flag=7)[:-16] + b"\x02\x00" + bytes(8)
    assert nd.load_frombuffer(data)[0].asnumpy().tolist() == [True, False]


def test_the_error_names_the_path(tmp_path) -> None:
    path = tmp_path / "x.params"
    path.write_bytes(b"hello")
    with pytest.raises(FormatError, match=r"x\.params: the file is cut short at byte 0"):
        nd.load(path)


def test_pipe(tmp_path, content: bytes) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(content,))
    writer.start()
    assert list(nd.load(path)) == list(ARRAYS)
    writer.join()


@pytest.mark.parametrize("data", [3, [np.ones(2)], {"a": 1}, {1: nd.ones((1,))}, "x"])
def test_what_cannot_be_saved(tmp_path, data) -> None:
    path = tmp_path / "x.params"
    nd.save(path, [nd.ones((1,))])
    before = path.read_bytes()
    with pytest.raises(ArgumentError):
        nd.save(path, data)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.params"]


@pytest.mark.parametrize(
    ("data", "shapes"),
    [(mx.nd.ones((2,)), [(2,)]), ([mx.nd.ones((2,)), mx.nd.ones((3,))], [(2,), (3,)]), ({}, [])],
)
def test_what_is_loaded_as_a_list(tmp_path, data, shapes) -> None:
    path = tmp_path / "x.params"
    nd.save(path, data)
    assert [array.shape for array in nd.load(path)] == shapes
