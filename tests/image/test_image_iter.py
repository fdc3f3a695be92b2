from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.imaging import encode
from rebind.recordio import IRHeader, MXIndexedRecordIO, pack, pack_img

pytest.importorskip("cv2")

COUNT = 7


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pictures of one colour, a list of them, and a record file with an index."""
    folder = tmp_path_factory.mktemp("pictures")
    lines = []
    with MXIndexedRecordIO(folder / "r.idx", folder / "r.rec", "w") as record:
        for i in range(COUNT):
            picture = np.full((10, 12, 3), 10 * i, dtype=np.uint8)
            (folder / f"{i}.png").write_bytes(encode(picture, ".png"))
            record.write_idx(i, pack_img(IRHeader(0, i, i, 0), picture, img_fmt=".png"))
            lines.append(f"{i}\t{i}\t{i}.png\n")
    (folder / "l.lst").write_text("".join(lines))
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "twice.lst").write_text("".join([*lines, lines[3]]))
    (folder / "wrong.lst").write_text("".join([*lines, "seven\t7\t7.png\n"]))
    with MXIndexedRecordIO(folder / "b.idx", folder / "b.rec", "w") as record:
        for i in range(4):
            record.write_idx(i, pack(IRHeader(0, i, i, 0), b"no picture"))
    return folder


def sources(folder: Path) -> dict[str, dict[str, Any]]:
    return {
        "list": {"path_imglist": folder / "l.lst", "path_root": folder},
        "record": {"path_imgrec": folder / "r.rec"},
        "indexed": {"path_imgrec": folder / "r.rec", "path_imgidx": folder / "r.idx"},
        "imglist": {"imglist": [[i, f"{i}.png"] for i in range(COUNT)], "path_root": folder},
    }


def iterate(folder: Path, source: str = "list", batch_size: int = 2, **others: Any) -> mx.image.ImageIter:
    return mx.image.ImageIter(batch_size, (3, 8, 8), **sources(folder)[source], **others)


def below(folder: Path, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings whose paths are in the folder."""
    return {name: folder / value if name.startswith("path_") else value for name, value in settings.items()}


def labels(pictures: mx.image.ImageIter) -> list[list[float]]:
    return [batch.label[0].asnumpy().tolist() for batch in pictures]


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        ({}, TypeError, "ImageIter: path_imgrec, path_imglist or imglist must be given; got none"),
        ({"path_imglist": "l.lst"}, TypeError, "path_root must be given with a list"),
        (
            {"path_imglist": "l.lst", "path_root": "none"},
            FileNotFoundError,
            "the folder path_root='.*none' must exist",
        ),
        (
            {"path_imglist": "none.lst", "path_root": "."},
            FileNotFoundError,
            "the image list '.*none.lst' must exist",
        ),
        ({"path_imgrec": "none.rec"}, FileNotFoundError, "the record file '.*none.rec' must exist"),
        (
            {"path_imglist": "wrong.lst", "path_root": "."},
            ValueError,
            r"list file '.*wrong.lst', line 8 must be a number >= 0.*got 'seven\\t7\\t7.png",
        ),
        ({"path_imglist": "twice.lst", "path_root": "."}, ValueError, "a line for each number; got 3 twice"),
        (
            {"imglist": [["a.png"]], "path_root": "."},
            ValueError,
            r"imglist must have \[label, path\].*at place 1",
        ),
        ({"imglist": [], "path_root": "."}, ValueError, "there must be a picture in the files; got none"),
        (
            {"imglist": [[1, "0.png"]], "path_imgrec": "r.rec"},
            TypeError,
            "it cannot be given with path_imgrec",
        ),
        ({"path_imgrec": "r.rec", "shuffle": True}, TypeError, "shuffle needs the index of the record file"),
        ({"path_imgrec": "r.rec", "num_parts": 2}, TypeError, "num_parts needs the index of the record file"),
        (
            {"path_imgrec": "r.rec", "path_imgidx": "r.idx", "num_parts": 2, "part_index": 2},
            ValueError,
            "part_index must be >= 0 and < num_parts, 2; got 2",
        ),
        (
            {"path_imgrec": "r.rec", "path_imgidx": "r.idx", "num_parts": 8},
            ValueError,
            "num_parts must be at most the number of pictures, 7; got 8",
        ),
        (
            {"path_imgrec": "r.rec", "last_batch_handle": "keep"},
            ValueError,
            "last_batch_handle must be one of 'pad'",
        ),
        (
            {"path_imgrec": "r.rec", "dtype": "uint8"},
            ValueError,
            "dtype must be one of 'float32'.*got 'uint8'",
        ),
        ({"path_imgrec": "r.rec", "label_width": 0}, ValueError, "label_width must be >= 1; got 0"),
        (
            {"path_imgrec": "r.rec", "aug_list": [], "mean": True},
            TypeError,
            "aug_list must not be given with 'mean', which makes augmenters",
        ),
    ],
)
def test_mistakes(folder: Path, settings: dict[str, Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        mx.image.ImageIter(2, (3, 8, 8), **below(folder, settings))


@pytest.mark.parametrize(
    ("settings", "error", "sentence"),
    [
        (
            {"imglist": [[0, "0.png"], [1, "broken.png"]]},
            ValueError,
            "ImageIter: the picture '.*broken.png' must hold",
        ),
        (
            {"imglist": [[0, "0.png"], [1, "none.png"]]},
            FileNotFoundError,
            "the picture '.*none.png' must exist",
        ),
        ({"path_imgrec": "b.rec"}, ValueError, "ImageIter: record 1 of '.*b.rec' must hold an image"),
        (
            {"path_imgrec": "b.rec", "path_imgidx": "b.idx"},
            ValueError,
            "ImageIter: the record with key 0 of '.*b.rec' must hold an image",
        ),
        (
            {"imglist": [[0, 1, "0.png"]]},
            ValueError,
            "the label of the picture '.*0.png' must have as many .* 1; got 2",
        ),
        (
            {"path_imgrec": "r.rec", "label_width": 2},
            ValueError,
            "the label of record 1 of .*label_width, 2; got 1",
        ),
        (
            {"path_imgrec": "r.rec", "aug_list": []},
            ValueError,
            r"must have shape \(3, 8, 8\) after augmentation",
        ),
    ],
)
def test_broken_input_is_named(
    folder: Path, settings: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        mx.image.ImageIter(2, (3, 8, 8), path_root=folder, **below(folder, settings)).next()


def test_broken_pictures_are_left_out_when_asked(folder: Path) -> None:
    listed = [[0, "0.png"], [9, "broken.png"], [1, "1.png"]]
    pictures = mx.image.ImageIter(2, (3, 8, 8), imglist=listed, path_root=folder, skip_broken=True)
    assert pictures.next().label[0].asnumpy().tolist() == [0, 1]
    with pytest.warns(
        UserWarning, match="1 pictures did not decode and were left out, the first: .*broken.png"
    ):
        assert labels(pictures) == []


def test_a_list_without_an_index_is_not_used_silently(folder: Path) -> None:
    with pytest.warns(UserWarning, match="labels are those of the records") as caught:
        mx.image.ImageIter(2, (3, 8, 8), path_imgrec=folder / "r.rec", path_imglist=folder / "l.lst")
    assert caught[0].filename == __file__


def test_batches_larger_than_twice_the_pictures_are_full(folder: Path) -> None:
    # MXNet fills them with zeros from the second round on.
    assert labels(iterate(folder, batch_size=16)) == [[*range(COUNT), *range(COUNT), 0, 1]]


def test_roll_over_keeps_the_order_of_more_than_it_has_room_for(folder: Path) -> None:
    pictures = iterate(folder, batch_size=10, last_batch_handle="roll_over")
    assert labels(pictures) == []
    pictures.reset()
    assert labels(pictures) == [[*range(COUNT), 0, 1, 2]]
    pictures.reset()
    assert labels(pictures) == [[3, 4, 5, 6, 0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
def test_an_epoch_ends_until_it_is_reset(folder: Path, handle: str) -> None:
    pictures = iterate(folder, last_batch_handle=handle)
    assert labels(pictures)
    assert labels(pictures) == []


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_labels_have_the_type_that_is_asked_for(folder: Path, dtype: str) -> None:
    pictures = iterate(folder, dtype=dtype)
    assert pictures.next().label[0].dtype.__name__ == dtype


@pytest.mark.parametrize("handle", ["pad", "discard", "roll_over"])
@pytest.mark.parametrize("read", [0, 1, 3, 4, 5, 7])
@pytest.mark.parametrize("source", ["list", "record", "indexed", "imglist"])
def test_resume(folder: Path, source: str, read: int, handle: str) -> None:
    settings: dict[str, Any] = {"last_batch_handle": handle, "shuffle": source != "record"}
    jitter = {"brightness": 0.1, "contrast": 0.2, "saturation": 0.1, "rand_crop": True}
    random.seed(4)
    first = iterate(folder, source, **settings, **jitter)

    def batches(pictures: mx.image.ImageIter, count: int) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        while len(found) < count:
            try:
                batch = pictures.next()
                found.append(np.append(batch.data[0].asnumpy().ravel(), batch.label[0].asnumpy()))
            except StopIteration:
                pictures.reset()
        return found

    batches(first, read)
    if read == 7:  # right after the end of an epoch
        list(first)
    state, chance = first.state_dict(), random.getstate()
    wanted = batches(first, 6)
    second = iterate(folder, source, **settings, **jitter)
    second.load_state_dict(state)
    random.setstate(chance)
    assert all((one == other).all() for one, other in zip(batches(second, 6), wanted, strict=True))


def test_a_position_is_of_the_same_pictures(folder: Path) -> None:
    state = iterate(folder).state_dict()
    with pytest.raises(ValueError, match="num_image must be that of the saved position, 7; got 3"):
        iterate(folder, num_parts=2).load_state_dict(state)
    with pytest.raises(ValueError, match="batch_size must be that of the saved position, 2; got 3"):
        iterate(folder, batch_size=3).load_state_dict(state)


@pytest.mark.parametrize(
    ("source", "dtype"), [("list", "float32"), ("record", "int32"), ("imglist", "float32")]
)
def test_a_module_resumes_within_an_epoch(folder: Path, tmp_path: Path, source: str, dtype: str) -> None:
    def train(stop_after: int | None, prefix: Path | None) -> np.ndarray:
        def stop(batch: Any) -> None:
            if stop_after is not None and (batch.epoch, batch.nbatch) == (1, stop_after):
                raise KeyboardInterrupt

        net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.var("data")), num_hidden=COUNT)
        module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
        random.seed(3)
        mx.random.seed(3)
        settings: dict[str, Any] = {"brightness": 0.2, "contrast": 0.2, "saturation": 0.2, "dtype": dtype}
        pictures = iterate(folder, source, shuffle=source != "record", mean=True, std=True, **settings)
        checkpoint = None if prefix is None else mx.checkpoint.Checkpoint(str(prefix), every_n_batches=1)
        module.fit(pictures, num_epoch=3, progress=False, checkpoint=checkpoint, batch_end_callback=stop)
        return module.get_params()[0]["fullyconnected0_weight"].asnumpy()

    with mx.name.NameManager():
        whole = train(None, None)
    with mx.name.NameManager(), pytest.raises(KeyboardInterrupt):
        train(1, tmp_path / "run")
    with mx.name.NameManager():
        assert (train(None, tmp_path / "run") == whole).all()
