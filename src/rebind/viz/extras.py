"""Access to matplotlib, an optional extra, which is imported when a picture is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["matplotlib_figure"]


def matplotlib_figure(size: tuple[float, float], *, who: str, dpi: int = 100) -> Figure:
    """Return an empty figure that draws into files only, independent of any display.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message names the extra that installs it.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        message = f"{who}: this needs matplotlib, which the extra 'viz' installs: pip install 'rebind[viz]'"
        raise ImportError(message) from error
    # Without pyplot, which would pick a backend for the whole process and hold on to every figure.
    figure = Figure(figsize=size, dpi=dpi)
    FigureCanvasAgg(figure)
    return figure
