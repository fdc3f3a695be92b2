"""Colours and sizes of pictures, the same in all formats."""

from __future__ import annotations

__all__ = [
    "ARROW", "GAP", "HEADING_SIZE", "KINDS", "LABEL_SIZE", "LAYER_GAP", "LINE_HEIGHT", "LINE_SIZE", "MARGIN",
    "PADDING_X", "PADDING_Y", "TITLE_SIZE", "text_width",
]  # fmt: skip

# Fill and border of each kind of box; the hues are those of MXNet's own drawings (ColorBrewer's Set3).
KINDS: dict[str, tuple[str, str]] = {
    "input": ("#d9f2ec", "#3f9d8b"),
    "parameter": ("#eef0f2", "#8b95a1"),
    "layer": ("#fddcd8", "#d0584a"),
    "activation": ("#fff6c9", "#b59a1d"),
    "normalization": ("#e5e3f2", "#756bb1"),
    "pooling": ("#d6e8f5", "#3d82b4"),
    "join": ("#fde5c8", "#cc7a1e"),
    "reshape": ("#f3e6d8", "#9c7650"),
    "dropout": ("#eceff1", "#78909c"),
    "recurrent": ("#f6dcee", "#b0528f"),
    "loss": ("#e2f2c8", "#6c9a24"),
    "other": ("#fbe9f2", "#b96a92"),
}

TITLE_SIZE, LINE_SIZE, LABEL_SIZE, HEADING_SIZE = 13.0, 11.5, 10.5, 16.0
LINE_HEIGHT = 15.0
PADDING_X, PADDING_Y = 14.0, 8.0
MARGIN = 24.0
GAP, LAYER_GAP = 26.0, 42.0
ARROW = 7.0  # length of an arrow's head


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the approximate width of a text in a sans-serif font; rather too wide than too narrow.

    >>> text_width("wide", 10.0) > text_width("ill", 10.0)
    True
    """
    # By classes of letters, in ems: without a font at hand, and the same on all machines.
    ems = sum(
        0.32 if c in "iljtfrI.,:;'|!()[]/ " else 0.9 if c in "mwMW@%" else 0.7 if c.isupper() else 0.58
        for c in text
    )
    return ems * size * (1.06 if bold else 1.0)
