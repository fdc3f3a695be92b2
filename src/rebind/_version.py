"""The version, in its one place: the build and ``rebind.__version__`` both read it here."""

__version__ = "0.1.0"
