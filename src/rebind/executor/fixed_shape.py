"""Code that is compiled for the sizes of the tensors that it is first given, and is called without Dynamo.

`torch.compile` finds its code by conditions, which it looks at in each call, and goes through some seventy functions of
Dynamo's before and after: 0.1 ms, where the whole step of a small network takes 0.4. Which function runs is known here,
and so is what it depends on: tensors, in a fixed order. It is traced by `make_fx`, and handed to the compiler itself.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, fx

from .._torch.compiler import lookup_backend, mark_any_size, trace, traces, written_arguments
from ..grad_mode import grad_mode
from ..graph.facts import CUDA_GRAPHS
from ..graph.passes import Compiler
from ..nested import map_leaves
from ..tuning import current
from .compiling import CompiledCode, called_from_cpp, is_inductor, without_warnings_of_compilers
from .cuda_graphs import ReplayedCode
from .outputs import shares_memory

__all__ = ["FixedShapeCode", "InferenceCode", "ShapeSpecializer", "reads_inputs_alone", "tensors_in"]

R = TypeVar("R")

#: What code depends on besides values; the order in memory comes on top.
_FORM = operator.attrgetter("shape", "dtype", "device")


class FixedShapeCode:
    """A function of tensors that returns tuples of tensors, compiled for the sizes of some.

    On a GPU what PyTorch's compiler makes of it, or with the backend ``'cudagraphs'`` it itself, is replayed as CUDA
    graphs.

    Parameters
    ----------
    function
        It must be pure but for writing into its inputs, call no Python that the compiler is not to follow, and depend
        on nothing but its inputs that may change. It returns some tuples, whose members are tensors or None.
    inputs
        What it is traced with; they are not written to.
    compiler
        What compiles it.
    may_be_replayed
        Whether nothing but its inputs may change, so that a GPU may run it again without Python.

    Raises
    ------
    Exception
        Whatever the tracer or the compiler says, where it cannot be compiled.

    Examples
    --------
    >>> code = FixedShapeCode(lambda x, y: ((x + y,), (None, x * y)), [torch.ones(2), torch.ones(2)], "eager")
    >>> code([torch.ones(2), torch.tensor([2.0, 3.0])])
    [(tensor([3., 4.]),), (None, tensor([2., 3.]))]
    >>> code.takes([torch.ones(2), torch.ones(2)]), code.takes([torch.ones(3), torch.ones(3)])
    (True, False)
    """

    def __init__(
        self,
        function: Callable[..., Sequence[Sequence[Any]]],
        inputs: Sequence[Tensor],
        compiler: Compiler,
        may_be_replayed: bool = True,
    ) -> None:
        self._form = _form_of(inputs)
        #: For each of the tuples where its members are among the code's results.
        self._places: list[slice | list[int | None]] = []
        #: The results that compiled code returns in the memory of inputs; None before the first run.
        self._shared: Collection[int] | None = None
        runs_itself = compiler == CUDA_GRAPHS
        written: Collection[int] | None = None
        with grad_mode(False), without_warnings_of_compilers():
            self._run: Callable[..., Sequence[Tensor]] = functools.partial(self._flat, function)
            if not runs_itself:
                graph = self._trace(self._run, inputs)
                written = _written_inputs(graph)
                backend = lookup_backend(compiler)
                self._run = backend(graph, list(inputs))
        # A seed, on the processor, is read when the code is run: a replay would draw the same numbers again.
        on_gpu = all(each.is_cuda for each in inputs)
        if may_be_replayed and on_gpu and (runs_itself or is_inductor(compiler)):
            self._run = ReplayedCode(self._run, written)

    def _flat(self, function: Callable[..., Any], *tensors: Tensor) -> list[Tensor]:
        """Return all results of the function as one list."""
        results: list[Tensor] = []
        self._places.clear()
        for part in function(*tensors):
            found = [each for each in part if each is not None]
            numbers = itertools.count(len(results))
            places = [None if each is None else next(numbers) for each in part]
            self._places.append(places if None in places else slice(len(results), len(results) + len(found)))
            results += found
        return results

    def _trace(self, flat: Callable[..., Any], inputs: Sequence[Tensor]) -> fx.GraphModule:
        # Autograd is run in this thread, where the tracer looks.
        with torch.autograd.set_multithreading_enabled(False):
            return trace(flat, inputs)

    def takes(self, inputs: Sequence[Tensor]) -> bool:
        """Return whether the code is for tensors of these sizes, types, devices and orders in memory."""
        return _form_of(inputs) == self._form

    def takes_at(self, position: int, inputs: Sequence[Tensor]) -> bool:
        """Return the same of some of the tensors, which come one after the other from a position on.

        >>> code = FixedShapeCode(lambda x, y: ((x + y,),), [torch.ones(2), torch.ones(1)], "eager")
        >>> code.takes_at(1, [torch.ones(1)]), code.takes_at(0, [torch.ones(1)])
        (True, False)
        """
        part = slice(position, position + len(inputs))
        return _form_of(inputs) == tuple(each[part] for each in self._form)

    def __len__(self) -> int:
        return len(self._form[0])

    def mark_other_sizes(self, inputs: Sequence[Tensor]) -> None:
        """Tell Dynamo, before it compiles for other sizes, that those which differ may be any."""
        for tensor, shape in zip(inputs, map(operator.itemgetter(0), self._form[0]), strict=True):
            for axis, size in enumerate(tensor.shape):
                if len(shape) == tensor.dim() and shape[axis] != size:
                    mark_any_size(tensor, axis)

    def __call__(self, inputs: Sequence[Tensor]) -> list[tuple[Any, ...]]:
        """Run it on tensors that it takes, where nothing is recorded; that is not looked at.

        None of the results is in the memory of an input.
        """
        results = self._run(*inputs)
        if self._shared is None:  # the same in each run
            self._shared = [i for i, each in enumerate(results) if shares_memory(each, inputs)]
        if self._shared:
            results = [each.clone() if i in self._shared else each for i, each in enumerate(results)]
        return [
            tuple(results[places])
            if isinstance(places, slice)
            else tuple([None if i is None else results[i] for i in places])
            for places in self._places
        ]


class ShapeSpecializer:
    """A function of trees of tensors by exact code, which is made at the first call, for the sizes of that.

    Other sizes are Dynamo's, which is given the sizes that differ, so that one code does for all of them; those of CUDA
    graphs have code of their own.

    Parameters
    ----------
    function
        As of `FixedShapeCode`, with tuples and lists of tensors for arguments; what else is in them stays the same.
    compiler, may_be_replayed
        As of `FixedShapeCode`.

    Examples
    --------
    >>> first = ShapeSpecializer(lambda tensors: (tensors,), "eager")
    >>> first.run([torch.ones(1)]), first.run([torch.ones(2)])
    ([(tensor([1.]),)], None)
    """

    def __init__(
        self,
        function: Callable[..., Sequence[Sequence[Any]]],
        compiler: Compiler,
        may_be_replayed: bool = True,
    ) -> None:
        self._function, self._compiler, self._may_be_replayed = function, compiler, may_be_replayed
        #: Its code; None before the first call, and where it cannot be made.
        self.code: FixedShapeCode | None = None
        self._tried = False
        #: For other sizes, of code that takes no time to make.
        self._others: list[FixedShapeCode] = []

    def run(self, *trees: Any) -> list[tuple[Any, ...]] | None:
        """Return the function's results; None, and nothing was done, where there is no code for these sizes."""
        inputs = tensors_in(trees)
        if not self._tried and traces():
            self._tried = True
            with contextlib.suppress(Exception):  # what goes wrong Dynamo meets again, and says so
                self.code = self._make(inputs, trees)
        if self.code is None:
            return None
        if not self.code.takes(inputs):
            if self._compiler != CUDA_GRAPHS:
                self.code.mark_other_sizes(inputs)
                return None
            self._switch(inputs, trees)
        return self.code(inputs)

    def _make(self, inputs: Sequence[Tensor], trees: Any) -> FixedShapeCode:
        # On GPUs calls from C++ compile for half a minute, and a replay has none.
        on_gpu = any([each.is_cuda for each in inputs])
        compiler = self._compiler if on_gpu else called_from_cpp(self._compiler)
        return FixedShapeCode(_of_tensors(self._function, trees), inputs, compiler, self._may_be_replayed)

    def _switch(self, inputs: Sequence[Tensor], trees: Any) -> None:
        """Switch to the code for other sizes; that of the last few sizes stays available."""
        assert self.code is not None
        found = next((each for each in self._others if each.takes(inputs)), None)
        others = [self.code, *(each for each in self._others if each is not found)]
        self._others = others[: current().cuda_graph_sizes]
        self.code = self._make(inputs, trees) if found is None else found


class InferenceCode(CompiledCode):
    """The compiled form of a plan's code of which nothing is differentiated: for its first sizes exact code.

    It returns no inputs of losses, which need not be computed apart from the outputs then.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import lower
    >>> from rebind.graph import Target
    >>> plan = lower((mx.sym.var("x") * 2).graph, Target(traced=True, recorded=False))
    >>> InferenceCode(plan.code, "eager")(torch.ones(2))
    ((tensor([2., 2.]),), (), ((),))
    """

    def __init__(self, code: fx.GraphModule, compiler: Compiler) -> None:
        super().__init__(code, compiler)
        self._first: ShapeSpecializer | None = None

    def give_up(self, reason: str) -> None:
        """Note why it cannot be compiled, and drop what was compiled."""
        super().give_up(reason)
        self._first = None

    def _run_on(self, code: fx.GraphModule, inputs: Sequence[Any]) -> object:
        if self._first is None:
            self._first = ShapeSpecializer(
                lambda *tensors: code(*tensors)[:2], self.compiler, reads_inputs_alone(code)
            )
        found = self._first.run(*inputs)
        if found is None:
            return super()._run_on(code, inputs)
        outputs, new_aux = found
        return outputs, new_aux, ((),) * len(outputs)


def reads_inputs_alone(code: fx.GraphModule) -> bool:
    """Return whether no operator of a plan's code reads what is no input, and may change from run to run.

    >>> import rebind as mx
    >>> from rebind.executor import lower
    >>> from rebind.graph import Target
    >>> reads_inputs_alone(lower((mx.sym.var("x") * 2).graph, Target()).code)
    True
    """
    kernels = [step.meta["node"].operator.kernels for step in code.graph.nodes if "node" in step.meta]
    return not any(each.reads_state or each.runs_users_code for each in kernels)


def _written_inputs(graph: fx.GraphModule) -> set[int]:
    """Return the positions of inputs that traced code writes into.

    >>> def add(x, y):
    ...     return [x.add_(y)]
    >>> from torch.fx.experimental.proxy_tensor import make_fx
    >>> _written_inputs(make_fx(add)(torch.ones(1), torch.ones(1)))
    {0}
    """
    inputs = graph.graph.find_nodes(op="placeholder")
    values = [value for call in graph.graph.nodes for value in written_arguments(call)]
    written = {node for value in values for node in (value if isinstance(value, (list, tuple)) else [value])}
    return {i for i, node in enumerate(inputs) if node in written}


def tensors_in(trees: Any) -> list[Tensor]:
    """Return the tensors of trees of tuples and lists, in the order of `pytree`, which takes far longer.

    >>> tensors_in(([torch.ones(1), None], (torch.zeros(1), "name")))
    [tensor([1.]), tensor([0.])]
    """
    found: list[Tensor] = []
    for each in trees:
        if isinstance(each, Tensor):
            found.append(each)
        elif isinstance(each, (tuple, list)):
            found += tensors_in(each)
    return found


def _of_tensors(function: Callable[..., R], trees: Any) -> Callable[..., R]:
    """Return a function of the tensors of trees; what else is in the trees is the same in each call."""
    # Without the tensors, which are not to live as long as the function.
    form = map_leaves(lambda leaf: Tensor if isinstance(leaf, Tensor) else leaf, trees)

    def of_tensors(*tensors: Tensor) -> R:
        given = iter(tensors)
        return function(*map_leaves(lambda leaf: next(given) if leaf is Tensor else leaf, form))

    return of_tensors


def _form_of(inputs: Sequence[Tensor]) -> tuple[list[Any], list[Any]]:
    return [*map(_FORM, inputs)], [*map(Tensor.stride, inputs)]
