"""Training curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ArgumentError, ParameterError, shown
from ..figures import matplotlib_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HistoryPlot", "plot_history"]

# One colour for each split of the data, readable on white and by the colour-blind (Okabe and Ito's).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


class HistoryPlot:
    """Training curves as a picture; a notebook displays it.

    Attributes
    ----------
    figure
        The figure of matplotlib.
    """

    def __init__(self, figure: Figure, description: str) -> None:
        self.figure = figure
        self._description = description

    def save(self, path: str | Path) -> str:
        """Write the picture to `path`, whose suffix names the format (PNG, SVG, PDF); return the path."""
        return write_figure(self.figure, path, "plot_history")

    def _repr_png_(self) -> bytes:
        content = BytesIO()
        self.figure.savefig(content, format="png")
        return content.getvalue()

    def __repr__(self) -> str:
        return f"<HistoryPlot {self._description}>"


def plot_history(
    history: Mapping[str, Mapping[str, Sequence[float]]], path: str | Path | None = None, *, title: str = ""
) -> HistoryPlot:
    """Draw one panel for each metric, with one curve for each split of the data.

    The last line of a notebook's cell shows the picture.

    Parameters
    ----------
    history
        Values by epoch, for each split and metric: ``{"train": {"accuracy": [...]}, "validation": {...}}``.
    path
        The file to write, if any; the suffix names the format (PNG, SVG, PDF).
    title
        A line above the panels.

    Returns
    -------
    HistoryPlot
        With ``save(path)`` and ``figure``, which is matplotlib's.

    Raises
    ------
    ValueError
        If there is no value to draw.
    ImportError
        If matplotlib is missing (extra ``viz``).
    """
    if not _is_history(history):
        raise ArgumentError(
            "plot_history: history must be what fit() returned, {'train': {metric: [value of each epoch]}, ...}; "
            f"got {shown(history)}"
        )
    metrics = list(
        dict.fromkeys(name for curves in history.values() for name, values in curves.items() if len(values))
    )
    if not metrics:
        raise ParameterError(
            f"plot_history: history must hold at least one value; got {shown(dict(history))}"
        )
    figure = matplotlib_figure((5.2 * len(metrics), 3.6), who="plot_history", dpi=120)
    for i, (axes, metric) in enumerate(zip(figure.subplots(1, len(metrics), squeeze=False)[0], metrics)):
        for colour, (split, curves) in zip(_repeat(COLOURS, len(history)), history.items()):
            if values := list(curves.get(metric, ())):
                epochs = range(1, len(values) + 1)
                axes.plot(epochs, values, label=split, color=colour, linewidth=2, marker="o", markersize=4)
        axes.set_title(metric, fontsize=11)
        axes.set_xlabel("epoch")
        # There is no epoch 1.5.
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25, linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        if i == 0:  # the curves are the same in all panels
            axes.legend(frameon=False)
    if title:
        figure.suptitle(title, fontsize=12, fontweight="bold")
    figure.tight_layout()
    plot = HistoryPlot(figure, f"of {', '.join(history)}: {', '.join(metrics)}")
    if path is not None:
        plot.save(path)
    return plot


def _is_history(history: object) -> bool:
    """Return whether this has the form of a history: curves by split and metric."""
    return isinstance(history, Mapping) and all(
        isinstance(curves, Mapping)
        and all(hasattr(values, "__len__") and not isinstance(values, str) for values in curves.values())
        for curves in history.values()
    )


def _repeat(colours: Sequence[str], count: int) -> list[str]:
    return [colours[i % len(colours)] for i in range(count)]
