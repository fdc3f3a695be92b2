"""Arrays: `mx.nd`. Functions for all operators are made from the table of operators (`ops`)."""

import collections.abc as _abc
import typing as _typing

from . import contrib, generated, image, linalg, op, random, sparse
from .arithmetic import (
    add,
    divide,
    equal,
    greater,
    greater_equal,
    lesser,
    lesser_equal,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    modulo,
    multiply,
    not_equal,
    power,
    subtract,
    true_divide,
)  # fmt: skip
from .creation import (
    arange,
    concatenate,
    empty,
    eye,
    from_dlpack,
    from_numpy,
    from_torch,
    full,
    histogram,
    imdecode,
    linspace,
    moveaxis,
    onehot_encode,
    ones,
    split_v2,
    to_dlpack_for_read,
    to_dlpack_for_write,
    waitall,
    zeros,
)  # fmt: skip
from .ndarray import NDArray, array, invoke
from .serialization import load, load_frombuffer, save

__all__ = [
    "NDArray", "add", "arange", "array", "concatenate", "contrib", "divide", "empty", "equal", "eye",
    "from_dlpack", "from_numpy", "from_torch", "full", "greater", "greater_equal", "histogram", "image",
    "imdecode", "invoke", "lesser", "lesser_equal", "linalg", "linspace", "load", "load_frombuffer",
    "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "modulo", "moveaxis", "multiply",
    "not_equal", "onehot_encode", "ones", "op", "power", "random", "save", "sparse", "split_v2", "subtract",
    "to_dlpack_for_read", "to_dlpack_for_write", "true_divide", "waitall", "zeros",
]  # fmt: skip

if _typing.TYPE_CHECKING:
    from .generated import *  # noqa: F403  # some 600 names, which only the stub could list

    __all__ += generated.__all__  # the form of it that type checkers read

    # Set by the package itself, since it runs graphs, of which arrays know nothing.
    CachedOp: _abc.Callable[..., _abc.Callable[..., NDArray | _abc.Sequence[NDArray]]]
else:
    __all__ += [name for name in generated.__all__ if not name.startswith("_")]
    __getattr__, __dir__ = generated.FUNCTIONS.attributes(globals())

# The operators whose names begin with an underscore, and all others: ``nd._internal._plus_scalar``.
_internal = generated
