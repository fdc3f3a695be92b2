"""A GAN of two modules, in the manner of the DCGAN of 2016: the generator learns where points lie in the plane."""
from __future__ import print_function
import logging

import mxnet as mx
import numpy as np


def make_generator(num_hidden=32):
    rand = mx.sym.Variable('rand')
    net = mx.sym.FullyConnected(rand, name='g1', num_hidden=num_hidden)
    net = mx.sym.BatchNorm(net, name='gbn1', fix_gamma=True, eps=1e-5 + 1e-12)
    net = mx.sym.Activation(net, name='gact1', act_type='relu')
    return mx.sym.FullyConnected(net, name='g2', num_hidden=2)


def make_discriminator(num_hidden=32):
    data = mx.sym.Variable('data')
    label = mx.sym.Variable('label')
    net = mx.sym.FullyConnected(data, name='d1', num_hidden=num_hidden)
    net = mx.sym.LeakyReLU(net, name='dact1', act_type='leaky', slope=0.2)
    net = mx.sym.FullyConnected(net, name='d2', num_hidden=num_hidden)
    net = mx.sym.LeakyReLU(net, name='dact2', act_type='leaky', slope=0.2)
    net = mx.sym.FullyConnected(net, name='d3', num_hidden=1)
    return mx.sym.LogisticRegressionOutput(data=net, label=label, name='dloss')


class RandIter(mx.io.DataIter):
    """Noise without end."""

    def __init__(self, batch_size, ndim):
        super(RandIter, self).__init__()
        self.batch_size = batch_size
        self.ndim = ndim
        self.provide_data = [('rand', (batch_size, ndim))]
        self.provide_label = []

    def iter_next(self):
        return True

    def getdata(self):
        return [mx.random.normal(0, 1.0, shape=(self.batch_size, self.ndim))]


class RealIter(mx.io.DataIter):
    """Points around (2, -1)."""

    def __init__(self, batch_size, count):
        super(RealIter, self).__init__()
        self.batch_size, self.count, self.cursor = batch_size, count, -1
        self.provide_data = [('data', (batch_size, 2))]
        self.provide_label = []

    def reset(self):
        self.cursor = -1

    def iter_next(self):
        self.cursor += 1
        return self.cursor < self.count

    def getdata(self):
        points = np.random.normal(0, 0.5, (self.batch_size, 2)) + np.array([2, -1])
        return [mx.nd.array(points)]


def facc(label, pred):
    pred = pred.ravel()
    label = label.ravel()
    return ((pred > 0.5) == label).mean()


def fentropy(label, pred):
    pred = pred.ravel()
    label = label.ravel()
    return -(label * np.log(pred + 1e-12) + (1. - label) * np.log(1. - pred + 1e-12)).mean()


if __name__ == '__main__':
    logging.basicConfig(level=logging.DEBUG)
    mx.random.seed(5)
    np.random.seed(5)
    batch_size, Z, ctx = 64, 4, mx.cpu()
    sym_g, sym_d = make_generator(), make_discriminator()
    train_iter, rand_iter = RealIter(batch_size, 60), RandIter(batch_size, Z)
    label = mx.nd.zeros((batch_size, 1), ctx=ctx)

    mod_g = mx.mod.Module(symbol=sym_g, data_names=('rand',), label_names=None, context=ctx)
    mod_g.bind(data_shapes=rand_iter.provide_data)
    mod_g.init_params(initializer=mx.init.Xavier())
    mod_g.init_optimizer(optimizer='adam', optimizer_params={'learning_rate': 0.005, 'wd': 0., 'beta1': 0.5})
    mods = [mod_g]

    mod_d = mx.mod.Module(symbol=sym_d, data_names=('data',), label_names=('label',), context=ctx)
    mod_d.bind(data_shapes=train_iter.provide_data, label_shapes=[('label', (batch_size, 1))],
               inputs_need_grad=True)
    mod_d.init_params(initializer=mx.init.Xavier())
    mod_d.init_optimizer(optimizer='adam', optimizer_params={'learning_rate': 0.005, 'wd': 0., 'beta1': 0.5})
    mods.append(mod_d)

    m_acc = mx.metric.CustomMetric(facc)
    m_entropy = mx.metric.CustomMetric(fentropy)
    for epoch in range(4):
        train_iter.reset()
        for t, batch in enumerate(train_iter):
            rbatch = rand_iter.next()
            mod_g.forward(rbatch, is_train=True)
            fake = mod_g.get_outputs()

            # the discriminator on fakes: its gradients are held until those of the real points are there
            label[:] = 0
            mod_d.forward(mx.io.DataBatch(fake, [label]), is_train=True)
            mod_d.backward()
            held = [[grad.copyto(grad.context) for grad in grads] for grads in mod_d._exec_group.grad_arrays]
            mod_d.update_metric(m_acc, [label])
            mod_d.update_metric(m_entropy, [label])

            label[:] = 1
            batch.label = [label]
            mod_d.forward(batch, is_train=True)
            mod_d.backward()
            for gradsr, gradsf in zip(mod_d._exec_group.grad_arrays, held):
                for gradr, gradf in zip(gradsr, gradsf):
                    gradr += gradf
            mod_d.update()
            mod_d.update_metric(m_acc, [label])
            mod_d.update_metric(m_entropy, [label])

            # the generator, through the gradient of the discriminator's input
            label[:] = 1
            mod_d.forward(mx.io.DataBatch(fake, [label]), is_train=True)
            mod_d.backward()
            mod_g.backward(mod_d.get_input_grads())
            mod_g.update()
        logging.info('epoch: %d acc %s entropy %s', epoch, m_acc.get(), m_entropy.get())
        m_acc.reset()
        m_entropy.reset()

    points = []
    for _ in range(10):
        mod_g.forward(rand_iter.next(), is_train=False)
        points.append(mod_g.get_outputs()[0].asnumpy())
    x, y = np.concatenate(points).mean(axis=0)
    print('mean of the fakes %.3f %.3f' % (x, y))
