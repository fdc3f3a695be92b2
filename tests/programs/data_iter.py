"""An iterator written by hand over a generator, through PrefetchingIter and ResizeIter into Module.fit."""
import logging

import mxnet as mx
import numpy as np


class SimpleIter(mx.io.DataIter):
    def __init__(self, data_names, data_shapes, data_gen, label_names, label_shapes, label_gen, num_batches=10):
        self._provide_data = list(zip(data_names, data_shapes))
        self._provide_label = list(zip(label_names, label_shapes))
        self.num_batches = num_batches
        self.data_gen = data_gen
        self.label_gen = label_gen
        self.cur_batch = 0
        self.batch_size = data_shapes[0][0]

    def __iter__(self):
        return self

    def reset(self):
        self.cur_batch = 0

    def __next__(self):
        return self.next()

    @property
    def provide_data(self):
        return self._provide_data

    @property
    def provide_label(self):
        return self._provide_label

    def next(self):
        if self.cur_batch < self.num_batches:
            self.cur_batch += 1
            data = [mx.nd.array(g(d[1])) for d, g in zip(self._provide_data, self.data_gen)]
            self.last = data[0].asnumpy()
            label = [mx.nd.array(g(self.last)) for g in self.label_gen]
            return mx.io.DataBatch(data, label)
        else:
            raise StopIteration


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(0)
    n, num_classes = 32, 4
    net = mx.sym.Variable('data')
    net = mx.sym.FullyConnected(data=net, name='fc1', num_hidden=num_classes)
    net = mx.sym.SoftmaxOutput(data=net, name='softmax')

    def simple(seed):
        rng = np.random.RandomState(seed)
        return SimpleIter(['data'], [(n, 16)], [lambda s: rng.uniform(-1, 1, s)], ['softmax_label'], [(n,)],
                          [lambda x: x.reshape((n, num_classes, -1)).sum(axis=2).argmax(axis=1)], 10)

    batches = list(simple(1))
    print(len(batches), batches[0].data[0].shape, batches[0].label[0].shape)
    resized = mx.io.ResizeIter(simple(2), 25)
    prefetched = mx.io.PrefetchingIter(resized)
    print(prefetched.provide_data[0][0], sum(1 for _ in prefetched))
    prefetched.reset()

    mod = mx.mod.Module(symbol=net)
    mod.fit(prefetched, num_epoch=3, initializer=mx.init.Zero(), optimizer='sgd',
            optimizer_params={'learning_rate': 0.5, 'momentum': 0.9})
    print('accuracy %.4f' % mod.score(simple(3), mx.metric.Accuracy())[0][1])
