"""A picture of boxes and arrows: where everything goes, before it is written in some format."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rebind.viz.layout import Layout, Point, layered

__all__ = ["KINDS", "Box", "Edge", "Label", "Picture", "compose", "text_width"]

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
    kind
        One of `KINDS`: its colours.
    note
        What a resting pointer shows; the key when empty.
    fill, border, text
        Colours in place of the kind's.
    oval
        Whether the ends are fully round.
    """

    key: str
    title: str
    lines: tuple[str, ...] = ()
    kind: str = "other"
    note: str = ""
    fill: str | None = None
    border: str | None = None
    text: str | None = None
    oval: bool = False


class Edge(NamedTuple):
    """An arrow between two boxes, with a label (or ``""``)."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True)
class Picture:
    """Everything to draw, with places. The origin of the layout lies at `left`, `top` of the page.

    Attributes
    ----------
    bars
        The edges, cut into pieces, each once where several edges share it: down from the first point to the
        second, over to the third, down to the fourth.
    heads
        Where arrows end.
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
    """Lay out boxes, arrows and labels on a page that is large enough."""
    sizes = {box.key: box_size(box) for box in boxes}
    layout = layered(sizes, [(edge.source, edge.target) for edge in edges], gap=GAP, layer_gap=LAYER_GAP)
    labels = place_labels(edges, layout)
    top = MARGIN + (HEADING_SIZE + 14 if heading else 0)
    left = MARGIN + max([0.0, *(-label.left for label in labels)])
    heading_end = MARGIN + text_width(heading, HEADING_SIZE) - left
    right = max([layout.width, heading_end, *(label.right for label in labels)])
    return Picture(
        heading=heading,
        boxes=tuple(boxes),
        sizes=sizes,
        layout=layout,
        bars=tuple(dict.fromkeys(bar for route in layout.routes for bar in _bars(route))),
        heads=tuple(dict.fromkeys(route[-1] for route in layout.routes)),
        labels=tuple(labels),
        left=left,
        top=top,
        width=left + right + MARGIN,
        height=top + layout.height + MARGIN,
    )


# --- sizes ----------------------------------------------------------------------------------------


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return about how wide a text is in a sans-serif font; a little too wide rather than too narrow."""
    ems = sum(
        0.32 if c in "iljtfrI.,:;'|!()[]/ " else 0.9 if c in "mwMW@%" else 0.7 if c.isupper() else 0.58
        for c in text
    )
    return ems * size * (1.06 if bold else 1.0)


def box_size(box: Box) -> tuple[float, float]:
    """Return the width and height that a box's text needs."""
    widths = [text_width(box.title, TITLE_SIZE, bold=True), *(text_width(t, LINE_SIZE) for t in box.lines)]
    height = LINE_HEIGHT * (1 + len(box.lines)) + 2 * PADDING_Y
    return max(64.0, max(widths) + 2 * PADDING_X), height


def corner_radius(box: Box, height: float) -> float:
    """Return the radius of a box's corners; inputs and ovals have round ends."""
    return height / 2 if box.oval or box.kind == "input" else 7.0


def _bars(route: Sequence[Point]) -> list[tuple[Point, Point, Point, Point]]:
    *inner, end = route
    stops = [*inner, Point(end.x, end.y - ARROW + 1)]
    return [
        (stops[i] if i == 0 else stops[i + 1], stops[i + 1], stops[i + 2], stops[i + 3])
        for i in range(0, len(stops) - 2, 2)
    ]


# --- labels ---------------------------------------------------------------------------------------


class Label(NamedTuple):
    """A text beside an edge: `x` is its start, middle or end (as `anchor` says), `y` its baseline."""

    text: str
    x: float
    y: float
    anchor: str

    @property
    def left(self) -> float:
        """Where the text begins."""
        return (
            self.x
            - text_width(self.text, LABEL_SIZE) * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        )

    @property
    def right(self) -> float:
        """Where the text ends."""
        return self.left + text_width(self.text, LABEL_SIZE)

    def holds(self, point: Point, room: float = 2.0) -> bool:
        """Whether a point lies in the text's rectangle, or near it."""
        across = self.left - room <= point.x <= self.right + room
        return across and self.y - LABEL_SIZE * 0.8 - room <= point.y <= self.y + LABEL_SIZE * 0.2 + room

    def overlaps(self, other: Label) -> bool:
        """Whether two texts would run into each other."""
        return self.left < other.right and other.left < self.right and abs(self.y - other.y) < LABEL_SIZE


def place_labels(edges: Sequence[Edge], layout: Layout) -> list[Label]:
    """Put each label beside its edge, where it covers least; once, if all edges of a box share it."""
    by_source: dict[str, list[tuple[str, tuple[Point, ...]]]] = defaultdict(list)
    for edge, points in zip(edges, layout.routes):
        by_source[edge.source].append((edge.label, tuple(points)))
    ink = _Ink(layout.routes)
    placed: list[Label] = []
    for leaving in by_source.values():
        shared = len({label for label, _ in leaving}) == 1
        for text, route in leaving[:1] if shared else dict.fromkeys(leaving):
            if text:
                places = _places_at_start(text, route) if shared else _places_on_turn(text, route)
                taken = [label for label in placed if abs(label.y - places[0].y) < LAYER_GAP]
                placed.append(min(places, key=lambda place: _cost(place, ink, taken)))
    return placed


def _places_at_start(text: str, route: Sequence[Point]) -> list[Label]:
    """Return places right and left of where an edge leaves its box's layer, the best one first."""
    x, y = route[1]
    sides = [(x + 7, "start"), (x - 7, "end")]
    places = [Label(text, at, y + down, anchor) for down in (16.0, 12.0, 24.0) for at, anchor in sides]
    return [*places, Label(text, x, y + LAYER_GAP - 8, "middle")]


def _places_on_turn(text: str, route: Sequence[Point]) -> list[Label]:
    """Return places right and left of an edge's first turn, the best one first."""
    curve = _curve(route[1], route[2])
    down = LABEL_SIZE * 0.35
    points = [curve[round(t * (len(curve) - 1))] for t in (0.5, 0.7, 0.85, 0.35)]
    return [
        Label(text, at, y + down, anchor)
        for x, y in points
        for at, anchor in ((x + 6, "start"), (x - 6, "end"))
    ]


def _cost(place: Label, ink: _Ink, taken: Sequence[Label]) -> int:
    return ink.under(place) + 100 * sum(place.overlaps(label) for label in taken)


class _Ink:
    """Points along all turns of the edges, to find what a label would cover."""

    def __init__(self, routes: Sequence[Sequence[Point]]) -> None:
        self._bands: dict[int, set[Point]] = defaultdict(set)
        for route in routes:
            for leave, arrive in zip(route[1::2], route[2::2]):
                for point in _curve(leave, arrive):
                    self._bands[int(point.y // LAYER_GAP)].add(point)

    def under(self, label: Label) -> int:
        """Count the points that a label covers."""
        band = int(label.y // LAYER_GAP)
        return sum(label.holds(point) for near in (band - 1, band, band + 1) for point in self._bands[near])


def _curve(leave: Point, arrive: Point, steps: int = 24) -> list[Point]:
    """Return points along the turn that an edge takes between layers: a Bezier curve, upright at its ends."""
    middle = (leave.y + arrive.y) / 2
    points = []
    for step in range(steps + 1):
        t = step / steps
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        points.append(
            Point((a + b) * leave.x + (c + d) * arrive.x, a * leave.y + (b + c) * middle + d * arrive.y)
        )
    return points
