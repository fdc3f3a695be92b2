"""Random changes of a picture's colours: uint8 (H, W, 3), red, green, blue."""

from __future__ import annotations

import numpy as np

from ...imaging import opencv

__all__ = ["contrasted", "jittered", "shifted_hls"]

# Variances of the colours of ImageNet along their principal components, and these components (Krizhevsky et al., 2012).
_DEVIATIONS = np.array([55.46, 4.794, 1.148])
_COMPONENTS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


def _mapped(picture: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a picture with ``values[v]`` for each value v, rounded and saturated."""
    table = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return opencv().LUT(picture, table)


def contrasted(picture: np.ndarray, factor: float) -> np.ndarray:
    """Return a picture with all values multiplied."""
    return _mapped(picture, np.arange(256.0) * factor)


def jittered(
    picture: np.ndarray,
    draws: np.random.Generator,
    brightness: float,
    contrast: float,
    saturation: float,
    pca_noise: float,
) -> np.ndarray:
    """Return a picture with other brightness, contrast and saturation, in an order by chance, and with PCA noise."""
    cv2 = opencv()
    values = np.arange(256.0)
    for change in draws.permutation(3).tolist():
        amount = (brightness, contrast, saturation)[change]
        if not amount:
            continue
        factor = 1 + draws.uniform(-amount, amount)
        if change == 0:
            picture = _mapped(picture, values * factor)
            continue
        grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
        if change == 1:
            picture = _mapped(picture, values * factor + cv2.mean(grey)[0] * (1 - factor))
        else:
            picture = cv2.addWeighted(picture, factor, cv2.cvtColor(grey, cv2.COLOR_GRAY2RGB), 1 - factor, 0)
    if pca_noise:
        shift = _COMPONENTS @ (draws.normal(0, pca_noise, 3) * _DEVIATIONS)
        picture = _mapped(picture, (values[:, None] + shift)[:, None, :])
    return picture


def shifted_hls(
    picture: np.ndarray, draws: np.random.Generator, hue: int, lightness: int, saturation: int
) -> np.ndarray:
    """Return a picture whose hue, lightness and saturation change by up to the given numbers.

    Hue is from 0 to 180, the others from 0 to 255, as OpenCV has them; they are cut at these bounds.
    """
    cv2 = opencv()
    hls = cv2.cvtColor(picture, cv2.COLOR_RGB2HLS)
    moves = [int(draws.integers(-most, most + 1)) for most in (hue, lightness, saturation)]
    values = np.arange(256.0)[:, None] + np.array(moves)
    values = np.clip(values, 0, [180, 255, 255])
    return cv2.cvtColor(_mapped(hls, values[:, None, :]), cv2.COLOR_HLS2RGB)
