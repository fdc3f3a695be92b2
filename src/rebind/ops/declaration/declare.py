"""Declaring an operator: one declaration, from which everything else follows.

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

Arrays come before the ``*`` (or are variadic, ``*data``), parameters after it. Three keyword names are not the
user's: ``training`` (the mode), ``generator`` (random numbers) and ``device`` (where to make new arrays); a
function that takes one of them is given it.

What the signature cannot say is declared beside it, by keywords of `operator` and by decorators of what it makes: a
form that writes its result over an input (``@op.in_place``), the shapes of parameters that follow from the data
(``@op.fill_shapes``), a gradient that differs from the derivative (``@op.gradient``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...params import Params
from .inference import SHAPE_PARAMETER, Inference, TypeSlots
from .kernels import Function, Kernels
from .labels import Labels
from .operators import OPERATORS, Operator
from .record import Record
from .signature import read_signature

__all__ = ["operator"]


def operator(
    name: str,
    *aliases: str,
    skip: Callable[[str, Params], bool] | None = None,
    aux: Sequence[str] = (),
    outputs: Sequence[str] | Callable[[Params], Sequence[str]] = ("output",),
    visible: Callable[[Params], int] | None = None,
    count: str | None = None,
    names: Callable[[Params], Sequence[str]] | None = None,
    types: TypeSlots | Callable[[Params], TypeSlots] | None = None,
    same_shape: bool = False,
    head_gradient: bool | Callable[[Params], bool] = True,
    no_gradient: Sequence[str] = (),
    inits: Mapping[str, str] | None = None,
    counted: int | Callable[[Params], int] | None = None,
    owns_output: bool = False,
    writes_aux: bool = False,
    constants: Callable[[Params], Mapping[str, float]] | None = None,
    draws: Callable[[Params, bool], bool] | None = None,
    resolve: Callable[[Mapping[str, object]], Operator] | None = None,
    takes_any: bool | None = None,
    listed: Mapping[str, str | None] | None = None,
    labels: Labels | None = None,
) -> Callable[[Function], Operator]:
    """Make a function on tensors the operator `name`, and register it.

    Parameters
    ----------
    name, aliases
        MXNet's names.
    skip
        Inputs that a parameter removes: ``(name of the input, p) -> bool``.
    aux
        Auxiliary states: returned as new values after the outputs, and never written in place; with `writes_aux` it is
        the other way round, and the function writes them in place and returns outputs only.
    outputs, visible, counted
        The names of the outputs, how many a user sees, and how many MXNet's files count.
    count, names
        Of a variadic operator, the parameter that counts its inputs, and their names where parameters fix them.
    types
        See `Inference`.
    same_shape
        Whether all inputs and the first output have one shape.
    head_gradient
        Whether `backward` needs the gradients of the outputs.
    no_gradient
        Inputs that are only looked at: their gradients are zeros, whatever those of the outputs.
    inits
        Initializers of variables that are made for inputs.
    owns_output, writes_aux, constants, draws
        See `Kernels`.
    resolve, labels
        See `Operator`.
    takes_any
        See `Signature`.
    listed
        See `Record`.

    Examples
    --------
    >>> import torch
    >>> from torch import Tensor
    >>> from rebind.ops import OPERATORS, operator
    >>> @operator("scaled_by", same_shape=True)
    ... def scaled_by(data: Tensor, *, factor: float = 2.0) -> Tensor:
    ...     return data * factor
    >>> scaled_by(torch.ones(2), **scaled_by.parse({"factor": "3"}))
    tensor([3., 3.])
    >>> OPERATORS.pop("scaled_by")
    <operator scaled_by>
    """

    def make(function: Function) -> Operator:
        made = Operator(
            name,
            # When it is first asked for: each takes a while to read, and a program uses a few of hundreds.
            partial(
                read_signature, function, aux=aux, skip=skip, count=count, names=names, takes_any=takes_any
            ),
            Kernels(
                function,
                head_gradient=head_gradient,
                no_gradient=frozenset(no_gradient),
                constants=constants,
                owns_output=owns_output,
                writes_aux=writes_aux,
                draws=draws,
            ),
            # Of what takes no arrays only a parameter can say the shape; a 0 there is a size that consumers decide.
            Inference(same_shape=same_shape, types=types, size=SHAPE_PARAMETER),
            Record(outputs, visible, counted, dict(inits or {}), dict(listed or {})),
            aliases=aliases,
            labels=labels,
            resolve=resolve,
            shared=True,
        )
        # One table for names and aliases: a second operator would take calls of the first without a word.
        for known_as in (name, *aliases):
            if known_as in OPERATORS:
                raise ValueError(f"two operators are named {known_as!r}: {OPERATORS[known_as]} and {made}")
            OPERATORS[known_as] = made
        return made

    return make
