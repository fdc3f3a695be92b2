import mxnet as mx
from mxnet.contrib.svrg_optimization import SVRGModule

mx.random.seed(7)  # expect: value
net = mx.sym.Variable("data")
net = mx.sym.LeakyReLU(net, act_type="selu")  # expect: value
net = mx.sym.LeakyReLU(net, act_type="elu")
store = mx.kv.create("horovod")  # expect: value
store = mx.kv.create("local")
a = mx.optimizer.Nadam()  # expect: value
b = mx.optimizer.create("nadam")  # expect: value
c = mx.optimizer.create("adam", learning_rate=0.1)
d = SVRGModule(net, update_freq=2)  # expect: value
