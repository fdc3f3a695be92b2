"""Two tasks on one trunk: the class of a point, and whether the class is odd; with an iterator and a metric of its own."""
from __future__ import print_function
import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.DEBUG)


def build_network():
    data = mx.symbol.Variable('data')
    fc1 = mx.symbol.FullyConnected(data=data, name='fc1', num_hidden=64)
    act1 = mx.symbol.Activation(data=fc1, name='relu1', act_type='relu')
    fc3 = mx.symbol.FullyConnected(data=act1, name='fc3', num_hidden=10)
    fc4 = mx.symbol.FullyConnected(data=act1, name='fc4', num_hidden=2)
    sm1 = mx.symbol.SoftmaxOutput(data=fc3, name='softmax1')
    sm2 = mx.symbol.SoftmaxOutput(data=fc4, name='softmax2', grad_scale=0.5)
    return mx.symbol.Group([sm1, sm2])


class Multi_mnist_iterator(mx.io.DataIter):
    """Adds a second label to those of another iterator."""

    def __init__(self, data_iter):
        super(Multi_mnist_iterator, self).__init__()
        self.data_iter = data_iter
        self.batch_size = self.data_iter.batch_size

    @property
    def provide_data(self):
        return self.data_iter.provide_data

    @property
    def provide_label(self):
        provide_label = self.data_iter.provide_label[0]
        return [('softmax1_label', provide_label[1]), ('softmax2_label', provide_label[1])]

    def hard_reset(self):
        self.data_iter.hard_reset()

    def reset(self):
        self.data_iter.reset()

    def next(self):
        batch = self.data_iter.next()
        label = batch.label[0]
        return mx.io.DataBatch(data=batch.data, label=[label, label % 2], pad=batch.pad, index=batch.index)


class Multi_Accuracy(mx.metric.EvalMetric):
    """The accuracy of each output."""

    def __init__(self, num=None):
        self.num = num
        super(Multi_Accuracy, self).__init__('multi-accuracy')

    def reset(self):
        self.num_inst = 0 if self.num is None else [0] * self.num
        self.sum_metric = 0.0 if self.num is None else [0.0] * self.num

    def update(self, labels, preds):
        mx.metric.check_label_shapes(labels, preds)
        if self.num is not None:
            assert len(labels) == self.num
        for i in range(len(labels)):
            pred_label = mx.nd.argmax_channel(preds[i]).asnumpy().astype('int32')
            label = labels[i].asnumpy().astype('int32')
            mx.metric.check_label_shapes(label, pred_label)
            if self.num is None:
                self.sum_metric += (pred_label.flat == label.flat).sum()
                self.num_inst += len(pred_label.flat)
            else:
                self.sum_metric[i] += (pred_label.flat == label.flat).sum()
                self.num_inst[i] += len(pred_label.flat)

    def get(self):
        if self.num is None:
            return super(Multi_Accuracy, self).get()
        return zip(*(('%s-task%d' % (self.name, i),
                      float('nan') if self.num_inst[i] == 0 else self.sum_metric[i] / self.num_inst[i])
                     for i in range(self.num)))

    def get_name_value(self):
        if self.num is None:
            return super(Multi_Accuracy, self).get_name_value()
        name, value = self.get()
        return list(zip(name, value))


def digits(count, seed):
    patterns = np.random.RandomState(7).uniform(0, 1, (10, 36))
    rng = np.random.RandomState(seed)
    label = rng.randint(0, 10, count)
    return (patterns[label] + rng.normal(0, 0.2, (count, 36))).astype('float32'), label.astype('float32')


batch_size = 50
num_epochs = 6
lr = 0.1
mx.random.seed(2)
np.random.seed(2)
train = Multi_mnist_iterator(mx.io.NDArrayIter(*digits(1000, 1), batch_size=batch_size, shuffle=True))
val = Multi_mnist_iterator(mx.io.NDArrayIter(*digits(200, 2), batch_size=batch_size))
network = build_network()
model = mx.mod.Module(context=mx.cpu(), symbol=network, label_names=('softmax1_label', 'softmax2_label'))
model.fit(train_data=train, eval_data=val, eval_metric=Multi_Accuracy(num=2), num_epoch=num_epochs,
          optimizer_params=(('learning_rate', lr), ('momentum', 0.9), ('wd', 0.00001)),
          initializer=mx.init.Xavier(factor_type='in', magnitude=2.34),
          batch_end_callback=mx.callback.Speedometer(batch_size, 10, auto_reset=False))
result = dict(model.score(val, Multi_Accuracy(num=2)))
print('class %.4f parity %.4f' % (result['multi-accuracy-task0'], result['multi-accuracy-task1']))
