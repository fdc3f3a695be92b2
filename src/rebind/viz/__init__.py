"""Networks and training as pictures and tables; ``mx.viz`` and ``mx.visualization``."""

import typing as _typing

from ..absent import old_names as _old_names
from ..completion import listing as _listing
from .curves import HistoryPlot, plot_history
from .network import plot_network
from .notebook import module_html, symbol_html
from .plot import NetworkPlot
from .run_report import report
from .summary import print_summary

__all__ = [
    "HistoryPlot",
    "NetworkPlot",
    "module_html",
    "plot_history",
    "plot_network",
    "print_summary",
    "report",
    "symbol_html",
]
__dir__ = _listing(globals())

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
