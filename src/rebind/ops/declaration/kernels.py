"""What runs when an operator is applied: the function, and the forms of it that save memory or bring a gradient."""

from __future__ import annotations

import functools
import inspect
import operator as python_operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, TypeVar

import torch
from torch import Tensor

from ...device import Device
from ...errors import MXNetError
from ...grad_mode import grad_mode
from ...params import ParameterValue, Params
from ...shapes import Shape

__all__ = [
    "Derivative", "DerivativeRule", "Function", "GradientRule", "InPlace", "InPlaceAll", "Kernels", "with_gradient",
]  # fmt: skip


T = TypeVar("T")

#: From tensors and parameters to a tensor, or to several of which hidden ones may be None: which, the operator knows.
Function: TypeAlias = Callable[..., Any]
#: Adds to an error where it comes from, and returns it.
Locate: TypeAlias = Callable[[MXNetError], MXNetError]
#: From ``(p, inputs, outputs, head_grads)`` to a gradient for each input; `into` is memory for the first one.
GradientRule: TypeAlias = "Callable[..., Sequence[Tensor | None]]"
#: From ``(p, head_grad, output, *inputs)`` to the gradient of one input.
DerivativeRule: TypeAlias = Callable[..., Tensor]


@dataclass(frozen=True)
class InPlace:
    """A form that writes its result over one input, for parameters that satisfy `when`."""

    function: Callable[..., Tensor]
    when: Callable[[Params], bool] | None = None


@dataclass(frozen=True)
class InPlaceAll:
    """A form of a variadic operator that writes its outputs over its inputs ``name_0``, ``name_1``, ..."""

    name: str
    function: Callable[..., tuple[Tensor, ...]]


@dataclass(frozen=True)
class Derivative:
    """The gradient of one input by that of the output, for parameters that satisfy `when`."""

    rule: DerivativeRule
    when: Callable[[Params], bool] | None = None


class Remembering(Protocol):
    """A function that may remember something from one run to the next."""

    def create(
        self, device: Device, inputs: Sequence[tuple[Shape, torch.dtype]], *, has_gradients: bool = False
    ) -> None:
        """Begin: what the runs from now on remember is for this device, and for inputs of these shapes and types."""

    def __call__(self, *tensors: Tensor, **keywords: Any) -> Any:
        """Run it."""


@dataclass(frozen=True)
class Kernels:
    """The forms of an operator.

    Attributes
    ----------
    function
        The definition, on tensors.
    gradient
        A declared gradient, where it is not the derivative of the function.
    head_gradient
        Whether `backward` needs the gradients of the outputs; a loss does not.
    no_gradient
        Inputs that are only looked at, such as indices: their gradients are zeros, whatever those of the outputs.
    derivatives
        By the name of an input, what autograd computes as its gradient, for code that runs without autograd.
    in_place
        By the name of an input, the form that writes over it.
    in_place_all
        The form that writes all outputs over inputs.
    make
        For an operator that remembers something from one run to the next (`Custom`): makes the function that runs,
        one for each node of each executor. It is given what adds the node to an error, for its backward part.
        Elsewhere, in loops and in calls on arrays, one that was made of None runs, and remembers nothing.
    owns_output
        Whether the first output is memory of its own that the gradient does not need: what comes next, alone, may
        overwrite it.
    constants
        Inputs that the function counts as a number whatever they hold, for parameters. In training mode the caller's
        arrays are filled with it, outside of the function: converters that do not know the parameter read them right.
    writes_aux
        Whether the function writes auxiliary states in place and returns outputs only. The others return new values.
    draws
        Of a function with `generator`, whether a call draws random numbers: ``(parameters, training) -> bool``; by
        default each does.
    runs_users_code
        Whether the function runs code of a user's, which may do anything, such as keep tensors.
    reads_state
        Whether the function, or its gradient, reads what is no input and may change, such as the scale of a loss.
    retained
        Whether results are retained from run to run of an executor, as long as nobody writes into the inputs: for what
        passes compute from parameters alone.

    Examples
    --------
    >>> kernels = Kernels(torch.square, gradient=lambda p, inputs, outputs, head_grads: (head_grads[0] * 10,))
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> y = kernels.differentiable(x)
    >>> y.backward()
    >>> y.item(), x.grad.item(), kernels.forward(x).requires_grad
    (9.0, 10.0, False)
    """

    function: Function
    gradient: GradientRule | None = None
    head_gradient: bool | Callable[[Params], bool] = True
    no_gradient: frozenset[str] = frozenset()
    derivatives: Mapping[str, Derivative] = field(default_factory=dict)
    constants: Callable[[Params], Mapping[str, float]] | None = None
    in_place: Mapping[str, InPlace] = field(default_factory=dict)
    in_place_all: InPlaceAll | None = None
    make: Callable[[Locate | None], Remembering] | None = None
    owns_output: bool = False
    writes_aux: bool = False
    draws: Callable[[Params, bool], bool] | None = None
    runs_users_code: bool = False
    reads_state: bool = False
    prepared: bool = False

    # Derived once, and at once: a tracing compiler does not follow `cached_property`.
    #: What straight-line code calls: the function itself, or one that brings the declared gradient.
    differentiable: Function = field(init=False, repr=False)
    #: The function, never recorded: for a loss whose gradient is computed from the declared rule directly.
    forward: Function = field(init=False, repr=False)
    #: Whether the declared gradient can write its first result into a given tensor.
    gradient_takes_memory: bool = field(init=False, repr=False)
    #: Whether there is a form that writes results over inputs.
    writes_over: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rule = self.gradient
        derived = {
            "differentiable": self.make(None) if self.make else with_gradient(self.function, rule),
            "forward": _unrecorded(self.function),
            "gradient_takes_memory": rule is not None and "into" in inspect.signature(rule).parameters,
            "writes_over": bool(self.in_place) or self.in_place_all is not None,
        }
        # As in `Signature`: frozen for users, not for its own derived fields.
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def needs_head_gradient(self, p: Params) -> bool:
        """Whether `backward` must be given the gradient of an output of this operator.

        >>> from rebind.ops import find
        >>> [find(name).kernels.needs_head_gradient(Params()) for name in ("relu", "MakeLoss")]
        [True, False]
        """
        return self.head_gradient(p) if callable(self.head_gradient) else self.head_gradient

    def derivative_of(self, name: str, p: Params) -> DerivativeRule | None:
        """Return what gives the gradient of the input `name` without autograd, if that is declared.

        >>> kernels = Kernels(
        ...     torch.neg, derivatives={"data": Derivative(lambda p, head_grad, output, data: -head_grad)}
        ... )
        >>> kernels.derivative_of("data", Params())(Params(), torch.tensor(2.0), None, None)
        tensor(-2.)
        """
        found = self.derivatives.get(name)
        return None if found is None or (found.when is not None and not found.when(p)) else found.rule

    def over_input(self, name: str, p: Params) -> Callable[..., Tensor] | None:
        """Return the form that overwrites the input `name`, if there is one for these parameters.

        >>> kernels = Kernels(torch.relu, in_place={"data": InPlace(torch.relu_)})
        >>> x = torch.tensor([-1.0, 1.0])
        >>> kernels.over_input("data", Params())(x) is x
        True
        """
        form = self.in_place.get(name)
        if form is None or (form.when is not None and not form.when(p)):
            return None
        return form.function

    def over_targets(
        self, names: Sequence[str], inputs: Sequence[T | None], targets: Sequence[T], p: Params
    ) -> Callable[..., Tensor | tuple[Tensor, ...]] | None:
        """Return the form that writes its outputs over inputs, if `targets` are those very inputs, in order.

        Parameters
        ----------
        names
            The names of `inputs`.
        inputs, targets
            Arrays of any kind; they are compared by identity.
        p
            The parameters.

        Examples
        --------
        >>> kernels, x = Kernels(torch.relu, in_place={"data": InPlace(torch.relu_)}), torch.ones(1)
        >>> kernels.over_targets(["data"], [x], [x], Params()) is torch.relu_
        True
        >>> kernels.over_targets(["data"], [x], [torch.ones(1)], Params()) is None
        True
        """
        named = zip(names, inputs, strict=False)
        if self.in_place_all is not None:
            repeated = self.in_place_all.name
            found = [array for name, array in named if name.rpartition("_")[0] == repeated]
            # The very same arrays, in the same order: equal ones elsewhere must not be overwritten.
            same = len(found) == len(targets) and all(map(python_operator.is_, found, targets))
            return self.in_place_all.function if same else None
        if len(targets) == 1:
            for name, array in named:
                if array is targets[0] and name in self.in_place:
                    return self.over_input(name, p)
        return None


def with_gradient(function: Function, rule: GradientRule | None) -> Function:
    """Return a function that computes as `function` does, with the gradient that `rule` gives.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> with_gradient(torch.square, lambda p, inputs, outputs, head_grads: (head_grads[0] * 10,))(
    ...     x
    ... ).backward()
    >>> x.grad.item()
    10.0
    """
    if rule is None:
        return function

    @functools.wraps(function)
    def kernel(*tensors: Tensor | None, **keywords: ParameterValue) -> Any:
        if torch.is_grad_enabled():
            return _DeclaredGradient.apply(function, rule, keywords, *tensors)
        return function(*tensors, **keywords)

    return kernel


def _unrecorded(function: Function) -> Function:
    @functools.wraps(function)
    def kernel(*tensors: Tensor | None, **keywords: ParameterValue) -> Any:
        with grad_mode(False):
            return function(*tensors, **keywords)

    return kernel


class _Context(torch.autograd.function.FunctionCtx):
    """What torch saves of a run until its gradient is computed."""

    rule: GradientRule
    keywords: Mapping[str, ParameterValue]
    count: int
    saved_tensors: tuple[Tensor, ...]


class _DeclaredGradient(torch.autograd.Function):
    """Runs a function forward as it is, and its declared gradient backward."""

    @staticmethod
    def forward(
        ctx: _Context,
        function: Function,
        rule: GradientRule,
        keywords: dict[str, ParameterValue],
        *inputs: Tensor | None,
    ) -> Any:
        outputs = function(*inputs, **keywords)
        several = isinstance(outputs, tuple)
        ctx.rule, ctx.keywords, ctx.count = rule, keywords, len(inputs)
        # torch takes None for what is absent, though its annotation does not have it.
        ctx.save_for_backward(*inputs, *(outputs if several else (outputs,)))  # type: ignore[arg-type]  # None is fine
        return outputs

    @staticmethod
    def backward(ctx: _Context, *head_grads: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        inputs, outputs = saved[: ctx.count], saved[ctx.count :]
        # None for function, rule and keywords, which are inputs to autograd too.
        return (None, None, None, *ctx.rule(Params(ctx.keywords), inputs, outputs, head_grads))
