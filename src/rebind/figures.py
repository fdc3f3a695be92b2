"""Pictures by matplotlib, an optional extra, which is imported when a picture is made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .checks import PATH, check_kind, check_writable
from .errors import ParameterError, near_names
from .extras import imported

if TYPE_CHECKING:
    from os import PathLike

    from matplotlib.figure import Figure

__all__ = ["matplotlib_figure", "write_figure"]


def matplotlib_figure(size: tuple[float, float], *, who: str, dpi: int = 100) -> Figure:
    """Return an empty figure that draws into files only, independent of any display.

    Raises
    ------
    MissingExtraError
        If matplotlib is missing; the message names the extra that installs it.
    """
    # Without pyplot, which would pick a backend for the whole process and hold on to every figure.
    figure: Figure = imported("matplotlib.figure", "viz", who).Figure(figsize=size, dpi=dpi)
    imported("matplotlib.backends.backend_agg", "viz", who).FigureCanvasAgg(figure)
    return figure


def write_figure(figure: Figure, path: str | PathLike[str], who: str) -> str:
    """Write a figure in the format that the path's suffix names; return the path. Without a suffix: PNG.

    Raises
    ------
    ParameterError
        If matplotlib does not write the format.
    MissingFileError
        If the folder does not exist.

    Examples
    --------
    >>> write_figure(matplotlib_figure((3, 2), who="plot"), "p.xyz", "plot")
    Traceback (most recent call last):
    rebind.errors.ParameterError: plot: the suffix of the path must name a format, such as .png, .svg, .pdf; got ...
    """
    check_kind(who, PATH, path=path)
    target = Path(path)
    target = target if target.suffix else target.with_name(f"{target.name}.png")
    formats = figure.canvas.get_supported_filetypes()
    name = target.suffix.removeprefix(".").lower()
    if name not in formats:
        raise ParameterError(
            f"{who}: the suffix of the path must name a format, such as .png, .svg, .pdf; got "
            f"{str(path)!r}{near_names(name, formats)} Formats: {', '.join(sorted(formats))}."
        )
    check_writable(str(target), who)
    figure.savefig(target, format=name)
    return str(target)
