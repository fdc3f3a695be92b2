"""Record, index and list files of any content: read, or refused with an error of ours. See tests/io/test_fuzz.py."""

from __future__ import annotations

import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebind import tuning
from rebind.errors import FormatError
from rebind.recordio import RecordReader, RecordWriter, pack, read_index, stream, unpack
from rebind.recordio.lists import read_list
from rebind.recordio.stream import MAGIC, record_heads

pytestmark = pytest.mark.fuzz

#: Payloads with magic numbers at, and beside, multiples of 4.
PAYLOADS = st.lists(st.lists(st.one_of(st.just(MAGIC), st.binary(max_size=9))).map(b"".join), max_size=5)

WORDS = st.one_of(
    st.just(MAGIC),
    st.binary(min_size=4, max_size=4),
    # A kind, and a length that may be near what is left, or far beyond it.
    st.tuples(st.integers(0, 7), st.one_of(st.integers(0, 40), st.integers(0, 2**29 - 1))).map(
        lambda pair: struct.pack("<I", pair[0] << 29 | pair[1])
    ),
)
CONTENTS = st.tuples(st.lists(WORDS, max_size=24).map(b"".join), st.binary(max_size=3)).map(b"".join)


def fuzz(strategy):
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]

    def decorate(check):
        settings(deadline=None, suppress_health_check=checks, database=None)(given(strategy)(check))()

    return decorate


def records_of(path):
    reader, found = RecordReader(str(path)), []
    while (record := reader.read()) is not None:
        found.append(record)
    reader.close()
    return found


def test_payloads_come_back(tmp_path):
    path = tmp_path / "a.rec"

    @fuzz(PAYLOADS)
    def check(payloads):
        writer = RecordWriter(str(path))
        positions = [writer.write(payload) for payload in payloads]
        writer.close()
        assert records_of(path) == payloads
        assert list(record_heads(str(path), 0)) == [b""] * len(payloads)
        reader = RecordReader(str(path))
        starts = [reader.next_begin(at) for at in range(0, writer.position, 4)]
        reader.close()
        assert sorted({*starts} - {writer.position}) == positions


@tuning.changed(record_buffer_bytes=16)
def test_any_content_is_read_or_refused(tmp_path):
    path = tmp_path / "a.rec"
    taken = []

    @fuzz(CONTENTS)
    def check(content):
        path.write_bytes(content)
        try:
            found = records_of(path)
            taken.extend(map(len, found))
            # Of a record in parts, the head ends with the first.
            heads = list(record_heads(str(path), 3))
            assert all(record.startswith(head) for record, head in zip(found, heads, strict=True))
        except FormatError as error:
            assert "a.rec' must have" in str(error)
            try:
                list(record_heads(str(path), 3))
            except FormatError as error:
                assert "a.rec' must have" in str(error)
        assert sum(taken) <= len(content)  # no more memory than the file has
        taken.clear()


def test_any_mistake_in_a_good_file(tmp_path):
    path = tmp_path / "a.rec"
    good = b"".join(
        part for payload in (b"abc", MAGIC, b"x" * 30, MAGIC * 3) for part in stream.parts_of(payload)
    )

    @fuzz(st.tuples(st.integers(0, len(good)), st.integers(0, len(good) - 1), st.integers(1, 255)))
    def check(mistake):
        end, at, bits = mistake
        content = bytearray(good)
        content[at] ^= bits
        path.write_bytes(content[:end])
        try:
            records_of(path)
        except FormatError as error:
            assert "a.rec' must have" in str(error)


def test_any_packed_record():
    @fuzz(st.binary(max_size=80))
    def check(record):
        try:
            header, payload = unpack(record)
        except FormatError:
            return
        if header.flag:
            assert header.label.nbytes + 24 + len(payload) == len(record)
        elif record[:4] == bytes(4):
            assert pack(header, payload)[24:] == record[24:]


TEXTS = st.lists(
    st.sampled_from(["0", "7", "-1", "2.5", "\t", "\n", "a", "", " ", "\r", "\u00e9", "9" * 30]), max_size=12
)


def test_any_text_is_an_index_and_a_list_or_refused(tmp_path):
    path = tmp_path / "a.txt"

    @fuzz(TEXTS.map("".join))
    def check(text):
        path.write_bytes(text.encode())
        for read in (lambda: read_index(str(path), int), lambda: list(read_list(str(path)))):
            try:
                read()
            except FormatError as error:
                assert "a.txt', line" in str(error)
