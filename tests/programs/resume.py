"""Checkpoints after each epoch, and a run that starts again from the middle: it ends as one without a break does."""
from __future__ import print_function
import logging
import os

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.INFO)
prefix = os.path.join('model', 'net')


def network():
    data = mx.sym.Variable('data')
    net = mx.sym.FullyConnected(data, name='fc1', num_hidden=20)
    net = mx.sym.BatchNorm(net, name='bn1', fix_gamma=False)
    net = mx.sym.Activation(net, name='relu1', act_type='relu')
    net = mx.sym.FullyConnected(net, name='fc2', num_hidden=3)
    return mx.sym.SoftmaxOutput(net, name='softmax')


def start_params(net):
    rng = np.random.RandomState(5)
    shapes, _, _ = net.infer_shape(data=(20, 8))
    args = {n: mx.nd.array(rng.uniform(-0.3, 0.3, s)) for n, s in zip(net.list_arguments(), shapes)
            if n not in ('data', 'softmax_label')}
    return args, {'bn1_moving_mean': mx.nd.zeros((20,)), 'bn1_moving_var': mx.nd.ones((20,))}


def fit(mod, train, begin, end, arg_params=None, aux_params=None):
    mod.fit(train, begin_epoch=begin, num_epoch=end, arg_params=arg_params, aux_params=aux_params, optimizer='sgd',
            optimizer_params={'learning_rate': 0.1, 'momentum': 0.9, 'begin_num_update': 10 * begin,
                              'lr_scheduler': mx.lr_scheduler.MultiFactorScheduler([25, 40], 0.5, base_lr=0.1)},
            epoch_end_callback=mx.callback.module_checkpoint(mod, prefix, save_optimizer_states=True))
    return mod.get_params()


if __name__ == '__main__':
    os.makedirs('model')
    rng = np.random.RandomState(2)
    x = rng.normal(0, 1, (200, 8)).astype('float32')
    y = x[:, :3].argmax(axis=1).astype('float32')
    train = mx.io.NDArrayIter(x, y, batch_size=20)
    whole, whole_aux = fit(mx.mod.Module(network()), train, 0, 5, *start_params(network()))

    train.reset()
    fit(mx.mod.Module(network()), train, 0, 3, *start_params(network()))
    mod = mx.mod.Module.load(prefix, 3, load_optimizer_states=True)
    train.reset()
    resumed, resumed_aux = fit(mod, train, 3, 5)
    print(sorted(os.listdir('model')))
    off = max(abs(whole[n].asnumpy() - resumed[n].asnumpy()).max() for n in whole)
    off_aux = max(abs(whole_aux[n].asnumpy() - resumed_aux[n].asnumpy()).max() for n in whole_aux)
    print('furthest weight %.6f, state %.6f' % (off, off_aux))
    print('weights %.4f accuracy %.4f' % (sum(abs(a.asnumpy()).sum() for a in whole.values()),
                                        mod.score(train, 'acc')[0][1]))
