"""Files with sparse arrays; parts that do not fit are errors."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.parity.golden import FILES, read_arrays
from tests.parity.sparse_arrays import MIXED, mixed_arrays, shown

import rebind as mx
from rebind.errors import FormatError

SPARSE = FILES / "sparse-0001.params"
STYPES = {
    "arg:rows": "row_sparse",
    "arg:half": "row_sparse",
    "arg:matrix": "csr",
    "arg:no_rows": "row_sparse",
    "aux:no_numbers": "csr",
    "aux:dense": "default",
}


def test_the_arrays_are_those_that_mxnet_reads() -> None:
    found = mx.nd.load(str(SPARSE))
    wanted = read_arrays(FILES / "sparse.npz")
    assert found.keys() == wanted.keys()
    for name, array in found.items():
        assert array.stype == STYPES[name] and array.dtype == wanted[name].dtype
        np.testing.assert_array_equal(array.asnumpy(), wanted[name])


def test_checkpoints_and_modules_load_them(tmp_path: Path) -> None:
    prefix = str(tmp_path / "net")
    Path(f"{prefix}-0001.params").write_bytes(SPARSE.read_bytes())
    mx.sym.broadcast_mul(mx.sym.var("data"), mx.sym.var("rows", shape=(5, 3))).save(f"{prefix}-symbol.json")
    _, args, aux = mx.model.load_checkpoint(prefix, 1)
    assert sorted(args) == ["half", "matrix", "no_rows", "rows"] and sorted(aux) == ["dense", "no_numbers"]
    module = mx.mod.Module.load(prefix, 1, label_names=None)
    module.bind([("data", (5, 3))], for_training=False)
    np.testing.assert_array_equal(module.get_params()[0]["rows"].asnumpy(), args["rows"].asnumpy())


def test_of_two_arrays_with_one_name_the_last_counts() -> None:
    found = mx.nd.load(str(FILES / "twice.params"))
    assert list(found) == ["a"] and found["a"].asnumpy().tolist() == [0, 0]


def record(
    number: int, numbers: list[float], of_numbers: tuple[int, ...], shape: tuple[int, ...], *parts: list[int]
) -> bytes:
    """Return a file with one sparse array."""

    def shape_bytes(sizes: tuple[int, ...]) -> bytes:
        return struct.pack(f"<i{len(sizes)}q", len(sizes), *sizes)

    pieces = [struct.pack("<QQQ", 0x112, 0, 1), struct.pack("<Ii", 0xF993FAC9, number)]
    pieces += [shape_bytes(of_numbers), shape_bytes(shape), struct.pack("<iii", 1, 0, 0)]
    pieces += [struct.pack("<i", 6) + shape_bytes((len(part),)) for part in parts]
    pieces += [struct.pack(f"<{len(numbers)}f", *numbers)]
    pieces += [struct.pack(f"<{len(part)}q", *part) for part in parts]
    return b"".join([*pieces, struct.pack("<Q", 0)])


def test_a_file_of_all_storage_types_is_that_of_mxnet(tmp_path: Path) -> None:
    wanted = mixed_arrays(mx)
    found = mx.nd.load(str(FILES / MIXED))
    assert {name: shown(array) for name, array in found.items()} == {
        name: shown(array) for name, array in wanted.items()
    }
    mx.nd.save(str(tmp_path / MIXED), wanted)
    assert (tmp_path / MIXED).read_bytes() == (FILES / MIXED).read_bytes()


def test_old_memory_behind_the_last_row_is_left_out(tmp_path: Path) -> None:
    # As in a file of MXNet's with a sum of csr matrices.
    (array,) = mx.nd.load_frombuffer(record(2, [5, 9, 9], (3,), (2, 2), [0, 1, 1], [1, 77, -5]))
    assert array.asnumpy().tolist() == [[0, 5], [0, 0]] and array.data.shape == array.indices.shape == (1,)
    mx.nd.save(str(tmp_path / "a"), [array])
    assert (tmp_path / "a").read_bytes() == record(2, [5], (1,), (2, 2), [0, 1, 1], [1])


@pytest.mark.fuzz
@settings(deadline=None)
@given(st.data())
def test_bytes_of_any_kind_are_an_array_or_an_error(data: st.DataObject) -> None:
    rows = data.draw(st.booleans())
    content = bytearray(
        record(1, [1, 2], (1, 2), (3, 2), [1]) if rows else record(2, [1, 2], (2,), (2, 3), [0, 1, 2], [2, 0])
    )
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(24, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        for array in mx.nd.load_frombuffer(bytes(content)):
            if array.stype != "default":
                array.check_format(False)
            if array.size < 1000:
                assert array.asnumpy().shape == array.shape
    except FormatError as error:
        assert "byte" in str(error)


BAD = {
    "an index beyond the rows": (
        record(1, [1, 2], (1, 2), (3, 2), [3]),
        "indices must be from 0 to 2",
    ),
    "a negative index": (
        record(1, [1, 2], (1, 2), (3, 2), [-1]),
        "indices must be from 0 to 2",
    ),
    "too few indices": (record(1, [1, 2, 3, 4], (2, 2), (3, 2), [1]), "one element for each of the 2 rows"),
    "rows of another length": (record(1, [1, 2, 3], (1, 3), (3, 2), [1]), "must have rows of shape"),
    "a column beyond the matrix": (record(2, [1], (1,), (2, 2), [0, 1, 1], [2]), "from 0 to 1"),
    "rows that do not end": (
        record(2, [1], (1,), (2, 2), [0, 1, 2], [1]),
        "end with 1, the number of elements",
    ),
    "rows that go back": (
        record(2, [1], (1,), (2, 2), [0, 2, 1], [1]),
        "must not decrease; got 2 and then 1, at row 1",
    ),
    "too few rows": (record(2, [1], (1,), (2, 2), [0, 1], [1]), "indptr must have 3 elements for 2 rows"),
    "numbers without axes": (record(2, [1], (), (2, 2), [0, 1, 1], [1]), "must have one axis"),
    "more columns than numbers": (
        record(2, [1], (1,), (2, 2), [0, 1, 1], [1, 0]),
        "equal numbers of elements",
    ),
    "three axes": (record(2, [1], (1,), (2, 2, 2), [0, 1, 1], [1]), "must have two axes"),
    "another storage type": (record(3, [1], (1,), (2,), [0]), r"dense \(0\), row_sparse \(1\) or csr \(2\)"),
}


@pytest.mark.parametrize(("content", "says"), BAD.values(), ids=BAD)
def test_parts_that_do_not_fit(content: bytes, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        mx.nd.load_frombuffer(content)


def test_a_file_that_is_cut_short() -> None:
    whole = record(1, [1, 2], (1, 2), (3, 2), [1])
    assert mx.nd.load_frombuffer(whole)[0].asnumpy().tolist() == [[0, 0], [1, 2], [0, 0]]
    for length in range(len(whole)):
        with pytest.raises(FormatError):
            mx.nd.load_frombuffer(whole[:length])


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (record(1, [1, 2], (0, 2), (3, 2), [1]), [[0, 0], [1, 2], [0, 0]]),
        (record(1, [], (0, 2), (3, 2), []), [[0, 0], [0, 0], [0, 0]]),
        (record(2, [3], (0,), (2, 2), [0, 1, 1], [1]), [[0, 3], [0, 0]]),
    ],
    ids=["rows", "no rows", "numbers"],
)
def test_sizes_that_were_written_before_they_were_known(content: bytes, wanted: list[list[float]]) -> None:
    # MXNet 1.9.1 writes such a file in nd.save(fname, [x.tostype("row_sparse")]), which does not wait, and reads it.
    assert mx.nd.load_frombuffer(content)[0].asnumpy().tolist() == wanted
