"""Which records an epoch has, and how positions are saved."""

from __future__ import annotations

import numpy as np
import pytest

from rebind.errors import FormatError
from rebind.io.records import source
from rebind.io.records.source import Order, RecordFiles, record_source
from rebind.recordio import MXIndexedRecordIO
from rebind.recordio.stream import MAGIC, record_heads


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Thirty records of different lengths, some with magic numbers in them, in blocks of a few."""
    monkeypatch.setattr(source, "BLOCK", 200)
    index, record = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    with MXIndexedRecordIO(index, record, "w") as file:
        for i in range(30):
            file.write_idx(i, b"%02d" % i + MAGIC * (i % 3) + b"xx" + MAGIC * (i % 4) + bytes(i))
    return index, record


@pytest.fixture
def opened_all(paths):
    return lambda indexed=False, **order: opened(paths, indexed, **order)


def opened(paths, indexed, **order):
    return record_source(RecordFiles(paths[1]), Order(**order), paths[0] if indexed else "")


def numbers(found, count=1000):
    return [int(record.content[:2]) for record in found.read(count)]


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 30, 40])
def test_parts_have_every_record_once(parts, shuffle, indexed, opened_all):
    sources = [
        opened_all(indexed, num_parts=parts, part_index=part, shuffle=shuffle) for part in range(parts)
    ]
    for _ in range(2):
        found = [numbers(each) for each in sources]
        assert sorted(number for part in found for number in part) == list(range(30))
        for each in sources:
            each.reset()


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"shuffle": True},
        {"indexed": True},
        {"indexed": True, "shuffle": True},
        {"shuffle": True, "chunk_size": 1},
    ],
)
@pytest.mark.parametrize("read", [0, 1, 5, 17, 30])
def test_positions_are_saved(order, read, opened_all, monkeypatch):
    # Pieces of a megabyte, of which this file has several.
    monkeypatch.setattr(source, "math", type("M", (), {"ceil": staticmethod(lambda value: 3)}))
    first, second = opened_all(**order), opened_all(**order)
    numbers(first)
    first.reset()
    numbers(first, read)
    second.load_state_dict(first.state_dict())
    for _ in range(3):
        assert numbers(second) == numbers(first)
        first.reset()
        second.reset()


def test_an_index_of_a_longer_file(paths, opened_all):
    with open(paths[0], "a") as file:
        file.write("30\t99999\n")
    with pytest.raises(
        FormatError, match=r"a.idx' must be that of .*a.rec', which has \d+ bytes; got position 99999"
    ):
        opened_all(indexed=True)


def test_a_broken_record_is_named(paths, opened_all):
    content = np.fromfile(paths[1], np.uint8)
    content[12:16] = 255  # where the second record begins
    content.tofile(paths[1])
    found = opened_all()
    with pytest.raises(FormatError, match=r"a.rec' must have .* at byte \d+"):
        found.read(30)


def test_heads(paths):
    assert [int(head) for head in record_heads(paths[1], 2)] == list(range(30))
