"""Iterators over files: the order of samples over epochs, parts, fillings of the last batch, labels, types."""

from __future__ import annotations

import gzip
import os
import struct
import tempfile
from collections.abc import Callable
from typing import Any

Snippet = Callable[[Any], object]

# Values are copied at once: MXNet writes its next batches into the arrays of those before.


def _content(array: Any) -> object:
    """Return an array's numbers, or the parts of a csr one."""
    if array.stype == "default":
        return array.asnumpy()
    return [
        array.stype,
        list(array.shape),
        *(part.asnumpy() for part in (array.data, array.indices, array.indptr)),
    ]


def _epochs(batches: Any, count: int = 4) -> list[object]:
    """Return all that the batches of some epochs have."""
    found: list[object] = []
    for _ in range(count):
        found.append(
            [[[_content(each) for each in (*b.data, *b.label)], b.pad, b.index.tolist()] for b in batches]
        )
        batches.reset()
    return found


def _described(batches: Any) -> object:
    return [
        [desc.name, list(desc.shape), desc.dtype, desc.layout]
        for desc in (*batches.provide_data, *batches.provide_label)
    ]


def _written(folder: str, name: str, content: str | bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def _csv(rows: int, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder, "a.csv", "".join(f"{i},{i}.5\n" for i in range(rows)))
            if given.get("label_csv"):
                columns = given.get("label_shape", (1,))[0]
                text = "".join(",".join(str(i + k) for k in range(columns)) + "\n" for i in range(rows))
                given["label_csv"] = _written(folder, "b.csv", text)
            batches = mx.io.CSVIter(**{"data_csv": data, "data_shape": (2,), **given})
            return [_described(batches), batches.batch_size, _epochs(batches)]

    return run


def _csv_text(text: str, columns: int = 3, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder, "a.csv", text)
            batches = mx.io.CSVIter(data_csv=data, data_shape=(columns,), batch_size=1, **given)
            return [batch.data[0].asnumpy() for batch in batches]

    return run


def _lines(rows: int, columns: int) -> str:
    pieces = [[f"{c}:{i + c}.5" for c in range(columns) if (i * 7 + c * 3) % 4 < 2] for i in range(rows)]
    return "".join(f"{i % 10} {' '.join(each)}\n" for i, each in enumerate(pieces))


def _libsvm(rows: int, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder, "a.t", _lines(rows, 6))
            if given.get("label_libsvm"):
                given["label_libsvm"] = _written(folder, "b.t", _lines(rows, 3))
            batches = mx.io.LibSVMIter(**{"data_libsvm": data, "data_shape": (6,), **given})
            return [_described(batches), _epochs(batches)]

    return run


def _libsvm_line(line: str) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            data = _written(folder, "a.t", f"5 0:5\n{line}\n6 0:6")
            batches = mx.io.LibSVMIter(data_libsvm=data, data_shape=(8,), batch_size=1)
            return [[_content(batch.data[0]), batch.label[0].asnumpy()] for batch in batches]

    return run


def _mnist(count: int, **given: Any) -> Snippet:
    def run(mx: Any) -> object:
        with tempfile.TemporaryDirectory() as folder:
            pixels = bytes(i % 256 for i in range(count * 6))
            image = _written(folder, "i", struct.pack(">4I", 2051, count, 2, 3) + pixels)
            label = _written(
                folder, "l", struct.pack(">2I", 2049, count) + bytes(i % 256 for i in range(count))
            )
            batches = mx.io.MNISTIter(image=image, label=label, silent=True, **given)
            epochs = [[[b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad] for b in batches]]
            batches.reset()
            epochs.append([[b.data[0].asnumpy(), b.label[0].asnumpy(), b.pad] for b in batches])
            return [_described(batches), epochs]

    return run


def _reset_before_the_end(mx: Any) -> object:
    with tempfile.TemporaryDirectory() as folder:
        data = _written(folder, "a.csv", "".join(f"{i}\n" for i in range(100)))
        batches = mx.io.CSVIter(data_csv=data, data_shape=(1,), batch_size=3)
        first = [batches.next().data[0].asnumpy() for _ in range(2)]
        batches.reset()
        return [first, batches.next().data[0].asnumpy()]


def _the_getters(mx: Any) -> object:
    with tempfile.TemporaryDirectory() as folder:
        data = _written(folder, "a.csv", "1\n2\n3\n4\n5\n")
        batches = mx.io.CSVIter(data_csv=data, data_shape=(1,), batch_size=2)
        batches.next()
        more = [batches.iter_next(), batches.iter_next()]
        return [more, batches.getpad(), batches.getindex().tolist(), batches.iter_next(), batches.iter_next()]


def _mnist_of_the_tests(**given: Any) -> Snippet:
    def run(mx: Any) -> object:
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.mkdir("data")
            try:
                for kind, count in (("train", 12), ("t10k", 6)):
                    pixels = struct.pack(">4I", 2051, count, 28, 28) + bytes(
                        i % 256 for i in range(count * 784)
                    )
                    labels = struct.pack(">2I", 2049, count) + bytes(range(count))
                    for name, content in (("images-idx3", pixels), ("labels-idx1", labels)):
                        _written("data", f"{kind}-{name}-ubyte", content)
                        _written(".", f"{kind}-{name}-ubyte.gz", gzip.compress(content))
                if not given:
                    return {
                        name: [values.shape, values[:2]] for name, values in mx.test_utils.get_mnist().items()
                    }
                train, test = mx.test_utils.get_mnist_iterator(**given)
                return [_described(train), [[b.label[0].asnumpy() for b in each] for each in (train, test)]]
            finally:
                os.chdir(before)

    return run


SNIPPETS: dict[str, Snippet] = {
    **{
        f"csv_{rows}_by_{size}{'' if rounded else '_not_rounded'}": _csv(
            rows, batch_size=size, round_batch=rounded
        )
        for rows in (4, 7, 9)
        for size in (1, 3, 4)
        for rounded in (True, False)
    },
    "csv_labels": _csv(7, batch_size=3, label_csv=True),
    "csv_labels_of_a_shape": _csv(7, batch_size=3, label_csv=True, label_shape=(2,), data_shape=(1, 2)),
    "csv_label_shape_alone": _csv(4, batch_size=2, label_shape=(2,)),
    "csv_names": _csv(4, batch_size=2, data_name="x", label_name="y"),
    "csv_parameters_as_text": _csv(
        4, batch_size="2", data_shape="(2,)", round_batch="True", prefetch_buffer="2"
    ),
    "csv_int32": _csv(4, batch_size=2, dtype="int32"),
    "csv_int64": _csv(4, batch_size=2, dtype="int64"),
    "csv_one_buffer": _csv(7, batch_size=3, prefetch_buffer=1, ctx="cpu"),
    "csv_blank_lines": _csv_text("5,5,5\n\n1,2,3\n\n"),
    "csv_blanks": _csv_text(" 1 , 2 , 3 \n4,5,6"),
    "csv_comma_at_the_end": _csv_text("1,2,3,\n4,5,6,\n"),
    "csv_windows": _csv_text("1,2,3\r\n4,5,6\r\n"),
    "csv_not_finite": _csv_text("nan,inf,-inf\n"),
    "csv_exponents": _csv_text("1e2,1E-3,+.5\n1.,.5,-.5\n"),
    "csv_many_digits": _csv_text("0.1234567890123456789,16777217,3.14159265358979\n"),
    "csv_too_few": _csv_text("5,5,5\n1,2\n"),
    "csv_too_many": _csv_text("5,5,5\n1,2,3,4\n"),
    "csv_words": _csv_text("5,5,5\na,b,c\n"),
    "csv_getters": _the_getters,
    "csv_reset_before_the_end": _reset_before_the_end,
    **{f"libsvm_{rows}_by_{size}": _libsvm(rows, batch_size=size) for rows in (7, 11) for size in (1, 3, 4)},
    **{
        f"libsvm_part_{part}_of_{parts}": _libsvm(25, batch_size=2, num_parts=parts, part_index=part)
        for parts in (2, 3)
        for part in range(parts)
    },
    "libsvm_labels": _libsvm(7, batch_size=3, label_libsvm=True, label_shape=(3,)),
    "libsvm_two_axes": _libsvm(7, batch_size=3, data_shape=(2, 3)),
    "libsvm_label_shape_alone": _libsvm(7, batch_size=3, label_shape=(3,)),
    "libsvm_any_order": _libsvm_line("1 3:1 1:2"),
    "libsvm_twice": _libsvm_line("1 1:1 1:2"),
    "libsvm_weight": _libsvm_line("1:0.5 3:2"),
    "libsvm_query": _libsvm_line("1 qid:3 3:2"),
    "libsvm_comment": _libsvm_line("1 3:2 # hi"),
    "libsvm_comment_line": _libsvm_line("# hi"),
    "libsvm_blank_line": _libsvm_line(""),
    "libsvm_blanks": _libsvm_line("  1\t1:2   2:3  \r"),
    "libsvm_signs": _libsvm_line("+1 1:+2 2:-1e-3"),
    "libsvm_column_below_0": _libsvm_line("1 -1:2"),
    "mnist_in_order": _mnist(11, batch_size=4, shuffle=False),
    "mnist_flat": _mnist(11, batch_size=4, shuffle=False, flat=True),
    **{f"mnist_seed_{seed}": _mnist(11, batch_size=3, shuffle=True, seed=seed) for seed in (0, 1, 7, -3)},
    **{f"mnist_part_{part}": _mnist(11, batch_size=1, num_parts=3, part_index=part) for part in range(3)},
    "mnist_batch_too_large": _mnist(11, batch_size=12),
    "get_mnist": _mnist_of_the_tests(),
    "get_mnist_iterator": _mnist_of_the_tests(batch_size=3, input_shape=(784,)),
    "get_mnist_iterator_part": _mnist_of_the_tests(
        batch_size=2, input_shape=(1, 28, 28), num_parts=2, part_index=1
    ),
}
