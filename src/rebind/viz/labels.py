"""Positions of the labels of edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from . import style
from .layout import Point

__all__ = ["Label", "position_labels"]


class Label(NamedTuple):
    """A text beside an edge: `x` is its start, middle or end (as `anchor` says), `y` its baseline."""

    text: str
    x: float
    y: float
    anchor: str

    @property
    def left(self) -> float:
        """The x at which the text begins.

        >>> Label("28", x=50.0, y=0.0, anchor="start").left
        50.0
        """
        return (
            self.x
            - style.text_width(self.text, style.LABEL_SIZE)
            * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        )

    @property
    def right(self) -> float:
        """The x at which the text ends."""
        return self.left + style.text_width(self.text, style.LABEL_SIZE)

    def holds(self, point: Point, room: float = 2.0) -> bool:
        """Return whether a point is in the text's rectangle, or near it.

        >>> label = Label("28×28", x=0.0, y=0.0, anchor="middle")
        >>> label.holds(Point(0, 0)), label.holds(Point(100, 0))
        (True, False)
        """
        # Letters reach about 0.8 of the size above the baseline and 0.2 below it.
        across = self.left - room <= point.x <= self.right + room
        return (
            across
            and self.y - style.LABEL_SIZE * 0.8 - room <= point.y <= self.y + style.LABEL_SIZE * 0.2 + room
        )

    def overlaps(self, other: Label) -> bool:
        """Return whether two texts would run into each other.

        >>> label = Label("28", x=0.0, y=0.0, anchor="start")
        >>> label.overlaps(label._replace(x=5.0)), label.overlaps(label._replace(y=20.0))
        (True, False)
        """
        return (
            self.left < other.right and other.left < self.right and abs(self.y - other.y) < style.LABEL_SIZE
        )


def position_labels(edges: Iterable[tuple[str, str]], routes: Sequence[Sequence[Point]]) -> list[Label]:
    """Position each label beside its edge, where it covers least; one label if all edges of a box share it.

    `edges` are pairs of source and label; `routes` the points that each passes.

    >>> route = [Point(0, 0), Point(0, 20), Point(0, 60), Point(0, 80)]
    >>> [label.text for label in position_labels([("x", "28×28")], [route])]
    ['28×28']
    """
    by_source: dict[str, list[tuple[str, tuple[Point, ...]]]] = defaultdict(list)
    for (source, label), points in zip(edges, routes):
        by_source[source].append((label, tuple(points)))
    ink = _Ink(routes)
    placed: list[Label] = []
    for leaving in by_source.values():
        shared = len({label for label, _ in leaving}) == 1
        for text, route in leaving[:1] if shared else dict.fromkeys(leaving):
            if text:
                choices = _beside_start(text, route) if shared else _beside_turn(text, route)
                # Only labels in the same gap between layers can be in the way.
                taken = [label for label in placed if abs(label.y - choices[0].y) < style.LAYER_GAP]
                placed.append(min(choices, key=lambda choice: _cost(choice, ink, taken)))
    return placed


def _beside_start(text: str, route: Sequence[Point]) -> list[Label]:
    """Return labels right and left of where an edge leaves its box's layer, the best one first."""
    x, y = route[1]
    sides = [(x + 7, "start"), (x - 7, "end")]
    beside = [Label(text, at, y + down, anchor) for down in (16.0, 12.0, 24.0) for at, anchor in sides]
    return [*beside, Label(text, x, y + style.LAYER_GAP - 8, "middle")]


def _beside_turn(text: str, route: Sequence[Point]) -> list[Label]:
    """Return labels right and left of an edge's first turn, the best one first."""
    curve = _curve(route[1], route[2])
    down = style.LABEL_SIZE * 0.35  # from the middle of the letters to the baseline
    # From the middle of the turn on, where the edges of one source are apart; towards its start as the last choice.
    points = [curve[round(t * (len(curve) - 1))] for t in (0.5, 0.7, 0.85, 0.35)]
    return [
        Label(text, at, y + down, anchor)
        for x, y in points
        for at, anchor in ((x + 6, "start"), (x - 6, "end"))
    ]


def _cost(label: Label, ink: _Ink, taken: Sequence[Label]) -> int:
    # Two texts on top of each other are worse than any number of points of edges under one.
    return ink.under(label) + 100 * sum(label.overlaps(other) for other in taken)


class _Ink:
    """Points along all turns of the edges, to find what a label would cover."""

    def __init__(self, routes: Sequence[Sequence[Point]]) -> None:
        # By horizontal bands as high as a gap: a label is looked for in three of them, not among all points.
        self._bands: dict[int, set[Point]] = defaultdict(set)
        for route in routes:
            # A route is start, leave, top and bottom of each bend, arrive, end: it turns after each odd point.
            for leave, arrive in zip(route[1::2], route[2::2]):
                for point in _curve(leave, arrive):
                    self._bands[int(point.y // style.LAYER_GAP)].add(point)

    def under(self, label: Label) -> int:
        """Count the points that a label covers."""
        # Only points near it: edges are sorted by bands as high as a gap.
        band = int(label.y // style.LAYER_GAP)
        return sum(label.holds(point) for near in (band - 1, band, band + 1) for point in self._bands[near])


def _curve(leave: Point, arrive: Point, steps: int = 24) -> list[Point]:
    """Return points along the turn that an edge takes between layers: a Bezier curve, upright at its ends."""
    middle = (leave.y + arrive.y) / 2
    points = []
    for step in range(steps + 1):
        t = step / steps
        # The middle points of the curve are below its start and above its end, at half height.
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        points.append(
            Point((a + b) * leave.x + (c + d) * arrive.x, a * leave.y + (b + c) * middle + d * arrive.y)
        )
    return points
