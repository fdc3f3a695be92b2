"""Bayesian regression by stochastic gradient Langevin dynamics: samples of the weights, and their mean and spread."""
from __future__ import print_function

import mxnet as mx
import numpy as np


class Noise(mx.init.Initializer):
    def _init_weight(self, _, arr):
        mx.random.normal(0, 0.1, out=arr, shape=arr.shape)


def main():
    mx.random.seed(100)
    rng = np.random.RandomState(100)
    n, batch_size = 256, 64
    x = rng.normal(0, 1, (n, 2)).astype('float32')
    y = (x.dot([1.5, -0.5]) + rng.normal(0, 0.5, n)).astype('float32')
    beta = 1 / 0.25

    # what the sampler should find: a Gaussian with this mean and these deviations
    precision = beta * x.T.dot(x) + np.eye(2)
    mean = np.linalg.solve(precision, beta * x.T.dot(y))
    std = np.sqrt(np.diag(np.linalg.inv(precision)))

    data, label = mx.sym.Variable('data'), mx.sym.Variable('label')
    pred = mx.sym.FullyConnected(data=data, num_hidden=1, no_bias=True, name='fc')
    net = mx.sym.LinearRegressionOutput(data=pred, label=label, grad_scale=beta, name='lro')
    arg_names = net.list_arguments()
    exe = net.simple_bind(mx.cpu(), data=(batch_size, 2), label=(batch_size, 1),
                          grad_req={'data': 'null', 'fc_weight': 'write', 'label': 'null'})
    param = exe.arg_dict['fc_weight']
    Noise()('fc_weight', param)
    scheduler = mx.lr_scheduler.FactorScheduler(step=1000, factor=0.8, base_lr=2e-4)
    sgld = mx.optimizer.create('sgld', wd=1.0, rescale_grad=float(n) / batch_size,
                               lr_scheduler=scheduler)
    updater = mx.optimizer.get_updater(sgld)
    samples = []
    for step in range(1800):
        picked = rng.randint(0, n, batch_size)
        exe.forward(is_train=True, data=mx.nd.array(x[picked]), label=mx.nd.array(y[picked].reshape((-1, 1))))
        exe.backward()
        updater(arg_names.index('fc_weight'), exe.grad_dict['fc_weight'], param)
        if step > 300:
            samples.append(param.asnumpy().ravel().copy())
    samples = np.array(samples)
    off = np.abs(samples.mean(axis=0) - mean).max() / std.max()
    spread = (samples.std(axis=0) / std).mean()
    print('posterior', mean.round(3), std.round(3))
    print('mean is off by %.3f deviations, spread is %.3f of what it should be' % (off, spread))


if __name__ == '__main__':
    main()
