"""`sym.torch_module`: a PyTorch module as a node of a symbol."""

from __future__ import annotations

import copy
import inspect
import json
import weakref

import torch
from torch import Tensor

from .. import dtypes
from ..errors import ArgumentError, MXNetError, ParameterError, ShapeError
from ..graph import Application, Entry, Variable
from ..graph.symbol_json import TORCH_MODULE
from ..ops import Inference, Input, Kernels, Operator, Record, Shapes, Signature, Types
from ..params import Params, format_value
from ..scope import AttrScope, NameManager
from ..shapes import Shape
from .base import SymbolBase, single_entry
from .symbol import Symbol

__all__ = ["torch_module", "value_in_module"]

#: The modules in symbols, by what the initializers of their variables say. Symbols keep them alive.
_MODULES: weakref.WeakValueDictionary[str, torch.nn.Module] = weakref.WeakValueDictionary()


def torch_module(
    module: torch.nn.Module, *inputs: Symbol, name: str | None = None, num_outputs: int = 1
) -> Symbol:
    """Apply a PyTorch module to symbols; its parameters are trained with the rest.

    Its parameters become arguments of the symbol, its buffers auxiliary states, called as in the module with the name
    in front: ``name_0_weight``. Their first values are those that the module has when the symbol's parameters are
    initialized; the module itself is not changed. What does not require a gradient has ``lr_mult`` and ``wd_mult`` 0.

    In training the module runs as after ``module.train()``, else as after ``module.eval()``. Its random numbers are
    PyTorch's: ``torch.manual_seed`` decides them.

    A file cannot hold the module: the symbol can be saved, but not be loaded. To use a checkpoint, make the symbol in
    code again and load the parameters.

    Parameters
    ----------
    module
        From tensors to a tensor, or to a tuple or list of them.
    inputs
        What it is called with.
    name
        The name of the node; automatic names count up.
    num_outputs
        How many tensors it returns.

    Examples
    --------
    >>> import torch, rebind as mx
    >>> layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> net = mx.sym.torch_module(layers, mx.sym.var("data"), name="net")
    >>> net.list_arguments()
    ['data', 'net_0_weight', 'net_0_bias', 'net_2_weight', 'net_2_bias']
    >>> net.infer_shape(data=(8, 3))[1]
    [(8, 2)]
    """
    if not isinstance(module, torch.nn.Module):
        raise ArgumentError(f"sym.torch_module: module must be a torch.nn.Module; got {module!r}")
    for value in inputs:
        if not isinstance(value, SymbolBase):
            raise ArgumentError(f"sym.torch_module: inputs must be symbols; got {value!r}")
    if num_outputs < 1:
        raise ParameterError(f"sym.torch_module: num_outputs must be >= 1; got {num_outputs}")
    name = NameManager.current.get(name, "torch_module")
    runner = _Runner(module, len(inputs), num_outputs)
    operator = _operator(runner)
    scope = AttrScope.current.get(None)
    given = [single_entry(symbol, entry) for symbol, entry in zip(inputs, runner.input_names, strict=True)]
    # Names may repeat; the module's identity does not while a symbol keeps it alive.
    token = f"{name}@{id(runner.module):x}"
    _MODULES[token] = runner.module
    variables = [
        Entry(Variable(f"{name}_{own}", {**scope, **_attributes(tensor, token, path)}))
        for own, (path, tensor) in runner.tensors.items()
    ]
    texts = {"module": str(module), "num_outputs": str(num_outputs)}
    node = Application(operator, name, (*given, *variables), Params(), texts, scope, TORCH_MODULE)
    return Symbol([Entry(node, i) for i in range(num_outputs)])


def value_in_module(token: str, path: str) -> Tensor:
    """Return a tensor of a module that a symbol holds: the first value of the variable that stands for it.

    Parameters
    ----------
    token
        Which module, from the attribute ``__init__`` of the variable.
    path
        The tensor's name in the module, such as ``0.weight``.
    """
    module = _MODULES.get(token)
    if module is None:
        raise MXNetError(
            f"sym.torch_module: the values of {path!r} are in a PyTorch module that is no longer there; make the "
            "symbol in code again, or give arg_params and aux_params"
        )
    return dict([*module.named_parameters(), *module.named_buffers()])[path]


def _attributes(tensor: Tensor, token: str, path: str) -> dict[str, str]:
    found = {
        "__shape__": format_value(shape_of(tensor)),
        "__dtype__": str(dtypes.flag(tensor.dtype)),
        "__init__": json.dumps(["torchvalue", {"module": token, "path": path}]),
    }
    if isinstance(tensor, torch.nn.Parameter) and not tensor.requires_grad:
        # Frozen by the user: an argument like any other, which never moves.
        found |= {"__lr_mult__": "0.0", "__wd_mult__": "0.0"}
    return found


def shape_of(tensor: Tensor) -> Shape:
    """Return the shape of a variable for a tensor: ``(1,)`` for a single number, since ``()`` is unknown in MXNet.

    >>> shape_of(torch.tensor(5))
    (1,)
    """
    return tuple(tensor.shape) or (1,)


class _Runner:
    """Runs a module on tensors that are given to it in place of its own: a pure function."""

    def __init__(self, module: torch.nn.Module, num_inputs: int, num_outputs: int) -> None:
        self.__name__ = TORCH_MODULE  # what the code of a plan calls it
        # The user's own, of which only values are read.
        self.module = module
        self.num_outputs = num_outputs
        self.input_names = _input_names(module, num_inputs)
        paths = dict([*module.named_parameters(), *module.named_buffers()])
        self.tensors = {path.replace(".", "_"): (path, tensor) for path, tensor in paths.items()}
        # Paths ``a.b`` and ``a_b`` would be one name.
        if len(self.tensors) < len(paths) or set(self.tensors) & set(self.input_names):
            raise ParameterError(
                "sym.torch_module: names of inputs, parameters and buffers must differ when '_' replaces '.' in them; "
                f"got {[*self.input_names, *paths]}"
            )
        self.parameters = [
            own for own, (path, _) in self.tensors.items() if path in dict(module.named_parameters())
        ]
        self.buffers = list(self.tensors)[len(self.parameters) :]
        # Copies without numbers, one for each mode: the user may call the module, or change its mode, meanwhile.
        self._trained, self._evaluated = _skeleton(module).train(), _skeleton(module).eval()

    def __call__(self, *tensors: Tensor, training: bool = False) -> Tensor | tuple[Tensor, ...]:
        """Return the outputs, and in the end the new values of the buffers."""
        count = len(self.input_names)
        named = dict(zip(self.tensors, tensors[count:], strict=True))
        if training:  # a module updates its buffers in place; ours are replaced after backward
            named |= {own: named[own].clone() for own in self.buffers}
        # Tensors without axes are arrays of shape (1,) here.
        given = {path: named[own].view(tensor.shape) for own, (path, tensor) in self.tensors.items()}
        module = self._trained if training else self._evaluated
        outputs = torch.func.functional_call(module, given, tensors[:count])
        found = tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)
        if len(found) != self.num_outputs or not all(isinstance(each, Tensor) for each in found):
            kinds = ", ".join(type(each).__name__ for each in found)
            raise ShapeError(f"the module must return num_outputs={self.num_outputs} tensors; got {kinds}")
        # An output that is an input would be shared memory.
        found = tuple(each.clone() if any(each is tensor for tensor in tensors) else each for each in found)
        found += tuple(named[own] for own in self.buffers)
        return found if len(found) > 1 else found[0]

    def shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of parameters and buffers, which the module knows."""
        return {own: shape_of(tensor) for own, (_, tensor) in self.tensors.items()}

    def types(self, types: Types, p: Params) -> Types:
        """Return the types of parameters and buffers, and of the outputs: that of the first parameter."""
        found = {own: tensor.dtype for own, (_, tensor) in self.tensors.items()}
        floating = [tensor.dtype for _, tensor in self.tensors.values() if tensor.is_floating_point()]
        output = floating[0] if floating else types.get(self.input_names[0]) if self.input_names else None
        return {**found, **({} if output is None else dict.fromkeys(self.output_names, output))}

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of the outputs."""
        count = self.num_outputs
        return ("output",) if count == 1 else tuple(f"output{i}" for i in range(count))


def _skeleton(module: torch.nn.Module) -> torch.nn.Module:
    """Return a copy whose parameters and buffers have no numbers; what is shared in the module is shared in it."""
    # `deepcopy` takes what it finds here for copied. (`module.to("meta")` would part shared parameters.)
    copied: dict[int, object] = {}
    for tensor in (*module.parameters(), *module.buffers()):
        empty = torch.empty_like(tensor, device="meta")
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        copied[id(tensor)] = torch.nn.Parameter(empty, tensor.requires_grad) if is_parameter else empty
    return copy.deepcopy(module, copied)


def _input_names(module: torch.nn.Module, count: int) -> list[str]:
    """Return names for the inputs: those of ``forward``, as far as it has them."""
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    named = [
        each.name for each in inspect.signature(module.forward).parameters.values() if each.kind in kinds
    ]
    return [named[i] if i < len(named) else f"input{i}" for i in range(count)]


def _operator(runner: _Runner) -> Operator:
    inputs = [Input(each) for each in (*runner.input_names, *runner.parameters)]
    inputs += [Input(each, auxiliary=True) for each in runner.buffers]
    slots = dict.fromkeys((*(each.name for each in inputs), *runner.output_names), "any")
    return Operator(
        TORCH_MODULE,
        Signature(tuple(inputs), modes=frozenset({"training"})),
        Kernels(runner, runs_users_code=True),
        Inference(runner.shapes, types=slots, types_rule=runner.types),
        Record(runner.output_names),
    )
