"""The version, which the build and ``rebind.__version__`` both read from here."""

__version__ = "0.1.0"
