import mxnet as mx
from mxnet.symbol import Convoluton  # expect: mistake
from mxnet import module as m

data = mx.sym.Variabel("data")  # expect: mistake
net = mx.sym.FullyConected(data, num_hidden=3)  # expect: mistake
net = mx.sym.FullyConnected(data, num_hiden=3)  # expect: keyword
net = mx.symbol.Activation(net, act_typ="relu", name="a")  # expect: keyword
net = mx.sym.relu(net, axis=1)  # expect: keyword
net = mx.sym.SoftmaxOutput(net, name="softmax", lr_mult=2, ctx_group="dev1")
it = mx.io.NDArrayIter([1], batch=3)  # expect: keyword
mod = m.Module(net, contexts=mx.cpu())  # expect: keyword
mod = m.Modul(net)  # expect: mistake
x = mx.contrib.nothing.here  # expect: mistake
mx.nd.zeroes((2, 3))  # expect: mistake
mx.optimizer.SGD(0.9)  # expect: keyword
mx.optimizer.SGD(momentun=0.9)  # expect: keyword
