"""Code with its parameters as constants, for compilers that take inference only, such as OpenVINO.

A compiler of `torch.compile` is given parameters with each run. One of a backend with ``freezing`` is given a module
that has them, packs them as it likes, and is asked again when a parameter was written, as `PreparedParameters` sees. It
compiles for the shapes that it is given, as such engines are quickest with known ones.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor, fx

from ..graph import Graph
from ..graph.passes import Compiler
from .compiling import CompiledCode
from .openvino import compile_with_openvino
from .parameter_transform import Preparation

__all__ = ["FrozenCode", "FrozenModule", "parameter_positions"]

#: What operators call their parameters. Other variables are data, which may be others in each run.
_PARAMETERS = frozenset(("weight", "bias", "gamma", "beta", "parameters"))

#: The compilers that are known by name.
_BY_NAME = {"openvino": compile_with_openvino}

#: How much of the largest number results may be off from PyTorch's in the first run.
_TOLERANCE = 1e-3

Run = Callable[..., Sequence[Tensor]]


def parameter_positions(given: Graph, best: Graph) -> tuple[int, ...]:
    """Return which of a plan's tensors, arguments and then auxiliary states, are parameters.

    Parameters
    ----------
    given
        The user's graph.
    best
        What the passes made of it, from the same variables.

    Examples
    --------
    >>> import rebind as mx
    >>> graph = mx.sym.BatchNorm(mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2)).graph
    >>> len(graph.arguments), len(graph.auxiliary), parameter_positions(graph, graph)
    (5, 2, (1, 2, 3, 4, 5, 6))
    """
    found = {
        entry.node
        for node in best.nodes
        if node.operator is not None
        for name, entry in zip(node.input_names, node.inputs, strict=True)
        if name in _PARAMETERS
    }
    arguments = [i for i, node in enumerate(given.arguments) if node in found]
    return (*arguments, *range(len(given.arguments), len(given.arguments) + len(given.auxiliary)))


class FrozenModule(torch.nn.Module):
    """A plan's code as a module of the parameters that it has; it takes the other tensors, and returns the outputs.

    Parameters
    ----------
    code
        The plan's.
    parameters
        By their positions among its tensors.
    seed
        Where random numbers come from; None for code that takes no source of them.
    """

    def __init__(self, code: fx.GraphModule, parameters: dict[int, Tensor], seed: int | None = None) -> None:
        super().__init__()
        self._code, self._positions = code, tuple(parameters)
        self._source = () if seed is None else (torch.tensor(seed),)
        for position, tensor in parameters.items():
            self.register_buffer(f"parameter{position}", tensor)

    def forward(self, *data: Tensor) -> tuple[Tensor, ...]:
        """Return the outputs."""
        tensors = list(data)
        for position in self._positions:  # in ascending order
            tensors.insert(position, self.get_buffer(f"parameter{position}"))
        outputs: tuple[Tensor, ...] = tuple(self._code(*self._source, *tensors)[0])
        return outputs


class _Frozen:
    """A network with parameters, and what was compiled of it for data of a shape."""

    def __init__(
        self, code: fx.GraphModule, parameters: dict[int, Tensor], draws: bool, compiler: Callable[..., Run]
    ) -> None:
        self._compiler = compiler
        self._module = FrozenModule(code, parameters, 0 if draws else None)
        # Operators that draw in training only are distinguished from others by what comes of another seed.
        self._other = FrozenModule(code, parameters, 1) if draws else None
        self._constant: Collection[int] = frozenset(parameters)
        self._runs: dict[Hashable, Run] = {}

    def run(self, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        """Return the outputs for all of a plan's tensors, of which the parameters are known."""
        data = [tensor for i, tensor in enumerate(tensors) if i not in self._constant]
        key = tuple([(tensor.shape, tensor.dtype) for tensor in data])
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = self._compile(data)
        return run(*data)

    def _compile(self, data: Sequence[Tensor]) -> Run:
        """Compile for data of these shapes; RuntimeError where that gives something else than PyTorch."""
        expected = self._module(*data)
        if self._other is not None and not all(map(torch.equal, self._other(*data), expected)):
            raise RuntimeError("it draws random numbers, which would be the same in each run")
        run = self._compiler(self._module, data)
        found = run(*data)
        if len(found) != len(expected):
            raise RuntimeError(f"it gives {len(found)} outputs; {len(expected)} are expected")
        for i, pair in enumerate(zip(found, expected, strict=True)):
            _check(f"its output {i}", *pair)
        return run


def _check(name: str, found: Tensor, expected: Tensor) -> None:
    """Raise RuntimeError where an output is not what PyTorch gives, but for rounding.

    >>> _check("its output 0", torch.ones(2), torch.ones(2) + 1e-5)
    >>> _check("its output 0", torch.ones(2), torch.zeros(2))
    Traceback (most recent call last):
    RuntimeError: its output 0 is off by 1 from PyTorch's
    """
    described, wanted = ((tuple(each.shape), each.dtype) for each in (found, expected))
    if described != wanted:
        raise RuntimeError(f"{name} has shape and type {described}; PyTorch's has {wanted}")
    one, other = found.double(), expected.double()
    largest = other.nan_to_num(0, 0, 0).abs().max() if other.numel() else 0.0
    if not torch.allclose(one, other, rtol=0, atol=_TOLERANCE * float(largest), equal_nan=True):
        raise RuntimeError(
            f"{name} is off by {float((one - other).abs().nan_to_num(torch.inf).max()):.3g} from PyTorch's"
        )


class FrozenCode(CompiledCode):
    """The compiled form of a plan's code, with parameters as constants; for inference.

    Parameters
    ----------
    code
        The plan's.
    compiler
        A function ``(module, data) -> function``: it is given a module without parameters of its own, and the first
        data, and returns a function of data that returns a sequence of tensors. Or the name of one: ``'openvino'``.
    positions
        Which of the inputs are parameters, in ascending order.
    draws
        Whether the code takes a source of random numbers, before the tensors.

    Attributes
    ----------
    preparation
        What makes of parameters the further input that the call takes.

    Examples
    --------
    >>> import rebind as mx
    >>> from rebind.executor import lower
    >>> from rebind.graph import Target
    >>> graph = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=1, no_bias=True).graph
    >>> frozen = FrozenCode(lower(graph, Target(traced=True)).code, lambda module, data: module, (1,))
    >>> x, weight = torch.ones(1, 2), torch.full((1, 2), 3.0)
    >>> frozen(x, weight, *frozen.preparation.code(weight))[0]
    (tensor([[6.]]),)
    """

    def __init__(
        self, code: fx.GraphModule, compiler: Compiler, positions: tuple[int, ...], draws: bool = False
    ) -> None:
        super().__init__(code, compiler)
        self._draws = draws
        function: Any = _BY_NAME[compiler] if isinstance(compiler, str) else compiler

        def freeze(*parameters: Tensor) -> tuple[_Frozen]:
            return (_Frozen(code, dict(zip(positions, parameters, strict=True)), draws, function),)

        self.preparation = Preparation(freeze, positions, self)

    def __call__(self, *inputs: Any) -> object:
        """Run it on all tensors and what the preparation gave; return outputs, and no states."""
        *tensors, frozen = inputs[1:] if self._draws else inputs
        outputs = tuple(frozen.run(tensors))
        # There are no new states, and no output is in memory that something else than itself has.
        return outputs, (), ((),) * len(outputs)
