"""The order of samples is compared with MXNet's in ``parity/snippets/iterators.py``."""

import numpy as np
import pytest

from rebind.errors import FormatError, ParameterError, ShapeError
from rebind.io import LibSVMIter

from .files import write


def make(tmp_path, text, width=4, **given):
    path = write(tmp_path / "a.t", text)
    return LibSVMIter(**{"data_libsvm": path, "data_shape": (width,), "batch_size": 1, **given})


@pytest.mark.parametrize(
    ("line", "label", "row"),
    [
        ("1 0:5 2:6", 1, [5, 0, 6, 0]),
        ("-2", -2, [0, 0, 0, 0]),
        ("1e2 3:-1.5e1 1:+2", 100, [0, 2, 0, -15]),  # in any order
        ("1 0:1 0:2", 1, [3, 0, 0, 0]),  # the sum of several
        ("1:0.5 3:2", 1, [0, 0, 0, 2]),  # a weight
        ("1 qid:3 3:2", 1, [0, 0, 0, 2]),
        ("1 3:2 # a comment 0:7", 1, [0, 0, 0, 2]),
        ("  1\t0:5   2:6  \r", 1, [5, 0, 6, 0]),
        ("1 0 3", 1, [1, 0, 0, 1]),
        ("1 0:nan 1:inf", 1, [np.nan, np.inf, 0, 0]),
    ],
)
def test_what_parses(line, label, row, tmp_path):
    batches = make(tmp_path, f"7 0:1\n\n# only a comment\n{line}\n8 1:1\n", batch_size=3)
    batch = next(batches)
    np.testing.assert_array_equal(batch.data[0].asnumpy(), [[1, 0, 0, 0], row, [0, 1, 0, 0]])
    assert batch.label[0].asnumpy().tolist() == [7, label, 8]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x 0:1", "line 2, column 1: must be a number, the label; got 'x'"),
        ("1 0:x", "line 2, column 5: must be a number; got 'x'"),
        ("1 a:1", "line 2, column 3: must be a column, a whole number; got 'a'"),
        ("1 1.5:1", "line 2, column 3: must be a column, a whole number; got '1.5'"),
        ("1 -1:1", "line 2, column 3: must be a column, a whole number; got '-1'"),
        ("1 99999999999999999999:1", "must be a column, a whole number; got '99999999999999999999'"),
        (
            "1 4:1",
            "line 2, column 3: must be a column in 0..3, for the shape given; got 4. Columns count from 0.",
        ),
        ("1 99999999999:1", "must be a column in 0..3, for the shape given; got 99999999999"),
        ("1 1:", "line 2, column 4: must have a column before it and a value behind it; got ':'"),
        ("1 :2", "line 2, column 3: must have a column before it"),
        ("1 1 :2", "line 2, column 5: must have a column before it"),
        ("1 1:2:3", "line 2, column 6: must be a blank, or the end of the line; got ':'"),
        ("1,2 1:2", "line 2, column 1: must be a number, the label; got '1,2'"),
        (":", "line 2, column 1: must have a column"),
    ],
)
def test_what_does_not_parse(line, says, tmp_path):
    with pytest.raises(FormatError) as raised:
        list(make(tmp_path, f"5 0:5\n{line}\n6 1:1"))
    assert says in str(raised.value)


def parts(array):
    return [array.stype, *(part.asnumpy().tolist() for part in (array.data, array.indices, array.indptr))]


def test_data_are_csr(tmp_path):
    text = "1 3:6 0:5\n2\n3 1:1 1:2 0:0\n"  # columns are neither sorted nor joined, and zeros stay
    batches = make(tmp_path, text, batch_size=2, round_batch=False)
    first, last = batches
    assert parts(first.data[0]) == ["csr", [6, 5], [3, 0], [0, 2, 2]]
    assert parts(last.data[0]) == ["csr", [1, 2, 0], [1, 1, 0], [0, 3, 3]]
    assert first.data[0].shape == (2, 4)
    assert first.data[0].dtype == np.float32
    assert first.label[0].stype == "default"
    assert batches.getdata().stype == "csr"
    batches.reset()
    # Its own memory, not that of the numbers saved for the next epochs.
    next(batches).data[0].storage.data.zero_()
    batches.reset()
    assert parts(next(batches).data[0])[1] == [6, 5]


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_types_of_csr(dtype, tmp_path):
    [batch] = make(tmp_path, "1 0:2\n", dtype=dtype)
    assert batch.data[0].dtype == batch.label[0].dtype == np.dtype(dtype)


def test_a_batch_takes_memory_for_its_stored_elements_alone(tmp_path):
    """A dense row of this width would be 4 GB."""
    width = 10**9
    [batch] = make(tmp_path, f"1 0:2 {width - 1}:3\n1 7:2\n", width=width, batch_size=3)
    assert batch.data[0].shape == (3, width)
    assert batch.data[0].storage.nbytes == 5 * (4 + 8) + 4 * 8
    [zeros] = make(tmp_path, "1\n", width=width, batch_size=3, round_batch=False)
    assert zeros.data[0].storage.nbytes == 4 * 8


def test_labels_of_another_file(tmp_path):
    labels = write(tmp_path / "b.t", "9 0:1\n9\n9 2:3\n")
    batches = make(tmp_path, "1 0:1\n2 1:1\n3 2:1\n", label_libsvm=labels, label_shape=(3,), batch_size=2)
    assert [tuple(desc) for desc in batches.provide_label] == [("softmax_label", (2, 3))]
    first, second = batches
    assert parts(second.label[0]) == ["csr", [3, 1], [2, 0], [0, 1, 2]]
    assert first.label[0].asnumpy().tolist() == [[1, 0, 0], [0, 0, 0]]
    assert second.label[0].asnumpy().tolist() == [[0, 0, 3], [1, 0, 0]]


def test_without_round_batch(tmp_path):
    first, second = make(tmp_path, "1 0:1\n2 1:1\n3 2:1\n", batch_size=2, round_batch=False)
    assert second.data[0].asnumpy().tolist() == [[0, 0, 1, 0], [0, 1, 0, 0]]
    assert (first.pad, second.pad) == (0, 1)
    [only] = make(tmp_path, "1 0:1\n", batch_size=2, round_batch=False)
    assert only.data[0].asnumpy().tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("parts", [1, 2, 3, 7])
@pytest.mark.parametrize("end", ["\n", ""])
def test_parts_have_every_sample_once(parts, end, tmp_path):
    rng = np.random.default_rng(parts)
    lines = [f"{i}" + " 0:1" * int(rng.integers(0, 9)) for i in range(50)]
    write(tmp_path / "b.t", "50 0:1")
    paths = f"{write(tmp_path / 'c.t', chr(10).join(lines) + end)};{tmp_path / 'b.t'}"
    found = []
    for part in range(parts):
        batches = make(tmp_path, "", data_libsvm=paths, num_parts=parts, part_index=part)
        found += [batch.label[0].item() for batch in batches]
    assert found == list(range(51))


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"data_shape": (2, 2)}, ShapeError, r"data_shape must have one axis; got \(2, 2\)"),
        ({"label_shape": (2,)}, ShapeError, r"label_shape must be \(1,\) without label_libsvm"),
        ({"num_parts": 2, "part_index": 2}, ParameterError, "part_index must be in 0..1"),
    ],
)
def test_bad_parameters(given, error, says, tmp_path):
    with pytest.raises(error, match=says):
        make(tmp_path, "1 0:1\n", **given)


def test_a_part_without_lines(tmp_path):
    with pytest.raises(ShapeError, match=r"part 3 of 4 of .* must have at least one sample; got none"):
        next(make(tmp_path, "1 0:1\n", num_parts=4, part_index=3))


def test_position_is_saved(tmp_path):
    text = "".join(f"{i} {i % 4}:1\n" for i in range(10))
    first, second = (make(tmp_path, text, batch_size=4) for _ in range(2))
    assert [batch.label[0].asnumpy().tolist() for batch in first][-1] == [8, 9, 0, 1]
    first.reset()
    next(first)
    second.load_state_dict(first.state_dict())
    assert next(second).label[0].asnumpy().tolist() == next(first).label[0].asnumpy().tolist() == [6, 7, 8, 9]
    first.close()
    second.close()
