"""Random symbols: `sym.random.uniform` and its kin draw again in each `forward`.

The functions are made from one declaration for arrays and symbols; their signatures are in ``random.pyi``, which
``make stubs`` writes.

>>> import rebind as mx
>>> executor = mx.sym.random.uniform(0, 1, shape=(2, 3)).bind(mx.cpu(), {})
>>> [executor.forward()[0].shape for epoch in range(2)]
[(2, 3), (2, 3)]
>>> mx.sym.random.randn(2, 3).infer_shape()[1]
[(2, 3)]
>>> mx.sym.random.shuffle(mx.sym.var("data")).infer_shape(data=(2, 3))[1]
[(2, 3)]
"""

from ..ops.random_frontend import make_random_functions
from .drawing import FRONT, multinomial, rand_zipfian

FUNCTIONS = make_random_functions(FRONT)
__all__ = ["multinomial", "rand_zipfian", *FUNCTIONS]
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
