"""Networks and training as pictures and tables; ``mx.viz`` and ``mx.visualization``."""

from rebind.viz.curves import plot_history
from rebind.viz.network import NetworkPlot, plot_network
from rebind.viz.summary import print_summary

__all__ = ["NetworkPlot", "plot_history", "plot_network", "print_summary"]
