"""PyTorch's compilers below `torch.compile`, which are imported when they are first asked for.

Where `traces` says no, functions are compiled by `torch.compile` alone.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, fx

from .private import optional

__all__ = [
    "changed", "dynamo_settings", "for_a_compiler", "is_of_compiler", "lookup_backend", "mark_any_size", "trace",
    "traces", "written_arguments",
]  # fmt: skip

#: What code that is compiled for its first sizes, and called without Dynamo, needs.
_NEEDED = {
    "torch._dynamo.lookup_backend": "hands a traced graph to a compiler by its name",
    "torch._dynamo.maybe_mark_dynamic": "one code for all sizes but the first, not one for the second",
    "torch._functorch.config.patch": "backward is compiled with forward: what it cannot do is known in time",
    "torch._inductor.config.patch": "settings of inductor where it is called by another function than torch.compile",
    "torch.compiler._is_compiling_flag": "operators have forms of their own for compilers, this tracer's too",
    "torch.fx.experimental.proxy_tensor.make_fx": "traces forward, backward and update as one graph",
    "torch.ops.aten.add_.Tensor._schema.arguments": "says which arguments an operator writes into",
}


@functools.cache
def _found() -> dict[str, Any]:
    for name in ("_dynamo", "_functorch.config", "_inductor.config", "fx.experimental.proxy_tensor"):
        with contextlib.suppress(ImportError):
            importlib.import_module(f"torch.{name}")
    return {name: optional(name, reason) for name, reason in _NEEDED.items()}


def traces() -> bool:
    """Whether functions can be traced as a whole, and what was traced be handed to a compiler."""
    return all(part is not None for part in _found().values())


def lookup_backend(compiler: Any) -> Callable[[fx.GraphModule, list[Tensor]], Callable[..., Any]]:
    """Return the function that compiles a graph for inputs, by its name; a function is that itself."""
    return _found()["torch._dynamo.lookup_backend"](compiler)


def changed(part: str, **settings: object) -> contextlib.AbstractContextManager[object]:
    """Return what changes settings of a part of the compiler, ``inductor`` or ``functorch``, in a ``with`` block."""
    return _found()[f"torch._{part}.config.patch"](settings)


def mark_any_size(tensor: Tensor, axis: int) -> None:
    """Tell Dynamo, before it compiles a function for a tensor, that an axis may have any size."""
    _found()["torch._dynamo.maybe_mark_dynamic"](tensor, axis)


@contextlib.contextmanager
def for_a_compiler() -> Iterator[None]:
    """Let `torch.compiler.is_compiling` say so: operators have forms of their own for compilers."""
    before = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before


def trace(function: Callable[..., Any], inputs: Sequence[Tensor]) -> fx.GraphModule:
    """Return what a function calls for tensors of such sizes, as a graph; tensors that it closes over have values."""
    make_fx = _found()["torch.fx.experimental.proxy_tensor.make_fx"]
    with for_a_compiler():
        graph: fx.GraphModule = make_fx(function, tracing_mode="fake", _allow_non_fake_inputs=True)(*inputs)
    return graph


def written_arguments(call: fx.Node) -> list[Any]:
    """Return those arguments of a traced call that its operator writes into."""
    schema = getattr(call.target, "_schema", None)
    named = zip(schema.arguments, call.args, strict=False) if schema is not None else ()
    return [
        value for argument, value in named if argument.alias_info is not None and argument.alias_info.is_write
    ]


def dynamo_settings() -> Any:
    """Return the settings of Dynamo; without them something that has their names.

    ``trace_autograd_ops``: whether it follows gradients.
    """
    found = optional("torch._dynamo.config.trace_autograd_ops", "one compiled call for forward and backward")
    return SimpleNamespace(trace_autograd_ops=False) if found is None else torch._dynamo.config


def is_of_compiler(error: Exception) -> bool:
    """Return whether an error is one of compiling, or of tracing, so that nothing was computed yet."""
    return any(kind.__module__ == "torch._dynamo.exc" for kind in type(error).__mro__)
