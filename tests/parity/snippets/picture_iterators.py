"""`mx.image.ImageIter`: the order of pictures, last batches, parts, labels, what chance draws, and broken input.

Pictures are PNG of one colour: its value tells which picture it is.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..png import noise, plain, png

Snippet = Callable[[Any], Any]

COUNT = 7


def _files(mx: Any, folder: str) -> dict[str, Any]:
    """Write pictures as files, lists and records; return where they are."""
    root = Path(folder, "root")
    root.mkdir()
    names = {"rec": str(Path(folder, "r.rec")), "idx": str(Path(folder, "r.idx")), "root": str(root)}
    record = mx.recordio.MXIndexedRecordIO(names["idx"], names["rec"], "w")
    wide = mx.recordio.MXIndexedRecordIO(str(Path(folder, "w.idx")), str(Path(folder, "w.rec")), "w")
    for i in range(COUNT):
        encoded = png(plain(10 * i, 10 + i, 12))
        (root / f"{i}.png").write_bytes(encoded)
        record.write_idx(3 * i, mx.recordio.pack(mx.recordio.IRHeader(0, float(i), 3 * i, 0), encoded))
        wide.write_idx(i, mx.recordio.pack(mx.recordio.IRHeader(0, [i, i + 0.5], i, 0), encoded))
    record.close()
    wide.close()
    (root / "noise.png").write_bytes(png(noise(14, 17)))
    (root / "grey.png").write_bytes(png(plain(50, 10, 12)[:, :, 0]))
    (root / "alpha.png").write_bytes(png(noise(10, 12, 4)))
    (root / "small.png").write_bytes(png(plain(40, 4, 5)))
    (root / "broken.png").write_bytes(b"no picture")
    (root / "empty.png").write_bytes(b"")
    for name, lines in {
        "l": [f"{3 * i}\t{i}.0\t{i}.png" for i in range(COUNT)],
        "wide": [f"{i}\t{i}.0\t{i}.5\t{i}.png" for i in range(COUNT)],
        "labels": [f"{3 * i}\t{100 + i}\tunused" for i in range(COUNT)],
        "some_labels": ["0\t5\tunused", "3\t6\tunused"],
        "wrong_key": ["0\t1\t0.png", "one\t1\t1.png"],
        "wrong_label": ["0\t1\t0.png", "1\tone\t1.png"],
        "no_label": ["0\t1\t0.png", "1\t1.png"],
        "no_tabs": ["0 1 0.png"],
        "blanks_at_the_end": ["4\t1\t0.png  ", "5\t2\t1.png "],
    }.items():
        names[name] = str(Path(folder, f"{name}.lst"))
        Path(names[name]).write_text("".join(f"{line}\n" for line in lines))
    return {**names, "wide_rec": str(Path(folder, "w.rec"))}


def _batches(pictures: Any) -> list[Any]:
    """Return which pictures the batches of an epoch have, their labels and padding."""
    return [
        [np.round(batch.data[0].asnumpy()[:, 0, 0, 0] / 10, 3), batch.label[0], batch.pad, batch.index]
        for batch in pictures
    ]


def _epochs(pictures: Any, count: int = 3) -> list[Any]:
    found = [[list(map(list, pictures.provide_data)), list(map(list, pictures.provide_label))]]
    for epoch in range(count):
        if epoch:
            pictures.reset()
        found.append(_batches(pictures))
    return found


def _snippet(
    *settings: Callable[[dict[str, Any]], dict[str, Any]], batch: int = 2, count: int = 3, size: int = 8
) -> Snippet:
    """What iterators with each of the settings make of the files, and the next random number."""

    def snippet(mx: Any) -> Any:
        random.seed(5)
        np.random.seed(5)
        with tempfile.TemporaryDirectory() as folder:
            files = _files(mx, folder)
            found: list[Any] = []
            for each in settings:
                pictures = mx.image.ImageIter(batch, (3, size, size), **each(files))
                found.append([_epochs(pictures, count), pictures.num_image, pictures.seq])
            return [found, random.random(), float(np.random.uniform())]

    return snippet


def _sources(**others: Any) -> list[Callable[[dict[str, Any]], dict[str, Any]]]:
    """Settings that read from a list, a record file, and an indexed one."""
    return [
        lambda files: {"path_imglist": files["l"], "path_root": files["root"], **others},
        lambda files: {"path_imgrec": files["rec"], **others},
        lambda files: {"path_imgrec": files["rec"], "path_imgidx": files["idx"], **others},
    ]


def _keyed(**others: Any) -> list[Callable[[dict[str, Any]], dict[str, Any]]]:
    return [each for i, each in enumerate(_sources(**others)) if i != 1]


def _listed(*entries: Any, **others: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda files: {"imglist": list(entries), "path_root": files["root"], **others}


def _list_file(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda files: {"path_imglist": files[name], "path_root": files["root"]}


ORDERS: dict[str, Snippet] = {
    "orders": _snippet(*_sources()),
    "discard": _snippet(*_sources(last_batch_handle="discard")),
    "roll_over": _snippet(*_sources(last_batch_handle="roll_over")),
    "roll_over_of_three": _snippet(*_sources(last_batch_handle="roll_over"), batch=3, count=5),
    "roll_over_of_five": _snippet(*_sources(last_batch_handle="roll_over"), batch=5, count=5),
    "more_than_there_are": _snippet(*_sources(), batch=10),
    "more_than_there_are_discard": _snippet(*_sources(last_batch_handle="discard"), batch=10),
    "shuffle": _snippet(*_keyed(shuffle=True), count=4),
    "shuffle_roll_over": _snippet(*_keyed(shuffle=True, last_batch_handle="roll_over"), batch=3, count=4),
    "parts": _snippet(
        *[
            each
            for parts in (2, 3)
            for part in range(parts)
            for each in _keyed(num_parts=parts, part_index=part)
        ],
        count=1,
    ),
    "parts_shuffled": _snippet(*_keyed(num_parts=2, part_index=1, shuffle=True)),
    "shuffle_without_index": _snippet(_sources(shuffle=True)[1]),
    "part_without_index": _snippet(_sources(num_parts=2)[1]),
    "part_that_is_none": _snippet(_sources(num_parts=2, part_index=2)[0]),
}

LABELS: dict[str, Snippet] = {
    "lists": _snippet(
        _listed([1, "1.png"], [2.5, "2.png"]),
        _listed([[1, 2], "1.png"], [(3, 4), "2.png"], label_width=2),
        _listed([1, 2, "1.png"], [3, 4, "2.png"], label_width=2),
        _listed([np.array([1, 2.0]), "1.png"], [np.array([3, 4]), "2.png"], label_width=2),
        lambda files: {"path_imglist": files["wide"], "path_root": files["root"], "label_width": 2},
        lambda files: {"path_imgrec": files["wide_rec"], "label_width": 2},
        lambda files: {
            "path_imgrec": files["rec"], "path_imgidx": files["idx"], "path_imglist": files["labels"],
        },
        _list_file("blanks_at_the_end"),
        lambda files: {"path_imgrec": files["rec"], "data_name": "d", "label_name": "l"},
        count=1,
    ),
    "wider_than_said": _snippet(_list_file("wide")),
    "wider_than_said_record": _snippet(lambda files: {"path_imgrec": files["wide_rec"]}),
    "labels_for_some": _snippet(
        lambda files: {
            "path_imgrec": files["rec"], "path_imgidx": files["idx"], "path_imglist": files["some_labels"],
        }
    ),
    "list_of_a_record": _snippet(
        lambda files: {"path_imgrec": files["rec"], "path_imgidx": files["idx"], "imglist": [[7, "0.png"]]}
    ),
}  # fmt: skip


def _noise(**others: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return _listed(*[[i, "noise.png"] for i in range(5)], **others)


def _steps(mx: Any) -> Any:
    """What the methods return that a subclass may call."""
    with tempfile.TemporaryDirectory() as folder:
        files = _files(mx, folder)
        found: list[Any] = []
        for each in _sources():
            pictures = mx.image.ImageIter(2, (3, 8, 8), **each(files))
            label, encoded = pictures.next_sample()
            picture = pictures.imdecode(encoded)
            augmented = pictures.augmentation_transform(picture)
            placed = pictures.postprocess_data(augmented)
            found.append(
                [float(np.ravel(getattr(label, "asnumpy", lambda label=label: label)())[0]), len(encoded)]
                + [[array.shape, array[0, 0]] for array in (picture, augmented, placed)]
            )
        listed = mx.image.ImageIter(2, (3, 8, 8), **_sources()[0](files))
        found.append(len(listed.read_image("3.png")))
        return found


def _subclassed(mx: Any) -> Any:
    class Brighter(mx.image.ImageIter):  # type: ignore[misc]
        def check_valid_image(self, data: Any) -> None:
            if data.shape[0] % 2:
                raise RuntimeError("odd")

        def augmentation_transform(self, data: Any) -> Any:
            return super().augmentation_transform(data) + 10

    with tempfile.TemporaryDirectory() as folder:
        return _epochs(Brighter(2, (3, 8, 8), **_sources()[0](_files(mx, folder))), 2)


def _resets(mx: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        files = _files(mx, folder)
        found: list[Any] = []
        for each in _sources(last_batch_handle="roll_over"):
            pictures = mx.image.ImageIter(2, (3, 8, 8), **each(files))
            pictures.next()
            pictures.reset()
            found.append(_batches(pictures))
            pictures.hard_reset()
            found.append(_batches(pictures))
        return found


STEPS: dict[str, Snippet] = {
    "augmented": _snippet(
        _noise(rand_crop=True, rand_mirror=True),
        _noise(rand_crop=True, rand_resize=True, mean=True, std=True, inter_method=1),
        _noise(
            resize=10, brightness=0.1, contrast=0.2, saturation=0.3, hue=0.1, pca_noise=0.1, inter_method=1
        ),
        _listed([1, "grey.png"], [2, "alpha.png"], [3, "small.png"]),
    ),
    "steps": _steps,
    "subclassed": _subclassed,
    "resets": _resets,
    "broken": _snippet(_listed([1, "1.png"], [2, "broken.png"])),
    "empty": _snippet(_listed([1, "1.png"], [2, "empty.png"])),
    "missing": _snippet(_listed([1, "1.png"], [2, "missing.png"])),
    "missing_list": _snippet(lambda files: {"path_imglist": "none.lst", "path_root": files["root"]}),
    "missing_record": _snippet(lambda files: {"path_imgrec": "none.rec"}),
    "wrong_key": _snippet(_list_file("wrong_key")),
    "wrong_label": _snippet(_list_file("wrong_label")),
    "no_label": _snippet(_list_file("no_label")),
    "no_tabs": _snippet(_list_file("no_tabs")),
    "no_root": _snippet(lambda files: {"path_imglist": files["l"]}),
    "no_source": _snippet(lambda files: {}),
    "unknown": _snippet(lambda files: {"path_imgrec": files["rec"], "other": 1}),
    "other_shape": _snippet(lambda files: {"path_imgrec": files["rec"], "aug_list": []}),
    "label_type": _snippet(lambda files: {"path_imgrec": files["rec"], "dtype": "uint8"}),
    "grey_shape": lambda mx: mx.image.ImageIter(2, (1, 8, 8), imglist=[[1, "x"]], path_root=os.curdir),
    "flat_shape": lambda mx: mx.image.ImageIter(2, (8, 8), imglist=[[1, "x"]], path_root=os.curdir),
}

SNIPPETS: dict[str, Snippet] = {**ORDERS, **LABELS, **STEPS}
