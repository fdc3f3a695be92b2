"""The programs of graphviz and the reader's viewer, where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from ..checks import warn_user
from ..errors import MissingExtraError, ParameterError

__all__ = ["ENGINES", "FORMATS", "has_engine", "open_file", "run_engine"]

ENGINES = ("dot", "neato", "fdp", "sfdp", "circo", "twopi", "osage", "patchwork")
#: What graphviz can write.
FORMATS = [
    "bmp", "canon", "cgimage", "cmap", "cmapx", "cmapx_np", "dot", "dot_json", "eps", "exr", "fig", "gd",
    "gd2", "gif", "gtk", "gv", "ico", "imap", "imap_np", "ismap", "jp2", "jpe", "jpeg", "jpg", "json",
    "json0", "pct", "pdf", "pic", "pict", "plain", "plain-ext", "png", "pov", "ps", "ps2", "psd", "sgi",
    "svg", "svg_inline", "svgz", "tga", "tif", "tiff", "tk", "vml", "vmlz", "vrml", "wbmp", "webp", "x11",
    "xdot", "xdot1.2", "xdot1.4", "xdot_json", "xlib",
]  # fmt: skip


def has_engine(engine: str) -> bool:
    """Return whether a program of graphviz is installed."""
    return shutil.which(engine) is not None


def run_engine(source: str, *, engine: str, format: str) -> bytes:
    """Return what a program of graphviz draws of a text in DOT."""
    if not has_engine(engine):
        raise MissingExtraError(
            f"plot_network: for this picture the format {format!r} needs graphviz's program '{engine}', which is not "
            f"installed (apt-get install graphviz, or brew install graphviz). 'svg' needs nothing; 'pdf' and 'png' "
            "need matplotlib (pip install 'rebind[viz]')."
        )
    done = subprocess.run([engine, f"-T{format}"], input=source.encode(), capture_output=True, check=False)
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode:
        raise ParameterError(f"plot_network: graphviz's {engine} cannot draw this as {format!r}: {said}")
    if said:
        warn_user(f"plot_network: graphviz's {engine} says: {said}")
    return done.stdout


def open_file(path: str) -> None:
    """Show a file with the program that the system has for it; without one, warn."""
    if sys.platform == "win32":
        os.startfile(path)
        return
    opener = shutil.which("open" if sys.platform == "darwin" else "xdg-open")
    if opener is None:
        warn_user(f"plot_network: no program to show '{path}' was found; the picture is in that file")
        return
    subprocess.Popen([opener, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
