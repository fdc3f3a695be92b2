"""A classifier that is trained with Gluon's trainer."""
import mxnet as mx
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.data import DataLoader, ArrayDataset


def main():
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(64, activation="relu"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    loss = gluon.loss.SoftmaxCrossEntropyLoss()  # expect: absent
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})  # expect: absent
    data = ArrayDataset(nd.ones((10, 4)), nd.zeros(10))  # expect: absent
    for x, y in DataLoader(data, batch_size=2):  # expect: absent
        with autograd.record():
            value = loss(net(x), y)
        value.backward()
        trainer.step(2)
        print(float(value.mean().asnumpy()))  # expect: number


main()
