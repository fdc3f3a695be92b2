"""Code that a GPU runs again without Python: CUDA graphs of what it launched.

To launch an operator takes the processor some microseconds, and many take the GPU less. What a function launched for
some tensors can be launched again as a whole, on the same memory (`torch.cuda.CUDAGraph`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from .._torch import foreach
from .._torch.tensors import version_of
from ..checks import warn_user
from ..tuning import current
from .compiling import reason_of

__all__ = ["Capture", "ReplayedCode", "capture_on_gpu"]

Run: TypeAlias = Callable[..., Sequence[Tensor]]

#: Where inputs are that are copied into memory of their own.
_OWN = -1


class Capture(NamedTuple):
    """What a function launched: its results, in memory that stays the same, and what computes them again."""

    results: Sequence[Tensor]
    replay: Callable[[], object]


def capture_on_gpu(run: Run, inputs: Sequence[Tensor]) -> Capture:
    """Return what a function launches for tensors of one GPU, without computing it."""
    graph, device = torch.cuda.CUDAGraph(), inputs[0].device
    with torch.cuda.device(device):
        before = torch.cuda.current_stream()
        try:
            # Other threads may allocate and copy meanwhile, as those that prepare batches.
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                results = run(*inputs)
        finally:
            # Where the end of a capture fails, PyTorch leaves its stream the current one.
            torch.cuda.set_stream(before)
    return Capture(results, functools.partial(_replay, graph, device))


def _replay(graph: torch.cuda.CUDAGraph, device: torch.device) -> None:
    with torch.cuda.device(device):
        graph.replay()


class ReplayedCode:
    """A function of tensors on one GPU, captured when it is called for the same memory again, and replayed afterwards.

    An input that comes in other memory than the last time, such as a batch, is copied into memory of its own, unless
    the function writes into it. What cannot be captured runs as it is, and says why, once.

    A replay writes its results over those of the last one: what is returned are copies.

    Parameters
    ----------
    run
        The function: pure but for writing into its inputs, of which the first is on the GPU. It may be called without
        anything being computed.
    written
        The positions of inputs that it writes into; None: those whose versions are new after a run.
    capture
        What captures it; None: `capture_on_gpu`.

    Examples
    --------
    >>> def capture(run, inputs):  # on the processor: run again, and write the results over the last ones
    ...     results = run(*inputs)
    ...     replay = lambda: [old.copy_(new) for old, new in zip(results, run(*inputs))]
    ...     return Capture(results, replay)
    >>> code = ReplayedCode(lambda x: (x * 2,), capture=capture)
    >>> x = torch.ones(2)
    >>> [code(x.fill_(number)) for number in range(3)]
    [(tensor([0., 0.]),), [tensor([2., 2.])], [tensor([4., 4.])]]
    """

    def __init__(
        self,
        run: Run,
        written: Collection[int] | None = None,
        capture: Callable[[Run, Sequence[Tensor]], Capture] | None = None,
    ) -> None:
        self._run, self._written, self._capture = run, written, capture or capture_on_gpu
        #: Where the inputs were in the last run; None before the first.
        self._last: list[int] | None = None
        #: By position: the memory of inputs that come in other memory each time.
        self._own: dict[int, Tensor] = {}
        #: By where the other inputs are; None where they were for the first time.
        self._captures: dict[tuple[int, ...], Capture | None] = {}
        self._count = 0
        self._gave_up = False

    def __call__(self, *inputs: Tensor) -> Sequence[Tensor]:
        """Run it, or replay it."""
        if self._gave_up:
            return self._run(*inputs)
        places = [*map(Tensor.data_ptr, inputs)]
        if self._last is None:
            return self._first_run(places, inputs)
        last, self._last = self._last, places
        for position in self._own:
            places[position] = _OWN
        found = self._captures.get(tuple(places)) or self._captured(places, last, inputs)
        if found is None:
            return self._run(*inputs)
        if self._own:
            foreach.copy_([*self._own.values()], [inputs[i] for i in self._own])
        found.replay()
        if self._written:
            # What is retained from run to run is computed again where a version is new.
            torch.autograd.graph.increment_version([inputs[i] for i in self._written])
        copies = [*map(torch.empty_like, found.results)]
        foreach.copy_(copies, [*found.results])
        return copies

    def _first_run(self, places: list[int], inputs: Sequence[Tensor]) -> Sequence[Tensor]:
        self._last = places
        self._captures[tuple(places)] = None
        versions = [version_of(each) for each in inputs]
        results = self._run(*inputs)
        if self._written is None:
            self._written = [i for i, each in enumerate(inputs) if version_of(each) != versions[i]]
        return results

    def _captured(self, places: list[int], last: Sequence[int], inputs: Sequence[Tensor]) -> Capture | None:
        """Return a capture for where the inputs are; None where it is too early, or there can be none."""
        assert self._written is not None
        changed = [i for i, place in enumerate(places) if place != last[i] and i not in self._written]
        if not changed and tuple(places) not in self._captures:
            self._captures[tuple(places)] = None  # other memory to write into: perhaps it comes again
            return None
        if self._count >= current().cuda_graph_captures:
            self._give_up(f"its inputs were at other memory addresses {self._count} times")
            return None
        self._count += 1
        if changed:
            self._captures.clear()  # they read the memory that was
        try:
            for i in changed:
                each, places[i] = inputs[i], _OWN
                self._own[i] = torch.empty_strided(
                    each.shape, each.stride(), dtype=each.dtype, device=each.device
                )
            found = self._capture(self._run, [self._own.get(i, each) for i, each in enumerate(inputs)])
        except Exception as error:
            self._give_up(reason_of(error))
            return None
        self._captures[tuple(places)] = found
        return found

    def _give_up(self, reason: str) -> None:
        """Run as it is from now on."""
        self._gave_up = True
        self._captures.clear()
        self._own.clear()
        warn_user(f"CUDA graphs: a network runs without CUDA graphs: {reason}")
