"""Record files, and what is read from them: the same for MXNet, which records, and for rebind, which is compared.

The files are made by NumPy and zlib alone, since MXNet's environment has no OpenCV: the pictures are PNGs.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np

MAGIC = struct.pack("<I", 0xCED7230A)

#: Payloads at the edges of the format: lengths, and the magic number at and beside multiples of 4.
PAYLOADS = [
    b"", b"a", b"abcd", MAGIC, b"x" + MAGIC, MAGIC + MAGIC, b"abcd" + MAGIC + b"xyz", b"abcd" + MAGIC, MAGIC + b"ab",
    b"ab" + MAGIC + b"cd" + MAGIC, bytes(range(256)) * 5, MAGIC * 7 + b"end",
]  # fmt: skip

#: Labels as programs give them.
LABELS: list[Any] = [4, 4.5, [1, 2, 3], (1, 2), [[1, 2], [3, 4]], [], True]

SIZES = [(20, 30), (31, 22), (40, 40), (16, 50), (12, 12), (25, 25), (60, 17)]


def png(picture: np.ndarray) -> bytes:
    """Return the bytes of a PNG file."""
    height, width, channels = picture.shape

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)
    # Without compression: the same bytes from every zlib.
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 0))
        + chunk(b"IEND", b"")
    )


def smooth(height: int, width: int, channels: int, seed: int) -> np.ndarray:
    """Return a picture of soft changes."""
    coarse = np.random.RandomState(seed).randint(0, 256, (6, 6, channels)).astype(float)
    rows, columns = np.linspace(0, 5, height), np.linspace(0, 5, width)
    tall = np.stack([[np.interp(rows, range(6), coarse[:, x, c]) for x in range(6)] for c in range(channels)])
    wide = np.stack(
        [[np.interp(columns, range(6), tall[c, :, y]) for y in range(height)] for c in range(channels)]
    )
    return np.rint(wide).astype(np.uint8).transpose(1, 2, 0)


def write_all(mx: Any, folder: Path) -> dict[str, str]:
    """Write the record files; return the sha256 of each file."""
    record = mx.recordio.MXRecordIO(str(folder / "payloads.rec"), "w")
    for payload in PAYLOADS:
        record.write(payload)
    for label in LABELS:
        record.write(mx.recordio.pack(mx.recordio.IRHeader(0, label, 7, 9), b"payload"))
    record.close()
    plain = [(i, i, png(smooth(*size, 3, i))) for i, size in enumerate(SIZES)]
    objects = [
        [v for k in range(1 + i % 3) for v in (k, 0.1 + 0.1 * k, 0.2, 0.6 + 0.1 * k, 0.7 + 0.05 * i)]
        for i in range(7)
    ]
    small = png(smooth(8, 8, 3, 0))
    files = {
        "pictures": plain,
        "boxes": [(i, [2, 5, *objects[i]], content) for i, _, content in plain],
        "pairs": [(i, [i, i + 0.5], content) for i, _, content in plain],
        "alpha": [(i, i, png(smooth(*SIZES[i], 4, i))) for i in range(2)],
        "hundred": [(i + 1000, i, png(smooth(8 + i % 5, 8 + i % 7, 1, i))) for i in range(100)],
        "ten": [(i, i, small + bytes(i * i)) for i in range(10)],
    }
    for name, rows in files.items():
        write_pictures(mx, folder / name, rows)
    lines = [f"{i}\t{i + 10}\t{20 - i}\tpicture{i}.png\n" for i in range(7)]
    (folder / "pictures.lst").write_text("".join(lines))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.*"))}


def write_pictures(mx: Any, prefix: Path, rows: list[tuple[int, Any, bytes]]) -> None:
    """Write a record file with its index: a number, a label and a picture in each record."""
    record = mx.recordio.MXIndexedRecordIO(f"{prefix}.idx", f"{prefix}.rec", "w")
    for number, label, content in rows:
        record.write_idx(number, mx.recordio.pack(mx.recordio.IRHeader(0, label, number, 0), content))
    record.close()


def write_blocks(mx: Any, folder: Path) -> None:
    """Write a file of several blocks: 21 MB."""
    content = png(smooth(8, 8, 3, 0))
    content += bytes(30209 - len(content))  # what follows a PNG's end is not read
    write_pictures(mx, folder / "blocks", [(i, i, content) for i in range(700)])


_SMALL = {"path_imgrec": "ten.rec", "data_shape": (3, 8, 8), "batch_size": 4}
_HUNDRED = {"path_imgrec": "hundred.rec", "data_shape": (1, 8, 8), "batch_size": 10}
_BLOCKS = {"path_imgrec": "blocks.rec", "data_shape": (3, 8, 8), "batch_size": 100, "shuffle": True}

#: Orders of samples, in three epochs.
ORDERS: dict[str, dict[str, Any]] = {
    "plain": _SMALL,
    "threes": {**_SMALL, "batch_size": 3},
    "twelve": {**_SMALL, "batch_size": 12},
    "indexed": {**_SMALL, "path_imgidx": "ten.idx"},
    "shuffled": {**_SMALL, "shuffle": True},
    "shuffled, seed 5": {**_SMALL, "shuffle": True, "seed": 5},
    "shuffled by index": {**_SMALL, "shuffle": True, "path_imgidx": "ten.idx", "seed": 3},
    "hundred shuffled": {**_HUNDRED, "shuffle": True},
    "two files": {**_SMALL, "path_imgrec": "ten.rec;ten.rec", "batch_size": 10},
    **{
        f"part {part} of {parts}{', indexed' if index else ''}{', shuffled' if shuffle else ''}": {
            **_HUNDRED, "batch_size": 1, "num_parts": parts, "part_index": part, "shuffle": shuffle,
            **({"path_imgidx": "hundred.idx"} if index else {}),
        }
        for parts, part in ((2, 1), (3, 0), (3, 1), (3, 2), (7, 6))
        for index in (False, True)
        for shuffle in (False, True)
    },
    "blocks": _BLOCKS,
    "blocks by index": {**_BLOCKS, "path_imgidx": "blocks.idx"},
    "pieces of 4 MB": {**_BLOCKS, "shuffle_chunk_size": 4},
    "pieces of 9 MB, seed 2": {**_BLOCKS, "shuffle_chunk_size": 9, "shuffle_chunk_seed": 2},
    "pieces of a part": {**_BLOCKS, "shuffle_chunk_size": 4, "num_parts": 2, "part_index": 1},
}  # fmt: skip

_MEANS = {"mean_r": 10, "mean_g": 20, "mean_b": 30}

#: One batch of pictures each, with nothing left to chance.
PICTURES: dict[str, dict[str, Any]] = {
    "crop": {"data_shape": (3, 10, 10)},
    "enlarged": {},
    "enlarged one way": {"data_shape": (3, 28, 20)},
    "resize": {"resize": 24, "data_shape": (3, 11, 11)},
    "resize up": {"resize": 40},
    "nearest": {"resize": 20, "inter_method": 0},
    "cubic": {"resize": 20, "inter_method": 2},
    "area": {"resize": 11, "inter_method": 3, "data_shape": (3, 8, 8)},
    "lanczos": {"resize": 20, "inter_method": 4},
    "by size": {"resize": 14, "inter_method": 9, "data_shape": (3, 12, 12)},
    "pad": {"pad": 4, "data_shape": (3, 18, 18)},
    "pad and fill": {"pad": 4, "fill_value": 7, "data_shape": (3, 20, 20)},
    "mirror": {"mirror": True},
    "mean": _MEANS,
    "mean and std": {**_MEANS, "std_r": 2, "std_g": 4, "std_b": 5},
    "mean, std and scale": {**_MEANS, "std_r": 3, "scale": 0.25},
    "grey": {"data_shape": (1, 10, 10)},
    "grey, mean and std": {"data_shape": (1, 10, 10), "mean_r": 5, "mean_g": 9, "std_r": 2},
    "transparent": {
        "path_imgrec": "alpha.rec",
        "batch_size": 2,
        "data_shape": (4, 16, 16),
        "mean_a": 3,
        "mean_r": 1,
    },
    "halved": {"min_random_scale": 0.5, "max_random_scale": 0.5, "data_shape": (3, 8, 8)},
    "turned": {"rotate": 30},
    "turned by 90": {"rotate": 90, "fill_value": 3},
    "stretched": {"min_aspect_ratio": 1.3, "max_aspect_ratio": 1.3},
    "square": {"min_crop_size": 10, "max_crop_size": 10},
    "whole area": {"random_resized_crop": True},
    "smallest": {"min_img_size": 30},
    "uint8": {"dtype": "uint8", "mean_r": 10},
    "int8": {"dtype": "int8"},
    "int8, mean": {"dtype": "int8", "mean_r": 128, "mean_g": 128, "mean_b": 128},
    "labels of a list": {
        "path_imgrec": "pairs.rec",
        "path_imglist": "pictures.lst",
        "label_width": 2,
        "resize": 16,
    },
    "two labels": {"path_imgrec": "pairs.rec", "label_width": 2, "resize": 16},
    "mean image": {"mean_img": "mean.bin", "data_shape": (3, 8, 8)},
}

#: The same, for detection.
DETECTION: dict[str, dict[str, Any]] = {
    "force": {},
    "fit": {"resize_mode": "fit", "data_shape": (3, 30, 30)},
    "fit, resize": {"resize_mode": "fit", "resize": 20},
    "shrink": {"resize_mode": "shrink", "data_shape": (3, 30, 30)},
    "mirror": {"rand_mirror_prob": 1.0},
    "normalized": {"mean_r": 10, "mean_g": 3, "std_r": 2, "scale": 0.5},
    "wide labels": {"label_pad_width": 25, "label_pad_value": 9.0},
    "area": {"inter_method": 3},
}

#: Settings of every iterator above, where a row says nothing else.
PICTURE_DEFAULTS = {"path_imgrec": "pictures.rec", "batch_size": 7, "data_shape": (3, 16, 16)}
DETECTION_DEFAULTS = {**PICTURE_DEFAULTS, "path_imgrec": "boxes.rec"}


def opened(mx: Any, kind: str, folder: Path, settings: dict[str, Any]) -> Any:
    """Return an iterator over files of a folder."""
    paths = {
        name: ";".join(str(folder / each) for each in value.split(";"))
        for name, value in settings.items()
        if name.startswith("path_") or name == "mean_img"
    }
    return getattr(mx.io, kind)(**{**settings, **paths, "verbose": False, "preprocess_threads": 2})


def order_of(mx: Any, folder: Path, settings: dict[str, Any]) -> list[list[list[int]]]:
    """Return the labels of each batch of three epochs."""
    batches = opened(mx, "ImageRecordIter", folder, settings)
    epochs = []
    for _ in range(3):
        epochs.append([batch.label[0].asnumpy().astype(int).tolist() for batch in batches])
        batches.reset()
    return epochs


def first_batch(mx: Any, kind: str, folder: Path, settings: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return data and label of the first batch."""
    batch = opened(mx, kind, folder, settings).next()
    return batch.data[0].asnumpy(), batch.label[0].asnumpy()
