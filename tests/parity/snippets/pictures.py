"""Functions and augmenters of `mx.image` on small pictures: sizes, places, colours, and what chance draws.

Pictures are PNG, since decoders of JPEG differ by a grey level; resizing is linear, since OpenCV's cubic interpolation
of uint8 does so from version to version. Each snippet with chance returns the next random number too: as many must have
been drawn.
"""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from ..png import noise, png

Snippet = Callable[[Any], Any]

PICTURE = noise(5, 6)
LARGE = noise(20, 30, seed=1)


def _seeded(compute: Callable[[Any], Any], seed: int = 7) -> Snippet:
    """Return a snippet with what is computed from a seed, and the random numbers that come next."""

    def snippet(mx: Any) -> Any:
        random.seed(seed)
        np.random.seed(seed)
        return [compute(mx), random.random(), float(np.random.uniform())]

    return snippet


def _picture(mx: Any, dtype: str = "uint8") -> Any:
    return mx.nd.array(LARGE, dtype=dtype)


def _part(found: Any) -> Any:
    part, where = found
    return [part.shape, part[:2, :2], tuple(where)]


def _in_file(mx: Any, *arguments: Any, **keywords: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "picture.png")
        with open(path, "wb") as file:
            file.write(png(PICTURE))
        return mx.image.imread(path, *arguments, **keywords)


READING: dict[str, Snippet] = {
    "decode": lambda mx: mx.image.imdecode(png(PICTURE)),
    "decode_bgr": lambda mx: mx.img.imdecode(png(PICTURE), to_rgb=0),
    "decode_by_position": lambda mx: mx.image.imdecode(png(PICTURE), 1, False),
    "decode_grey": lambda mx: mx.image.imdecode(png(PICTURE), flag=0),
    "decode_of_grey": lambda mx: mx.image.imdecode(png(PICTURE[:, :, 0])),
    "decode_with_alpha": lambda mx: mx.image.imdecode(png(noise(3, 4, 4))),
    "decode_numpy": lambda mx: mx.image.imdecode(np.frombuffer(png(PICTURE), dtype=np.uint8)),
    "decode_array": lambda mx: mx.image.imdecode(
        mx.nd.array(np.frombuffer(png(PICTURE), dtype=np.uint8), dtype="uint8")
    ),
    "decode_bytearray": lambda mx: mx.image.imdecode(bytearray(png(PICTURE))),
    "decode_text": lambda mx: mx.image.imdecode("text"),
    "decode_nothing": lambda mx: mx.image.imdecode(b""),
    "decode_garbage": lambda mx: mx.image.imdecode(b"no picture"),
    "read": _in_file,
    "read_grey": lambda mx: _in_file(mx, 0),
    "read_bgr": lambda mx: _in_file(mx, to_rgb=False),
    "read_nothing": lambda mx: mx.image.imread("no-such-picture.png"),
    "border": lambda mx: mx.image.copyMakeBorder(mx.nd.array(PICTURE, dtype="uint8"), 1, 2, 3, 0),
    "border_values": lambda mx: mx.image.copyMakeBorder(
        mx.nd.array(PICTURE, dtype="uint8"), 1, 0, 1, 0, type=0, values=(1, 2, 3)
    ),
    "border_kinds": lambda mx: [
        mx.image.copyMakeBorder(mx.nd.array(PICTURE, dtype="uint8"), 1, 1, 2, 2, type=kind)
        for kind in range(1, 5)
    ],
}


def _sizes(mx: Any) -> Any:
    return [
        mx.image.scale_down(source, size)
        for source in ((640, 480), (360, 1000), (100, 50), (7, 3))
        for size in ((720, 120), (120, 720), (500, 500), (50, 50), (101, 51), (9, 4))
    ]


SIZES: dict[str, Snippet] = {
    "scale_down": _sizes,
    "resize": lambda mx: [
        mx.image.imresize(_picture(mx), 7, 5),
        mx.image.imresize(_picture(mx), w=40, h=23, interp=0)[:3, :3],
        mx.image.imresize(_picture(mx), 15, 10, 3)[:3, :3],
        mx.image.imresize(_picture(mx), 9, 8, interp=4),
    ],
    "resize_unknown": lambda mx: mx.image.imresize(_picture(mx), 7, 5, interp=9),
    "resize_to_nothing": lambda mx: mx.image.imresize(_picture(mx), 0, 5),
    "resize_numpy": lambda mx: mx.image.imresize(LARGE, 7, 5),
    "resize_short": lambda mx: [
        mx.image.resize_short(_picture(mx), size, 1).shape for size in (7, 10, 40, 1)
    ],
    "resize_short_tall": lambda mx: mx.image.resize_short(_picture(mx).transpose((1, 0, 2)), 7, 1),
    "resize_short_auto": lambda mx: mx.image.resize_short(_picture(mx), 7, 9),
    "resize_short_random": _seeded(lambda mx: mx.image.resize_short(_picture(mx), 15, 10).shape),
    "resize_short_unknown": lambda mx: mx.image.resize_short(_picture(mx), 7, 5),
    "fixed_crop": lambda mx: mx.image.fixed_crop(_picture(mx), 3, 2, 4, 3),
    "fixed_crop_resized": lambda mx: mx.image.fixed_crop(_picture(mx), 3, 2, 10, 8, (5, 4), 1),
    "fixed_crop_auto_mixed": lambda mx: mx.image.fixed_crop(_picture(mx), 3, 2, 10, 8, (20, 4), 9)[:2, :4],
    "fixed_crop_same_size": _seeded(lambda mx: mx.image.fixed_crop(_picture(mx), 3, 2, 5, 4, (5, 4), 10)),
    "fixed_crop_over_the_edge": lambda mx: mx.image.fixed_crop(_picture(mx), 27, 18, 10, 8),
    "fixed_crop_negative": lambda mx: mx.image.fixed_crop(_picture(mx), -1, 0, 10, 8),
    "center_crop": lambda mx: _part(mx.image.center_crop(_picture(mx), (10, 8))),
    "center_crop_odd": lambda mx: _part(mx.image.center_crop(_picture(mx), (11, 7))),
    "center_crop_large": lambda mx: _part(mx.image.center_crop(_picture(mx), (100, 80), 1)),
    "center_crop_square": lambda mx: _part(mx.image.center_crop(_picture(mx), (40, 40), 1)),
    "random_crop": _seeded(lambda mx: [_part(mx.image.random_crop(_picture(mx), (10, 8))) for _ in range(5)]),
    "random_crop_large": _seeded(lambda mx: _part(mx.image.random_crop(_picture(mx), (100, 80), 1))),
    "random_crop_whole": _seeded(lambda mx: _part(mx.image.random_crop(_picture(mx), (30, 20)))),
    "random_size_crop": _seeded(
        lambda mx: [
            _part(mx.image.random_size_crop(_picture(mx), (10, 8), 0.08, (3 / 4.0, 4 / 3.0), 1))
            for _ in range(20)
        ]
    ),
    "random_size_crop_area": _seeded(
        lambda mx: [
            _part(mx.image.random_size_crop(_picture(mx), (10, 8), (0.2, 0.5), (0.5, 2), 1))
            for _ in range(20)
        ]
    ),
    "random_size_crop_that_never_fits": _seeded(
        lambda mx: _part(mx.image.random_size_crop(_picture(mx), (10, 8), (0.9, 1.0), (0.1, 0.2), 1))
    ),
    "random_size_crop_min_area": _seeded(
        lambda mx: _part(mx.image.random_size_crop(_picture(mx), (10, 8), None, (1, 1), 1, min_area=0.3))
    ),
    "random_size_crop_unknown": lambda mx: mx.image.random_size_crop(
        _picture(mx), (10, 8), 0.3, (1, 1), other=1
    ),
}


def _turned(mx: Any, *arguments: Any, **keywords: Any) -> Any:
    picture = mx.nd.array(noise(4, 6).transpose(2, 0, 1)[:2])
    return mx.image.imrotate(picture, *arguments, **keywords)


def _turned_batch(mx: Any, angles: Any, **keywords: Any) -> Any:
    return mx.image.imrotate(mx.nd.array(noise(4, 6).reshape((2, 3, 3, 4))), angles, **keywords)


ROTATION: dict[str, Snippet] = {
    **{
        f"rotate_{angle}": (lambda mx, angle=angle: _turned(mx, angle))
        for angle in (0, 30, 90, -30.5, 180, 400)
    },
    "rotate_zoom_in": lambda mx: [_turned(mx, angle, zoom_in=True) for angle in (10, 45, 100)],
    "rotate_zoom_out": lambda mx: [_turned(mx, angle, zoom_out=True) for angle in (10, 45, 100)],
    "rotate_both": lambda mx: _turned(mx, 30, True, True),
    "rotate_batch": lambda mx: _turned_batch(mx, 30),
    "rotate_batch_angles": lambda mx: _turned_batch(mx, mx.nd.array([10, -20])),
    "rotate_batch_zoom_in": lambda mx: _turned_batch(mx, mx.nd.array([10, -20]), zoom_in=True),
    "rotate_batch_zoom_out": lambda mx: _turned_batch(mx, mx.nd.array([10, -20]), zoom_out=True),
    "rotate_batch_wrong_angles": lambda mx: _turned_batch(mx, mx.nd.array([10, 20, 30])),
    "rotate_angles_of_one": lambda mx: _turned(mx, mx.nd.array([10])),
    "rotate_uint8": lambda mx: mx.image.imrotate(_picture(mx), 30),
    "rotate_matrix": lambda mx: mx.image.imrotate(mx.nd.ones((3, 4)), 30),
    "random_rotate": _seeded(
        lambda mx: mx.image.random_rotate(mx.nd.array(noise(4, 6).transpose(2, 0, 1)), (-10, 10))
    ),
    "random_rotate_batch": _seeded(
        lambda mx: mx.image.random_rotate(
            mx.nd.array(noise(4, 6).reshape((2, 3, 3, 4))), (-10, 10), zoom_in=True
        )
    ),
}


def _augmented(make: Callable[[Any], Any], dtype: str = "float32", calls: int = 2) -> Snippet:
    """What an augmenter says of itself, does to a picture, and whether it returns the array that it was given."""

    def compute(mx: Any) -> Any:
        augmenter = make(mx.image)
        found = [augmenter.dumps()]
        for _ in range(calls):
            source = _picture(mx, dtype)
            new = augmenter(source)
            found += [new.shape, new[:2, :3], float(new.asnumpy().astype("float64").mean()), new is source]
        return found

    return _seeded(compute)


_EIGENVALUES = np.array([55.46, 4.794, 1.148])
_EIGENVECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])

AUGMENTERS: dict[str, Snippet] = {
    "sequential": _augmented(lambda image: image.SequentialAug([image.ResizeAug(5, 1), image.CastAug()])),
    "random_order": _augmented(
        lambda image: image.RandomOrderAug([image.HorizontalFlipAug(0.5), image.BrightnessJitterAug(0.3)]),
        calls=6,
    ),
    "resize_aug": _augmented(lambda image: image.ResizeAug(10, 1), "uint8"),
    "force_resize_aug": _augmented(lambda image: image.ForceResizeAug((8, 9), 1), "uint8"),
    "random_crop_aug": _augmented(lambda image: image.RandomCropAug((8, 9)), "uint8"),
    "random_sized_crop_aug": _augmented(
        lambda image: image.RandomSizedCropAug((8, 9), 0.3, (0.5, 2), 1), "uint8"
    ),
    "random_sized_crop_aug_area": _augmented(
        lambda image: image.RandomSizedCropAug((8, 9), (0.1, 0.3), (0.5, 2), 1), "uint8"
    ),
    "center_crop_aug": _augmented(lambda image: image.CenterCropAug((8, 9)), "uint8"),
    "flip_aug": _augmented(lambda image: image.HorizontalFlipAug(0.5), "uint8", calls=5),
    "cast_aug": _augmented(lambda image: image.CastAug(), "uint8"),
    "cast_aug_half": _augmented(lambda image: image.CastAug("float16"), "uint8"),
    "brightness": _augmented(lambda image: image.BrightnessJitterAug(0.3)),
    "contrast": _augmented(lambda image: image.ContrastJitterAug(0.3)),
    "saturation": _augmented(lambda image: image.SaturationJitterAug(0.3)),
    "hue": _augmented(lambda image: image.HueJitterAug(0.3)),
    "colour_jitter": _augmented(lambda image: image.ColorJitterAug(0.1, 0.2, 0.3), calls=4),
    "colour_jitter_some": _augmented(lambda image: image.ColorJitterAug(0, 0.2, 0)),
    "colour_jitter_none": _augmented(lambda image: image.ColorJitterAug(0, 0, 0)),
    "lighting": _augmented(lambda image: image.LightingAug(0.1, _EIGENVALUES, _EIGENVECTORS)),
    "grey": _augmented(lambda image: image.RandomGrayAug(0.5), calls=5),
    "normalize": _augmented(
        lambda image: image.ColorNormalizeAug(np.array([1.0, 2, 3]), np.array([2.0, 3, 4]))
    ),
    "normalize_list": _augmented(lambda image: image.ColorNormalizeAug([1.0, 2, 3], None)),
    "normalize_nothing": _augmented(lambda image: image.ColorNormalizeAug(None, None)),
    "contrast_of_uint8": _augmented(lambda image: image.ContrastJitterAug(0.3), "uint8"),
    "normalize_uint8": _augmented(lambda image: image.ColorNormalizeAug([1.0, 2, 3], None), "uint8"),
    "base": _augmented(lambda image: image.Augmenter(size=3)),
    "base_dumps": lambda mx: mx.image.Augmenter(a=mx.nd.array([1, 2]), b=np.array([1.5]), c="x").dumps(),
    "color_normalize": lambda mx: mx.image.color_normalize(
        _picture(mx, "float32"), mx.nd.array([1, 2, 3]), mx.nd.array([2, 3, 4])
    )[:2, :2],
    "color_normalize_numbers": lambda mx: mx.image.color_normalize(_picture(mx, "float32"), 1.0, 2.0)[:2, :2],
    "color_normalize_std": lambda mx: mx.image.color_normalize(
        _picture(mx, "float32"), None, mx.nd.array([2, 3, 4])
    )[:2, :2],
    "color_normalize_in_place": lambda mx: (
        lambda picture: [mx.image.color_normalize(picture, 1.0) is picture, picture[0, 0]]
    )(_picture(mx, "float32")),
}


def _created(*arguments: Any, **keywords: Any) -> Snippet:
    return lambda mx: [each.dumps() for each in mx.image.CreateAugmenter(*arguments, **keywords)]


def _all_of_it(mx: Any) -> Any:
    augmenters = mx.image.CreateAugmenter(
        (3, 8, 9), 12, True, True, True, True, True, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1
    )
    found = []
    for _ in range(4):
        picture = _picture(mx)
        for augmenter in augmenters:
            picture = augmenter(picture)
        found.append(picture[:1])
    return found


CREATED: dict[str, Snippet] = {
    "created": _created((3, 8, 8)),
    "created_resize": _created((3, 8, 8), resize=10),
    "created_crop": _created((3, 8, 8), rand_crop=True),
    "created_resized_crop": _created((3, 8, 9), rand_crop=True, rand_resize=True),
    "created_resized_crop_alone": _created((3, 8, 8), rand_resize=True),
    "created_all": _created(
        (3, 8, 9), rand_mirror=True, mean=True, std=True, brightness=0.1, contrast=0.2, saturation=0.3, hue=0.4,
        pca_noise=0.5, rand_gray=0.6, inter_method=10,
    ),
    "created_mean": _created((3, 8, 8), mean=np.array([1, 2, 3])),
    "created_std": _created((3, 8, 8), std=np.array([1.0, 2, 3])),
    "created_wrong_mean": _created((3, 8, 8), mean=np.array([1, 2])),
    "created_unknown": _created((3, 8, 8), other=1),
    "created_and_run": _seeded(_all_of_it),
}  # fmt: skip

SNIPPETS: dict[str, Snippet] = {**READING, **SIZES, **ROTATION, **AUGMENTERS, **CREATED}
