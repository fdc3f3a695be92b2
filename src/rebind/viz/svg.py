"""Writing a picture as one standalone SVG file.

The file needs no fonts, scripts or style sheets of its own; it follows the reader's light or dark theme, and
a box's note is its tooltip.
"""

from __future__ import annotations

from html import escape

from . import style
from .layout import Point
from .picture import Box, Label, Picture, corner_radius

__all__ = ["to_svg"]

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"

STYLE = """
    .paper { fill: #ffffff }
    .heading { fill: #24292f; font-weight: 600 }
    .edge { fill: none; stroke: #8c959f; stroke-width: 1.4 }
    .head { fill: #8c959f }
    .label { fill: #57606a }
    .halo { fill: none; stroke: #ffffff; stroke-width: 4; stroke-linejoin: round }
    .title { fill: #1f2328; font-weight: 600 }
    .line { fill: #424a53 }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 }
      .heading { fill: #e6edf3 }
      .edge { stroke: #7d8590 }
      .head { fill: #7d8590 }
      .label { fill: #adbac7 }
      .halo { stroke: #0d1117 }
    }
"""


def to_svg(picture: Picture) -> str:
    """Return an SVG document.

    Examples
    --------
    >>> from rebind.viz.picture import Box, Edge, compose
    >>> svg = to_svg(compose([Box("x", "data"), Box("f", "Flatten")], [Edge("x", "f", "28×28")]))
    >>> "Flatten" in svg and "28×28" in svg
    True
    """
    width, height = f"{picture.width:.0f}", f"{picture.height:.0f}"
    title = escape(picture.heading or "network")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="{FONT}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        '<rect class="paper" width="100%" height="100%" rx="8"/>',
    ]
    if picture.heading:
        baseline = style.MARGIN + style.HEADING_SIZE * 0.75
        where = f'x="{style.MARGIN:g}" y="{baseline:g}" font-size="{style.HEADING_SIZE:g}"'
        parts.append(f'<text class="heading" {where}>{title}</text>')
    parts.append(f'<g transform="translate({picture.left:.1f} {picture.top:.1f})">')
    parts.extend(f'<path class="edge" d="{_path(*bar)}"/>' for bar in picture.bars)
    parts.extend(
        f'<path class="head" d="M{x:.1f} {y:.1f}l-4 {-style.ARROW:g}h8z"/>' for x, y in picture.heads
    )
    parts.extend(_box(box, picture.layout.centres[box.key], picture.sizes[box.key]) for box in picture.boxes)
    parts.extend(_label(label) for label in picture.labels)
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _box(box: Box, centre: Point, size: tuple[float, float]) -> str:
    width, height = size
    left, top = centre.x - width / 2, centre.y - height / 2
    radius = corner_radius(box, height)
    # A style, since the sheet's rules for text win over an attribute.
    text_colour = f' style="fill:{escape(box.text)}"' if box.text else ""
    parts = [
        f"<g><title>{escape(box.note or box.key)}</title>",
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'rx="{radius:g}" '
        f'fill="{escape(box.fill)}" stroke="{escape(box.border)}" '
        f'stroke-width="1.3"/>',
    ]
    baseline = top + style.PADDING_Y + style.LINE_HEIGHT * 0.76
    for i, text in enumerate([box.title, *box.lines]):
        name, font_size = ("title", style.TITLE_SIZE) if i == 0 else ("line", style.LINE_SIZE)
        parts.append(
            f'<text class="{name}" x="{centre.x:.1f}" y="{baseline + i * style.LINE_HEIGHT:.1f}" '
            f'font-size="{font_size:g}" text-anchor="middle"{text_colour}>{escape(text)}</text>'
        )
    return "".join([*parts, "</g>"])


def _path(start: Point, leave: Point, arrive: Point, end: Point) -> str:
    if leave.x == arrive.x:  # one straight line
        return f"M{start.x:.1f} {start.y:.1f}V{end.y:.1f}"
    # A Bezier curve that is vertical at both ends, as the straight segments before and after it are.
    middle = (leave.y + arrive.y) / 2
    down = f"V{leave.y:.1f}" if leave != start else ""
    curve = f"C{leave.x:.1f} {middle:.1f} {arrive.x:.1f} {middle:.1f} {arrive.x:.1f} {arrive.y:.1f}"
    return f"M{start.x:.1f} {start.y:.1f}{down}{curve}V{end.y:.1f}"


def _label(label: Label) -> str:
    """Return the text on top of a halo: a broad copy of itself in the paper's colour, which hides edges."""
    where = (
        f'x="{label.x:.1f}" y="{label.y:.1f}" font-size="{style.LABEL_SIZE:g}" text-anchor="{label.anchor}"'
    )
    text = escape(label.text)
    return f'<text class="halo" {where}>{text}</text><text class="label" {where}>{text}</text>'
