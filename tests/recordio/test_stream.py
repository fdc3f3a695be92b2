"""The format of record files, byte by byte, and what is no such file."""

from __future__ import annotations

import os
import struct
import subprocess
import sys

import pytest

from rebind.errors import ArgumentError, FormatError, ParameterError
from rebind.recordio import RecordReader, RecordWriter, stream

MAGIC = stream.MAGIC


def part(payload: bytes, kind: int = 0, length: int | None = None) -> bytes:
    length = len(payload) if length is None else length
    return MAGIC + struct.pack("<I", kind << 29 | length) + payload + bytes(-len(payload) % 4)


#: Payloads, and the file that MXNet 1.9.1 writes for each.
WRITTEN = {
    b"": part(b""),
    b"a": part(b"a"),
    b"abcd": part(b"abcd"),
    MAGIC: part(b"", 1) + part(b"", 3),
    b"x" + MAGIC: part(b"x" + MAGIC),
    MAGIC + MAGIC: part(b"", 1) + part(b"", 2) + part(b"", 3),
    b"abcd" + MAGIC + b"xyz": part(b"abcd", 1) + part(b"xyz", 3),
    b"abcd" + MAGIC: part(b"abcd", 1) + part(b"", 3),
    MAGIC + b"ab": part(b"", 1) + part(b"ab", 3),
    b"ab" + MAGIC + b"cd" + MAGIC: part(b"ab" + MAGIC + b"cd", 1) + part(b"", 3),
}


@pytest.mark.parametrize(("payload", "content"), WRITTEN.items())
def test_payloads_as_written(payload, content, tmp_path):
    path = str(tmp_path / "one.rec")
    writer = RecordWriter(path)
    assert writer.write(payload) == 0 and writer.position == len(content)
    writer.close()
    assert (tmp_path / "one.rec").read_bytes() == content
    reader = RecordReader(path)
    assert reader.read() == payload and reader.position == len(content) and reader.read() is None
    reader.close()


def test_records_from_any_position(tmp_path):
    path = str(tmp_path / "all.rec")
    writer = RecordWriter(path)
    positions = [writer.write(payload) for payload in WRITTEN]
    writer.close()
    reader = RecordReader(path)
    for position, payload in [*zip(positions, WRITTEN)][::-1]:
        reader.position = position
        assert reader.read() == payload
    reader.close()


@pytest.mark.parametrize(
    "content", [part(b"abc", 1) + part(b"de", 3), part(b"a", 1) + part(b"b", 2) + part(b"c", 3)]
)
def test_parts_of_any_length_are_joined(content, tmp_path):
    (tmp_path / "odd.rec").write_bytes(content)
    reader = RecordReader(str(tmp_path / "odd.rec"))
    assert reader.read() in (b"abc" + MAGIC + b"de", MAGIC.join((b"a", b"b", b"c")))
    reader.close()


GOOD = part(b"abcd")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD + b"\1\2", "the 8 bytes that begin a record at byte 12; got 2 until the end"),
        (GOOD + MAGIC, "the 8 bytes that begin a record at byte 12; got 4 until the end"),
        (GOOD + part(b"ab", length=5), "a record of 5 bytes at byte 12; got 4 until the end of the file"),
        (GOOD + part(b"", length=2**29 - 1), "a record of 536870911 bytes at byte 12; got 0 until the end"),
        (GOOD + part(b"a")[:-1], "a record of 1 bytes at byte 12; got 3 until the end of the file"),
        (GOOD + b"ABCD" + GOOD, "the magic number 0a 23 d7 ce of a record at byte 12; got 41 42 43 44"),
        (GOOD + part(b"", 1), "more parts of the record that begins at byte 12 at byte 20; got the end"),
        (GOOD + part(b"", 1) + GOOD, "a part of kind 2 or 3 at byte 20; got kind 0"),
        (GOOD + part(b"", 3), "a part of kind 0 or 1 at byte 12; got kind 3"),
        (GOOD + part(b"", 7), "a part of kind 0 or 1 at byte 12; got kind 7"),
    ],
)
def test_broken_records(content, says, tmp_path):
    path = tmp_path / "broken.rec"
    path.write_bytes(content)
    reader = RecordReader(str(path))
    assert reader.read() == b"abcd"
    for _ in range(2):  # the position stays before the broken record
        with pytest.raises(FormatError, match=f"broken.rec' must have {says}"):
            reader.read()
        assert reader.position == 12
    reader.position = 0
    assert reader.read() == b"abcd"
    reader.close()


@pytest.mark.parametrize(
    ("content", "heads"),
    [
        (b"", []),
        (part(b"abc") + part(b"defgh"), [b"ab", b"de"]),
        (part(b"a") + part(b""), [b"a", b""]),
        (part(b"abcd", 1) + part(b"e", 2) + part(b"fgh", 3) + GOOD, [b"ab", b"ab"]),
        (GOOD + part(b"abc", length=500), [b"ab", b"ab"]),  # the rest, which is missing, is not read
    ],
)
def test_heads_of_records(content, heads, tmp_path):
    path = tmp_path / "heads.rec"
    path.write_bytes(content)
    assert list(stream.record_heads(str(path), 2)) == heads


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (GOOD + b"ABCD" + GOOD, "the magic number 0a 23 d7 ce of a record at byte 12; got 41 42 43 44"),
        (GOOD + MAGIC, "the 8 bytes that begin a record at byte 12; got 4 until the end"),
        (GOOD + part(b"", 1), "more parts of the record that begins at byte 12 at byte 20; got the end"),
        (GOOD + part(b"", 3), "a part of kind 0 or 1 at byte 12; got kind 3"),
    ],
)
def test_heads_of_broken_records(content, says, tmp_path):
    path = tmp_path / "broken.rec"
    path.write_bytes(content)
    heads = stream.record_heads(str(path), 4)
    assert next(heads) == b"abcd"
    with pytest.raises(FormatError, match=f"broken.rec' must have {says}"):
        next(heads)


def test_heads_and_records_in_turn(tmp_path):
    path = tmp_path / "both.rec"
    path.write_bytes(part(b"abcd") + part(b"efg", 1) + part(b"hi", 3) + part(b"j"))
    reader = RecordReader(str(path))
    assert (reader.read(), reader.read_head(1), reader.read()) == (b"abcd", b"e", b"j")
    reader.position = 12
    assert (reader.read_head(9), reader.read_head(9), reader.read_head(9)) == (b"efg", b"j", None)
    reader.close()


def test_a_file_that_grows_or_shrinks_while_it_is_read(tmp_path):
    path = tmp_path / "grows.rec"
    path.write_bytes(GOOD)
    reader = RecordReader(str(path))
    assert reader.read() == b"abcd" and reader.read() is None
    with path.open("ab") as file:
        file.write(part(bytes(200_000)))
    assert reader.read() == bytes(200_000)
    os.truncate(path, 100_000)
    reader.position = 12
    with pytest.raises(FormatError, match="a record of 200000 bytes at byte 12; got 99980 until"):
        reader.read()
    reader.close()


def test_the_longest_record(tmp_path, monkeypatch):
    assert stream.LONGEST == 2**29 - 1
    monkeypatch.setattr(stream, "LONGEST", 15)
    writer = RecordWriter(str(tmp_path / "long.rec"))
    writer.write(bytes(15))
    # MXNet refuses one that could be written in parts, too.
    for payload in (bytes(16), bytes(8) + MAGIC + bytes(8)):
        with pytest.raises(ParameterError, match=f"at most 15 bytes long; got {len(payload)}"):
            writer.write(payload)
    assert writer.position == 24
    writer.close()
    assert os.path.getsize(tmp_path / "long.rec") == 24


@pytest.mark.parametrize("payload", ["text", 3, None, [1, 2]])
def test_what_is_not_bytes(payload, tmp_path):
    writer = RecordWriter(str(tmp_path / "any.rec"))
    with pytest.raises(ArgumentError, match=f"a record must be bytes; got {type(payload).__name__}"):
        writer.write(payload)
    writer.close()


def test_what_is_written_is_there_when_the_program_is_killed(tmp_path):
    path = tmp_path / "killed.rec"
    program = (
        "import os, sys\n"
        "from rebind.recordio.stream import RecordWriter\n"
        "RecordWriter(sys.argv[1]).write(b'abcd')\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], check=False)
    assert path.read_bytes() == GOOD
