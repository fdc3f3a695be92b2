"""A picture of boxes and arrows, with all positions, for writing in any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from . import style
from .labels import Label, position_labels
from .layout import Layout, Point, layered

__all__ = ["Box", "Edge", "Label", "Picture", "compose", "corner_radius"]


@dataclass(frozen=True)
class Box:
    """One box of a drawing.

    Attributes
    ----------
    key
        Name by which edges find the box.
    title
        First line, in bold.
    lines
        Further lines.
    note
        The tooltip; the key when empty.
    fill, border, text
        Colours; those of text are the theme's unless given.
    oval
        Whether the ends are fully round.
    """

    key: str
    title: str
    lines: tuple[str, ...] = ()
    note: str = ""
    fill: str = "#ffffff"
    border: str = "#57606a"
    text: str | None = None
    oval: bool = False


class Edge(NamedTuple):
    """An arrow between two boxes, with a label (or ``""``)."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """Everything to draw, with positions. The origin of the layout is at `left`, `top` of the page.

    Attributes
    ----------
    bars
        The segments of edges, each one once if several edges share it: down from the first point to the second, across
        to the third, down to the fourth.
    heads
        The ends of arrows.
    """

    heading: str
    boxes: tuple[Box, ...]
    sizes: dict[str, tuple[float, float]]
    layout: Layout
    bars: tuple[tuple[Point, Point, Point, Point], ...]
    heads: tuple[Point, ...]
    labels: tuple[Label, ...]
    left: float
    top: float
    width: float
    height: float


def compose(boxes: Sequence[Box], edges: Sequence[Edge], *, heading: str = "") -> Picture:
    """Lay out boxes, arrows and labels on a page that is large enough.

    >>> picture = compose([Box("x", "data"), Box("f", "Flatten")], [Edge("x", "f", "28×28")])
    >>> [label.text for label in picture.labels]
    ['28×28']
    """
    sizes = {box.key: box_size(box) for box in boxes}
    layout = layered(
        sizes, [(edge.source, edge.target) for edge in edges], gap=style.GAP, layer_gap=style.LAYER_GAP
    )
    labels = position_labels([(edge.source, edge.label) for edge in edges], layout.routes)
    top = style.MARGIN + (style.HEADING_SIZE + 14 if heading else 0)
    # Labels may stick out to the left and right of all boxes.
    left = style.MARGIN + max([0.0, *(-label.left for label in labels)])
    heading_end = style.MARGIN + style.text_width(heading, style.HEADING_SIZE) - left
    right = max([layout.width, heading_end, *(label.right for label in labels)])
    return Picture(
        heading=heading,
        boxes=tuple(boxes),
        sizes=sizes,
        layout=layout,
        # Edges of one source share bars, which are drawn once.
        bars=tuple(dict.fromkeys(bar for route in layout.routes for bar in _bars(route))),
        heads=tuple(dict.fromkeys(route[-1] for route in layout.routes)),
        labels=tuple(labels),
        left=left,
        top=top,
        width=left + right + style.MARGIN,
        height=top + layout.height + style.MARGIN,
    )


def box_size(box: Box) -> tuple[float, float]:
    """Return the width and height that a box's text needs.

    >>> box_size(Box("x", "data"))
    (64.0, 31.0)
    """
    title = style.text_width(box.title, style.TITLE_SIZE, bold=True)
    widths = [title, *(style.text_width(line, style.LINE_SIZE) for line in box.lines)]
    height = style.LINE_HEIGHT * (1 + len(box.lines)) + 2 * style.PADDING_Y
    return max(64.0, max(widths) + 2 * style.PADDING_X), height


def corner_radius(box: Box, height: float) -> float:
    """Return the radius of a box's corners; ovals have round ends.

    >>> (
    ...     corner_radius(Box("x", "data", oval=True), height=30),
    ...     corner_radius(Box("f", "Flatten"), height=30),
    ... )
    (15.0, 7.0)
    """
    return height / 2 if box.oval else 7.0


def _bars(route: Sequence[Point]) -> list[tuple[Point, Point, Point, Point]]:
    # The last segment stops short of the box, for the head of the arrow. Of a route of bends, each segment begins where
    # the one before ended; the first one begins at the box.
    *inner, end = route
    # The line ends within the arrow's head, which would else have a blunt point.
    stops = [*inner, Point(end.x, end.y - style.ARROW + 1)]
    # From the second bar on there is no straight piece at the start: the one before ended at the bend's bottom.
    return [
        (stops[i] if i == 0 else stops[i + 1], stops[i + 1], stops[i + 2], stops[i + 3])
        for i in range(0, len(stops) - 2, 2)
    ]
