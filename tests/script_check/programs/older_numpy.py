import numpy as np
import numpy
from numpy import float as real  # expect: numpy
import mxnet as mx

a = np.zeros(3, dtype=np.float)  # expect: numpy
b = numpy.ones(3, np.int)  # expect: numpy
c = np.float32(1) + np.random.rand(3)
d = np.array([1], dtype=np.object)  # expect: numpy
e = np.product([1, 2])  # expect: numpy
f = np.asscalar(a[0])  # expect: numpy
g = np.linalg.norm(a)
h = np.NaN  # expect: numpy
i = np.int32, np.bool_, np.testing.assert_allclose
x = mx.nd.array(a, dtype=np.float)  # expect: numpy
