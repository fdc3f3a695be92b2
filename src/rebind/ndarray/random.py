"""Random arrays: `nd.random.uniform`, `normal`, and so on.

The functions are made from one declaration for arrays and symbols; their signatures are in ``random.pyi``, which
``make stubs`` writes.

>>> import rebind as mx
>>> mx.nd.random.uniform(0, 1, shape=(2, 3)).shape
(2, 3)
>>> means = mx.nd.array([0, 100])
>>> mx.nd.random.normal(means, mx.nd.ones(2), shape=5).shape  # five numbers for each pair
(2, 5)
>>> mx.nd.random.randn(2, 3, loc=1000).shape
(2, 3)
>>> sorted(mx.nd.random.shuffle(mx.nd.array([3, 1, 2])).asnumpy().tolist())
[1.0, 2.0, 3.0]
"""

from ..ops.random_frontend import make_random_functions
from .drawing import FRONT, multinomial, rand_zipfian

FUNCTIONS = make_random_functions(FRONT)
__all__ = ["multinomial", "rand_zipfian", *FUNCTIONS]
__getattr__, __dir__ = FUNCTIONS.attributes(globals())
