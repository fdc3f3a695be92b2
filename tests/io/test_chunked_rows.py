"""Numbers of text files that are kept for the next epochs."""

import os

import numpy as np
import pytest

import rebind as mx
from rebind.io import csv_iter, libsvm_iter

ROWS = 30_000


def csv(folder, rows=ROWS):
    path = folder / "data.csv"
    path.write_text("".join(f"{i},{i / 2}\n" for i in range(rows)))
    return mx.io.CSVIter(data_csv=str(path), data_shape=(2,), batch_size=1000), path


def libsvm(folder, rows=ROWS):
    path = folder / "data.svm"
    path.write_text("".join(f"{i} 0:{i} 2:0.5\n" for i in range(rows)))
    return mx.io.LibSVMIter(data_libsvm=str(path), data_shape=(3,), batch_size=1000), path


KINDS = [
    pytest.param(csv, csv_iter, "parse_table", id="csv"),
    pytest.param(libsvm, libsvm_iter, "parse_lines", id="libsvm"),
]


def epoch(batches):
    batches.reset()
    found = [(each.data[0].asnumpy(), each.label[0].asnumpy()) for each in batches]
    return [np.concatenate(each) for each in zip(*found)]


def counted(monkeypatch, module, name):
    calls = []
    parse = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given: calls.append(1) or parse(*given))
    return calls


@pytest.mark.parametrize(("make", "module", "name"), KINDS)
@pytest.mark.parametrize("room", [None, "0"])
def test_a_file_is_parsed_once(make, module, name, room, monkeypatch, tmp_path):
    if room is not None:
        monkeypatch.setenv("REBIND_KEPT_NUMBERS", room)
    calls = counted(monkeypatch, module, name)
    batches, _ = make(tmp_path)
    first = epoch(batches)
    parsed = len(calls)
    assert parsed > 1  # several chunks
    for _ in range(2):
        for array, expected in zip(epoch(batches), first):
            np.testing.assert_array_equal(array, expected)
    assert len(calls) == (parsed if room is None else 3 * parsed)
    assert first[0][:, 0].tolist() == list(range(ROWS))
    batches.close()


@pytest.mark.parametrize(("make", "module", "name"), KINDS)
def test_what_finds_no_room_is_parsed_again(make, module, name, monkeypatch, tmp_path):
    monkeypatch.setenv("REBIND_KEPT_NUMBERS", "1")
    calls = counted(monkeypatch, module, name)
    batches, _ = make(tmp_path, rows=200_000)
    first = epoch(batches)
    parsed = len(calls)
    second = epoch(batches)
    assert 0 < len(calls) - parsed < parsed
    for array, expected in zip(second, first):
        np.testing.assert_array_equal(array, expected)
    batches.close()


@pytest.mark.parametrize(("make", "module", "name"), KINDS)
def test_a_file_that_was_written_again_is_read_again(make, module, name, tmp_path):
    batches, path = make(tmp_path)
    before, size = epoch(batches), path.stat().st_size
    path.write_bytes(path.read_bytes().replace(b"9", b"8"))
    os.utime(path, ns=(0, 0))  # a clock that is too coarse to tell
    assert path.stat().st_size == size
    after = epoch(batches)
    assert before[0][9, 0] == 9
    assert after[0][9, 0] == 8
    batches.close()


@pytest.mark.parametrize(("make", "module", "name"), KINDS)
def test_writing_into_a_batch_leaves_what_is_kept(make, module, name, tmp_path):
    batches, _ = make(tmp_path)
    expected = epoch(batches)
    for _ in range(2):
        batches.reset()
        for batch in batches:
            batch.data[0][:] = mx.nd.full(batch.data[0].shape, -1)  # an array: csr takes no number
            batch.label[0][:] = -1
    for array, before in zip(epoch(batches), expected):
        np.testing.assert_array_equal(array, before)
    batches.close()
