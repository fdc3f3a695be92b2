"""Where time goes, as a picture: a bar for each node."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from ..extras import imported
from ..figures import write_figure
from .nodes import NodeRecord

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ProfilePicture", "draw"]

# Okabe and Ito's blue and vermilion, readable on white and by the colour-blind.
_FORWARD, _BACKWARD = "#0072b2", "#d55e00"


class ProfilePicture:
    """A picture of a profile; a notebook displays it.

    Attributes
    ----------
    figure
        The figure of matplotlib.
    """

    def __init__(self, figure: Figure) -> None:
        self.figure = figure

    def save(self, path: str | os.PathLike[str]) -> str:
        """Write it to `path`, whose suffix names the format (PNG, SVG, PDF); return the path."""
        return write_figure(self.figure, path, "Profile.plot")

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.figure.savefig(content, format="png")
        return content.getvalue()


def draw(records: Sequence[NodeRecord], rows: int) -> ProfilePicture:
    """Draw the first records as bars, forward and backward, with the share of each; the longest is on top.

    Parameters
    ----------
    records
        The longest first.
    rows
        How many bars there are; the others are one more.

    Examples
    --------
    >>> picture = draw([NodeRecord("fc1", "FullyConnected", forward=0.2, backward=0.3, share=1.0)], 20)
    >>> [text.get_text() for text in picture.figure.axes[0].get_yticklabels()]
    ['fc1']
    """
    shown = list(records[:rows])
    if rest := records[rows:]:
        more = NodeRecord(f"({len(rest)} more)", "", share=sum(each.share for each in rest))
        more.forward, more.backward = sum(each.forward for each in rest), sum(each.backward for each in rest)
        shown.append(more)
    # Without pyplot, which would choose a backend for the whole process.
    size = (9, 1.2 + 0.28 * len(shown))
    figure: Figure = imported("matplotlib.figure", "viz", "Profile.plot").Figure(
        figsize=size, layout="constrained"
    )
    axes = figure.subplots()
    names = range(len(shown))
    forward = [1000 * each.forward for each in shown]
    axes.barh(names, forward, color=_FORWARD, label="forward")
    axes.barh(
        names, [1000 * each.backward for each in shown], left=forward, color=_BACKWARD, label="backward"
    )
    for i, each in enumerate(shown):
        axes.text(1000 * each.seconds, i, f" {each.share:.0%}", va="center", fontsize=8)
    axes.set_yticks(names, [each.name for each in shown], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel("milliseconds")
    axes.legend(loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return ProfilePicture(figure)
