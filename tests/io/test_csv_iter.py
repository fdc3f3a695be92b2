"""The order of samples is compared with MXNet's in ``parity/snippets/iterators.py``."""

import gc
import os

import numpy as np
import pytest

from rebind.errors import ArgumentError, FormatError, MissingFileError, ParameterError, ShapeError
from rebind.io import CSVIter, DataBatch
from rebind.io.csv_iter import parse_table
from rebind.io.text_chunks import TextChunk

from .files import write
from .reading_threads import reading_threads, threads_left


def numbers_of(batch: DataBatch) -> list:
    return batch.data[0].asnumpy().tolist()


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1,2\n3,4", [[1, 2], [3, 4]]),
        ("1,2\r\n3,4\r\n", [[1, 2], [3, 4]]),
        ("\n\n1,2\n\n  \n3,4\n\n", [[1, 2], [3, 4]]),
        ("1,2,\n3,4,\n", [[1, 2], [3, 4]]),
        (" 1 ,\t2 \n3, 4", [[1, 2], [3, 4]]),
        ("\ufeff1,2\n", [[1, 2]]),
        ("nan,-inf\n1e2,+.5\n-1.5E-1,7.", [[np.nan, -np.inf], [100, 0.5], [-0.15, 7]]),
        ("0.1234567890123456789,1e400\n1e-400,16777217", [[0.12345679, np.inf], [0, 16777216]]),
    ],
)
def test_what_parses(text, rows, tmp_path):
    batches = CSVIter(data_csv=write(tmp_path / "a.csv", text), data_shape=(2,), batch_size=1)
    np.testing.assert_array_equal([numbers_of(batch)[0] for batch in batches], np.array(rows, np.float32))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1,2\n3,x\n", "a.csv, line 2, column 3: must be a number; got 'x'"),
        ("a,b\n1,2\n", "line 1, column 1: must be a number; got 'a'. Remove the line of names."),
        ("1,2\n\n3,0x10\n", "line 3, column 3: must be a number; got '0x10'"),
        ("1,2\n3, 4y\n", "line 2, column 4: must be a number; got '4y'"),
        ("1,2\n3\n", "line 2: must have 2 numbers, for the shape given; got 1"),
        ("1,2,3\n", "line 1: must have 2 numbers, for the shape given; got 3"),
        ("1,2\n3,,4\n", "line 2, column 3: must be a number; got an empty field"),
        (",2\n", "line 1, column 1: must be a number; got an empty field"),
        ("1 2,3\n", "line 1, column 3: must be a comma or the end of the line; got another number"),
        ('"1",2\n', "line 1, column 1: must be a number; got '\"1\"'"),
        ("1,2\n1_0,3\n", "line 2, column 1: must be a number; got '1_0'"),
        ("1,2\n" + "9" * 5000 + ",3\n", "line 2, column 1: must be a number"),
        (b"1,\xff\n", "line 1, column 3: must be a number"),
        (b"1,\x00\n", "line 1, column 3: must be a number"),
    ],
)
def test_what_does_not_parse(text, says, tmp_path):
    batches = CSVIter(data_csv=write(tmp_path / "a.csv", text), data_shape=(2,), batch_size=1)
    with pytest.raises(FormatError) as raised:
        list(batches)
    assert says in str(raised.value)


def test_the_line_of_a_mistake_counts_from_the_start_of_the_file(tmp_path):
    text = "".join(f"{i},{i}\n" for i in range(60_000)) + "1,x\n"  # several chunks
    batches = CSVIter(data_csv=write(tmp_path / "a.csv", text), data_shape=(2,), batch_size=100)
    with pytest.raises(FormatError, match="line 60001, column 3"):
        list(batches)


@pytest.mark.parametrize(
    ("dtype", "text", "found"),
    [
        ("float64", "0.1,123456789012345678", [0.1, 123456789012345678.0]),
        ("int32", "-4.9,2e3", [-4, 2000]),
        ("int64", "-9223372036854775808,9007199254740993", [-(2**63), 2**53 + 1]),
        ("uint8", "0,255", [0, 255]),
        ("float16", "0.5,-2", [0.5, -2]),
    ],
)
def test_types(dtype, text, found, tmp_path):
    path = write(tmp_path / "a.csv", text)
    batches = CSVIter(
        data_csv=path, label_csv=path, label_shape=(2,), data_shape=(2,), batch_size=1, dtype=dtype
    )
    batch = next(batches)
    assert [desc.dtype for desc in batches.provide_data + batches.provide_label] == [np.dtype(dtype).type] * 2
    for array in (*batch.data, *batch.label):
        assert array.dtype == np.dtype(dtype)
        assert array.asnumpy().tolist() == [found]


@pytest.mark.parametrize("text", ["1,256", "-1,2", "nan,3", "1e30,2"])
def test_what_does_not_fit_a_type(text, tmp_path):
    batches = CSVIter(data_csv=write(tmp_path / "a.csv", text), data_shape=(2,), batch_size=1, dtype="uint8")
    with pytest.raises(FormatError, match="must be a number of uint8"):
        next(batches)


def test_shapes_and_labels(tmp_path):
    data = write(tmp_path / "a.csv", "1,2,3,4,5,6\n7,8,9,10,11,12\n")
    label = write(tmp_path / "b.csv", "1,2\n3,4\n")
    batches = CSVIter(
        data_csv=data, data_shape=(3, 2), label_csv=label, label_shape=(2, 1), batch_size=2, label_name="y"
    )
    assert [tuple(desc) for desc in batches.provide_data] == [("data", (2, 3, 2))]
    assert [tuple(desc) for desc in batches.provide_label] == [("y", (2, 2, 1))]
    batch = next(batches)
    assert numbers_of(batch)[0] == [[1, 2], [3, 4], [5, 6]]
    assert batch.label[0].asnumpy().tolist() == [[[1], [2]], [[3], [4]]]


@pytest.mark.parametrize("label", ["1\n2\n", "1\n2\n3\n4\n"])
def test_labels_for_other_than_all_samples(label, tmp_path):
    batches = CSVIter(
        data_csv=write(tmp_path / "a.csv", "1\n2\n3\n"),
        data_shape=(1,),
        label_csv=write(tmp_path / "b.csv", label),
        batch_size=2,
    )
    with pytest.raises(ShapeError, match="label_csv must have a line for each of data_csv"):
        list(batches)


def test_folders_lists_and_patterns(tmp_path):
    for name, text in (("b.csv", "3\n4\n"), ("a.csv", "1\n2"), ("c.txt", "5")):
        write(tmp_path / name, text)
    (tmp_path / "folder").mkdir()

    def found(paths):
        return [numbers_of(batch)[0][0] for batch in CSVIter(data_csv=paths, data_shape=(1,), batch_size=1)]

    assert found(str(tmp_path)) == found(str(tmp_path) + os.sep) == [1, 2, 3, 4, 5]
    assert found(f"{tmp_path}/b.csv;{tmp_path}/a.csv") == [3, 4, 1, 2]
    assert found(rf"{tmp_path}/.*\.csv") == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"data_csv": "nowhere.csv"}, MissingFileError, "nowhere.csv must be a file or a folder"),
        ({"data_csv": ""}, MissingFileError, "must name a file"),
        ({"batch_size": 0}, ParameterError, "batch_size must be an int >= 1; got 0"),
        ({"data_shape": (0,)}, ParameterError, "data_shape must be a tuple"),
        ({"dtype": "bool"}, ParameterError, "dtype must be a type of numbers; got bool"),
        ({"dtype": "int33"}, ParameterError, "dtype must be a dtype"),
        ({"ctx": "tpu"}, ParameterError, "ctx must be one of 'cpu', 'gpu'"),
    ],
)
def test_bad_parameters(given, error, says, tmp_path):
    usual = {"data_csv": write(tmp_path / "a.csv", "1\n"), "data_shape": (1,), "batch_size": 1}
    with pytest.raises(error, match=says):
        CSVIter(**{**usual, **given})


def test_empty_files(tmp_path):
    with pytest.raises(FormatError, match="at least one line"):
        CSVIter(data_csv=write(tmp_path / "a.csv", ""), data_shape=(1,), batch_size=1)
    with pytest.raises(ShapeError, match="at least one sample"):
        next(CSVIter(data_csv=write(tmp_path / "b.csv", "\n \n"), data_shape=(1,), batch_size=1))
    with pytest.raises(ArgumentError, match="batch_size must be given"):
        CSVIter(data_csv=str(tmp_path), data_shape=(1,))


def test_a_file_that_changes_is_an_error(tmp_path):
    path = tmp_path / "a.csv"
    batches = CSVIter(data_csv=write(path, "1\n" * 5), data_shape=(1,), batch_size=1, prefetch_buffer=0)
    write(path, "")
    with pytest.raises(FormatError, match="must have 10 bytes"):
        next(batches)
    path.unlink()
    with pytest.raises(MissingFileError, match="it was there before"):
        next(batches)


def test_a_line_without_end_takes_no_memory(tmp_path):
    path = write(tmp_path / "a.csv", b"1" * (1 << 22))
    with pytest.raises(FormatError, match="line 1: must have at most 1048576 bytes; got more"):
        next(CSVIter(data_csv=path, data_shape=(1,), batch_size=1))


@pytest.mark.parametrize("round_batch", [True, False])
@pytest.mark.parametrize("batch_size", [1, 4, 10, 13])
@pytest.mark.parametrize("consumed", [0, 1, 2, 3, 5, 8])
def test_position_is_saved(round_batch, batch_size, consumed, tmp_path):
    path = write(tmp_path / "a.csv", "".join(f"{i}\n" for i in range(11)))

    def make():
        return CSVIter(data_csv=path, data_shape=(1,), batch_size=batch_size, round_batch=round_batch)

    def run(batches, count):
        found = []
        for _ in range(count):
            if (batch := next(batches, None)) is None:
                batches.reset()
            else:
                found.append((numbers_of(batch), batch.pad, batch.index.tolist()))
        return found

    first, second = make(), make()
    run(first, consumed)
    state = first.state_dict()
    expected = run(first, 12)
    second.load_state_dict(state)
    assert run(second, 12) == expected
    first.close()
    second.close()


def test_position_within_a_later_chunk(tmp_path):
    path = write(tmp_path / "a.csv", "".join(f"{i},{i}\n" for i in range(40_000)))
    first, second = (CSVIter(data_csv=path, data_shape=(2,), batch_size=1000) for _ in range(2))
    for _ in range(33):
        next(first)
    second.load_state_dict(first.state_dict())
    batch = next(second)
    np.testing.assert_array_equal(batch.data[0].asnumpy()[:, 0], batch.index)
    assert int(batch.index[0]) == 33_000
    first.close()
    second.close()


def test_no_thread_is_left(hand_over, tmp_path):
    hand_over(-1)
    path = write(tmp_path / "a.csv", "1\n" * 1000)
    gc.collect()  # what tests before have dropped
    assert not threads_left()
    batches = CSVIter(data_csv=path, data_shape=(1,), batch_size=1)
    next(batches)
    assert len(reading_threads()) == 1
    del batches
    gc.collect()
    assert not threads_left()


def test_many_blanks_take_no_time():
    # What goes through blanks once for each of them would take hours.
    chunk = TextChunk(b" " * 500_000 + b"1" + b"," * 1 + b" " * 500_000 + b"2\n", "a.csv", 0)
    assert parse_table(chunk, 2).tolist() == [[1, 2]]
