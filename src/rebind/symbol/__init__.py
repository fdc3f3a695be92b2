"""Networks: `mx.sym`. Functions for all operators are made from the table of operators (`ops`)."""

from typing import TYPE_CHECKING

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

__all__ += [name for name in generated.__all__ if not name.startswith("_")]

if TYPE_CHECKING:
    from .generated import *  # noqa: F403  # some 600 names, which only the stub could list
else:
    __getattr__, __dir__ = generated.FUNCTIONS.attributes(globals())

# The operators whose names begin with an underscore, and all others: ``sym._internal._plus_scalar``.
_internal = generated
