"""A network whose weights, gradients and outputs are watched by a monitor while it trains, and drawn as a table."""
import logging

import mxnet as mx
import numpy as np


def norm_stat(d):
    return mx.nd.norm(d) / np.sqrt(d.size)


if __name__ == '__main__':
    logging.basicConfig(level=logging.DEBUG)
    mx.random.seed(2)
    np.random.seed(2)
    data = mx.symbol.Variable('data')
    fc1 = mx.symbol.FullyConnected(data=data, name='fc1', num_hidden=16)
    act1 = mx.symbol.Activation(data=fc1, name='relu1', act_type='relu')
    fc2 = mx.symbol.FullyConnected(data=act1, name='fc2', num_hidden=3)
    mlp = mx.symbol.SoftmaxOutput(data=fc2, name='softmax')

    x = np.random.normal(0, 1, (300, 10)).astype('float32')
    y = np.argmax(x[:, :3], axis=1).astype('float32')
    train = mx.io.NDArrayIter(x, y, batch_size=30)

    mon = mx.mon.Monitor(5, norm_stat, pattern='.*weight|.*output', sort=True)
    mod = mx.mod.Module(mlp)
    mod.bind(train.provide_data, train.provide_label)
    mod.install_monitor(mon)
    mod.init_params(mx.init.Constant(0.1))
    mod.set_params({'fc1_weight': mx.nd.array(np.random.RandomState(0).normal(0, 0.3, (16, 10))),
                    'fc2_weight': mx.nd.array(np.random.RandomState(1).normal(0, 0.3, (3, 16)))}, {},
                   allow_missing=True)
    mod.init_optimizer(optimizer='sgd', optimizer_params={'learning_rate': 0.1, 'momentum': 0.9})
    metric = mx.metric.create(['acc', mx.metric.CrossEntropy()])
    seen = {}
    for epoch in range(8):
        train.reset()
        metric.reset()
        for batch in train:
            mon.tic()
            mod.forward_backward(batch)
            mod.update()
            mod.update_metric(metric, batch.label)
            for step, name, stat in mon.toc():
                seen.setdefault(name, []).append(float(stat.split()[0]))
    for name in ['fc1_output', 'relu1_output', 'fc2_weight', 'softmax_output']:
        print('%s first %.4f last %.4f of %d' % (name, seen[name][0], seen[name][-1], len(seen[name])))
    print('accuracy %.4f cross-entropy %.4f' % tuple(metric.get()[1]))
