"""What MXNet keeps under ``contrib``: ``nd.contrib.X`` and ``sym.contrib.X`` are the operators ``_contrib_X``."""

from . import tensor

__all__ = ["tensor"]
