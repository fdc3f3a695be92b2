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
net = mx.sym.LeakyReLU(net, act_type="prelu")  # expect: value
net = mx.sym.Dropout(net, p=1.0)  # expect: value
net = mx.sym.Dropout(net, p=0.5)
net = mx.sym.SoftmaxOutput(net, out_grad=True, name="softmax")  # expect: value
net = mx.sym.SoftmaxOutput(net, out_grad=False)
a, b = mx.nd.contrib.bipartite_matching(a, threshold=0.5, topk=wanted)  # expect: value
a, b = mx.nd.contrib.bipartite_matching(a, threshold=0.5)
c = mx.contrib.sym.MultiBoxTarget(a, b, net, minimum_negative_samples=8)  # expect: value
d = mx.optimizer.LAMB(multi_precision=True)  # expect: value
mx.engine.set_bulk_size(20)  # expect: value
with mx.engine.bulk(10):  # expect: value
    m = mx.metric.PearsonCorrelation(average="micro")  # expect: value
