"""What a call of an operator gives: inputs, parameters, and what the mode adds."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import torch

from ...errors import ParameterError, near_names
from ...params import NULL, REQUIRED, Parameter, ParameterValue, Params

__all__ = ["MODE_NAMES", "Input", "Signature", "read_signature", "without_defaults"]

T = TypeVar("T")

#: Keywords of a function that are not the user's. `device` is PyTorch's; `context`, for calls on arrays only, is
#: MXNet's, which tells `cpu(0)` from `cpu(1)`.
MODE_NAMES = frozenset({"training", "generator", "device", "context"})


@dataclass(frozen=True)
class Input:
    """An array that an operator takes."""

    name: str
    optional: bool = False  # the function has a default for it; whether it is there follows from `skip`
    auxiliary: bool = False


@dataclass(frozen=True)
class Signature:
    """What an operator takes: read from its function by `read_signature`, or made directly (`Custom`).

    Attributes
    ----------
    inputs
        The arrays, auxiliary states last where they are returned; for a variadic operator the one that repeats.
    parameters
        By name, in the order in which they may be given by position.
    modes
        Which of ``training``, ``generator``, ``device`` the function takes.
    variadic
        Whether there may be any number of inputs.
    count
        The name of the parameter that counts the inputs of a variadic operator (``num_args``), if it has one.
    skip
        Whether a parameter's value removes an input: ``(name of the input, p) -> bool``.
    fixed_names
        For a variadic operator, the names of its inputs under parameters that fix them (`UpSampling`).
    aux
        Of a variadic operator with `fixed_names`, which are auxiliary, without the number: ``mom`` for ``mom_0``.
    check
        What must hold between parameters: ``p -> sentence or None``.
    takes_any
        Whether keywords that are no parameters are ignored, rather than refused. MXNet reads no keywords for operators
        without parameters: ``zeros_like(x, ctx=...)`` runs, and a node holds the keyword as an attribute.

    Examples
    --------
    >>> from torch import Tensor
    >>> def scaled(
    ...     data: Tensor, offset: Tensor | None = None, *, factor: float = 1.0, no_offset: bool = False
    ... ): ...
    >>> signature = read_signature(scaled, skip=lambda name, p: name == "offset" and p.no_offset)
    >>> p = signature.parse({"factor": "2", "no_offset": True})
    >>> p, signature.inputs_for(p)
    ({'factor': 2.0, 'no_offset': True}, ('data',))
    """

    inputs: tuple[Input, ...]
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    modes: frozenset[str] = frozenset()
    variadic: bool = False
    count: str | None = None
    skip: Callable[[str, Params], bool] | None = None
    fixed_names: Callable[[Params], Sequence[str]] | None = None
    aux: tuple[str, ...] = ()
    check: Callable[[Params], str | None] | None = None
    takes_any: bool | None = None  # None: where there are no parameters

    # What each call asks is computed once, and at once: a tracing compiler does not follow `cached_property`.
    #: The names of all inputs, of those too that parameters may remove.
    input_names: tuple[str, ...] = field(init=False, repr=False)
    #: The names of what may be given by position.
    order: tuple[str, ...] = field(init=False, repr=False)
    #: The values of parameters that need not be given.
    defaults: Mapping[str, ParameterValue] = field(init=False, repr=False)
    #: The names of auxiliary states; of a variadic operator without the number.
    aux_names: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        names = tuple(entry.name for entry in self.inputs)
        derived = {
            "input_names": names,
            "order": tuple(self.parameters) if self.variadic else (*names, *self.parameters),
            "defaults": {p.name: p.default for p in self.parameters.values() if not p.required},
            "takes_any": not self.parameters if self.takes_any is None else self.takes_any,
            "aux_names": self.aux or tuple(entry.name for entry in self.inputs if entry.auxiliary),
        }
        # The class is frozen, for its users; its own derived fields are set past that.
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def inputs_for(self, p: Params, count: int | None = None) -> tuple[str, ...]:
        """Return the names of the inputs under parameters `p`; a variadic operator needs their `count`.

        >>> from rebind.ops import find
        >>> find("Concat").signature.inputs_for(Params(num_args=2))
        ('arg0', 'arg1')
        """
        if self.variadic:
            fixed = tuple(self.fixed_names(p)) if self.fixed_names else ()
            # Fewer arrays than names, or none yet: the rest are variables that composing will make.
            if fixed and (count is None or count <= len(fixed)):
                return fixed
            if count is None:
                count = (p.get(self.count) or 0) if self.count else 0
            return tuple(f"arg{i}" for i in range(count))
        skip = self.skip
        if skip is None:
            return self.input_names
        return tuple(name for name in self.input_names if not skip(name, p))

    def is_auxiliary(self, name: str) -> bool:
        """Whether the input `name`, one of `inputs_for`, is an auxiliary state.

        >>> from rebind.ops import find
        >>> [find("BatchNorm").signature.is_auxiliary(name) for name in ("gamma", "moving_mean")]
        [False, True]
        """
        # Those of a variadic operator are numbered: ``mom_0``.
        return (name.rpartition("_")[0] if self.aux else name) in self.aux_names

    def arguments(self, p: Params, present: Sequence[T]) -> list[T | None]:
        """Return inputs as the function takes them: None for optional ones that parameters remove.

        >>> from rebind.ops import find
        >>> signature = find("FullyConnected").signature
        >>> signature.arguments(signature.parse({"num_hidden": 2, "no_bias": True}), ["x", "w"])
        ['x', 'w', None]
        """
        if self.variadic:
            return list(present)
        # By name, as an absent input moves those after it forward.
        given = dict(zip(self.inputs_for(p, len(present)), present, strict=True))
        return [given.get(name) for name in self.input_names]

    def keywords(self, p: Params) -> dict[str, ParameterValue]:
        """Return the parameters that the function takes: all but the count of a variadic operator.

        >>> from rebind.ops import find
        >>> find("Concat").signature.keywords(Params(num_args=2, dim=0))
        {'dim': 0}
        """
        keywords = dict(p)
        if self.count:
            keywords.pop(self.count, None)
        return keywords

    def mode_keywords(
        self, training: bool, generator: T, device: torch.device | None
    ) -> dict[str, bool | torch.device | T | None]:
        """Return, of the mode, a generator and a device, those that the function takes.

        `generator` is a `torch.Generator`, or what represents one in a graph that is traced.

        >>> from rebind.ops import find
        >>> find("BatchNorm").signature.mode_keywords(True, None, None)
        {'training': True}
        """
        modes: dict[str, bool | torch.device | T | None]
        modes = {"training": training, "generator": generator, "device": device}
        return {name: value for name, value in modes.items() if name in self.modes}

    def parse(self, given: Mapping[str, object]) -> Params:
        """Return all parameters, parsed, with defaults filled in.

        Raises
        ------
        ParameterError
            For an unknown or missing parameter or a value that is not allowed.

        Examples
        --------
        >>> from rebind.ops import find
        >>> find("FullyConnected").signature.parse({"num_hiden": 64})
        Traceback (most recent call last):
            ...
        rebind.errors.ParameterError: no parameter 'num_hiden'; did you mean 'num_hidden'? Parameters: num_hidden, ...
        """
        # Parsed values go over the defaults, which are parsed already.
        values = Params(self.defaults)
        for name, value in given.items():
            if value is NULL:
                continue
            parameter = self.parameters.get(name)
            if parameter is None:
                if self.takes_any:
                    continue
                raise ParameterError(
                    f"no parameter {name!r}{near_names(name, (*self.parameters, *self.input_names))} "
                    f"Parameters: {', '.join(self.parameters) or 'none'}.",
                    argument=name,
                )
            values[name] = parameter.parse(value)
        missing = [p.name for p in self.parameters.values() if p.name not in values]
        if missing:
            needed = "; ".join(f"{name} ({self.parameters[name].type_text})" for name in missing)
            raise ParameterError(f"needs a value for {needed}", argument=missing[0])
        if self.check is not None and (complaint := self.check(values)):
            raise ParameterError(complaint)
        return values


def without_defaults(function: Callable[..., object], keywords: Mapping[str, T]) -> dict[str, T]:
    """Return keywords without those that the function has as defaults: each that is given takes time in each call.

    >>> def scaled(data, *, factor: float = 1.0, offset: float = 0.0): ...
    >>> without_defaults(scaled, {"factor": 2.0, "offset": 0.0})
    {'factor': 2.0}
    """
    # Its own, whatever the signature that it shows.
    defaults = getattr(function, "__kwdefaults__", None) or {}
    # As text they are exact: zeros have signs, and 1 is not True.
    return {
        name: value
        for name, value in keywords.items()
        if name not in defaults or repr(defaults[name]) != repr(value)
    }


def read_signature(
    function: Callable[..., object],
    *,
    aux: Sequence[str] = (),
    skip: Callable[[str, Params], bool] | None = None,
    count: str | None = None,
    names: Callable[[Params], Sequence[str]] | None = None,
    takes_any: bool | None = None,
) -> Signature:
    """Split a function's signature into inputs (before ``*``), parameters (after it) and modes.

    Parameters
    ----------
    function
        Takes tensors, and keywords that are all annotated.
    aux, skip, count, names, takes_any
        See `Signature`; `names` are its `fixed_names`.

    Examples
    --------
    >>> from torch import Tensor
    >>> def dropped(data: Tensor, *, p: float = 0.5, training: bool = False): ...
    >>> signature = read_signature(dropped)
    >>> signature.input_names, list(signature.parameters), signature.modes
    (('data',), ['p'], frozenset({'training'}))
    """
    hints = typing.get_type_hints(function, include_extras=True)
    inputs: list[Input] = []
    parameters: dict[str, Parameter] = {}
    modes: set[str] = set()
    variadic = False
    for argument in inspect.signature(function).parameters.values():
        # Not the user's: who runs the operator fills these in.
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
            # Under `names` auxiliary states are numbered at the call, and unknown here.
            inputs.append(Input(argument.name, optional, names is None and argument.name in aux))
    missing = () if names else set(aux) - {entry.name for entry in inputs}
    if missing or (variadic and len(inputs) != 1):
        raise ValueError(f"{function}: aux {missing} are no inputs, or a variadic input is not alone")
    if count is not None:  # first, as MXNet lists it
        parameters = {count: Parameter.from_annotation(count, int, None), **parameters}
    return Signature(
        tuple(inputs),
        parameters,
        frozenset(modes),
        variadic=variadic,
        count=count,
        skip=skip,
        fixed_names=names,
        aux=tuple(aux) if variadic and names else (),
        takes_any=takes_any,
    )
