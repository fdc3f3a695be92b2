"""The optional extra of this folder: matplotlib, imported when a picture is made and not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["matplotlib_figure"]


def matplotlib_figure(size: tuple[float, float], *, who: str, dpi: int = 100) -> Figure:
    """Return an empty figure that draws into files only, whatever display there is.

    Raises
    ------
    ImportError
        If matplotlib is missing; the message says which extra brings it.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        message = f"{who}: this needs matplotlib, which the extra 'viz' brings: pip install 'rebind[viz]'"
        raise ImportError(message) from error
    figure = Figure(figsize=size, dpi=dpi)
    FigureCanvasAgg(figure)
    return figure
