"""Runs of a plan in which results are dropped, and computed again when backward needs them.

While forward runs, whatever autograd saves of a dropped result is replaced by a note on how it is computed. Autograd
asks for it in backward; then its operator runs once more, on inputs that are held or in their turn computed again, and
what it gives stays until nothing refers to it. It is the way of `torch.utils.checkpoint`, for single operators that
share what they compute, in place of sections of a program. Random operators draw the same numbers again, and what
an operator returns beside (new moving statistics) is not used a second time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx
from torch.autograd.graph import saved_tensors_hooks

from .._torch.tensors import storage_key, version_of
from ..grad_mode import grad_mode
from ..graph import Node
from ..tuning import current
from .stepwise import Stepwise

__all__ = ["Rematerialized"]


class Rematerialized(Stepwise):
    """Runs code that autograd records, without keeping the results of some nodes.

    Parameters
    ----------
    code
        The code of a plan. None of the nodes overwrites a result that is retained.
    nodes
        The nodes.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import Target, lower
    >>> net = mx.sym.exp(mx.sym.sin(mx.sym.var("x"), name="sin"))
    >>> plan = lower(net.graph, Target(training=True))
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> (output,), _, _ = Rematerialized(
    ...     plan.code, [node for node in net.graph.nodes if node.name == "sin"]
    ... ).run(x)
    >>> output.backward()
    >>> torch.equal(x.grad, x.cos() * x.sin().exp())
    True
    """

    def __init__(self, code: fx.GraphModule, nodes: Collection[Node]) -> None:
        super().__init__(code)
        self._nodes = nodes
        self._results: dict[fx.Node, _Result] = {}

    def run(self, *args: Any, **options: Any) -> Any:
        """Run the code."""
        self._saving = _Saving()
        # Autograd holds what packs: nothing that holds results again may be reached from there.
        with saved_tensors_hooks(self._saving.pack, _unpack):
            found = super().run(*args, **options)
        self.env.clear()
        return found

    def run_node(self, n: fx.Node) -> Any:
        """Run one step, and forget what no later one needs."""
        found = super().run_node(n)
        for used in self.user_to_last_uses.get(n, ()):
            self._results.pop(used, None)
        return found

    def call_function(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one step; what it gives is noted if it is to be computed again."""
        node: Node | None = self.step.meta.get("node")
        if node is None:
            if (several := self._results.get(self.step.args[0])) is not None:  # type: ignore[arg-type]  # a node
                self._results[self.step] = several.run.result(args[1])
            return self.compute(target, args, kwargs)
        dropped = [
            self._results.get(source) if isinstance(source, fx.Node) else None for source in self.step.args
        ]
        again: _Again | None = None
        if node in self._nodes:
            again = _Again(
                target, [d or _leaf(value) for d, value in zip(dropped, args, strict=True)], kwargs
            )
            self._results[self.step] = again.result(None)
        with self._saving.of(again, args, dropped):
            return self.compute(target, args, kwargs)


class _Saving:
    """What becomes of the tensors that autograd saves of the step that is run."""

    def __init__(self) -> None:
        self._factor = current().saved_tensor_factor
        self._forget()

    def _forget(self) -> None:
        self._again: _Again | None = None
        self._count = 0
        self._inputs: dict[int | None, _Input] = {}  # by memory; None, of what has none, is no key
        self._largest = 0

    @contextmanager
    def of(
        self, again: _Again | None, inputs: Sequence[Any], dropped: Sequence[_Result | None]
    ) -> Iterator[None]:
        """For a step with these inputs, of which some are dropped; it is computed again if `again` says how."""
        pairs = [
            (value, result)
            for value, result in zip(inputs, dropped, strict=True)
            if isinstance(value, Tensor)
        ]
        self._again, self._count = again, 0
        self._inputs = {
            key: _Input(value, result, version_of(value))
            for value, result in pairs
            if (key := _memory(value)) is not None
        }
        self._largest = max((value.nbytes for value, _ in pairs), default=0)
        try:
            yield
        finally:
            self._forget()

    def pack(self, tensor: Tensor) -> Tensor | _Part | _Saved:
        """Return what autograd keeps in place of a tensor that it saves."""
        number, self._count = self._count, self._count + 1
        source = self._inputs.get(_memory(tensor))
        # What was written over is a result of this step, not the input any more.
        if source is not None and version_of(source.tensor) == source.version:
            if source.result is None or tensor.dtype != source.tensor.dtype:
                return tensor.detach()
            return _Part(source.result, tensor.size(), tensor.stride(), int(tensor.storage_offset()))
        if self._again is None or tensor.nbytes * self._factor <= self._largest:
            # A result that autograd's own record of it held would never be freed.
            return tensor.detach()
        self._again.wanted.add(number)
        return _Saved(self._again, number)


def _unpack(packed: Tensor | _Part | _Saved) -> Tensor:
    return packed if isinstance(packed, Tensor) else packed.tensor()


class _Input(NamedTuple):
    tensor: Tensor
    result: _Result | None  # how it is computed, if it is dropped
    version: int  # before the step


class _Again:
    """A call of an operator that can be made once more.

    What it gives lives as long as something refers to this object: what autograd saved, and calls that take a result
    as their input and have not been made once more.
    """

    __slots__ = ("_inputs", "_kernel", "_keywords", "_random_state", "_results", "_saved", "wanted")

    def __init__(self, kernel: Any, inputs: list[_Result | Tensor | None], keywords: dict[str, Any]) -> None:
        self._kernel, self._inputs, self._keywords = kernel, inputs, keywords
        generator = keywords.get("generator")
        self._random_state = None if generator is None else generator.get_state()
        #: The numbers of the tensors that autograd saved of the first call and asks for.
        self.wanted: set[int] = set()
        self._saved: dict[int, Tensor] = {}
        self._results: Any = None

    def result(self, number: int | None) -> _Result:
        """Return the note for a result; None for the only one."""
        return _Result(self, number)

    def results(self) -> Any:
        """Return what it gives."""
        self._make()
        return self._results

    def saved(self, number: int) -> Tensor:
        """Return what autograd saved as tensor `number`."""
        self._make()
        return self._saved[number]

    def _make(self) -> None:
        # A stack of our own: chains may be longer than Python's.
        calls = [self]
        while calls:
            call = calls[-1]
            missing = [
                each.run
                for each in call._inputs
                if isinstance(each, _Result) and each.run._results is None and call._results is None
            ]
            if missing:
                calls += missing
                continue
            calls.pop()
            if call._results is None:
                call._call()

    def _call(self) -> None:
        inputs = [each.value() if isinstance(each, _Result) else each for each in self._inputs]
        caught = _Caught(self.wanted)
        # Recorded, as the first time, to see what autograd saves.
        with grad_mode(True), saved_tensors_hooks(caught.take, _not_kept), self._drawing_again():
            self._results = self._kernel(*inputs, **self._keywords)
        # What is recorded here holds `caught` as long as the results live, but nothing in it.
        self._saved, caught.saved = caught.saved, {}
        self._inputs = []

    @contextmanager
    def _drawing_again(self) -> Iterator[None]:
        if self._random_state is None:
            yield
            return
        generator = self._keywords["generator"]
        after = generator.get_state()
        generator.set_state(self._random_state)
        try:
            yield
        finally:
            generator.set_state(after)


class _Caught:
    """What autograd saves of a call, as far as it is wanted: tensors by number."""

    def __init__(self, wanted: Collection[int]) -> None:
        self._wanted = wanted
        self._count = 0
        self.saved: dict[int, Tensor] = {}

    def take(self, tensor: Tensor) -> None:
        if self._count in self._wanted:
            self.saved[self._count] = tensor.detach()
        self._count += 1


class _Result(NamedTuple):
    """A result of a call that is made once more; the one that is not in a tuple has no number."""

    run: _Again
    number: int | None

    def value(self) -> Tensor:
        found = self.run.results()
        value: Tensor = found if self.number is None else found[self.number]
        return value


class _Part(NamedTuple):
    """A dropped result, or a view of it, as autograd saved it."""

    result: _Result
    size: torch.Size
    stride: tuple[int, ...]
    offset: int

    def tensor(self) -> Tensor:
        return self.result.value().detach().as_strided(self.size, self.stride, self.offset)


class _Saved(NamedTuple):
    """A tensor that an operator saves beside its inputs: a result, or one that it does not return."""

    run: _Again
    number: int

    def tensor(self) -> Tensor:
        return self.run.saved(self.number)


def _leaf(value: Tensor | None) -> Tensor | None:
    """Return an input that is retained, without the record of how it was computed."""
    return value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value


def _memory(tensor: Tensor) -> int | None:
    """Return what tells a tensor's memory from that of all others that live; None where it has no single one."""
    return storage_key(tensor.untyped_storage()) if tensor.layout is torch.strided else None


def _not_kept(_: None) -> Tensor:
    raise AssertionError("what a second call records is not differentiated")
