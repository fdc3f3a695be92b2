"""What the commands of this package share: options that are lists of names, threads, and where tables go."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from rich.console import Console

__all__ = ["Names", "set_threads", "wide"]


class Names:
    """Parse a comma-separated list of names out of `known`."""

    def __init__(self, known: Iterable[str]) -> None:
        self._known = list(known)

    def __call__(self, text: str) -> list[str]:
        names = text.split(",")
        for name in names:
            if name not in self._known:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(self._known)}")
        return names


def set_threads(threads: int | None) -> int:
    """Threads for every engine: as asked, else as many as PyTorch takes by itself."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    return torch.get_num_threads()


def wide(console: Console) -> Console:
    """A console wide enough for the table when the output goes to a file or a log."""
    return console if console.is_terminal else Console(width=200)
