"""`sym.op`: the operators under all their names, and the namespaces of operators."""

from typing import TYPE_CHECKING

from . import contrib, generated, image, linalg, sparse

__all__ = ["contrib", "image", "linalg", "sparse", *generated.__all__]

if TYPE_CHECKING:
    from .generated import *  # noqa: F403  # some 600 names, which only the stub could list
else:
    __getattr__, __dir__ = generated.FUNCTIONS.attributes(globals())
