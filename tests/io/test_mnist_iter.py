"""The order of samples is compared with MXNet's in ``parity/snippets/iterators.py``."""

import gzip
import logging
import struct

import numpy as np
import pytest

from rebind.errors import FormatError, MissingFileError, ShapeError
from rebind.io import MNISTIter
from rebind.io.idx import read_idx

from .files import write, write_idx


@pytest.fixture(params=[False, True], ids=["plain", "gzip"])
def files(request, tmp_path):
    pictures = np.arange(11 * 6).reshape(11, 2, 3)
    return {
        "image": write_idx(tmp_path / "i", pictures, compress=request.param),
        "label": write_idx(tmp_path / "l", np.arange(11), compress=request.param),
    }


def labels_of(batches):
    return [batch.label[0].asnumpy().astype(int).tolist() for batch in batches]


def test_in_order(files):
    batches = MNISTIter(**files, batch_size=4, shuffle=False, silent=True)
    assert [tuple(desc) for desc in batches.provide_data + batches.provide_label] == [
        ("data", (4, 1, 2, 3)),
        ("softmax_label", (4,)),
    ]
    first, _ = batches
    np.testing.assert_array_equal(first.data[0].asnumpy().ravel() * 256, np.arange(24))
    batches.reset()
    assert labels_of(batches) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert not batches.iter_next()


def test_shuffled_and_flat(files):
    batches = MNISTIter(**files, batch_size="11", shuffle="True", flat=1, silent=True)
    [batch] = batches
    assert batch.label[0].asnumpy().astype(int).tolist() == batch.index.tolist()
    assert batch.index.tolist() == [0, 2, 3, 5, 9, 1, 10, 8, 4, 7, 6]
    np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0] * 256, batch.index * 6)


def test_parts(files):
    parts = [MNISTIter(**files, batch_size=1, silent=True, num_parts=3, part_index=part) for part in range(3)]
    assert [[label for (label,) in labels_of(part)] for part in parts] == [
        [0, 2, 1],
        [3, 5, 6, 4],
        [7, 9, 10, 8],
    ]


def test_position_and_types(files):
    first, second = (MNISTIter(**files, batch_size=3, silent=True, dtype="float64") for _ in range(2))
    next(first)
    second.load_state_dict(first.state_dict())
    batch = next(second)
    assert (batch.data[0].dtype, batch.label[0].dtype) == (np.float64, np.float64)
    assert batch.index.tolist() == next(first).index.tolist()


def test_it_says_what_was_read(files, caplog):
    with caplog.at_level(logging.INFO):
        MNISTIter(**files, batch_size=3)
        MNISTIter(**files, batch_size=3, silent=True)
    assert [record.getMessage() for record in caplog.records] == [
        "MNISTIter: 11 samples of shape (1, 2, 3), shuffle=True"
    ]


def test_examples_of_mxnet_give_it_a_shape(files):
    with pytest.warns(UserWarning, match="MNISTIter: no parameter 'input_shape', so it has no effect"):
        MNISTIter(**files, batch_size=3, input_shape=(784,), silent=True)


HEADER = struct.pack(">4I", 2051, 3, 2, 2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "must begin with 16 bytes that describe it; got 0"),
        (HEADER[:9], "must begin with 16 bytes that describe it; got 9"),
        (b"PK\x03\x04" + HEADER, "axes, whose magic number is 2051; got 1347093252"),
        (struct.pack(">4I", 2049, 3, 2, 2) + bytes(12), "magic number is 2051; got 2049"),
        (HEADER + bytes(11), r"must have 12 bytes for the shape \(3, 2, 2\); got 11. Is it truncated"),
        (HEADER + bytes(13), r"must have 12 bytes for the shape \(3, 2, 2\); got more"),
        (struct.pack(">4I", 2051, 0, 2**32 - 1, 2**32 - 1), "must have at least one sample"),
        (struct.pack(">4I", 2051, 2**32 - 1, 2**32 - 1, 2**32 - 1), "it has fewer. Is it truncated"),
        (gzip.compress(HEADER + bytes(12), mtime=0)[:-9], "must be a whole gzip file"),
        (b"\x1f\x8b" + b"\xff" * 20, "must be a whole gzip file"),
        (b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 30, "must be a whole gzip file"),
        (gzip.compress(HEADER + bytes(11), mtime=0), "got 11. Is it truncated"),
        (gzip.compress(struct.pack(">4I", 2051, 2**31, 2**10, 1), mtime=0), "it has fewer. Is it truncated"),
    ],
)
def test_broken_files(content, says, tmp_path):
    with pytest.raises(FormatError, match=says):
        read_idx(write(tmp_path / "i", content), axes=3)


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"batch_size": 12}, ShapeError, "batch_size must be at most the number of samples; got 12 for 11"),
        ({"image": "nowhere"}, MissingFileError, "nowhere must exist"),
    ],
)
def test_bad_parameters(given, error, says, files):
    with pytest.raises(error, match=says):
        MNISTIter(**{**files, **given})


def test_labels_for_other_than_all_pictures(files, tmp_path):
    label = write_idx(tmp_path / "few", np.arange(5))
    with pytest.raises(FormatError, match=r"there must be a label for each picture; got 5 in .* for 11"):
        MNISTIter(**{**files, "label": label})
