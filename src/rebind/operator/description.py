"""What a `CustomOpProp` declares of its operator, checked: names, shapes and types."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence, Sized
from typing import NamedTuple, TypeAlias

import torch

from .. import dtypes
from ..errors import MXNetError, ShapeError, UserCodeError
from ..ops import Shapes, Types
from ..params import Params
from ..shapes import Shape, as_shape
from .custom_op import CustomOpProp

__all__ = ["ArrayType", "Description", "Locate", "as_custom", "user_code"]

#: Adds to an error where it comes from, and returns it.
Locate: TypeAlias = Callable[[MXNetError], MXNetError]
MaybeTypes: TypeAlias = "list[torch.dtype | None]"
#: The shape and the type of an array.
ArrayType: TypeAlias = "tuple[Shape, torch.dtype]"


def as_custom(error: MXNetError) -> MXNetError:
    """Add to an error that it comes from the operator `Custom`, of which no more is known.

    >>> print(as_custom(MXNetError("it failed")))
    Custom: it failed
    """
    return error.locate("Custom")


@contextlib.contextmanager
def user_code(name: str, what: str, locate: Locate = as_custom) -> Iterator[None]:
    """Run code of the user's: an error that it raises names the operator, and is the cause of what is raised.

    Parameters
    ----------
    name
        The name that the operator is registered under.
    what
        What is called.
    locate
        Adds to the error where it comes from.

    Examples
    --------
    >>> with user_code("scale", "forward"):
    ...     [][0]
    Traceback (most recent call last):
        ...
    rebind.errors.UserCodeError: Custom: operator 'scale': forward failed with IndexError: list index out of range
    """
    try:
        yield
    except UserCodeError:
        raise  # from an operator inside of this one, which named itself
    except Exception as error:
        failure = UserCodeError(f"operator {name!r}: {what} failed with {type(error).__name__}: {error}")
        raise locate(failure) from error


class Description(NamedTuple):
    """A `CustomOpProp` with the names that it gave, and what follows from them.

    Attributes
    ----------
    name
        The name that the operator is registered under.
    prop
        The user's object.
    arguments, outputs, states
        The names of inputs, outputs and auxiliary states.

    Examples
    --------
    >>> from rebind.operator import CustomOpProp
    >>> Description.of("copy", CustomOpProp()).infer_shapes([(2, 3)])
    ([(2, 3)], [(2, 3)], [])
    """

    name: str
    prop: CustomOpProp
    arguments: list[str]
    outputs: tuple[str, ...]
    states: list[str]

    @classmethod
    def of(cls, name: str, prop: CustomOpProp) -> Description:
        """Return the description of an operator, with the names from its `CustomOpProp`.

        >>> from rebind.operator import CustomOpProp
        >>> Description.of("copy", CustomOpProp()).outputs
        ('output',)
        """
        return cls(
            name,
            prop,
            list(prop.list_arguments()),
            tuple(prop.list_outputs()),
            list(prop.list_auxiliary_states() or ()),
        )

    def fill_shapes(self, shapes: Shapes, p: Params) -> Shapes:
        """Return the shapes of inputs and states, as far as the user's `infer_shape` finds them.

        >>> from rebind.operator import CustomOpProp
        >>> class Same(CustomOpProp):
        ...     def list_arguments(self):
        ...         return ["lhs", "rhs"]
        ...
        ...     def infer_shape(self, in_shape):
        ...         return [in_shape[0], in_shape[0]], [in_shape[0]]
        >>> Description.of("same", Same()).fill_shapes({"lhs": (2, 3), "rhs": None}, Params())
        {'lhs': (2, 3), 'rhs': (2, 3)}
        """
        given = [shapes.get(entry) for entry in self.arguments]
        # () is unknown, as None is: such arrays have an axis at least.
        known = all(given)
        if not any(given):
            return {}
        try:
            inputs, _, states = self.infer_shapes(given)
        except MXNetError:
            if known:
                raise
            return {}  # the user's code need not cope with what is unknown
        return {
            entry: shape or None
            for entry, shape in zip((*self.arguments, *self.states), (*inputs, *states), strict=True)
        }

    def infer_shapes(self, given: Sequence[Shape | None]) -> tuple[list[Shape], list[Shape], list[Shape]]:
        """Return the shapes of inputs, outputs and states.

        >>> from rebind.operator import CustomOpProp
        >>> class Mean(CustomOpProp):
        ...     def infer_shape(self, in_shape):
        ...         return in_shape, [in_shape[0][:1]]
        >>> Description.of("mean", Mean()).infer_shapes([(2, 3)])
        ([(2, 3)], [(2,)], [])
        """
        with user_code(self.name, "infer_shape"):
            found = [list(group) for group in self.prop.infer_shape([list(shape or ()) for shape in given])]
            # Auxiliary states may be left out.
            found += [[]] * (3 - len(found))
            inputs, outputs, states = (
                [as_shape(shape, f"operator {self.name!r}: infer_shape") for shape in group]
                for group in found
            )
        self._check_counts("infer_shape", inputs, outputs, states)
        return inputs, outputs, states

    def fill_types(self, types: Types, p: Params) -> Types:
        """Return the types of inputs, outputs and states, as far as the user's `infer_type` finds them.

        >>> from rebind.operator import CustomOpProp
        >>> Description.of("copy", CustomOpProp()).fill_types({"data": torch.float16}, Params())
        {'data': torch.float16, 'output': torch.float16}
        """
        given = [types.get(entry) for entry in self.arguments]
        if not any(given):
            return {}
        try:
            inputs, outputs, states = self.infer_types(given)
        except MXNetError:
            if all(given):
                raise
            return {}
        return dict(
            zip((*self.arguments, *self.outputs, *self.states), (*inputs, *outputs, *states), strict=True)
        )

    def infer_types(self, given: Sequence[torch.dtype | None]) -> tuple[MaybeTypes, MaybeTypes, MaybeTypes]:
        """Return the types of inputs, outputs and states; None where unknown.

        >>> from rebind.operator import CustomOpProp
        >>> Description.of("copy", CustomOpProp()).infer_types([torch.float16])
        ([torch.float16], [torch.float16], [])
        """
        with user_code(self.name, "infer_type"):
            known = [None if dtype is None else dtypes.numpy_type(dtype) for dtype in given]
            found = [list(group) for group in self.prop.infer_type(known)]
            found += [[]] * (3 - len(found))
            inputs, outputs, states = (
                [None if dtype is None else dtypes.torch_dtype(dtype) for dtype in group] for group in found
            )
            states = states or [outputs[0]] * len(self.states)
        self._check_counts("infer_type", inputs, outputs, states)
        return inputs, outputs, states

    def _check_counts(self, what: str, inputs: Sized, outputs: Sized, states: Sized) -> None:
        wanted = len(self.arguments), len(self.outputs), len(self.states)
        got = len(inputs), len(outputs), len(states)
        if got != wanted:
            raise ShapeError(
                f"operator {self.name!r}: {what} must return {wanted[0]} values for its inputs, {wanted[1]} "
                f"for its outputs and {wanted[2]} for its auxiliary states; got {got[0]}, {got[1]} and {got[2]}"
            )

    def infer_outputs(self, given: Sequence[ArrayType]) -> list[tuple[Shape, torch.dtype | None]]:
        """Return the shapes and types of the outputs for those of inputs (and states).

        >>> from rebind.operator import CustomOpProp
        >>> Description.of("copy", CustomOpProp()).infer_outputs([((2, 3), torch.float32)])
        [((2, 3), torch.float32)]
        """
        inputs = given[: len(self.arguments)]
        _, shapes, _ = self.infer_shapes([shape for shape, _ in inputs])
        _, types, _ = self.infer_types([dtype for _, dtype in inputs])
        return list(zip(shapes, types, strict=True))

    def declare_dependency(self) -> None:
        """Ask the user's class what backward reads: of no effect, since `backward` is given everything.

        >>> from rebind.operator import CustomOpProp
        >>> class Telling(CustomOpProp):
        ...     def declare_backward_dependency(self, out_grad, in_data, out_data):
        ...         print(out_grad, in_data, out_data)
        >>> Description.of("telling", Telling()).declare_dependency()
        [0] [1] [2]
        """
        # Numbers of arrays, counted through all three groups.
        counts = (len(self.outputs), len(self.arguments), len(self.outputs))
        numbers = iter(range(sum(counts)))
        groups = [list(itertools.islice(numbers, count)) for count in counts]
        with user_code(self.name, "declare_backward_dependency"):
            self.prop.declare_backward_dependency(*groups)

    def storage_types(self, stypes: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Return the storage types of the outputs and of the inputs' gradients; None where the user's class has none.

        >>> from rebind.operator import CustomOpProp
        >>> class Same(CustomOpProp):
        ...     def infer_storage_type(self, in_stype):
        ...         return in_stype, in_stype, []
        >>> Description.of("same", Same()).storage_types(["csr"])
        (('csr',), ('default',))
        """
        if type(self.prop).infer_storage_type is CustomOpProp.infer_storage_type:
            return None
        inputs, states = list(stypes[: len(self.arguments)]), list(stypes[len(self.arguments) :])
        with user_code(self.name, "infer_storage_type"):
            outputs = list(self.prop.infer_storage_type(list(inputs))[1])
        with user_code(self.name, "infer_storage_type_backward"):
            found = self.prop.infer_storage_type_backward(
                list(outputs), list(inputs), list(outputs), ["default"] * len(inputs), states
            )
        gradients = list(found[3])
        self._check_counts("infer_storage_type", inputs, outputs, states)
        self._check_counts("infer_storage_type_backward", gradients, outputs, states)
        return tuple(outputs), (*gradients, *states)

    def infer_storage(self, *, backward: bool = False) -> None:
        """Ask the user's class for storage types of dense arrays, where MXNet does: of no effect.

        >>> from rebind.operator import CustomOpProp
        >>> Description.of("copy", CustomOpProp()).infer_storage(backward=True)
        """
        inputs, outputs, states = (
            ["default"] * len(names) for names in (self.arguments, self.outputs, self.states)
        )
        if backward:
            with user_code(self.name, "infer_storage_type_backward"):
                self.prop.infer_storage_type_backward(outputs, inputs, list(outputs), list(inputs), states)
        else:
            with user_code(self.name, "infer_storage_type"):
                self.prop.infer_storage_type(inputs)
