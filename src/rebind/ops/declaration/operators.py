"""An operator: what is known of it in four records, and the table of all by name."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from ... import dtypes
from ...errors import DTypeError, MXNetError, NameLookupError, near_names
from ...memo import exact_key
from ...params import ParameterValue, Params
from ...shapes import Shape
from .inference import (
    Inference,
    ProductsRule,
    ShapeRule,
    ShapeRuleBackward,
    ShapeRuleForward,
    SizeRule,
    TypeRule,
)
from .kernels import Derivative, Function, InPlace, InPlaceAll, Kernels
from .labels import Labels
from .record import Record
from .signature import Signature

__all__ = ["OPERATORS", "Operator", "all_operators", "find"]


class Typed(Protocol):
    """A tensor, or a storage."""

    @property
    def dtype(self) -> torch.dtype:
        """The type of its values."""


T = TypeVar("T")
F = TypeVar("F", bound=Callable)

#: By name and by each alias.
OPERATORS: dict[str, Operator] = {}


class Operator:
    """One operator: its names, and four records of what is known of it.

    `operator` declares those of MXNet. For an operator of one call, such as a loop around its graph, make one from
    these; it is not registered.

    Parameters
    ----------
    name, aliases
        MXNet's names.
    signature
        What a call gives; or what reads that, once, when it is first asked for.
    kernels
        What runs.
    inference
        What shapes and types say of each other.
    record
        What symbols and files say of it.
    labels
        Of a loss, what it asks of labels that are classes.
    resolve
        From a call's parameters to the operator to use: for `Custom`, whose parameters name it.
    subgraphs
        The graphs that a loop or a branch runs (`control_flow`); this package knows nothing of them.
    shared
        Whether calls of one name and one set of parameters are calls of the same operator.

    Examples
    --------
    >>> from rebind.ops import Inference, Input, Kernels, Operator, Signature
    >>> double = Operator(
    ...     "double", Signature((Input("data"),)), Kernels(lambda data: data * 2), Inference(same_shape=True)
    ... )
    >>> double(torch.ones(2))
    tensor([2., 2.])
    """

    # A name that is misspelt in a declaration is an error.
    __slots__ = (
        "_parsed", "_read", "_resolve", "_signature", "aliases", "depends_on_parameters", "inference", "kernels",
        "labels", "name", "record", "shared", "subgraphs",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        signature: Signature | Callable[[], Signature],
        kernels: Kernels,
        inference: Inference | None = None,
        record: Record | None = None,
        *,
        aliases: Sequence[str] = (),
        labels: Labels | None = None,
        resolve: Callable[[Mapping[str, object]], Operator] | None = None,
        subgraphs: tuple[Any, ...] = (),
        shared: bool = False,
    ) -> None:
        self.name = name
        self.aliases = tuple(aliases)
        self.kernels = kernels
        self.inference = inference or Inference()
        self.record = record or Record()
        self.labels = labels
        self.subgraphs = subgraphs
        # By the parameters as given: most calls of a program repeat those of earlier ones.
        self.shared = shared
        #: Whether a call's parameters decide what arrays it takes: `resolved` then gives the operator.
        self.depends_on_parameters = resolve is not None
        self._resolve = resolve
        self._parsed: dict[Hashable, Params] = {}
        self._signature: Signature | None = signature if isinstance(signature, Signature) else None
        self._read = signature if callable(signature) else lambda: signature

    @property
    def signature(self) -> Signature:
        """What a call gives, read when it is first asked for.

        >>> from rebind.ops import find
        >>> find("FullyConnected").signature.input_names
        ('data', 'weight', 'bias')
        """
        signature = self._signature
        if signature is None:  # two threads that come first together read the same twice
            signature = self._signature = self._read()
        return signature

    @property
    def returned_aux(self) -> tuple[str, ...]:
        """Auxiliary states whose new values the function returns, after the outputs.

        >>> from rebind.ops import find
        >>> find("BatchNorm").returned_aux
        ('moving_mean', 'moving_var')
        """
        return () if self.kernels.writes_aux else self.signature.aux_names

    def draws(self, p: Params, training: bool = True) -> bool:
        """Return whether a call with parameters `p` draws random numbers.

        >>> from rebind.ops import find
        >>> op = find("Dropout")
        >>> [op.draws(op.parse({"mode": mode}), training=False) for mode in ("training", "always")]
        [False, True]
        """
        rule = self.kernels.draws
        return "generator" in self.signature.modes and (rule is None or rule(p, training))

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], Operator], tuple[str]]:
        # By name: rules may be lambdas, which no pickle can hold.
        return find, (self.name,)

    # Declarations beside the function: each is a decorator that returns what it is given. The four records are frozen,
    # so that a rule replaces one of them.

    def fill_shapes(self, rule: ShapeRule) -> ShapeRule:
        """Declare shapes of inputs that follow from those of other inputs: ``(shapes, p) -> {name: shape}``.

        In the answer, and in what is given, a size may be 0 (unknown) and a shape None.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("scale", Signature((Input("data"), Input("factor"))), Kernels(torch.mul))
        >>> @op.fill_shapes
        ... def _(shapes, p):
        ...     return {"factor": shapes["data"][-1:]}
        >>> op.inference.filled_shapes({"data": (8, 3), "factor": None}, Params())
        {'factor': (3,)}
        """
        self.inference = replace(self.inference, shapes_rule=rule)
        return rule

    def shapes_from_outputs(self, rule: ShapeRuleBackward) -> ShapeRuleBackward:
        """Declare shapes of inputs that follow from outputs: ``(shapes, outputs, p) -> {name: shape}``.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("mirror", Signature((Input("data"),)), Kernels(torch.t))
        >>> @op.shapes_from_outputs
        ... def _(shapes, outputs, p):
        ...     return {"data": outputs[0][::-1]}
        >>> op.inference.shapes_of_inputs({"data": None}, [(2, 3)], Params())
        {'data': (3, 2)}
        """
        self.inference = replace(self.inference, outputs_rule=rule)
        return rule

    def half_known(self, rule: ShapeRuleForward) -> ShapeRuleForward:
        """Declare shapes of outputs that follow from half-known shapes of inputs: ``(shapes, p) -> shapes``.

        A shape is None where nothing is known of it. Where the rule returns nothing, sizes are tried for unknown ones.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator(
        ...     "first_half", Signature((Input("data"),)), Kernels(lambda data: data[: len(data) // 2])
        ... )
        >>> @op.half_known
        ... def _(shapes, p):
        ...     return [(shapes["data"][0] // 2, *shapes["data"][1:])]
        >>> op.inference.half_known_rule({"data": (4, 0)}, Params())
        [(2, 0)]
        """
        self.inference = replace(self.inference, half_known_rule=rule)
        return rule

    def output_shapes(self, rule: ShapeRuleForward) -> ShapeRuleForward:
        """Declare shapes of outputs that follow from known ones of inputs: ``(shapes, p) -> shapes``.

        Nothing for all that the function refuses: the errors are its own. See `Inference.forward_rule`.

        >>> from math import prod
        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("rows", Signature((Input("data"),)), Kernels(lambda data: data.flatten(1)))
        >>> @op.output_shapes
        ... def _(shapes, p):
        ...     return [(shapes["data"][0], prod(shapes["data"][1:]))] if shapes["data"] else []
        >>> op.inference.forward_rule({"data": (4, 2, 3)}, Params())
        [(4, 6)]
        """
        self.inference = replace(self.inference, forward_rule=rule)
        return rule

    def products(self, rule: ProductsRule) -> ProductsRule:
        """Declare how many multiply-adds the function takes: ``(shapes, p) -> number``. See `Inference.products_rule`.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("times", Signature((Input("lhs"), Input("rhs"))), Kernels(torch.matmul))
        >>> @op.products
        ... def _(shapes, p):
        ...     return shapes["lhs"][0] * shapes["lhs"][1] * shapes["rhs"][1]
        >>> op.inference.products_rule({"lhs": (2, 3), "rhs": (3, 4)}, Params())
        24
        """
        self.inference = replace(self.inference, products_rule=rule)
        return rule

    def fill_types(self, rule: TypeRule) -> TypeRule:
        """Declare types that `types` cannot express: ``(types of inputs, p) -> {input or output: type}``, None unknown.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator(
        ...     "as_type_of", Signature((Input("data"), Input("like"))), Kernels(torch.Tensor.type_as)
        ... )
        >>> @op.fill_types
        ... def _(types, p):
        ...     return {"output": types["like"]}
        >>> op.inference.filled_types({"data": torch.int8, "like": torch.float16}, Params())
        {'output': torch.float16}
        """
        self.inference = replace(self.inference, types_rule=rule)
        return rule

    def sized(self, known: Callable[[Params], Shape | None]) -> Callable[[F], F]:
        """Declare how an operator without inputs takes a size that its consumers know: ``(p, shape) -> parameters``.

        `known` is the shape, with 0 for what is open, where something is, else None; without a declaration it is the
        parameter ``shape``.
        """

        def declare(rule: F) -> F:
            self.inference = replace(
                self.inference, size=SizeRule(lambda p: known(p) is not None, known, rule)
            )
            return rule

        return declare

    def gradient(self, rule: F) -> F:
        """Declare a gradient that is not the derivative: ``(p, inputs, outputs, head_grads) -> gradients``.

        A rule with a further argument `into` writes its first gradient into that tensor when it is given one.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("sign", Signature((Input("data"),)), Kernels(torch.sign))
        >>> @op.gradient  # straight through
        ... def _(p, inputs, outputs, head_grads):
        ...     return (head_grads[0],)
        >>> x = torch.tensor(-2.0, requires_grad=True)
        >>> op(x).backward()
        >>> x.grad
        tensor(1.)
        """
        self.kernels = replace(self.kernels, gradient=rule)
        return rule

    def derivative(self, input_name: str, when: Callable[[Params], bool] | None = None) -> Callable[[F], F]:
        """Declare what autograd computes as the gradient of an input: ``(p, head_grad, output, *inputs) -> gradient``.

        It is for code that runs without autograd (`rebind.executor.explicit`), has autograd's numbers to the last bit,
        and is taken for parameters that satisfy `when`. Of several outputs it is given all, and the gradient of the
        first; with a gradient of another one, autograd is taken. It reads no input that a form of the function writes
        over, and no output that the operator declares to own.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("double", Signature((Input("data"),)), Kernels(lambda data: data * 2))
        >>> @op.derivative("data")
        ... def _(p, head_grad, output, data):
        ...     return head_grad * 2
        >>> op.kernels.derivative_of("data", Params()) is _
        True
        """

        def declare(rule: F) -> F:
            derivatives = {**self.kernels.derivatives, input_name: Derivative(rule, when)}
            self.kernels = replace(self.kernels, derivatives=derivatives)
            return rule

        return declare

    def in_place(self, input_name: str, when: Callable[[Params], bool] | None = None) -> Callable[[F], F]:
        """Declare a form of the function that writes its result over an input, for parameters that satisfy `when`.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("negate", Signature((Input("data"),)), Kernels(torch.neg))
        >>> _ = op.in_place("data")(torch.neg_)
        >>> x = torch.ones(2)
        >>> op.kernels.over_input("data", Params())(x) is x
        True
        """

        def declare(function: F) -> F:
            forms = {**self.kernels.in_place, input_name: InPlace(function, when)}
            self.kernels = replace(self.kernels, in_place=forms)
            return function

        return declare

    def in_place_all(self, name: str) -> Callable[[F], F]:
        """Declare a form of a variadic operator that writes its outputs over its inputs ``name_0``, ``name_1``, ..."""

        def declare(function: F) -> F:
            self.kernels = replace(self.kernels, in_place_all=InPlaceAll(name, function))
            return function

        return declare

    def hidden(self, rule: F) -> F:
        """Declare what hidden outputs hold: ``(p, inputs, outputs, training) -> {name: tensor}``.

        It runs where a monitor shows them only; the function itself need not compute what nothing uses.

        >>> from rebind.ops import Input, Kernels, Signature
        >>> op = Operator("root", Signature((Input("data"),)), Kernels(torch.sqrt))
        >>> @op.hidden
        ... def _(p, inputs, outputs, training):
        ...     return {"square": inputs[0].square()}
        >>> op.record.hidden(Params(), [torch.tensor(3.0)], [], False)
        {'square': tensor(9.)}
        """
        self.record = replace(self.record, hidden=rule)
        return rule

    def check(self, rule: Callable[[Params], str | None]) -> Callable[[Params], str | None]:
        """Declare what must hold between parameters: ``p -> sentence or None``.

        >>> from rebind.ops import Kernels
        >>> from rebind.ops.declaration import read_signature
        >>> def scaled(data: torch.Tensor, *, factor: float = 1.0): ...
        >>> op = Operator("scaled", read_signature(scaled), Kernels(scaled))
        >>> @op.check
        ... def _(p):
        ...     return None if p.factor else "factor must not be 0; got 0.0"
        >>> op.parse({"factor": 0})
        Traceback (most recent call last):
            ...
        rebind.errors.ParameterError: scaled: factor must not be 0; got 0.0
        """
        read = self._read
        self._read, self._signature = lambda: replace(read(), check=rule), None
        return rule

    # What needs more than one of the four records.

    def resolved(self, given: Mapping[str, object]) -> Operator:
        """Return the operator for a call with these parameters: itself, but for `Custom`, whose parameters name it."""
        if self._resolve is None:
            return self
        try:
            return self._resolve(given)
        except MXNetError as error:
            error.locate(self.name)
            raise

    def has_open_size(self, p: Params) -> bool:
        """Whether it makes an array of a size that follows from its consumers.

        >>> [
        ...     find("_zeros").has_open_size(find("_zeros").parse({"shape": shape}))
        ...     for shape in ((2, 3), (0, 3))
        ... ]
        [False, True]
        """
        # What takes arrays has the sizes from these.
        size = self.inference.size
        return size is not None and not self.signature.inputs and size.is_open(p)

    def parse(self, given: Mapping[str, object]) -> Params:
        """Return all parameters, parsed, with defaults filled in; the answer to an earlier call is used again.

        Raises
        ------
        ParameterError
            For an unknown or missing parameter or a value that is not allowed; it names this operator.

        Examples
        --------
        >>> find("FullyConnected").parse({"num_hidden": "64"})
        {'no_bias': False, 'flatten': True, 'num_hidden': 64}
        """
        try:
            key = tuple(given), exact_key(tuple(given.values()))
            found = self._parsed.get(key)
            if found is not None:
                return found
        except TypeError:  # a list or an array among the values
            key = None
        try:
            p = self.signature.parse(given)
        except MXNetError as error:
            error.locate(self.name)
            raise
        # Bounded, as a program may compute values without end.
        if key is not None and len(self._parsed) < 4096:
            self._parsed[key] = p
        return p

    def __call__(self, *tensors: Tensor | None, **keywords: ParameterValue) -> Any:
        """Run the function; differentiable, with the declared gradient where there is one."""
        # The kernel does not know by which operator it was called; this is the first place that does.
        try:
            return self.kernels.differentiable(*tensors, **keywords)
        except MXNetError as error:
            error.locate(self.name)
            raise

    def check_types(self, tensors: Sequence[Typed | None], p: Params) -> None:
        """Raise a DTypeError when inputs that must be of one type are not.

        >>> find("dot").check_types([torch.ones(2), torch.ones(2).half()], Params())
        Traceback (most recent call last):
            ...
        rebind.errors.DTypeError: dot: rhs must be of the type of lhs, float32; got float16. ...
        """
        slots = self.inference.type_slots(p)
        bound: dict[str, tuple[str, torch.dtype]] = {}
        names = self.signature.inputs_for(p, len(tensors))
        # "*" stands for all other inputs, and "T" is what an operator shares that declares nothing.
        for name, tensor in zip(names, tensors, strict=False):
            slot = slots.get(name, slots.get("*", "T"))
            # A slot that is a type itself is the function's to check; those of one name must agree.
            if tensor is None or not isinstance(slot, str) or slot == "any":
                continue
            first, dtype = bound.setdefault(slot, (name, tensor.dtype))
            if dtype is not tensor.dtype:
                raise DTypeError(
                    f"{name} must be of the type of {first}, {dtypes.name(dtype)}; "
                    f"got {dtypes.name(tensor.dtype)}. Convert one of them with astype().",
                    argument=name,
                ).locate(self.name)

    def kernel_over(self, inputs: Sequence[T | None], targets: Sequence[T], p: Params) -> Function | None:
        """Return the form that writes its outputs over inputs, if `targets` are those very inputs, in order.

        >>> add, x, y = find("elemwise_add"), torch.ones(2), torch.ones(2)
        >>> add.kernel_over([x, y], [y], Params())(x, y) is y
        True
        >>> add.kernel_over([x, y], [torch.ones(2)], Params()) is None  # a third array
        True
        """
        signature = self.signature
        names = signature.inputs_for(p, len(inputs)) if signature.variadic else signature.input_names
        return self.kernels.over_targets(names, inputs, targets, p)


def find(name: str) -> Operator:
    """Return the operator with `name`; NameLookupError suggests near names.

    >>> find("elemwise_add").name, find("_Plus") is find("elemwise_add")
    ('elemwise_add', True)
    """
    try:
        return OPERATORS[name]
    except KeyError:
        raise NameLookupError(f"no operator {name!r}{near_names(name, OPERATORS)}") from None


def all_operators() -> Iterable[Operator]:
    """Return each operator once.

    >>> [op.aliases for op in all_operators() if op.name == "Concat"]
    [('concat',)]
    """
    return dict.fromkeys(OPERATORS.values())
