"""Networks and training as pictures and tables; ``mx.viz`` and ``mx.visualization``."""

from typing import TYPE_CHECKING

from ..absent import old_names
from .curves import HistoryPlot, plot_history
from .network import plot_network
from .notebook import module_html, symbol_html
from .plot import NetworkPlot
from .summary import print_summary

__all__ = [
    "HistoryPlot",
    "NetworkPlot",
    "module_html",
    "plot_history",
    "plot_network",
    "print_summary",
    "symbol_html",
]

if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
