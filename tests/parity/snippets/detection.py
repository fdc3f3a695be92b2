"""The detection part of `mx.image`: augmenters that move boxes, what chance draws, and `ImageDetIter`.

Pictures are PNG of one colour: its value tells which picture it is.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..png import noise, plain, png

Snippet = Callable[[Any], Any]

OBJECTS = np.array(
    [[0, 0.1, 0.2, 0.5, 0.6], [1, 0.4, 0.4, 0.9, 0.8], [2, 0.0, 0.0, 0.1, 0.1]], dtype="float32"
)


def _moved(make: Callable[[Any], Any], calls: int = 3, height: int = 20, width: int = 30) -> Snippet:
    """What an augmenter says of itself, does to a picture and its objects, and the next random number."""

    def snippet(mx: Any) -> Any:
        random.seed(5)
        augmenter = make(mx.image)
        found = [augmenter.dumps()]
        for _ in range(calls):
            picture = mx.nd.array(noise(height, width), dtype="uint8")
            new, label = augmenter(picture, OBJECTS.copy())
            found += [new.shape, new[:2, :2], label, new is picture]
        return [found, random.random()]

    return snippet


def _random_boxes(make: Callable[[Any, tuple[float, float], tuple[float, float], Any], Any]) -> Snippet:
    """What becomes of random boxes in pictures of random sizes, by an augmenter with random ranges."""

    def snippet(mx: Any) -> Any:
        random.seed(5)
        chance = np.random.RandomState(3)
        found: list[Any] = []
        for _ in range(150):
            height, width = (int(size) for size in chance.randint(1, 50, 2))
            edges = np.sort(chance.randint(0, 41, (int(chance.randint(1, 5)), 2, 2)) / 40.0, axis=1)
            label = np.concatenate([np.zeros((len(edges), 1)), edges.reshape(-1, 4)], axis=1)
            label = label.astype("float32")
            ratios = (0.25 + chance.randint(0, 4) / 4.0, 1.25 + chance.randint(0, 4) / 4.0)
            areas = (chance.randint(1, 20) / 20.0, 1 + chance.randint(1, 20) / 10.0)
            new, label = make(mx.image, ratios, areas, chance)(mx.nd.zeros((height, width, 1)), label)
            found.append([new.shape, label.astype("float64").sum(axis=0)])
        return [found, random.random()]

    return snippet


def _crop(image: Any, ratios: tuple[float, float], areas: tuple[float, float], chance: Any) -> Any:
    return image.DetRandomCropAug(
        float(chance.choice([0, 0.1, 0.3, 0.5, 0.9])),
        ratios,
        areas,
        float(chance.choice([0, 0.1, 0.3, 0.6])),
        5,
    )


def _pad(image: Any, ratios: tuple[float, float], areas: tuple[float, float], chance: Any) -> Any:
    return image.DetRandomPadAug(ratios, areas, 5, (1,))


def _created(*arguments: Any, **keywords: Any) -> Snippet:
    return lambda mx: [each.dumps() for each in mx.image.CreateDetAugmenter(*arguments, **keywords)]


def _several(**keywords: Any) -> Snippet:
    return lambda mx: (lambda found: [found.skip_prob, found.dumps()])(
        mx.image.CreateMultiRandCropAugmenter(**keywords)
    )


AUGMENTERS: dict[str, Snippet] = {
    "borrow": _moved(lambda image: image.DetBorrowAug(image.CastAug()), calls=1),
    "borrow_wrong": _moved(lambda image: image.DetBorrowAug(image.DetHorizontalFlipAug(1))),
    "flip": _moved(lambda image: image.DetHorizontalFlipAug(0.5), calls=5),
    "select": _moved(
        lambda image: image.DetRandomSelectAug(
            [image.DetHorizontalFlipAug(1.0), image.DetBorrowAug(image.CastAug())], 0.3
        ),
        calls=6,
    ),
    "select_of_none": _moved(lambda image: image.DetRandomSelectAug([]), calls=1),
    "select_one": lambda mx: mx.image.DetRandomSelectAug(mx.image.DetHorizontalFlipAug(1.0)).dumps(),
    "select_wrong": lambda mx: mx.image.DetRandomSelectAug([mx.image.CastAug()]),
    "crop": _moved(lambda image: image.DetRandomCropAug(), calls=10),
    "crop_area": _moved(lambda image: image.DetRandomCropAug(0.5, (0.9, 1.1), (0.5, 0.9), 0.2), calls=5),
    "crop_that_never_fits": _moved(lambda image: image.DetRandomCropAug(2, max_attempts=3)),
    "crop_numbers": lambda mx: mx.image.DetRandomCropAug(aspect_ratio_range=1.0, area_range=0.3).dumps(),
    "crop_wrong": lambda mx: mx.image.DetRandomCropAug(area_range=(0.5, 0.1)),
    "crop_random": _random_boxes(_crop),
    "pad": _moved(lambda image: image.DetRandomPadAug(), calls=10),
    "pad_colour": _moved(lambda image: image.DetRandomPadAug((0.9, 1.1), (2, 3), pad_val=(1, 2, 3))),
    "pad_wrong": lambda mx: mx.image.DetRandomPadAug(area_range=(1, 1)),
    "pad_random": _random_boxes(_pad),
    "several": _several(min_object_covered=[0.1, 0.3], aspect_ratio_range=[(0.5, 1), (1, 2)], skip_prob=0.3),
    "several_of_one": _several(min_eject_coverage=[0.1, 0.2], min_object_covered=[0.1]),
    "several_of_other_lengths": _several(area_range=[(0.1, 0.2), (0.2, 0.3)], max_attempts=[1, 2, 3]),
    "created": _created((3, 8, 9)),
    "created_all": _created(
        (3, 8, 9), resize=6, rand_crop=1, rand_pad=1, rand_gray=0.1, rand_mirror=True, mean=True, std=True,
        brightness=0.1, contrast=0.2, saturation=0.3, pca_noise=0.4, hue=0.5, inter_method=10,
    ),
    "created_crops": _created((3, 8, 9), rand_crop=0.3, min_object_covered=[0.1, 0.2], area_range=(0.1, 0.5)),
    "created_frames": _created((3, 8, 9), rand_pad=0.2, pad_val=(1, 2, 3), aspect_ratio_range=(0.3, 2)),
    "created_frames_too_small": _created((3, 8, 9), rand_pad=0.3, area_range=(0.5, 0.9)),
}  # fmt: skip


def _label(*objects: tuple[float, ...], extra: tuple[float, ...] = (), width: int = 5) -> list[float]:
    return [2.0 + len(extra), float(width), *extra, *(float(number) for each in objects for number in each)]


ONE = _label((0, 0.1, 0.2, 0.5, 0.6))
TWO = _label((1, 0.1, 0.1, 0.9, 0.9), (2, 0.0, 0.0, 0.3, 0.3))
THREE = _label((0, 0, 0, 1, 1), (1, 0.2, 0.2, 0.4, 0.4), (2, 0.5, 0.5, 0.8, 0.8))


def _batches(pictures: Any) -> list[Any]:
    return [[batch.data[0].asnumpy()[:, 0, 0, 0], batch.label[0], batch.pad] for batch in pictures]


def _iterated(*labels: list[float], count: int = 1, form: str = "list", **keywords: Any) -> Snippet:
    """The batches of an iterator over pictures with these labels, and the next random number."""

    def snippet(mx: Any) -> Any:
        random.seed(5)
        np.random.seed(5)
        with tempfile.TemporaryDirectory() as folder:
            settings = dict(keywords)
            if "aug_list" in settings:
                settings["aug_list"] = settings["aug_list"](mx.image)
            if form == "list":
                for i in range(len(labels)):
                    Path(folder, f"{i}.png").write_bytes(png(plain(10 * i, 10 + i, 12)))
                settings |= {
                    "imglist": [[label, f"{i}.png"] for i, label in enumerate(labels)],
                    "path_root": folder,
                }
            else:
                path = str(Path(folder, "r.rec"))
                record = mx.recordio.MXIndexedRecordIO(str(Path(folder, "r.idx")), path, "w")
                for i, label in enumerate(labels):
                    header = mx.recordio.IRHeader(0, label, i, 0)
                    record.write_idx(i, mx.recordio.pack(header, png(plain(10 * i, 10 + i, 12))))
                record.close()
                settings["path_imgrec"] = path
                if form == "indexed":
                    settings["path_imgidx"] = str(Path(folder, "r.idx"))
            pictures = mx.image.ImageDetIter(2, (3, 8, 8), **settings)
            found: list[Any] = [
                pictures.label_shape, list(map(list, pictures.provide_data)), list(map(list, pictures.provide_label)),
            ]  # fmt: skip
            for epoch in range(count):
                if epoch:
                    pictures.reset()
                found.append(_batches(pictures))
            return [found, random.random()]

    return snippet


def _with_iterators(act: Callable[[Any, Any, Any], Any]) -> Snippet:
    """What is done with two iterators over a picture each, with one object and with three."""

    def snippet(mx: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "0.png").write_bytes(png(plain(10, 10, 12)))
            one, three = (
                mx.image.ImageDetIter(1, (3, 8, 8), imglist=[[label, "0.png"]], path_root=folder)
                for label in (ONE, THREE)
            )
            return act(mx, one, three)

    return snippet


def _shapes(*iterators: Any) -> list[Any]:
    return [
        [each.data_shape, each.label_shape, list(map(list, [*each.provide_data, *each.provide_label]))]
        for each in iterators
    ]


def _reshaped(**keywords: Any) -> Snippet:
    return _with_iterators(lambda mx, one, three: [three.reshape(**keywords), *_shapes(three)])


def _double(image: Any) -> Any:
    class Double(image.DetAugmenter):  # type: ignore[misc]
        def __call__(self, src: Any, label: Any) -> Any:
            return src, np.vstack([label, label])

    return [Double(), image.DetBorrowAug(image.ForceResizeAug((8, 8)))]


def _without(image: Any) -> Any:
    class Without(image.DetAugmenter):  # type: ignore[misc]
        def __call__(self, src: Any, label: Any) -> Any:
            return src, label[label[:, 0] != 0]

    return [Without(), image.DetBorrowAug(image.ForceResizeAug((8, 8))), image.DetBorrowAug(image.CastAug())]


ITERATORS: dict[str, Snippet] = {
    "iterator": _iterated(ONE, TWO, THREE, count=2),
    "iterator_of_a_record": _iterated(ONE, TWO, THREE, count=2, form="record"),
    "iterator_shuffled": _iterated(ONE, TWO, THREE, count=3, form="indexed", shuffle=True),
    "iterator_shuffled_list": _iterated(ONE, TWO, THREE, ONE, TWO, count=3, shuffle=True),
    "iterator_discard": _iterated(ONE, TWO, THREE, last_batch_handle="discard"),
    "iterator_roll_over": _iterated(ONE, TWO, THREE, count=4, last_batch_handle="roll_over"),
    "iterator_part": _iterated(ONE, TWO, THREE, ONE, num_parts=2, part_index=1),
    "iterator_names": _iterated(ONE, data_name="d", label_name="l"),
    "iterator_mirrored": _iterated(ONE, TWO, THREE, count=3, rand_mirror=True, mean=True, std=True),
    "iterator_augmented": _iterated(
        TWO, THREE, THREE, count=3, rand_mirror=True, rand_crop=0.7, rand_pad=0.7, inter_method=0
    ),
    "iterator_aug_list": _iterated(ONE, TWO, aug_list=lambda image: [
        image.DetHorizontalFlipAug(1.0), image.DetBorrowAug(image.ForceResizeAug((8, 8))),
    ]),
    "more_objects_than_room": _iterated(THREE, ONE, aug_list=_double),
    "pictures_left_without": _iterated(ONE, TWO, THREE, TWO, aug_list=_without),
    "wrong_augmenter": _iterated(ONE, aug_list=lambda image: [image.ForceResizeAug((8, 8))]),
    "wider_objects": _iterated(
        _label((0, 0.1, 0.2, 0.5, 0.6, 1), width=6), _label((0, 0, 0, 1, 1, 0), (1, 0, 0, 1, 1, 1), width=6)
    ),
    "longer_header": _iterated(
        _label((0, 0.1, 0.2, 0.5, 0.6), extra=(7, 8)), _label((1, 0, 0, 1, 1), extra=(7, 8))
    ),
    "objects_of_other_widths": _iterated(ONE, _label((0, 0.1, 0.2, 0.5, 0.6, 1), width=6)),
    "object_with_no_area": _iterated(_label((0, 0.5, 0.5, 0.5, 0.6), (1, 0.1, 0.1, 0.2, 0.2)), ONE),
    "class_below_0": _iterated(_label((-1, 0.1, 0.1, 0.5, 0.6), (1, 0.1, 0.1, 0.2, 0.2)), ONE),
    "beyond_the_picture": _iterated(_label((1, -0.1, 0.1, 1.5, 0.6)), ONE),
    "no_object": _iterated([2.0, 5.0], ONE),
    "no_object_with_area": _iterated(_label((0, 0.5, 0.5, 0.5, 0.6)), ONE),
    "narrow_objects": _iterated(_label((0, 0.1, 0.2, 0.5), width=4), ONE),
    "half_an_object": _iterated([*ONE, 3.0], ONE),
    "short_header": _iterated([1.0, 5.0, 0.1, 0.1, 0.5, 0.5], ONE),
    "unknown_parameter": _iterated(ONE, other=1),
    "reshape_data": _reshaped(data_shape=(3, 10, 12)),
    "reshape_label": _reshaped(label_shape=(5, 5)),
    "reshape_nothing": _reshaped(),
    "reshape_to_fewer": _reshaped(label_shape=(1, 5)),
    "reshape_to_wider": _reshaped(label_shape=(5, 6)),
    "reshape_flat": _reshaped(label_shape=(5,)),
    "reshape_grey": _reshaped(data_shape=(1, 8, 8)),
    "sync": _with_iterators(
        lambda mx, one, three: [one.sync_label_shape(three) is three, *_shapes(one, three), _batches(one)]
    ),
    "sync_back": _with_iterators(lambda mx, one, three: [three.sync_label_shape(one, True), *_shapes(one, three)][1:]),
    "sync_wrong": _with_iterators(lambda mx, one, three: one.sync_label_shape(3)),
}  # fmt: skip

SNIPPETS: dict[str, Snippet] = {**AUGMENTERS, **ITERATORS}
