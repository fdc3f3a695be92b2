"""Code that `torch.compile` makes of a plan's, and the reason where it cannot.

A plan for a compiler (`Target.traced`) is as pure as any other, and its code is compiled whole: one call forward, and,
where gradients are recorded, one backward, which autograd runs. The compiled code lives as long as the plan, so that
all executors of a graph share it. It is made at the first run, for the sizes of that run; at the second combination of
sizes once more, for any number in the place of those that differ; a batch of a third size compiles nothing. PyTorch
keeps what was compiled on the disk, for the next process.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import re
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar, cast

import torch
from torch import fx

from .._torch.compiler import changed, lookup_backend, traces
from ..graph import Graph, Target
from ..graph.control_flow import is_control_flow, is_stateful
from ..graph.facts import CUDA_GRAPHS
from ..graph.fused_layers import has_quantized_layers
from ..graph.passes import Compiler
from ..tuning import current

__all__ = [
    "CompiledCode", "called_from_cpp", "compile_whole", "in_given_layout",
    "is_inductor", "obstacle", "reason_of", "with_own_code", "without_warnings_of_compilers",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")

_numbers = itertools.count()

#: How the lines of an error begin that say more than its first; the best ones first.
_DETAILS = ("Developer debug context: ", "Explanation: ")

#: What the compiler warns of while it works, and the user can do nothing about.
_WARNINGS = (
    # Ours are of pure functions of shapes and parameters: to trace through them is right.
    r"Dynamo detected a call to a `functools\.lru_cache`",
    # It makes an instance of each `torch.autograd.Function` that it meets.
    r"<class 'torch\.autograd\.function\.Function'> should not be instantiated",
    r"\s*Online softmax is disabled on the fly",
    # Of inputs that autograd has recorded Dynamo looks at the gradient, too.
    r"The \.grad attribute of a Tensor that is not a leaf Tensor is being accessed",
    # MXNET_CUDA_TENSOR_OP_MATH_ALLOW_CONVERSION is for that.
    r"TensorFloat32 tensor cores for float32 matrix multiplication available but not enabled",
)
#: A filter that ignores these, as `warnings.filters` has them.
_IGNORED = ("ignore", re.compile("|".join(_WARNINGS)), Warning, None, 0)

#: Conditions of what is global that say that a function, a class or a module is the same.
_OF_CODE = frozenset((
    "BUILTIN_MATCH", "CLASS_MATCH", "CLOSURE_MATCH", "DUPLICATE_INPUT", "ID_MATCH", "MODULE_MATCH", "TYPE_MATCH",
))  # fmt: skip
#: A local variable in the name of what a condition is about, such as ``step`` in ``type(step.wanted)``.
_NAME = re.compile(r"(?<![\w.'\"])[A-Za-z_]\w*")


class CompiledCode:
    """The compiled form of a plan's code, made at its first run.

    The compiler, which looks at all that it is given in each run, is given what the code reads: not the weights, in
    inference, that something else was computed from.

    Parameters
    ----------
    code
        The plan's.
    compiler
        What compiles it.

    Attributes
    ----------
    is_captured
        Whether it is no compiler's, but captured as CUDA graphs, through which nothing is differentiated.
    failure
        Why it cannot be compiled; None as long as nothing went wrong.
    uncompiled
        The names of the nodes that are left out of what is compiled.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import lower
    >>> plan = lower((mx.sym.var("x") * 2).graph, Target(traced=True))
    >>> outputs, _, _ = CompiledCode(plan.code, "eager")(torch.ones(2))
    >>> outputs[0]
    tensor([2., 2.])
    """

    uncompiled: Sequence[str] = ()

    def __init__(self, code: fx.GraphModule, compiler: Compiler) -> None:
        self._code, self.compiler, self.is_captured = code, compiler, compiler == CUDA_GRAPHS
        self._run: Callable[..., object] | None = None
        self.failure: str | None = None

    def __call__(self, *inputs: object) -> object:
        """Run it; whatever is wrong, with the inputs or with the code, is an error of the compiler's."""
        code, read = self._reading
        return self._run_on(code, [*map(inputs.__getitem__, read)])

    @functools.cached_property
    def _reading(self) -> tuple[fx.GraphModule, Sequence[int]]:
        return _without_unread(self._code)

    def _run_on(self, code: fx.GraphModule, inputs: Sequence[Any]) -> object:
        """Run the code on the inputs that it reads."""
        if self._run is None:
            self._run = compile_whole(code.forward, _with_backward(self.compiler))
        return self._run(*inputs)

    def give_up(self, reason: str) -> None:
        """Note why it cannot be compiled, and drop what was compiled.

        >>> code = CompiledCode(fx.GraphModule({}, fx.Graph()), "eager")
        >>> code.give_up("ValueError: no")
        >>> code.failure
        'ValueError: no'
        """
        self._run, self.failure = None, reason


def _without_unread(code: fx.GraphModule) -> tuple[fx.GraphModule, Sequence[int]]:
    """Return code without the inputs that it does not read, and the positions of the others.

    >>> code, read = _without_unread(fx.symbolic_trace(lambda x, y, z: (x + z,)))
    >>> code(torch.ones(1), torch.ones(1)), read
    ((tensor([2.]),), [0, 2])
    """
    graph = fx.Graph()
    graph.output(graph.graph_copy(code.graph, {}))
    inputs = graph.find_nodes(op="placeholder")
    read = [i for i, node in enumerate(inputs) if node.users]
    for node in inputs:
        if not node.users:
            graph.erase_node(node)
    return fx.GraphModule({}, graph), read


def compile_whole(function: Callable[P, R], compiler: Compiler, **options: object) -> Callable[P, R]:
    """Return a function of tensors, compiled as one graph when it is called; what cannot be is an error then.

    What the function closes over, or is a method of, is a constant of the compiled code, as are functions and classes:
    only arguments are looked at in each call, and what is reached from them.

    >>> compile_whole(torch.nn.functional.softsign, "eager")(torch.ones(2))
    tensor([0.5000, 0.5000])
    """
    settings: dict[str, bool] = {}
    if isinstance(compiler, _Inductor) and not traces():
        settings = {"layout_optimization": not compiler.in_given_layout}
        compiler = "inductor"
    # PyTorch takes no options beside a mode.
    if options.get("mode") is None:
        varying = functools.partial(_varying, constants=_constants(function))
        options["options"] = {
            "guard_filter_fn": varying,
            **settings,
            **cast("dict[str, Any]", options.get("options") or {}),
        }
    # Its annotations know no options that are passed on.
    compiled = torch.compile(function, fullgraph=True, backend=compiler, **options)  # type: ignore[call-overload]  # above

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        with without_warnings_of_compilers():  # any call may compile for other sizes
            return cast(R, compiled(*args, **kwargs))

    return call


@contextlib.contextmanager
def without_warnings_of_compilers() -> Iterator[None]:
    """Ignore in the ``with`` block what compilers warn of and the user can do nothing about.

    >>> with without_warnings_of_compilers():
    ...     warnings.warn("Online softmax is disabled on the fly")
    """
    # `warnings.catch_warnings` would have Python forget, in each call, which warnings it has shown once already.
    filters = cast("list[object]", warnings.filters)
    filters.insert(0, _IGNORED)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):  # another thread has put other filters there
            filters.remove(_IGNORED)


def with_own_code(function: F) -> F:
    """Return a copy of a function: the compiler counts, and limits, what it makes of one code.

    >>> copy = with_own_code(reason_of)
    >>> copy.__code__ is reason_of.__code__, copy(ValueError("no"))
    (False, 'ValueError: no')
    """
    code = function.__code__.replace(co_name=f"{function.__name__}{next(_numbers)}")
    copy = types.FunctionType(
        code, function.__globals__, code.co_name, function.__defaults__, function.__closure__
    )
    return cast(F, copy)


def _constants(function: Callable[..., object]) -> frozenset[str]:
    """Return the names that a function's code has for what it closes over, and for the object whose method it is."""
    # A method has its function's code; an object that can be called has none.
    code = getattr(function, "__code__", None)
    if code is None:
        return frozenset()
    return frozenset(code.co_freevars + code.co_varnames[: inspect.ismethod(function)])


def _varying(guards: Sequence[Any], constants: frozenset[str]) -> list[bool]:
    """Return which conditions of compiled code are looked at in each call.

    Of two hundred for a small network's step most say that functions, classes and what we have made once and for all
    are still the same, which took a tenth of the step.
    """
    return [
        not (each.guard_type in _OF_CODE if each.is_global else constants & set(_NAME.findall(each.name)))
        for each in guards
    ]


@functools.lru_cache
def _with_backward(compiler: Any) -> Compiler:
    """Return a compiler that compiles backward with forward: what it cannot do is then known before a step begins."""
    if not traces():
        return cast(Compiler, compiler)

    def compile_both(graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        with changed("functorch", force_non_lazy_backward_lowering=True):
            return lookup_backend(compiler)(graph, inputs)

    return compile_both


@dataclass(frozen=True)
class _Inductor:
    """PyTorch's compiler with settings of its own, as a backend of `torch.compile`."""

    in_given_layout: bool = False
    called_from_cpp: bool = False

    @classmethod
    def of(cls, compiler: Compiler) -> _Inductor | None:
        """Return inductor with the settings that a compiler has; None if it is another."""
        return compiler if isinstance(compiler, cls) else cls() if compiler == "inductor" else None

    def __call__(self, graph: fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        settings: dict[str, bool] = {}
        if self.in_given_layout:
            settings["layout_optimization"] = False
        if self.called_from_cpp and len(graph.graph.nodes) <= current().cpp_wrapper_nodes:
            settings["cpp_wrapper"] = True
        with changed("inductor", **settings):
            return lookup_backend("inductor")(graph, inputs)


def is_inductor(compiler: Compiler) -> bool:
    """Whether it is PyTorch's compiler, with whatever settings.

    >>> is_inductor(called_from_cpp("inductor")), is_inductor("eager")
    (True, False)
    """
    return _Inductor.of(compiler) is not None


def in_given_layout(compiler: Compiler) -> Compiler:
    """Return inductor without its own choice of an order in memory, which a pass has made; others as they are.

    It would turn the weights of convolutions in every step, and in PyTorch 2.13.0 gradients of a pooling can be zero
    where it does so.

    >>> in_given_layout("eager")
    'eager'
    """
    inductor = _Inductor.of(compiler)
    return compiler if inductor is None else replace(inductor, in_given_layout=True)


def called_from_cpp(compiler: Compiler) -> Compiler:
    """Return inductor that calls its kernels, and oneDNN's, from C++ instead of Python; others as they are.

    It compiles a second longer, and saves some µs for each call: a quarter of a small convolutional network's
    inference, a twentieth of its training. Of large graphs it would take a minute, for a fiftieth.

    >>> called_from_cpp("eager")
    'eager'
    """
    inductor = _Inductor.of(compiler)
    return compiler if inductor is None else replace(inductor, called_from_cpp=True)


def obstacle(graph: Graph, target: Target) -> str | None:
    """Return why a graph is not given to a compiler at all; None where it is.

    >>> import rebind as mx
    >>> obstacle(mx.sym.exp(mx.sym.var("x")).graph, Target()) is None
    True
    """
    if is_stateful(graph):
        return "it has a custom operator, whose Python code runs between the others"
    if any(node.operator is not None and is_control_flow(node.operator) for node in graph.nodes):
        return "it has a loop or a branch, into which the compiler does not follow"
    if has_quantized_layers(graph):
        return "it has layers of 8 bits, which the default mode computes in whole numbers"
    if target.spans_devices:
        return "its operators are on several devices"
    return None


def reason_of(error: Exception) -> str:
    """Return what an error of the compiler says, in one line.

    >>> reason_of(RuntimeError("No working C++ compiler found"))
    'RuntimeError: No working C++ compiler found'
    """
    # The compiler wraps the errors of its parts.
    inner = getattr(error, "inner_exception", error)
    lines = [line.strip() for line in str(inner).splitlines() if line.strip()] or ["no message"]
    # Of torch's own sentences, what it met says more than what it thinks of it.
    found = (line.removeprefix(start) for start in _DETAILS for line in lines if line.startswith(start))
    return f"{type(inner).__name__}: {'; '.join([lines[0], *itertools.islice(found, 1)])}"
