"""Networks: `mx.sym`. Functions for all operators are made from the table of operators (`ops`)."""

import typing as _typing

from . import contrib, generated, image, linalg, op, random, sparse
from .creation import (
    Group,
    Variable,
    arange,
    eye,
    full,
    histogram,
    hypot,
    linspace,
    load,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    var,
    zeros,
)  # fmt: skip
from .symbol import Symbol, fromjson, load_json
from .torch_module import torch_module

__all__ = [
    "Group", "Symbol", "Variable", "arange", "contrib", "eye", "fromjson", "full", "histogram", "hypot",
    "image", "linalg", "linspace", "load", "load_json", "maximum", "minimum", "ones", "op", "pow", "power",
    "random", "sparse", "split_v2", "torch_module", "var", "zeros",
]  # fmt: skip

if _typing.TYPE_CHECKING:
    from .generated import *  # noqa: F403  # some 600 names, which only the stub could list

    __all__ += generated.__all__  # the form of it that type checkers read
else:
    __all__ += [name for name in generated.__all__ if not name.startswith("_")]
    __getattr__, __dir__ = generated.FUNCTIONS.attributes(globals())

# The operators whose names begin with an underscore, and all others: ``sym._internal._plus_scalar``.
_internal = generated
