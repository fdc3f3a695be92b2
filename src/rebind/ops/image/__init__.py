"""Images as arrays: ``nd.image.X`` and ``sym.image.X``. Sizes, flips, colours, and random changes of them.

An image is an array (H, W, C) of numbers from 0 to 255; in a network it is (C, H, W), see `to_tensor`. Results of
integer types are rounded towards 0, those of uint8 clipped to 0 and 255 before. Random numbers come from the
`generator` and stay on the device.
"""

from .colour import (
    adjust_lighting,
    random_brightness,
    random_color_jitter,
    random_contrast,
    random_hue,
    random_lighting,
    random_saturation,
)
from .conversion import normalize, to_tensor
from .geometry import (
    crop,
    flip_left_right,
    flip_top_bottom,
    random_flip_left_right,
    random_flip_top_bottom,
    resize,
)

__all__ = [
    "adjust_lighting", "crop", "flip_left_right", "flip_top_bottom", "normalize", "random_brightness",
    "random_color_jitter", "random_contrast", "random_flip_left_right", "random_flip_top_bottom", "random_hue",
    "random_lighting", "random_saturation", "resize", "to_tensor",
]  # fmt: skip
