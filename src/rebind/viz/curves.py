"""Training curves as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from .extras import matplotlib_figure

__all__ = ["plot_history"]

# One colour for each part of the data, readable on white and by the colour-blind (Okabe and Ito's).
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def plot_history(
    history: Mapping[str, Mapping[str, Sequence[float]]], path: str | Path, *, title: str = ""
) -> None:
    """Draw one panel for each measure, with one curve for each part of the data, and write it to `path`.

    Parameters
    ----------
    history
        Values by epoch, by part and measure: ``{"train": {"accuracy": [...]}, "validation": {...}}``.
    path
        Where to write; the suffix names the format (PNG, SVG, PDF).
    title
        A line above the panels.

    Raises
    ------
    ValueError
        If there is no value to draw.
    ImportError
        If matplotlib is missing (extra ``viz``).
    """
    measures = list(
        dict.fromkeys(name for part in history.values() for name, values in part.items() if len(values))
    )
    if not measures:
        raise ValueError(f"plot_history: history must hold at least one value; got {dict(history)!r}")
    figure = matplotlib_figure((5.2 * len(measures), 3.6), who="plot_history", dpi=120)
    for i, (axes, measure) in enumerate(zip(figure.subplots(1, len(measures), squeeze=False)[0], measures)):
        for colour, (part, curves) in zip(_repeat(COLOURS, len(history)), history.items()):
            if values := list(curves.get(measure, ())):
                epochs = range(1, len(values) + 1)
                axes.plot(epochs, values, label=part, color=colour, linewidth=2, marker="o", markersize=4)
        axes.set_title(measure, fontsize=11)
        axes.set_xlabel("epoch")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.grid(alpha=0.25, linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
        if i == 0:
            axes.legend(frameon=False)
    if title:
        figure.suptitle(title, fontsize=12, fontweight="bold")
    figure.tight_layout()
    figure.savefig(path)


def _repeat(colours: Sequence[str], count: int) -> list[str]:
    return [colours[i % len(colours)] for i in range(count)]
