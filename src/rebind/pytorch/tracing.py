"""An operator's own function written out as calls of PyTorch's aten operators, where no plain form is declared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, fx
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from .._torch.tracing import fake_tensor_mode
from ..graph import Application
from ..ops._reading import without_reading

__all__ = ["TracedCall", "trace_call"]


class TracedCall(NamedTuple):
    """The body of a function.

    Attributes
    ----------
    arguments
        The names of the function's arguments: the node's inputs, then `constants`.
    lines
        What computes.
    results
        The names of the outputs.
    constants
        Tensors that the function needs besides its inputs, by the name of the argument.
    """

    arguments: tuple[str, ...]
    lines: tuple[str, ...]
    results: tuple[str, ...]
    constants: dict[str, Tensor]


def trace_call(
    node: Application,
    inputs: Sequence[tuple[tuple[int, ...], tuple[int, ...], torch.dtype]],
    training: bool = False,
) -> TracedCall:
    """Write out a node's function for inputs of these shapes, free axes and types.

    Raises
    ------
    ValueError
        With the reason, where the function cannot be written out: it reads numbers of its inputs, or runs on the host,
        or asks for sizes that are free.
    """
    signature = node.operator.signature
    modes = signature.mode_keywords(training, None, torch.device("cpu"))
    keywords = {**signature.keywords(node.params), **modes}

    def function(*tensors: Tensor) -> tuple[Tensor, ...]:
        results = node.operator.kernels.function(*signature.arguments(node.params, tensors), **keywords)
        outputs = (results,) if isinstance(results, Tensor) else tuple(results)
        return outputs[: node.visible_outputs]

    environment = ShapeEnv()
    fakes = _fake_inputs(inputs, environment)
    try:
        with torch.no_grad(), without_reading():
            module = make_fx(function, _allow_non_fake_inputs=True)(*fakes)
    except Exception as error:
        raise ValueError(
            f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        ) from error
    _check_free(fakes, inputs, environment)
    module.graph.eliminate_dead_code()
    _take_any_strides(module.graph)
    return _written(module)


def _fake_inputs(
    inputs: Sequence[tuple[tuple[int, ...], tuple[int, ...], torch.dtype]], environment: ShapeEnv
) -> list[Tensor]:
    if fake_tensor_mode is None:
        raise ValueError(
            "tracing it needs private functions of PyTorch, which REBIND_PRIVATE_TORCH=0 switches off"
        )
    mode = fake_tensor_mode(shape_env=environment, allow_non_fake_inputs=True)
    fakes: list[Tensor] = []
    for shape, free, dtype in inputs:
        # DUCK: free axes that have one number are one size, such as that of the batch; different ones have others.
        sizes = [DimDynamic.DUCK if axis in free else DimDynamic.STATIC for axis in range(len(shape))]
        real = torch.empty(shape, dtype=dtype)
        fakes.append(mode.from_tensor(real, symbolic_context=StatelessSymbolicContext(dynamic_sizes=sizes)))
    return fakes


def _check_free(
    fakes: Sequence[Tensor],
    inputs: Sequence[tuple[tuple[int, ...], tuple[int, ...], torch.dtype]],
    environment: ShapeEnv,
) -> None:
    tried: dict[Any, int] = {}
    for fake, (shape, free, _) in zip(fakes, inputs, strict=True):
        for axis in free:
            size: Any = fake.shape[axis]
            if isinstance(size, int) or size.node.maybe_as_int() is not None:
                raise ValueError(
                    f"the size of axis {axis} of each input must be known; give it as a number in `shapes`"
                )
            tried[size.node.expr] = shape[axis]
    for guard in environment.guards:
        symbols = guard.expr.free_symbols
        for factor in (1, 2):  # greater sizes than those that were tried must give the same code
            sizes = {symbol: tried[symbol] * factor + 1 for symbol in symbols & tried.keys()}
            if guard.expr.subs(sizes) == False:  # noqa: E712  # SymPy's
                raise ValueError(
                    f"what it computes depends on a free size ({guard.expr}); give this size as a number in `shapes`"
                )


def _take_any_strides(graph: fx.Graph) -> None:
    """Replace calls that need the strides of the contiguous arrays that were traced."""
    aten = torch.ops.aten
    for node in graph.nodes:
        if node.target is aten.view.default:
            node.target = aten.reshape.default
        elif node.target is aten.native_group_norm.default:
            with graph.inserting_before(node):
                node.update_arg(0, graph.call_function(aten.contiguous.default, (node.args[0],)))


def _written(module: fx.GraphModule) -> TracedCall:
    graph = module.graph
    placeholders = [node.name for node in graph.nodes if node.op == "placeholder"]
    constants: dict[str, Tensor] = {}
    for node in list(graph.nodes):
        if node.op == "get_attr":
            value = getattr(module, str(node.target))
            constants[node.name] = value.detach().clone()
    returned: Any = graph.output_node().args[0]
    results = tuple(map(str, returned))
    code = graph.python_code("self").src
    body = code[code.index("\n", code.index("def forward")) + 1 :]
    lines = []
    for line in body.splitlines():
        text = re.split(r";\s+\w+ = (?:\w+ = )*None", line.strip())[0].split("  #")[0].rstrip(";")
        if not text or text.startswith(("return", "#")) or " = self." in text:
            continue
        lines.append(_plain(text, placeholders[0] if placeholders else None))
    return TracedCall((*placeholders, *constants), tuple(lines), results, constants)


def _plain(line: str, first: str | None) -> str:
    """Return a line without what holds for this process only: the device follows the first input."""
    line = line.replace("device(type='cpu')", f"{first}.device" if first else 'torch.device("cpu")')
    line = re.sub(r"(?<![\w.\"])-inf\b", 'float("-inf")', line)
    line = re.sub(r"(?<![\w.\"-])inf\b", 'float("inf")', line)
    line = re.sub(r"(?<![\w.\"])nan\b", 'float("nan")', line)
    line = line.replace("'", '"')
    return re.sub(r"^(\w+) = \1$", "", line)
