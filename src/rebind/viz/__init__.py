"""Networks and training as pictures and tables; ``mx.viz`` and ``mx.visualization``."""

from .curves import plot_history
from .network import NetworkPlot, plot_network
from .notebook import module_html, symbol_html
from .summary import print_summary

__all__ = ["NetworkPlot", "module_html", "plot_history", "plot_network", "print_summary", "symbol_html"]
