"""Record files as programs open them: in any order, in other processes, with mistakes."""

from __future__ import annotations

import copy
import os
import pickle

import pytest

from rebind.errors import FormatError, MXNetError, ParameterError, StateError
from rebind.recordio import MXIndexedRecordIO, MXRecordIO


@pytest.fixture
def paths(tmp_path):
    return str(tmp_path / "some.idx"), str(tmp_path / "some.rec")


@pytest.fixture
def written(paths):
    with MXIndexedRecordIO(*paths, "w") as record:
        for i in range(5):
            record.write_idx(i, b"record_%d" % i)
    return paths


def in_a_fork(function) -> bytes:
    """Return what a function returns, or the error that it raises, in a process that is forked."""
    end, other = os.pipe()
    child = os.fork()
    if not child:
        try:
            answer = function()
        except BaseException as error:
            answer = repr(error).encode()
        os.write(other, answer or b"None")
        os._exit(0)
    os.close(other)
    os.waitpid(child, 0)
    with open(end, "rb") as file:
        return file.read()


def test_from_start_to_end(written):
    record = MXRecordIO(written[1], "r")
    assert [record.read() for _ in range(7)] == [*(b"record_%d" % i for i in range(5)), None, None]
    record.reset()
    assert record.read() == b"record_0"
    record.close()
    record.open()
    assert record.read() == b"record_0"
    record.close()


def test_in_any_order(written):
    record = MXIndexedRecordIO(*written, "r")
    assert record.keys == [0, 1, 2, 3, 4] and record.idx == {0: 0, 1: 16, 2: 32, 3: 48, 4: 64}
    assert [record.read_idx(i) for i in (3, 0, 4)] == [b"record_3", b"record_0", b"record_4"]
    record.seek(1)
    assert record.read() == b"record_1" and record.tell() == 32
    record.reset()
    assert record.read() == b"record_0"
    record.close()


def test_index_files(written):
    with open(written[0], "rb") as file:
        assert file.read() == b"0\t0\n1\t16\n2\t32\n3\t48\n4\t64\n"
    with MXIndexedRecordIO(*written, "r", key_type=str) as record:
        assert record.keys == ["0", "1", "2", "3", "4"] and record.read_idx("3") == b"record_3"


def test_a_key_that_is_written_again_stands_for_the_newer_record(paths):
    with MXIndexedRecordIO(*paths, "w") as record:
        record.write_idx(0, b"old")
        record.write_idx(0, b"new")
        assert record.keys == [0, 0] and record.idx == {0: 12}
    with MXIndexedRecordIO(*paths, "r") as record:
        assert record.keys == [0, 0] and record.read_idx(0) == b"new"


def test_reset_of_a_writer_empties_both_files(paths):
    with MXIndexedRecordIO(*paths, "w") as record:
        record.write_idx(7, b"old")
        record.reset()
        assert (record.keys, record.idx, record.tell()) == ([], {}, 0)
    assert [os.path.getsize(path) for path in paths] == [0, 0]


def test_state(written):
    record = MXRecordIO(written[1], "r")
    assert (record.uri, record.flag, record.is_open, record.writable) == (written[1], "r", True, False)
    assert record.pid == os.getpid() and record.handle is not None
    record.close()
    record.close()
    assert (record.is_open, record.pid, record.handle) == (False, None, None)


@pytest.mark.parametrize("copied", [copy.copy, lambda record: pickle.loads(pickle.dumps(record))])
def test_a_reader_is_copied_with_its_position(copied, written):
    record = MXIndexedRecordIO(*written, "r")
    record.read_idx(2)
    other = copied(record)
    assert other.read() == b"record_3" and other.read_idx(0) == b"record_0"
    assert record.read() == b"record_3"
    other.close()
    record.close()
    closed = copied(record)
    assert not closed.is_open
    closed.open()
    assert closed.read() == b"record_0"
    closed.close()


def test_an_open_writer_is_not_copied(paths):
    with MXIndexedRecordIO(*paths, "w") as record:
        record.write_idx(0, b"kept")
        with pytest.raises(StateError, match=r"being written, .*some\.rec', cannot be pickled. Call close"):
            pickle.dumps(record)
    closed = pickle.loads(pickle.dumps(record))
    assert not closed.is_open and os.path.getsize(paths[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked on this system")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_after_a_fork(written, tmp_path):
    reader = MXIndexedRecordIO(*written, "r")
    reader.read_idx(2)
    # The file is opened again in the child, and the parent goes on where it was.
    assert in_a_fork(reader.read) == b"record_0"
    assert in_a_fork(lambda: reader.read_idx(4)) == b"record_4"
    assert reader.read() == b"record_3"
    reader.close()
    with MXRecordIO(tmp_path / "new.rec", "w") as writer:
        writer.write(b"1")
        answer = in_a_fork(lambda: writer.write(b"2"))
        assert f"must be written by the process that opened it, {os.getpid()}; this is".encode() in answer
        answer = in_a_fork(writer.close)
        writer.write(b"3")
    with MXRecordIO(tmp_path / "new.rec", "r") as record:
        assert [record.read() for _ in range(3)] == [b"1", b"3", None]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda idx, rec: MXRecordIO(rec, "x"),
            ParameterError,
            "MXRecordIO: flag must be 'r' or 'w'; got 'x'",
        ),
        (
            lambda idx, rec: MXRecordIO("none.rec", "r"),
            FileNotFoundError,
            "the record file 'none.rec' must exist",
        ),
        (
            lambda idx, rec: MXRecordIO("no/a.rec", "w"),
            FileNotFoundError,
            "the folder 'no' of 'no/a.rec' must exist",
        ),
        (
            lambda idx, rec: MXIndexedRecordIO("none.idx", rec, "r"),
            FileNotFoundError,
            "MXIndexedRecordIO: the index file 'none.idx' must exist",
        ),
        (
            lambda idx, rec: MXIndexedRecordIO(idx, rec, "r").read_idx(99),
            KeyError,
            r"some.idx' has no key 99\.",
        ),
        (
            lambda idx, rec: MXIndexedRecordIO(idx, rec, "r").read_idx("2"),
            KeyError,
            r"some.idx' has no key '2'; did you mean 2 of type int\?",
        ),
        (lambda idx, rec: MXRecordIO(rec, "r").write(b""), StateError, "open for writing; it is being read"),
        (lambda idx, rec: MXRecordIO(rec, "w").read(), StateError, "open for reading; it is being written"),
        (
            lambda idx, rec: MXIndexedRecordIO(idx, rec, "w").write_idx("k", b""),
            ParameterError,
            "idx must be a key of type int; got 'k'",
        ),
        (
            lambda idx, rec: MXIndexedRecordIO(idx, rec, "w", str).write_idx("a\tb", b""),
            ParameterError,
            r"idx must have no tab and no line break; got 'a\\tb'",
        ),
    ],
)
def test_mistakes(call, error, says, written):
    with pytest.raises(error, match=says) as caught:
        call(*written)
    assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize("use", ["read", "tell"])
def test_a_closed_file(use, written):
    record = MXIndexedRecordIO(*written, "r")
    record.close()
    with pytest.raises(RuntimeError, match=r"some\.rec' must be open; it is closed. Call open\(\) first"):
        getattr(record, use)()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("0\t0\n1 16\n", r"line 2 must be a key, a tab and a position >= 0; got '1 16\\n'"),
        ("0\t0\n\n", "line 2 must be"),
        ("a\t0\n", "line 1 must be"),
        ("0\t-4\n", "line 1 must be"),
        ("0\t4.0\n", "line 1 must be"),
    ],
)
def test_broken_index_files(content, says, written):
    with open(written[0], "w") as file:
        file.write(content)
    with pytest.raises(FormatError, match=f"index file '.*some.idx', {says}"):
        MXIndexedRecordIO(*written, "r")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("0\t3\n", r"some\.rec' must have the magic number .* at byte 3; got"),
        (
            "0\t100\n",
            r"some\.rec' must have a record at byte 100, as .*some\.idx' says for key 0; got the end",
        ),
        ("0\t5000\n", r"some\.rec' must have a record at byte 5000, .* got the end of the file"),
        (f"0\t{10**30}\n", r"some\.rec' must have a record at byte 10*, .* got the end of the file"),
    ],
)
def test_an_index_of_another_file(content, says, written):
    with open(written[0], "w") as file:
        file.write(content)
    with MXIndexedRecordIO(*written, "r") as record, pytest.raises(FormatError, match=says):
        record.read_idx(0)
