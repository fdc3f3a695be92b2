"""What an operator is: one declaration, from which everything else follows.

An operator is a plain function on torch tensors whose signature *is* its interface::

    @operator("FullyConnected", skip=lambda name, p: name == "bias" and p.no_bias)
    def fully_connected(
        data: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        *,
        num_hidden: Annotated[int, AtLeast(1)],
        no_bias: bool = False,
        flatten: bool = True,
    ) -> Tensor: ...

Arrays stand before the ``*`` (or are variadic, ``*data``), parameters after it. Three keyword names are not the
user's: ``training`` (the mode), ``generator`` (random numbers) and ``device`` (where to make new arrays); a
function that takes one of them is given it.

What the signature cannot say is declared beside it: inputs that a parameter removes (`skip`), auxiliary states
(`aux`: returned as new values after the outputs, and never written in place; with `writes_aux` it is the other way
round: the function writes them in place and returns outputs only), first values of variables that are made for
inputs (`inits`), names of outputs, a form that writes its result over an input (``@op.in_place``), the shapes of
parameters that follow from the data (``@op.fill_shapes``), types (`types`), and a gradient that differs from the
derivative (``@op.gradient``).
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import operator as operator_module
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from ..errors import DTypeError, NameLookupError, ParameterError, near_names
from ..grad_mode import grad_mode
from ..params import NULL, REQUIRED, Parameter, Params
from ..shapes import Shape, merge

__all__ = ["OPERATORS", "Input", "Interface", "Operator", "find", "operator"]

Shapes = Mapping[str, "Shape | None"]
TypeSlot: TypeAlias = "str | torch.dtype | Callable[[torch.dtype], torch.dtype]"
TypeSlots = Mapping[str, TypeSlot]
Types = Mapping[str, "torch.dtype | None"]

MODE_NAMES = frozenset({"training", "generator", "device"})
OPERATORS: dict[str, Operator] = {}  # by name and by each alias


@dataclass(frozen=True)
class Input:
    """An array that an operator takes."""

    name: str
    optional: bool = False  # the function has a default for it; whether it is there follows from `skip`
    auxiliary: bool = False


@dataclass(frozen=True)
class Interface:
    """What an operator takes: read from its function's signature, or said where that cannot tell (`Custom`)."""

    inputs: tuple[Input, ...]
    variadic: bool
    parameters: dict[str, Parameter]
    modes: frozenset[str]


class Operator:
    """One operator: its function, interface, and what is known of it besides.

    Attributes
    ----------
    name, aliases
        MXNet's names.
    function
        The definition, on tensors.
    inputs
        The arrays that it takes, auxiliary states last where they are returned; for a variadic operator the one that
        repeats.
    parameters
        By name, in the order in which they may be given by position.
    modes
        Which of ``training``, ``generator``, ``device`` the function takes.
    count
        The name of the parameter that counts the inputs of a variadic operator (``num_args``), if it has one.
    names
        For a variadic operator, the names of its inputs under parameters that fix them (`UpSampling`); () elsewhere.
    inits
        For an input, the initializer of a variable that is made for it (``'["one", {}]'``).
    owns_output
        Whether the first output is memory of its own that the gradient does not need: what comes next, alone, may
        overwrite it.
    depends_on_parameters
        Whether a call's parameters decide what arrays it takes: `resolved` then tells.
    writes_aux
        Whether the function writes auxiliary states in place and returns outputs only. The others return new values.
    make_kernel
        For an operator that keeps something from one run to the next (`Custom`): makes the function that runs, one for
        each executor.
    subgraphs
        The parts of a graph that a loop or a branch runs (`control_flow`); this package knows nothing of them.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        aliases: Sequence[str] = (),
        *,
        skip: Callable[[str, Params], bool] | None = None,
        aux: Sequence[str] = (),
        outputs: Sequence[str] | Callable[[Params], Sequence[str]] = ("output",),
        visible: Callable[[Params], int] | None = None,
        count: str | None = None,
        names: Callable[[Params], Sequence[str]] | None = None,
        types: TypeSlots | Callable[[Params], TypeSlots] | None = None,
        alike: bool = False,
        head_gradient: bool | Callable[[Params], bool] = True,
        inits: Mapping[str, str] | None = None,
        rows: int | Callable[[Params], int] | None = None,
        owns_output: bool = False,
        writes_aux: bool = False,
        resolve: Callable[[Mapping[str, Any]], Operator] | None = None,
        make_kernel: Callable[[], Callable[..., Any]] | None = None,
        interface: Interface | None = None,
        subgraphs: tuple[Any, ...] = (),
    ) -> None:
        self.function = function
        self.name = name
        self.aliases = tuple(aliases)
        self.count = count
        self.alike = alike
        self.inits = dict(inits or {})
        self._rows = rows
        self.owns_output = owns_output
        self.writes_aux = writes_aux
        self.gradient_takes_memory = False
        self._sized: tuple[Callable[[Params, Shape], dict[str, Any]], Callable[[Params], bool]] | None = None
        self._in_place: dict[str, tuple[Callable[..., Tensor], Callable[[Params], bool] | None]] = {}
        self._in_place_all: tuple[str, Callable[..., tuple[Tensor, ...]]] | None = None
        self.skip = skip
        self._names = names
        self._outputs = outputs
        self._visible = visible
        self._types = types
        self._head_gradient = head_gradient
        self._fill_shapes: Callable[[Shapes, Params], Shapes] | None = None
        self._shapes_from_outputs: Callable[[Shapes, Sequence[Shape | None], Params], Shapes] | None = None
        self._gradient: Callable[..., Sequence[Tensor | None]] | None = None
        self._check: Callable[[Params], str | None] | None = None
        self._parsed: dict[Any, Params] = {}

        self._resolve = resolve
        self.depends_on_parameters = resolve is not None
        self.make_kernel = make_kernel
        self.subgraphs = subgraphs
        self.is_own = interface is not None  # made for one call: what is known of it is of no use to others
        self._fill_types: Callable[[Types, Params], Types] | None = None
        interface = interface or _read_signature(function, name, () if names else tuple(aux))
        self.inputs, self.variadic = interface.inputs, interface.variadic
        self.parameters, self.modes = interface.parameters, interface.modes
        if count is not None:
            counter = Parameter.from_annotation(count, int, None)
            self.parameters = {**self.parameters, count: counter}
        self.input_names = tuple(entry.name for entry in self.inputs)
        self.order = (*self.input_names, *self.parameters) if not self.variadic else tuple(self.parameters)
        #: Of a variadic operator without the number: ``mom`` for ``mom_0``, ``mom_1``.
        self.aux_names = (
            tuple(aux) if self.variadic and names else tuple(e.name for e in self.inputs if e.auxiliary)
        )
        self.returned_aux = () if writes_aux else self.aux_names
        self.defaults = {p.name: p.default for p in self.parameters.values() if not p.required}

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> tuple:
        return find, (self.name,)

    # ---- declarations that stand beside the function -------------------------------------------------

    def fill_shapes(self, rule: Callable[[Shapes, Params], Shapes]) -> Callable:
        """Declare shapes of inputs that follow from those of other inputs: ``(shapes, p) -> {name: shape}``.

        In the answer, and in what is given, a size may be 0 (unknown) and a shape None.
        """
        self._fill_shapes = rule
        return rule

    def shapes_from_outputs(
        self, rule: Callable[[Shapes, Sequence[Shape | None], Params], Shapes]
    ) -> Callable:
        """Declare shapes of inputs that follow from outputs: ``(shapes, outputs, p) -> {name: shape}``."""
        self._shapes_from_outputs = rule
        return rule

    def gradient(self, rule: Callable[..., Sequence[Tensor | None]]) -> Callable:
        """Declare a gradient that is not the derivative: ``(p, inputs, outputs, heads) -> one for each input``.

        A rule with a further argument `into` writes its first gradient into that tensor when it is given one.
        """
        self._gradient = rule
        self.gradient_takes_memory = "into" in inspect.signature(rule).parameters
        return rule

    def fill_types(self, rule: Callable[[Types, Params], Types]) -> Callable:
        """Declare types that `types` cannot tell: ``(types of inputs, p) -> {input or output: type}``, None unknown."""
        self._fill_types = rule
        return rule

    def sized(self, when: Callable[[Params], bool]) -> Callable:
        """Declare how an operator without inputs takes a size that its consumers know: ``(p, shape) -> parameters``.

        `when` tells whether the size is open. Without a declaration it is where the parameter ``shape`` holds a 0.
        """

        def declare(rule: Callable[[Params, Shape], dict[str, Any]]) -> Callable:
            self._sized = (rule, when)
            return rule

        return declare

    def has_open_size(self, p: Params) -> bool:
        """Tell whether the operator makes an array of a size that follows from its consumers."""
        if self._sized is not None:
            return self._sized[1](p)
        return not self.inputs and 0 in (p.get("shape") or ())

    def size_keywords(self, p: Params, shape: Shape) -> dict[str, Any]:
        """Return the parameters with which an operator of open size makes an array of `shape`."""
        return {"shape": shape} if self._sized is None else self._sized[0](p, shape)

    def in_place(self, input_name: str, when: Callable[[Params], bool] | None = None) -> Callable:
        """Declare a form of the function that writes its result over an input, for parameters that satisfy `when`."""

        def declare(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
            self._in_place[input_name] = (function, when)
            return function

        return declare

    def in_place_kernel(self, input_name: str, p: Params) -> Callable[..., Tensor] | None:
        """Return the form that overwrites an input, if there is one."""
        function, when = self._in_place.get(input_name, (None, None))
        return function if when is None or when(p) else None

    def in_place_all(self, name: str) -> Callable:
        """Declare a form of a variadic operator that writes its outputs over its inputs ``name_0``, ``name_1``, ..."""

        def declare(function: Callable[..., tuple[Tensor, ...]]) -> Callable[..., tuple[Tensor, ...]]:
            self._in_place_all = (name, function)
            return function

        return declare

    @property
    def writes_over(self) -> bool:
        """Whether there is a form that writes results over inputs."""
        return bool(self._in_place) or self._in_place_all is not None

    def kernel_over(
        self, inputs: Sequence[Any], targets: Sequence[Any], p: Params
    ) -> Callable[..., Any] | None:
        """Return the form that writes its outputs over inputs, if `targets` are those very inputs, in order."""
        if self._in_place_all is not None:
            repeated, function = self._in_place_all
            names = self.inputs_for(p, len(inputs))
            found = [
                array
                for name, array in zip(names, inputs, strict=False)
                if name.rpartition("_")[0] == repeated
            ]
            same = len(found) == len(targets) and all(map(operator_module.is_, found, targets))
            return function if same else None
        if len(targets) == 1:
            for name in self._in_place:
                if inputs[self.input_names.index(name)] is targets[0]:
                    return self.in_place_kernel(name, p)
        return None

    def check(self, rule: Callable[[Params], str | None]) -> Callable:
        """Declare what must hold between parameters: ``p -> sentence or None``."""
        self._check = rule
        return rule

    # ---- what others ask -----------------------------------------------------------------------------

    def resolved(self, given: Mapping[str, Any]) -> Operator:
        """Return the operator for a call with these parameters: itself, but for `Custom`, whose parameters name it."""
        return self if self._resolve is None else self._resolve(given)

    def inputs_for(self, p: Params, count: int | None = None) -> tuple[str, ...]:
        """Return the names of the inputs under parameters `p`; a variadic operator needs their `count`."""
        if self.variadic:
            fixed = tuple(self._names(p)) if self._names else ()
            if fixed and (count is None or count <= len(fixed)):
                return fixed
            if count is None:
                count = (p.get(self.count) or 0) if self.count else 0
            return tuple(f"arg{i}" for i in range(count))
        if self.skip is None:
            return self.input_names
        return tuple(name for name in self.input_names if not self.skip(name, p))

    def is_auxiliary(self, name: str) -> bool:
        """Tell whether the input `name`, one of `inputs_for`, is an auxiliary state."""
        return (name.rpartition("_")[0] if self.variadic and self._names else name) in self.aux_names

    def outputs_for(self, p: Params) -> tuple[str, ...]:
        """Return the names of all outputs, hidden ones too."""
        return tuple(self._outputs(p) if callable(self._outputs) else self._outputs)

    def visible_outputs(self, p: Params) -> int:
        """Return how many outputs a user sees (`BatchNorm` hides its mean and variance)."""
        return len(self.outputs_for(p)) if self._visible is None else self._visible(p)

    def recorded_outputs(self, p: Params) -> int:
        """Return how many outputs MXNet's files count for a node: hidden ones and workspaces too."""
        if self._rows is None:
            return len(self.outputs_for(p))
        return self._rows(p) if callable(self._rows) else self._rows

    def type_slots(self, p: Params) -> TypeSlots:
        """Return, for inputs and outputs by name, a type or the name of a type that slots share (default ``T``).

        ``any`` is a type that nothing is known of; a function gives the type from that of ``T``.
        """
        if self._types is None:
            return {}
        return self._types(p) if callable(self._types) else self._types

    def filled_types(self, types: Types, p: Params) -> Types:
        """Return what the inputs' types say of each other and of the outputs'."""
        return self._fill_types(types, p) if self._fill_types else {}

    def needs_head_gradient(self, p: Params) -> bool:
        """Tell whether `backward` needs to be told the gradient of an output of this operator."""
        return self._head_gradient(p) if callable(self._head_gradient) else self._head_gradient

    @property
    def gradient_rule(self) -> Callable[..., Sequence[Tensor | None]] | None:
        """The declared gradient, if there is one."""
        return self._gradient

    def filled_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return what the inputs' shapes say of each other."""
        return self._fill_shapes(shapes, p) if self._fill_shapes else {}

    def shapes_of_inputs(self, shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
        """Return what the outputs' shapes say of the inputs'."""
        if self._shapes_from_outputs:
            return self._shapes_from_outputs(shapes, outputs, p)
        if not self.alike:
            return {}
        together: Shape | None = None
        for shape in (*shapes.values(), *outputs[:1]):
            # A contradiction is found, and named, where it is written down.
            with contextlib.suppress(ValueError):
                together = merge(together, shape)
        return dict.fromkeys(shapes, together)

    # ---- parameters ----------------------------------------------------------------------------------

    def parse(self, given: Mapping[str, Any], who: str | None = None) -> Params:
        """Return all parameters, parsed, with defaults filled in.

        Raises
        ------
        ParameterError
            For an unknown or missing parameter or a value that is not allowed; it names this operator (or `who`).
        """
        try:
            key = tuple(given.items())
            found = self._parsed.get(key)
            if found is not None:
                return found
        except TypeError:  # a list or an array among the values
            key = None
        p = self._parse(given, who or self.name)
        if key is not None and len(self._parsed) < 4096:
            self._parsed[key] = p
        return p

    def _parse(self, given: Mapping[str, Any], who: str) -> Params:
        values = Params(self.defaults)
        for name, value in given.items():
            if value is NULL:
                continue
            parameter = self.parameters.get(name)
            if parameter is None:
                raise ParameterError(
                    f"{who}: no parameter {name!r}{near_names(name, (*self.parameters, *self.input_names))} "
                    f"Parameters: {', '.join(self.parameters) or 'none'}."
                )
            values[name] = parameter.parse(value, who)
        missing = [p.name for p in self.parameters.values() if p.name not in values]
        if missing:
            needed = "; ".join(f"{name} ({self.parameters[name].type_text})" for name in missing)
            raise ParameterError(f"{who}: needs a value for {needed}")
        if self._check is not None and (complaint := self._check(values)):
            raise ParameterError(f"{who}: {complaint}")
        return values

    def keywords(self, p: Params) -> dict[str, Any]:
        """Return the parameters that the function takes: all but the count of a variadic operator."""
        keywords = dict(p)
        if self.count:
            keywords.pop(self.count, None)
        return keywords

    def mode_keywords(self, training: bool, generator: Any, device: Any) -> dict[str, Any]:
        """Return, of the mode, a generator and a device, those that the function takes."""
        modes = {"training": training, "generator": generator, "device": device}
        return {name: value for name, value in modes.items() if name in self.modes}

    # ---- running -------------------------------------------------------------------------------------

    def __call__(self, *tensors: Tensor | None, **keywords: Any) -> Any:
        """Run the function; differentiable, with the declared gradient where there is one."""
        if self._gradient is not None and torch.is_grad_enabled():
            return _DeclaredGradient.apply(self, keywords, *tensors)
        return self.function(*tensors, **keywords)

    @functools.cached_property
    def kernel(self) -> Callable[..., Any]:
        """What straight-line code calls: the function itself, or one that brings the declared gradient."""
        if self.make_kernel is not None:
            return self.make_kernel()
        if self._gradient is None:
            return self.function

        @functools.wraps(self.function)
        def kernel(*tensors: Tensor | None, **keywords: Any) -> Any:
            return self(*tensors, **keywords)

        return kernel

    @functools.cached_property
    def forward_kernel(self) -> Callable[..., Any]:
        """The function, never recorded: for a loss whose gradient is computed from the declared rule directly."""

        @functools.wraps(self.function)
        def forward(*tensors: Tensor | None, **keywords: Any) -> Any:
            with grad_mode(False):
                return self.function(*tensors, **keywords)

        return forward

    def check_types(self, tensors: Sequence[Tensor | None], p: Params) -> None:
        """Raise a DTypeError when inputs that must be of one type are not."""
        slots = self.type_slots(p)
        bound: dict[str, tuple[str, torch.dtype]] = {}
        names = self.inputs_for(p, len(tensors))
        for name, tensor in zip(names, tensors, strict=False):
            slot = slots.get(name, slots.get("*", "T"))
            if tensor is None or not isinstance(slot, str) or slot == "any":
                continue
            first, dtype = bound.setdefault(slot, (name, tensor.dtype))
            if dtype is not tensor.dtype:
                raise DTypeError(
                    f"{self.name}: {name} must be of the type of {first}, {str(dtype).removeprefix('torch.')}; "
                    f"got {str(tensor.dtype).removeprefix('torch.')}. Convert one of them with astype()."
                )


class _DeclaredGradient(torch.autograd.Function):
    """Runs an operator forward as it is, and its declared gradient backward."""

    @staticmethod
    def forward(ctx: Any, op: Operator, keywords: dict[str, Any], *inputs: Tensor | None) -> Any:
        outputs = op.function(*inputs, **keywords)
        several = isinstance(outputs, tuple)
        ctx.op, ctx.keywords, ctx.count = op, keywords, len(inputs)
        ctx.save_for_backward(*inputs, *(outputs if several else (outputs,)))
        return outputs

    @staticmethod
    def backward(ctx: Any, *heads: Tensor) -> tuple:
        saved = ctx.saved_tensors
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        rule = ctx.op.gradient_rule
        return (None, None, *rule(Params(ctx.keywords), inputs, outputs, heads))


def operator(name: str, *aliases: str, **declared: Any) -> Callable[[Callable[..., Any]], Operator]:
    """Make a function on tensors the operator `name`; see `Operator` for what can be declared."""

    def make(function: Callable[..., Any]) -> Operator:
        made = Operator(function, name, aliases, **declared)
        for known_as in (name, *aliases):
            if known_as in OPERATORS:
                raise ValueError(f"two operators are named {known_as!r}: {OPERATORS[known_as]} and {made}")
            OPERATORS[known_as] = made
        return made

    return make


def find(name: str) -> Operator:
    """Return the operator with `name`; NameLookupError suggests near names."""
    try:
        return OPERATORS[name]
    except KeyError:
        raise NameLookupError(f"no operator {name!r}{near_names(name, OPERATORS)}") from None


def _read_signature(function: Callable[..., Any], name: str, aux: tuple[str, ...]) -> Interface:
    """Split a signature into inputs, whether they are variadic, parameters and modes."""
    hints = typing.get_type_hints(function, include_extras=True)
    inputs: list[Input] = []
    parameters: dict[str, Parameter] = {}
    modes: set[str] = set()
    variadic = False
    for argument in inspect.signature(function).parameters.values():
        if argument.kind is argument.KEYWORD_ONLY and argument.name in MODE_NAMES:
            modes.add(argument.name)
        elif argument.kind is argument.KEYWORD_ONLY:
            default = REQUIRED if argument.default is argument.empty else argument.default
            parameters[argument.name] = Parameter.from_annotation(
                argument.name, hints[argument.name], default
            )
        else:
            variadic = variadic or argument.kind is argument.VAR_POSITIONAL
            optional = argument.default is not argument.empty
            inputs.append(Input(argument.name, optional, argument.name in aux))
    missing = set(aux) - {entry.name for entry in inputs}
    if missing or (variadic and len(inputs) != 1):
        raise ValueError(f"operator {name}: aux {missing} are no inputs, or a variadic input is not alone")
    return Interface(tuple(inputs), variadic, parameters, frozenset(modes))


def all_operators() -> Iterable[Operator]:
    """Return each operator once."""
    return dict.fromkeys(OPERATORS.values())
