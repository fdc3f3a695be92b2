"""Nothing is wrong in here: names of the program's own that look like those of others."""

import mxnet as mx
from mxnet import ndarray as nd

from .local import iteritems, xrange as my_range


class Batches:
    score = fit = staticmethod(lambda *args, **kwargs: None)

    def has_key(self, key):
        return key in self.__dict__

    def asnumpy(self):
        return 3


mod = Batches()
mod.fit(num_epochs=3)
mod.score(1, 2)
mod.has_key("a")
print(float(mod.asnumpy()), my_range(3), iteritems(mod))
path = "https://example.org/a.params" if mod else "a.params"
nd.load(path)
url = "https://example.org"
link = mx.sym.var(url)
data = mx.io.NDArrayIter([[1.0]], batch_size=1)
data = iter(data)
data.anything()
try:
    mx.kv.create("device").pushh()
except mx.MXNetError:
    raise
