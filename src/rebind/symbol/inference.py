"""What follows for a symbol from the shapes and types of some of its arguments."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import torch

from .. import dtypes
from ..dtypes import DTypeLike
from ..graph import Inferred, infer_numpy_shapes, infer_shapes, infer_types, open_nodes
from ..mode import mode
from ..shapes import Shape, as_shape, is_known
from .base import SymbolBase, named_values

__all__ = ["Inference"]

T = TypeVar("T")
R = TypeVar("R")
#: A shape as callers write it; None and () where nothing is known of it.
ShapeLike: TypeAlias = "int | Sequence[int] | None"
#: How a type is given in an answer: NumPy's, but torch's of bfloat16, which NumPy lacks.
TypeFound: TypeAlias = "type[np.generic] | torch.dtype"
#: Of arguments, outputs and auxiliary states.
Three: TypeAlias = tuple[list[T], list[T], list[T]]
#: Three times None where something does not follow.
ThreeOrNone: TypeAlias = tuple[list[T] | None, list[T] | None, list[T] | None]


class Inference(SymbolBase):
    """Methods that find shapes and types."""

    __slots__ = ()

    def infer_shape(self, *args: ShapeLike, **kwargs: ShapeLike) -> ThreeOrNone[Shape | None]:
        """Return the shapes of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Shapes in the order of `list_arguments`, or by name. A size may be 0 (unknown); under
            `mx.util.np_shape` it is -1, and 0 is a size.

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names what is in question, when not all shapes follow: an argument,
            or an array of a size that its consumers should tell, such as ``zeros(shape=(0, 3))``.

        Examples
        --------
        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3).infer_shape(x=(8, 5))
        ([(8, 5), (3, 5), (3,)], [(8, 3)], [])
        """
        found, show = self._infer_shapes(args, kwargs)
        result = _three(found, show)
        # An output without axes, which is shown as (), is known nevertheless.
        judged = result if mode.numpy_shapes else _three(found, lambda shape: shape)
        known = _known_as_numpy if mode.numpy_shapes else is_known
        inside = [node.name for node in open_nodes(self._graph, found, known)]
        if self._warn_of_unknown("infer_shape", "shapes", judged, known, inside):
            return None, None, None
        return result

    def infer_shape_partial(self, *args: ShapeLike, **kwargs: ShapeLike) -> Three[Shape | None]:
        """Return the shapes as far as they follow: 0 for an unknown size, () for a wholly unknown shape.

        Under `mx.util.np_shape` -1 and None, since 0 and () are shapes of NumPy's there.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3).infer_shape_partial(x=(0, 5))[1]
        [(0, 3)]
        """
        return _three(*self._infer_shapes(args, kwargs))

    def _infer_shapes(
        self, args: Sequence[ShapeLike], kwargs: Mapping[str, ShapeLike]
    ) -> tuple[Inferred[Shape], Callable[[Shape | None], Shape | None]]:
        """Return what follows, and how its shapes are shown under the rule of shapes that is on."""
        numpy_shapes = mode.numpy_shapes
        given = {
            # () is an unknown shape in MXNet, but a shape without axes under `np_shape`.
            name: as_shape(shape, f"Symbol.infer_shape: {name}", least=-1 if numpy_shapes else 0)
            for name, shape in named_values(self, "infer_shape", args, kwargs).items()
            if shape is not None and (numpy_shapes or shape != ())
        }
        if numpy_shapes:
            return infer_numpy_shapes(self._graph, given), lambda shape: shape
        return infer_shapes(self._graph, given), lambda shape: shape or ()

    def infer_type(
        self, *args: DTypeLike | None, **kwargs: DTypeLike | None
    ) -> ThreeOrNone[TypeFound | None]:
        """Return the types of arguments, outputs and auxiliary states, from those of some arguments.

        Parameters
        ----------
        *args, **kwargs
            Types in the order of `list_arguments`, or by name.

        Returns
        -------
        tuple of three lists
            Three times None, with a warning that names the arguments in question, when not all types follow.

        Examples
        --------
        >>> import rebind as mx
        >>> (mx.sym.var("a") + mx.sym.var("b")).infer_type(a="float16")
        ([<class 'numpy.float16'>, <class 'numpy.float16'>], [<class 'numpy.float16'>], [])
        """
        result = self.infer_type_partial(*args, **kwargs)
        if self._warn_of_unknown("infer_type", "types", result, lambda found: found is not None):
            return None, None, None
        return result

    def infer_type_partial(
        self, *args: DTypeLike | None, **kwargs: DTypeLike | None
    ) -> Three[TypeFound | None]:
        """Return the types as far as they follow, None elsewhere.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("a")).infer_type_partial()
        ([None], [None], [])
        """
        given = named_values(self, "infer_type", args, kwargs)
        for name, dtype in given.items():
            if dtype is not None:
                dtypes.torch_dtype(dtype, f"Symbol.infer_type: {name}")
        found = infer_types(self._graph, given)
        return _three(found, lambda dtype: None if dtype is None else dtypes.numpy_type(dtype))

    def _warn_of_unknown(
        self, who: str, what: str, found: Three[T], known: Callable[[T], bool], inside: Sequence[str] = ()
    ) -> bool:
        """Warn of arguments, outputs, states and nodes of which nothing is known; return whether there are any."""
        names = (*self.list_arguments(), *self.list_outputs(), *self.list_auxiliary_states())
        values = itertools.chain.from_iterable(found)
        unknown = [*(name for name, value in zip(names, values, strict=True) if not known(value)), *inside]
        if unknown:
            more = f" and {len(unknown) - 8} more" if len(unknown) > 8 else ""
            logging.getLogger(__name__).warning(
                "Symbol.%s: %s do not follow for %s%s", who, what, ", ".join(unknown[:8]), more
            )
        return bool(unknown)


def _known_as_numpy(shape: Shape | None) -> bool:
    return shape is not None and min(shape, default=0) >= 0


def _three(found: Inferred[T], convert: Callable[[T | None], R]) -> Three[R]:
    arguments, outputs, states = (
        [convert(value) for value in values] for values in (found.arguments, found.outputs, found.auxiliary)
    )
    return arguments, outputs, states
