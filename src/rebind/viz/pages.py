"""Writing a picture as PDF, PNG or another format of matplotlib's (extra ``viz``)."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from ..figures import matplotlib_figure
from . import style
from .picture import Box, Picture, corner_radius

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["write_page"]

POINTS = 72.0  # a unit of the picture is a point of the page
INK, TEXT, DETAIL, FAINT = "#8c959f", "#1f2328", "#424a53", "#57606a"
FONT_SCALE = 0.92  # matplotlib's own font is wider than a browser's


def write_page(picture: Picture, path: str | FilePath, *, dots_per_inch: int = 144) -> None:
    """Write a picture to `path`, in the format of its suffix."""
    figure = matplotlib_figure(
        (picture.width / POINTS, picture.height / POINTS), who="plot_network", dpi=dots_per_inch
    )
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(-picture.left, picture.width - picture.left)
    axes.set_ylim(picture.height - picture.top, -picture.top)  # y grows downwards, as in SVG
    axes.axis("off")
    if picture.heading:
        corner = style.MARGIN - picture.left, style.MARGIN + style.HEADING_SIZE * 0.75 - picture.top
        axes.text(
            *corner, picture.heading, fontsize=style.HEADING_SIZE * FONT_SCALE, weight="bold", color=TEXT
        )
    _edges(axes, picture)
    for box in picture.boxes:
        _box(axes, box, picture)
    for label in picture.labels:
        anchor = {"start": "left", "middle": "center", "end": "right"}[label.anchor]
        axes.text(
            label.x, label.y, label.text, ha=anchor, fontsize=style.LABEL_SIZE * FONT_SCALE, color=FAINT
        )
    figure.savefig(path, dpi=dots_per_inch)


def _edges(axes: Axes, picture: Picture) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    # A line, a cubic Bezier curve (its three points), a line: as in `svg`.
    codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    for start, leave, arrive, end in picture.bars:
        middle = (leave.y + arrive.y) / 2
        points = [start, leave, (leave.x, middle), (arrive.x, middle), arrive, end]
        axes.add_patch(PathPatch(Path(points, codes), fill=False, edgecolor=INK, linewidth=1.3))
    for x, y in picture.heads:
        axes.add_patch(Polygon([(x, y), (x - 4, y - style.ARROW), (x + 4, y - style.ARROW)], facecolor=INK))


def _box(axes: Axes, box: Box, picture: Picture) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = picture.sizes[box.key]
    x, y = picture.layout.centres[box.key]
    corners = f"round,pad=0,rounding_size={corner_radius(box, height)}"
    axes.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            boxstyle=corners,
            facecolor=box.fill,
            edgecolor=box.border,
            linewidth=1.2,
        )
    )
    # Letters stand at about three quarters of a line's height.
    baseline = y - height / 2 + style.PADDING_Y + style.LINE_HEIGHT * 0.76
    for i, text in enumerate([box.title, *box.lines]):
        size, weight, colour = (style.LINE_SIZE, "normal", DETAIL) if i else (style.TITLE_SIZE, "bold", TEXT)
        axes.text(
            x,
            baseline + i * style.LINE_HEIGHT,
            text,
            ha="center",
            fontsize=size * FONT_SCALE,
            weight=weight,
            color=box.text or colour,
        )
