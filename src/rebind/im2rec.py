"""The command ``rebind im2rec``: lists of pictures, and records made of them, as MXNet's tool ``im2rec.py`` does."""

from __future__ import annotations

import itertools
import os
import random
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import TypeAlias

import numpy as np

from .errors import FormatError, MissingFileError, MXNetError
from .imaging import decode_flagged, resize
from .recordio import IRHeader, MXIndexedRecordIO, pack, pack_img
from .recordio.lists import ListItem, find_pictures, read_list, write_list
from .terminal import Console, track

__all__ = ["make_lists", "make_records", "packed", "run"]

#: A picture's record, or what is wrong with it.
_Packed: TypeAlias = "bytes | FormatError | OSError"

# MXNet's tool shuffles by this seed; the same folder gives the same lists.
_SEED = 100


def run(given: SimpleNamespace) -> int:
    """Make lists or records as the command's flags say; return its exit code."""
    try:
        if given.list:
            make_lists(given)
        else:
            make_records(given)
    except (MXNetError, OSError) as error:
        print(f"rebind im2rec: {error}", file=sys.stderr)
        return 1
    return 0


def make_lists(given: SimpleNamespace) -> None:
    """Write the list files of a folder.

    With several chunks, the number of each is in its files' names. Where there is a part for training, the names
    end in ``_train``, ``_val`` and ``_test``.
    """
    if not os.path.isdir(given.root):
        raise MissingFileError(f"the folder {given.root!r} must exist")
    items = list(find_pictures(given.root, [each.lower() for each in given.exts], given.recursive))
    if not items:
        raise MissingFileError(
            f"the folder {given.root!r} must contain pictures, files that end in {', '.join(given.exts)}"
            f"{'' if given.recursive else '. For pictures in subfolders use --recursive.'}"
        )
    if given.recursive:
        # Which label is which folder.
        labels = {os.path.dirname(item.path) or ".": item.labels[0] for item in items}
        for folder, label in labels.items():
            print(folder, int(label))
    if given.shuffle:
        random.Random(_SEED).shuffle(items)
    size = -(-len(items) // given.chunks)
    for at in range(given.chunks):
        prefix = given.prefix + (f"_{at}" if given.chunks > 1 else "")
        for name, part in _divided(items[at * size : (at + 1) * size], size, given):
            write_list(f"{prefix}{name}.lst", part)


def _divided(
    items: list[ListItem], size: int, given: SimpleNamespace
) -> Iterator[tuple[str, list[ListItem]]]:
    """Yield the name and the items of each list of a chunk."""
    if given.train_ratio == 1:
        yield "", items
        return
    test = int(size * given.test_ratio)
    train = test + int(size * given.train_ratio)
    if given.test_ratio:
        yield "_test", items[:test]
    if given.train_ratio + given.test_ratio < 1:
        yield "_val", items[train:]
    yield "_train", items[test:train]


def make_records(given: SimpleNamespace) -> None:
    """Write a record file with its index for every list file whose name begins with the prefix."""
    prefix = os.path.abspath(given.prefix)
    folder = prefix if os.path.isdir(prefix) else os.path.dirname(prefix)
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".lst")]
    lists = [path for path in paths if path.startswith(prefix)]
    if not lists:
        raise MissingFileError(
            f"there must be a list file whose name begins with {given.prefix!r}; make one with --list"
        )
    for path in lists:
        _make_record(path, given)


def _make_record(path: str, given: SimpleNamespace) -> None:
    """Write the record file of a list file. It replaces an older one when all of it is there."""
    base = path.removesuffix(".lst")
    whole, unfinished = (f"{base}.idx", f"{base}.rec"), (f"{base}.idx.partial", f"{base}.rec.partial")
    broken: list[str] = []
    try:
        with MXIndexedRecordIO(*unfinished, "w") as record:
            for item, packed_item in _packed_ahead(list(read_list(path)), given):
                if isinstance(packed_item, bytes):
                    record.write_idx(item.number, packed_item)
                elif given.skip_broken:
                    broken.append(str(packed_item))
                else:
                    raise FormatError(f"{packed_item}. --skip-broken leaves such files out.") from packed_item
    except BaseException:
        for each in unfinished:
            if os.path.exists(each):
                os.unlink(each)
        raise
    for new, old in zip(unfinished, whole):
        os.replace(new, old)
    if broken:
        print(
            f"rebind im2rec: {len(broken)} {'file was' if len(broken) == 1 else 'files were'} left out of {whole[1]}:",
            *broken,
            sep="\n  ",
            file=sys.stderr,
        )


def _packed_ahead(items: Sequence[ListItem], given: SimpleNamespace) -> Iterator[tuple[ListItem, _Packed]]:
    """Yield each item with its record, in order; threads read and encode those that follow."""
    running: deque[Future[_Packed]] = deque()
    with ThreadPoolExecutor(given.num_thread) as pool:
        left = iter(items)
        try:
            for item in track(
                items, "packing", console=Console(stderr=True), disable=not sys.stderr.isatty()
            ):
                # No more ahead than the threads need: a picture takes memory.
                for following in itertools.islice(left, 4 * given.num_thread - len(running)):
                    running.append(pool.submit(_packed_or_error, following, given))
                yield item, running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def _packed_or_error(item: ListItem, given: SimpleNamespace) -> _Packed:
    try:
        return packed(item, given)
    except (FormatError, OSError) as error:
        return error


def packed(item: ListItem, given: SimpleNamespace) -> bytes:
    """Return the record of a picture."""
    path = os.path.join(given.root, item.path)
    with open(path, "rb") as file:
        content = file.read()
    label = item.labels if given.pack_label and len(item.labels) > 1 else item.labels[0]
    header = IRHeader(0, label, item.number, 0)
    if given.pass_through:
        return pack(header, content)
    picture = decode_flagged(content, given.color, what=f"file {path!r}")
    if given.center_crop:
        picture = _square(picture)
    if given.resize > 0:
        height, width = picture.shape[:2]
        if height > width:
            picture = resize(picture, given.resize, height * given.resize // width)
        else:
            picture = resize(picture, width * given.resize // height, given.resize)
    return pack_img(header, picture, given.quality, given.encoding)


def _square(picture: np.ndarray) -> np.ndarray:
    height, width = picture.shape[:2]
    size = min(height, width)
    top, left = (height - size) // 2, (width - size) // 2
    return picture[top : top + size, left : left + size]
