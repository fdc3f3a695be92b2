"""What the shapes and types of an operator's inputs and outputs say of each other.

Outputs' shapes and types come from running the function on ``meta`` tensors. Here is the rest: what flows
backward, to variables whose shape nobody gave, and the types that such a run does not show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch

from ...mode import mode
from ...params import ParameterValue, Params
from ...shapes import Shape, together

__all__ = [
    "Inference",
    "ProductsRule",
    "ShapeRule",
    "ShapeRuleForward",
    "Shapes",
    "SizeRule",
    "TypeRule",
    "TypeSlot",
    "TypeSlots",
    "Types",
    "one_shape",
    "unknown_sizes",
]

Shapes: TypeAlias = "Mapping[str, Shape | None]"
Types: TypeAlias = "Mapping[str, torch.dtype | None]"
#: A type; the name of a type that slots share; or a function from the type ``T``.
TypeSlot: TypeAlias = "str | torch.dtype | Callable[[torch.dtype], torch.dtype]"
TypeSlots: TypeAlias = "Mapping[str, TypeSlot]"

ShapeRule: TypeAlias = "Callable[[Shapes, Params], Shapes]"
ShapeRuleBackward: TypeAlias = "Callable[[Shapes, Sequence[Shape | None], Params], Shapes]"
ShapeRuleForward: TypeAlias = "Callable[[Shapes, Params], Sequence[Shape | None]]"
ProductsRule: TypeAlias = "Callable[[Shapes, Params], int]"
TypeRule: TypeAlias = "Callable[[Types, Params], Types]"


@dataclass(frozen=True)
class SizeRule:
    """How an operator without inputs takes a size that its consumers know.

    Attributes
    ----------
    is_open
        Whether the size is open under parameters.
    known
        What is known of an open one, with 0 for sizes that are not.
    keywords
        The parameters with which it makes an array of a shape: ``(p, shape) -> keywords``.
    """

    is_open: Callable[[Params], bool]
    known: Callable[[Params], Shape | None]
    keywords: Callable[[Params, Shape], dict[str, ParameterValue]]


def unknown_sizes(shape: Shape | None) -> Shape | None:
    """Return a shape that a user gave with 0 for sizes that are unknown; None where all of it is.

    In MXNet's shapes that is 0 and -1, and a shape of no axes; under `mx.util.np_shape`, -1 alone.

    >>> unknown_sizes((-1, 3)), unknown_sizes(()), unknown_sizes(None)
    ((0, 3), None, None)
    """
    if mode.numpy_shapes:
        return None if shape is None else tuple(max(size, 0) for size in shape)
    return tuple(max(size, 0) for size in shape) if shape else None


def _is_open(p: Params) -> bool:
    if "shape" not in p:
        return False
    shape = p["shape"]
    if mode.numpy_shapes:
        return shape is None or min(shape, default=0) < 0
    return not shape or min(shape) <= 0


#: For creation operators: the parameter ``shape`` has it.
SHAPE_PARAMETER = SizeRule(_is_open, lambda p: unknown_sizes(p["shape"]), lambda p, shape: {"shape": shape})


def one_shape(shapes: Shapes, p: Params) -> Sequence[Shape | None]:
    """Return the shape of all inputs if they have one, as a `forward_rule` of what is computed element by element.

    >>> one_shape({"lhs": (2, 3), "rhs": (2, 3)}, Params()), one_shape({"lhs": (2, 3), "rhs": (3,)}, Params())
    ([(2, 3)], [])
    """
    first, *others = shapes.values()
    return [first] if all(shape == first for shape in others) else []


StorageRule: TypeAlias = "Callable[[Sequence[str]], tuple[tuple[str, ...], tuple[str, ...]] | None]"


@dataclass(frozen=True)
class Inference:
    """The rules that an operator declares; each may be absent.

    In what rules are given, and answer, a size may be 0 (unknown) and a shape None.

    Attributes
    ----------
    shapes_rule
        Shapes of inputs that follow from those of other inputs: ``(shapes, p) -> {name: shape}``.
    outputs_rule
        Shapes of inputs that follow from outputs: ``(shapes, outputs, p) -> {name: shape}``.
    half_known_rule
        Shapes of outputs where those of inputs are known in part: ``(shapes, p) -> shapes``. It is asked where running
        the function on sizes that stand for unknown ones would not do: where it compares sizes with each other
        (broadcasting) or with a parameter (slices).
    forward_rule
        Shapes of outputs where those of inputs are known: ``(shapes, p) -> shapes``. It spares a run on ``meta``
        tensors, of which the first in a process has PyTorch import its decompositions and sympy, for a second. It is
        asked after `shapes_rule` has been, for inputs of floating types. Where it answers nothing, as it must for all
        that the function refuses, the function is run.
    products_rule
        How many multiply-adds the function takes beside one for each element that it returns, for an operator with a
        `forward_rule`: ``(shapes, p) -> number``.
    same_shape
        Whether all inputs and the first output have one shape.
    types
        For inputs and outputs by name, their `TypeSlot`; ``*`` means each input of a variadic operator.
    types_rule
        Types that `types` cannot express: ``(types of inputs, p) -> {input or output: type}``.
    storage_rule
        Storage types of outputs, and of the gradients of inputs, from those of inputs that are not all dense, for an
        operator whose function takes all storage types by itself; None where it takes dense arrays only.
    size
        How the size of the output follows from consumers, where the operator has no inputs.

    Examples
    --------
    >>> rules = Inference(lambda shapes, p: {"weight": (p.num_hidden, shapes["data"][-1])})
    >>> rules.filled_shapes({"data": (8, 12), "weight": None}, Params(num_hidden=64))
    {'weight': (64, 12)}
    >>> Inference(same_shape=True).shapes_of_inputs({"lhs": (2, 0), "rhs": (0, 3)}, [None], Params())
    {'lhs': (2, 3), 'rhs': (2, 3)}
    """

    shapes_rule: ShapeRule | None = None
    outputs_rule: ShapeRuleBackward | None = None
    half_known_rule: ShapeRuleForward | None = None
    forward_rule: ShapeRuleForward | None = None
    products_rule: ProductsRule | None = None
    same_shape: bool = False
    types: TypeSlots | Callable[[Params], TypeSlots] | None = None
    types_rule: TypeRule | None = None
    storage_rule: StorageRule | None = None
    size: SizeRule | None = None

    @property
    def computes_little(self) -> bool:
        """Whether it is known that the function takes about as long as to read its inputs and write its outputs.

        >>> from rebind.ops import find
        >>> [find(name).inference.computes_little for name in ("BatchNorm", "Convolution", "CTCLoss")]
        [True, False, False]
        """
        return self.products_rule is None and (self.same_shape or self.forward_rule is not None)

    def filled_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return what the inputs' shapes say of each other.

        >>> from rebind.ops import find
        >>> op = find("FullyConnected")
        >>> op.inference.filled_shapes({"data": (8, 3, 4)}, op.parse({"num_hidden": 5}))
        {'weight': (5, 12), 'bias': (5,)}
        """
        return self.shapes_rule(shapes, p) if self.shapes_rule else {}

    def shapes_of_inputs(self, shapes: Shapes, outputs: Sequence[Shape | None], p: Params) -> Shapes:
        """Return what the outputs' shapes say of the inputs'.

        >>> from rebind.ops import find
        >>> op = find("transpose")
        >>> op.inference.shapes_of_inputs({"data": None}, [(2, 3)], op.parse({}))
        {'data': (3, 2)}
        """
        if self.outputs_rule:
            return self.outputs_rule(shapes, outputs, p)
        # Without a rule nothing flows backward, but where all shapes are one.
        if not self.same_shape:
            return {}
        # Elementwise: whatever one array says of its shape holds for all.
        return dict.fromkeys(shapes, together(*shapes.values(), *outputs[:1]))

    def type_slots(self, p: Params) -> TypeSlots:
        """Return, for inputs and outputs by name, a type or the name of a type that slots share (default ``T``).

        ``any`` is a type that nothing is known of; a function gives the type from that of ``T``.

        >>> from rebind.ops import find
        >>> op = find("one_hot")
        >>> op.inference.type_slots(op.parse({"depth": 3, "dtype": "float16"}))
        {'indices': 'any', 'output': torch.float16}
        """
        if self.types is None:
            return {}
        return self.types(p) if callable(self.types) else self.types

    def filled_types(self, types: Types, p: Params) -> Types:
        """Return what the inputs' types say of each other and of the outputs'.

        >>> from rebind.ops import find
        >>> op = find("Embedding")
        >>> op.inference.filled_types(
        ...     {"data": None, "weight": None}, op.parse({"input_dim": 5, "output_dim": 2})
        ... )
        {'weight': torch.float32}
        """
        return self.types_rule(types, p) if self.types_rule else {}

    def size_keywords(self, p: Params, shape: Shape) -> dict[str, ParameterValue]:
        """Return the parameters with which an operator of open size makes an array of `shape`.

        >>> from rebind.ops import find
        >>> op = find("_arange")  # half a step less than the next number, which must not come
        >>> op.inference.size_keywords(op.parse({"start": 0, "infer_range": True}), (3,))
        {'stop': 2.5}
        """
        return (self.size or SHAPE_PARAMETER).keywords(p, shape)
