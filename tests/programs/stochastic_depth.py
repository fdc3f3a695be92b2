"""Stochastic depth: residual blocks as modules of a class of their own, which are left out at random in training."""
import logging

import mxnet as mx
import numpy as np


class StochasticDepthModule(mx.module.BaseModule):
    """Two branches: one that computes and is opened by chance, and one that always passes the data on."""

    def __init__(self, symbol_compute, data_names=('data',), open_rate=0.8, logger=logging, context=mx.cpu()):
        super(StochasticDepthModule, self).__init__(logger=logger)
        self._module_compute = mx.module.Module(symbol_compute, data_names=data_names, label_names=None,
                                                logger=logger, context=context)
        self._open_rate = open_rate
        self._gates = []

    @property
    def data_names(self):
        return self._module_compute.data_names

    @property
    def output_names(self):
        return self._module_compute.output_names

    @property
    def data_shapes(self):
        return self._module_compute.data_shapes

    @property
    def label_shapes(self):
        return self._module_compute.label_shapes

    @property
    def output_shapes(self):
        return self._module_compute.output_shapes

    def get_params(self):
        return self._module_compute.get_params()

    def init_params(self, *args, **kwargs):
        self._module_compute.init_params(*args, **kwargs)
        self.params_initialized = True

    def bind(self, *args, **kwargs):
        self._module_compute.bind(*args, **kwargs)
        self.binded = True
        self.for_training = self._module_compute.for_training
        self.inputs_need_grad = self._module_compute.inputs_need_grad

    def init_optimizer(self, *args, **kwargs):
        self._module_compute.init_optimizer(*args, **kwargs)
        self.optimizer_initialized = True

    def forward(self, data_batch, is_train=None):
        if is_train is None:
            is_train = self.for_training
        self._input = data_batch.data[0]
        self._gate_open = (not is_train) or np.random.rand() < self._open_rate
        self._gates.append(self._gate_open)
        if self._gate_open:
            self._module_compute.forward(data_batch, is_train=is_train)
            computed = self._module_compute.get_outputs()[0]
            scale = 1.0 if is_train else self._open_rate
            self._outputs = [self._input + computed * scale]
        else:
            self._outputs = [self._input]

    def backward(self, out_grads=None):
        if self._gate_open:
            self._module_compute.backward(out_grads=out_grads)
            self._input_grads = [out_grads[0] + self._module_compute.get_input_grads()[0]]
        else:
            self._input_grads = [out_grads[0]]

    def update(self):
        if self._gate_open:
            self._module_compute.update()

    def update_metric(self, eval_metric, labels, pre_sliced=False):
        pass

    def get_outputs(self, merge_multi_context=True):
        return self._outputs

    def get_input_grads(self, merge_multi_context=True):
        return self._input_grads

    def install_monitor(self, mon):
        self._module_compute.install_monitor(mon)


def block(i, num_hidden):
    net = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=num_hidden, name='block%d_fc' % i)
    return mx.sym.Activation(net, act_type='tanh', name='block%d_tanh' % i)


if __name__ == '__main__':
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(3)
    np.random.seed(3)
    x = np.random.uniform(-1, 1, (600, 2)).astype('float32')
    y = (x[:, 0] * x[:, 1] > 0).astype('float32')
    train = mx.io.NDArrayIter(x[:500], y[:500], batch_size=50, shuffle=True)
    val = mx.io.NDArrayIter(x[500:], y[500:], batch_size=50)

    first = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=24, name='fc_first')
    first = mx.sym.Activation(first, act_type='tanh', name='tanh_first')
    last = mx.sym.FullyConnected(mx.sym.Variable('data'), num_hidden=2, name='fc_last')
    last = mx.sym.SoftmaxOutput(last, name='softmax')

    net = mx.module.SequentialModule()
    net.add(mx.module.Module(first, label_names=None))
    blocks = [StochasticDepthModule(block(i, 24), open_rate=1.0 - 0.15 * i) for i in range(3)]
    for b in blocks:
        net.add(b, auto_wiring=True)
    net.add(mx.module.Module(last), auto_wiring=True, take_labels=True)
    net.fit(train, eval_data=val, num_epoch=20, optimizer='adam', optimizer_params={'learning_rate': 0.01},
            initializer=mx.init.Xavier(), eval_metric='acc')
    rates = [np.mean(b._gates) for b in blocks]
    print('gates open %s' % (rates[0] > rates[1] > rates[2]))
    print('accuracy %.4f' % net.score(val, 'acc')[0][1])
