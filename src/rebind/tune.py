"""`tune`: settings of the whole process that make training faster. ``import rebind`` makes none of them by itself."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

__all__ = ["Tuning", "give_back_freed_memory", "tune"]

#: Numbers of glibc's `mallopt`, from malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
#: The settings that stand, by name, with what puts each back.
_active: dict[str, Callable[[], None]] = {}


@dataclass
class Tuning:
    """What a call of `tune` has set; it can be undone, by `undo` or at the end of a ``with`` block.

    Attributes
    ----------
    done
        What was set, in words, by the keyword of `tune`.
    not_done
        What was not set, and why.

    Examples
    --------
    >>> Tuning({"memory": "freed memory is used again"})
    <Tuning: memory: freed memory is used again>
    """

    done: dict[str, str] = field(default_factory=dict)
    not_done: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = [f"{name}: {what}" for name, what in self.done.items()]
        said += [f"not {name}: {why}" for name, why in self.not_done.items()]
        return f"<Tuning: {'; '.join(said) or 'nothing is set'}>"

    def undo(self) -> None:
        """Put back what this call has set, as far as the system allows; what another call has set stands.

        ``memory``: glibc cannot go back to thresholds that grow with the arrays that a program frees. It gets those
        that they grow to, 32 MB for a block of its own and 64 MB for what may lie free at the heap's end, and what is
        free is given back.

        >>> tuning = tune()
        >>> tuning.undo()
        >>> tuning
        <Tuning: nothing is set>
        """
        for name in [*self.done]:
            del self.done[name]
            _active.pop(name)()
        self.not_done.clear()

    def __enter__(self) -> Tuning:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()


def tune(*, memory: bool = True) -> Tuning:
    """Change settings of the whole process that make training faster; return what was set.

    A setting of the user's own in the environment stands. To call it again changes nothing. ``rebind run`` and ``rebind
    launch`` have it called in the programs that they start, before PyTorch is loaded, as ``REBIND_TUNE=1`` in the
    environment does. Figures are in ``docs/faster.md``.

    Parameters
    ----------
    memory
        Use freed memory again rather than give it back to the system, which fills each page of new memory with zeros
        (glibc's `mallopt`: no `mmap`, no trimming below 2 GB). It gains 3 to 9 % of the training step of ResNet-18 and
        21 % of ResNet-50's inference of 16 images; small networks gain nothing. It costs memory: what the program has
        freed stays with the process. Unless there is any ``MALLOC_*``, or ``malloc`` in ``GLIBC_TUNABLES``.

    Notes
    -----
    How long threads of OpenMP wait for each other is for the environment to say, before PyTorch is loaded: on a machine
    that other programs keep busy, ``GOMP_SPINCOUNT=2000`` halves the time of a step; on a quiet one it costs a third of
    a small network's step, so that it is not set here.

    Examples
    --------
    >>> with tune() as tuning:
    ...     sorted([*tuning.done, *tuning.not_done])
    ['memory']
    """
    tuning = Tuning()
    wanted = {"memory": (memory, _reuse_memory)}
    for name, (is_wanted, apply) in wanted.items():
        if not is_wanted:
            continue
        try:
            if name in _active:
                raise _NotSetError("an earlier call has set it")
            tuning.done[name], _active[name] = apply()
        except _NotSetError as reason:
            tuning.not_done[name] = str(reason)
    return tuning


class _NotSetError(Exception):
    """Says why something is not set."""


def _reuse_memory() -> tuple[str, Callable[[], None]]:
    for name in os.environ:
        if name.startswith("MALLOC_") or (name == "GLIBC_TUNABLES" and "malloc" in os.environ[name]):
            raise _NotSetError(f"the environment has {name}")
    malloc = _malloc()
    if malloc is None:
        raise _NotSetError("malloc is not glibc's")
    _set_malloc(malloc, {_MMAP_MAX: 0, _TRIM_THRESHOLD: 2**31 - 1})
    return "freed memory is used again", partial(_give_memory_back_again, malloc)


def _give_memory_back_again(malloc: ctypes.CDLL) -> None:
    _set_malloc(malloc, {_MMAP_MAX: 65536, _MMAP_THRESHOLD: 32 * 2**20, _TRIM_THRESHOLD: 64 * 2**20})
    malloc.malloc_trim(0)


def _malloc() -> ctypes.CDLL | None:
    """The library with glibc's `mallopt`; musl has none, nor have other mallocs."""
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    return library if hasattr(library, "mallopt") else None


def _set_malloc(malloc: ctypes.CDLL, values: dict[int, int]) -> None:
    for number, value in values.items():
        malloc.mallopt(number, value)


def give_back_freed_memory() -> None:
    """Give the system back what is free at this moment, where `tune` has malloc use it again.

    It takes milliseconds, and the next arrays' pages are filled with zeros again: for once, after work that will not
    come again. Pages between arrays that are in use are given back, too.

    >>> give_back_freed_memory()
    """
    if "memory" in _active:
        ctypes.CDLL(None).malloc_trim(0)
