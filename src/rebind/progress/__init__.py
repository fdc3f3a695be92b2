"""What `fit` shows while it runs: a line for each epoch and a bar for the running one, in a terminal or a notebook."""

from .progress import Progress, is_logged, is_wanted

__all__ = ["Progress", "is_logged", "is_wanted"]
