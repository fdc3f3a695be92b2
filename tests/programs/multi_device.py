"""Data parallel training on several devices, and the same run on one: the weights that come out are equal."""
from __future__ import print_function
import logging

import mxnet as mx
import numpy as np


def lenet():
    data = mx.symbol.Variable('data')
    conv1 = mx.symbol.Convolution(data=data, kernel=(3, 3), num_filter=6, name='conv1')
    tanh1 = mx.symbol.Activation(data=conv1, act_type='tanh')
    pool1 = mx.symbol.Pooling(data=tanh1, pool_type='max', kernel=(2, 2), stride=(2, 2))
    flatten = mx.symbol.Flatten(data=pool1)
    fc1 = mx.symbol.FullyConnected(data=flatten, num_hidden=16, name='fc1')
    tanh3 = mx.symbol.Activation(data=fc1, act_type='tanh')
    fc2 = mx.symbol.FullyConnected(data=tanh3, num_hidden=4, name='fc2')
    return mx.symbol.SoftmaxOutput(data=fc2, name='softmax')


def train(devices, kvstore, x, y):
    batch_size = 40
    it = mx.io.NDArrayIter(x, y, batch_size=batch_size)
    mod = mx.mod.Module(lenet(), context=devices, work_load_list=[1] * len(devices))
    mod.bind(it.provide_data, it.provide_label)
    rng = np.random.RandomState(3)
    shapes, _, _ = mod.symbol.infer_shape(data=(batch_size, 1, 10, 10))
    args = {name: mx.nd.array(rng.uniform(-0.2, 0.2, shape))
            for name, shape in zip(mod.symbol.list_arguments(), shapes) if name not in ('data', 'softmax_label')}
    mod.init_params(arg_params=args, aux_params={})
    mod.fit(it, num_epoch=3, kvstore=kvstore, optimizer='sgd',
            optimizer_params={'learning_rate': 0.2, 'momentum': 0.9, 'rescale_grad': 1.0 / batch_size})
    outputs = mod.get_outputs(merge_multi_context=False)
    print(len(outputs[0]), [o.shape for o in outputs[0]])
    return mod.get_params()[0], mod.score(it, 'acc')[0][1]


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO)
    rng = np.random.RandomState(1)
    patterns = rng.uniform(0, 1, (4, 1, 10, 10))
    label = rng.randint(0, 4, 240)
    x = (patterns[label] + rng.normal(0, 0.3, (240, 1, 10, 10))).astype('float32')
    y = label.astype('float32')
    one, accuracy = train([mx.cpu()], 'local', x, y)
    two, _ = train([mx.cpu(0), mx.cpu(1)], mx.kvstore.create('device'), x, y)
    three, _ = train([mx.cpu(i) for i in range(3)], mx.kv.create('local'), x, y)
    for name in one:
        assert np.allclose(one[name].asnumpy(), two[name].asnumpy(), atol=1e-4), name
        assert np.allclose(one[name].asnumpy(), three[name].asnumpy(), atol=1e-4), name
    print('equal weights %.4f' % sum(abs(a.asnumpy()).sum() for a in one.values()))
    print('accuracy %.4f' % accuracy)
