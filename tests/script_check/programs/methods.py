import logging

import mxnet as mx

net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=10), name="softmax")
train = mx.io.NDArrayIter(data=[[1.0]], label=[1], batch_size=1)
mod = mx.mod.Module(symbol=net, context=mx.cpu(), logger=logging)
mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label, for_traning=True)  # expect: keyword
mod.init_param(mx.init.Xavier())  # expect: mistake
mod.init_optimiser(optimizer="sgd")  # expect: mistake
mod.init_optimizer(optimizer="sgd", optimizer_param={"learning_rate": 0.1})  # expect: keyword
mod.fit(train, num_epochs=3)  # expect: keyword
mod.fit(train, num_epoch=3, kvstore=None)  # expect: value
mod.score(train, "acc")  # expect: value
train.rest()  # expect: mistake
train.reset()

speed = mx.callback.Speedometer(32, frequent=50)
speed.of_my_own = lambda: None
speed.of_my_own()


class Wrapped(mx.mod.Module):
    def init_param(self):
        return self.init_params()


wrapped = Wrapped(net)
wrapped.init_param()


def make(kind):
    made = mx.mod.Module(net) if kind else Wrapped(net)
    made.init_param()
    return made


for mod2 in (mod, wrapped):
    mod2.init_param()
