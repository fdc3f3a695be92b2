"""A plain program: nothing is found."""
import logging
import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.INFO)
data = mx.sym.Variable("data", lr_mult=1.0)
net = mx.sym.Convolution(data=data, kernel=(3, 3), num_filter=8, name="conv", attr={"a": "b"})
net = mx.sym.BatchNorm(net, fix_gamma=False, eps=2e-5, momentum=0.9)
net = mx.sym.Activation(net, act_type="relu")
net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
net = mx.sym.Concat(*[net, net], dim=1)
net = mx.sym.concat(net, net, dim=1, name="c")
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=10), name="softmax")
net = mx.sym.Custom(net, op_type="mine", whatever=3)
it = mx.io.NDArrayIter(np.ones((4, 1, 8, 8)), np.zeros(4), batch_size=2, shuffle=True)
mod = mx.mod.Module(net, context=[mx.gpu(i) for i in range(2)])
mod.fit(it, num_epoch=2, optimizer="adam", optimizer_params={"learning_rate": 0.1},
        batch_end_callback=mx.callback.Speedometer(2, 10), epoch_end_callback=mx.callback.do_checkpoint("x"))
mx.model.save_checkpoint("x", 0, net, *mod.get_params())
initializer = mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2)
options = {"magnitude": 3}
mx.init.Xavier(**options)
args = ("gaussian",)
mx.init.Xavier(*args)
mx.metric.create("acc")
mx.lr_scheduler.FactorScheduler(step=10, factor=0.9)
