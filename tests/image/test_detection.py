from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.imaging import encode

pytest.importorskip("cv2")

ONE = [2, 5, 0, 0.1, 0.2, 0.5, 0.6]
THREE = [2, 5, 0, 0, 0, 1, 1, 1, 0.2, 0.2, 0.4, 0.4, 2, 0.5, 0.5, 0.8, 0.8]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("objects")
    for i in range(5):
        (folder / f"{i}.png").write_bytes(encode(np.full((20, 30, 3), 50 * i, dtype=np.uint8), ".png"))
    return folder


def iterate(folder: Path, *labels: list[float], **settings: Any) -> mx.image.ImageDetIter:
    listed = [[label, f"{i}.png"] for i, label in enumerate(labels)]
    return mx.image.ImageDetIter(2, (3, 16, 16), imglist=listed, path_root=folder, **settings)


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ([2.0, 5.0], "the label of the picture '.*1.png' must have .* 7 numbers or more; got 2"),
        ([*ONE, 3.0], "the label of the picture '.*1.png' must have whole objects after its header.*got 8"),
        ([2, 4, 0, 0.1, 0.2, 0.5, 0, 0, 0.1, 0.5], "must have whole objects after its header"),
        ([1, 5, 0, 0.1, 0.2, 0.5, 0.5], "must have whole objects after its header"),
        (
            [2, 5, 0, 0.5, 0.2, 0.5, 0.6],
            "'.*1.png' must have an object whose right and lower edges are larger",
        ),
        ([2, 6, 0, 0.1, 0.2, 0.5, 0.6, 1], "as many numbers in all labels; got 5 to 6"),
    ],
)
def test_wrong_labels_are_named(folder: Path, label: list[float], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"ImageDetIter: .*{sentence}"):
        iterate(folder, ONE, label)


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda: mx.image.DetBorrowAug(3),
            TypeError,
            "DetBorrowAug: augmenter must be an Augmenter.*got int",
        ),
        (
            lambda: mx.image.DetRandomSelectAug([mx.image.CastAug()]),
            ValueError,
            "aug_list must have DetAugmenters; got CastAug. Put it into DetBorrowAug",
        ),
        (
            lambda: mx.image.DetRandomCropAug(area_range=(0.5, 0.1)),
            ValueError,
            r"DetRandomCropAug: area_range must be \(low, high\) with low <= high and high > 0; got \(0.5, 0.1\)",
        ),
        (
            lambda: mx.image.DetRandomCropAug(aspect_ratio_range=(0, 1)),
            ValueError,
            r"DetRandomCropAug: aspect_ratio_range must be \(low, high\) with 0 < low <= high",
        ),
        (
            lambda: mx.image.DetRandomPadAug(area_range=(0.5, 1)),
            ValueError,
            r"DetRandomPadAug: area_range must be \(low, high\) with low <= high and high > 1",
        ),
        (
            lambda: mx.image.DetRandomCropAug(area_range="0.5"),
            ValueError,
            "area_range must be a number; got the text",
        ),
        (
            lambda: mx.image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3]),
            ValueError,
            "min_object_covered must have 3 values, as another list has, or one; got 2",
        ),
        (
            lambda: mx.image.CreateDetAugmenter((3, 8, 8), rand_pad=1, area_range=[(0.1, 1), (0.2, 2)]),
            ValueError,
            "CreateDetAugmenter: area_range must not be a list with rand_pad",
        ),
    ],
)
def test_mistakes(call: Callable[[], Any], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        call()


@pytest.mark.parametrize("read", [0, 2, 3])
def test_resume(folder: Path, read: int) -> None:
    settings: dict[str, Any] = {
        "shuffle": True, "rand_crop": 0.7, "rand_pad": 0.5, "rand_mirror": True, "area_range": (0.1, 3.0),
        "min_object_covered": [0.1, 0.3, 0.5], "brightness": 0.1, "contrast": 0.1,
    }  # fmt: skip
    labels = [ONE, THREE, ONE, THREE, ONE]
    random.seed(6)
    first = iterate(folder, *labels, **settings)
    for _ in range(read):
        first.next()
    state, chance = first.state_dict(), random.getstate()

    def batches(pictures: mx.image.ImageDetIter) -> list[np.ndarray]:
        found = [np.append(batch.data[0].asnumpy(), batch.label[0].asnumpy()) for batch in pictures]
        pictures.reset()
        return found + [np.append(batch.data[0].asnumpy(), batch.label[0].asnumpy()) for batch in pictures]

    wanted = batches(first)
    second = iterate(folder, *labels, **settings)
    second.load_state_dict(state)
    random.setstate(chance)
    assert all((one == other).all() for one, other in zip(batches(second), wanted, strict=True))


def test_reshaped_data_are_augmented_to_the_new_shape(folder: Path) -> None:
    pictures = iterate(folder, ONE, THREE)
    pictures.reshape(data_shape=(3, 10, 12), label_shape=(6, 5))
    batch = pictures.next()
    assert (batch.data[0].shape, batch.label[0].shape) == ((2, 3, 10, 12), (2, 6, 5))


def test_augmentation_that_adds_objects_needs_room(folder: Path) -> None:
    class Double(mx.image.DetAugmenter):
        def __call__(self, src: mx.nd.NDArray, label: np.ndarray) -> tuple[mx.nd.NDArray, np.ndarray]:
            return src, np.vstack([label, label])

    pictures = iterate(folder, ONE, aug_list=[Double(), *mx.image.CreateDetAugmenter((3, 16, 16))])
    with pytest.raises(ValueError, match="at most 1 objects of 5 numbers, as label_shape says"):
        pictures.next()
    pictures.reset()
    pictures.reshape(label_shape=(2, 5))
    assert pictures.next().label[0].shape == (2, 2, 5)


def test_drawing_boxes(folder: Path) -> None:
    pictures = iterate(folder, ONE, THREE, mean=True, std=True)
    shown = list(pictures.draw_next((255, 0, 0), 1, mean=True, std=True, id2labels={7: "cat"}))
    assert [(image.shape, image.dtype) for image in shown] == [((16, 16, 3), np.dtype("uint8"))] * 2
    # The upper left corner of the first box, and a pixel outside of it, which is black again.
    assert shown[0][3, 1].tolist() == [255, 0, 0]
    assert shown[0][12, 12].max() <= 1


def test_windows_need_another_opencv(folder: Path) -> None:
    with pytest.raises(ImportError, match="waitKey needs an OpenCV with windows"):
        next(iterate(folder, ONE).draw_next(waitKey=1))
